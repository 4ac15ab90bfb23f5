"""The choice of backend, in one place: the NumPy reference, or the compiled twins that are held to it.

A backend is a namespace of modules: ``backend().gaussian.kl`` is the function ``kl`` of ``ibpcl.kernels.gaussian`` if
there is one, else that of ``ibpcl.primitives.gaussian``.  One rule: a twin has the name and the signature of its
reference.  Numba is imported, and the twins are compiled, when its backend is first asked for.
"""

import contextlib
import importlib.util
import os
import pkgutil
import subprocess
import sys
import time
from functools import cache
from inspect import isfunction
from types import SimpleNamespace

BACKENDS = ("numba", "numpy")
COMPILING = "compiling the kernels, once after installing (about ten seconds)"
# What a second process compiles at the same time: modules that take about half of the seconds.
ELSEWHERE = ("gaussian", "masked_weights", "noise")
# References that are not primitives: they have no gradient.
APART = ("adam", "noise")


class Backend:
    """Modules by their names, each with all functions of the reference.

    Parameters
    ----------
    name : {"numba", "numpy"}
        Whether functions that have a compiled twin are replaced by it.
    compile_seconds : float
        What compilation took.
    """

    def __init__(self, name, compile_seconds=0.0):
        self.name, self.compile_seconds = name, compile_seconds

    def __getattr__(self, module):
        if module.startswith("_"):
            raise AttributeError(module)
        functions = public(reference(module))
        if self.name == "numba":
            functions |= twins(module)
        setattr(self, module, SimpleNamespace(**functions))  # found at once from now on
        return getattr(self, module)

    def __reduce__(self):
        """Be copied and pickled as a name."""
        return backend, (self.name,)


def reference(module):
    """Return the module of the NumPy functions of this name."""
    return importlib.import_module(f"ibpcl.{module}" if module in APART else f"ibpcl.primitives.{module}")


def twins(module):
    """Return the compiled functions of the module of this name, by their own; there may be none."""
    found = importlib.util.find_spec(f"ibpcl.kernels.{module}")
    return public(importlib.import_module(found.name)) if found else {}


def public(module):
    """Return the functions that a module defines for others, by name."""
    return {name: value for name, value in vars(module).items()
            if isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")}


def load():
    """Import all compiled functions; with an empty cache, say on the standard error that they are compiled.

    Returns
    -------
    seconds : float
        What compilation took; 0 where the machine code was on the disk.
    """
    from ibpcl import kernels
    from ibpcl.kernels import compilation, threads

    names = [module.name for module in pkgutil.iter_modules(kernels.__path__)]
    if compilation.COMPLETE:
        for name in names:
            importlib.import_module(f"ibpcl.kernels.{name}")
        return 0.0
    began, terminal = time.perf_counter(), sys.stderr.isatty()
    helper = compiling_elsewhere() if compilation.KEPT and threads.available() > 1 else None
    for i, name in enumerate(sorted(names, key=ELSEWHERE.__contains__)):
        if terminal or i == 0:
            words = f"compiling the kernels, once ({i + 1} of {len(names)})" if terminal else COMPILING
            print(f"\r{words}" if terminal else words, end="" if terminal else "\n", file=sys.stderr, flush=True)
        if helper and name in ELSEWHERE:
            helper.wait()                                    # its machine code is on the disk then
        importlib.import_module(f"ibpcl.kernels.{name}")
    compilation.record()
    if terminal:
        print("\r" + " " * 60, end="\r", file=sys.stderr, flush=True)
    return time.perf_counter() - began


def compiling_elsewhere():
    """Start a process that compiles the kernels of some modules; return None where there can be none."""
    modules = ", ".join(f"ibpcl.kernels.{name}" for name in ELSEWHERE)
    with contextlib.suppress(OSError):
        return subprocess.Popen([sys.executable, "-P", "-c", f"import {modules}"], stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})


def why_not():
    """Return why there can be no compiled functions, None if there can."""
    try:
        import numba
    except ImportError:
        return "Numba is not installed"
    except Exception as error:                               # it checks its environment variables as it is imported
        return f"Numba cannot be imported ({str(error).splitlines()[0]})"
    if numba.config.DISABLE_JIT:
        return "NUMBA_DISABLE_JIT is set"
    if numba.config.NUMBA_NUM_THREADS < 1:
        return f"NUMBA_NUM_THREADS must be at least 1, got {numba.config.NUMBA_NUM_THREADS}"
    return None


@cache
def backend(name="numba"):
    """Return a backend by name.

    Parameters
    ----------
    name : {"numba", "numpy"}
        ``numba`` is the compiled one; ``numpy`` reads like the derivation, and takes complex numbers.  Where Numba
        cannot be used, the standard error says why, and ``numpy`` takes its place.

    Raises
    ------
    ValueError
        For any other name.

    Examples
    --------
    >>> backend("numpy").gaussian.kl is backend("numba").gaussian.kl
    False
    """
    if name not in BACKENDS:
        raise ValueError(f"backend: name must be one of {BACKENDS}, got {name!r}")
    if name == "numba" and (reason := why_not()):
        print(f"ibpcl: {reason}: the NumPy backend computes, some times slower", file=sys.stderr)
        return backend("numpy")
    return Backend(name, load() if name == "numba" else 0.0)
