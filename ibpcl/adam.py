r"""Adam over a flat vector, with a learning rate an element.

Kingma and Ba (2015), "Adam: A Method for Stochastic Optimization", Algorithm 1.
"""

from typing import NamedTuple

import numpy as np


class State(NamedTuple):
    """Running means of the gradient and of its square, and the number of steps taken.

    That is an array (P,) where some elements have come later than others.
    """

    first: np.ndarray
    second: np.ndarray
    step: int | np.ndarray


# of the paper
BETA1 = 0.9
BETA2 = 0.999
EPSILON = 1e-8


def start(vector):
    """Return the state before the first step."""
    return State(np.zeros_like(vector), np.zeros_like(vector), 0)


def update(vector, gradient, state, rates, beta1=BETA1, beta2=BETA2, epsilon=EPSILON, factor=1.0):
    r"""Take one step down the gradient.

    .. math::

        m \leftarrow \beta_1 m + (1 - \beta_1) g, \quad
        s \leftarrow \beta_2 s + (1 - \beta_2) g^2, \quad
              \theta \leftarrow \theta
                  - \eta \frac{m / (1 - \beta_1^t)}{\sqrt{s / (1 - \beta_2^t)} + \epsilon}

    Parameters
    ----------
    vector, gradient : ndarray, shape (P,)
        Parameters, and the gradient of the loss that falls.
    state : State
        From :func:`start` or the last update; it is used up, for a compiled twin writes the new one
        over it.
    rates : ndarray, shape (P,)
        Learning rate of each element, >= 0; an element with rate 0 stays exactly where it is.
    beta1, beta2 : float
        How slowly the running means forget, in [0, 1).
    epsilon : float
        Keeps the step finite where the gradient has always been 0.
    factor : float
        Of all learning rates in this step, >= 0.

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
    r"""Return how far the last step went for each unit of the running mean of the gradient.

    .. math:: s_i = \frac{\eta_i}{\sqrt{v_i / (1 - \beta_2^t)} + \epsilon}

    Parameters
    ----------
    state : State
        After the step.
    rates : ndarray, shape (P,)
        The learning rates that it was taken with, each times the step's factor.

    Examples
    --------
    >>> w, g = np.array([1.0]), np.array([5.0])
    >>> moved, state = update(w, g, start(w), np.array([0.1]))
    >>> (step_sizes(state, np.array([0.1])) * g).round(6), (w - moved).round(6)
    (array([0.1]), array([0.1]))
    """
    return rates / (np.sqrt(state.second / (1 - BETA2**state.step)) + EPSILON)
