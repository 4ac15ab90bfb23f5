r"""The products of a layer that is sampled at its pre-activations: their means x mu, and their variances x^2 sigma^2.

Those with the means and those with the variances are pieces of one job, so that each thread has its own.  Three ways:

- a head has few columns (:mod:`ibpcl.kernels.thin_products`);
- images have many zeros (:mod:`ibpcl.kernels.sparse_matrix`);
- all else goes to BLAS.
"""

import numpy as np

from ibpcl.kernels import blas, loops, sparse_matrix, thin_products, threads
from ibpcl.kernels.compilation import compiled, inlined, wide
from ibpcl.kernels.memory import empty
from ibpcl.kernels.turns import BEGIN, END, another

ROWS = 256                                                   # a piece of a dense product


def densest(columns):
    """Return the largest share of numbers that are not zero for the sparse way: :func:`sparse_linear.densest`.

    Here one batch has two products only, and looking for its zeros weighs more: with few columns nobody looks.
    """
    return 0.0 if columns < 64 else min(0.3, 0.1 + columns / 700)


@inlined
def _double(x, out):
    two = x.dtype.type(2)
    for i in range(wide(out.size)):
        out[i] *= two * x[i]


@compiled
def dense_moments(turns, x, mu, variances, squares, mean, variance):
    """Write means and variances (N, K) of some rows of x (N, D), and the rows' squares; the variances' pieces first."""
    blocks = -(-x.shape[0] // ROWS)
    while another(turns):
        for piece in range(turns[BEGIN], turns[END]):
            first = piece % blocks * ROWS
            rows = slice(first, min(first + ROWS, x.shape[0]))
            if piece < blocks:
                loops.square(x[rows].reshape(-1), squares[rows].reshape(-1))
                np.dot(squares[rows], variances, variance[rows])
            else:
                np.dot(x[rows], mu, mean[rows])


@compiled
def dense_pull_back(turns, dmean, dvariance, x, squares, mu, variances, sigma, dx, through, dmu, dsigma, dbiases):
    """Write the gradients at weights and biases, one moment a piece, then what comes to some rows of x by each."""
    blocks = -(-dx.shape[0] // ROWS)
    while another(turns):
        for piece in range(turns[BEGIN], turns[END]):
            if piece == 0:
                loops.sum_rows(dvariance, dbiases[1])
                np.dot(squares.T, dvariance, dsigma)
                _double(sigma.reshape(-1), dsigma.reshape(-1))
            elif piece == 1:
                loops.sum_rows(dmean, dbiases[0])
                np.dot(x.T, dmean, dmu)
            else:
                first = (piece - 2) % blocks * ROWS
                rows = slice(first, min(first + ROWS, dx.shape[0]))
                if piece - 2 < blocks:
                    np.dot(dvariance[rows], variances.T, through[rows])
                    _double(x[rows].reshape(-1), through[rows].reshape(-1))
                else:
                    np.dot(dmean[rows], mu.T, dx[rows])


@compiled
def sparse_moments(turns, starts, ends, places, values, mu, variances, mean, variance):
    """Write means and variances (N, K) for a sparse x (N, D), one moment a piece."""
    nothing, totals = np.zeros(mu.shape[1], mu.dtype), np.empty(mu.shape[1], mu.dtype)
    while another(turns):
        for piece in range(turns[BEGIN], turns[END]):
            if piece == 0:
                squares = np.empty_like(values)
                loops.square(values, squares)
                sparse_matrix.multiply(starts, ends, places, squares, variances, nothing, variance, totals)
            else:
                sparse_matrix.multiply(starts, ends, places, values, mu, nothing, mean, totals)


@compiled
def sparse_pull_back(turns, starts, ends, places, values, dmean, dvariance, sigma, dmu, dsigma, dbiases):
    """Write the gradients at weights and biases for a sparse matrix, the transpose of x, one moment a piece."""
    nothing = np.zeros(sigma.shape[1], sigma.dtype)
    while another(turns):
        for piece in range(turns[BEGIN], turns[END]):
            if piece == 0:
                squares = np.empty_like(values)
                loops.square(values, squares)
                sparse_matrix.multiply(starts, ends, places, squares, dvariance, nothing, dsigma, dbiases[1])
                _double(sigma.reshape(-1), dsigma.reshape(-1))
            else:
                sparse_matrix.multiply(starts, ends, places, values, dmean, nothing, dmu, dbiases[0])


def moments(x, mu, variances, limit):
    """Compute ``x @ mu`` and ``x**2 @ variances``, for x (N, D) and matrices (D, K).

    Parameters
    ----------
    limit : float
        The largest share of numbers of x that are not zero for which zeros are left out; if 0, nobody looks for them.

    Returns
    -------
    out : tuple
        Both products, (N, K).
    cache : tuple
        What :func:`pull_back` needs.
    """
    if mu.shape[1] <= thin_products.WIDEST:
        return thin_products.moments(x, mu, variances), (x, None, None, mu, variances)
    mean, variance = (empty((x.shape[0], mu.shape[1]), x.dtype) for _ in range(2))
    sparse, squares = sparse_matrix.sparse(x, limit) if limit > 0 else None, None
    if sparse is not None:
        threads.run(sparse_moments, 2, *sparse, mu, variances, mean, variance)
    else:
        squares = empty(x.shape, x.dtype)
        with blas.one_thread():
            threads.run(dense_moments, 2 * -(-x.shape[0] // ROWS), x, mu, variances, squares, mean, variance)
    return (mean, variance), (x, sparse, squares, mu, variances)


def pull_back(dmean, dvariance, sigma, cache, needs_dx):
    """Pull the gradients at both products (N, K) back.

    Returns
    -------
    tuple
        The gradients at x (None if not needed), at mu and sigma (D, K), and the sums of both gradients' rows (K,).
    """
    x, sparse, squares, mu, variances = cache
    if mu.shape[1] <= thin_products.WIDEST:
        dx, dmu, dvariances, dbiases = thin_products.pull_back(dmean, dvariance, x, mu, variances, needs_dx)
        return dx, dmu, 2 * sigma * dvariances, *dbiases
    dmu, dsigma, dbiases = (empty(shape, mu.dtype) for shape in (mu.shape, mu.shape, (2, mu.shape[1])))
    if sparse is not None:
        transposed = sparse_matrix.transposed(sparse, x.shape[1])
        threads.run(sparse_pull_back, 2, *transposed, dmean, dvariance, sigma, dmu, dsigma, dbiases)
        dx = dmean @ mu.T + 2 * x * (dvariance @ variances.T) if needs_dx else None    # images need none
        return dx, dmu, dsigma, *dbiases
    dx, through = (empty((len(x) * needs_dx, x.shape[1]), x.dtype) for _ in range(2))
    with blas.one_thread():
        threads.run(dense_pull_back, 2 + 2 * -(-len(dx) // ROWS), dmean, dvariance, x, squares, mu, variances, sigma,
                    dx, through, dmu, dsigma, dbiases)
    if needs_dx:
        dx += through
    return dx if needs_dx else None, dmu, dsigma, *dbiases
