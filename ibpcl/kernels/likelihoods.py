"""The likelihood of labels: the twin of ``categorical`` in ``primitives.likelihoods``.

A row of logits is short, so its two passes (largest and sum, then the normalization) stay in the first-level cache,
where NumPy would pass over the whole array eight times.
"""

import math

import numpy as np

from ibpcl.kernels import threads
from ibpcl.kernels.compilation import compiled
from ibpcl.kernels.elementary import exp
from ibpcl.kernels.memory import as_arrays, empty
from ibpcl.kernels.turns import BEGIN, END, another

ROWS = 256                                                   # a piece


@compiled
def normalize(turns, logits, labels, log_normalized, log_p):
    """Write the logarithms of the softmax (R, C) and those of the labels' probabilities (R,) of some pieces."""
    C, N = logits.shape[1], labels.size
    while another(turns):
        for r in range(turns[BEGIN] * ROWS, min(turns[END] * ROWS, logits.shape[0])):
            given, out = logits[r], log_normalized[r]
            largest = given[0]
            for c in range(1, C):
                largest = given[c] if given[c] > largest else largest
            total = out.dtype.type(0)
            for c in range(C):
                total += exp(given[c] - largest)
            normalizer = largest + out.dtype.type(math.log(total))
            for c in range(C):
                out[c] = given[c] - normalizer
            log_p[r] = out[labels[r % N]]


@compiled
def pull_back(turns, dlog_p, log_normalized, labels, dlogits):
    """Write the gradient at the logits of some pieces."""
    C, N = log_normalized.shape[1], labels.size
    while another(turns):
        for r in range(turns[BEGIN] * ROWS, min(turns[END] * ROWS, dlogits.shape[0])):
            given, out = log_normalized[r], dlogits[r]
            for c in range(C):
                out[c] = -dlog_p[r] * exp(given[c])
            out[labels[r % N]] += dlog_p[r]


def categorical(logits, labels):
    """Evaluate the log probability of the labels: the twin of :func:`ibpcl.primitives.likelihoods.categorical`."""
    (logits,) = as_arrays("likelihoods.categorical", logits)
    S, N, C = logits.shape
    if labels.size and not 0 <= labels.min() <= labels.max() < C:
        raise IndexError(f"likelihoods.categorical: labels must be in 0 ... {C - 1}, got {labels.min()} to "
                         f"{labels.max()}")
    log_normalized, log_p = empty((S * N, C), logits.dtype), np.empty(S * N, logits.dtype)
    threads.run(normalize, -(-S * N // ROWS), logits.reshape(S * N, C), labels, log_normalized, log_p)
    return log_p.reshape(S, N), (log_normalized, labels)


def categorical_vjp(dlog_p, cache):
    """Pull the gradient back: the twin of :func:`ibpcl.primitives.likelihoods.categorical_vjp`."""
    log_normalized, labels = cache
    (rows, C), (S, N) = log_normalized.shape, dlog_p.shape
    dlogits = empty((rows, C), log_normalized.dtype)
    dlog_p = np.ascontiguousarray(dlog_p, log_normalized.dtype).reshape(rows)
    threads.run(pull_back, -(-rows // ROWS), dlog_p, log_normalized, labels, dlogits)
    return dlogits.reshape(S, N, C)
