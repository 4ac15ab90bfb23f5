r"""The divergence of diagonal Gaussians and its gradient, fused: the twin of ``primitives.gaussian``'s ``kl``.

Each direction reads its arrays once, in strips.  A strip's terms are added up as soon as they are made, and the strips'
sums in order and in float64, so the result is the same for any number of threads.
"""

import numpy as np

from ibpcl.kernels import threads
from ibpcl.kernels.compilation import compiled, inlined, wide
from ibpcl.kernels.elementary import exp, expm1, total
from ibpcl.kernels.loops import flat
from ibpcl.kernels.memory import as_arrays
from ibpcl.kernels.turns import BEGIN, END, another

STRIP = 1024


@inlined
def _terms(mu, log_sigma, prior_mu, prior_log_sigma, out):
    half, two = out.dtype.type(0.5), out.dtype.type(2)
    for i in range(wide(out.size)):
        shift = (mu[i] - prior_mu[i]) * exp(-prior_log_sigma[i])
        log_ratio = log_sigma[i] - prior_log_sigma[i]
        out[i] = half * (shift * shift + expm1(two * log_ratio)) - log_ratio


@compiled
def forward(turns, mu, log_sigma, prior_mu, prior_log_sigma, partial):
    """Write the sums of some strips."""
    while another(turns):
        begin, end = turns[BEGIN], turns[END]
        terms = np.empty(STRIP, mu.dtype)
        for strip in range(begin, end):
            first, last = strip * STRIP, min((strip + 1) * STRIP, mu.size)
            out = flat(terms, 0, last - first)
            _terms(flat(mu, first, last), flat(log_sigma, first, last), flat(prior_mu, first, last),
                   flat(prior_log_sigma, first, last), out)
            partial[strip] = total(out)


@inlined
def _means(ddivergence, mu, prior_mu, prior_log_sigma, dmu, dprior_mu, square):
    for i in range(wide(dmu.size)):
        inverse = exp(-prior_log_sigma[i])
        shift = (mu[i] - prior_mu[i]) * inverse
        dmu[i] = ddivergence * shift * inverse
        dprior_mu[i] = -dmu[i]
        square[i] = -ddivergence * shift * shift


@inlined
def _scales(ddivergence, log_sigma, prior_log_sigma, dlog_sigma, dprior_log_sigma):
    two = dlog_sigma.dtype.type(2)
    for i in range(wide(dlog_sigma.size)):
        dlog_sigma[i] = ddivergence * expm1(two * (log_sigma[i] - prior_log_sigma[i]))
        dprior_log_sigma[i] -= dlog_sigma[i]


@compiled
def backward(turns, ddivergence, mu, log_sigma, prior_mu, prior_log_sigma, dmu, dlog_sigma, dprior_mu,
             dprior_log_sigma):
    """Write the gradients of some strips."""
    while another(turns):
        for first in range(turns[BEGIN] * STRIP, min(turns[END] * STRIP, mu.size), STRIP):
            last = min(first + STRIP, mu.size)
            scales, square = flat(prior_log_sigma, first, last), flat(dprior_log_sigma, first, last)
            _means(ddivergence, flat(mu, first, last), flat(prior_mu, first, last), scales, flat(dmu, first, last),
                   flat(dprior_mu, first, last), square)
            _scales(ddivergence, flat(log_sigma, first, last), scales, flat(dlog_sigma, first, last), square)


def kl(mu, log_sigma, prior_mu, prior_log_sigma):
    """Compute the KL divergence of diagonal Gaussians: the twin of :func:`ibpcl.primitives.gaussian.kl`.

    The inputs must have one shape.
    """
    arrays = as_arrays("gaussian.kl", mu, log_sigma, prior_mu, prior_log_sigma)
    if any(array.shape != arrays[0].shape for array in arrays):
        raise ValueError(f"gaussian.kl: all inputs must have one shape, got {[array.shape for array in arrays]}")
    vectors = [array.reshape(-1) for array in arrays]
    partial = np.empty(-(-vectors[0].size // STRIP))
    threads.run(forward, partial.size, *vectors, partial)
    return arrays[0].dtype.type(partial.sum()), arrays


def kl_vjp(ddivergence, cache):
    """Pull the gradient back to all four inputs: the twin of :func:`ibpcl.primitives.gaussian.kl_vjp`."""
    mu = cache[0]
    gradients = [np.empty_like(mu) for _ in cache]
    vectors = [array.reshape(-1) for array in (*cache, *gradients)]
    threads.run(backward, -(-mu.size // STRIP), mu.dtype.type(ddivergence), *vectors)
    return tuple(gradients)
