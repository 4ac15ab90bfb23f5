r"""Growing a network while it learns: some units of each layer stay empty, so that there is always
room.

Kumar et al. (2021), Sec. 4.6.  The recursion :math:`C_j = C_{j+1} \prod_i \mathbb 1[B_{ij} = 0]`
counts trailing empty columns; it needs :math:`C_{K+1} = 1`, and the growth :math:`G = \max(0, T -
\sum_j C_j)` needs the maximum, which are both missing in print.
"""

import numpy as np


def empty_units(mask):
    r"""Count the trailing units without any weight, :math:`\sum_j C_j`.

    >>> empty_units(np.array([[1, 0, 1, 0, 0]], bool))
    2
    """
    return int(np.argmax(np.append(mask.any(axis=0)[::-1], True)))


def growth(mask, target):
    r"""Compute how many units a layer needs, :math:`G = \max(0, T - \sum_j C_j)`.

    >>> growth(np.array([[1, 0, 1, 0, 0]], bool), 3), growth(np.array([[1, 0, 0]], bool), 1)
    (1, 0)
    """
    return max(0, target - empty_units(mask))
