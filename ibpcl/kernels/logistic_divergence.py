r"""The divergence of two logistics, :math:`\Delta\coth\frac\Delta2 - 2`, and its slope.

Twins of :func:`ibpcl.numerics.logistic_kl` and of the slope in :func:`ibpcl.primitives.concrete.kl_vjp`.  Both branches
are computed for every element and one is selected, so that the loops vectorize.
"""


from ibpcl.kernels import threads
from ibpcl.kernels.compilation import compiled, wide
from ibpcl.kernels.elementary import exp
from ibpcl.kernels.memory import empty
from ibpcl.kernels.turns import BEGIN, END, another
from ibpcl.numerics import KL_SERIES, KL_SLOPE_SERIES

STRIP = 4096
TERMS = len(KL_SERIES)


@compiled
def values(turns, delta, series, out):
    """Write the divergences of a part of ``delta`` (n,)."""
    while another(turns):
        begin, end = turns[BEGIN], turns[END]
        one, two = out.dtype.type(1), out.dtype.type(2)
        first, last = begin * STRIP, min(end * STRIP, delta.size)
        x, y = delta[first:last], out[first:last]
        for i in range(wide(x.size)):
            d = abs(x[i])
            s = d * d
            near = series[0]
            for n in range(1, TERMS):
                near = near * s + series[n]
            e = exp(-d)
            far = d - two + two * d * e / (one - e)
            y[i] = near * s if d < one else far


@compiled
def slopes(turns, delta, series, out):
    """Write the slopes of a part of ``delta`` (n,)."""
    while another(turns):
        begin, end = turns[BEGIN], turns[END]
        one, two = out.dtype.type(1), out.dtype.type(2)
        first, last = begin * STRIP, min(end * STRIP, delta.size)
        x, y = delta[first:last], out[first:last]
        for i in range(wide(x.size)):
            d = abs(x[i])
            s = d * d
            near = series[0]
            for n in range(1, TERMS):
                near = near * s + series[n]
            e = exp(-d)
            far = (one - e * e - two * d * e) / ((one - e) * (one - e))
            y[i] = near * x[i] if d < one else (far if x[i] > 0 else -far)


def _each(kernel, delta, series):
    out = empty(delta.shape, delta.dtype)
    threads.run(kernel, -(-delta.size // STRIP), delta.reshape(-1), series.astype(delta.dtype), out.reshape(-1))
    return out


def value(delta):
    """Compute the divergence, element by element; ``delta`` contiguous, float32 or float64."""
    return _each(values, delta, KL_SERIES)


def slope(delta):
    """Compute the derivative of :func:`value`, element by element."""
    return _each(slopes, delta, KL_SLOPE_SERIES)
