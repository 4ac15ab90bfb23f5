"""The short loops that several kernels are made of, over strips of numbers, with the processor's widest vectors."""

from ibpcl.kernels.compilation import inlined, wide
from ibpcl.kernels.elementary import exp


@inlined
def copy(x, out):
    """Write x."""
    for i in range(wide(out.size)):
        out[i] = x[i]


@inlined
def add(x, out):
    """Add x."""
    for i in range(wide(out.size)):
        out[i] += x[i]


@inlined
def sum_rows(x, out):
    """Write the sums over the rows of x (N, K)."""
    out[:] = 0
    for n in range(x.shape[0]):
        row = x[n]
        for k in range(wide(out.size)):
            out[k] += row[k]


@inlined
def square(x, out):
    """Write x squared."""
    for i in range(wide(out.size)):
        out[i] = x[i] * x[i]


@inlined
def exponential(x, out):
    """Write e to the x."""
    for i in range(wide(out.size)):
        out[i] = exp(x[i])
