r"""The layer sampled at its pre-activations: the twin of ``primitives.local_linear.sample``.

Means and variances of the pre-activations are two products, :math:`x (B \odot \mu)` and :math:`x^2 (B \odot
\sigma^2)`, made in one of three ways:

- a head has few columns (:mod:`ibpcl.kernels.thin_products`);
- images have many zeros (:mod:`ibpcl.kernels.sparse_matrix`);
- all else goes to BLAS.

Noise is added to some rows as soon as their products are there.  Back there is one job: the gradients at means and
variances are a piece each, and the rows of the inputs are the others.  Through variances it is simpler than the
reference, which goes through deviations: :math:`d \log\sigma = 2 \sigma^2 \odot d(\sigma^2)`.
"""

from math import prod
from typing import NamedTuple

import numpy as np

from ibpcl.kernels import blas, loops, sparse_matrix, thin_products, threads
from ibpcl.kernels.compilation import compiled, inlined, wide
from ibpcl.kernels.elementary import exp
from ibpcl.kernels.loops import fill, flat
from ibpcl.kernels.memory import as_arrays, several, writable
from ibpcl.kernels.preactivations import add_through_squares, draw, mean_gradient, variance_gradient
from ibpcl.kernels.turns import BEGIN, END, another

STRIP = 4096                                                 # weights, a piece
ROWS = 64                                                    # examples, a piece
PRODUCT = 2**18                                              # multiplications from which on a product is shared


class HardMask(NamedTuple):
    """A mask (D, K), and what follows from it: the places of the kept weights, and which units (K,) have any.

    Strip i of the mask has the weights ``starts[i]`` ... ``starts[i + 1] - 1`` of those that are kept.
    """

    mask: np.ndarray
    starts: np.ndarray
    places: np.ndarray
    active: np.ndarray


def hard_mask(mask):
    """Prepare a mask (D, K) of bool, so that nothing is looked for again each time it is used.

    >>> hard_mask(np.eye(2, 3, dtype=bool))[1:]
    (array([0, 2]), array([0, 4], dtype=uint32), array([ True,  True, False]))
    """
    places = np.flatnonzero(mask)
    starts = np.searchsorted(places, STRIP * np.arange(-(-mask.size // STRIP) + 1))
    return HardMask(mask, starts, places.astype(np.uint32), mask.any(axis=0))


EVERYTHING = HardMask(None, np.empty(0, np.int64), np.empty(0, np.uint32), True)     # where there is no mask


def densest(columns):
    """Return the largest share of numbers that are not zero for the sparse way: :func:`sparse_linear.densest`.

    Here one batch has two products only, and looking for its zeros weighs more: with few columns nobody looks.
    """
    return 0.0 if columns < 64 else min(0.3, 0.1 + columns / 700)


@inlined
def _variances(log_sigma, out):
    two = out.dtype.type(2)
    for i in range(wide(out.size)):
        out[i] = exp(two * log_sigma[i])


@compiled
def square_deviations(turns, log_sigma, out):
    """Write the variances of some strips of weights."""
    while another(turns):
        first, last = turns[BEGIN] * STRIP, min(turns[END] * STRIP, out.size)
        _variances(flat(log_sigma, first, last), flat(out, first, last))


@compiled
def spread(turns, mu, log_sigma, starts, places, kept_variances, mean, variance):
    """Write means and variances of some strips of weights, given those that the mask keeps, and their places."""
    while another(turns):
        for strip in range(turns[BEGIN], turns[END]):
            begin, end = strip * STRIP, min((strip + 1) * STRIP, mean.size)
            fill(0, flat(mean, begin, end))
            fill(0, flat(variance, begin, end))
            first, last = starts[strip], starts[strip + 1]
            _variances(flat(log_sigma, first, last), flat(kept_variances, first, last))
            for j in range(first, last):
                mean[places[j]], variance[places[j]] = mu[j], kept_variances[j]


@inlined
def _collect(dense, places, out):
    for j in range(places.size):
        out[j] = dense[places[j]]


@inlined
def _times_twice(x, out):
    two = x.dtype.type(2)
    for i in range(wide(out.size)):
        out[i] *= two * x[i]


@inlined
def _by_log_sigma(variance, places, kept_variances, dvariances, dlog_sigma):
    """Turn gradients at variances into those at their logarithms' halves: in place, or those of the kept ones."""
    given, out = variance, dvariances
    if places.size > 0:
        _collect(dvariances, places, dlog_sigma)
        given, out = kept_variances, dlog_sigma
    _times_twice(given, out)


@compiled
def dense_forward(turns, x, mu, variances, bias_mean, bias_variance, eps, squares, mean, slope, h):
    """Write means, slopes (N, K) and samples (R, N, K) for some rows of x (N, D), and their squares."""
    N, D = x.shape
    while another(turns):
        for piece in range(turns[BEGIN], turns[END]):
            first, last = piece * ROWS, min((piece + 1) * ROWS, N)
            loops.square(flat(x, first * D, last * D), flat(squares, first * D, last * D))
            np.dot(squares[first:last], variances, slope[first:last])
            np.dot(x[first:last], mu, mean[first:last])
            for n in range(first, last):
                draw(n, mean[n], bias_mean, bias_variance, eps, slope, h)


@compiled
def dense_backward(
    turns, dh, eps, slope, x, squares, mu, variances, places, kept_variances, dmeans, dvariances, dmu,
    dlog_sigma, sums, gradients, through, dx,
):
    """Write the gradients at all weights (D, K) and the kept ones, one moment a piece, then those at some rows of x.

    ``sums`` (2, K) are those of the gradients at the moments' rows; an empty ``dx`` is not needed; ``gradients``
    (3, N, K) and ``through`` (N, D) are scratch.
    """
    (N, D), size = x.shape, mu.size
    while another(turns):
        for piece in range(turns[BEGIN], turns[END]):
            gradient = gradients[min(piece, 2)]
            first, last = (0, N) if piece < 2 else ((piece - 2) * ROWS, min((piece - 1) * ROWS, N))
            if piece != 1:
                for n in range(first, last):
                    variance_gradient(n, dh, eps, slope, gradient[n])
            if piece == 0:
                loops.sum_rows(gradient, sums[1])
                np.dot(squares.T, gradient, dvariances)
                _by_log_sigma(flat(variances, 0, size), places, kept_variances, flat(dvariances, 0, size),
                              dlog_sigma)
                continue
            if piece > 1:
                np.dot(gradient[first:last], variances.T, through[first:last])
            for n in range(first, last):
                mean_gradient(n, dh, gradient[n])
            if piece == 1:
                loops.sum_rows(gradient, sums[0])
                np.dot(x.T, gradient, dmeans)
                _collect(flat(dmeans, 0, size), places, dmu)
            else:
                np.dot(gradient[first:last], mu.T, dx[first:last])
                begin, end = first * D, last * D
                add_through_squares(flat(x, begin, end), flat(through, begin, end), flat(dx, begin, end))


@compiled
def sparse_moments(turns, starts, ends, places, values, mu, variances, mean, variance):
    """Write means and variances (N, K) for a sparse x (N, D), one moment a piece."""
    nothing, totals = np.zeros(mu.shape[1], mu.dtype), np.empty(0, mu.dtype)
    while another(turns):
        for piece in range(turns[BEGIN], turns[END]):
            if piece == 0:
                squares = np.empty_like(values)
                loops.square(values, squares)
                sparse_matrix.multiply(starts, ends, places, squares, variances, nothing, variance, totals)
            else:
                sparse_matrix.multiply(starts, ends, places, values, mu, nothing, mean, totals)


@compiled
def sparse_draw(turns, mean, bias_mean, bias_variance, eps, slope, h):
    """Turn the variances of some rows (N, K) into slopes, and sample h (R, N, K) there."""
    while another(turns):
        for n in range(turns[BEGIN] * ROWS, min(turns[END] * ROWS, mean.shape[0])):
            draw(n, mean[n], bias_mean, bias_variance, eps, slope, h)


@compiled
def sparse_backward(
    turns, dh, eps, slope, x_starts, x_ends, x_places, x_values, variances, places, kept_variances, dmeans,
    dvariances, dmu, dlog_sigma, sums,
):
    """Write the gradients at all weights and the kept ones for a sparse matrix, x transposed, one moment a piece."""
    (N, K), size = slope.shape, variances.size
    nothing, gradient = np.zeros(K, slope.dtype), np.empty((N, K), slope.dtype)
    while another(turns):
        for piece in range(turns[BEGIN], turns[END]):
            if piece == 0:
                for n in range(N):
                    variance_gradient(n, dh, eps, slope, gradient[n])
                squares = np.empty_like(x_values)
                loops.square(x_values, squares)
                sparse_matrix.multiply(x_starts, x_ends, x_places, squares, gradient, nothing, dvariances, sums[1])
                _by_log_sigma(flat(variances, 0, size), places, kept_variances, flat(dvariances, 0, size),
                              dlog_sigma)
            else:
                for n in range(N):
                    mean_gradient(n, dh, gradient[n])
                sparse_matrix.multiply(x_starts, x_ends, x_places, x_values, gradient, nothing, dmeans, sums[0])
                _collect(flat(dmeans, 0, size), places, dmu)


def _moments(mu, log_sigma, kept, out):
    """Write means and variances (D, K), and the variances of the kept weights, to ``out`` and return them."""
    means, variances, kept_variances = out
    if kept.mask is None:
        threads.run(square_deviations, -(-mu.size // STRIP), log_sigma.reshape(-1), variances.reshape(-1))
        return mu, variances, kept_variances
    threads.run(spread, kept.starts.size - 1, mu, log_sigma, kept.starts, kept.places, kept_variances,
                means.reshape(-1), variances.reshape(-1))
    return means, variances, kept_variances


def _check(mu, log_sigma, kept):
    if kept.mask is not None and (mu.shape != kept.places.shape or log_sigma.shape != mu.shape):
        raise ValueError(f"local_linear.sample: the mask keeps {kept.places.size} weights, got {mu.shape} means and "
                         f"{log_sigma.shape} deviations")


def _small(rows, columns):
    """Return for how small arrays a product of some rows (N, D) is left to one thread: what counts is its work."""
    return 0 if rows.size * columns >= PRODUCT else threads.SMALL


def sample(eps, x, mu, log_sigma, bias_mu, bias_log_sigma, mask=None, limit=None):
    """Draw the pre-activations: the twin of :func:`ibpcl.primitives.local_linear.sample`.

    ``mask`` may be a :class:`HardMask` too.  ``limit`` is the largest share of shared inputs that are not zero for
    which the sparse way is taken; without it :func:`densest` says.  If it is 0, nobody looks.
    """
    eps, x, mu, log_sigma, bias_mu, bias_log_sigma = as_arrays(
        "local_linear.sample", eps, x, mu, log_sigma, bias_mu, bias_log_sigma)
    kept = EVERYTHING if mask is None else mask if isinstance(mask, HardMask) else hard_mask(np.asarray(mask))
    whole = mask is not None and mu.ndim == 2                # of which the mask keeps some: then as if they alone were
    if whole:
        mu, log_sigma = mu[kept.mask], log_sigma[kept.mask]
    _check(mu, log_sigma, kept)
    (D, columns), of_weights = (mu.shape, ((0, 0), mu.shape, (0,))) if kept.mask is None else (
        kept.mask.shape, (kept.mask.shape, kept.mask.shape, mu.shape))
    bias_mean, bias_variance = bias_mu * kept.active, np.exp(2 * bias_log_sigma) * kept.active
    rows = x.reshape(prod(x.shape[:-1]), D)
    # Samples that share their inputs share means and variances: R = S, else each row has its own: R = 1.
    noise = eps.reshape(eps.shape[0] if x.ndim == 2 else 1, len(rows), columns)
    mean, slope, h, squares, *of_weights = several(
        ((len(rows), columns), (len(rows), columns), noise.shape, rows.shape, *of_weights), x.dtype)
    means, variances, kept_variances = _moments(mu, log_sigma, kept, of_weights)
    pieces, biases, sparse = -(-len(rows) // ROWS), (bias_mean, bias_variance), None
    if columns <= thin_products.WIDEST:
        thin_products.sample(rows, np.ascontiguousarray([means.T, variances.T]), *biases, noise, slope, h)
    else:
        limit = densest(columns) if limit is None else limit
        sparse = sparse_matrix.sparse(rows, limit) if limit > 0 and x.ndim == 2 else None
        if sparse is not None:
            threads.run(sparse_moments, 2, *sparse, means, variances, mean, slope)
            threads.run(sparse_draw, pieces, mean, *biases, noise, slope, h)
        else:
            with blas.one_thread():
                threads.run(dense_forward, pieces, rows, means, variances, *biases, noise, squares, mean, slope, h,
                            small=_small(rows, columns))
    return h.reshape(eps.shape), (noise, x, sparse, squares, means, variances, bias_variance, kept, kept_variances,
                                  whole, slope)


def sample_vjp(dh, cache, needs_dx=True, out=None):
    """Pull the gradient back to all inputs but the noise: the twin of ``primitives.local_linear.sample_vjp``.

    Those at the weights' parameters are written into the arrays ``out``, if these are given and it can be done.
    """
    noise, x, sparse, squares, means, variances, bias_variance, kept, kept_variances, whole, slope = cache
    (D, K), dtype, rows = means.shape, means.dtype, x.reshape(len(slope), means.shape[0])
    dh = np.ascontiguousarray(dh, dtype).reshape(noise.shape)
    if K <= thin_products.WIDEST:
        matrices = np.ascontiguousarray([means.T, variances.T])
        dx, (dmu, dvariances), sums = thin_products.pull_back(dh, noise, slope, rows, matrices, needs_dx)
        dmu, dlog_sigma = dmu.T, 2 * variances * dvariances.T
        if kept.mask is not None:
            dmu, dlog_sigma = dmu[kept.mask], dlog_sigma[kept.mask]
    else:
        out = out if not whole and writable(out, dtype) else None
        needed = len(rows) * (needs_dx and sparse is None)
        own = (kept_variances.shape, kept_variances.shape) if out is None or kept.mask is None else ()
        sums, dx, through, gradients, dmeans, dvariances, *found = several(
            ((2, K), (needed, D), (needed, D), (3, len(rows), K), (D, K), (D, K), *own), dtype)
        if kept.mask is None:
            dmeans, dvariances = dmu, dlog_sigma = out or (dmeans, dvariances)
        else:
            dmu, dlog_sigma = found = out or found
        after = (kept.places, kept_variances, dmeans, dvariances, *found, sums)
        if sparse is not None:
            threads.run(sparse_backward, 2, dh, noise, slope, *sparse_matrix.transposed(sparse, D), variances, *after)
            dx = _dense_dx(dh, noise, slope, rows, means, variances) if needs_dx else None    # images need none
        else:
            with blas.one_thread():
                threads.run(dense_backward, 2 + -(-len(dx) // ROWS), dh, noise, slope, rows, squares, means, variances,
                            *after, gradients, through, dx, small=_small(rows, K))
    if whole:
        dmu, dlog_sigma = (_at(kept.mask, part) for part in (dmu, dlog_sigma))
    return (dx.reshape(x.shape) if needs_dx else None, dmu, dlog_sigma, sums[0] * kept.active,
            2 * bias_variance * sums[1])


def _at(mask, values):
    """Write the values of the kept weights where they are, and zeros elsewhere."""
    out = np.zeros(mask.shape, values.dtype)
    out[mask] = values
    return out


def _dense_dx(dh, eps, slope, x, means, variances):
    dvariance = (dh * eps).sum(axis=0) * slope
    return dh.sum(axis=0) @ means.T + 2 * x * (dvariance @ variances.T)
