"""Einstein sums, dictionaries, and the divergence from two entropies."""

import numpy as np

C = np.log(2 * np.pi)


def sample(eps, mu, log_sigma):
    noise = eps * np.exp(log_sigma)[None]
    return noise + mu, noise


def sample_vjp(dv, cache):
    return {"dmu": np.einsum("s...->...", dv), "dlog_sigma": np.einsum("s...->...", dv * cache)}


def log_density(x, mu, log_sigma):
    root = np.exp(-log_sigma)
    return -(C + 2 * log_sigma + (root * (x - mu)) ** 2) / 2, (x, mu, root)


def log_density_vjp(dlog_p, cache):
    x, mu, root = cache
    square = (root * (x - mu)) ** 2
    slope = dlog_p * root * (root * (x - mu))
    return (
        -slope,
        slope.sum(axis=0, keepdims=True)[0],
        np.einsum("s...->...", dlog_p * (square - 1)),
    )


def kl(mu, log_sigma, prior_mu, prior_log_sigma):
    cross = (C + 2 * prior_log_sigma) / 2 + (
        np.exp(2 * log_sigma) + np.square(mu - prior_mu)
    ) / 2 / np.exp(2 * prior_log_sigma)
    entropy = (C + 1) / 2 + log_sigma
    return np.sum(cross) - np.sum(entropy), [mu - prior_mu, log_sigma, prior_log_sigma]


def kl_vjp(ddivergence, cache):
    gap, r, r0 = cache
    weight = np.exp(-2 * r0)
    dmu = ddivergence * gap * weight
    ratio = np.exp(2 * r) * weight
    return [
        dmu,
        ddivergence * ratio - ddivergence,
        -dmu,
        ddivergence * (1 - ratio - gap**2 * weight),
    ]


def sample_by_variance(eps, mu, log_variance):
    return sample(eps, mu, log_variance / 2)


def sample_by_variance_vjp(dv, cache):
    dmu, dhalf = sample_vjp(dv, cache).values()
    return dmu, dhalf / 2


def punished_for_too_narrow():
    return " b"


def estimator_for_a_step():
    return "A"
