"""Solvers, closures and dictionaries."""

import numpy as np
from scipy import linalg


def log_joint(w, x, y, sigma):
    margin = np.where(y > 0, 1, -1) * (w[0] * x + w[1])
    value = -np.logaddexp(0, -margin).sum() - np.square(w / sigma).sum() / 2

    def back(d):
        slope = d * np.where(y > 0, 1, -1) / (1 + np.exp(margin))
        return {"dw": np.array([slope @ x, slope.sum()]) - d * w / sigma**2, "dx": w[0] * slope}

    return value, back


def log_joint_vjp(d, cache):
    return cache(d)


def leapfrog(w, r, A, step, count):
    while count > 0:
        middle = r - A.dot(w) * (0.5 * step)
        w = w + step * middle
        r = middle - A.dot(w) * (0.5 * step)
        count = count - 1
    return w, r


def linear_update(mean, precision, X, y, noise):
    root = linalg.cholesky(precision)
    stacked = np.vstack([root, X / noise])
    targets = np.concatenate([root @ mean, y / noise])
    return np.linalg.lstsq(stacked, targets, rcond=None)[0], stacked.T @ stacked


def two_parts(exact, method):
    fall = [(np.diagonal(each) - each[len(each) - 1])[: len(each) - 1] for each in (exact, method)]
    return fall[0], np.subtract(fall[1], fall[0])


def unequal_tasks():
    return "c"


def whose_part():
    return "c"


def beating_exact():
    return "b"


def weighted_update(mean, precision, h, optimum, beta):
    share = h / (h + beta * precision)
    return mean + share * (optimum - mean), (beta * precision + h) / beta


def log_determinant(log_sigma, u):
    precision = np.exp(-2 * log_sigma)
    share = u @ (precision * u)
    return np.log1p(share) - np.log(precision).sum(), (u * precision, u, share)


def log_determinant_vjp(dvalue, cache):
    pulled, u, share = cache
    du = 2 * dvalue / (1 + share) * pulled
    return 2 * dvalue - u * du, du


def value_price(h, m, variance, noise):
    k = linalg.norm(h) ** 2 + noise
    ratio = variance / k
    price = (ratio - np.log(ratio) - 1 + m * m / k) / 2

    def back(d):
        dk = d * (1 / k - ratio / k - (m / k) ** 2) / 2
        return {"dh": 2 * dk * h}

    return price, back


def value_price_vjp(dprice, back):
    return back(dprice)
