r"""The likelihoods of labels and of pixels: twins of two in ``primitives.likelihoods``.

A pixel costs one exponential, :math:`e = e^{-|f|}`, and one logarithm, :math:`\log(1 + e) = -\log s` with
:math:`s = 1 / (1 + e)`, whose complement is :math:`e s`.
"""

import math

import numpy as np

from ibpcl.kernels.compilation import compiled, int64, labels, matrix, summing, twin_of, vector, void
from ibpcl.kernels.elementary import exp, log_of
from ibpcl.kernels.threads import each, pieces
from ibpcl.primitives import likelihoods as reference

ROWS, IMAGES = 256, 16                                       # a piece
ZERO, ONE = np.float32(0), np.float32(1)
# Smaller probabilities count as zero in a gradient: products with them would be subnormal numbers, which take long.
SMALLEST = np.float32(1e-20)


@compiled(void(int64, matrix, labels, matrix, vector))
def _normalize(first, logits, classes, log_normalized, log_p):
    """Write the logarithms of the softmax and those of the labels' probabilities, for rows from ``first`` on."""
    for r in range(logits.shape[0]):
        f, out, largest, mass = logits[r], log_normalized[r], logits[r, 0], ZERO
        for c in range(f.size):
            largest = f[c] if f[c] > largest else largest
        for c in range(f.size):
            mass += exp(f[c] - largest)
        shift = largest + np.float32(math.log(mass))
        for c in range(f.size):
            out[c] = f[c] - shift
        log_p[r] = out[classes[(first + r) % classes.size]]


@compiled(void(int64, vector, matrix, labels, matrix))
def _by_logits(first, dlog_p, log_normalized, classes, dlogits):
    """Write the gradient at the logits, for rows from ``first`` on."""
    for r in range(dlogits.shape[0]):
        for c in range(dlogits.shape[1]):
            p = exp(log_normalized[r, c])
            dlogits[r, c] = -dlog_p[r] * (p if not p < SMALLEST else ZERO)
        dlogits[r, classes[(first + r) % classes.size]] += dlog_p[r]


@twin_of(reference)
def categorical(logits, labels):
    """Evaluate the log probability of the labels: the twin of :func:`ibpcl.primitives.likelihoods.categorical`."""
    S, N, C = logits.shape
    if labels.size and not 0 <= labels.min() <= labels.max() < C:
        raise IndexError(f"likelihoods.categorical: labels must be in 0 ... {C - 1}, got {labels.min()} to "
                         f"{labels.max()}")
    labels, rows = labels.astype(np.int64, copy=False), logits.reshape(S * N, C)
    log_normalized, log_p = np.empty_like(rows), np.empty(S * N, np.float32)
    each(_normalize, [(piece.start, rows[piece], labels, log_normalized[piece], log_p[piece])
                      for piece in pieces(S * N, ROWS)])
    return log_p.reshape(S, N), (log_normalized, labels)


@twin_of(reference)
def categorical_vjp(dlog_p, cache):
    """Pull the gradient back: the twin of :func:`ibpcl.primitives.likelihoods.categorical_vjp`."""
    log_normalized, labels = cache
    dlogits, given = np.empty_like(log_normalized), dlog_p.reshape(-1)
    each(_by_logits, [(piece.start, given[piece], log_normalized[piece], labels, dlogits[piece])
                      for piece in pieces(given.size, ROWS)])
    return dlogits.reshape(*dlog_p.shape, dlogits.shape[1])


@summing
def _log_mass(f, y):
    total = ZERO
    for c in range(f.size):
        e = exp(-abs(f[c]))
        s = ONE / (ONE + e)
        total += y[c] * f[c] - (f[c] if f[c] > ZERO else ZERO) + log_of(s, e * s)
    return total


@compiled(void(int64, matrix, matrix, vector))
def _images(first, logits, targets, log_p):
    """Write the log probabilities of images from number ``first`` on; all samples share the targets."""
    for r in range(logits.shape[0]):
        log_p[r] = _log_mass(logits[r], targets[(first + r) % targets.shape[0]])


@compiled(void(int64, vector, matrix, matrix, matrix))
def _by_pixels(first, dlog_p, logits, targets, dlogits):
    """Write the gradient at the logits of images from number ``first`` on."""
    for r in range(logits.shape[0]):
        d, f, y, out = dlog_p[r], logits[r], targets[(first + r) % targets.shape[0]], dlogits[r]
        for c in range(out.size):
            out[c] = d * (y[c] - ONE / (ONE + exp(-f[c])))


@twin_of(reference)
def bernoulli_logistic(logits, targets):
    """Evaluate the log probability of pixels: the twin of :func:`ibpcl.primitives.likelihoods.bernoulli_logistic`."""
    S, N, C = logits.shape
    if targets.shape != (N, C):
        raise ValueError(f"likelihoods.bernoulli_logistic: targets must have shape ({N}, {C}), got {targets.shape}")
    log_p, rows = np.empty(S * N, np.float32), logits.reshape(S * N, C)
    each(_images, [(piece.start, rows[piece], targets, log_p[piece]) for piece in pieces(S * N, IMAGES)])
    return log_p.reshape(S, N), (rows, targets)


@twin_of(reference)
def bernoulli_logistic_vjp(dlog_p, cache):
    """Pull the gradient back: the twin of :func:`ibpcl.primitives.likelihoods.bernoulli_logistic_vjp`."""
    rows, targets = cache
    dlogits, given = np.empty_like(rows), dlog_p.reshape(-1)
    each(_by_pixels, [(piece.start, given[piece], rows[piece], targets, dlogits[piece])
                      for piece in pieces(len(rows), IMAGES)])
    return dlogits.reshape(*dlog_p.shape, rows.shape[1])
