r"""Products with a matrix of few columns, a head's: where BLAS spends its time on copying.

Means and variances of the outputs need two products with the same rows, :math:`x \mu` and :math:`x^2 \sigma^2`, and so
do the gradients.  Here both are made in one pass over the rows, and the squares are never written.  Matrices with few
columns come transposed, (K, D), so that the innermost loops run over D.
"""

import numba
import numpy as np

from ibpcl.kernels import threads
from ibpcl.kernels.compilation import compiled, inlined, wide
from ibpcl.kernels.memory import empty

WIDEST = 16                                                  # columns; beyond, BLAS is the faster one
ROWS = 256                                                   # a piece


@numba.njit(forceinline=True, fastmath={"nsz", "contract", "reassoc"}, error_model="numpy")
def _dots(x, location, spread):
    mean = variance = x.dtype.type(0)
    for d in range(wide(x.size)):
        mean += x[d] * location[d]
        variance += x[d] * x[d] * spread[d]
    return mean, variance


@compiled
def moments_rows(begin, end, x, location, spread, mean, variance):
    """Write the means and variances (N, K) of some pieces of the rows of x (N, D)."""
    for n in range(begin * ROWS, min(end * ROWS, x.shape[0])):
        for k in range(location.shape[0]):
            mean[n, k], variance[n, k] = _dots(x[n], location[k], spread[k])


@inlined
def _add(c, other_c, x, other, out):
    for d in range(wide(out.size)):
        out[d] += c * x[d] + other_c * other[d]


@inlined
def _join(x, through_mean, through_variance, dx):
    two = x.dtype.type(2)
    for d in range(wide(dx.size)):
        dx[d] = through_mean[d] + two * x[d] * through_variance[d]


@compiled
def inputs_rows(begin, end, x, dmean, dvariance, location, spread, dx):
    """Write the gradient at some pieces of the rows of x."""
    through_mean, through_variance = np.empty(x.shape[1], x.dtype), np.empty(x.shape[1], x.dtype)
    K, nothing = location.shape[0], x.dtype.type(0)
    last = K - K % 2
    for n in range(begin * ROWS, min(end * ROWS, x.shape[0])):
        through_mean[:], through_variance[:] = 0, 0
        for k in range(0, last, 2):                          # two at a time: half as many passes over the sums
            _add(dmean[n, k], dmean[n, k + 1], location[k], location[k + 1], through_mean)
            _add(dvariance[n, k], dvariance[n, k + 1], spread[k], spread[k + 1], through_variance)
        if last < K:
            _add(dmean[n, last], nothing, location[last], location[last], through_mean)
            _add(dvariance[n, last], nothing, spread[last], spread[last], through_variance)
        _join(x[n], through_mean, through_variance, dx[n])


@inlined
def _add_two(m, v, other_m, other_v, x, other, dlocation, dspread):
    for d in range(wide(x.size)):
        dlocation[d] += m * x[d] + other_m * other[d]
        dspread[d] += v * (x[d] * x[d]) + other_v * (other[d] * other[d])


@compiled
def weights_rows(begin, end, x, dmean, dvariance, dlocation, dspread):
    """Write the gradients at means and variances, (pieces, K, D), that come from some pieces of the rows."""
    nothing = x.dtype.type(0)
    for piece in range(begin, end):
        last = min((piece + 1) * ROWS, x.shape[0])
        dlocation[piece], dspread[piece] = 0, 0
        for n in range(piece * ROWS, last, 2):               # two rows at a time: half as many passes over the sums
            both = n + 1 < last
            other = n + 1 if both else n
            for k in range(dlocation.shape[1]):
                _add_two(dmean[n, k], dvariance[n, k], dmean[other, k] if both else nothing,
                         dvariance[other, k] if both else nothing, x[n], x[other],
                         dlocation[piece, k], dspread[piece, k])


def moments(x, mu, variances):
    """Return x @ mu and x**2 @ variances, for x (N, D) and matrices (D, K)."""
    mean, variance = (empty((x.shape[0], mu.shape[1]), x.dtype) for _ in range(2))
    threads.run(moments_rows, -(-x.shape[0] // ROWS), x, np.ascontiguousarray(mu.T),
                np.ascontiguousarray(variances.T), mean, variance)
    return mean, variance


def pull_back(dmean, dvariance, x, mu, variances, needs_dx):
    """Pull the gradients at both moments back to ``x`` (None if not needed), ``mu`` and ``variances``."""
    pieces = -(-x.shape[0] // ROWS)
    partial = [np.empty((pieces, mu.shape[1], x.shape[1]), x.dtype) for _ in range(2)]
    threads.run(weights_rows, pieces, x, dmean, dvariance, *partial)
    dx = None
    if needs_dx:
        dx = empty(x.shape, x.dtype)
        threads.run(inputs_rows, pieces, x, dmean, dvariance, np.ascontiguousarray(mu.T),
                    np.ascontiguousarray(variances.T), dx)
    return dx, *(part.sum(axis=0).T for part in partial)
