"""The number of threads of BLAS: one, where the last digits of a result must not depend on it.

BLAS cuts a large product into as many parts as it has threads, and then adds them up in another
order.  The threads of OpenBLAS also wait for the next product by spinning, for some 25
milliseconds.  Meanwhile they take the processors from the compiled kernels: training took 2.6 to 7
times as long.

threadpoolctl finds the libraries wherever they are, in a package of their own (pip), in the
environment (conda), or in the system: it asks the loader which ones this process has loaded.
"""

import contextlib
import ctypes
import functools
import itertools
import os
import sys
import threading
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

# SciPy may bring a BLAS of its own, which is loaded with this module.  Compiled code calls it.
SECOND = "scipy.linalg"
# With one of these set to 1, every BLAS starts with one thread, also one that nothing else can
# limit.
VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
# The functions of OpenBLAS have these before and after their names, as a build likes.
PREFIXES = ("", "scipy_")
SUFFIXES = ("", "64_", "_64")


class Library(NamedTuple):
    """A BLAS that is loaded and whose threads can be counted."""

    path: str  # its file
    # whether each thread that calls it has a number of its own, as with OpenMP
    by_thread: bool
    get: Callable  # returns the number of threads
    set: Callable  # takes the number of threads


def libraries():
    """Return each :class:`Library` that this process has loaded."""
    return _loaded(SECOND in sys.modules)


@functools.cache
def _loaded(with_second):
    from threadpoolctl import ThreadpoolController  # the search itself takes some 7 ms

    found = ThreadpoolController().select(user_api="blas").lib_controllers
    return [
        _openblas(one) or Library(one.filepath, True, one.get_num_threads, one.set_num_threads)
        for one in found
    ]


def _openblas(found):
    """Return the library if it is an OpenBLAS with threads of its own, else None.

    Its functions are called directly: threadpoolctl lets one thread of Python's set the number, and
    ignores others.
    """
    if found.internal_api != "openblas" or getattr(found, "threading_layer", "") == "openmp":
        return None
    with contextlib.suppress(OSError):
        functions = ctypes.CDLL(found.filepath)  # which is loaded already
        for prefix, suffix in itertools.product(PREFIXES, SUFFIXES):
            get, choose = (
                getattr(functions, f"{prefix}openblas_{verb}_num_threads{suffix}", None)
                for verb in ("get", "set")
            )
            if get is not None and choose is not None:
                return Library(found.filepath, False, get, choose)
    return None


def name_of_blas():
    """Return the name of the BLAS that NumPy was built with, such as "openblas" or "accelerate"."""
    with contextlib.suppress(Exception):  # a build may leave its description out
        return np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"]
    return "unknown"


def why_unlimited():
    """Return why BLAS cannot be kept to one thread, or None if it can or has one anyway."""
    if libraries() or any(os.environ.get(variable) == "1" for variable in VARIABLES):
        return None
    return (
        f"the threads of NumPy's BLAS ({name_of_blas()}) cannot be limited, so training may take "
        "several times as long and last digits may differ between runs; set the environment "
        "variables OMP_NUM_THREADS=1 and VECLIB_MAXIMUM_THREADS=1"
    )


def limit_helper():
    """Keep BLAS to one thread in a thread that helps with a job.

    A BLAS that is built on OpenMP has a number of threads for each of the threads that call it.
    """
    for library in libraries():
        if library.by_thread:
            library.set(1)


class _OneThread:
    """While it is entered, from any thread and however often, BLAS has one thread."""

    def __init__(self):
        self.lock = threading.RLock()
        self.users = 0
        self.before = []  # (library, its number of threads)

    def __enter__(self):
        with self.lock:
            self.users += 1
            if self.users == 1:
                self.before = [(library, library.get()) for library in libraries()]
                self.limit()

    def __exit__(self, *error):
        with self.lock:
            self.users -= 1
            if self.users == 0:
                self.restore()

    def limit(self):
        """Give each library one thread."""
        for library, _ in self.before:
            library.set(1)

    def restore(self):
        """Give each library the threads that it had."""
        for library, number in self.before:
            library.set(number)


_one_thread = _OneThread()


def one_thread():
    """Keep BLAS to one thread in a ``with``; within another such ``with``, around many products, it
    costs nothing.
    """
    return _one_thread


def on_one_thread(function):
    """Decorate a function whose result must be the same, bit for bit, for any number of threads of
    BLAS.
    """

    @functools.wraps(function)
    def alone(*arguments, **options):
        with _one_thread:
            return function(*arguments, **options)

    return alone


@contextlib.contextmanager
def all_threads():
    """Within a :func:`one_thread`, give BLAS its threads back, so that something can be compared
    with it.
    """
    if _one_thread.users == 0:
        yield
        return
    _one_thread.restore()
    try:
        yield
    finally:
        _one_thread.limit()
