r"""Growing a network while it learns: by its empty units, or greedily by its performance.

Kumar et al. (2021), Sec. 4.6.  The paper keeps the number of empty units constant.  The recursion
:math:`C_j = C_{j+1} \prod_i \mathbb 1[B_{ij} = 0]` counts trailing empty columns.  It needs
:math:`C_{K+1} = 1`, which the paper does not give.  Here the network only grows, by :math:`G =
\max(0, T - \sum_j C_j)` units; the paper prints no maximum.
"""

from itertools import pairwise

import numpy as np

# Least gain since the last look, as a share of the gain so far.  Noise of minibatches is below it.
SATURATED = 0.02


def empty_units(mask):
    r"""Count the trailing units without any weight, :math:`\sum_j C_j`.

    Parameters
    ----------
    mask : ndarray of bool, shape (D, K)
        Hard mask of a layer.

    Returns
    -------
    count : int
        Number of empty columns behind the last one that is not empty, in 0 .. K.

    Examples
    --------
    >>> empty_units(np.array([[1, 0, 1, 0, 0]], bool))
    2
    """
    return int(np.argmax(np.append(mask.any(axis=0)[::-1], True)))


def growth(mask, target):
    r"""Compute how many units to add to a layer, :math:`G = \max(0, T - \sum_j C_j)`.

    Parameters
    ----------
    mask : ndarray of bool, shape (D, K)
        Hard mask of the layer.
    target : int
        Number T of empty units that the layer should have.

    Returns
    -------
    units : int
        Number G of units to add, at least 0.

    Examples
    --------
    >>> growth(np.array([[1, 0, 1, 0, 0]], bool), 3), growth(np.array([[1, 0, 0]], bool), 1)
    (1, 0)
    """
    return max(0, target - empty_units(mask))


def saturated(performances):
    r"""Return whether the performance of a greedily growing network has saturated.

    Kumar et al. (2021), Sec. 4.6: "greedily increase layer width until performance saturates".  The
    paper gives no criterion.  Here, the performance :math:`p_i` at look i has saturated if

    .. math:: p_i - p_{i-1} \le 0.02\,(p_{i-1} - p_0)

    and it stays saturated for the rest of the task.  The criterion depends neither on the scale of
    the performance nor on an added constant.

    Parameters
    ----------
    performances : sequence of float
        Performance at each look in a task so far, larger is better; at least one.

    Returns
    -------
    saturated : bool
        False at the first look.

    Examples
    --------
    >>> saturated([-3.0]), saturated([-3.0, -1.0, -0.9]), saturated([-3.0, -1.0, -0.99, 5.0])
    (False, False, True)
    """
    first = performances[0]
    return any(
        value - before <= SATURATED * (before - first) for before, value in pairwise(performances)
    )
