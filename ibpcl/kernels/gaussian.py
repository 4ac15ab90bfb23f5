r"""The divergence of diagonal Gaussians and its gradient, fused: the twin of ``primitives.gaussian``'s ``kl``.

Each direction reads its arrays once, in strips.  A strip's terms are added up as soon as they are made, and the strips'
sums in order and in float64, so the result is the same for any number of threads.
"""

import numpy as np

from ibpcl.kernels import loops, threads
from ibpcl.kernels.compilation import compiled, inlined, wide
from ibpcl.kernels.elementary import exp, expm1, total
from ibpcl.kernels.memory import as_arrays, empty
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
def _scales(ddivergence, log_sigma, prior_log_sigma, dlog_sigma):
    two = dlog_sigma.dtype.type(2)
    for i in range(wide(dlog_sigma.size)):
        dlog_sigma[i] = ddivergence * expm1(two * (log_sigma[i] - prior_log_sigma[i]))


@inlined
def _priors(ddivergence, dmu, dlog_sigma, square, dprior_mu, dprior_log_sigma):
    for i in range(wide(square.size)):
        dprior_mu[i] = -dmu[i]
        dprior_log_sigma[i] = -dlog_sigma[i] - ddivergence * square[i]


@compiled
def backward(
    turns, ddivergence, mu, log_sigma, prior_mu, prior_log_sigma, adding, dmu, dlog_sigma, dprior_mu, dprior_log_sigma
):
    """Write the gradients of some strips, or add them; those at the prior only where there is room for them."""
    square, location, scale = (np.empty(STRIP, mu.dtype), np.empty(STRIP, mu.dtype), np.empty(STRIP, mu.dtype))
    while another(turns):
        for first in range(turns[BEGIN] * STRIP, min(turns[END] * STRIP, mu.size), STRIP):
            strip = slice(first, min(first + STRIP, mu.size))
            part, by_mu, by_sigma = square[:strip.stop - first], dmu[strip], dlog_sigma[strip]
            if adding:
                by_mu, by_sigma = location[:strip.stop - first], scale[:strip.stop - first]
            _means(ddivergence, mu[strip], prior_mu[strip], prior_log_sigma[strip], by_mu, part)
            _scales(ddivergence, log_sigma[strip], prior_log_sigma[strip], by_sigma)
            if dprior_mu.size > 0:
                _priors(ddivergence, by_mu, by_sigma, part, dprior_mu[strip], dprior_log_sigma[strip])
            if adding:
                loops.add(by_mu, dmu[strip])
                loops.add(by_sigma, dlog_sigma[strip])


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


def kl_vjp(ddivergence, cache, needs_dprior=True):
    """Pull the gradient back to all four inputs: the twin of :func:`ibpcl.primitives.gaussian.kl_vjp`."""
    shape, dtype = cache[0].shape, cache[0].dtype
    sizes = (cache[0].size,) * 2 + (cache[0].size if needs_dprior else 0,) * 2
    dmu, dlog_sigma, *dprior = (empty((size,), dtype) for size in sizes)
    _pull_back(ddivergence, cache, False, dmu, dlog_sigma, *dprior)
    if not needs_dprior:
        return dmu.reshape(shape), dlog_sigma.reshape(shape), None, None
    return tuple(gradient.reshape(shape) for gradient in (dmu, dlog_sigma, *dprior))


def add_kl_gradient(ddivergence, cache, onto):
    """Add the gradients in place: the twin of :func:`ibpcl.primitives.gaussian.add_kl_gradient`.

    The arrays must be contiguous and of the inputs' type.
    """
    dtype = cache[0].dtype
    if any(part.dtype != dtype or not part.flags.c_contiguous for part in onto):
        raise ValueError(f"gaussian.add_kl_gradient: onto must be contiguous arrays of type {dtype}")
    none = np.empty(0, dtype)
    _pull_back(ddivergence, cache, True, *(part.reshape(-1) for part in onto), none, none)


def _pull_back(ddivergence, cache, adding, *gradients):
    flat = [array.reshape(-1) for array in cache]
    threads.run(backward, -(-flat[0].size // STRIP), flat[0].dtype.type(ddivergence), *flat, adding, *gradients)
