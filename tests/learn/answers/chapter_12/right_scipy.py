"""Functions of SciPy, and products with a vector of ones."""

import numpy as np
from scipy import special
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


def unlabelled_bound(f, v):
    log_q = special.log_softmax(f, axis=1)
    q = special.softmax(f, axis=1)
    return np.sum(q * v) + special.entr(q).sum(), (q, log_q, v)


def unlabelled_bound_vjp(dbound, cache):
    q, log_q, v = cache
    best = special.logsumexp(v, axis=1)[:, None]
    gap = v - best - log_q  # 0 where q is Bayes' rule
    return dbound * q * (gap - (q * gap).sum(axis=1)[:, None]), dbound * q
