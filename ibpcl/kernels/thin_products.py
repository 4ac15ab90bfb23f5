r"""Products with a matrix of few columns, a head's: where BLAS spends its time on copying.

Means and variances of the outputs need two products with the same rows, :math:`x \mu` and :math:`x^2 \sigma^2`, and so
do the gradients.  Here both are made in one pass over the rows, and the squares are never written.  Matrices with few
columns come transposed, (K, D), so that the innermost loops run over D.

The moments are sums over D, two columns at a time.  The gradients are sums of a few scaled rows, K of them for a row of
dx and one for each example for a row of dmu: strips of sums that stay in registers (``row_sums``).
"""

import numpy as np

from ibpcl.kernels import loops, threads
from ibpcl.kernels.compilation import compiled, inlined, summing, wide
from ibpcl.kernels.elementary import total
from ibpcl.kernels.memory import empty
from ibpcl.kernels.row_sums import LONGEST, VECTOR_BYTES, add, aligned
from ibpcl.kernels.turns import BEGIN, END, another

WIDEST = 16                                                  # columns; beyond, BLAS is the faster one
ROWS = 256                                                   # a piece
BLOCK = 32                                                   # rows of a tile of x, and of one of its squares: 28 KB


@summing
def _dots(x, location, spread, other_location, other_spread):
    mean = variance = other_mean = other_variance = x.dtype.type(0)
    for d in range(wide(x.size)):
        mean += x[d] * location[d]
        other_mean += x[d] * other_location[d]
        variance += x[d] * x[d] * spread[d]
        other_variance += x[d] * x[d] * other_spread[d]
    return mean, variance, other_mean, other_variance


@compiled
def moments_rows(turns, x, location, spread, mean, variance):
    """Write the means and variances (N, K) of some pieces of the rows of x (N, D)."""
    K = location.shape[0]
    while another(turns):
        for n in range(turns[BEGIN] * ROWS, min(turns[END] * ROWS, x.shape[0])):
            for k in range(0, K, 2):
                j = min(k + 1, K - 1)                        # the last of an odd number is its own neighbour
                mean[n, k], variance[n, k], mean[n, j], variance[n, j] = _dots(
                    x[n], location[k], spread[k], location[j], spread[j])


@inlined
def _join(x, through_mean, through_variance, dx):
    two = x.dtype.type(2)
    for d in range(wide(dx.size)):
        dx[d] = through_mean[d] + two * x[d] * through_variance[d]


@compiled
def inputs_rows(turns, x, dmean, dvariance, location, spread, every, dx):
    """Write the gradient at some pieces of the rows of x; ``every`` is 0 ... K - 1."""
    (K, D), lanes = location.shape, VECTOR_BYTES // x.itemsize
    start = np.int64(0)                                      # a literal would have ``add`` compiled once more
    vectors = -(-D // lanes)
    strips, longest = -(-vectors // LONGEST), LONGEST * lanes
    tiles = aligned(2 * K * longest, x)
    through_mean, through_variance = np.empty(longest, x.dtype), np.empty(longest, x.dtype)
    while another(turns):
        for strip in range(strips):
            left, right = strip * vectors // strips, (strip + 1) * vectors // strips
            first, length = left * lanes, (right - left) * lanes
            width = min(length, D - first)
            locations, spreads = tiles[:K * length], tiles[K * longest:K * longest + K * length]
            for k in range(K):
                loops.copy(location[k, first:first + width], locations[k * length:k * length + width])
                loops.copy(spread[k, first:first + width], spreads[k * length:k * length + width])
            for n in range(turns[BEGIN] * ROWS, min(turns[END] * ROWS, x.shape[0])):
                through_mean[:], through_variance[:] = 0, 0
                add(right - left, through_mean, start, width, locations, dmean[n], every, start, K)
                add(right - left, through_variance, start, width, spreads, dvariance[n], every, start, K)
                _join(x[n, first:first + width], through_mean, through_variance, dx[n, first:first + width])


@compiled
def weights_rows(turns, x, dmean, dvariance, every, dlocation, dspread, sums):
    """Write the gradients at means and variances, (pieces, K, D), that come from some pieces of the rows.

    ``dmean`` and ``dvariance`` come transposed, (K, N); ``every`` is 0 ... BLOCK - 1; ``sums``, (2, pieces, K), are the
    sums of their rows.
    """
    (N, D), K, lanes = x.shape, dlocation.shape[1], VECTOR_BYTES // x.itemsize
    start = np.int64(0)                                      # not the literal: as above
    vectors = -(-D // lanes)
    strips, longest = -(-vectors // LONGEST), LONGEST * lanes
    tiles = aligned(2 * BLOCK * longest, x)
    while another(turns):
        for piece in range(turns[BEGIN], turns[END]):
            dlocation[piece], dspread[piece] = 0, 0
            here = slice(piece * ROWS, min((piece + 1) * ROWS, N))
            for k in range(K):
                sums[0, piece, k], sums[1, piece, k] = total(dmean[k, here]), total(dvariance[k, here])
            locations, spreads = dlocation[piece].reshape(-1), dspread[piece].reshape(-1)
            for strip in range(strips):
                left, right = strip * vectors // strips, (strip + 1) * vectors // strips
                first, length = left * lanes, (right - left) * lanes
                width = min(length, D - first)
                given, squares = tiles[:BLOCK * length], tiles[BLOCK * longest:(BLOCK * longest + BLOCK * length)]
                for begin in range(piece * ROWS, min((piece + 1) * ROWS, N), BLOCK):
                    rows = min(BLOCK, N - begin)
                    for n in range(rows):
                        row = x[begin + n, first:first + width]
                        loops.copy(row, given[n * length:n * length + width])
                        loops.square(row, squares[n * length:n * length + width])
                    for k in range(K):
                        at = k * D + first
                        add(right - left, locations, at, width, given, dmean[k, begin:], every, start, rows)
                        add(right - left, spreads, at, width, squares, dvariance[k, begin:], every, start, rows)


def _pieces(x):
    return -(-x.shape[0] // ROWS)


def moments(x, mu, variances):
    """Return x @ mu and x**2 @ variances, for x (N, D) and matrices (D, K)."""
    mean, variance = (empty((x.shape[0], mu.shape[1]), x.dtype) for _ in range(2))
    threads.run(moments_rows, _pieces(x), x, np.ascontiguousarray(mu.T), np.ascontiguousarray(variances.T), mean,
                variance)
    return mean, variance


def pull_back(dmean, dvariance, x, mu, variances, needs_dx):
    """Pull the gradients at both moments back to ``x`` (None if not needed), ``mu`` and ``variances``.

    The sums of both gradients' rows, a (2, K) array, come with them.
    """
    partial = [np.empty((_pieces(x), mu.shape[1], x.shape[1]), x.dtype) for _ in range(2)]
    sums = np.empty((2, _pieces(x), mu.shape[1]), x.dtype)
    threads.run(weights_rows, _pieces(x), x, np.ascontiguousarray(dmean.T), np.ascontiguousarray(dvariance.T),
                np.arange(BLOCK, dtype=np.uint32), *partial, sums)
    dx = None
    if needs_dx:
        dx = empty(x.shape, x.dtype)
        threads.run(inputs_rows, _pieces(x), x, dmean, dvariance, np.ascontiguousarray(mu.T),
                    np.ascontiguousarray(variances.T), np.arange(mu.shape[1], dtype=np.uint32), dx)
    return dx, *(part.sum(axis=0).T for part in partial), sums.sum(axis=1)
