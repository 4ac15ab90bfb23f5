"""Loops."""

import numpy as np


def entropy(logits):
    h, ps = [], []
    for row in logits:
        p = np.exp(row - row.max())
        p = p / p.sum()
        ps.append(p)
        h.append(-sum(each * np.log(each) for each in p))
    return np.array(h), np.array(ps)


def entropy_vjp(dh, p):
    out = np.zeros_like(p)
    for n in range(len(p)):
        jacobian = np.diag(p[n]) - np.outer(p[n], p[n])
        out[n] = dh[n] * (jacobian @ -(np.log(p[n]) + 1))
    return out


def coreset_for_one_head():
    return "a"


def shared_share(earlier, mask):
    shared = sum(any(m[d, k] for m in earlier) for d, k in np.argwhere(mask))
    return shared / np.count_nonzero(mask)


def accepted_strangers(known, strangers):
    limit = np.percentile(known, 95)
    return sum(each <= limit for each in strangers) / len(strangers)
