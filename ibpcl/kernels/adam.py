r"""One step of Adam on the flat parameter vector: the compiled version of ``ibpcl.adam``.

In one fused pass, each number is read once and written once.  NumPy would pass over the vector a
dozen times.
"""

import numpy as np

from ibpcl import adam as reference
from ibpcl.kernels.compilation import compiled, float32, inlined, vector, void
from ibpcl.kernels.threads import JOB, parts, run, taken

# a smaller piece would be finished before a helper begins
PIECE = 2**15
# both loops over a strip find its six arrays, 8 KB each, in the second-level cache
STRIP = 2**11


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
    """Write the new vector, and overwrite the moments.

    There are two loops, because the compiler cannot vectorize one with so many arrays.
    """
    for i in taken(job):
        for start in range(i * PIECE, min((i + 1) * PIECE, vector.size), STRIP):
            # a piece consists of whole strips
            strip = slice(start, start + STRIP)
            _moments(gradient[strip], first[strip], second[strip], beta1, beta2)
            _move(
                vector[strip],
                rates[strip],
                first[strip],
                second[strip],
                correction1,
                correction2,
                epsilon,
                new_vector[strip],
            )


def update(vector, gradient, state, rates, beta1=0.9, beta2=0.999, epsilon=1e-8, factor=1.0):
    r"""Return the parameters and the state after one step: the compiled :func:`ibpcl.adam.update`.

    The moments in ``state`` are overwritten, which saves two arrays of the size of the network per
    step.  The reference is used for types other than float32, and if parameters have taken
    different numbers of steps.

    Raises
    ------
    ValueError
        If the arrays do not all have the same shape (P,).
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
