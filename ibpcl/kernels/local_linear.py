r"""The layer sampled at its pre-activations: the twin of ``primitives.local_linear.sample``.

Means and variances of the pre-activations are two products, :math:`x (B \odot \mu)` and :math:`x^2 (B \odot
\sigma^2)`, made in one of three ways:

- a head has few columns (:mod:`ibpcl.kernels.thin_products`);
- images have many zeros (:mod:`ibpcl.kernels.sparse_matrix`);
- all else goes to BLAS.

Each way is one job, whose later pieces wait for the earlier ones: strips of weights, then rows, to which noise and
activation are added as soon as their products are there; and back the moments' rows, then the gradients at means and at
variances, a piece each, and the rows of the inputs.  Through variances it is simpler than the
reference, which goes through deviations: :math:`d \log\sigma = 2 \sigma^2 \odot d(\sigma^2)`.
"""

from math import prod
from typing import NamedTuple

import numpy as np

from ibpcl.kernels import loops, sparse_matrix, thin_products, threads
from ibpcl.kernels.compilation import compiled, inlined, part, wide
from ibpcl.kernels.elementary import exp
from ibpcl.kernels.loops import fill, flat
from ibpcl.kernels.memory import as_arrays, several
from ibpcl.kernels.preactivations import add_through_squares, draw, pull_back
from ibpcl.kernels.turns import BEGIN, END, another, wait_for
from ibpcl.openblas import one_thread
from ibpcl.primitives import activations
from ibpcl.primitives.activations import LEAK

STRIP = 4096                                                 # weights, a piece
ROWS = 64                                                    # examples, a piece
PRODUCT = 2**18                                              # multiplications from which on a product is shared
# What a number that is not positive is multiplied by; other activations are apart from their layers.
LEAN = {None: 1.0, "relu": 0.0, "leaky_relu": LEAK}


class HardMask(NamedTuple):
    """A mask (D, K), and what follows from it: the places of the kept weights, and which units have any.

    Strip i of the mask has the weights ``starts[i]`` ... ``starts[i + 1] - 1`` of those that are kept.  ``active`` (K,)
    is empty where all units have some: then no bias is switched off.
    """

    mask: np.ndarray
    starts: np.ndarray
    places: np.ndarray
    active: np.ndarray


def _hard_mask(mask):
    """Return what follows from a mask (D, K) of bool.

    >>> _hard_mask(np.eye(2, 3, dtype=bool))[1:]
    (array([0, 2]), array([0, 4], dtype=uint32), array([ True,  True, False]))
    """
    places, active = np.flatnonzero(mask), mask.any(axis=0)
    starts = np.searchsorted(places, STRIP * np.arange(_strips(mask.size) + 1))
    return HardMask(mask, starts, places.astype(np.uint32), active[:0] if active.all() else active)


# Where there is no mask.
EVERYTHING = HardMask(None, np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, bool))


class Cache(NamedTuple):
    """What the way back of a layer needs; ``apart`` is an activation that is not ``lean``, with its own cache."""

    noise: np.ndarray
    h: np.ndarray
    lean: float
    apart: tuple | None
    x: np.ndarray
    sparse: sparse_matrix.Sparse | None
    squares: np.ndarray
    means: np.ndarray
    variances: np.ndarray
    kept: HardMask
    kept_variances: np.ndarray
    whole: bool
    bias_variance: np.ndarray
    slope: np.ndarray


def _densest(columns):
    """Return the largest share of numbers that are not zero for the sparse way: :func:`linear._densest`.

    Here one batch has two products only, and looking for its zeros weighs more: with few columns nobody looks.
    """
    return 0.0 if columns < 64 else min(0.3, 0.1 + columns / 700)


@part
def _strips(size):
    return -(-size // STRIP)


@part
def _rows(count):
    return -(-count // ROWS)


@inlined
def _variances(log_sigma, out):
    two = out.dtype.type(2)
    for i in range(wide(out.size)):
        out[i] = exp(two * log_sigma[i])


@inlined
def _strip_moments(strip, mu, log_sigma, starts, places, kept_variances, mean, variance):
    """Write means and variances of a strip of weights: given those that a mask keeps, and their places; or all."""
    begin, end = strip * STRIP, min((strip + 1) * STRIP, variance.size)
    if starts.size == 0:                                     # no mask: the means are there
        _variances(flat(log_sigma, begin, end), flat(variance, begin, end))
        return
    fill(0, flat(mean, begin, end))
    fill(0, flat(variance, begin, end))
    first, last = starts[strip], starts[strip + 1]
    _variances(flat(log_sigma, first, last), flat(kept_variances, first, last))
    means, variances = flat(mean, 0, mean.size), flat(variance, 0, variance.size)
    for j in range(first, last):
        means[places[j]], variances[places[j]] = mu[j], kept_variances[j]


@compiled
def square_deviations(turns, log_sigma, out):
    """Write the variances of some strips of weights."""
    while another(turns):
        first, last = turns[BEGIN] * STRIP, min(turns[END] * STRIP, out.size)
        _variances(flat(log_sigma, first, last), flat(out, first, last))


def _spread(mu, log_sigma, kept, kept_variances, means, variances):
    """Write means and variances of a layer with few columns."""
    given = variances if kept.mask is None else kept_variances
    threads.run(square_deviations, _strips(given.size), log_sigma, given.reshape(-1))
    if kept.mask is not None:
        for out, values in ((means, mu), (variances, given)):
            out[...] = 0
            out[kept.mask] = values


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
def dense_forward(
    turns, kept_mu, log_sigma, starts, places, kept_variances, mu, variances, x, bias_mean, bias_variance, eps, lean,
    squares, mean, slope, h,
):
    """Write the weights' means and variances; then means, slopes (N, K) and samples (R, N, K) for rows of x (N, D).

    The first pieces are strips of the weights, the others rows, whose squares are written too.
    """
    (N, D), strips = x.shape, _strips(variances.size)
    while another(turns):
        for piece in range(turns[BEGIN], turns[END]):
            if piece < strips:
                _strip_moments(piece, kept_mu, log_sigma, starts, places, kept_variances, mu, variances)
                continue
            wait_for(turns, strips, piece)
            first, last = (piece - strips) * ROWS, min((piece - strips + 1) * ROWS, N)
            loops.square(flat(x, first * D, last * D), flat(squares, first * D, last * D))
            np.dot(squares[first:last], variances, slope[first:last])
            np.dot(x[first:last], mu, mean[first:last])
            for n in range(first, last):
                draw(n, mean[n], bias_mean, bias_variance, eps, lean, slope, h)


@inlined
def _parameter_gradients(
    variances, places, kept_variances, active, bias_variance, dmeans, dvariances, dmu, dlog_sigma, dbias_mu,
    dbias_log_sigma, moment,
):
    """Turn the gradients at all weights' and biases' means, moment 0, or variances into those at the parameters.

    Of the biases all is in place.
    """
    size = variances.size
    if moment > 0:
        _by_log_sigma(flat(variances, 0, size), places, kept_variances, flat(dvariances, 0, size), dlog_sigma)
        _times_twice(bias_variance, dbias_log_sigma)
    else:
        _collect(flat(dmeans, 0, size), places, dmu)
        for k in range(active.size):
            if not active[k]:
                dbias_mu[k] = 0


@compiled
def dense_backward(
    turns, dh, h, lean, eps, slope, x, squares, mu, variances, places, kept_variances, active, bias_variance, dmeans,
    dvariances, dmu, dlog_sigma, dbias_mu, dbias_log_sigma, gradients, through, dx,
):
    """Write the gradients at some rows of both moments; then those at all weights (D, K) and the kept ones, and at x.

    The first pieces are rows of the moments, whose gradients are ``gradients`` (2, N, K); then come the variances, the
    means, each with the biases' part, and rows of x.  An empty ``dx`` is not needed; ``through`` (N, D) is scratch.
    """
    (N, D), rows = x.shape, _rows(x.shape[0])
    dmean, dvariance = gradients[0], gradients[1]
    while another(turns):
        for piece in range(turns[BEGIN], turns[END]):
            if piece < rows:
                for n in range(piece * ROWS, min((piece + 1) * ROWS, N)):
                    pull_back(n, dh, h, lean, eps, slope, dmean[n], dvariance[n])
                continue
            wait_for(turns, rows, piece)
            if piece == rows:
                loops.sum_rows(dvariance, dbias_log_sigma)
                np.dot(squares.T, dvariance, dvariances)
                _parameter_gradients(variances, places, kept_variances, active, bias_variance, dmeans, dvariances,
                                     dmu, dlog_sigma, dbias_mu, dbias_log_sigma, 1)
            elif piece == rows + 1:
                loops.sum_rows(dmean, dbias_mu)
                np.dot(x.T, dmean, dmeans)
                _parameter_gradients(variances, places, kept_variances, active, bias_variance, dmeans, dvariances,
                                     dmu, dlog_sigma, dbias_mu, dbias_log_sigma, 0)
            else:
                first, last = (piece - rows - 2) * ROWS, min((piece - rows - 1) * ROWS, N)
                np.dot(dvariance[first:last], variances.T, through[first:last])
                np.dot(dmean[first:last], mu.T, dx[first:last])
                begin, end = first * D, last * D
                add_through_squares(flat(x, begin, end), flat(through, begin, end), flat(dx, begin, end))


@compiled
def sparse_forward(
    turns, kept_mu, log_sigma, weight_starts, weight_places, kept_variances, mu, variances, starts, ends, places,
    values, bias_mean, bias_variance, eps, lean, squares, mean, slope, h,
):
    """Do what :func:`dense_forward` does for a sparse x: a piece is a strip of weights, a moment, then some rows.

    ``squares`` is scratch of the size of ``values``: a piece that others wait for must not fail for want of memory.
    """
    N, strips = mean.shape[0], _strips(variances.size)
    nothing, totals = np.zeros(mu.shape[1], mu.dtype), np.empty(0, mu.dtype)
    while another(turns):
        for piece in range(turns[BEGIN], turns[END]):
            if piece < strips:
                _strip_moments(piece, kept_mu, log_sigma, weight_starts, weight_places, kept_variances, mu, variances)
            elif piece < strips + 2:
                wait_for(turns, strips, piece)
                by, weights, out = values, mu, mean
                if piece == strips:
                    loops.square(values, squares)
                    by, weights, out = squares, variances, slope
                sparse_matrix.multiply(starts, ends, places, by, weights, nothing, out, totals, 0, N)
            else:
                wait_for(turns, strips + 2, piece)
                for n in range((piece - strips - 2) * ROWS, min((piece - strips - 1) * ROWS, N)):
                    draw(n, mean[n], bias_mean, bias_variance, eps, lean, slope, h)


@compiled
def sparse_backward(
    turns, dh, h, lean, eps, slope, x_starts, x_ends, x_places, x_values, variances, places, kept_variances, active,
    bias_variance, dmeans, dvariances, dmu, dlog_sigma, dbias_mu, dbias_log_sigma, gradients,
):
    """Do what :func:`dense_backward` does for a sparse matrix, x transposed, which needs no gradient."""
    (N, K), rows = slope.shape, _rows(slope.shape[0])
    nothing = np.zeros(K, slope.dtype)
    while another(turns):
        for piece in range(turns[BEGIN], turns[END]):
            if piece < rows:
                for n in range(piece * ROWS, min((piece + 1) * ROWS, N)):
                    pull_back(n, dh, h, lean, eps, slope, gradients[0, n], gradients[1, n])
                continue
            wait_for(turns, rows, piece)
            moment = rows + 1 - piece                        # variances first
            squares = np.empty_like(x_values)
            by, out, total = x_values, dmeans, dbias_mu
            if moment > 0:
                loops.square(x_values, squares)
                by, out, total = squares, dvariances, dbias_log_sigma
            sparse_matrix.multiply(x_starts, x_ends, x_places, by, gradients[moment], nothing, out, total, 0,
                                   out.shape[0])
            _parameter_gradients(variances, places, kept_variances, active, bias_variance, dmeans, dvariances, dmu,
                                 dlog_sigma, dbias_mu, dbias_log_sigma, moment)


def _check(mu, log_sigma, kept):
    if kept.mask is not None and (mu.shape != kept.places.shape or log_sigma.shape != mu.shape):
        raise ValueError(f"local_linear.sample: the mask keeps {kept.places.size} weights, got {mu.shape} means and "
                         f"{log_sigma.shape} deviations")


def _small(rows, columns):
    """Return for how small arrays a product of some rows (N, D) is left to one thread: what counts is its work."""
    return 0 if rows.size * columns >= PRODUCT else threads.SMALL


def sample(eps, x, mu, log_sigma, bias_mu, bias_log_sigma, mask=None, activation=None):
    """Draw what a layer puts out: the twin of :func:`ibpcl.primitives.local_linear.sample`."""
    eps, x, mu, log_sigma, bias_mu, bias_log_sigma = as_arrays(
        "local_linear.sample", eps, x, mu, log_sigma, bias_mu, bias_log_sigma)
    kept = EVERYTHING if mask is None else _hard_mask(np.asarray(mask))
    whole = mask is not None and mu.ndim == 2                # of which the mask keeps some: then as if they alone were
    if whole:
        mu, log_sigma = mu[kept.mask], log_sigma[kept.mask]
    _check(mu, log_sigma, kept)
    (D, columns), of_weights = (mu.shape, ((0, 0), mu.shape, (0,))) if kept.mask is None else (
        kept.mask.shape, (kept.mask.shape, kept.mask.shape, mu.shape))
    bias_mean, bias_variance = bias_mu, np.exp(2 * bias_log_sigma)
    if kept.active.size > 0:
        bias_mean, bias_variance = bias_mean * kept.active, bias_variance * kept.active
    rows = x.reshape(prod(x.shape[:-1]), D)
    # Samples that share their inputs share means and variances: R = S, else each row has its own: R = 1.
    noise = eps.reshape(eps.shape[0] if x.ndim == 2 else 1, len(rows), columns)
    mean, slope, h, squares, means, variances, kept_variances = several(
        ((len(rows), columns), (len(rows), columns), noise.shape, rows.shape, *of_weights), x.dtype)
    means, lean = means if kept.mask is not None else mu, x.dtype.type(LEAN.get(activation, 1.0))
    weights = (mu.reshape(-1), log_sigma.reshape(-1), kept.starts, kept.places, kept_variances, means, variances)
    strips, pieces, sparse = _strips(variances.size), _rows(len(rows)), None
    drawing = (bias_mean, bias_variance, noise, lean)
    if columns <= thin_products.WIDEST:
        _spread(mu, log_sigma.reshape(-1), kept, kept_variances, means, variances)
        thin_products.sample(rows, np.ascontiguousarray([means.T, variances.T]), *drawing, slope, h)
    else:
        limit = _densest(columns)
        sparse = sparse_matrix.sparse(rows, limit) if limit > 0 and x.ndim == 2 else None
        if sparse is not None:
            threads.run(sparse_forward, strips + 2 + pieces, *weights, *sparse, *drawing, squares.reshape(-1), mean,
                        slope, h, singly=True)
        else:
            with one_thread():
                threads.run(dense_forward, strips + pieces, *weights, rows, *drawing, squares, mean, slope, h,
                            small=_small(rows, columns), singly=True)
    out, apart = h.reshape(eps.shape), None
    if activation not in LEAN:
        out, active = getattr(activations, activation)(out)
        apart = getattr(activations, activation + "_vjp"), active
    return out, Cache(noise, h, lean, apart, x, sparse, squares, means, variances, kept, kept_variances, whole,
                      bias_variance, slope)


def sample_vjp(dh, cache, needs_dx=True):
    """Pull the gradient back to all inputs but the noise: the twin of ``primitives.local_linear.sample_vjp``."""
    (noise, h, lean, apart, x, sparse, squares, means, variances, kept, kept_variances, whole, bias_variance,
     slope) = cache
    if apart is not None:
        pull_activation_back, active = apart
        dh = pull_activation_back(dh, active)
    (D, K), dtype, rows = means.shape, means.dtype, x.reshape(len(slope), means.shape[0])
    given = np.ascontiguousarray(dh, dtype).reshape(noise.shape), h, lean, noise, slope
    if K <= thin_products.WIDEST:
        matrices = np.ascontiguousarray([means.T, variances.T])
        dx, (dmu, dvariances), sums = thin_products.pull_back(*given, rows, matrices, needs_dx)
        found = [dmu.T, 2 * variances * dvariances.T, sums[0], 2 * bias_variance * sums[1]]
        if kept.mask is not None:
            found[:2] = (part[kept.mask] for part in found[:2])
        if kept.active.size > 0:
            found[2] = found[2] * kept.active
    else:
        needed = len(rows) * (needs_dx and sparse is None)
        every, ours = ((0, 0), (D, K)) if kept.mask is None else ((D, K), kept_variances.shape)
        dx, through, gradients, dmeans, dvariances, *found = several(
            ((needed, D), (needed, D), (2, len(rows), K), every, every, ours, ours, (K,), (K,)), dtype)
        dmu, dlog_sigma, *dbias = found
        if kept.mask is None:                                # every weight is one of ours
            dmeans, dvariances, dmu, dlog_sigma = dmu, dlog_sigma, kept_variances, kept_variances
        after = (kept.places, kept_variances, kept.active, bias_variance, dmeans, dvariances, dmu, dlog_sigma, *dbias,
                 gradients)
        if sparse is not None:
            threads.run(sparse_backward, _rows(len(rows)) + 2, *given, *sparse_matrix.transposed(sparse, D), variances,
                        *after, singly=True)
            dx = _dense_dx(gradients, rows, means, variances) if needs_dx else None       # images need none
        else:
            with one_thread():
                threads.run(dense_backward, _rows(len(rows)) + 2 + _rows(len(dx)), *given, rows, squares, means,
                            variances, *after, through, dx, small=_small(rows, K), singly=True)
    if whole:
        found = (*(_at(kept.mask, part) for part in found[:2]), *found[2:])
    return (dx.reshape(x.shape) if needs_dx else None, *found)


def _at(mask, values):
    """Write the values of the kept weights where they are, and zeros elsewhere."""
    out = np.zeros(mask.shape, values.dtype)
    out[mask] = values
    return out


def _dense_dx(gradients, x, means, variances):
    dmean, dvariance = gradients
    return dmean @ means.T + 2 * x * (dvariance @ variances.T)
