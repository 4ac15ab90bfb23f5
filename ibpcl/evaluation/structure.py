r"""Which part of the network each task uses: numbers computed from the hard masks.

A mask is a boolean array of shape (D, K), ``mask[d, k]`` telling whether unit ``k`` uses its weight
from input ``d``. Functions that take ``masks`` expect one entry per task, in the order in which the
tasks were learned:

- a mask (D, K), for one layer, or
- a list of masks, one per hidden layer, whose weights are then counted together.

A network that was expanded has larger masks for later tasks; a weight that did not exist yet was
not used.  All shares are fractions in 0..1 of the weights of the last, largest network.

Kumar et al. (2021), "Some Structural Observations" and "Learned Network Structures", show these as
percentages.
"""

import numpy as np


def used_weights(masks, caller="structure.used_weights"):
    """Lay all masks out as one table: which task uses which weight.

    Returns
    -------
    ndarray of bool, shape (T, M)
        M counts the weights of all layers of the last network.

    Raises
    ------
    ValueError
        If there is no mask, one is not a 2-D array of booleans (or zeros and ones), tasks differ in
        their number of layers, or a mask is smaller than the mask of an earlier task.

    Examples
    --------
    >>> used_weights([np.array([[True, False]]), np.array([[True, True]])])
    array([[ True, False],
           [ True,  True]])
    """
    tasks = [[task] if getattr(task, "ndim", None) == 2 else list(task) for task in masks]
    if not tasks or not tasks[0]:
        raise ValueError(f"{caller}: masks must hold at least one mask, got none")
    tasks = [[as_mask(layer, caller) for layer in task] for task in tasks]
    for t in range(1, len(tasks)):
        if len(tasks[t]) != len(tasks[0]):
            raise ValueError(
                f"{caller}: every task must have {len(tasks[0])} layers as the first has, "
                f"got {len(tasks[t])} for task {t}"
            )
        for earlier, later in zip(tasks[t - 1], tasks[t], strict=True):
            if later.shape[0] < earlier.shape[0] or later.shape[1] < earlier.shape[1]:
                raise ValueError(
                    f"{caller}: a mask may only grow from task to task, got {later.shape} for "
                    f"task {t} after {earlier.shape}"
                )
    table = []
    for task in tasks:
        grown = [
            np.pad(
                layer, [(0, last.shape[0] - layer.shape[0]), (0, last.shape[1] - layer.shape[1])]
            )
            for layer, last in zip(task, tasks[-1], strict=True)
        ]
        table.append(np.concatenate([layer.ravel() for layer in grown]))
    return np.array(table)


def as_mask(mask, caller="structure.as_mask"):
    """Return one mask as a boolean array (D, K), or raise ValueError if it is none."""
    mask = np.asarray(mask)
    if mask.ndim != 2 or mask.size == 0:
        raise ValueError(
            f"{caller}: a mask must have shape (D, K), D and K at least 1, got {mask.shape}"
        )
    if mask.dtype != bool and not np.isin(mask, (0, 1)).all():
        raise ValueError(
            f"{caller}: a mask must be hard, True or False, got {mask.dtype} values "
            f"in {mask.min():g}..{mask.max():g}"
        )
    return mask.astype(bool)


def density(masks):
    """Return the share of the network's weights that each task uses, shape (T,).

    Examples
    --------
    >>> density([np.array([[1, 0, 0, 0]]), np.array([[1, 1, 0, 0]])])
    array([0.25, 0.5 ])
    """
    return used_weights(masks, "structure.density").mean(axis=1)


def capacity_used(masks):
    r"""Return the share of the network filled after each task: the density of the union of masks,
    shape (T,).

    .. math:: \frac{1}{M} \Bigl| \bigcup_{s \le t} B_s \Bigr|

    Kumar et al. (2021), figure "percentage of network filled or used after learning k tasks".

    Examples
    --------
    >>> capacity_used([np.array([[1, 0, 0, 0]]), np.array([[0, 1, 0, 0]])])
    array([0.25, 0.5 ])
    """
    return np.logical_or.accumulate(used_weights(masks, "structure.capacity_used")).mean(axis=1)


def capacity_added(masks):
    """Return the share of the network that each task is the first to use, shape (T,); it sums to
    the capacity used.

    Examples
    --------
    >>> capacity_added([np.array([[1, 0, 0, 0]]), np.array([[1, 1, 0, 0]])])
    array([0.25, 0.25])
    """
    return np.diff(capacity_used(masks), prepend=0.0)


def sharing_matrix(masks):
    r"""Return the share of task i's weights that task j uses too.

    .. math:: S_{ij} = \frac{|B_i \cap B_j|}{|B_i|}

    Kumar et al. (2021), figure "percentage of weight sharing across tasks".  Not symmetric: a small
    mask may lie wholly inside a large one.

    Returns
    -------
    ndarray, shape (T, T)
        The diagonal is 1; the row of a task that uses no weight is NaN.  Compare with
        :func:`chance_sharing`.

    Examples
    --------
    >>> sharing_matrix([np.array([[1, 1, 0, 0]]), np.array([[0, 1, 0, 0]])])
    array([[1. , 0.5],
           [1. , 1. ]])
    """
    used = used_weights(masks, "structure.sharing_matrix").astype(float)
    return _ratio(used @ used.T, used.sum(axis=1)[:, None])


def chance_sharing(masks):
    r"""Return the sharing matrix to expect of masks of these densities that lie independently of
    each other.

    .. math:: S_{ij} = |B_j| / M \quad (i \ne j), \qquad S_{ii} = 1

    Examples
    --------
    >>> chance_sharing([np.array([[1, 1, 0, 0]]), np.array([[0, 1, 0, 0]])])
    array([[1.  , 0.25],
           [0.5 , 1.  ]])
    """
    per_task = density(masks)
    return np.where(np.eye(len(per_task), dtype=bool), 1.0, per_task)


def sharing_with_earlier(masks):
    r"""Return the share of each task's weights that some earlier task uses.

    .. math:: \frac{|B_t \cap \bigcup_{s < t} B_s|}{|B_t|}

    Chance level for task t is ``capacity_used(masks)[t - 1]``.

    Returns
    -------
    ndarray, shape (T,)
        NaN for the first task, which has no earlier one, and for a task that uses no weight.

    Examples
    --------
    >>> sharing_with_earlier([np.array([[1, 0, 0, 0]]), np.array([[1, 1, 0, 0]])])
    array([nan, 0.5])
    """
    used = used_weights(masks, "structure.sharing_with_earlier")
    earlier = np.logical_or.accumulate(used)[:-1]
    shared = _ratio((used[1:] & earlier).sum(axis=1), used[1:].sum(axis=1))
    return np.concatenate([[np.nan], shared])


def input_density(mask):
    """Return the share of the units that use each input of one layer, shape (D,).

    Examples
    --------
    >>> input_density(np.array([[1, 0], [0, 0]]))
    array([0.5, 0. ])
    """
    return as_mask(mask, "structure.input_density").mean(axis=1)


def density_dead_and_live(mask, mean_pixel, live_above=0.1):
    """Return the density of one mask on inputs that are never lit, and on inputs that are often
    lit.

    A mask that follows the data is empty on dead inputs; one that follows the prior alone has the
    same density on both.

    Parameters
    ----------
    mask : ndarray of bool, shape (D, K)
    mean_pixel : ndarray, shape (D,)
        Mean of each input over the task's training images, pixels in 0..1.  Dead means exactly 0.
    live_above : float
        Live means a mean above this; 0.1 by default.

    Returns
    -------
    (dead, live) : tuple of float
        In 0..1; NaN where there is no such input.

    Examples
    --------
    >>> density_dead_and_live(np.array([[0, 0], [1, 0], [1, 1]]), np.array([0.0, 0.05, 0.8]))
    (0.0, 1.0)
    """
    rows, mean_pixel = _rows_and_pixels(mask, mean_pixel, "structure.density_dead_and_live")
    dead = rows[mean_pixel == 0]
    live = rows[mean_pixel > live_above]
    return tuple(float(part.mean()) if part.size else float("nan") for part in (dead, live))


def pixel_correlation(mask, mean_pixel):
    """Return the Pearson correlation, over inputs, of the mask's density with the mean pixel.

    Kumar et al. (2021), "Learned Network Structures": masks lie "on the pixel values where the
    digits have high value".

    In -1..1; NaN if one of the two is the same for all inputs.

    Examples
    --------
    >>> round(pixel_correlation(np.array([[0, 0], [1, 0], [1, 1]]), np.array([0.0, 0.5, 1.0])), 6)
    1.0
    """
    rows, mean_pixel = _rows_and_pixels(mask, mean_pixel, "structure.pixel_correlation")
    if np.ptp(rows) == 0 or np.ptp(mean_pixel) == 0:
        return float("nan")
    return float(np.corrcoef(rows, mean_pixel)[0, 1])


def _rows_and_pixels(mask, mean_pixel, caller):
    """Return the density of each input row and the mean pixels, checked to be of one length."""
    rows = as_mask(mask, caller).mean(axis=1)
    mean_pixel = np.asarray(mean_pixel, dtype=float)
    if mean_pixel.shape != rows.shape:
        raise ValueError(
            f"{caller}: mean_pixel must have shape {rows.shape}, one value per input of the mask, "
            f"got {mean_pixel.shape}"
        )
    if not np.isfinite(mean_pixel).all():
        raise ValueError(
            f"{caller}: mean_pixel must be finite, got {(~np.isfinite(mean_pixel)).sum()} NaN or "
            "infinite"
        )
    return rows, mean_pixel


def _ratio(part, whole):
    """Divide, with NaN where the whole is 0."""
    return np.divide(part, whole, out=np.full(np.shape(part), np.nan), where=whole > 0)
