r"""Checks of Bayes' rule on models with one weight, or one weight, one mask and one stick.

The paper derives these identities for any model. Here they are evaluated for models that are small
enough to be integrated numerically.
"""

import numpy as np

from ibpcl.paper.checks import agrees, verifies
from ibpcl.primitives import bernoulli, gaussian, kumaraswamy, likelihoods
from ibpcl.verify.distributions.statistics import quadrature


@verifies("definitions", "joint-divergence")
def joint_divergence(seed):
    """Eqs. 5 and 7: the divergence of the joint q(V, B, v) is the sum of three, by integrating over
    all of it.
    """
    q, p, (a, b, alpha, rho) = (0.7, -0.4), (0.0, 0.3), (2.0, 3.0, 1.5, 0.8)

    def given(v):
        logit_pi = np.log(v) - np.log1p(-v)
        return rho + logit_pi, logit_pi

    def over_masks(v, log_weights):
        """Sum over B in {0, 1} the joint density of (B, v) times the whole log ratio, that of V
        included.
        """
        log_q = kumaraswamy.log_density(np.log(v), a, b)[0]
        log_p = np.log(alpha) + (alpha - 1) * np.log(v)
        terms = [
            [bernoulli.log_density(z, log_odds)[0] for log_odds in given(v)] for z in (0.0, 1.0)
        ]
        return sum(
            np.exp(log_q + q_mask) * (log_weights + q_mask - p_mask + log_q - log_p)
            for q_mask, p_mask in terms
        )

    def joint(x):
        log_weight = gaussian.log_density(x, *q)[0]
        ratio = log_weight - gaussian.log_density(x, *p)[0]
        return np.exp(log_weight) * (constant + ratio * mass)

    # The inner integral is linear in the log ratio of V: its two coefficients are enough.
    constant = quadrature(lambda v: over_masks(v, 0.0), (0, 1))[0]
    mass = quadrature(lambda v: over_masks(v, 1.0), (0, 1))[0] - constant
    masks = quadrature(
        lambda v: (
            np.exp(kumaraswamy.log_density(np.log(v), a, b)[0])
            * bernoulli.kl(
                *(
                    np.reshape(part, shape)
                    for part, shape in zip(given(v), ((1, 1, 1), (1, 1)), strict=True)
                )
            )[0][0]
        ),
        (0, 1),
    )[0]
    three = (
        gaussian.kl(*(np.array([value]) for value in (*q, *p)))[0]
        + masks
        + kumaraswamy.kl_to_beta(np.array([a]), np.array([b]), alpha)[0]
    )
    return agrees(
        f"{three:.6g}, joint integral", quadrature(joint, (-12, 12), [q[0]])[0], three, 1e-8
    )


@verifies("definitions", "recursion")
def recursion(seed):
    """Eq. 1: KL[q || q_{t-1} p(D_t | w) / Z] = log Z - ELBO, where all are known: one Gaussian
    weight.
    """
    rng = np.random.default_rng(seed)
    old = (0.4, -0.5)
    log_noise = -0.3
    x = rng.normal(size=6)
    y = 1.3 * x + rng.normal(size=6) * np.exp(log_noise)

    def log_likelihood(w):
        return likelihoods.gaussian((x * w)[None, :, None], np.array([log_noise]), y[:, None])[
            0
        ].sum()

    precision = np.exp(-2 * old[1]) + (x @ x) * np.exp(-2 * log_noise)
    mean = (old[0] * np.exp(-2 * old[1]) + (x @ y) * np.exp(-2 * log_noise)) / precision
    posterior = (mean, -0.5 * np.log(precision))
    log_z = (
        log_likelihood(mean)
        + gaussian.log_density(mean, *old)[0]
        - gaussian.log_density(mean, *posterior)[0]
    )
    gaps = []
    for q in ((0.0, 0.0), (1.0, -1.0), posterior):
        divergence = gaussian.kl(*(np.array([value]) for value in (*q, *posterior)))[0]
        # The log-likelihood is quadratic in w: its mean is its value at the mean plus half its
        # curvature times sigma^2.
        expected = log_likelihood(q[0]) - 0.5 * (x @ x) * np.exp(-2 * log_noise) * np.exp(2 * q[1])
        elbo = expected - gaussian.kl(*(np.array([value]) for value in (*q, *old)))[0]
        gaps.append(divergence - (log_z - elbo))
    return agrees(f"log Z {log_z:.5g}, for 3 posteriors", gaps, np.zeros(3))


@verifies("definitions", "coresets.decomposition")
def coreset_decomposition(seed):
    r"""Supplement C: p(w | D) is p(w | D \ C) p(C | w) up to a constant, in either order; one
    Gaussian weight.
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(size=10)
    log_noise = -0.3
    y = 1.3 * x + rng.normal(size=10) * np.exp(log_noise)
    old = (0.4, -0.5)
    coreset = np.arange(10) < 3

    def posterior(prior, rows):
        precision = np.exp(-2 * prior[1]) + x[rows] @ x[rows] * np.exp(-2 * log_noise)
        mean = (
            prior[0] * np.exp(-2 * prior[1]) + x[rows] @ y[rows] * np.exp(-2 * log_noise)
        ) / precision
        return mean, -0.5 * np.log(precision)

    everything = posterior(old, np.ones(10, bool))
    refined = posterior(posterior(old, ~coreset), coreset)
    # The unnormalized form itself, at points where both densities are evaluated: their log ratio
    # must be constant.
    w = np.linspace(-1, 3, 7)
    by_parts = gaussian.log_density(w, *posterior(old, ~coreset))[0] + likelihoods.gaussian(
        w[:, None, None] * x[coreset][None, :, None], np.array([log_noise]), y[coreset][:, None]
    )[0].sum(axis=1)
    ratio = by_parts - gaussian.log_density(w, *everything)[0]
    return agrees(
        "refined = all data", [*refined, *(ratio - ratio[0])], [*everything, *np.zeros(7)]
    )


@verifies("definitions", "coresets.recursion")
def coreset_recursion(seed):
    r"""Supplement C: q~_t from q~_{t-1} and D_t u C_{t-1} \ C_t is p(w | D_1:t \ C_t), at once or
    factor by factor, and refined on C_t it is p(w | D_1:t); one Gaussian weight, four tasks.
    """
    rng = np.random.default_rng(seed)
    tasks = 4
    examples = 6
    size = 5
    x = rng.normal(size=tasks * examples)
    log_noise = -0.3
    y = 1.3 * x + rng.normal(size=len(x)) * np.exp(log_noise)
    old = (0.4, -0.5)

    def posterior(prior, rows):
        """Return mean and log sigma of the weight given some examples."""
        precision = np.exp(-2 * prior[1]) + x[rows] @ x[rows] * np.exp(-2 * log_noise)
        mean = (
            prior[0] * np.exp(-2 * prior[1]) + x[rows] @ y[rows] * np.exp(-2 * log_noise)
        ) / precision
        return mean, -0.5 * np.log(precision)

    joint = old
    by_factors = old
    coreset = np.zeros(len(x), bool)
    ours = []
    exact = []
    moved = 0
    for t in range(tasks):
        new = np.arange(len(x)) // examples == t
        pool = np.flatnonzero(new | coreset)
        chosen = np.zeros(len(x), bool)
        chosen[rng.choice(pool, size, replace=False)] = True
        released = coreset & ~chosen
        moved += int(released.sum())
        joint = posterior(joint, (new | coreset) & ~chosen)
        by_factors = posterior(posterior(by_factors, released), new & ~chosen)
        coreset = chosen
        seen = np.arange(len(x)) < (t + 1) * examples
        ours += [*joint, *by_factors, *posterior(joint, coreset)]
        exact += [*posterior(old, seen & ~coreset)] * 2
        exact += [*posterior(old, seen)]
    return agrees(f"{moved} points left it in {tasks} tasks", ours, exact)
