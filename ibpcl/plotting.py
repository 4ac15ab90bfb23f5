"""Matplotlib, imported safely in any environment and used with its own default style.

A notebook passes ``MPLBACKEND=module://...`` on to the programs that it starts, and a user may have
a ``matplotlibrc``.  Neither should affect the figures of this package, which are drawn to files
only and must look the same on every machine.
"""

import contextlib
import functools
import os
import sys
import threading

from ibpcl.errors import UserError

# Settings of the program around a figure, not of the figure itself: they keep the user's values.
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
# the settings are global, so only one thread at a time may change them
_LOCK = threading.RLock()


def load():
    """Return Matplotlib, imported even if ``MPLBACKEND`` names a backend that is not installed.

    The variable is hidden during the import only.  Its backend is then set as Matplotlib itself
    would have done, so a notebook that imports ``pyplot`` later still draws in its cells.

    Returns
    -------
    matplotlib : module
        The package Matplotlib.

    Raises
    ------
    ibpcl.errors.UserError
        If Matplotlib cannot read the user's configuration.
    """
    if "matplotlib" in sys.modules:
        import matplotlib

        return matplotlib
    with _LOCK:
        backend = os.environ.pop("MPLBACKEND", None)
        try:
            import matplotlib
        # for example a matplotlibrc that is not UTF-8
        except ValueError as error:
            raise UserError(f"Matplotlib cannot be imported: {error}") from error
        finally:
            if backend is not None:
                os.environ["MPLBACKEND"] = backend
        if backend:
            with contextlib.suppress(ValueError):  # it is not installed; pyplot would report it
                matplotlib.rcParams["backend"] = backend
    return matplotlib


@contextlib.contextmanager
def own_style():
    """Draw with Matplotlib's default settings in a ``with`` block, ignoring ``matplotlibrc``."""
    matplotlib = load()
    defaults = {
        key: value
        for key, value in matplotlib.rcParamsDefault.items()
        if key not in _KEPT and not key.startswith("webagg.")
    }
    with _LOCK, matplotlib.rc_context(defaults):
        yield


def styled(draw):
    """Decorate a function so that it draws with :func:`own_style`.

    Parameters
    ----------
    draw : callable
        The function.

    Returns
    -------
    drawn : callable
        The decorated function, with the same arguments and result.
    """

    @functools.wraps(draw)
    def drawn(*arguments, **options):
        with own_style():
            return draw(*arguments, **options)

    return drawn
