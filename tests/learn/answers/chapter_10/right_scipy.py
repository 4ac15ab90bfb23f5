"""Functions of SciPy."""

import numpy as np
from scipy import special


def entropy(logits):
    p = special.softmax(logits, axis=1)
    return special.entr(p).sum(axis=1), logits


def entropy_vjp(dh, logits):
    p, log_p = special.softmax(logits, axis=1), special.log_softmax(logits, axis=1)
    mean = np.einsum("nc,nc->n", p, log_p)
    return (dh * mean)[:, None] * p - dh[:, None] * p * log_p


def coreset_for_one_head():
    return "C"


def shared_share(earlier, mask):
    return np.max(earlier, axis=0)[mask].mean()


def accepted_strangers(known, strangers):
    return 1 - np.mean(strangers > np.quantile(known, 0.95))
