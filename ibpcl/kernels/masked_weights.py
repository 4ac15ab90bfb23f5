r"""Masked weights, their activity and the KL divergence of their masks, computed in one pass.

This is the compiled version of ``primitives.masked_weights``.  The reference writes a dozen arrays
of shape (S, D, K).  This version writes only the weights w and the odds o against their masks,
:math:`z = 1 / (1 + o)` and :math:`1 - z = o z`, which preserves the digits of both.  The backward
pass needs no noise, because :math:`z \sigma \varepsilon = w - z \mu`:

.. math:: \frac{\partial}{\partial \mu} = \sum_s dw_s z_s, \qquad
          \frac{\partial}{\partial \log\sigma} = \sum_s (dw_s w_s - dw_s z_s \mu), \qquad
          \frac{\partial}{\partial \lambda_s} = dw_s w_s (1 - z_s) / \tau

where :math:`\lambda` are the masks' log-odds.  The difference in the second gradient loses digits
if :math:`\sigma \ll |\mu|`, by :math:`|\mu| / \sigma` units in the last place.  But then this
gradient is small compared with that of the divergence.

A piece is a block of rows of D, for all samples.  Its parameters (about 50 KB per array at K = 200)
stay in the second-level cache during the loop over samples.  The work on a row is divided into
short loops that pass on a row of scratch memory.  To vectorize one long loop, the compiler would
have to check that no two of a dozen arrays overlap, and it does not make more than eight such
checks.
"""

import numpy as np

from ibpcl.kernels.compilation import (
    boolean,
    compiled,
    cube,
    float32,
    float64,
    inlined,
    matrix,
    summing,
    twin_of,
    vector,
    void,
)
from ibpcl.kernels.elementary import exp, expm1, log_terms
from ibpcl.kernels.threads import JOB, parts, run, taken
from ibpcl.numerics import logistic_kl
from ibpcl.primitives import bernoulli, concrete
from ibpcl.primitives import masked_weights as reference

ROWS = 64
ZERO = np.float32(0)
ONE = np.float32(1)
NEAR = np.float32(0.29)
# beyond these log-odds, the odds are not normal float32 numbers
LIMIT = np.float32(86.9)
# up to these log-odds, the error is below 40 e^-46.9 nats
FAR = np.float32(40)
SMALL = np.float32(0.5)
TERMS = tuple(
    np.float32(c) for c in (1 / 2, -1 / 6, 1 / 24, -1 / 120, 1 / 720, -1 / 5040, 1 / 40320)
)


@inlined
def _exp(x, sign, out):
    for k in range(out.size):
        out[k] = exp(sign * x[k])


@inlined
def _odds(logistic, rho, logit_pi, inverse_tau, odds):
    for k in range(odds.size):
        odds[k] = exp(-(rho[k] + logit_pi[k] + logistic[k]) * inverse_tau)


@inlined
def _weights(odds, eps, mu, sigma, z, w):
    for k in range(w.size):
        z[k] = ONE / (ONE + odds[k])
        w[k] = z[k] * (mu[k] + sigma[k] * eps[k])


@inlined
def _largest(z, row, best, where):
    """Keep the larger of z and ``best``, and its row in ``where``; ties keep the first.

    The choice is made by arithmetic, which is exact here.  A conditional assignment would become a
    masked store, which takes a dozen cycles on processors without AVX-512.
    """
    for k in range(best.size):
        new = ONE if z[k] > best[k] else ZERO
        best[k] = new * z[k] + (ONE - new) * best[k]
        where[k] = new * row + (ONE - new) * where[k]


@inlined
def _offsets(rho, decay, gap, growth, rest):
    r"""Write the numbers that the divergence needs of each offset.

    With :math:`a = |\rho|` they are :math:`E = e^{-a}`, :math:`t = 1 - E`, :math:`t / E`, and
    :math:`c = a - t`, which is computed by a series for a < 1/2.
    """
    c0, c1, c2, c3, c4, c5, c6 = TERMS
    for k in range(rho.size):
        a = abs(rho[k])
        e = exp(-a) if a < LIMIT else ZERO
        t = -expm1(-a)
        decay[k] = e
        gap[k] = t
        growth[k] = t / e
        series = a * a * (c0 + a * (c1 + a * (c2 + a * (c3 + a * (c4 + a * (c5 + a * c6))))))
        rest[k] = series if a < SMALL else a - t


@summing
def _bernoulli_kl(rho, decay, gap, growth, rest, pi, not_pi):
    r"""Return the divergence of a row of masks, with one logarithm and one division per mask.

    Let p = pi for rho <= 0 and p = 1 - pi for rho > 0 (the divergence does not change if masks and
    their complements are exchanged), q = 1 - p, and E, t and c as in :func:`_offsets`.  The odds
    are p / q and E p / q, so with R = q + p E

    .. math::

        KL = -\log R - \frac{p E}{R} a = g(f) + \frac1R \begin{cases} p\, (a t - c - p t^2), & f
            = -p t \\
              q\, (c - t f), & f = q t / E \end{cases}, \qquad g(f) = f - \log(1 + f).

    For small f the form on the right is used, with the first case for p < q: all its terms are as
    small as the divergence.
    """
    total = ZERO
    for k in range(rho.size):
        # loaded before the choice, because the compiler would otherwise use a gather
        yes = pi[k]
        no = not_pi[k]
        p, q = (no, yes) if rho[k] > ZERO else (yes, no)
        a = abs(rho[k])
        t = gap[k]
        on = p * decay[k]
        lack = p * gap[k]
        r = q + on
        inverse = ONE / (q + on)
        f = -lack if p < q else q * growth[k]
        near = (f > -NEAR) & (f < NEAR)
        small, d, whole = log_terms(ONE + f if near else r, -f if near else lack)
        rest_of_it = p * (a * t - rest[k] - lack * t) if p < q else q * (rest[k] - t * f)
        total += rest_of_it * inverse - d if near else -(small + d + whole) - on * inverse * a
    return total


@compiled(
    void(
        JOB,
        cube,
        cube,
        matrix,
        matrix,
        matrix,
        cube,
        float32,
        boolean,
        cube,
        cube,
        cube,
        cube,
        float64[:, ::1],
    )
)
def _forward(
    job,
    eps,
    logistic,
    mu,
    log_sigma,
    rho,
    sticks,
    inverse_tau,
    bernoulli,
    w,
    odds,
    largest,
    where,
    divergence,
):
    """Sample; ``sticks`` (3, S, K) are logit pi, pi and 1 - pi.

    The last three arguments receive results for each block of rows.
    """
    S, D, K = w.shape
    scratch = np.empty((5, ROWS, K), np.float32)
    z = np.empty(K, np.float32)
    sigma = scratch[0]
    decay = scratch[1]
    gap = scratch[2]
    growth = scratch[3]
    rest = scratch[4]
    for block in taken(job):
        first = block * ROWS
        last = min((block + 1) * ROWS, D)
        for i in range(last - first):
            _exp(log_sigma[first + i], ONE, sigma[i])
            if bernoulli:
                _offsets(rho[first + i], decay[i], gap[i], growth[i], rest[i])
        for s in range(S):
            best = largest[block, s]
            its_row = where[block, s]
            total = 0.0
            # below every mask, because masks are >= 0
            best[:] = -ONE
            its_row[:] = ZERO
            for d in range(first, last):
                i = d - first
                _odds(logistic[s, d], rho[d], sticks[0, s], inverse_tau, odds[s, d])
                _weights(odds[s, d], eps[s, d], mu[d], sigma[i], z, w[s, d])
                _largest(z, np.float32(d), best, its_row)
                if bernoulli:
                    total += _bernoulli_kl(
                        rho[d], decay[i], gap[i], growth[i], rest[i], sticks[1, s], sticks[2, s]
                    )
            divergence[block, s] = total


@inlined
def _by_weight(dw, w, odds, inverse_tau, dlogit, by_value):
    for k in range(dlogit.size):
        z = ONE / (ONE + odds[k])
        by_value[k] = dw[k] * z
        dlogit[k] = dw[k] * w[k] * (odds[k] * z) * inverse_tau


@inlined
def _to_parameters(dw, w, by_value, mu, dmu, dlog_sigma):
    for k in range(dmu.size):
        dmu[k] += by_value[k]
        dlog_sigma[k] += dw[k] * w[k] - by_value[k] * mu[k]


@inlined
def _by_divergence(d, rho, odds_against_rho, odds_against_pi, dlogit, drho, theta):
    for k in range(dlogit.size):
        # the odds against theta = sigmoid(rho + logit pi), by e^(x+y) = e^x e^y
        odds = odds_against_rho[k] * odds_against_pi[k]
        theta[k] = ONE / (ONE + odds)
        complement = ONE - theta[k] if odds > ONE else odds * theta[k]
        dlogit[k] += d * theta[k] * complement * rho[k]
        drho[k] += dlogit[k]


@inlined
def _to_sticks(d, dlogit, theta, pi, dlogit_pi):
    for k in range(dlogit.size):
        dlogit_pi[k] += dlogit[k] + d * (pi[k] - theta[k])


@compiled(
    void(JOB, cube, vector, cube, cube, matrix, matrix, cube, float32, matrix, matrix, matrix, cube)
)
def _backward(
    job, dw, ddivergence, w, odds, mu, rho, sticks, inverse_tau, dmu, dlog_sigma, drho, dlogit_pi
):
    """Write the gradients; ``sticks`` (2, S, K) are pi and (1 - pi) / pi.

    ``ddivergence`` is the gradient at the Bernoulli divergence, or zero if another one is used.
    ``dlogit_pi`` receives the contribution of each block of rows.
    """
    S, D, K = w.shape
    odds_against_rho = np.empty((ROWS, K), np.float32)
    dlogit = np.empty(K, np.float32)
    by_value = np.empty(K, np.float32)
    theta = np.empty(K, np.float32)
    for block in taken(job):
        first = block * ROWS
        last = min((block + 1) * ROWS, D)
        for i in range(last - first):
            _exp(rho[first + i], -ONE, odds_against_rho[i])
        dmu[first:last] = ZERO
        dlog_sigma[first:last] = ZERO
        drho[first:last] = ZERO
        dlogit_pi[block] = ZERO
        for s in range(S):
            for d in range(first, last):
                _by_weight(dw[s, d], w[s, d], odds[s, d], inverse_tau, dlogit, by_value)
                _to_parameters(dw[s, d], w[s, d], by_value, mu[d], dmu[d], dlog_sigma[d])
                _by_divergence(
                    ddivergence[s],
                    rho[d],
                    odds_against_rho[d - first],
                    sticks[1, s],
                    dlogit,
                    drho[d],
                    theta,
                )
                _to_sticks(ddivergence[s], dlogit, theta, sticks[0, s], dlogit_pi[block, s])


def _far_apart(rho, logit_pi):
    r"""Return whether a posterior and its prior are too far apart for the fused divergence.

    It uses :math:`e^{-|\rho|}` and :math:`\pi`, and float32 has no normal numbers for them beyond
    log-odds of 87.  That matters only if both exceed :data:`FAR` in absolute value and have
    opposite signs, which does not occur in training.  The sticks' log-odds come first, because
    there are fewer of them.
    """
    if any(not odds.size or (odds.max() <= FAR and odds.min() >= -FAR) for odds in (logit_pi, rho)):
        return False
    below = (rho.max(axis=0) > FAR) & (logit_pi.min(axis=0) < -FAR)
    above = (rho.min(axis=0) < -FAR) & (logit_pi.max(axis=0) > FAR)
    return bool((below | above).any())


@twin_of(reference)
def sample(eps, logistic, mu, log_sigma, rho, logit_pi, tau, mask_kl="bernoulli"):
    """Draw masked weights, with activity and divergence.

    This is the compiled :func:`ibpcl.primitives.masked_weights.sample`.

    Raises
    ------
    ValueError
        If ``mask_kl`` is unknown.
    """
    if mask_kl not in ("bernoulli", "concrete"):
        raise ValueError(
            f"masked_weights.sample: mask_kl must be 'bernoulli' or 'concrete', got {mask_kl!r}"
        )
    (S, D, K), inverse_tau = eps.shape, np.float32(1 / tau)
    fused = mask_kl == "bernoulli" and not _far_apart(rho, logit_pi)
    against = np.exp(-logit_pi.clip(-LIMIT, LIMIT))  # (1 - pi) / pi
    pi = 1 / (1 + against)
    # 1 - pi is computed as a product, because the difference would lose digits near pi = 1
    sticks = np.stack([logit_pi, pi, against * pi])
    blocks = parts(D, ROWS)
    w, odds = (np.empty((S, D, K), np.float32) for _ in range(2))
    (largest, where), partial = np.empty((2, blocks, S, K), np.float32), np.empty((blocks, S))
    run(
        _forward,
        blocks,
        eps,
        logistic,
        mu,
        log_sigma,
        rho,
        sticks,
        inverse_tau,
        fused,
        w,
        odds,
        largest,
        where,
        partial,
    )
    activity = np.zeros(S * K, np.float32)
    rows = np.zeros(S * K, np.intp)
    if blocks:  # among equal ones, the first
        best = largest.argmax(axis=0).reshape(-1) * (S * K) + np.arange(S * K)
        activity = largest.take(best)
        rows = where.take(best).astype(np.intp)
    divergence = partial.sum(axis=0)
    kl_cache = None
    # the concrete divergence depends on rho alone, so it is the same for each sample
    if mask_kl == "concrete":
        divergence = np.full(S, logistic_kl(rho).sum(dtype=np.float64))
    elif not fused:
        divergence, kl_cache = bernoulli.kl(rho + logit_pi[:, None, :], logit_pi)
    cache = (
        w,
        odds,
        mu,
        rho,
        np.stack([pi, against]),
        inverse_tau,
        mask_kl,
        kl_cache,
        rows.reshape(S, K),
    )
    return (w, activity.reshape(S, K), divergence.astype(np.float32)), cache


@twin_of(reference)
def sample_vjp(dout, cache):
    """Pull the gradients back: the compiled :func:`ibpcl.primitives.masked_weights.sample_vjp`."""
    w, odds, mu, rho, sticks, inverse_tau, mask_kl, kl_cache, rows = cache
    (S, D, K), (dw, dactivity, ddivergence) = w.shape, dout
    dmu, dlog_sigma, drho = (np.empty_like(mu) for _ in range(3))
    partial = np.empty((parts(D, ROWS), S, K), np.float32)
    fused = mask_kl == "bernoulli" and kl_cache is None
    run(
        _backward,
        len(partial),
        dw,
        ddivergence * np.float32(fused),
        w,
        odds,
        mu,
        rho,
        sticks,
        inverse_tau,
        dmu,
        dlog_sigma,
        drho,
        partial,
    )
    dlogit_pi = partial.sum(axis=0)
    # the activity of a column is its largest mask
    if D > 0:
        columns = np.arange(K)
        against = odds[np.arange(S)[:, None], rows, columns]
        z = 1 / (1 + against)
        dlogit = dactivity * z * (against * z) * inverse_tau
        dlogit_pi += dlogit
        np.add.at(drho, (rows, columns), dlogit)
    if kl_cache is not None:
        dlogit_theta, by_prior = bernoulli.kl_vjp(ddivergence, kl_cache)
        drho += dlogit_theta.sum(axis=0)
        dlogit_pi += by_prior + dlogit_theta.sum(axis=1)
    if mask_kl == "concrete":  # the sticks cancel in this divergence
        by_rho, _ = concrete.kl_vjp(np.ones(1, np.float32), rho[None])
        drho += ddivergence.sum() * by_rho[0]
    return dmu, dlog_sigma, drho, dlogit_pi
