r"""A layer of few columns that is sampled at its pre-activations, a head: where BLAS spends its time on copying.

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
from ibpcl.kernels.preactivations import draw, mean_gradient, variance_gradient
from ibpcl.kernels.row_sums import LONGEST, VECTOR_BYTES, add, aligned
from ibpcl.kernels.turns import BEGIN, END, another

WIDEST = 16                                                  # columns; beyond, BLAS is the faster one
ROWS = 256                                                   # a piece
BLOCK = 32                                                   # rows of a tile of x, and of one of its squares: 28 KB


@summing
def _dots(x, mu, variances, other_mu, other_variances):
    mean = variance = other_mean = other_variance = x.dtype.type(0)
    for d in range(wide(x.size)):
        mean += x[d] * mu[d]
        other_mean += x[d] * other_mu[d]
        variance += x[d] * x[d] * variances[d]
        other_variance += x[d] * x[d] * other_variances[d]
    return mean, variance, other_mean, other_variance


@compiled
def forward(turns, x, mu, variances, bias_mean, bias_variance, eps, slope, h):
    """Write slopes (N, K) and samples (R, N, K) for some pieces of the rows of x (N, D)."""
    K = mu.shape[0]
    mean = np.empty(K, x.dtype)
    while another(turns):
        for n in range(turns[BEGIN] * ROWS, min(turns[END] * ROWS, x.shape[0])):
            for k in range(0, K, 2):
                j = min(k + 1, K - 1)                        # the last of an odd number is its own neighbour
                mean[k], slope[n, k], mean[j], slope[n, j] = _dots(x[n], mu[k], variances[k], mu[j], variances[j])
            draw(n, mean, bias_mean, bias_variance, eps, slope, h)


@inlined
def _join(x, through_mean, through_variance, dx):
    two = x.dtype.type(2)
    for d in range(wide(dx.size)):
        dx[d] = through_mean[d] + two * x[d] * through_variance[d]


@compiled
def backward(turns, dh, eps, slope, x, matrices, every, dmatrices, sums, dx):
    """Write the gradients that come from some pieces of the rows of x: at both ``matrices``, and at these rows.

    ``matrices`` (2, K, D) are means and variances, ``dmatrices`` (2, pieces, K, D) their gradients, and ``sums``
    (2, pieces, K) those of the gradients at the moments' rows; ``every`` is 0 ... at least BLOCK - 1 and K - 1; an
    empty ``dx`` is not needed.
    """
    (N, D), (moments, K, _), lanes = x.shape, matrices.shape, VECTOR_BYTES // x.itemsize    # not a literal 2, nor 0
    start = np.int64(0)                                      # below: ``add`` would be compiled once more
    vectors = -(-D // lanes)
    strips, longest = -(-vectors // LONGEST), LONGEST * lanes
    size = max(BLOCK, K) * longest                           # of a tile
    tiles = aligned(2 * size, x)
    by_row, by_column = np.empty((2, ROWS, K), x.dtype), np.empty((2, K, ROWS), x.dtype)
    through = np.empty((2, longest), x.dtype)
    while another(turns):
        for piece in range(turns[BEGIN], turns[END]):
            first, rows = piece * ROWS, min(ROWS, N - piece * ROWS)
            for i in range(rows):
                mean_gradient(first + i, dh, by_row[0, i])
                variance_gradient(first + i, dh, eps, slope, by_row[1, i])
            for moment in range(moments):
                dmatrices[moment, piece] = 0
                for k in range(K):
                    for i in range(rows):
                        by_column[moment, k, i] = by_row[moment, i, k]
                    sums[moment, piece, k] = total(by_column[moment, k, :rows])
            for strip in range(strips):
                left, right = strip * vectors // strips, (strip + 1) * vectors // strips
                column, length = left * lanes, (right - left) * lanes
                width = min(length, D - column)
                for begin in range(0, rows, BLOCK):
                    some = min(BLOCK, rows - begin)
                    for i in range(some):
                        row = x[first + begin + i, column:column + width]
                        loops.copy(row, tiles[i * length:i * length + width])
                        loops.square(row, tiles[size + i * length:size + i * length + width])
                    for k in range(K):
                        for moment in range(moments):
                            of_moment = dmatrices[moment, piece].reshape(-1)
                            add(right - left, of_moment, k * D + column, width, tiles[moment * size:],
                                by_column[moment, k, begin:], every, start, some)
                if dx.size == 0:
                    continue
                for moment in range(moments):
                    for k in range(K):
                        at = moment * size + k * length
                        loops.copy(matrices[moment, k, column:column + width], tiles[at:at + width])
                for i in range(rows):
                    through[:] = 0
                    for moment in range(moments):
                        add(right - left, through[moment], start, width, tiles[moment * size:], by_row[moment, i],
                            every, start, K)
                    _join(x[first + i, column:column + width], through[0], through[1],
                          dx[first + i, column:column + width])


def _pieces(x):
    return -(-x.shape[0] // ROWS)


def sample(x, matrices, bias_mean, bias_variance, eps, slope, h):
    """Write ``slope`` (N, K) and samples ``h`` (R, N, K), for x (N, D) and ``matrices`` (2, K, D)."""
    threads.run(forward, _pieces(x), x, *matrices, bias_mean, bias_variance, eps, slope, h)


def pull_back(dh, eps, slope, x, matrices, needs_dx):
    """Pull the gradient back to ``x`` (None if not needed), to both matrices (2, K, D), and to both biases (2, K)."""
    _, K, D = matrices.shape
    partial, sums = (np.empty((2, _pieces(x), *shape), x.dtype) for shape in ((K, D), (K,)))
    dx = empty((len(x) * needs_dx, D), x.dtype)
    threads.run(backward, _pieces(x), dh, eps, slope, x, matrices, np.arange(max(BLOCK, K), dtype=np.uint32), partial,
                sums, dx)
    return dx if needs_dx else None, partial.sum(axis=1), sums.sum(axis=1)
