"""Use of the network by each task, computed from the hard masks.

A mask is a boolean array of shape (D, K); ``mask[d, k]`` is True if unit ``k`` uses its weight from
input ``d``.  Functions with an argument ``masks`` expect one entry per task, in the order in which
the tasks were learned:

- a mask (D, K), for one layer, or
- a list of masks, one per hidden layer, whose weights are then counted together.

A network that has grown has larger masks for later tasks; a weight that did not exist yet was not
used.  All shares are fractions in 0..1 of the weights of the last, largest network.

Kumar et al. (2021), "Some Structural Observations" and "Learned Network Structures", show these
shares as percentages.
"""

import numpy as np


def used_weights(masks, caller="structure.used_weights"):
    """Return the masks of all tasks as one table: which task uses which weight.

    Parameters
    ----------
    masks : sequence of ndarray of bool, or of lists of them
        One entry per task: a mask (D, K), or a list with one mask per layer.
    caller : str
        Name of the function in error messages.

    Returns
    -------
    used : ndarray of bool, shape (T, M)
        One column for each of the M weights in all layers of the last network.

    Raises
    ------
    ValueError
        If ``masks`` are empty, a mask is not a 2-D array of booleans (or zeros and ones), tasks
        differ in their number of layers, or a mask is smaller than that of an earlier task.

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
    """Return a mask as a boolean array, after checking it.

    Parameters
    ----------
    mask : array_like, shape (D, K)
        Booleans, or zeros and ones; D and K at least 1.
    caller : str
        Name of the function in error messages.

    Returns
    -------
    mask : ndarray of bool, shape (D, K)
        A copy.

    Raises
    ------
    ValueError
        If ``mask`` is not a hard mask.
    """
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
    """Return the share of the network's weights that each task uses.

    Parameters
    ----------
    masks : sequence of ndarray of bool, or of lists of them
        One entry per task: a mask (D, K), or a list with one mask per layer.

    Returns
    -------
    shares : ndarray, shape (T,)
        In 0..1.

    Raises
    ------
    ValueError
        If ``masks`` are not valid, see :func:`used_weights`.

    Examples
    --------
    >>> density([np.array([[1, 0, 0, 0]]), np.array([[1, 1, 0, 0]])])
    array([0.25, 0.5 ])
    """
    return used_weights(masks, "structure.density").mean(axis=1)


def capacity_used(masks):
    r"""Return the share of the network in use after each task.

    It is the density of the union of the masks so far,

    .. math:: \frac{1}{M} \Bigl| \bigcup_{s \le t} B_s \Bigr|

    Kumar et al. (2021), figure "percentage of network filled or used after learning k tasks".

    Parameters
    ----------
    masks : sequence of ndarray of bool, or of lists of them
        One entry per task: a mask (D, K), or a list with one mask per layer.

    Returns
    -------
    shares : ndarray, shape (T,)
        In 0..1, never decreasing.

    Raises
    ------
    ValueError
        If ``masks`` are not valid, see :func:`used_weights`.

    Examples
    --------
    >>> capacity_used([np.array([[1, 0, 0, 0]]), np.array([[0, 1, 0, 0]])])
    array([0.25, 0.5 ])
    """
    return np.logical_or.accumulate(used_weights(masks, "structure.capacity_used")).mean(axis=1)


def capacity_added(masks):
    """Return the share of the network that each task is the first to use.

    Parameters
    ----------
    masks : sequence of ndarray of bool, or of lists of them
        One entry per task: a mask (D, K), or a list with one mask per layer.

    Returns
    -------
    shares : ndarray, shape (T,)
        In 0..1; their sum is the last value of :func:`capacity_used`.

    Raises
    ------
    ValueError
        If ``masks`` are not valid, see :func:`used_weights`.

    Examples
    --------
    >>> capacity_added([np.array([[1, 0, 0, 0]]), np.array([[1, 1, 0, 0]])])
    array([0.25, 0.25])
    """
    return np.diff(capacity_used(masks), prepend=0.0)


def sharing_matrix(masks):
    r"""Return the share of task i's weights that task j also uses.

    .. math:: S_{ij} = \frac{|B_i \cap B_j|}{|B_i|}

    Kumar et al. (2021), figure "percentage of weight sharing across tasks".  The matrix is not
    symmetric: a small mask may lie entirely inside a large one.

    Parameters
    ----------
    masks : sequence of ndarray of bool, or of lists of them
        One entry per task: a mask (D, K), or a list with one mask per layer.

    Returns
    -------
    sharing : ndarray, shape (T, T)
        In 0..1, with 1 on the diagonal; the row of a task that uses no weight is NaN.  Compare with
        :func:`chance_sharing`.

    Raises
    ------
    ValueError
        If ``masks`` are not valid, see :func:`used_weights`.

    Examples
    --------
    >>> sharing_matrix([np.array([[1, 1, 0, 0]]), np.array([[0, 1, 0, 0]])])
    array([[1. , 0.5],
           [1. , 1. ]])
    """
    used = used_weights(masks, "structure.sharing_matrix").astype(float)
    return _ratio(used @ used.T, used.sum(axis=1)[:, None])


def chance_sharing(masks):
    r"""Return the expected sharing matrix of independent masks with the same densities.

    .. math:: S_{ij} = |B_j| / M \quad (i \ne j), \qquad S_{ii} = 1

    Parameters
    ----------
    masks : sequence of ndarray of bool, or of lists of them
        One entry per task: a mask (D, K), or a list with one mask per layer.

    Returns
    -------
    sharing : ndarray, shape (T, T)
        In 0..1.

    Raises
    ------
    ValueError
        If ``masks`` are not valid, see :func:`used_weights`.

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

    Parameters
    ----------
    masks : sequence of ndarray of bool, or of lists of them
        One entry per task: a mask (D, K), or a list with one mask per layer.

    Returns
    -------
    shares : ndarray, shape (T,)
        In 0..1; NaN for the first task and for a task that uses no weight.

    Raises
    ------
    ValueError
        If ``masks`` are not valid, see :func:`used_weights`.

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
    """Return the share of units that use each input of a layer.

    Parameters
    ----------
    mask : array_like of bool, shape (D, K)
        Hard mask of the layer.

    Returns
    -------
    shares : ndarray, shape (D,)
        In 0..1.

    Raises
    ------
    ValueError
        If ``mask`` is not a hard mask.

    Examples
    --------
    >>> input_density(np.array([[1, 0], [0, 0]]))
    array([0.5, 0. ])
    """
    return as_mask(mask, "structure.input_density").mean(axis=1)


def density_dead_and_live(mask, mean_pixel, live_above=0.1):
    """Return the density of a mask on dead inputs, which are always zero, and on live inputs.

    A mask that follows the data is empty on dead inputs.  A mask that follows the prior alone has
    the same density on both.

    Parameters
    ----------
    mask : ndarray of bool, shape (D, K)
        Hard mask of the first layer.
    mean_pixel : ndarray, shape (D,)
        Mean of each input over the task's training images, pixels in 0..1.  An input is dead if its
        mean is exactly 0.
    live_above : float
        An input is live if its mean is above this value.

    Returns
    -------
    dead, live : float
        Densities in 0..1; NaN if there is no such input.

    Raises
    ------
    ValueError
        If ``mask`` is not a hard mask, or ``mean_pixel`` has another length or non-finite entries.

    Examples
    --------
    >>> density_dead_and_live(np.array([[0, 0], [1, 0], [1, 1]]), np.array([0.0, 0.05, 0.8]))
    (0.0, 1.0)
    """
    rows, mean_pixel = _rows_and_pixels(mask, mean_pixel, "structure.density_dead_and_live")
    dead = rows[mean_pixel == 0]
    live = rows[mean_pixel > live_above]
    return tuple(float(shares.mean()) if shares.size else float("nan") for shares in (dead, live))


def pixel_correlation(mask, mean_pixel):
    """Return the Pearson correlation, over inputs, of the mask's density with the mean pixel.

    Kumar et al. (2021), "Learned Network Structures": masks lie "on the pixel values where the
    digits have high value".

    Parameters
    ----------
    mask : ndarray of bool, shape (D, K)
        Hard mask of the first layer.
    mean_pixel : ndarray, shape (D,)
        Mean of each input over the task's training images.

    Returns
    -------
    correlation : float
        In -1..1; NaN if the density or the mean pixel is the same for all inputs.

    Raises
    ------
    ValueError
        If ``mask`` is not a hard mask, or ``mean_pixel`` has another length or non-finite entries.

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
    """Return the density of each input row and the mean pixels, after checking their lengths."""
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
