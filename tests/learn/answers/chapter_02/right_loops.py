"""Loops over samples, and formulas as a textbook has them."""

import numpy as np


def sample(eps, mu, log_sigma):
    sigma = np.exp(log_sigma)
    v = np.stack([mu + sigma * each for each in eps])
    return v, (eps, sigma)


def sample_vjp(dv, cache):
    eps, sigma = cache
    dmu = np.zeros(dv.shape[1:])
    dsigma = np.zeros(dv.shape[1:])
    for s in range(len(dv)):
        dmu += dv[s]
        dsigma += dv[s] * eps[s]
    return dmu, dsigma * sigma


def log_density(x, mu, log_sigma):
    t = (x - mu) / np.exp(log_sigma)
    return -0.5 * np.log(2 * np.pi) - log_sigma - 0.5 * t**2, (t, log_sigma)


def log_density_vjp(dlog_p, cache):
    t, log_sigma = cache
    dx = -dlog_p * t / np.exp(log_sigma)
    return [dx, -np.sum(dx, axis=0), np.sum(dlog_p * (t**2 - 1), axis=0)]


def kl(mu, log_sigma, prior_mu, prior_log_sigma):
    total = 0.0
    for m, r, m0, r0 in zip(
        mu.ravel(), log_sigma.ravel(), prior_mu.ravel(), prior_log_sigma.ravel(), strict=True
    ):
        s2, s02 = np.exp(2 * r), np.exp(2 * r0)
        total += r0 - r + (s2 + (m - m0) ** 2) / (2 * s02) - 0.5
    return total, (mu, log_sigma, prior_mu, prior_log_sigma)


def kl_vjp(ddivergence, cache):
    m, r, m0, r0 = cache
    s2, s02 = np.exp(2 * r), np.exp(2 * r0)
    return (
        ddivergence * (m - m0) / s02,
        ddivergence * (s2 / s02 - 1),
        ddivergence * (m0 - m) / s02,
        ddivergence * (1 - (s2 + (m - m0) ** 2) / s02),
    )


def sample_by_variance(eps, mu, log_variance):
    return mu + np.sqrt(np.exp(log_variance)) * eps, (eps, log_variance)


def sample_by_variance_vjp(dv, cache):
    eps, log_variance = cache
    dsigma = (dv * eps).sum(0)
    return dv.sum(0), dsigma * 0.5 * np.exp(0.5 * log_variance)


def punished_for_too_narrow():
    return "B"


def estimator_for_a_step():
    return " a "
