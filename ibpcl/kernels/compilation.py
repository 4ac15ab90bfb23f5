"""How the kernels are compiled, where the machine code is kept, and which numbers they serve.

A kernel has one signature, of float32, and is compiled when its module is imported: with an empty
cache that takes some seconds for all modules together, later the machine code is read from the
disk.
"""

import contextlib
import functools
import importlib
import os
import pkgutil
import subprocess
import sys
import time
from typing import NamedTuple

import numba
import numba.core.caching
import numba.extending
import numpy as np
from numba import boolean, float32, float64, int64, uint64, void

from ibpcl import console, processors
from ibpcl.kernels import machine_code

__all__ = [
    "Own",
    "boolean",
    "compiled",
    "cube",
    "float32",
    "float64",
    "indices",
    "inlined",
    "int64",
    "matrix",
    "summing",
    "twin_of",
    "uint64",
    "vector",
    "void",
]

COMPILING = "compiling the kernels, once for this processor and this Python"
# What a second process compiles at the same time: modules that take about half of the seconds.
ELSEWHERE = ("gaussian", "masked_weights", "noise")
# No "nnan" and no "ninf": not-a-numbers must come out again, they are how a diverging run is
# noticed.  No "reassoc" either: it would undo the exact steps of the elementary functions.
FASTMATH = {"nsz", "arcp", "contract", "afn"}
# Division by zero gives infinity as in NumPy: Numba's default, an exception, would stop
# vectorization.
OPTIONS = {"error_model": "numpy", "no_cfunc_wrapper": True}
# What only compiled code calls needs no wrapper that takes Python's arguments apart.
INTERNAL = {**OPTIONS, "no_cpython_wrapper": True}

vector = float32[::1]
matrix = float32[:, ::1]
cube = float32[:, :, ::1]
indices = int64[::1]


_said = set()


def say_once(words):
    """Print a line to the standard error, once in a process."""
    if words not in _said:
        _said.add(words)
        console.tell(f"ibpcl: {words}")


def load():
    """Import all compiled functions; with an empty cache, say on the standard error that they are
    compiled.

    Returns
    -------
    seconds : float
        What compilation took; 0 where the machine code was on the disk.
    """
    names = [module.name for module in pkgutil.iter_modules([str(machine_code.HERE)])]
    if machine_code.store.complete:
        for name in names:
            importlib.import_module(f"ibpcl.kernels.{name}")
        return 0.0
    began = time.perf_counter()
    terminal = console.is_terminal(sys.stderr)
    folder = machine_code.store.to_read_or_write()
    helper = compiling_elsewhere(folder) if folder is not None and processors.usable() > 1 else None
    for i, name in enumerate(sorted(names, key=ELSEWHERE.__contains__)):
        if terminal:
            console.tell(f"\rcompiling the kernels, once ({i + 1} of {len(names)})", end="")
        elif i == 0:
            console.tell(COMPILING)
        if helper and name in ELSEWHERE:
            helper.wait()  # its machine code is on the disk then
        importlib.import_module(f"ibpcl.kernels.{name}")
    machine_code.store.publish()
    if terminal:
        console.tell("\r" + " " * 60, end="\r")
    return time.perf_counter() - began


def compiling_elsewhere(folder):
    """Start a process that compiles the kernels of some modules into a folder; return None where
    there can be none.
    """
    # an interpreter that is part of another program
    if not sys.executable:
        return None
    modules = ", ".join(f"ibpcl.kernels.{name}" for name in ELSEWHERE)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        machine_code.INTO: str(folder),
    }
    with contextlib.suppress(OSError):
        return subprocess.Popen(
            [sys.executable, "-P", "-c", f"import {modules}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
        )


def compiled(signature):
    """Compile a function for one signature, without the interpreter's lock, and keep the machine
    code on disk.
    """

    def kernel(function):
        options = {**OPTIONS, "nogil": True, "fastmath": FASTMATH}
        folder = machine_code.store.to_read_or_write()
        if folder is not None:
            with contextlib.suppress(OSError), _kept_in(folder, machine_code.store.complete):
                return _with_cache(signature, function, options)
        say_once(
            "compiled kernels cannot be kept in "
            f"{machine_code.store.below or 'any folder of this user'}: there is no room, or it "
            "cannot be written; set NUMBA_CACHE_DIR to another folder, or each process compiles "
            "them again"
        )
        return numba.njit(signature, **options)(function)

    return kernel


def _with_cache(signature, function, options):
    """Return the compiled function from the cache, or compile and keep it; OSError if it cannot be
    kept.
    """
    try:
        return numba.njit(signature, cache=True, **options)(function)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        raise OSError(str(error)) from error


@contextlib.contextmanager
def _kept_in(folder, complete):
    """Let Numba's cache be a folder; a complete one is only read, and need not be one that can be
    written.
    """
    locator = getattr(numba.core.caching, "_CacheLocator", None)
    ensure = getattr(locator, "ensure_cache_path", None)
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    # Numba tries to write a file, for each kernel
    if complete and ensure is not None:
        locator.ensure_cache_path = lambda self: None
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before
        if ensure is not None:
            locator.ensure_cache_path = ensure


def inlined(function):
    """Compile ``function`` into each of its callers, whatever its length, so that their loops
    vectorize.
    """
    return numba.extending.register_jitable(forceinline=True, fastmath=FASTMATH, **INTERNAL)(
        function
    )


def summing(function):
    """Compile ``function`` as :func:`inlined` does, but let it add up in another order: a few sums
    side by side.
    """
    return numba.extending.register_jitable(
        forceinline=True, fastmath=FASTMATH | {"reassoc"}, **INTERNAL
    )(function)


class Own(NamedTuple):
    """The cache of a compiled function, for its own way back; that of a reference is not
    wrapped.
    """

    cache: object


def twin_of(module):
    """Make a decorator for the twin of the function of the same name in ``module``, its reference.

    The twin gets contiguous arrays and is called where all real numbers are float32; the reference
    serves all others.
    """

    def decorate(function):
        reference = getattr(module, function.__name__)

        @functools.wraps(function)
        def serve(*arguments, **options):
            if function.__name__.endswith("_vjp"):
                dout, cache, *rest = arguments
                if not isinstance(cache, Own):
                    return reference(dout, cache, *rest, **options)
                dout = tuple(map(_single, dout)) if isinstance(dout, tuple) else _single(dout)
                return function(dout, cache.cache, *rest, **options)
            arrays = [
                one for one in arguments if isinstance(one, np.ndarray) and one.dtype.kind in "fc"
            ]
            if not arrays or any(one.dtype != np.float32 for one in arrays):
                return reference(*arguments, **options)
            out, cache = function(
                *(
                    np.asarray(one, order="C") if isinstance(one, np.ndarray) else one
                    for one in arguments
                ),
                **options,
            )
            return out, Own(cache)

        return serve

    return decorate


def _single(dout):
    # ``np.ascontiguousarray`` would make an array of shape () one-dimensional.
    return (
        np.asarray(dout, np.float32, order="C")
        if isinstance(dout, np.ndarray)
        else np.float32(dout)
    )
