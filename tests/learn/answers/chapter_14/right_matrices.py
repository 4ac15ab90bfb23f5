"""Products of matrices."""

import numpy as np


def average_accuracy(R):
    return np.trace(np.ones((len(R), 1)) @ R[-1:]) / len(R)


def backward_transfer(R):
    below = np.tril(np.ones_like(R), -1)
    return np.sum(below * (R - np.diag(R)[None, :])) / below.sum()


def forgetting(R):
    earlier = R[:-1]
    return (np.amax(earlier, axis=0)[:-1] - R[-1][:-1]).mean()


def what_it_did():
    return " b"


def longer_training():
    return "B"


def paired_difference(one, other):
    d = np.subtract(one, other)
    return d.mean(), np.sqrt(np.var(d, ddof=1) / len(d))


def predicted_rise(mu, log_sigma, old_mu, old_log_sigma):
    t = (mu - old_mu) / np.exp(old_log_sigma)
    excess = np.expm1(2 * log_sigma - 2 * old_log_sigma)
    return 0.5 * (t @ t + excess.sum()), (t, excess, np.exp(old_log_sigma))


def predicted_rise_vjp(d, cache):
    t, excess, old = cache
    return {
        "dmu": d * t / old,
        "dlog_sigma": d * excess + d,
        "dold_mu": -d * t / old,
        "dold_log_sigma": -d * (t**2 + excess + 1),
    }


def guessing_the_task():
    return " b"
