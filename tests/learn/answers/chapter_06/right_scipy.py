"""Functions of SciPy."""

import numpy as np
from scipy import special


def log1mexp(x):
    return np.where(x > -0.6931, np.log(-np.expm1(x)), np.log1p(-np.exp(x)))


def sample(u, a, b):
    s = np.log(u) / b
    return log1mexp(s) / a, (s, a, b)


def sample_vjp(dlog_v, cache):
    s, a, b = cache
    log_v = log1mexp(s) / a
    ratio = 1 / np.expm1(-s)
    return -(dlog_v * log_v).sum(0) / a, (dlog_v * s * ratio).sum(0) / (a * b)


def kl_to_beta(a, b, alpha):
    mean_log = -(np.euler_gamma + special.digamma(b) + 1 / b) / a
    kl = np.log(a * b / alpha) + (a - alpha) * mean_log - (b - 1) / b
    return np.sum(kl), (a, b, alpha, mean_log)


def kl_to_beta_vjp(d, cache):
    a, b, alpha, mean_log = cache
    dmean = d * (a - alpha)
    da = d / a + d * mean_log - dmean * mean_log / a
    db = d / b - d / b**2 - dmean * (special.polygamma(1, b) - 1 / b**2) / a
    return da, db, np.sum(-d / alpha - d * mean_log)


def logit_probabilities(log_pi):
    return log_pi - log1mexp(log_pi), log_pi


def logit_probabilities_vjp(d, log_pi):
    return d / -np.expm1(log_pi)


def equal_pair():
    return "C"


def expected_log_stick(a, b):
    return -(np.euler_gamma + special.psi(b) + 1 / b) / a, (a, b)


def expected_log_stick_vjp(d, cache):
    a, b = cache
    total = np.euler_gamma + special.psi(b) + 1 / b
    return d * total / a**2, -d * (special.zeta(2, b) - b**-2.0) / a


def finds_the_slip():
    return " C"


def active_units(log_v, few):
    total = np.cumsum(log_v)
    both = np.concatenate([total, total[:few]])
    return np.exp(special.logsumexp(both)), total + np.log(
        np.where(np.arange(len(total)) < few, 2.0, 1.0)
    )


def active_units_vjp(dcount, log_weights):
    weights = np.exp(log_weights)
    return dcount * (weights.sum() - np.cumsum(weights) + weights)
