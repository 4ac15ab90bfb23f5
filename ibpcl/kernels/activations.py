"""The ReLU: the twin of that in ``primitives.activations``."""

import numpy as np

from ibpcl.kernels.compilation import compiled, inlined, twin_of, vector, void
from ibpcl.kernels.threads import JOB, parts, run, taken
from ibpcl.primitives import activations as reference

PIECE = 2**16


@inlined
def _where(x, condition, out):
    zero = np.float32(0)
    for i in range(out.size):
        out[i] = x[i] if condition[i] > zero else zero


@compiled(void(JOB, vector, vector, vector))
def _select_all(job, x, condition, out):
    """Write ``x`` where the condition is positive, and zero elsewhere."""
    for i in taken(job):
        piece = slice(i * PIECE, (i + 1) * PIECE)
        _where(x[piece], condition[piece], out[piece])


def _select(x, condition):
    out = np.empty_like(x)
    run(_select_all, parts(x.size, PIECE), *(array.reshape(-1) for array in (x, condition, out)))
    return out


@twin_of(reference)
def relu(x):
    """Compute max(x, 0): the twin of :func:`ibpcl.primitives.activations.relu`."""
    h = _select(x, x)
    return h, h                                              # h is positive where x is


@twin_of(reference)
def relu_vjp(dh, cache):
    """Pull the gradient back: the twin of :func:`ibpcl.primitives.activations.relu_vjp`."""
    return _select(dh, cache)
