r"""KL divergence of diagonal Gaussians: the compiled ``kl`` of ``primitives.gaussian``.

Forward and backward pass read each array once.  The sums of the pieces are added in a fixed order
and in float64.
"""

import numpy as np

from ibpcl.kernels.compilation import (
    Own,
    compiled,
    float32,
    float64,
    inlined,
    summing,
    twin_of,
    vector,
    void,
)
from ibpcl.kernels.elementary import exp, expm1
from ibpcl.kernels.threads import JOB, parts, run, taken
from ibpcl.primitives import gaussian as reference

PIECE = 2**14
STRIP = 512
HALF = np.float32(0.5)
TWO = np.float32(2)


@summing
def _sum(mu, log_sigma, prior_mu, prior_log_sigma):
    total = np.float32(0)
    for i in range(mu.size):
        shift = (mu[i] - prior_mu[i]) * exp(-prior_log_sigma[i])
        log_ratio = log_sigma[i] - prior_log_sigma[i]
        total += HALF * (shift * shift + expm1(TWO * log_ratio)) - log_ratio
    return total


@compiled(void(JOB, vector, vector, vector, vector, float64[::1]))
def _divergence(job, mu, log_sigma, prior_mu, prior_log_sigma, sums):
    """Write the divergence of each piece, summed strip by strip to limit the rounding error."""
    for i in taken(job):
        total = 0.0
        for first in range(i * PIECE, min((i + 1) * PIECE, mu.size), STRIP):
            # a piece consists of whole strips
            strip = slice(first, first + STRIP)
            total += _sum(mu[strip], log_sigma[strip], prior_mu[strip], prior_log_sigma[strip])
        sums[i] = total


@inlined
def _means(d, mu, prior_mu, prior_log_sigma, dmu, dprior_mu, square):
    for i in range(dmu.size):
        inverse = exp(-prior_log_sigma[i])
        shift = (mu[i] - prior_mu[i]) * inverse
        dmu[i] = d * shift * inverse
        dprior_mu[i] = -d * shift * inverse
        square[i] = d * shift * shift


@inlined
def _scales(d, log_sigma, prior_log_sigma, dlog_sigma, dprior_log_sigma):
    for i in range(dlog_sigma.size):
        excess = d * expm1(TWO * (log_sigma[i] - prior_log_sigma[i]))
        dlog_sigma[i] = excess
        # dprior_log_sigma contains the square of the shift so far
        dprior_log_sigma[i] = -excess - dprior_log_sigma[i]


@compiled(void(JOB, float32, *[vector] * 8))
def _gradients(
    job, d, mu, log_sigma, prior_mu, prior_log_sigma, dmu, dlog_sigma, dprior_mu, dprior_log_sigma
):
    """Write the gradients at all four inputs, given the gradient ``d`` at the divergence."""
    for i in taken(job):
        piece = slice(i * PIECE, (i + 1) * PIECE)
        _means(
            d,
            mu[piece],
            prior_mu[piece],
            prior_log_sigma[piece],
            dmu[piece],
            dprior_mu[piece],
            dprior_log_sigma[piece],
        )
        _scales(
            d, log_sigma[piece], prior_log_sigma[piece], dlog_sigma[piece], dprior_log_sigma[piece]
        )


@inlined
def _mean_slopes(d, mu, prior_mu, prior_log_sigma, out):
    for i in range(out.size):
        inverse = exp(-prior_log_sigma[i])
        shift = (mu[i] - prior_mu[i]) * inverse
        out[i] = d * shift * inverse


@inlined
def _scale_slopes(d, log_sigma, prior_log_sigma, out):
    for i in range(out.size):
        out[i] = d * expm1(TWO * (log_sigma[i] - prior_log_sigma[i]))


@inlined
def _add(x, total):
    for i in range(total.size):
        total[i] += x[i]


@compiled(void(JOB, float32, *[vector] * 6))
def _accumulate(job, d, mu, log_sigma, prior_mu, prior_log_sigma, dmu, dlog_sigma):
    """Add the gradients at mu and log sigma to the last two arrays, strip by strip."""
    slopes = np.empty(STRIP, np.float32)
    for i in taken(job):
        for first in range(i * PIECE, min((i + 1) * PIECE, mu.size), STRIP):
            # a piece consists of whole strips
            strip = slice(first, min(first + STRIP, mu.size))
            found = slopes[: strip.stop - first]
            _mean_slopes(d, mu[strip], prior_mu[strip], prior_log_sigma[strip], found)
            _add(found, dmu[strip])
            _scale_slopes(d, log_sigma[strip], prior_log_sigma[strip], found)
            _add(found, dlog_sigma[strip])


@twin_of(reference)
def kl(mu, log_sigma, prior_mu, prior_log_sigma):
    """Compute the KL divergence of diagonal Gaussians.

    This is the compiled :func:`ibpcl.primitives.gaussian.kl`.  Unlike in the reference, all inputs
    must have the same shape.

    Raises
    ------
    ValueError
        If the shapes differ.
    """
    arrays = mu, log_sigma, prior_mu, prior_log_sigma
    if any(array.shape != mu.shape for array in arrays):
        raise ValueError(
            f"gaussian.kl: all inputs must have one shape, got {[array.shape for array in arrays]}"
        )
    sums = np.empty(parts(mu.size, PIECE))
    run(_divergence, len(sums), *(array.reshape(-1) for array in arrays), sums)
    return np.float32(sum(sums)), arrays


@twin_of(reference)
def kl_vjp(ddivergence, cache):
    """Pull the gradient back: the compiled :func:`ibpcl.primitives.gaussian.kl_vjp`."""
    gradients = [np.empty_like(array) for array in cache]
    run(
        _gradients,
        parts(cache[0].size, PIECE),
        ddivergence,
        *(array.reshape(-1) for array in (*cache, *gradients)),
    )
    return tuple(gradients)


def add_kl_gradient(ddivergence, cache, dmu, dlog_sigma):
    """Add to gradients: the compiled :func:`ibpcl.primitives.gaussian.add_kl_gradient`.

    It takes one pass.  The gradients of :func:`kl_vjp` are added if ``cache`` is that of the
    reference, or an array is not contiguous, not of float32 or of another shape.
    """
    arrays = (dmu, dlog_sigma)
    if not isinstance(cache, Own) or not all(
        array.dtype == np.float32
        and array.flags.c_contiguous
        and array.shape == cache.cache[0].shape
        for array in arrays
    ):
        for total, value in zip(arrays, kl_vjp(ddivergence, cache), strict=False):
            total += value
        return
    run(
        _accumulate,
        parts(dmu.size, PIECE),
        np.float32(ddivergence),
        *(array.reshape(-1) for array in (*cache.cache, *arrays)),
    )
