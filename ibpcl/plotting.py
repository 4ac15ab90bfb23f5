"""Matplotlib as this package needs it: imported in any environment, and with its own default style.

A notebook hands ``MPLBACKEND=module://...`` on to the programs that it starts, and a user may have
a ``matplotlibrc``. Neither is for the figures of this package, which are drawn to files only and
must look the same on every machine.
"""

import contextlib
import functools
import os
import sys
import threading

from ibpcl.errors import UserError

# Settings of the program around a figure, not of the figure: they stay as the user has them.
_KEPT = (
    "backend",
    "backend_fallback",
    "interactive",
    "toolbar",
    "timezone",
    "date.epoch",
    "savefig.directory",
    "figure.max_open_warning",
    "docstring.hardcopy",
    "tk.window_focus",
)
# the settings are global: one thread changes them at a time
_LOCK = threading.RLock()


def load():
    """Import Matplotlib, also where ``MPLBACKEND`` names a backend that is not installed, and
    return it.

    The variable is out of sight during the import only.  What it names is then set as the backend,
    as Matplotlib itself would have done, so that a notebook which imports ``pyplot`` later still
    draws in its cells.

    Raises
    ------
    UserError
        If Matplotlib refuses the user's files.
    """
    if "matplotlib" in sys.modules:
        import matplotlib

        return matplotlib
    with _LOCK:
        backend = os.environ.pop("MPLBACKEND", None)
        try:
            import matplotlib
        # a matplotlibrc that is not UTF-8, for example
        except ValueError as error:
            raise UserError(f"Matplotlib cannot be imported: {error}") from error
        finally:
            if backend is not None:
                os.environ["MPLBACKEND"] = backend
        if backend:
            with contextlib.suppress(ValueError):  # it is not installed; pyplot would say so
                matplotlib.rcParams["backend"] = backend
    return matplotlib


@contextlib.contextmanager
def own_style():
    """Draw with Matplotlib's own default settings inside the block, whatever the user's
    ``matplotlibrc`` says.
    """
    matplotlib = load()
    defaults = {
        key: value
        for key, value in matplotlib.rcParamsDefault.items()
        if key not in _KEPT and not key.startswith("webagg.")
    }
    with _LOCK, matplotlib.rc_context(defaults):
        yield


def styled(draw):
    """Make a function draw in :func:`own_style`."""

    @functools.wraps(draw)
    def drawn(*arguments, **options):
        with own_style():
            return draw(*arguments, **options)

    return drawn
