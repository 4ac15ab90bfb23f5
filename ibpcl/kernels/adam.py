r"""One step of Adam over the flat vector of all parameters: the twin of ``ibpcl.adam``.

Fused, each number is read once and written once; NumPy would pass over the vector a dozen times.
"""

import numpy as np

from ibpcl import adam as reference
from ibpcl.kernels.compilation import compiled, float32, inlined, vector, void
from ibpcl.kernels.threads import JOB, parts, run, taken

# a smaller one is done before a helper begins
PIECE = 2**15


@inlined
def _moments(gradient, first, second, beta1, beta2):
    one = np.float32(1)
    for i in range(gradient.size):
        first[i] = beta1 * first[i] + (one - beta1) * gradient[i]
        second[i] = beta2 * second[i] + (one - beta2) * gradient[i] * gradient[i]


@inlined
def _move(vector, rates, first, second, correction1, correction2, epsilon, new_vector):
    for i in range(vector.size):
        scale = np.sqrt(second[i] * correction2) + epsilon
        new_vector[i] = vector[i] - rates[i] * (first[i] * correction1) / scale


@compiled(void(JOB, *[vector] * 5, *[float32] * 5, vector))
def _step(
    job,
    vector,
    gradient,
    first,
    second,
    rates,
    beta1,
    beta2,
    correction1,
    correction2,
    epsilon,
    new_vector,
):
    """Write the new vector, and the new moments over the old; in two loops, or the compiler sees
    too many arrays.
    """
    for i in taken(job):
        piece = slice(i * PIECE, (i + 1) * PIECE)
        _moments(gradient[piece], first[piece], second[piece], beta1, beta2)
        _move(
            vector[piece],
            rates[piece],
            first[piece],
            second[piece],
            correction1,
            correction2,
            epsilon,
            new_vector[piece],
        )


def update(vector, gradient, state, rates, beta1=0.9, beta2=0.999, epsilon=1e-8, factor=1.0):
    r"""Take one step of Adam downhill: the twin of :func:`ibpcl.adam.update`.

    The moments of ``state`` are overwritten, which spares two arrays as large as the network a
    step. The reference takes it for other types than float32, and where elements have taken
    different numbers of steps.
    """
    arrays = vector, gradient, state.first, state.second, rates
    if any(array.shape != vector.shape or array.ndim != 1 for array in arrays):
        raise ValueError(
            "adam.update: all arrays must have one shape (P,), got "
            f"{[array.shape for array in arrays]}"
        )
    if np.ndim(state.step) > 0 or any(array.dtype != np.float32 for array in arrays):
        return reference.update(vector, gradient, state, rates, beta1, beta2, epsilon, factor)
    t = state.step + 1
    scalars = [
        np.float32(x) for x in (beta1, beta2, factor / (1 - beta1**t), 1 / (1 - beta2**t), epsilon)
    ]
    vector, gradient, first, second, rates = map(np.ascontiguousarray, arrays)
    moved = np.empty_like(vector)
    run(_step, parts(vector.size, PIECE), vector, gradient, first, second, rates, *scalars, moved)
    return moved, state._replace(first=first, second=second, step=t)
