r"""Growing a network while it learns, so that each layer always has a number of empty units.

Kumar et al. (2021), Sec. 4.6.  The recursion :math:`C_j = C_{j+1} \prod_i \mathbb 1[B_{ij} = 0]`
counts trailing empty columns.  It needs :math:`C_{K+1} = 1`, and the growth :math:`G = \max(0, T -
\sum_j C_j)` needs the maximum; both are missing in the paper.
"""

import numpy as np


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
