"""Passes over the vector of all parameters, which is long: copying into it, and whether all of it is finite."""

import numpy as np

from ibpcl.kernels import loops, threads
from ibpcl.kernels.compilation import compiled
from ibpcl.kernels.elementary import total
from ibpcl.kernels.loops import flat
from ibpcl.kernels.memory import as_arrays
from ibpcl.kernels.turns import BEGIN, END, another

STRIP = 16_384


@compiled
def copy_strips(turns, x, out):
    """Copy some strips."""
    while another(turns):
        first, last = turns[BEGIN] * STRIP, min(turns[END] * STRIP, out.size)
        loops.copy(flat(x, first, last), flat(out, first, last))


@compiled
def add_strips(turns, x, sums):
    """Write the sum of each of some strips."""
    while another(turns):
        for strip in range(turns[BEGIN], turns[END]):
            sums[strip] = total(flat(x, strip * STRIP, min((strip + 1) * STRIP, x.size)))


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


def finite(x):
    """Say whether no number is infinite and none is not a number: the twin of :func:`ibpcl.numerics.finite`."""
    (x,) = as_arrays("vectors.finite", x)
    sums = np.empty(_strips(x), x.dtype)
    threads.run(add_strips, len(sums), x.reshape(-1), sums, small=threads.LIGHT)
    return bool(np.isfinite(sums).all() or np.isfinite(x).all())    # sums of large numbers may overflow
