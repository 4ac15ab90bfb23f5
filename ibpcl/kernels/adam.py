r"""One step of Adam over the flat vector of all parameters: the twin of ``ibpcl.adam``.

Fused, each number is read once and written once, where it was; NumPy would pass over the vector a dozen times, and to
write elsewhere is a third more to the memory.  Whether the gradient is finite is seen on the way, from the sums of its
strips.
"""

import numpy as np

from ibpcl import adam as reference
from ibpcl.kernels import threads
from ibpcl.kernels.compilation import compiled, inlined, wide
from ibpcl.kernels.elementary import total
from ibpcl.kernels.loops import flat
from ibpcl.kernels.memory import as_arrays, several
from ibpcl.kernels.turns import BEGIN, END, another
from ibpcl.kernels.vectors import copy

STRIP = 1024


@inlined
def _moments(gradient, beta1, beta2, first, second):
    one = gradient.dtype.type(1)
    for i in range(wide(gradient.size)):
        first[i] = beta1 * first[i] + (one - beta1) * gradient[i]
        second[i] = beta2 * second[i] + (one - beta2) * gradient[i] * gradient[i]


@inlined
def _move(rates, first, second, correction1, correction2, epsilon, vector):
    for i in range(wide(vector.size)):
        scale = np.sqrt(second[i] * correction2) + epsilon
        vector[i] -= rates[i] * (first[i] * correction1) / scale


@compiled
def step(turns, vector, gradient, first, second, rates, beta1, beta2, correction1, correction2, epsilon, sums):
    """Move a part of the vector and of its moments, and write the gradient's sums; a piece is a strip."""
    while another(turns):
        begin, end = turns[BEGIN], turns[END]
        for i in range(begin * STRIP, min(end * STRIP, vector.size), STRIP):
            j = min(i + STRIP, vector.size)
            m, s = flat(first, i, j), flat(second, i, j)
            _moments(flat(gradient, i, j), beta1, beta2, m, s)
            _move(flat(rates, i, j), m, s, correction1, correction2, epsilon, flat(vector, i, j))
            sums[i // STRIP] = total(flat(gradient, i, j))


def update(vector, gradient, state, rates, beta1=0.9, beta2=0.999, epsilon=1e-8, factor=1.0):
    r"""Take one step of Adam downhill: the twin of :func:`ibpcl.adam.update`.

    .. math:: m \leftarrow \beta_1 m + (1 - \beta_1) g, \quad s \leftarrow \beta_2 s + (1 - \beta_2) g^2, \quad
              x \leftarrow x - \eta\, \frac{m / (1 - \beta_1^t)}{\sqrt{s / (1 - \beta_2^t)} + \epsilon}

    Kingma and Ba (2015), Algorithm 1.

    Parameters
    ----------
    vector, gradient, rates : ndarray, shape (P,)
        Parameters x, the gradient g of what is minimized, and a learning rate for each parameter.
    state : NamedTuple with ``first``, ``second`` (P,) and ``step``
        Moments m and s, and the number of steps already taken; a new one is returned.  Where that number is not the
        same for all elements the reference takes the step.
    beta1, beta2, epsilon : float
        As in the equation.
    factor : float
        Of all learning rates in this step.

    Returns
    -------
    vector : ndarray, shape (P,)
        The new parameters.
    state : NamedTuple
        The new state.
    """
    return checked_update(vector, gradient, state, rates, beta1, beta2, epsilon, factor)[:2]


def checked_update(vector, gradient, state, rates, beta1=0.9, beta2=0.999, epsilon=1e-8, factor=1.0,
                   in_place=False):
    """Take one step, and say whether the gradient is finite: the twin of :func:`ibpcl.adam.checked_update`."""
    arrays = as_arrays("adam.update", vector, gradient, state.first, state.second, rates)
    if any(array.shape != arrays[0].shape or array.ndim != 1 for array in arrays):
        raise ValueError(f"adam.update: all arrays must have one shape (P,), got {[array.shape for array in arrays]}")
    if np.ndim(state.step) > 0:                              # a network that has grown
        return reference.checked_update(*arrays[:2], state, arrays[4], beta1=beta1, beta2=beta2, epsilon=epsilon,
                                        factor=factor)
    number, t = arrays[0].dtype.type, state.step + 1
    scalars = (number(x) for x in (beta1, beta2, factor / (1 - beta1**t), 1 / (1 - beta2**t), epsilon))
    vector, gradient, first, second, rates = arrays
    sums = np.empty(-(-vector.size // STRIP), vector.dtype)
    if not in_place:
        given, (vector, first, second) = (vector, first, second), several((vector.shape,) * 3, vector.dtype)
        for one, other in zip((vector, first, second), given, strict=True):
            copy(one, other)
    threads.run(step, sums.size, vector, gradient, first, second, rates, *scalars, sums)
    finite = bool(np.isfinite(sums).all() or np.isfinite(gradient).all())        # sums of large numbers may overflow
    return vector, state._replace(first=first, second=second, step=t), finite
