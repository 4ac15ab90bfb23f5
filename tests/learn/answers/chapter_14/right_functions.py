"""Functions of NumPy and SciPy that do the work."""

import numpy as np
from scipy import stats


def average_accuracy(R):
    return np.array(np.average(R[-1, :]))


def backward_transfer(R):
    return np.mean([R[i, j] - R[j, j] for i, j in zip(*np.tril_indices(len(R), k=-1), strict=True)])


def forgetting(R):
    return -np.mean(R[-1, :-1] - np.maximum.reduce(R[:-1, :-1]))


def what_it_did():
    return "b"


def longer_training():
    return "d"


def paired_difference(one, other):
    d = one - other
    return np.mean(d), stats.sem(d)


def predicted_rise(mu, log_sigma, old_mu, old_log_sigma):
    root = np.exp(-old_log_sigma)
    t, r = root * (mu - old_mu), root * np.exp(log_sigma)
    return np.sum(t**2 + r**2 - 1) / 2, (root, t, r)


def predicted_rise_vjp(d, cache):
    root, t, r = cache
    dt, dr = d * t, d * r
    return dt * root, dr * r, -dt * root, -(dt * t + dr * r)


def guessing_the_task():
    return "a"
