r"""Penalties with a kink, taken after every step of Adam: weights, and whole units, that are zero exactly.

A step of Adam is :math:`w_i - s_i m_i`, m being the running mean of the gradient and :math:`s_i` a size of its own for
each element.  The proximal step that follows has the same sizes, so what both leave where it is minimizes the loss plus
the penalties.  With a threshold that knows nothing of :math:`s_i`, as public code has it, the strength of a penalty
would depend on the learning rate and on how many steps are taken.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.primitives.proximal import group_shrink, soft_threshold

# Those of ibpcl.adam.update, whose default arguments they are.
DECAY, EPSILON = 0.999, 1e-8


def step_sizes(state, rates):
    r"""Return how far Adam's last step went for each unit of the running mean of the gradient.

    .. math:: s_i = \frac{\eta_i}{\sqrt{v_i / (1 - \beta_2^t)} + \epsilon}

    Kingma and Ba (2015), Algorithm 1.

    Parameters
    ----------
    state : ibpcl.adam.State
        After the step.
    rates : ndarray, shape (P,)
        The learning rates that it was taken with.

    Examples
    --------
    >>> from ibpcl import adam
    >>> w, g = np.array([1.0]), np.array([5.0])
    >>> moved, state = adam.update(w, g, adam.start(w), np.array([0.1]))
    >>> (step_sizes(state, np.array([0.1])) * g).round(6), (w - moved).round(6)
    (array([0.1]), array([0.1]))
    """
    mean_square = state.second / (1 - DECAY**state.step)
    return rates / (np.sqrt(mean_square) + EPSILON)


@dataclass(frozen=True)
class Sparsity:
    """Penalties of a vector of parameters.

    Parameters
    ----------
    single : ndarray, shape (P,)
        Weight of the magnitude of each element, >= 0.
    groups : sequence of ndarray of int, shape (D, K)
        Places in the vector; the length of each column is a penalty.  No place stands in two columns.
    group_weight : float
        Weight of these lengths, >= 0.
    """

    single: np.ndarray
    groups: tuple = ()
    group_weight: float = 0.0

    @property
    def is_zero(self):
        """Whether there is no penalty at all."""
        return not self.single.any() and (self.group_weight == 0 or not self.groups)

    def value(self, vector):
        """Add the penalties up, in the units of their weights."""
        lengths = sum(np.sqrt((vector[places] ** 2).sum(axis=0)).sum() for places in self.groups)
        return np.abs(vector) @ self.single + self.group_weight * lengths

    def shrink(self, vector, sizes):
        """Take the proximal step of given sizes (P,), all >= 0; an element whose size is 0 stays where it is."""
        vector = soft_threshold(vector, self.single * sizes)
        for places in self.groups:
            vector[places] = group_shrink(vector[places], self.group_weight * sizes[places])
        return vector
