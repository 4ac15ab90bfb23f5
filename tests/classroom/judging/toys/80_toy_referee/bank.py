"""Pairs, some of them with a mistake."""

import numpy as np


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def square(x):
    """Square every entry."""
    return x * x, x


def square_vjp(dy, cache):
    """Pull the gradient back to ``x``."""
    x = cache
    return 2 * x * dy


def gate(x, w):
    """Multiply by a sigmoid."""
    s = _sigmoid(w)
    return x * s, (x, s)


def gate_vjp(dy, cache):
    """Pull the gradient back to ``x`` and ``w``."""
    x, s = cache
    dx = dy * s
    return dx, (dy * x * s * (1 - s)).sum(axis=0)


def total(x):
    """Add up the exponentials."""
    e = np.exp(x)
    return e.sum(), e


def total_vjp(dy, cache):
    """Pull the gradient back to ``x``."""
    return dy * cache
