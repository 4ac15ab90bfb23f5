r"""The linear layer sampled at its pre-activations: the twin of ``primitives.local_linear``.

The products of a wide layer go to BLAS, one for all rows at once, those of a head to ``thin_products``.  What is left
are passes over arrays of the size of the outputs, fused: each array is read once.
"""

from math import prod

import numpy as np

from ibpcl.kernels import blas, thin_products, threads
from ibpcl.kernels.compilation import compiled, wide
from ibpcl.kernels.memory import as_arrays, empty
from ibpcl.kernels.turns import BEGIN, END, another

STRIP = 4096


@compiled
def draw(turns, eps, mean, variance, scale, h):
    """Turn some strips of the variances (M,) into standard deviations, and sample ``h`` (R, M) there."""
    while another(turns):
        begin, end = turns[BEGIN], turns[END]
        first, last = begin * STRIP, min(end * STRIP, mean.size)
        location, spread, given = mean[first:last], scale[first:last], variance[first:last]
        for i in range(wide(spread.size)):
            spread[i] = np.sqrt(given[i])
        for r in range(eps.shape[0]):
            noise, result = eps[r, first:last], h[r, first:last]
            for i in range(wide(result.size)):
                result[i] = location[i] + spread[i] * noise[i]


@compiled
def draw_vjp(turns, dh, eps, scale, dmean, dvariance):
    """Write the gradients of some strips of the means and of the variances, summed over the samples that share them."""
    while another(turns):
        begin, end = turns[BEGIN], turns[END]
        first, last = begin * STRIP, min(end * STRIP, scale.size)
        spread, location, variance = scale[first:last], dmean[first:last], dvariance[first:last]
        zero, half = scale.dtype.type(0), scale.dtype.type(0.5)
        location[:], variance[:] = zero, zero
        for r in range(dh.shape[0]):
            given, noise = dh[r, first:last], eps[r, first:last]
            for i in range(wide(given.size)):
                location[i] += given[i]
                variance[i] += given[i] * noise[i]
        for i in range(wide(variance.size)):
            variance[i] = half * variance[i] / spread[i] if spread[i] > zero else zero


def _moments(x, mu, variances):
    if mu.shape[1] <= thin_products.WIDEST:
        return thin_products.moments(x, mu, variances)
    squares = np.multiply(x, x, out=empty(x.shape, x.dtype))
    return blas.product(x, mu), blas.product(squares, variances)


def _pull_back(dmean, dvariance, x, mu, variances, needs_dx):
    if mu.shape[1] <= thin_products.WIDEST:
        return thin_products.pull_back(dmean, dvariance, x, mu, variances, needs_dx)
    dx = None
    if needs_dx:
        dx = blas.product(dvariance, variances.T)
        dx *= 2 * x
        dx += blas.product(dmean, mu.T)
    return dx, blas.product(x.T, dmean), blas.product((x * x).T, dvariance)


def apply(eps, x, mu, sigma, bias_mu, bias_sigma):
    """Draw the pre-activations: the twin of :func:`ibpcl.primitives.local_linear.apply`."""
    eps, x, mu, sigma, bias_mu, bias_sigma = as_arrays("local_linear.apply", eps, x, mu, sigma, bias_mu, bias_sigma)
    rows, variances = x.reshape(prod(x.shape[:-1]), x.shape[-1]), sigma * sigma
    mean, variance = _moments(rows, mu, variances)
    mean += bias_mu
    variance += bias_sigma * bias_sigma
    # Samples that share their inputs share means and variances: R = S, else each row has its own: R = 1.
    noise = eps.reshape(eps.shape[0] if x.ndim == 2 else 1, mean.size)
    scale, h = empty((mean.size,), x.dtype), empty(noise.shape, x.dtype)
    threads.run(draw, -(-mean.size // STRIP), noise, mean.reshape(-1), variance.reshape(-1), scale, h)
    return h.reshape(eps.shape), (noise, x.shape, rows, mu, sigma, variances, bias_sigma, scale)


def apply_vjp(dh, cache, needs_dx=True):
    """Pull the gradient back to all inputs but the noise: the twin of ``primitives.local_linear.apply_vjp``."""
    noise, shape, rows, mu, sigma, variances, bias_sigma, scale = cache
    dh = np.ascontiguousarray(dh, mu.dtype).reshape(noise.shape)
    dmean, dvariance = (empty((rows.shape[0], mu.shape[1]), mu.dtype) for _ in range(2))
    threads.run(draw_vjp, -(-scale.size // STRIP), dh, noise, scale, dmean.reshape(-1), dvariance.reshape(-1))
    dx, dmu, dvariances = _pull_back(dmean, dvariance, rows, mu, variances, needs_dx)
    dbias_mu, dbias_sigma = dmean.sum(axis=0), 2 * bias_sigma * dvariance.sum(axis=0)
    return None if dx is None else dx.reshape(shape), dmu, 2 * sigma * dvariances, dbias_mu, dbias_sigma
