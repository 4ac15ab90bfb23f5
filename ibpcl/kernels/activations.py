"""ReLU and leaky ReLU: compiled versions of functions in ``primitives.activations``."""

import numpy as np

from ibpcl.kernels.compilation import compiled, float32, inlined, twin_of, vector, void
from ibpcl.kernels.threads import JOB, parts, run, taken
from ibpcl.primitives import activations as reference

PIECE = 2**16


@inlined
def _scale(x, condition, lean, out):
    one = np.float32(1)
    zero = np.float32(0)
    for i in range(out.size):
        out[i] = x[i] * (one if condition[i] > zero else lean)


@compiled(void(JOB, vector, vector, float32, vector))
def _scale_all(job, x, condition, lean, out):
    """Write ``x`` where the condition is positive, and ``lean`` times ``x`` elsewhere."""
    for i in taken(job):
        piece = slice(i * PIECE, (i + 1) * PIECE)
        _scale(x[piece], condition[piece], lean, out[piece])


def _lean(x, condition, lean):
    out = np.empty_like(x)
    run(
        _scale_all,
        parts(x.size, PIECE),
        x.reshape(-1),
        condition.reshape(-1),
        np.float32(lean),
        out.reshape(-1),
    )
    return out


@twin_of(reference)
def relu(x):
    """Compute max(x, 0): the compiled version of :func:`ibpcl.primitives.activations.relu`."""
    h = _lean(x, x, 0)
    return h, h  # h is positive where x is positive


@twin_of(reference)
def relu_vjp(dh, cache):
    """Pull the gradient back: the compiled :func:`ibpcl.primitives.activations.relu_vjp`."""
    return _lean(dh, cache, 0)


@twin_of(reference)
def leaky_relu(x):
    """Compute max(x, 0.01 x): the compiled :func:`ibpcl.primitives.activations.leaky_relu`."""
    h = _lean(x, x, reference.LEAK)
    return h, h


@twin_of(reference)
def leaky_relu_vjp(dh, cache):
    """Pull the gradient back: the compiled :func:`ibpcl.primitives.activations.leaky_relu_vjp`."""
    return _lean(dh, cache, reference.LEAK)
