"""Caches that are functions, and gradients by name."""

import numpy as np
from scipy.special import polygamma, psi


def sample(u, a, b):
    s = np.log(u) * (1 / b)
    rest = -np.expm1(s)
    log_v = np.log1p(-np.exp(s)) * (1 / a)

    def back(d):
        ds = d / a * -np.exp(s) / rest
        return {"da": -(d * log_v / a).sum(0), "db": -(ds * s / b).sum(0)}

    return log_v, back


def sample_vjp(dlog_v, cache):
    return cache(dlog_v)


def kl_to_beta(a, b, alpha):
    h = np.euler_gamma + psi(b + 1)
    kl = (alpha / a - 1) * h + np.log(a) + np.log(b) - np.log(alpha) + 1 / b - 1

    def back(d):
        da = d * (-alpha / a**2 * h + 1 / a)
        db = d * ((alpha / a - 1) * polygamma(1, b + 1) + 1 / b - 1 / b**2)
        return da, db, (d * (h / a - 1 / alpha)).sum()

    return kl.sum(), back


def kl_to_beta_vjp(d, cache):
    return cache(d)


def logit_probabilities(log_pi):
    rest = -np.expm1(log_pi)
    return -np.log(rest) + log_pi, lambda d: d + d * np.exp(log_pi) / rest


def logit_probabilities_vjp(d, cache):
    return cache(d)


def equal_pair():
    return "c"


def expected_log_stick(a, b):
    h = np.euler_gamma + psi(b + 1)
    return -h / a, lambda d: (d * h / a**2, -d * polygamma(1, b + 1) / a)


def expected_log_stick_vjp(d, cache):
    return cache(d)


def finds_the_slip():
    return "C "


def active_units(log_v, few):
    pi = np.cumprod(np.exp(log_v))
    weight = np.where(np.arange(len(pi)) < few, 2, 1)

    def back(d):
        return {"dlog_v": np.tril(np.ones((len(pi), len(pi)))).T @ (d * weight * pi)}

    return weight @ pi, back


def active_units_vjp(dcount, back):
    return back(dcount)
