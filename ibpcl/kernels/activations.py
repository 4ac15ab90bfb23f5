"""The activations, of which the hot one is compiled: the twin of ``primitives.activations``."""

import numpy as np

from ibpcl.kernels import threads
from ibpcl.kernels.compilation import compiled, wide
from ibpcl.kernels.memory import as_arrays, empty
from ibpcl.kernels.turns import BEGIN, END, another
from ibpcl.primitives.activations import leaky_relu, leaky_relu_vjp, softplus, softplus_vjp, tanh, tanh_vjp

__all__ = ["leaky_relu", "leaky_relu_vjp", "relu", "relu_vjp", "softplus", "softplus_vjp", "tanh", "tanh_vjp"]

STRIP = 16384


@compiled
def select(turns, x, condition, out):
    """Write ``x`` where the condition is positive, and zero elsewhere; a piece is a strip."""
    while another(turns):
        begin, end = turns[BEGIN], turns[END]
        zero = out.dtype.type(0)
        first, last = begin * STRIP, min(end * STRIP, out.size)
        given, sign, result = x[first:last], condition[first:last], out[first:last]
        for i in range(wide(result.size)):
            result[i] = given[i] if sign[i] > zero else zero


def _select(x, condition):
    out = empty(x.shape, x.dtype)
    threads.run(select, -(-x.size // STRIP), x.reshape(-1), condition.reshape(-1), out.reshape(-1))
    return out


def relu(x):
    """Compute max(x, 0): the twin of :func:`ibpcl.primitives.activations.relu`."""
    (x,) = as_arrays("activations.relu", x)
    h = _select(x, x)
    return h, h


def relu_vjp(dh, cache):
    """Pull the gradient back: the twin of :func:`ibpcl.primitives.activations.relu_vjp`."""
    return _select(np.ascontiguousarray(dh, cache.dtype), cache)
