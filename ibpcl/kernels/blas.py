"""Dense matrix products: BLAS on one thread, called by ours.

The threads of OpenBLAS wait for the next product by spinning, for some 25 milliseconds, and meanwhile take the cores
from our kernels: every one of them then took twice as long.  So each of our threads computes some of the matrices, or
some rows of one matrix, by itself, which costs no more.  What a thread computes depends on sizes alone, and so the
result does not depend on the number of threads, of ours or of BLAS, bit for bit.
"""

import contextlib
import ctypes
import functools
import threading
from pathlib import Path

import numpy as np

from ibpcl.kernels import threads
from ibpcl.kernels.memory import empty
from ibpcl.kernels.turns import BEGIN, END, another

ROWS = 256                                                   # a piece of a single matrix
PLACES = ("../numpy.libs", ".dylibs", ".libs")               # where NumPy's packages keep their OpenBLAS
NAMES = ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads64_",
         "openblas_{}_num_threads")
_users = {"count": 0, "before": 1}
_lock = threading.Lock()


@functools.cache
def _library():
    """Return the functions that tell and set the number of threads of NumPy's OpenBLAS, or None if it has another."""
    here = Path(np.__file__).parent
    for path in (path for place in PLACES for path in sorted((here / place).glob("*openblas*"))):
        try:
            library = ctypes.CDLL(str(path))
        except OSError:
            continue
        for name in NAMES:
            if hasattr(library, name.format("set")):
                return getattr(library, name.format("get")), getattr(library, name.format("set"))
    return None


@contextlib.contextmanager
def one_thread():
    """Keep BLAS to one thread; another BLAS than OpenBLAS is left alone, which only costs time."""
    if (library := _library()) is None:
        yield
        return
    get, choose = library
    with _lock:
        if _users["count"] == 0:
            _users["before"] = get()
            choose(1)
        _users["count"] += 1
    try:
        yield
    finally:
        with _lock:
            _users["count"] -= 1
            if _users["count"] == 0:
                choose(_users["before"])


def _matrices(turns, a, b, out):
    while another(turns):
        for s in range(turns[BEGIN], turns[END]):
            np.matmul(a if a.ndim == 2 else a[s], b[s], out=out[s])


def _rows(turns, a, b, out):
    while another(turns):
        for first in range(turns[BEGIN] * ROWS, turns[END] * ROWS, ROWS):
            np.matmul(a[first:first + ROWS], b, out=out[first:first + ROWS])


def product(a, b):
    """Multiply ``a`` (N, D) or (S, N, D) by ``b`` (D, K) or (S, D, K)."""
    with one_thread():
        if b.ndim == 2:
            out = empty((a.shape[0], b.shape[1]), b.dtype)
            threads.run(_rows, -(-a.shape[0] // ROWS), a, b, out)
        else:
            out = empty((b.shape[0], a.shape[-2], b.shape[2]), b.dtype)
            threads.run(_matrices, b.shape[0], a, b, out)
    return out
