r"""The likelihoods of labels and of pixels: twins of two in ``primitives.likelihoods``.

A row of logits is shorter than a vector, so the exponentials of many rows are made at once; a piece stays in the
first-level cache, where NumPy would pass over the whole array eight times.  A pixel costs one exponential,
:math:`e = e^{-|f|}`, and one logarithm, :math:`\log(1 + e) = -\log s` with :math:`s = 1 / (1 + e)`, whose complement is
:math:`e s`.
"""

import math

import numpy as np

from ibpcl.kernels import loops, threads
from ibpcl.kernels.compilation import compiled, inlined, wide
from ibpcl.kernels.elementary import exp, log_of, total
from ibpcl.kernels.loops import flat
from ibpcl.kernels.memory import as_arrays, empty
from ibpcl.kernels.turns import BEGIN, END, another

ROWS = 256                                                   # a piece, of labels
PICTURES = 8                                                 # and of pixels


@compiled
def normalize(turns, logits, labels, log_normalized, log_p):
    """Write the logarithms of the softmax (R, C) and those of the labels' probabilities (R,) of some pieces."""
    C, N = logits.shape[1], labels.size
    masses = np.empty((ROWS, C), logits.dtype)
    while another(turns):
        for first in range(turns[BEGIN] * ROWS, min(turns[END] * ROWS, logits.shape[0]), ROWS):
            rows = min(ROWS, logits.shape[0] - first)
            for r in range(rows):
                given, out = logits[first + r], log_normalized[first + r]
                largest = given[0]
                for c in range(1, C):
                    largest = given[c] if given[c] > largest else largest
                for c in range(C):
                    out[c] = given[c] - largest
            loops.exponential(flat(log_normalized, first * C, (first + rows) * C), flat(masses, 0, rows * C))
            for r in range(rows):
                out, mass = log_normalized[first + r], logits.dtype.type(0)
                for c in range(C):
                    mass += masses[r, c]
                normalizer = out.dtype.type(math.log(mass))
                for c in range(C):
                    out[c] -= normalizer
                log_p[first + r] = out[labels[(first + r) % N]]


@compiled
def pull_back(turns, dlog_p, log_normalized, labels, dlogits):
    """Write the gradient at the logits of some pieces."""
    C, N = log_normalized.shape[1], labels.size
    while another(turns):
        first, last = turns[BEGIN] * ROWS, min(turns[END] * ROWS, dlogits.shape[0])
        loops.exponential(flat(log_normalized, first * C, last * C), flat(dlogits, first * C, last * C))
        for r in range(first, last):
            for c in range(C):
                dlogits[r, c] *= -dlog_p[r]
            dlogits[r, labels[r % N]] += dlog_p[r]


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


@inlined
def _log_mass(f, y, out):
    zero, one = out.dtype.type(0), out.dtype.type(1)
    for c in range(wide(out.size)):
        e = exp(-abs(f[c]))
        s = one / (one + e)
        out[c] = y[c] * f[c] - (f[c] if f[c] > zero else zero) + log_of(s, e * s)


@inlined
def _residual(dlog_p, f, y, out):
    one = out.dtype.type(1)
    for c in range(wide(out.size)):
        out[c] = dlog_p * (y[c] - one / (one + exp(-f[c])))


@compiled
def pixels(turns, logits, targets, log_p):
    """Write the log probabilities (R,) of some pieces of the images; ``targets`` (N, C) are shared by all samples."""
    terms = np.empty(logits.shape[1], logits.dtype)
    while another(turns):
        for r in range(turns[BEGIN] * PICTURES, min(turns[END] * PICTURES, logits.shape[0])):
            _log_mass(logits[r], targets[r % targets.shape[0]], terms)
            log_p[r] = total(terms)


@compiled
def pixels_vjp(turns, dlog_p, logits, targets, dlogits):
    """Write the gradient at the logits of some pieces."""
    while another(turns):
        for r in range(turns[BEGIN] * PICTURES, min(turns[END] * PICTURES, logits.shape[0])):
            _residual(dlog_p[r], logits[r], targets[r % targets.shape[0]], dlogits[r])


def bernoulli_logistic(logits, targets):
    """Evaluate the log probability of pixels: the twin of :func:`ibpcl.primitives.likelihoods.bernoulli_logistic`."""
    logits, targets = as_arrays("likelihoods.bernoulli_logistic", logits, targets)
    S, N, C = logits.shape
    if targets.shape != (N, C):
        raise ValueError(f"likelihoods.bernoulli_logistic: targets must have shape ({N}, {C}), got {targets.shape}")
    log_p, rows = np.empty((S, N), logits.dtype), logits.reshape(S * N, C)
    threads.run(pixels, -(-S * N // PICTURES), rows, targets, log_p.reshape(-1))
    return log_p, (rows, targets)


def bernoulli_logistic_vjp(dlog_p, cache):
    """Pull the gradient back: the twin of :func:`ibpcl.primitives.likelihoods.bernoulli_logistic_vjp`."""
    rows, targets = cache
    dlogits = empty(rows.shape, rows.dtype)
    given = np.ascontiguousarray(dlog_p, rows.dtype).reshape(-1)
    threads.run(pixels_vjp, -(-len(rows) // PICTURES), given, rows, targets, dlogits)
    return dlogits.reshape(*dlog_p.shape, rows.shape[1])
