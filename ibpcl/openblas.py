"""How many threads BLAS has: one, where the last digits of a result must not depend on it.

NumPy and SciPy each bring an OpenBLAS.  It cuts a large product into as many parts as it has threads, and sums in
another order then.  Its threads also wait for the next product by spinning, for some 25 milliseconds, and meanwhile
take the cores from the compiled kernels: every one of them then took twice as long.
"""

import contextlib
import ctypes
import functools
import threading
from pathlib import Path

import numpy as np
import scipy

# Where the packages keep their OpenBLAS, from the folder of theirs; and what its functions are called.
PLACES = ("../{}.libs", ".dylibs", ".libs")
NAMES = ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads")


@functools.cache
def _libraries():
    """Return the functions that get and set the number of threads of each OpenBLAS; other libraries are left alone."""
    found = []
    for package in (np, scipy):
        here = Path(package.__file__).parent
        for path in (path for place in PLACES for path in sorted((here / place.format(here.name)).glob("*openblas*"))):
            with contextlib.suppress(OSError):
                library = ctypes.CDLL(str(path))
                found += [(getattr(library, name.format("get")), getattr(library, name.format("set")))
                          for name in NAMES if hasattr(library, name.format("set"))]
    return found


class _OneThread:
    """While it is entered, from any thread and however often, BLAS has one thread."""

    def __init__(self):
        self.lock, self.users, self.before = threading.RLock(), 0, []

    def __enter__(self):
        with self.lock:
            self.users += 1
            if self.users == 1:
                self.before = [get() for get, _ in _libraries()]
                self.choose([1] * len(self.before))

    def __exit__(self, *error):
        with self.lock:
            self.users -= 1
            if self.users == 0:
                self.choose(self.before)

    def choose(self, numbers):
        """Set the number of threads of each library."""
        for (_, choose), number in zip(_libraries(), numbers, strict=True):
            choose(number)


_one_thread = _OneThread()


def one_thread():
    """Keep BLAS to one thread in a ``with``; within another such ``with``, around many products, it costs nothing."""
    return _one_thread


def on_one_thread(function):
    """Decorate a function whose result must be the same, bit for bit, for any number of threads of BLAS."""
    @functools.wraps(function)
    def alone(*arguments, **options):
        with _one_thread:
            return function(*arguments, **options)
    return alone


@contextlib.contextmanager
def all_threads():
    """Within a :func:`one_thread`, give BLAS its threads back, so that something can be compared with it."""
    if _one_thread.users == 0:
        yield
        return
    _one_thread.choose(_one_thread.before)
    try:
        yield
    finally:
        _one_thread.choose([1] * len(_one_thread.before))
