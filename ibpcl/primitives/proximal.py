r"""Proximal operators: steps for penalties that are not smooth and set weights exactly to zero.

The operator of a penalty h balances the penalty against the distance from a point v,

.. math:: \mathrm{prox}(v) = \arg\min_w\; h(w) + \tfrac12 \sum_i \frac{(w_i - v_i)^2}{s_i},

with a step size :math:`s_i` for each element, as in Adam.  Follow a gradient step of these sizes on
a loss f by the operator: the fixed points are exactly the minimizers of f + h (Parikh and Boyd,
2014, "Proximal Algorithms", Sec. 4.2; for step sizes per element Yun, Lozano and Yang, 2021,
"Adaptive Proximal Gradient Methods for Structured Neural Networks").  There is no ``_vjp``, because
no gradient passes through these functions.
"""

import numpy as np

# Newton's method on a concave function, started below its root: it never overshoots, and each
# iteration doubles the number of correct digits.
LARGEST_ITERATIONS = 60


def soft_threshold(v, threshold):
    r"""Move each element towards zero by a threshold: the operator of the sum of absolute values.

    An element whose absolute value is at most its threshold becomes 0.

    .. math:: \mathrm{prox}(v)_i = \operatorname{sign}(v_i) \max(0, |v_i| - t_i), \qquad
              h(w) = \lambda \sum_i |w_i|, \; t_i = \lambda s_i

    Parikh and Boyd (2014), Sec. 6.5.2.

    Parameters
    ----------
    v : ndarray
        Any real.
    threshold : ndarray
        Thresholds t, >= 0; broadcast to the shape of ``v``.

    Returns
    -------
    w : ndarray
        The result, in the shape of ``v``.

    Examples
    --------
    >>> soft_threshold(np.array([3.0, -0.5, -2.0]), 1.0)
    array([ 2., -0., -1.])
    """
    return np.sign(v) * np.maximum(np.abs(v) - threshold, 0)


def group_shrink(v, threshold):
    r"""Shrink each column as a whole towards zero: the operator of the group lasso.

    .. math:: \mathrm{prox}(v)_{dk} = v_{dk}\, \frac{r_k}{r_k + t_{dk}}, \qquad
              \sum_d \Bigl(\frac{v_{dk}}{r_k + t_{dk}}\Bigr)^2 = 1, \qquad
              h(w) = \gamma \sum_k \sqrt{\sum_d w_{dk}^2}, \; t_{dk} = \gamma s_{dk},

    where :math:`r_k` is the length of the new column, and the column is 0 if :math:`\sum_d (v_{dk}
    / t_{dk})^2 \le 1`.  With one threshold for a whole column this is :math:`v\, (1 - t / \|v\|)`
    (Yuan and Lin, 2006; Parikh and Boyd, 2014, Sec. 6.5.1).  Applied after :func:`soft_threshold`,
    it is the operator of both penalties together, for any step sizes, because both functions keep
    the signs and leave zeros at zero.

    Parameters
    ----------
    v : ndarray, shape (D, K)
        Columns, any real.
    threshold : ndarray, shape (D, K)
        Thresholds t, >= 0; an element with threshold 0 does not change.

    Returns
    -------
    w : ndarray, shape (D, K)
        The shrunk columns; some of them may be 0.

    Examples
    --------
    >>> group_shrink(np.array([[3.0, 0.3], [4.0, 0.4]]), np.ones((2, 2)))
    array([[2.4, 0. ],
           [3.2, 0. ]])
    """
    fixed = threshold == 0
    # Clipped at 2, which is also above 1, so that a tiny threshold causes no overflow.
    ratio = np.minimum(np.abs(v), 2 * threshold) / np.where(fixed, 1, threshold)
    alive = (ratio * ratio).sum(axis=0) > 1
    alive |= (fixed & (v != 0)).any(axis=0)
    length = np.sqrt((v * v).sum(axis=0))
    # Three lower bounds of r: with all thresholds at their maximum; from the elements with
    # threshold 0 alone; and from each element alone, so that no ratio exceeds 1.
    r = np.maximum(
        length - threshold.max(axis=0, initial=0), np.sqrt((v * v).sum(axis=0, where=fixed))
    )
    r = np.maximum(r, (np.abs(v) - threshold).max(axis=0, initial=0))
    for _ in range(LARGEST_ITERATIONS):
        below = r + threshold
        below = np.where(below > 0, below, 1)
        ratio = v / below
        square = np.where(alive, (ratio * ratio).sum(axis=0), 1)
        slope = np.where(alive, (ratio * ratio / below).sum(axis=0), 1)
        # Newton on 1 - 1 / sqrt(square), which is nearly linear in r.
        step = square * (np.sqrt(square) - 1) / slope
        r = r + step
        if np.all(np.abs(step) <= 4 * np.finfo(v.dtype).eps * r):
            break
    below = r + threshold
    return np.where(alive, v * (r / np.where(below > 0, below, 1)), 0)
