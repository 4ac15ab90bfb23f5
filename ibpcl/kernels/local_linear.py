r"""Sampled pre-activations: the compiled version of ``primitives.local_linear.sample``.

.. math::

    h_{snk} = f(m_{nk} + \mu_k + s_{nk}\, \varepsilon_{snk}), \qquad s^2_{nk} = v_{nk} + \sigma_k^2

with :math:`\mu` and :math:`\sigma` of the biases.  The activation is f(x) = x for x > 0 and
``lean`` times x otherwise; ``lean`` is 1 without an activation.

The means m and variances v are two matrix products, :math:`x (B \odot \mu)` and :math:`x^2 (B \odot
\sigma^2)`.  They are computed by BLAS; for images without the zeros; and for few columns both in
one pass over x.  If the mask uses few inputs and units, only these are computed
(:mod:`ibpcl.kernels.used_part`).

The backward pass starts from the gradients at the pre-activations, :math:`g_s = f' \odot dh_s`.  It
computes :math:`dm = \sum_s g_s`, summed over the samples that share their inputs, and :math:`2\, dv
= \sum_s g_s \odot \varepsilon_s / s`.  The factor 2 belongs to the derivatives of :math:`x^2` and
:math:`\sigma^2`, through which the gradient continues.  The reference differentiates with respect
to standard deviations; with variances the last step is simpler, :math:`d \log\sigma = \sigma^2
\odot 2\, d(\sigma^2)`.
"""

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from ibpcl.kernels import blas, used_part
from ibpcl.kernels.compilation import (
    compiled,
    cube,
    float32,
    indices,
    inlined,
    matrix,
    summing,
    twin_of,
    vector,
    void,
)
from ibpcl.kernels.elementary import exp
from ibpcl.kernels.sparse import density, efficiency, multiply, sparse, transposed
from ibpcl.kernels.threads import JOB, parts, run, taken
from ibpcl.primitives import activations
from ibpcl.primitives import local_linear as reference

ROWS = 64  # rows per piece
THIN_ROWS = 256  # rows per piece of a product with few columns
PIECE = 2**14  # weights per piece
THIN = 16  # with fewer columns, BLAS is slower
# As in ibpcl.kernels.linear; but a batch has only two products here, so that the search for its
# zeros costs relatively more.
DENSEST = 0.55
NARROWEST = 64
# Factor of numbers that are not positive.  Other activations are applied separately.
LEAN = {None: 1.0, "relu": 0.0, "leaky_relu": activations.LEAK}
ZERO = np.float32(0)
ONE = np.float32(1)
TWO = np.float32(2)


class Cache(NamedTuple):
    """Cache of the backward pass.

    Attributes
    ----------
    x : ndarray, shape (S, N, D) or (N, D)
        Inputs.
    back : callable
        Backward pass of the two products.
    weights : ndarray, shape (2, D, K)
        Means and variances of the weights.
    mask : ndarray of bool, shape (D, K), or None
        Which weights are on.
    places : ndarray of int, shape (M,), or None
        Positions of the kept weights, if only these are given.
    heard : ndarray of bool, shape (K,), or None
        Units with at least one weight that is on.
    bias_variance : ndarray, shape (K,)
        Variances of the biases.
    noise : ndarray, shape (R, N, K)
        Standard normal noise.
    slope : ndarray, shape (N, K)
        1 / s.
    h : ndarray, shape (R, N, K)
        Outputs before an activation that is applied separately.
    lean : float32
        Factor of pre-activations that are not positive.
    apart : tuple or None
        Gradient function and cache of an activation that is applied separately.
    """

    x: np.ndarray
    back: Callable
    weights: np.ndarray
    mask: np.ndarray | None
    places: np.ndarray | None
    heard: np.ndarray | None
    bias_variance: np.ndarray
    noise: np.ndarray
    slope: np.ndarray
    h: np.ndarray
    lean: np.float32
    apart: tuple | None


@inlined
def _deviations(bias_variance, variance):
    for k in range(variance.size):
        variance[k] = np.sqrt(variance[k] + bias_variance[k])


@inlined
def _sample(mean, bias_mean, deviation, eps, lean, h):
    for k in range(h.size):
        x = mean[k] + bias_mean[k] + deviation[k] * eps[k]
        h[k] = x * (ONE if x > ZERO else lean)


@inlined
def _slopes(deviation):
    for k in range(deviation.size):
        deviation[k] = ONE / deviation[k] if deviation[k] > ZERO else ZERO


@compiled(void(JOB, matrix, matrix, vector, vector, cube, float32, cube))
def _draw(job, mean, variance, bias_mean, bias_variance, eps, lean, h):
    """Sample ``h`` (R, N, K), and turn the variances v into 2 ds / dv = 1 / s."""
    for i in taken(job):
        for n in range(i * ROWS, min((i + 1) * ROWS, mean.shape[0])):
            _deviations(bias_variance, variance[n])
            for r in range(eps.shape[0]):
                _sample(mean[n], bias_mean, variance[n], eps[r, n], lean, h[r, n])
            _slopes(variance[n])


@inlined
def _add_to_mean(dh, h, lean, out):
    for k in range(out.size):
        out[k] += dh[k] * (ONE if h[k] > ZERO else lean)


@inlined
def _add_to_variance(dh, h, lean, eps, slope, out):
    for k in range(out.size):
        out[k] += dh[k] * (ONE if h[k] > ZERO else lean) * eps[k] * slope[k]


@inlined
def _add(x, out):
    for k in range(out.size):
        out[k] += x[k]


@compiled(void(JOB, cube, cube, float32, cube, matrix, matrix, matrix, cube))
def _pull_back(job, dh, h, lean, eps, slope, dmean, dvariance, sums):
    """Write gradients at means and (doubled) at variances; ``sums`` has their sums per piece."""
    for i in taken(job):
        sums[i] = ZERO
        for n in range(i * ROWS, min((i + 1) * ROWS, slope.shape[0])):
            dmean[n] = ZERO
            dvariance[n] = ZERO
            # two loops, because the compiler cannot vectorize one with so many arrays
            for r in range(dh.shape[0]):
                _add_to_mean(dh[r, n], h[r, n], lean, dmean[n])
                _add_to_variance(dh[r, n], h[r, n], lean, eps[r, n], slope[n], dvariance[n])
            _add(dmean[n], sums[i, 0])
            _add(dvariance[n], sums[i, 1])


@summing
def _dots(x, means, variances):
    mean = variance = ZERO
    for d in range(x.size):
        mean += x[d] * means[d]
        variance += x[d] * x[d] * variances[d]
    return mean, variance


@compiled(void(JOB, matrix, cube, matrix, matrix))
def _thin(job, x, weights, mean, variance):
    """Write both products for few columns; ``weights`` (2, K, D) are transposed."""
    for i in taken(job):
        for n in range(i * THIN_ROWS, min((i + 1) * THIN_ROWS, x.shape[0])):
            for k in range(weights.shape[1]):
                mean[n, k], variance[n, k] = _dots(x[n], weights[0, k], weights[1, k])


@inlined
def _to_weights(x, dmean, dvariance, dmeans, dvariances):
    for d in range(x.size):
        dmeans[d] += dmean * x[d]
        dvariances[d] += dvariance * x[d] * x[d]


@inlined
def _to_inputs(x, dmean, dvariance, means, variances, dx):
    for d in range(x.size):
        dx[d] += dmean * means[d] + x[d] * dvariance * variances[d]


@compiled(void(JOB, cube, matrix, cube, cube, matrix))
def _thin_vjp(job, gradients, x, weights, dweights, dx):
    """Write the gradient at the inputs, and that at the weights per piece (pieces, 2 K, D)."""
    K = weights.shape[1]
    for i in taken(job):
        own = dweights[i]
        own[:] = ZERO
        for n in range(i * THIN_ROWS, min((i + 1) * THIN_ROWS, x.shape[0])):
            dx[n] = ZERO
            for k in range(K):
                dmean = gradients[0, n, k]
                dvariance = gradients[1, n, k]
                _to_weights(x[n], dmean, dvariance, own[k], own[K + k])
                _to_inputs(x[n], dmean, dvariance, weights[0, k], weights[1, k], dx[n])


def _products(x, weights, of_images):
    """Return both products, (2, N, K), and their backward pass."""
    N = len(x)
    K = weights.shape[2]
    if K < THIN:
        out = np.empty((2, N, K), np.float32)
        run(_thin, parts(N, THIN_ROWS), x, np.ascontiguousarray(weights.transpose(0, 2, 1)), *out)
        return out, _thin_products_vjp
    if of_images and K >= NARROWEST and density(x) <= DENSEST * efficiency(K):
        entries = sparse(x, powers=2)
        return multiply(entries, weights, np.zeros((2, K), np.float32)), partial(
            _sparse_products_vjp, entries
        )
    powers = _powers(x)
    return blas.multiply(powers, weights), partial(_dense_products_vjp, powers)


def _thin_products_vjp(gradients, x, weights, needs_dx):
    (_, D, K), pieces = weights.shape, parts(len(x), THIN_ROWS)
    dx = np.empty_like(x)
    dweights = np.empty((pieces, 2 * K, D), np.float32)
    run(
        _thin_vjp,
        pieces,
        gradients,
        x,
        np.ascontiguousarray(weights.transpose(0, 2, 1)),
        dweights,
        dx,
    )
    return dweights.sum(axis=0).reshape(2, K, D).transpose(0, 2, 1), dx


def _sparse_products_vjp(entries, gradients, x, weights, needs_dx):
    _, D, K = weights.shape
    dweights = multiply(transposed(entries, D), gradients, np.zeros((2, K), np.float32))
    return dweights, _dense_products_vjp(_powers(x), gradients, x, weights, True, False)[
        1
    ] if needs_dx else None


def _powers(x):
    """Return x and its square, (2, N, D)."""
    powers = np.empty((2, *x.shape), np.float32)
    powers[0] = x
    np.multiply(x, x, out=powers[1])
    return powers


def _dense_products_vjp(powers, gradients, x, weights, needs_dx, needs_dweights=True):
    dweights, dpowers = blas.pull_back(gradients, powers, weights, needs_dweights, needs_dx)
    if not needs_dx:
        return dweights, None
    dx, dsquares = dpowers  # modified in place, because these arrays are large
    dsquares *= x
    dx += dsquares
    return dweights, dx


@inlined
def _variances(log_sigma, out):
    for i in range(out.size):
        out[i] = exp(TWO * log_sigma[i])


@compiled(void(JOB, vector, vector, matrix))
def _square(job, mu, log_sigma, moments):
    """Write means and variances of weights."""
    for i in taken(job):
        piece = slice(i * PIECE, (i + 1) * PIECE)
        moments[0, piece] = mu[piece]
        _variances(log_sigma[piece], moments[1, piece])


@compiled(void(JOB, indices, vector, vector, cube))
def _spread(job, places, mu, log_sigma, moments):
    """Write means and variances of the kept weights to their positions, and zero elsewhere."""
    for i in taken(job):
        kept = mu
        moment = moments[i].reshape(-1)
        if i == 1:
            kept = np.empty_like(mu)
            _variances(log_sigma, kept)
        moment[:] = ZERO
        for j in range(places.size):
            moment[np.uint64(places[j])] = kept[j]


@compiled(void(JOB, indices, cube, matrix, matrix))
def _gather(job, places, dmoments, variances, dkept):
    """Write the gradients at means and log deviations of kept weights (2, M)."""
    variance = variances.reshape(-1)
    for i in taken(job):
        dmoment = dmoments[i].reshape(-1)
        for j in range(places.size):
            at = np.uint64(places[j])
            dkept[i, j] = dmoment[at] if i == 0 else variance[at] * dmoment[at]


@lru_cache(maxsize=16)
def _known(bits, shape):
    """Return where a mask is on, which columns are, and its used part, given its bits.

    The result is cached, because the mask is the same in all steps of a fit.
    """
    mask = (
        np.unpackbits(np.frombuffer(bits, np.uint8), count=shape[0] * shape[1])
        .view(bool)
        .reshape(shape)
    )
    return np.flatnonzero(mask), mask.any(axis=0), used_part.of(mask)


def _moments_of(mu, log_sigma, mask, places):
    """Return means and variances (2, D, K) of masked weights; ``mu`` holds all or the kept ones."""
    kept = mu.size if mu.ndim > 1 else len(places)
    if not kept == mu.size == log_sigma.size:
        raise ValueError(
            f"local_linear.sample: the mask keeps {kept} weights, got {mu.shape} means and "
            f"{log_sigma.shape} deviations"
        )
    if mu.ndim == 1:
        moments = np.empty((2, *mask.shape), np.float32)
        run(_spread, 2, places, mu, log_sigma, moments)
        return moments
    moments = np.empty((2, *mu.shape), np.float32)
    run(
        _square,
        parts(mu.size, PIECE),
        mu.reshape(-1),
        log_sigma.reshape(-1),
        moments.reshape(2, mu.size),
    )
    if mask is not None:
        moments *= mask
    return moments


@twin_of(reference)
def sample(eps, x, mu, log_sigma, bias_mu, bias_log_sigma, mask=None, activation=None):
    """Draw the outputs of a layer: the compiled :func:`ibpcl.primitives.local_linear.sample`.

    Raises
    ------
    ValueError
        If the number of weights is not that of the mask.
    """
    bias_variance = np.exp(2 * bias_log_sigma)
    places = None
    heard = None
    if mask is not None:
        places, heard, part = _known(np.packbits(mask).tobytes(), mask.shape)
        if part is not None:
            return used_part.draw(
                sample, part, eps, x, mu, log_sigma, bias_mu, bias_log_sigma, activation
            )
        bias_mu = bias_mu * heard
        bias_variance = bias_variance * heard
    weights = _moments_of(mu, log_sigma, mask, places)
    (_, D, K), of_images = weights.shape, x.ndim == 2
    rows = x.reshape(math.prod(x.shape[:-1]), D)
    # If samples share their inputs, they share means and variances, and R = S.  Otherwise each row
    # has its own, and R = 1.
    noise = eps.reshape(len(eps) if of_images else 1, len(rows), K)
    lean = np.float32(LEAN.get(activation, 1.0))
    (mean, slope), back = _products(rows, weights, of_images)
    h = np.empty_like(noise)
    run(_draw, parts(len(rows), ROWS), mean, slope, bias_mu, bias_variance, noise, lean, h)
    out = h.reshape(eps.shape)
    apart = None
    if activation not in LEAN:
        out, active = getattr(activations, activation)(out)
        apart = getattr(activations, activation + "_vjp"), active
    return out, Cache(
        x,
        back,
        weights,
        mask,
        places if mu.ndim == 1 else None,
        heard,
        bias_variance,
        noise,
        slope,
        h,
        lean,
        apart,
    )


@twin_of(reference)
def sample_vjp(dh, cache, needs_dx=True):
    """Pull the gradient back: the compiled :func:`ibpcl.primitives.local_linear.sample_vjp`."""
    if isinstance(cache, used_part.Cache):
        return used_part.pull_back(sample_vjp, dh, cache, needs_dx)
    x, back, weights, mask, places, heard, bias_variance, noise, slope, h, lean, apart = cache
    if apart is not None:
        pull_activation_back, active = apart
        dh = pull_activation_back(dh, active)
    (N, K), D = slope.shape, weights.shape[1]
    gradients, sums = (np.empty(shape, np.float32) for shape in ((2, N, K), (parts(N, ROWS), 2, K)))
    run(_pull_back, len(sums), dh.reshape(noise.shape), h, lean, noise, slope, *gradients, sums)
    dweights, dx = back(gradients, x.reshape(N, D), weights, needs_dx)
    dbias_mu, dbias_variance = sums.sum(axis=0)
    if places is None:
        dmu, dlog_sigma = dweights  # so far these are gradients at means and variances
        dlog_sigma *= weights[1]
        if mask is not None:
            dmu *= mask
    else:
        dmu, dlog_sigma = dkept = np.empty((2, len(places)), np.float32)
        run(_gather, 2, places, np.ascontiguousarray(dweights), weights[1], dkept)
    if mask is not None:
        dbias_mu = dbias_mu * heard
    return (
        dx.reshape(x.shape) if needs_dx else None,
        dmu,
        dlog_sigma,
        dbias_mu,
        bias_variance * dbias_variance,
    )
