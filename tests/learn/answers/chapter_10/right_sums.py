"""The entropy from the log of the sum of exponentials."""

import numpy as np


def entropy(logits):
    total = np.logaddexp.reduce(logits, axis=1)
    p = np.exp(logits - total[:, None])
    mean = (p * logits).sum(axis=1)
    return total - mean, (p, logits, mean)


def entropy_vjp(dh, cache):
    p, logits, mean = cache
    return {"dlogits": (dh * mean)[:, None] * p - p * logits * dh[:, None]}


def coreset_for_one_head():
    return "b"


def shared_share(earlier, mask):
    weights = mask.astype(float)
    return float(np.sum(weights * (earlier.sum(axis=0) > 0)) / np.sum(weights))


def accepted_strangers(known, strangers):
    ordered = np.sort(known)
    at = 0.95 * (len(known) - 1)
    low = int(at)
    high = min(low + 1, len(known) - 1)
    limit = ordered[low] + (at - low) * (ordered[high] - ordered[low])
    return np.array(np.count_nonzero(strangers <= limit) / strangers.size)
