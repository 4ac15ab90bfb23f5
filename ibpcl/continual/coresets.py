"""Coresets: a few training examples per task, replayed before predictions to refresh the memory.

Kumar et al. (2021), Sec. 4.3 and supplement, "Coreset Method Explanation"; Nguyen, Li, Bui and
Turner (2018), "Variational Continual Learning", Sec. 3.
"""

from typing import NamedTuple

import numpy as np

from ibpcl.blas_threads import on_one_thread
from ibpcl.errors import TrainingError
from ibpcl.inference.objectives import Data
from ibpcl.noise import Key

# Number of the first random key of released points; those of a task's phases are far below.
RELEASED_KEYS = 2**31


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
# How the coresets of several tasks are chosen.
FROM = ("per_task", "reselected")


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
        raise _takes_all(caller, task)
    return Data(data.x[~chosen], data.y[~chosen]), Data(data.x[chosen], data.y[chosen])


class Reselection(NamedTuple):
    r"""Result of choosing the coreset :math:`C_t` again, see :func:`reselect`.

    Attributes
    ----------
    data : Data
        Examples :math:`D_t \setminus C_t` of the new task, to train on.
    coresets : tuple of Data or None
        Examples :math:`C_t \cap D_s` of each task s = 0 .. t; None if there are none.
    released : tuple of Data or None
        Examples :math:`(C_{t-1} \setminus C_t) \cap D_s` of each earlier task s = 0 .. t - 1, to
        train on; None if there are none.
    """

    data: Data
    coresets: tuple
    released: tuple


def reselect(caller, task, earlier, selection, size, rng):
    r"""Choose the coreset of all tasks from the new task and the old coreset.

    .. math:: C_t \subseteq D_t \cup C_{t-1}, \qquad |C_t| = \text{size}

    Kumar et al. (2021), supplement C: "a new coreset is produced by selecting a few points from the
    new task and the old coreset".  The points :math:`C_{t-1} \setminus C_t` leave the coreset and
    become training data.

    .. warning::
        The new task has many more examples than the old coreset.  A random choice therefore keeps
        almost no example of earlier tasks: of 50 old and 12,000 new examples, 50 drawn at random
        contain 0.2 old ones on average.  docs/parts.md shows the counts.

    Parameters
    ----------
    caller : str
        Name of the method, which begins the message of an error.
    task : ibpcl.continual.task.Task
        The new task.
    earlier : sequence of Data or None
        Examples :math:`C_{t-1} \cap D_s` of each earlier task s; None for a task without any.
    selection : {"random", "k_center"}
        How the coreset is chosen.
    size : int
        Number of examples in the coreset of all tasks together, at least 1.
    rng : numpy.random.Generator
        Source of the random numbers.

    Returns
    -------
    reselection : Reselection
        The new coreset, and the examples to train on.

    Raises
    ------
    ValueError
        If ``size`` is below 1.
    ibpcl.errors.TrainingError
        If there are fewer examples than ``size``, or none of the new task would be left.

    Examples
    --------
    >>> from ibpcl.continual.task import Task
    >>> task = Task("new", np.eye(4), [0, 1, 0, 1], np.eye(4), [0, 1, 0, 1])
    >>> old = Data(np.full((2, 4), 5.0), np.array([1, 1]))
    >>> chosen = reselect("doctest", task, [old], "k_center", 2, np.random.default_rng(0))
    >>> [len(part.x) for part in chosen.coresets], len(chosen.released[0].x), len(chosen.data.x)
    ([1, 1], 1, 3)
    """
    new = Data(task.x_train, task.targets)
    parts = [part for part in earlier if part is not None]
    pool = np.concatenate([*(part.x for part in parts), new.x])
    chosen = np.zeros(len(pool), bool)
    chosen[SELECTIONS[selection](pool, size, rng)] = True
    coresets = []
    released = []
    first = 0
    for part in (*earlier, new):
        examples = 0 if part is None else len(part.x)
        kept = chosen[first : first + examples]
        coresets.append(_rows(part, kept))
        released.append(_rows(part, ~kept))
        first += examples
    data = released.pop()
    if data is None:
        raise _takes_all(caller, task)
    return Reselection(data, tuple(coresets), tuple(released))


def released_key(seed, task_id, source):
    """Return the random key of training on the points of a task that leave the coreset.

    Parameters
    ----------
    seed : int
        Seed of the learner.
    task_id : int
        The new task t, at whose arrival the points leave.
    source : int
        The earlier task to which the points belong, in 0 .. t - 1.

    Returns
    -------
    key : ibpcl.noise.Key
        A separate key for each pair of tasks, which no other phase has.

    Examples
    --------
    >>> keys = {released_key(0, t, s) for t in range(5) for s in range(t)}
    >>> len(keys)
    10
    """
    return Key(seed, RELEASED_KEYS + task_id * (task_id - 1) // 2 + source, 0, 0)


def _rows(data, chosen):
    """Return the chosen rows of a data set, or None if there are none."""
    return Data(data.x[chosen], data.y[chosen]) if chosen.any() else None


def _takes_all(caller, task):
    return TrainingError(
        f"{caller}: the coreset takes all {len(task.x_train)} examples of task {task.name!r}; "
        "make coreset_size smaller"
    )


def _check(caller, x, size):
    if size < 1:
        raise ValueError(f"{caller}: size must be at least 1, got {size}")
    if size > len(x):
        raise TrainingError(
            f"{caller}: cannot choose {size} of {len(x)} examples; make coreset_size smaller"
        )
