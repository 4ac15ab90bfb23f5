"""Coresets: a few training examples per task, replayed before predictions to refresh the memory.

Kumar et al. (2021), Sec. 4.3 and supplement, "Coreset Method Explanation"; Nguyen, Li, Bui and
Turner (2018), "Variational Continual Learning", Sec. 3.
"""

import numpy as np

from ibpcl.blas_threads import on_one_thread
from ibpcl.errors import TrainingError
from ibpcl.inference.objectives import Data


def random(x, size, rng):
    """Choose examples at random, without replacement.

    Parameters
    ----------
    x : ndarray, shape (N, D)
        The examples.
    size : int
        Number of examples to choose, in 1 .. N.
    rng : numpy.random.Generator
        Source of the random numbers.

    Returns
    -------
    rows : ndarray of int, shape (size,)
        Row numbers of the chosen examples.

    Raises
    ------
    ValueError
        If ``size`` is below 1.
    ibpcl.errors.TrainingError
        If there are fewer examples than ``size``.

    Examples
    --------
    >>> len(set(random(np.zeros((9, 2)), 5, np.random.default_rng(0))))
    5
    """
    _check("coresets.random", x, size)
    return rng.choice(len(x), size, replace=False)


@on_one_thread
def k_center(x, size, rng):
    r"""Choose examples that cover the data: every example is close to a chosen one.

    The greedy algorithm draws the first centre at random.  Each further centre is the example that
    is farthest from its nearest centre,

    .. math:: c_{m + 1} = \arg\max_n \min_{i \le m} \lVert x_n - c_i \rVert.

    The largest distance to the nearest centre is at most twice the smallest possible (Gonzalez,
    1985, "Clustering to minimize the maximum intercluster distance").  The cost is O(N D) per
    centre, because the distances to the nearest centre are stored.

    Parameters
    ----------
    x : ndarray, shape (N, D)
        The examples.
    size : int
        Number of examples to choose, in 1 .. N.
    rng : numpy.random.Generator
        Source of the first centre.

    Returns
    -------
    rows : ndarray of int, shape (size,)
        Row numbers of the chosen examples, in the order of choice.

    Raises
    ------
    ValueError
        If ``size`` is below 1.
    ibpcl.errors.TrainingError
        If there are fewer examples than ``size``.

    Examples
    --------
    >>> x = np.array([[0.0], [0.1], [5.0], [5.1], [9.0]])
    >>> sorted(int(row) // 2 for row in k_center(x, 3, np.random.default_rng(0)))
    [0, 1, 2]
    """
    _check("coresets.k_center", x, size)
    # |x - c|^2 = |x|^2 - 2 x c + |c|^2: one matrix-vector product per centre, no (N, D) temporary.
    squares = np.einsum("nd,nd->n", x, x)
    nearest = np.full(len(x), np.inf)
    rows = np.empty(size, np.int64)
    row = int(rng.integers(len(x)))
    for m in range(size):
        rows[m] = row
        np.minimum(nearest, squares - 2 * (x @ x[row]) + squares[row], out=nearest)
        # rounding must not let a centre be chosen again
        nearest[row] = -np.inf
        row = int(np.argmax(nearest))
    return rows


SELECTIONS = {"random": random, "k_center": k_center}


def take_out(caller, task, selection, size, rng):
    """Split the training examples of a task into those to train on and a coreset.

    Parameters
    ----------
    caller : str
        Name of the method, which begins the message of an error.
    task : ibpcl.continual.task.Task
        The task.
    selection : {"none", "random", "k_center"}
        How the coreset is chosen; "none" for no coreset.
    size : int
        Number of examples in the coreset, at least 1 and less than the number of examples.
    rng : numpy.random.Generator
        Source of the random numbers.

    Returns
    -------
    data : ibpcl.inference.objectives.Data
        The examples to train on.
    coreset : ibpcl.inference.objectives.Data or None
        The coreset; None for "none".

    Raises
    ------
    ValueError
        If ``size`` is below 1.
    ibpcl.errors.TrainingError
        If there are fewer examples than ``size``, or none would be left to train on.
    """
    data = Data(task.x_train, task.y_train)
    if selection == "none":
        return data, None
    chosen = np.zeros(len(data.x), bool)
    chosen[SELECTIONS[selection](data.x, size, rng)] = True
    if chosen.all():
        raise TrainingError(
            f"{caller}: the coreset takes all {len(data.x)} examples of task {task.name!r}; "
            "make coreset_size smaller"
        )
    return Data(data.x[~chosen], data.y[~chosen]), Data(data.x[chosen], data.y[chosen])


def _check(caller, x, size):
    if size < 1:
        raise ValueError(f"{caller}: size must be at least 1, got {size}")
    if size > len(x):
        raise TrainingError(
            f"{caller}: cannot choose {size} of {len(x)} examples; make coreset_size smaller"
        )
