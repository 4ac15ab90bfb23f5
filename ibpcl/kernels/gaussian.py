r"""The divergence of diagonal Gaussians and its gradient, fused: the twin of ``primitives.gaussian``'s ``kl``.

Each direction reads its arrays once, in strips.  A strip's terms are added up as soon as they are made, and the strips'
sums in order and in float64, so the result is the same for any number of threads.
"""

import numpy as np

from ibpcl.kernels import threads
from ibpcl.kernels.compilation import compiled, inlined, wide
from ibpcl.kernels.elementary import exp, expm1, total
from ibpcl.kernels.memory import as_arrays, empty

STRIP = 1024


@inlined
def _terms(mu, log_sigma, prior_mu, prior_log_sigma, out):
    half, two = out.dtype.type(0.5), out.dtype.type(2)
    for i in range(wide(out.size)):
        shift = (mu[i] - prior_mu[i]) * exp(-prior_log_sigma[i])
        log_ratio = log_sigma[i] - prior_log_sigma[i]
        out[i] = half * (shift * shift + expm1(two * log_ratio)) - log_ratio


@compiled
def forward(begin, end, mu, log_sigma, prior_mu, prior_log_sigma, partial):
    """Write the sums of some strips."""
    terms = np.empty(STRIP, mu.dtype)
    for strip in range(begin, end):
        first, last = strip * STRIP, min((strip + 1) * STRIP, mu.size)
        out = terms[:last - first]
        _terms(mu[first:last], log_sigma[first:last], prior_mu[first:last], prior_log_sigma[first:last], out)
        partial[strip] = total(out)


@inlined
def _means(ddivergence, mu, prior_mu, prior_log_sigma, dmu, square):
    for i in range(wide(dmu.size)):
        inverse = exp(-prior_log_sigma[i])
        shift = (mu[i] - prior_mu[i]) * inverse
        dmu[i] = ddivergence * shift * inverse
        square[i] = shift * shift


@inlined
def _scales(ddivergence, log_sigma, prior_log_sigma, square, dlog_sigma, dprior_log_sigma):
    two = square.dtype.type(2)
    for i in range(wide(square.size)):
        excess = expm1(two * (log_sigma[i] - prior_log_sigma[i]))
        dlog_sigma[i] = ddivergence * excess
        dprior_log_sigma[i] = -ddivergence * (excess + square[i])


@compiled
def backward(
    begin, end, ddivergence, mu, log_sigma, prior_mu, prior_log_sigma, dmu, dlog_sigma, dprior_mu, dprior_log_sigma
):
    """Write the gradients of some strips."""
    square = np.empty(STRIP, mu.dtype)
    for first in range(begin * STRIP, min(end * STRIP, mu.size), STRIP):
        strip = slice(first, min(first + STRIP, mu.size))
        _means(ddivergence, mu[strip], prior_mu[strip], prior_log_sigma[strip], dmu[strip], square[:dmu[strip].size])
        _scales(ddivergence, log_sigma[strip], prior_log_sigma[strip], square[:dmu[strip].size],
                dlog_sigma[strip], dprior_log_sigma[strip])
        for i in range(first, min(first + STRIP, mu.size)):
            dprior_mu[i] = -dmu[i]


def kl(mu, log_sigma, prior_mu, prior_log_sigma):
    """Compute the KL divergence of diagonal Gaussians: the twin of :func:`ibpcl.primitives.gaussian.kl`.

    The inputs must have one shape.
    """
    arrays = as_arrays("gaussian.kl", mu, log_sigma, prior_mu, prior_log_sigma)
    if any(array.shape != arrays[0].shape for array in arrays):
        raise ValueError(f"gaussian.kl: all inputs must have one shape, got {[array.shape for array in arrays]}")
    flat = [array.reshape(-1) for array in arrays]
    partial = np.empty(-(-flat[0].size // STRIP))
    threads.run(forward, partial.size, *flat, partial)
    return arrays[0].dtype.type(partial.sum()), arrays


def kl_vjp(ddivergence, cache):
    """Pull the gradient back to all four inputs: the twin of :func:`ibpcl.primitives.gaussian.kl_vjp`."""
    arrays = cache
    flat = [array.reshape(-1) for array in arrays]
    gradients = [empty(array.shape, array.dtype) for array in flat]
    ddivergence = arrays[0].dtype.type(ddivergence)
    threads.run(backward, -(-flat[0].size // STRIP), ddivergence, *flat, *gradients)
    return tuple(gradient.reshape(arrays[0].shape) for gradient in gradients)
