r"""The divergence of diagonal Gaussians and its gradient, fused: the twin of ``primitives.gaussian``'s ``kl``.

Each direction reads its arrays once, in pieces that fit the second-level cache.  A piece's terms are added up as soon
as they are made, and the pieces' sums in order and in float64, so the result is the same for any number of threads.
"""

import numpy as np

from ibpcl.kernels import threads
from ibpcl.kernels.compilation import compiled, inlined, wide
from ibpcl.kernels.elementary import exp, expm1, total
from ibpcl.kernels.memory import as_arrays, empty

PIECE, STRIP = 16384, 1024


@inlined
def _terms(mu, log_sigma, prior_mu, prior_log_sigma, out):
    half, two = out.dtype.type(0.5), out.dtype.type(2)
    for i in range(wide(out.size)):
        shift = (mu[i] - prior_mu[i]) * exp(-prior_log_sigma[i])
        log_ratio = log_sigma[i] - prior_log_sigma[i]
        out[i] = half * (shift * shift + expm1(two * log_ratio)) - log_ratio


@compiled
def forward(piece, mu, log_sigma, prior_mu, prior_log_sigma, partial):
    """Write the sum of one piece, added up in strips."""
    terms = np.empty(STRIP, mu.dtype)
    for first in range(piece * PIECE, min((piece + 1) * PIECE, mu.size), STRIP):
        last = min(first + STRIP, mu.size)
        out = terms[:last - first]
        _terms(mu[first:last], log_sigma[first:last], prior_mu[first:last], prior_log_sigma[first:last], out)
        partial[piece] += total(out)


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
    piece, ddivergence, mu, log_sigma, prior_mu, prior_log_sigma, dmu, dlog_sigma, dprior_mu, dprior_log_sigma
):
    """Write the gradients of one piece."""
    square = np.empty(STRIP, mu.dtype)
    for first in range(piece * PIECE, min((piece + 1) * PIECE, mu.size), STRIP):
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
    partial = np.zeros(-(-flat[0].size // PIECE))
    threads.run(forward, partial.size, *flat, partial)
    return arrays[0].dtype.type(partial.sum()), arrays


def kl_vjp(ddivergence, cache):
    """Pull the gradient back to all four inputs: the twin of :func:`ibpcl.primitives.gaussian.kl_vjp`."""
    arrays = cache
    flat = [array.reshape(-1) for array in arrays]
    gradients = [empty(array.shape, array.dtype) for array in flat]
    ddivergence = arrays[0].dtype.type(ddivergence)
    threads.run(backward, -(-flat[0].size // PIECE), ddivergence, *flat, *gradients)
    return tuple(gradient.reshape(arrays[0].shape) for gradient in gradients)
