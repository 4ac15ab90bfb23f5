"""Limit BLAS to one thread, so that the last digits of a result do not depend on their number.

BLAS divides a large product among its threads and adds up their parts in another order.  Moreover,
the threads of OpenBLAS wait for the next product by spinning, for about 25 milliseconds, and
meanwhile take the processors from the compiled kernels: training took 2.6 to 7 times as long.

threadpoolctl finds the libraries wherever they are installed (pip, conda or the system), because it
asks the loader which libraries this process has loaded.
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

# SciPy may contain its own BLAS, which is loaded with this module.  Compiled code calls it.
SECOND = "scipy.linalg"
# If one of these is 1, BLAS starts with one thread, even a BLAS that cannot be limited otherwise.
VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
# Prefixes and suffixes of OpenBLAS's function names, which depend on the build.
PREFIXES = ("", "scipy_")
SUFFIXES = ("", "64_", "_64")


class Library(NamedTuple):
    """A loaded BLAS library whose number of threads can be read and set.

    Attributes
    ----------
    path : str
        File of the library.
    by_thread : bool
        Whether each calling thread has its own setting, as with OpenMP.
    get : callable
        Returns the number of threads.
    set : callable
        Sets the number of threads, its only argument.
    """

    path: str
    by_thread: bool
    get: Callable
    set: Callable


def libraries():
    """Return all BLAS libraries that this process has loaded, a list of :class:`Library`."""
    return _loaded(SECOND in sys.modules)


@functools.cache
def _loaded(with_second):
    from threadpoolctl import ThreadpoolController  # the search itself takes about 7 ms

    controllers = ThreadpoolController().select(user_api="blas").lib_controllers
    return [
        _openblas(controller)
        or Library(
            controller.filepath, True, controller.get_num_threads, controller.set_num_threads
        )
        for controller in controllers
    ]


def _openblas(controller):
    """Return the library if it is an OpenBLAS with its own threads, else None.

    Its functions are called directly, because threadpoolctl sets the number for one Python thread
    and ignores the others.
    """
    if (
        controller.internal_api != "openblas"
        or getattr(controller, "threading_layer", "") == "openmp"
    ):
        return None
    with contextlib.suppress(OSError):
        functions = ctypes.CDLL(controller.filepath)  # it is already loaded
        for prefix, suffix in itertools.product(PREFIXES, SUFFIXES):
            get, choose = (
                getattr(functions, f"{prefix}openblas_{verb}_num_threads{suffix}", None)
                for verb in ("get", "set")
            )
            if get is not None and choose is not None:
                return Library(controller.filepath, False, get, choose)
    return None


def name_of_blas():
    """Return the name of the BLAS that NumPy was built with, such as "openblas" or "accelerate"."""
    with contextlib.suppress(Exception):  # some builds have no description
        return np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"]
    return "unknown"


def why_unlimited():
    """Return the reason why BLAS cannot be limited to one thread; None if there is none."""
    if libraries() or any(os.environ.get(variable) == "1" for variable in VARIABLES):
        return None
    return (
        f"the threads of NumPy's BLAS ({name_of_blas()}) cannot be limited, so training may take "
        "several times as long and last digits may differ between runs; set the environment "
        "variables OMP_NUM_THREADS=1 and VECLIB_MAXIMUM_THREADS=1"
    )


def limit_helper():
    """Limit BLAS to one thread in the calling thread, which helps with a computation.

    A BLAS that is built with OpenMP has a separate number for each calling thread.
    """
    for library in libraries():
        if library.by_thread:
            library.set(1)


class _OneThread:
    """Context manager that limits BLAS to one thread; reentrant, and usable from any thread."""

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
        """Set each library to one thread."""
        for library, _ in self.before:
            library.set(1)

    def restore(self):
        """Give each library its earlier number of threads."""
        for library, number in self.before:
            library.set(number)


_one_thread = _OneThread()


def one_thread():
    """Return a context manager that limits BLAS to one thread.

    It can be nested.  Inside another such block it costs nothing, so put it around many products.
    """
    return _one_thread


def on_one_thread(function):
    """Decorate a function so that BLAS has one thread while it runs.

    The result is then the same, bit for bit, for any number of threads of BLAS.

    Parameters
    ----------
    function : callable
        The function.

    Returns
    -------
    alone : callable
        The decorated function, with the same arguments and result.
    """

    @functools.wraps(function)
    def alone(*arguments, **options):
        with _one_thread:
            return function(*arguments, **options)

    return alone


@contextlib.contextmanager
def all_threads():
    """Give BLAS its threads back within :func:`one_thread`, for comparisons.

    This is a context manager; outside :func:`one_thread` it does nothing.
    """
    if _one_thread.users == 0:
        yield
        return
    _one_thread.restore()
    try:
        yield
    finally:
        _one_thread.limit()
