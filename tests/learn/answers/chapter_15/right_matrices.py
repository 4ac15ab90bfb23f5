"""A design matrix, and products of matrices."""

import numpy as np
from scipy.special import expit, log_expit


def log_joint(w, x, y, sigma):
    X = np.column_stack([x, np.ones_like(x)])
    logits = X @ w
    value = np.where(y == 1, log_expit(logits), log_expit(-logits)).sum() - w @ w / 2 / sigma**2
    return value, (w, X, y, sigma)


def log_joint_vjp(d, cache):
    w, X, y, sigma = cache
    slope = d * (y - expit(X @ w))
    return [slope @ X - d / sigma**2 * w, slope * w[0]]


def leapfrog(w, r, A, step, count):
    eye, zero = np.eye(len(w)), np.zeros((len(w),) * 2)
    kick = np.block([[eye, zero], [-step / 2 * A, eye]])
    drift = np.block([[eye, step * eye], [zero, eye]])
    state = np.linalg.matrix_power(kick @ drift @ kick, count) @ np.concatenate([w, r])
    return np.split(state, 2)


def linear_update(mean, precision, X, y, noise):
    covariance = np.linalg.inv(precision)
    gain = covariance @ X.T @ np.linalg.inv(X @ covariance @ X.T + noise**2 * np.eye(len(y)))
    return mean + gain @ (y - X @ mean), np.linalg.inv(covariance - gain @ X @ covariance)


def two_parts(exact, method):
    both = np.stack([exact, method])
    falls = np.einsum("ajj->aj", both)[:, :-1] - both[:, -1, :-1]
    return falls[0], falls[1] - falls[0]


def unequal_tasks():
    return "B"


def whose_part():
    return " c "


def beating_exact():
    return " b"


def weighted_update(mean, precision, h, optimum, beta):
    new = np.diag(precision + h / beta)
    return np.linalg.solve(new, precision * mean + h * optimum / beta), np.diag(new)


def log_determinant(log_sigma, u):
    covariance = np.diag(np.exp(2 * log_sigma)) + np.outer(u, u)
    return np.linalg.slogdet(covariance)[1], (log_sigma, u, np.linalg.inv(covariance))


def log_determinant_vjp(dvalue, cache):
    log_sigma, u, inverse = cache
    return dvalue * 2 * np.exp(2 * log_sigma) * np.diag(inverse), dvalue * 2 * inverse @ u


def value_price(h, m, variance, noise):
    k = h @ h + noise
    price = (variance + m**2) / (2 * k) - 0.5 - 0.5 * np.log(variance / k)
    return price, (h, (k - variance - m**2) / k**2)


def value_price_vjp(dprice, cache):
    h, slope = cache
    return dprice * slope * h
