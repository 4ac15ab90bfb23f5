"""Loops over sticks."""

import numpy as np
from scipy.special import digamma, polygamma


def sample(u, a, b):
    out = np.zeros_like(u)
    for k in range(len(a)):
        for s in range(len(u)):
            out[s, k] = np.log1p(-(u[s, k] ** (1 / b[k]))) / a[k]
    return out, (u, a, b, out)


def sample_vjp(dlog_v, cache):
    u, a, b, log_v = cache
    da, db = [], []
    for k in range(len(a)):
        s = np.log(u[:, k]) / b[k]
        da.append(np.dot(dlog_v[:, k], -log_v[:, k] / a[k]))
        db.append(np.dot(dlog_v[:, k], s * np.exp(s) / (-np.expm1(s) * a[k] * b[k])))
    return np.array(da), np.array(db)


def kl_to_beta(a, b, alpha):
    total = 0.0
    for each, other in zip(a, b, strict=True):
        c = -np.euler_gamma - digamma(other + 1)
        total += (1 - alpha / each) * c + np.log(each) + np.log(other) - np.log(alpha)
        total -= 1 - 1 / other
    return total, (a, b, alpha)


def kl_to_beta_vjp(d, cache):
    a, b, alpha = cache
    dalpha = 0.0
    for each, other in zip(a, b, strict=True):
        c = -np.euler_gamma - digamma(other + 1)
        dalpha += -c / each - 1 / alpha
    c = -np.euler_gamma - digamma(b + 1)
    da = alpha * c / a**2 + 1 / a
    db = -(1 - alpha / a) * polygamma(1, b + 1) + 1 / b - 1 / b**2
    return [d * da, d * db, d * dalpha]


def logit_probabilities(log_pi):
    log_rest = np.log(-np.expm1(log_pi))
    return log_pi - log_rest, np.exp(-log_rest)


def logit_probabilities_vjp(d, inverse):
    return inverse * d


def equal_pair():
    return " c"


def expected_log_stick(a, b):
    h = digamma(1 + b) - digamma(1)
    return h / -a, (a, h, polygamma(1, 1 + b))


def expected_log_stick_vjp(d, cache):
    a, h, slope = cache
    return {"da": d * h / a / a, "db": -d / a * slope}


def finds_the_slip():
    return "c"


def active_units(log_v, few):
    total = 0.0
    pis = []
    for k in range(len(log_v)):
        pis.append(np.exp(log_v[: k + 1].sum()))
        total += pis[-1] * (2 if k < few else 1)
    return total, (pis, few)


def active_units_vjp(dcount, cache):
    pis, few = cache
    dlog_v = np.zeros(len(pis))
    for k, pi in enumerate(pis):
        for i in range(k + 1):
            dlog_v[i] += dcount * pi * (1 + (k < few))
    return dlog_v
