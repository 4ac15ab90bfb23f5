"""Functions of SciPy, and products with a vector of ones."""

import numpy as np
from scipy.special import logsumexp


def code_divergence(m, log_s):
    terms = 0.5 * (m**2 + np.exp(2 * log_s) - 2 * log_s - 1)
    return terms @ np.ones(m.shape[1]), (m, np.exp(log_s))


def code_divergence_vjp(d, cache):
    m, s = cache
    return {"dm": (d * m.T).T, "dlog_s": np.einsum("n,nl->nl", d, (s - 1) * (s + 1))}


def importance_estimate(log_w):
    return logsumexp(log_w, axis=0, b=1 / log_w.shape[0])


def equal_weights():
    return " b "


def more_samples():
    return " a"


def label_leak():
    return "c"
