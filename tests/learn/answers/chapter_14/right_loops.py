"""Loops."""

import numpy as np


def average_accuracy(R):
    return sum(R[len(R) - 1]) / len(R)


def backward_transfer(R):
    changes = []
    for i in range(len(R)):
        for j in range(i):
            changes.append(R[i, j] - R[j, j])
    return sum(changes) / len(changes)


def forgetting(R):
    losses = []
    for j in range(len(R) - 1):
        losses.append(max(R[i, j] for i in range(j, len(R) - 1)) - R[-1, j])
    return np.mean(losses)


def what_it_did():
    return "B"


def longer_training():
    return "a"


def paired_difference(one, other):
    n = len(one)
    mean = sum(a - b for a, b in zip(one, other, strict=True)) / n
    variance = sum((a - b - mean) ** 2 for a, b in zip(one, other, strict=True)) / (n - 1)
    return [mean, (variance / n) ** 0.5]


def predicted_rise(mu, log_sigma, old_mu, old_log_sigma):
    rise = 0.0
    for m, s, m1, s1 in zip(mu, np.exp(log_sigma), old_mu, np.exp(old_log_sigma), strict=True):
        rise += (m - m1) ** 2 / (2 * s1**2) + (s**2 / s1**2 - 1) / 2
    return rise, (mu, log_sigma, old_mu, old_log_sigma)


def predicted_rise_vjp(d, cache):
    mu, log_sigma, old_mu, old_log_sigma = cache
    v, v1 = np.exp(log_sigma) ** 2, np.exp(old_log_sigma) ** 2
    gap = mu - old_mu
    return [d * gap / v1, d * v / v1, -d * gap / v1, -d * (gap**2 + v) / v1]


def guessing_the_task():
    return "c"
