r"""Adam on a flat parameter vector, with one learning rate per parameter.

Kingma and Ba (2015), "Adam: A Method for Stochastic Optimization", Algorithm 1.
"""

from typing import NamedTuple

import numpy as np


class State(NamedTuple):
    """State of Adam.

    Attributes
    ----------
    first : ndarray, shape (P,)
        Running mean of the gradient.
    second : ndarray, shape (P,)
        Running mean of the squared gradient.
    step : int or ndarray, shape (P,)
        Number of steps taken.  In a network that has grown it is an array, because some parameters
        were added later than others.
    """

    first: np.ndarray
    second: np.ndarray
    step: int | np.ndarray


# The values of the paper.
BETA1 = 0.9
BETA2 = 0.999
EPSILON = 1e-8


def start(vector):
    """Return the state before the first step.

    Parameters
    ----------
    vector : ndarray, shape (P,)
        The parameters, for their number and type.

    Returns
    -------
    state : State
        Running means of 0 and no steps.
    """
    return State(np.zeros_like(vector), np.zeros_like(vector), 0)


@np.errstate(under="ignore")  # a tiny square may become 0, whatever the user's np.seterr
def update(vector, gradient, state, rates, beta1=BETA1, beta2=BETA2, epsilon=EPSILON, factor=1.0):
    r"""Return the parameters and the state after one step.

    .. math::

        m \leftarrow \beta_1 m + (1 - \beta_1) g, \quad
        s \leftarrow \beta_2 s + (1 - \beta_2) g^2, \quad
              \theta \leftarrow \theta
                  - \eta \frac{m / (1 - \beta_1^t)}{\sqrt{s / (1 - \beta_2^t)} + \epsilon}

    Parameters
    ----------
    vector, gradient : ndarray, shape (P,)
        Parameters, and gradient of the loss to minimize.
    state : State
        From :func:`start` or the last update.  It must not be used again: the compiled version
        overwrites its arrays with the new state.
    rates : ndarray, shape (P,)
        Learning rate of each parameter, >= 0; a parameter with rate 0 does not change at all.
    beta1, beta2 : float
        Decay rates of the running means, in [0, 1).
    epsilon : float
        Small number > 0 that keeps the step finite if all gradients were 0.
    factor : float
        Factor of all learning rates in this step, >= 0.

    Returns
    -------
    vector : ndarray, shape (P,)
        The new parameters.
    state : State
        The new state.

    Examples
    --------
    >>> x = np.array([1.0])
    >>> update(x, np.array([5.0]), start(x), np.array([0.1]))[0].round(6)
    array([0.9])
    """
    step = state.step + 1
    first = beta1 * state.first + (1 - beta1) * gradient
    second = beta2 * state.second + (1 - beta2) * gradient * gradient
    # The running means start at 0; dividing by 1 - beta^t removes that bias.
    bias1, bias2 = (np.asarray(1 - beta**step).astype(vector.real.dtype) for beta in (beta1, beta2))
    direction = first / bias1 / (np.sqrt(second / bias2) + epsilon)
    return vector - rates * (factor * direction), State(first, second, step)


def step_sizes(state, rates):
    r"""Return the step size of each parameter in the last step, per unit of the mean gradient.

    .. math:: s_i = \frac{\eta_i}{\sqrt{v_i / (1 - \beta_2^t)} + \epsilon}

    Parameters
    ----------
    state : State
        The state after the step.
    rates : ndarray, shape (P,)
        Learning rates of the step, multiplied by its factor.

    Returns
    -------
    sizes : ndarray, shape (P,)
        Step sizes; the step was -``sizes`` times the bias-corrected mean gradient.

    Examples
    --------
    >>> w, g = np.array([1.0]), np.array([5.0])
    >>> moved, state = update(w, g, start(w), np.array([0.1]))
    >>> (step_sizes(state, np.array([0.1])) * g).round(6), (w - moved).round(6)
    (array([0.1]), array([0.1]))
    """
    return rates / (np.sqrt(state.second / (1 - BETA2**state.step)) + EPSILON)
