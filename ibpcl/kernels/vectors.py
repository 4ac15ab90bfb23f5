"""Copies of what is long: into the vector of all parameters, and of a batch's rows."""

import numpy as np

from ibpcl.kernels import loops, threads
from ibpcl.kernels.compilation import compiled
from ibpcl.kernels.loops import flat
from ibpcl.kernels.memory import TYPES, empty
from ibpcl.kernels.turns import BEGIN, END, another

STRIP = 16_384


@compiled
def copy_strips(turns, x, out):
    """Copy some strips."""
    while another(turns):
        first, last = turns[BEGIN] * STRIP, min(turns[END] * STRIP, out.size)
        loops.copy(flat(x, first, last), flat(out, first, last))


@compiled
def take_rows(turns, x, rows, out, missing):
    """Copy some of the rows; ``missing`` (1,) becomes 1 if one is not there."""
    while another(turns):
        for i in range(turns[BEGIN], turns[END]):
            if 0 <= rows[i] < x.shape[0]:
                loops.copy(x[rows[i]], out[i])
            else:
                missing[0] = 1


def take(x, rows):
    """Return some rows of a matrix: the twin of ``x[rows]``, in memory that was used before."""
    if x.ndim != 2 or x.dtype not in TYPES or not x.flags.c_contiguous:
        return x[rows]
    out, missing = empty((len(rows), x.shape[1]), x.dtype), np.zeros(1, np.int8)
    threads.run(take_rows, len(rows), x, rows, out, missing)
    return x[rows] if missing[0] else out                    # counted from the end, or an error


def _strips(x):
    return -(-x.size // STRIP)


def copy(out, x):
    """Write ``x`` into ``out``: the twin of :func:`numpy.copyto`."""
    if out.size < threads.LIGHT or not _same_kind(out, x):
        np.copyto(out, x)
        return
    threads.run(copy_strips, _strips(out), x.reshape(-1), out.reshape(-1))


def _same_kind(out, x):
    return (isinstance(x, np.ndarray) and x.shape == out.shape and x.dtype == out.dtype
            and out.flags.c_contiguous and x.flags.c_contiguous)
