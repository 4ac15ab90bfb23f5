"""The choice of backend, in one place: the NumPy reference, or the compiled twins that are held to
it.

A backend is a namespace of modules: ``backend().gaussian.kl`` is the function ``kl`` of
``ibpcl.kernels.gaussian`` if there is one, else that of ``ibpcl.primitives.gaussian``.  One rule: a
twin has the name and the signature of its reference.  Numba is imported, and the twins are
compiled, when its backend is first asked for.
"""

import importlib.util
from functools import cache
from inspect import isfunction
from types import SimpleNamespace

from ibpcl import blas_threads, console

BACKENDS = ("numba", "numpy")
# References that are not primitives: they have no gradient.
APART = ("adam", "noise")


class Backend:
    """Modules by their names, each with all functions of the reference; ``compile_seconds`` is what
    compilation took.

    With the name "numba", those that have a compiled twin are replaced by it; the other name is
    "numpy".
    """

    def __init__(self, name, compile_seconds=0.0):
        self.name = name
        self.compile_seconds = compile_seconds

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
    return importlib.import_module(
        f"ibpcl.{module}" if module in APART else f"ibpcl.primitives.{module}"
    )


def twins(module):
    """Return the compiled functions of the module of this name, by their own; there may be none."""
    found = importlib.util.find_spec(f"ibpcl.kernels.{module}")
    return public(importlib.import_module(found.name)) if found else {}


def public(module):
    """Return the functions that a module defines for others, by name."""
    return {
        name: value
        for name, value in vars(module).items()
        if isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    }


def why_not():
    """Return why there can be no compiled functions, None if there can."""
    try:
        import numba
    except ModuleNotFoundError as error:
        if error.name == "numba":
            return "Numba is not installed"
        return f"Numba is broken ({error})"
    # another NumPy than it knows, a wrong variable
    except Exception as error:
        return f"Numba cannot be imported ({' '.join(str(error).split())})"
    if numba.config.DISABLE_JIT:
        return "NUMBA_DISABLE_JIT is set"
    if numba.config.NUMBA_NUM_THREADS < 1:
        return f"NUMBA_NUM_THREADS must be at least 1, got {numba.config.NUMBA_NUM_THREADS}"
    return None


@cache
def backend(name="numba"):
    """Return the backend "numba", which is compiled, or "numpy", which reads like the derivation.

    "numpy" takes complex numbers, too, and takes the place of "numba" where Numba cannot be used;
    the standard error then says why.  Any other name is a ValueError.

    >>> backend("numpy").gaussian.kl is backend("numba").gaussian.kl
    False
    """
    if name not in BACKENDS:
        raise ValueError(f"backend: name must be one of {BACKENDS}, got {name!r}")
    if name == "numba" and (reason := why_not()):
        console.tell(f"ibpcl: {reason}: the NumPy backend computes, some times slower")
        return backend("numpy")
    seconds = 0.0
    if name == "numba":
        from ibpcl.kernels import compilation

        seconds = compilation.load()
    say_if_unlimited()
    return Backend(name, seconds)


@cache
def say_if_unlimited():
    """Say once on the standard error if BLAS cannot be kept to one thread."""
    if reason := blas_threads.why_unlimited():
        console.tell(f"ibpcl: {reason}")
