"""The ReLU: the twin of that in ``primitives.activations``."""

import numpy as np

from ibpcl.kernels.compilation import compiled, twin_of, vector, void
from ibpcl.kernels.threads import each, pieces
from ibpcl.primitives import activations as reference

PIECE = 2**16


@compiled(void(vector, vector, vector))
def _select(x, condition, out):
    """Write ``x`` where the condition is positive, and zero elsewhere."""
    zero = np.float32(0)
    for i in range(out.size):
        out[i] = x[i] if condition[i] > zero else zero


def _where(x, condition):
    out = np.empty_like(x)
    flat = [array.reshape(-1) for array in (x, condition, out)]
    each(_select, [[array[piece] for array in flat] for piece in pieces(x.size, PIECE)])
    return out


@twin_of(reference)
def relu(x):
    """Compute max(x, 0): the twin of :func:`ibpcl.primitives.activations.relu`."""
    h = _where(x, x)
    return h, h                                              # h is positive where x is


@twin_of(reference)
def relu_vjp(dh, cache):
    """Pull the gradient back: the twin of :func:`ibpcl.primitives.activations.relu_vjp`."""
    return _where(dh, cache)
