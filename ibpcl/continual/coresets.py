"""Coresets: a few examples of a task, kept to refresh the memory of it before predictions.

Kumar et al. (2021), Sec. 4.3 and supplement, "Coreset Method Explanation"; Nguyen, Li, Bui and
Turner (2018), "Variational Continual Learning", Sec. 3.
"""

import numpy as np

from ibpcl.blas_threads import on_one_thread
from ibpcl.errors import TrainingError
from ibpcl.inference.objectives import Data


def random(x, size, rng):
    """Choose ``size`` of the examples x (N, D) at random, without replacement; return their rows
    (size,).

    Raises
    ------
    ValueError, TrainingError
        If the size is below 1; if there are fewer examples.

    Examples
    --------
    >>> len(set(random(np.zeros((9, 2)), 5, np.random.default_rng(0))))
    5
    """
    _check("coresets.random", x, size)
    return rng.choice(len(x), size, replace=False)


@on_one_thread
def k_center(x, size, rng):
    r"""Choose examples so that none of the others is far from all of them.

    Greedy: after a random first centre, each next one is the example farthest from its nearest
    centre,

    .. math:: c_{m + 1} = \arg\max_n \min_{i \le m} \lVert x_n - c_i \rVert.

    The largest distance that is left is at most twice the best possible (Gonzalez, 1985,
    "Clustering to minimize the maximum intercluster distance").  Distances to the nearest centre
    are kept, so a centre costs one pass: O(N m D). Arguments, result and errors as of
    :func:`random`; ``rng`` draws the first centre.

    >>> x = np.array([[0.0], [0.1], [5.0], [5.1], [9.0]])
    >>> sorted(int(row) // 2 for row in k_center(x, 3, np.random.default_rng(0)))
    [0, 1, 2]
    """
    _check("coresets.k_center", x, size)
    # |x - c|^2 = |x|^2 - 2 x c + |c|^2: one matrix-vector product a centre, no (N, D) temporary.
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
    """Return the examples of a task to train on, and its coreset: each a ``Data``, the second None
    for "none".

    Other words of ``selection`` are those of :data:`SELECTIONS`; ``size`` and ``rng`` are as of
    :func:`random`.  If nothing is left to train on, a TrainingError names the ``caller``.
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
