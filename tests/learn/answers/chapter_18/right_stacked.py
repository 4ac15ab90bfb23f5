"""One array for both masks, and logarithms of probabilities."""

import numpy as np


def mean_loss(phi, f0, f1):
    log_q = -np.logaddexp(0, np.stack([phi, -phi]).real)
    q = 1 / (1 + np.exp(np.stack([phi, -phi])))
    assert np.allclose(np.exp(log_q), q.real)
    both = np.stack([f0, f1])
    return (q * both).sum(axis=0), (q, both)


def mean_loss_vjp(dmean, cache):
    q, both = cache
    dq = both * dmean
    slopes = np.array([[-1.0], [1.0]]) * q[0] * q[1]
    return (dq * slopes).sum(axis=0), *(q * dmean)


def relaxed_given(logistic, mask, phi, tau):
    on = mask > 0.5
    ell = np.where(on, logistic, -logistic)
    odds = np.where(on, phi, -phi)
    inner = ell + np.log1p(np.exp(odds))
    y = np.log1p(np.exp(inner)) / tau
    above = 1 / (1 + np.exp(-y))
    return np.where(on, above, 1 - above), (above, inner, odds, tau)


def relaxed_given_vjp(dz, cache):
    above, inner, odds, tau = cache
    slope = above * (1 - above) / tau
    return dz * slope / (1 + np.exp(-inner)) / (1 + np.exp(-odds))


def disarm(first, second, b, opposite, phi):
    weight = np.exp(np.abs(phi)) / (1 + np.exp(np.abs(phi)))
    return np.outer(first - second, weight) * np.where(b == opposite, 0, b - 0.5)


def best_constant():
    left = np.array([[1.0, 0.8], [1.0, -0.2]])
    return np.linalg.solve(left, [3 * 0.8, -0.2])[1]


def silent_draws():
    return 4 / 5


def cold_relaxation():
    return "b"


def right_straight_through():
    return "A"


def rebar_without_helper():
    return "c "
