"""Caches that are functions."""

import numpy as np
from scipy import stats


def sample(eps, mu, log_sigma):
    sigma = np.exp(log_sigma)

    def back(dv):
        return dv.sum(axis=0), sigma * np.sum(eps * dv, axis=0)

    return mu + sigma * eps, back


def sample_vjp(dv, cache):
    return cache(dv)


def log_density(x, mu, log_sigma):
    sigma = np.exp(log_sigma)

    def back(dlog_p):
        t = (x - mu) / sigma
        return -dlog_p * t / sigma, (dlog_p * t / sigma).sum(0), (dlog_p * (t * t - 1)).sum(0)

    return stats.norm.logpdf((x - mu) / sigma) - log_sigma, back


def log_density_vjp(dlog_p, cache):
    return cache(dlog_p)


def kl(mu, log_sigma, prior_mu, prior_log_sigma):
    ratio = np.exp(2 * (log_sigma - prior_log_sigma))
    t = (mu - prior_mu) / np.exp(prior_log_sigma)

    def back(d):
        dmu = d * t / np.exp(prior_log_sigma)
        return dmu, d * (ratio - 1), -dmu, d * (1 - ratio - t**2)

    return 0.5 * np.sum(ratio - 1 - np.log(ratio) + t**2), back


def kl_vjp(ddivergence, cache):
    return cache(ddivergence)


def sample_by_variance(eps, mu, log_variance):
    sigma = np.exp(log_variance) ** 0.5
    return mu + sigma * eps, lambda dv: [
        dv.sum(0),
        np.tensordot(np.ones(len(dv)), dv * eps, 1) * sigma / 2,
    ]


def sample_by_variance_vjp(dv, cache):
    return cache(dv)


def punished_for_too_narrow():
    return "b"


def estimator_for_a_step():
    return "a"
