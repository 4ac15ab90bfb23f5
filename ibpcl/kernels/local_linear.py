r"""The linear layer sampled at its pre-activations: the twin of ``primitives.local_linear``.

The products are made in :mod:`ibpcl.kernels.moment_products`.  What is left are passes over arrays, fused: each array
is read once.
"""

from math import prod

import numpy as np

from ibpcl.kernels import loops, moment_products, threads
from ibpcl.kernels.compilation import compiled, inlined, wide
from ibpcl.kernels.elementary import exp
from ibpcl.kernels.memory import as_arrays, empty
from ibpcl.kernels.turns import BEGIN, END, another

STRIP = 4096                                                 # a piece of a pass
FEW = 16                                                     # rows, a piece of a pass over outputs


@inlined
def _keep(mu, log_sigma, on, mean, sigma):
    zero = mean.dtype.type(0)
    for i in range(wide(on.size)):
        mean[i] = mu[i] if on[i] else zero
    for i in range(wide(on.size)):
        value = exp(log_sigma[i])
        sigma[i] = value if on[i] else zero


@inlined
def _keep_vjp(dmean, dsigma, on, sigma, dmu, dlog_sigma):
    zero = dmu.dtype.type(0)
    for i in range(wide(on.size)):
        dmu[i] = dmean[i] if on[i] else zero
    for i in range(wide(on.size)):
        dlog_sigma[i] = dsigma[i] * sigma[i]


@compiled
def keep(turns, mu, log_sigma, mask, mean, sigma):
    """Write means and standard deviations of some strips of weights, 0 where the mask is."""
    while another(turns):
        some = slice(turns[BEGIN] * STRIP, min(turns[END] * STRIP, mask.size))
        _keep(mu[some], log_sigma[some], mask[some], mean[some], sigma[some])


@compiled
def keep_vjp(turns, dmean, dsigma, mask, sigma, dmu, dlog_sigma):
    """Write the gradients at some strips of weights."""
    while another(turns):
        some = slice(turns[BEGIN] * STRIP, min(turns[END] * STRIP, mask.size))
        _keep_vjp(dmean[some], dsigma[some], mask[some], sigma[some], dmu[some], dlog_sigma[some])


@compiled
def count(mask, starts):
    """Write at which of the kept weights each strip of a mask begins, and how many there are."""
    starts[0] = 0
    for strip in range(starts.size - 1):
        some, total = mask[strip * STRIP:(strip + 1) * STRIP], np.int32(0)
        for i in range(wide(some.size)):
            total += np.int32(some[i])
        starts[strip + 1] = starts[strip] + total


@compiled
def spread(turns, mu, log_sigma, mask, starts, places, kept_sigma, mean, sigma):
    """Write means and standard deviations of some strips of weights, given those that the mask keeps, and their places.

    Without a branch: each place is written, and the next one over it if the mask is off there; so ``places`` has one
    more slot a strip, and those of strip i begin i slots later than its weights.
    """
    while another(turns):
        for strip in range(turns[BEGIN], turns[END]):
            whole = slice(strip * STRIP, min((strip + 1) * STRIP, mask.size))
            mean[whole], sigma[whole] = 0, 0
            first, last = starts[strip], starts[strip + 1]
            loops.exponential(log_sigma[first:last], kept_sigma[first:last])
            j = first + strip
            for i in range(whole.start, whole.stop):
                places[j] = i
                j += np.int64(mask[i])
            for j in range(first, last):
                mean[places[j + strip]], sigma[places[j + strip]] = mu[j], kept_sigma[j]


@compiled
def spread_vjp(turns, dmean, dsigma, starts, places, kept_sigma, dmu, dlog_sigma):
    """Write the gradients at the kept weights of some strips."""
    while another(turns):
        for strip in range(turns[BEGIN], turns[END]):
            for j in range(starts[strip], starts[strip + 1]):
                i = places[j + strip]
                dmu[j], dlog_sigma[j] = dmean[i], dsigma[i] * kept_sigma[j]


@compiled
def keep_biases(mask, mu, log_sigma, active, mean, sigma):
    """Find the active units (K,) of a mask (D, K), and write means and standard deviations of their biases."""
    active[:] = False
    for d in range(mask.shape[0]):
        row = mask[d]
        for k in range(wide(row.size)):
            active[k] |= row[k]
    _keep(mu, log_sigma, active, mean, sigma)


@compiled
def keep_biases_vjp(dmean, dsigma, active, sigma, dmu, dlog_sigma):
    """Write the gradients at the biases."""
    _keep_vjp(dmean, dsigma, active, sigma, dmu, dlog_sigma)


@inlined
def _draw(mean, variance, bias_mu, bias_variance, scale):
    for k in range(wide(scale.size)):
        mean[k] += bias_mu[k]
        scale[k] = np.sqrt(variance[k] + bias_variance[k])


@inlined
def _sample(mean, scale, eps, h):
    for k in range(wide(h.size)):
        h[k] = mean[k] + scale[k] * eps[k]


@compiled
def draw(turns, eps, mean, variance, bias_mu, bias_variance, scale, h):
    """Add the biases to some rows of the moments (M, K), and sample ``h`` (R, M, K) there."""
    while another(turns):
        for m in range(turns[BEGIN] * FEW, min(turns[END] * FEW, mean.shape[0])):
            _draw(mean[m], variance[m], bias_mu, bias_variance, scale[m])
            for r in range(eps.shape[0]):
                _sample(mean[m], scale[m], eps[r, m], h[r, m])


@inlined
def _gather(dh, eps, dmean, dvariance):
    for k in range(wide(dmean.size)):
        dmean[k] += dh[k]
        dvariance[k] += dh[k] * eps[k]


@inlined
def _halve(scale, dvariance):
    zero, half = scale.dtype.type(0), scale.dtype.type(0.5)
    for k in range(wide(dvariance.size)):
        dvariance[k] = half * dvariance[k] / scale[k] if scale[k] > zero else zero


@compiled
def draw_vjp(turns, dh, eps, scale, dmean, dvariance):
    """Write the gradients of some rows of means and variances, summed over the samples that share them."""
    while another(turns):
        for m in range(turns[BEGIN] * FEW, min(turns[END] * FEW, scale.shape[0])):
            dmean[m], dvariance[m] = 0, 0
            for r in range(dh.shape[0]):
                _gather(dh[r, m], eps[r, m], dmean[m], dvariance[m])
            _halve(scale[m], dvariance[m])


def masked_moments(mu, log_sigma, bias_mu, bias_log_sigma, mask):
    """Mask the weights: the twin of :func:`ibpcl.primitives.local_linear.masked_moments`."""
    mu, log_sigma, *biases = as_arrays("local_linear.masked_moments", mu, log_sigma, bias_mu, bias_log_sigma)
    mean, sigma, bias_mean, bias_sigma = (empty(array.shape, array.dtype) for array in (mu, log_sigma, *biases))
    mask, active = np.ascontiguousarray(mask), np.empty(mask.shape[1], bool)
    flat = [array.reshape(-1) for array in (mu, log_sigma, mask, mean, sigma)]
    threads.run(keep, -(-mean.size // STRIP), *flat)
    keep_biases(mask, *biases, active, bias_mean, bias_sigma)
    return (mean, sigma, bias_mean, bias_sigma), (mask, active, sigma, bias_sigma)


def masked_moments_vjp(dout, cache):
    """Pull the gradient back: the twin of :func:`ibpcl.primitives.local_linear.masked_moments_vjp`."""
    mask, active, sigma, bias_sigma = cache
    dmean, dsigma, *dbiases = (np.ascontiguousarray(part, sigma.dtype) for part in dout)
    dmu, dlog_sigma, *found = (empty(array.shape, sigma.dtype) for array in (sigma, sigma, bias_sigma, bias_sigma))
    flat = [array.reshape(-1) for array in (dmean, dsigma, mask, sigma, dmu, dlog_sigma)]
    threads.run(keep_vjp, -(-mask.size // STRIP), *flat)
    keep_biases_vjp(*dbiases, active, bias_sigma, *found)
    return dmu, dlog_sigma, *found


def kept_moments(mu, log_sigma, bias_mu, bias_log_sigma, kept):
    """Spread the kept weights: the twin of :func:`ibpcl.primitives.local_linear.kept_moments`."""
    mu, log_sigma, *biases = as_arrays("local_linear.kept_moments", mu, log_sigma, bias_mu, bias_log_sigma)
    kept, active = np.ascontiguousarray(kept), np.empty(kept.shape[1], bool)
    starts = np.empty(-(-kept.size // STRIP) + 1, np.int64)
    count(kept.reshape(-1), starts)
    if mu.shape != (starts[-1],) or log_sigma.shape != mu.shape:
        raise ValueError(f"local_linear.kept_moments: the mask keeps {starts[-1]} weights, got {mu.shape} means and "
                         f"{log_sigma.shape} deviations")
    kept_sigma, bias_mean, bias_sigma = (empty(array.shape, array.dtype) for array in (mu, *biases))
    mean, sigma = (empty(kept.shape, mu.dtype) for _ in range(2))
    places = empty((mu.size + starts.size,), np.dtype(np.uint32))
    threads.run(spread, starts.size - 1, mu, log_sigma, kept.reshape(-1), starts, places, kept_sigma, mean.reshape(-1),
                sigma.reshape(-1))
    keep_biases(kept, *biases, active, bias_mean, bias_sigma)
    return (mean, sigma, bias_mean, bias_sigma), (active, starts, places, kept_sigma, bias_sigma)


def kept_moments_vjp(dout, cache):
    """Pull the gradient back: the twin of :func:`ibpcl.primitives.local_linear.kept_moments_vjp`."""
    active, starts, places, kept_sigma, bias_sigma = cache
    dmean, dsigma, *dbiases = (np.ascontiguousarray(part, kept_sigma.dtype) for part in dout)
    dmu, dlog_sigma, *found = (empty(array.shape, array.dtype) for array in (kept_sigma, kept_sigma, *[bias_sigma] * 2))
    threads.run(spread_vjp, starts.size - 1, dmean.reshape(-1), dsigma.reshape(-1), starts, places, kept_sigma, dmu,
                dlog_sigma)
    keep_biases_vjp(*dbiases, active, bias_sigma, *found)
    return dmu, dlog_sigma, *found


def apply(eps, x, mu, sigma, bias_mu, bias_sigma):
    """Draw the pre-activations: the twin of :func:`ibpcl.primitives.local_linear.apply`."""
    eps, x, mu, sigma, bias_mu, bias_sigma = as_arrays("local_linear.apply", eps, x, mu, sigma, bias_mu, bias_sigma)
    rows, variances = x.reshape(prod(x.shape[:-1]), x.shape[-1]), sigma * sigma
    (mean, variance), products_cache = moment_products.moments(
        rows, mu, variances, moment_products.densest(mu.shape[1]) if x.ndim == 2 else 0)
    # Samples that share their inputs share means and variances: R = S, else each row has its own: R = 1.
    noise = eps.reshape(eps.shape[0] if x.ndim == 2 else 1, *mean.shape)
    scale, h = empty(mean.shape, x.dtype), empty(noise.shape, x.dtype)
    threads.run(draw, -(-len(mean) // FEW), noise, mean, variance, bias_mu, bias_sigma * bias_sigma, scale, h)
    return h.reshape(eps.shape), (noise, x.shape, products_cache, sigma, bias_sigma, scale)


def apply_vjp(dh, cache, needs_dx=True):
    """Pull the gradient back to all inputs but the noise: the twin of ``primitives.local_linear.apply_vjp``."""
    noise, shape, products_cache, sigma, bias_sigma, scale = cache
    dh = np.ascontiguousarray(dh, sigma.dtype).reshape(noise.shape)
    dmean, dvariance = (empty(scale.shape, sigma.dtype) for _ in range(2))
    threads.run(draw_vjp, -(-len(scale) // FEW), dh, noise, scale, dmean, dvariance)
    dx, dmu, dsigma, dbias_mu, dbias_variance = moment_products.pull_back(dmean, dvariance, sigma, products_cache,
                                                                          needs_dx)
    return None if dx is None else dx.reshape(shape), dmu, dsigma, dbias_mu, 2 * bias_sigma * dbias_variance
