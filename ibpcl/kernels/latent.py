"""The divergence of codes, fused: the twin of ``primitives.latent.kl``, whose cache it makes too, and its gradient."""

import numpy as np

from ibpcl.kernels import loops, threads
from ibpcl.kernels.compilation import compiled, inlined, wide
from ibpcl.kernels.elementary import expm1, total
from ibpcl.kernels.memory import as_arrays, empty
from ibpcl.kernels.turns import BEGIN, END, another

ROWS = 64                                                    # a piece


@inlined
def _terms(mean, log_sigma, prior_mu, prior_log_sigma, inverse, shift, excess, out):
    half, two = out.dtype.type(0.5), out.dtype.type(2)
    for k in range(wide(out.size)):
        log_ratio = log_sigma[k] - prior_log_sigma[k]
        shift[k] = (mean[k] - prior_mu[k]) * inverse[k]
        excess[k] = expm1(two * log_ratio)
        out[k] = half * (shift[k] * shift[k] + excess[k]) - log_ratio


@compiled
def forward(turns, mean, log_sigma, prior_mu, prior_log_sigma, inverse, shift, excess, divergence):
    """Write the divergences of some codes (R, K), and what their gradient needs."""
    terms = np.empty(mean.shape[1], mean.dtype)
    while another(turns):
        for r in range(turns[BEGIN] * ROWS, min(turns[END] * ROWS, mean.shape[0])):
            _terms(mean[r], log_sigma[r], prior_mu, prior_log_sigma, inverse, shift[r], excess[r], terms)
            divergence[r] = total(terms)


@inlined
def _square_gradients(ddivergence, shift, out):
    for k in range(wide(out.size)):
        out[k] = ddivergence * (shift[k] * shift[k])


@inlined
def _gradients(ddivergence, shift, excess, inverse, dmean, dlog_sigma):
    for k in range(wide(dmean.size)):
        dmean[k], dlog_sigma[k] = ddivergence * (shift[k] * inverse[k]), ddivergence * excess[k]


@compiled
def backward(ddivergence, shift, excess, inverse, dmean, dlog_sigma, dprior_mu, dprior_log_sigma):
    """Write the gradients at the codes' parameters (R, K) and at the prior's (K,), where they add up.

    A product and the sum that takes it are loops apart, or the compiler would fuse them and round once less than NumPy.
    """
    squares = np.empty_like(inverse)
    for gradient in (dprior_mu, dprior_log_sigma):
        loops.fill(0, gradient)
    for r in range(dmean.shape[0]):
        _gradients(ddivergence[r], shift[r], excess[r], inverse, dmean[r], dlog_sigma[r])
        _square_gradients(ddivergence[r], shift[r], squares)
        loops.add(dlog_sigma[r], squares)
        loops.add(dmean[r], dprior_mu)
        loops.add(squares, dprior_log_sigma)
    for gradient in (dprior_mu, dprior_log_sigma):
        for k in range(gradient.size):
            gradient[k] = -gradient[k]


def kl(z_mean, z_log_sigma, prior_mu, prior_log_sigma):
    """Compute each example's divergence: the twin of :func:`ibpcl.primitives.latent.kl`, with the same cache."""
    z_mean, z_log_sigma, prior_mu, prior_log_sigma = as_arrays("latent.kl", z_mean, z_log_sigma, prior_mu,
                                                               prior_log_sigma)
    S, N, K = z_mean.shape
    if z_log_sigma.shape != z_mean.shape or not prior_mu.shape == prior_log_sigma.shape == (K,):
        raise ValueError(f"latent.kl: shapes must be {z_mean.shape} twice and {(K,)} twice, got {z_log_sigma.shape}, "
                         f"{prior_mu.shape} and {prior_log_sigma.shape}")
    shift, excess = (empty(z_mean.shape, z_mean.dtype) for _ in range(2))
    inverse, divergence = np.exp(-prior_log_sigma), np.empty((S, N), z_mean.dtype)
    threads.run(forward, -(-S * N // ROWS), *(array.reshape(S * N, K) for array in (z_mean, z_log_sigma)), prior_mu,
                prior_log_sigma, inverse, *(array.reshape(S * N, K) for array in (shift, excess)),
                divergence.reshape(-1))
    return divergence, (shift, excess, inverse)


def kl_vjp(ddivergence, cache):
    """Pull the gradient back to all four inputs: the twin of :func:`ibpcl.primitives.latent.kl_vjp`."""
    shift, excess, inverse = cache
    rows, (dmean, dlog_sigma) = (-1, inverse.size), (empty(shift.shape, shift.dtype) for _ in range(2))
    dprior = np.empty((2, inverse.size), shift.dtype)
    given = np.ascontiguousarray(ddivergence, shift.dtype).reshape(-1)
    backward(given, shift.reshape(rows), excess.reshape(rows), inverse, dmean.reshape(rows), dlog_sigma.reshape(rows),
             *dprior)
    return dmean, dlog_sigma, *dprior
