"""The piecewise linear activations: twins of those of ``primitives.activations``."""

import numpy as np

from ibpcl.kernels import threads
from ibpcl.kernels.compilation import compiled, wide
from ibpcl.kernels.loops import flat
from ibpcl.kernels.memory import as_arrays, empty
from ibpcl.kernels.turns import BEGIN, END, another
from ibpcl.primitives.activations import LEAK

STRIP = 16384


@compiled
def select(turns, x, condition, out):
    """Write ``x`` where the condition is positive, and zero elsewhere; a piece is a strip."""
    while another(turns):
        begin, end = turns[BEGIN], turns[END]
        zero = out.dtype.type(0)
        first, last = begin * STRIP, min(end * STRIP, out.size)
        given, sign, result = flat(x, first, last), flat(condition, first, last), flat(out, first, last)
        for i in range(wide(result.size)):
            result[i] = given[i] if sign[i] > zero else zero


@compiled
def lean(turns, x, condition, slope, out):
    """Write ``x`` where the condition is positive, and the slope times ``x`` elsewhere; a piece is a strip."""
    while another(turns):
        begin, end = turns[BEGIN], turns[END]
        zero, one = out.dtype.type(0), out.dtype.type(1)
        first, last = begin * STRIP, min(end * STRIP, out.size)
        given, sign, result = flat(x, first, last), flat(condition, first, last), flat(out, first, last)
        for i in range(wide(result.size)):
            result[i] = given[i] * (one if sign[i] > zero else slope)


def _apply(kernel, x, condition, *scalars):
    out = empty(x.shape, x.dtype)
    threads.run(kernel, -(-x.size // STRIP), x.reshape(-1), condition.reshape(-1), *scalars, out.reshape(-1),
                small=threads.LIGHT)
    return out


def relu(x):
    """Compute max(x, 0): the twin of :func:`ibpcl.primitives.activations.relu`."""
    (x,) = as_arrays("activations.relu", x)
    h = _apply(select, x, x)
    return h, h


def relu_vjp(dh, cache):
    """Pull the gradient back: the twin of :func:`ibpcl.primitives.activations.relu_vjp`."""
    return _apply(select, np.ascontiguousarray(dh, cache.dtype), cache)


def leaky_relu(x):
    """Compute x or 0.01 x: the twin of :func:`ibpcl.primitives.activations.leaky_relu`."""
    (x,) = as_arrays("activations.leaky_relu", x)
    h = _apply(lean, x, x, x.dtype.type(LEAK))
    return h, h                                              # x has the sign of h


def leaky_relu_vjp(dh, cache):
    """Pull the gradient back: the twin of :func:`ibpcl.primitives.activations.leaky_relu_vjp`."""
    return _apply(lean, np.ascontiguousarray(dh, cache.dtype), cache, cache.dtype.type(LEAK))
