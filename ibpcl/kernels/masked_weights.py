r"""Masked weights, their activity and the divergence of their masks, fused: the twin of ``primitives.masked_weights``.

The reference writes a dozen arrays of shape (S, D, K); here the noise is read once forward and once backward, and only
the weights are written.  Nothing else is kept: the backward pass computes mask and weight again from the noise, which
costs less than reading them back from memory.

A piece is a block of 64 rows of D, for all samples: its parameters (some 50 KB an array at K = 200) stay in the
second-level cache while the samples pass.  Within a row the work is cut into short loops over the units, which hand on
a row of scratch in the first-level cache.  One long loop would read and write a dozen arrays; to vectorize it the
compiler would have to check that no two overlap, and beyond eight such checks it gives up.
"""

import numpy as np

from ibpcl.kernels import logistic_divergence, threads
from ibpcl.kernels.arrays import as_arrays
from ibpcl.kernels.compilation import compiled, inlined
from ibpcl.kernels.elementary import exp, log_of

ROWS = 64


@inlined
def _sigmoid(x, out):
    one = out.dtype.type(1)
    for k in range(out.size):
        out[k] = one / (one + exp(-x[k]))


@inlined
def _mask(logistic, rho, logit_pi, inverse_tau, z):
    one = z.dtype.type(1)
    for k in range(z.size):
        z[k] = one / (one + exp(-(rho[k] + logit_pi[k] + logistic[k]) * inverse_tau))


@inlined
def _weight(eps, mu, sigma, z, w):
    for k in range(w.size):
        w[k] = z[k] * (mu[k] + sigma[k] * eps[k])


@inlined
def _largest(z, d, largest, where):
    for k in range(z.size):
        new = z[k] > largest[k]                              # strictly: of equals, the first stays
        largest[k] = z[k] if new else largest[k]
        where[k] = d if new else where[k]


@inlined
def _bernoulli_kl(rho, decay, pi, not_pi, divergence):
    r"""Add the divergence of a row, without an exponential.

    With :math:`E = e^{-|\rho|}`, and p = pi for rho <= 0 and 1 - pi for rho > 0 (the divergence does not change when
    masks and complements change places), both odds are p / (1 - p) and E p / (1 - p), so that with R = 1 - p + p E

    .. math:: KL = -\frac{p E}{R} |\rho| - \log R.
    """
    zero = rho.dtype.type(0)
    for k in range(rho.size):
        positive = rho[k] > zero
        p, q = not_pi[k] if positive else pi[k], pi[k] if positive else not_pi[k]
        on = p * decay[k]
        r = q + on
        divergence[k] -= on / r * abs(rho[k]) + log_of(r, p - on)


@compiled
def forward(block, eps, logistic, mu, log_sigma, rho, logit_pi, inverse_tau, bernoulli, w, largest, where, divergence):
    """Sample the rows of one block; the last three arrays, (B, S, K), hold one partial result a block."""
    S, D, K = w.shape
    first, last = block * ROWS, min((block + 1) * ROWS, D)
    dtype = w.dtype
    sigma, decay = np.empty((last - first, K), dtype), np.empty((last - first, K), dtype)
    for d in range(first, last):
        for k in range(K):
            sigma[d - first, k] = exp(log_sigma[d, k])
            decay[d - first, k] = exp(-abs(rho[d, k]))
    z, pi, not_pi = np.empty(K, dtype), np.empty(K, dtype), np.empty(K, dtype)
    for s in range(S):
        _sigmoid(logit_pi[s], pi)
        _sigmoid(-logit_pi[s], not_pi)                       # 1 - pi would lose its digits near pi = 1
        for d in range(first, last):
            _mask(logistic[s, d], rho[d], logit_pi[s], inverse_tau, z)
            _weight(eps[s, d], mu[d], sigma[d - first], z, w[s, d])
            _largest(z, np.int32(d), largest[block, s], where[block, s])
            if bernoulli:
                _bernoulli_kl(rho[d], decay[d - first], pi, not_pi, divergence[block, s])


@inlined
def _location(dw, z, dv, dmu):
    for k in range(dv.size):
        dv[k] = dw[k] * z[k]
        dmu[k] += dv[k]


@inlined
def _scale(dv, eps, sigma, noise, dlog_sigma):
    for k in range(dv.size):
        noise[k] = sigma[k] * eps[k]
        dlog_sigma[k] += dv[k] * noise[k]


@inlined
def _log_odds(dv, mu, noise, z, inverse_tau, dlogit):
    one = z.dtype.type(1)
    for k in range(dv.size):                                 # dw v times the slope of the mask, z (1 - z) / tau
        dlogit[k] = dv[k] * (mu[k] + noise[k]) * (one - z[k]) * inverse_tau


@inlined
def _bernoulli_kl_vjp(ddivergence, rho, logit_pi, pi, dlogit, dlogit_pi):
    one = pi.dtype.type(1)
    for k in range(rho.size):
        theta = one / (one + exp(-(rho[k] + logit_pi[k])))
        dlogit[k] += ddivergence * theta * (one - theta) * rho[k]
        dlogit_pi[k] += ddivergence * (pi[k] - theta)


@inlined
def _add(x, y, z):
    for k in range(x.size):
        y[k] += x[k]
        z[k] += x[k]


@compiled
def backward(
    block, dw, ddivergence, eps, logistic, mu, log_sigma, rho, logit_pi, inverse_tau, bernoulli,
    dmu, dlog_sigma, drho, dlogit_pi,
):
    """Add up the rows of one block; ``dlogit_pi``, (B, S, K), holds one partial sum a block."""
    S, D, K = dw.shape
    first, last = block * ROWS, min((block + 1) * ROWS, D)
    dtype = dw.dtype
    sigma = np.empty((last - first, K), dtype)
    for d in range(first, last):
        for k in range(K):
            sigma[d - first, k] = exp(log_sigma[d, k])
    z, dv, noise, dlogit, pi = (
        np.empty(K, dtype), np.empty(K, dtype), np.empty(K, dtype), np.empty(K, dtype), np.empty(K, dtype))
    for s in range(S):
        _sigmoid(logit_pi[s], pi)
        for d in range(first, last):
            _mask(logistic[s, d], rho[d], logit_pi[s], inverse_tau, z)
            _location(dw[s, d], z, dv, dmu[d])
            _scale(dv, eps[s, d], sigma[d - first], noise, dlog_sigma[d])
            _log_odds(dv, mu[d], noise, z, inverse_tau, dlogit)
            if bernoulli:
                _bernoulli_kl_vjp(ddivergence[s], rho[d], logit_pi[s], pi, dlogit, dlogit_pi[block, s])
            _add(dlogit, drho[d], dlogit_pi[block, s])


def sample(eps, logistic, mu, log_sigma, rho, logit_pi, tau, mask_kl="bernoulli"):
    """Draw masked weights, their activity and divergence: the twin of :func:`primitives.masked_weights.sample`.

    The inputs must be float32 or float64.
    """
    if mask_kl not in ("bernoulli", "concrete"):
        raise ValueError(f"masked_weights.sample: mask_kl must be 'bernoulli' or 'concrete', got {mask_kl!r}")
    arrays = as_arrays("masked_weights.sample", eps, logistic, mu, log_sigma, rho, logit_pi)
    (S, D, K), dtype = arrays[0].shape, arrays[0].dtype
    blocks, bernoulli = -(-D // ROWS), mask_kl == "bernoulli"
    w = np.empty((S, D, K), dtype)
    largest, where = np.full((blocks, S, K), -1, dtype), np.zeros((blocks, S, K), np.int32)
    partial = np.zeros((blocks, S, K), dtype)
    inverse_tau = dtype.type(1 / tau)
    threads.run(forward, blocks, *arrays, inverse_tau, bernoulli, w, largest, where, partial)
    if bernoulli:
        divergence = partial.sum(axis=(0, 2), dtype=np.float64).astype(dtype)
    else:                                                    # a function of rho alone, the same for each sample
        divergence = np.full(S, logistic_divergence.value(arrays[4]).sum(dtype=np.float64), dtype)
    if blocks == 0:
        activity, rows = np.zeros((S, K), dtype), None
    else:
        best = largest.argmax(axis=0)[None]                  # (1, S, K): the first block that has the largest
        activity, rows = (np.take_along_axis(part, best, axis=0)[0] for part in (largest, where))
    return (w, activity, divergence), (arrays, inverse_tau, bernoulli, activity, rows)


def sample_vjp(dout, cache):
    """Pull the gradients back to ``mu, log_sigma, rho, logit_pi``: twin of ``primitives.masked_weights.sample_vjp``."""
    arrays, inverse_tau, bernoulli, activity, rows = cache
    (S, D, K), dtype = arrays[0].shape, arrays[0].dtype
    dw, dactivity, ddivergence = (np.ascontiguousarray(d, dtype) for d in dout)
    blocks = -(-D // ROWS)
    dmu, dlog_sigma, drho = np.zeros((D, K), dtype), np.zeros((D, K), dtype), np.zeros((D, K), dtype)
    partial = np.zeros((blocks, S, K), dtype)
    threads.run(
        backward, blocks, dw, ddivergence, *arrays, inverse_tau, bernoulli, dmu, dlog_sigma, drho, partial)
    dlogit_pi = partial.sum(axis=0)
    if rows is not None:                                     # the activity is one mask value of each column
        dlogit = dactivity * activity * (1 - activity) * inverse_tau
        np.add.at(drho, (rows, np.arange(K)), dlogit)
        dlogit_pi += dlogit
    if not bernoulli:                                        # the sticks cancel in this divergence
        drho += ddivergence.sum() * logistic_divergence.slope(arrays[4])
    return dmu, dlog_sigma, drho, dlogit_pi
