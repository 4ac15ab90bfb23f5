r"""One step of Adam over the flat vector of all parameters: the twin of ``ibpcl.adam``.

Fused, each number is read once and written once; NumPy would pass over the vector a dozen times.
"""

import numpy as np

from ibpcl import adam as reference
from ibpcl.kernels import threads
from ibpcl.kernels.compilation import compiled, inlined, wide
from ibpcl.kernels.loops import flat
from ibpcl.kernels.memory import as_arrays
from ibpcl.kernels.turns import BEGIN, END, another

STRIP = 1024


@inlined
def _moments(gradient, first, second, beta1, beta2, new_first, new_second):
    one = gradient.dtype.type(1)
    for i in range(wide(gradient.size)):
        new_first[i] = beta1 * first[i] + (one - beta1) * gradient[i]
        new_second[i] = beta2 * second[i] + (one - beta2) * gradient[i] * gradient[i]


@inlined
def _move(vector, rates, first, second, correction1, correction2, epsilon, new_vector):
    for i in range(wide(vector.size)):
        scale = np.sqrt(second[i] * correction2) + epsilon
        new_vector[i] = vector[i] - rates[i] * (first[i] * correction1) / scale


@compiled
def _step(turns, vector, gradient, first, second, rates, beta1, beta2, correction1, correction2, epsilon, new_vector,
          new_first, new_second):
    """Write some strips of the new vector and of its new moments."""
    while another(turns):
        for i in range(turns[BEGIN] * STRIP, min(turns[END] * STRIP, vector.size), STRIP):
            j = min(i + STRIP, vector.size)
            m, s = flat(new_first, i, j), flat(new_second, i, j)
            _moments(flat(gradient, i, j), flat(first, i, j), flat(second, i, j), beta1, beta2, m, s)
            _move(flat(vector, i, j), flat(rates, i, j), m, s, correction1, correction2, epsilon,
                  flat(new_vector, i, j))


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
    arrays = as_arrays("adam.update", vector, gradient, state.first, state.second, rates)
    if any(array.shape != arrays[0].shape or array.ndim != 1 for array in arrays):
        raise ValueError(f"adam.update: all arrays must have one shape (P,), got {[array.shape for array in arrays]}")
    if np.ndim(state.step) > 0:                              # a network that has grown
        return reference.update(*arrays[:2], state, arrays[4], beta1, beta2, epsilon, factor)
    number, t = arrays[0].dtype.type, state.step + 1
    scalars = (number(x) for x in (beta1, beta2, factor / (1 - beta1**t), 1 / (1 - beta2**t), epsilon))
    found = [np.empty_like(arrays[0]) for _ in range(3)]
    threads.run(_step, -(-found[0].size // STRIP), *arrays, *scalars, *found)
    return found[0], state._replace(first=found[1], second=found[2], step=t)
