r"""Likelihoods of labels and pixels: compiled versions of functions in ``primitives.likelihoods``.

A pixel costs one exponential, :math:`e = e^{-|f|}`, and one logarithm, :math:`\log(1 + e) = -\log
s` with :math:`s = 1 / (1 + e)`, whose complement is :math:`e s`.
"""

import math

import numpy as np

from ibpcl.kernels.compilation import (
    compiled,
    indices,
    inlined,
    matrix,
    summing,
    twin_of,
    vector,
    void,
)
from ibpcl.kernels.elementary import exp, log_of
from ibpcl.kernels.threads import JOB, parts, run, taken
from ibpcl.primitives import likelihoods as reference

# rows per piece; a smaller piece would be finished before a helper begins
ROWS = 4096
IMAGES = 16
ZERO = np.float32(0)
ONE = np.float32(1)
# Smaller probabilities count as zero in a gradient: products with them would be subnormal numbers,
# which are slow.
SMALLEST = np.float32(1e-20)


@summing
def _others(f, largest):
    """Return the sum of the exponentials below the largest, and how many are the largest.

    The largest exponential is 1.  The results are two numbers, because sums may be reordered here,
    and a 1 would then be added to the small exponentials.
    """
    total = ZERO
    ties = ZERO
    for c in range(f.size):
        shifted = f[c] - largest
        total += ZERO if shifted == ZERO else exp(shifted)
        ties += ONE if shifted == ZERO else ZERO
    return total, ties


@compiled(void(JOB, matrix, indices, matrix, vector))
def _normalize(job, logits, classes, log_normalized, log_p):
    """Write the logarithms of the softmax and those of the labels; all samples share the labels."""
    for i in taken(job):
        for r in range(i * ROWS, min((i + 1) * ROWS, logits.shape[0])):
            f = logits[r]
            out = log_normalized[r]
            largest = logits[r, 0]
            for c in range(f.size):
                largest = f[c] if f[c] > largest else largest
            others, ties = _others(f, largest)
            rest = np.float32(math.log1p(others + (ties - ONE)))
            for c in range(f.size):
                out[c] = (f[c] - largest) - rest
            log_p[r] = out[classes[r % classes.size]]


@summing
def _total(row):
    total = ZERO
    for c in range(row.size):
        total += row[c]
    return total


@compiled(void(JOB, vector, matrix, indices, matrix))
def _by_logits(job, dlog_p, log_normalized, classes, dlogits):
    """Write the gradient at the logits."""
    for i in taken(job):
        for r in range(i * ROWS, min((i + 1) * ROWS, dlogits.shape[0])):
            label = classes[r % classes.size]
            for c in range(dlogits.shape[1]):
                p = exp(log_normalized[r, c])
                dlogits[r, c] = -dlog_p[r] * (p if not p < SMALLEST else ZERO)
            dlogits[r, label] = ZERO
            dlogits[r, label] = -_total(dlogits[r])  # 1 - p would be 0 where p rounds to 1


@twin_of(reference)
def categorical(logits, labels):
    """Evaluate log probabilities of labels.

    This is the compiled :func:`ibpcl.primitives.likelihoods.categorical`.

    Raises
    ------
    ValueError
        If a label is not a class, or ``labels`` has another shape.
    """
    S, N, C = logits.shape
    reference.check_labels(labels, logits.shape)
    labels = labels.astype(np.int64, copy=False)
    rows = logits.reshape(S * N, C)
    log_normalized = np.empty_like(rows)
    log_p = np.empty(S * N, np.float32)
    run(_normalize, parts(S * N, ROWS), rows, labels, log_normalized, log_p)
    return log_p.reshape(S, N), (log_normalized, labels)


@twin_of(reference)
def categorical_vjp(dlog_p, cache):
    """Pull the gradient back: compiled :func:`ibpcl.primitives.likelihoods.categorical_vjp`."""
    log_normalized, labels = cache
    dlogits = np.empty_like(log_normalized)
    run(_by_logits, parts(dlog_p.size, ROWS), dlog_p.reshape(-1), log_normalized, labels, dlogits)
    return dlogits.reshape(*dlog_p.shape, dlogits.shape[1])


@summing
def _log_mass(f, y):
    total = ZERO
    for c in range(f.size):
        e = exp(-abs(f[c]))
        s = ONE / (ONE + e)
        total += y[c] * f[c] - (f[c] if f[c] > ZERO else ZERO) + log_of(s, e * s)
    return total


@compiled(void(JOB, matrix, matrix, vector))
def _images(job, logits, targets, log_p):
    """Write the log probabilities of images; all samples share the targets."""
    for i in taken(job):
        for r in range(i * IMAGES, min((i + 1) * IMAGES, logits.shape[0])):
            log_p[r] = _log_mass(logits[r], targets[r % targets.shape[0]])


@inlined
def _residuals(d, f, y, out):
    for c in range(out.size):
        e = exp(-abs(f[c]))
        large = ONE / (ONE + e)
        # the smaller of s and 1 - s, with s = sigmoid(f)
        small = e * large
        on, off = (large, small) if f[c] > ZERO else (small, large)
        out[c] = d * (y[c] * off - (ONE - y[c]) * on)


@compiled(void(JOB, vector, matrix, matrix, matrix))
def _by_pixels(job, dlog_p, logits, targets, dlogits):
    """Write the gradient at the logits of images."""
    for i in taken(job):
        for r in range(i * IMAGES, min((i + 1) * IMAGES, logits.shape[0])):
            _residuals(dlog_p[r], logits[r], targets[r % targets.shape[0]], dlogits[r])


@twin_of(reference)
def bernoulli_logistic(logits, targets):
    """Evaluate log probabilities of pixels.

    This is the compiled :func:`ibpcl.primitives.likelihoods.bernoulli_logistic`.

    Raises
    ------
    ValueError
        If ``targets`` has another shape.
    """
    S, N, C = logits.shape
    if targets.shape != (N, C):
        raise ValueError(
            f"likelihoods.bernoulli_logistic: targets must have shape ({N}, {C}), got "
            f"{targets.shape}"
        )
    log_p = np.empty(S * N, np.float32)
    rows = logits.reshape(S * N, C)
    run(_images, parts(S * N, IMAGES), rows, targets, log_p)
    return log_p.reshape(S, N), (rows, targets)


@twin_of(reference)
def bernoulli_logistic_vjp(dlog_p, cache):
    """Pull the gradient back.

    This is the compiled :func:`ibpcl.primitives.likelihoods.bernoulli_logistic_vjp`.
    """
    rows, targets = cache
    dlogits = np.empty_like(rows)
    run(_by_pixels, parts(len(rows), IMAGES), dlog_p.reshape(-1), rows, targets, dlogits)
    return dlogits.reshape(*dlog_p.shape, rows.shape[1])
