"""Compilation of the kernels: options, the cache of the machine code, and the supported types.

A kernel has one signature, of float32, and is compiled when its module is imported.  With an empty
cache, this takes some seconds for all modules together.  Later the machine code is read from the
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
# Modules that a second process compiles at the same time: they take about half of the time.
ELSEWHERE = ("convolution", "gaussian", "likelihoods", "masked_weights", "noise", "sticks")
# Modules that only networks with convolutions use: reading their machine code takes 60 ms.
OF_IMAGES = ("convolution", "patches", "pooled_convolution", "pooling")
# Without "nnan" and "ninf", because NaN must be propagated: it shows that a run diverges.  Without
# "reassoc", which would undo the exact steps of the elementary functions.
FASTMATH = {"nsz", "arcp", "contract", "afn"}
# Division by zero gives infinity, as in NumPy.  Numba's default, an exception, would prevent
# vectorization.
OPTIONS = {"error_model": "numpy", "no_cfunc_wrapper": True}
# Functions that only compiled code calls need no wrapper for Python arguments.
INTERNAL = {**OPTIONS, "no_cpython_wrapper": True}

vector = float32[::1]
matrix = float32[:, ::1]
cube = float32[:, :, ::1]
indices = int64[::1]


_said = set()


def say_once(words):
    """Print a line on standard error, once per process.

    Parameters
    ----------
    words : str
        The line, without the prefix "ibpcl: ".
    """
    if words not in _said:
        _said.add(words)
        console.tell(f"ibpcl: {words}")


def load():
    """Import the compiled functions, and report on standard error if they must be compiled.

    If their machine code is on the disk, modules of image networks wait for their first use.

    Returns
    -------
    seconds : float
        Time that compilation took; 0 if the machine code was on the disk.
    """
    names = [module.name for module in pkgutil.iter_modules([str(machine_code.HERE)])]
    if machine_code.store.complete:
        for name in names:
            if name not in OF_IMAGES:
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
            helper.wait()  # then its machine code is on the disk
        importlib.import_module(f"ibpcl.kernels.{name}")
    machine_code.store.publish()
    if terminal:
        console.tell("\r" + " " * 60, end="\r")
    return time.perf_counter() - began


def compiling_elsewhere(folder):
    """Start a second process that compiles the kernels of some modules into a folder.

    Parameters
    ----------
    folder : path-like
        The folder for the machine code.

    Returns
    -------
    process : subprocess.Popen or None
        The process; None if it cannot be started.
    """
    # an interpreter that is embedded in another program
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
    """Return a decorator that compiles a function for one signature and stores the code on disk.

    The function runs without the interpreter's lock (GIL).

    Parameters
    ----------
    signature : numba signature
        Types of the result and the arguments.

    Returns
    -------
    kernel : callable
        The decorator.
    """

    def kernel(function):
        options = {**OPTIONS, "nogil": True, "fastmath": FASTMATH}
        folder = machine_code.store.to_read_or_write()
        if folder is not None:
            with contextlib.suppress(OSError), _kept_in(folder, machine_code.store.complete):
                return _with_cache(signature, function, options)
        say_once(
            "compiled kernels cannot be stored in "
            f"{machine_code.store.below or 'any folder of this user'}: the disk is full, or the "
            "folder is not writable; set NUMBA_CACHE_DIR to another folder, or each process "
            "compiles them again"
        )
        return numba.njit(signature, **options)(function)

    return kernel


def _with_cache(signature, function, options):
    """Return the compiled function, from the cache or stored in it; OSError if it cannot be."""
    try:
        return numba.njit(signature, cache=True, **options)(function)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        raise OSError(str(error)) from error


@contextlib.contextmanager
def _kept_in(folder, complete):
    """Set the folder of Numba's cache; a complete folder is only read and need not be writable."""
    locator = getattr(numba.core.caching, "_CacheLocator", None)
    ensure = getattr(locator, "ensure_cache_path", None)
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    # Numba would try to write a file for each kernel
    if complete and ensure is not None:
        locator.ensure_cache_path = lambda self: None
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before
        if ensure is not None:
            locator.ensure_cache_path = ensure


def inlined(function):
    """Decorate a function so that it is compiled into each of its callers, whatever its length.

    The loops of the callers can then be vectorized.

    Parameters
    ----------
    function : callable
        The function.

    Returns
    -------
    inlined : callable
        The decorated function.
    """
    return numba.extending.register_jitable(forceinline=True, fastmath=FASTMATH, **INTERNAL)(
        function
    )


def summing(function):
    """Decorate a function like :func:`inlined`, but allow sums to be added in another order.

    The compiler then computes several partial sums at the same time.

    Parameters
    ----------
    function : callable
        The function.

    Returns
    -------
    inlined : callable
        The decorated function.
    """
    return numba.extending.register_jitable(
        forceinline=True, fastmath=FASTMATH | {"reassoc"}, **INTERNAL
    )(function)


class Own(NamedTuple):
    """Cache of a compiled function, marked as such; the cache of a reference is not wrapped.

    Attributes
    ----------
    cache : object
        The cache for the compiled backward pass.
    """

    cache: object


def twin_of(module):
    """Return a decorator for the compiled version of the function of the same name in a module.

    The compiled function is called if all real arrays are float32, and receives contiguous arrays.
    Otherwise the function in the module, its reference, is called.

    Parameters
    ----------
    module : module
        Module of the reference.

    Returns
    -------
    decorate : callable
        The decorator.
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
    # np.ascontiguousarray would turn an array of shape () into a one-dimensional one
    return (
        np.asarray(dout, np.float32, order="C")
        if isinstance(dout, np.ndarray)
        else np.float32(dout)
    )
