r"""Proximal operators: the step that a penalty with a kink takes, and that puts weights at zero
exactly.

The operator of a penalty h moves a point v as little as h makes worthwhile,

.. math:: \mathrm{prox}(v) = \arg\min_w\; h(w) + \tfrac12 \sum_i \frac{(w_i - v_i)^2}{s_i},

with a step size :math:`s_i` for each element, as Adam has it.  After a gradient step of these sizes
on a loss f it leaves exactly the minimizers of f + h where they are (Parikh and Boyd, 2014,
"Proximal Algorithms", Sec. 4.2; with step sizes by element: Yun, Lozano and Yang, 2021, "Adaptive
Proximal Gradient Methods for Structured Neural Networks"). There is no ``_vjp``: nobody
differentiates through these.
"""

import numpy as np

# Newton's method on a concave function, from below its root: it never overshoots, and doubles the
# digits each time.
LARGEST_ITERATIONS = 60


def soft_threshold(v, threshold):
    r"""Pull each element towards zero, and leave it there if it gets that far: the operator of a
    sum of magnitudes.

    .. math:: \mathrm{prox}(v)_i = \operatorname{sign}(v_i) \max(0, |v_i| - t_i), \qquad
              h(w) = \lambda \sum_i |w_i|, \; t_i = \lambda s_i

    Parikh and Boyd (2014), Sec. 6.5.2.

    Parameters
    ----------
    v : ndarray
        Any real.
    threshold : ndarray
        The thresholds t, >= 0, of the shape of ``v``, or one for all.

    Returns
    -------
    w : ndarray
        Of the shape of ``v``.

    Examples
    --------
    >>> soft_threshold(np.array([3.0, -0.5, -2.0]), 1.0)
    array([ 2., -0., -1.])
    """
    return np.sign(v) * np.maximum(np.abs(v) - threshold, 0)


def group_shrink(v, threshold):
    r"""Pull each column towards zero as a whole: the operator of the group lasso.

    .. math:: \mathrm{prox}(v)_{dk} = v_{dk}\, \frac{r_k}{r_k + t_{dk}}, \qquad
              \sum_d \Bigl(\frac{v_{dk}}{r_k + t_{dk}}\Bigr)^2 = 1, \qquad
              h(w) = \gamma \sum_k \sqrt{\sum_d w_{dk}^2}, \; t_{dk} = \gamma s_{dk},

    where :math:`r_k` is the length of the new column, and the column is 0 if :math:`\sum_d (v_{dk}
    / t_{dk})^2 \le 1`. With one threshold for a whole column this is :math:`v\, (1 - t / \|v\|)`
    (Yuan and Lin, 2006; Parikh and Boyd, 2014, Sec. 6.5.1).  After :func:`soft_threshold` it is the
    operator of both penalties together, for any step sizes: both keep the signs, and what is 0
    stays 0.

    Parameters
    ----------
    v : ndarray, shape (D, K)
        Columns, any real.
    threshold : ndarray, shape (D, K)
        The thresholds t, >= 0; an element with threshold 0 stays where it is.

    Returns
    -------
    w : ndarray, shape (D, K)
        Columns that are not longer, some of them 0.

    Examples
    --------
    >>> group_shrink(np.array([[3.0, 0.3], [4.0, 0.4]]), np.ones((2, 2)))
    array([[2.4, 0. ],
           [3.2, 0. ]])
    """
    fixed = threshold == 0
    # Cut off at 2, which is above 1 as well, so that a tiny threshold overflows nothing.
    ratio = np.minimum(np.abs(v), 2 * threshold) / np.where(fixed, 1, threshold)
    alive = (ratio * ratio).sum(axis=0) > 1
    alive |= (fixed & (v != 0)).any(axis=0)
    length = np.sqrt((v * v).sum(axis=0))
    # Three lower bounds of r: all thresholds at their largest; only the elements that stay; one
    # element alone, so that no ratio is above 1.
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
