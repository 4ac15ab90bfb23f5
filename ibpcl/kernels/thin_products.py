r"""A layer of few columns that is sampled at its pre-activations, a head: where BLAS spends its time on copying.

Means and variances of the outputs need two products with the same rows, :math:`x \mu` and :math:`x^2 \sigma^2`, and so
do the gradients.  Here each thread makes both of some rows, while these are in its cache.  Matrices with few columns
come transposed, (K, D), so that the innermost loops run over D.

The moments are sums over D, two columns at a time.  The gradients are sums of a few scaled rows, K of them for a row of
dx and one for each example for a row of dmu: what :func:`ibpcl.kernels.sparse_matrix.multiply` makes, here of matrices
that have no zeros to leave out.
"""

import functools

import numpy as np

from ibpcl.kernels import loops, preactivations, threads
from ibpcl.kernels.compilation import compiled, summing, wide
from ibpcl.kernels.elementary import total
from ibpcl.kernels.loops import flat
from ibpcl.kernels.memory import empty
from ibpcl.kernels.sparse_matrix import BLOCK, multiply
from ibpcl.kernels.turns import BEGIN, END, another

WIDEST = 16                                                  # columns; beyond, BLAS is the faster one
ROWS = 256                                                   # a piece


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
def forward(turns, x, mu, variances, bias_mean, bias_variance, eps, lean, slope, h):
    """Write slopes (N, K) and samples (R, N, K) for some pieces of the rows of x (N, D)."""
    K = mu.shape[0]
    mean = np.empty(K, x.dtype)
    while another(turns):
        for n in range(turns[BEGIN] * ROWS, min(turns[END] * ROWS, x.shape[0])):
            for k in range(0, K, 2):
                j = min(k + 1, K - 1)                        # the last of an odd number is its own neighbour
                mean[k], slope[n, k], mean[j], slope[n, j] = _dots(x[n], mu[k], variances[k], mu[j], variances[j])
            preactivations.draw(n, mean, bias_mean, bias_variance, eps, lean, slope, h)


@compiled
def backward(
    turns, dh, h, lean, eps, slope, x, matrices, starts, places, row_starts, row_ends, row_places, dmatrices, sums, dx,
):
    """Write the gradients that come from some pieces of the rows of x: at both ``matrices``, and at these rows.

    ``matrices`` (2, K, D) are means and variances, ``dmatrices`` (2, pieces, K, D) their gradients, and ``sums``
    (2, pieces, K) those of the gradients at the moments' rows; :func:`_all_entries` says what the places are; an empty
    ``dx`` is not needed.
    """
    (N, D), (moments, K, _) = x.shape, matrices.shape        # not a literal 2: the loop would be compiled twice
    by_row, by_column = np.empty((2, ROWS, K), x.dtype), np.empty((2, K, ROWS), x.dtype)
    squares, through = np.empty((ROWS, D), x.dtype), np.empty((ROWS * (dx.size > 0), D), x.dtype)
    nothing, totals, ends = np.zeros(D, x.dtype), np.empty(0, x.dtype), np.empty_like(starts)
    while another(turns):
        for piece in range(turns[BEGIN], turns[END]):
            first, last = piece * ROWS, min((piece + 1) * ROWS, N)
            rows = last - first
            for i in range(rows):
                preactivations.pull_back(first + i, dh, h, lean, eps, slope, by_row[0, i], by_row[1, i])
            for moment in range(moments):
                for k in range(K):
                    for i in range(rows):
                        by_column[moment, k, i] = by_row[moment, i, k]
                    at = (moment * K + k) * ROWS
                    sums[moment, piece, k] = total(flat(by_column, at, at + rows))
            for block in range(starts.shape[0]):
                for k in range(K):
                    ends[block, k] = starts[block, k] + min(BLOCK, rows - block * BLOCK)
            loops.square(flat(x, first * D, last * D), flat(squares, 0, rows * D))
            for i in range(moments * (2 if dx.size > 0 else 1)):     # one place of the call: it is compiled once
                moment = i % moments
                if i < moments:
                    factor, given = by_column, squares[:rows] if moment > 0 else x[first:last]
                    begins, finish, columns, out = starts, ends, places, dmatrices[moment, piece]
                else:
                    factor, given = by_row, matrices[moment]
                    begins, finish, columns, out = row_starts, row_ends, row_places, (
                        through[:rows] if moment > 0 else dx[first:last])
                multiply(begins, finish, columns, flat(factor, moment * K * ROWS, factor.size), given, nothing, out,
                         totals, 0, out.shape[0])
            if dx.size > 0:
                preactivations.add_through_squares(flat(x, first * D, last * D), flat(through, 0, rows * D),
                                                   flat(dx, first * D, last * D))


@functools.cache
def _all_entries(K):
    """Return where the entries of dense factors (K, ROWS), whose ends depend on the piece, and (ROWS, K) are.

    They are ``starts`` and ``places``, and ``starts``, ``ends`` and ``places``, of sparse matrices that leave out
    nothing.
    """
    starts = np.arange(0, ROWS, BLOCK)[:, None] + ROWS * np.arange(K)
    rows, places = np.arange(0, (ROWS + 1) * K, K), np.arange(ROWS * K)
    return (starts, (places % BLOCK).astype(np.uint32), rows[None, :-1].copy(), rows[None, 1:].copy(),
            (places % K).astype(np.uint32))


def _pieces(x):
    return -(-x.shape[0] // ROWS)


def sample(x, matrices, bias_mean, bias_variance, eps, lean, slope, h):
    """Write ``slope`` (N, K) and samples ``h`` (R, N, K), for x (N, D) and ``matrices`` (2, K, D)."""
    threads.run(forward, _pieces(x), x, *matrices, bias_mean, bias_variance, eps, lean, slope, h)


def pull_back(dh, h, lean, eps, slope, x, matrices, needs_dx):
    """Pull the gradient back to ``x`` (None if not needed), to both matrices (2, K, D), and to both biases (2, K)."""
    _, K, D = matrices.shape
    partial, sums = (np.empty((2, _pieces(x), *shape), x.dtype) for shape in ((K, D), (K,)))
    dx = empty((len(x) * needs_dx, D), x.dtype)
    threads.run(backward, _pieces(x), dh, h, lean, eps, slope, x, matrices, *_all_entries(K), partial, sums, dx)
    return dx if needs_dx else None, partial.sum(axis=1), sums.sum(axis=1)
