r"""A stream of minibatches in which one task turns gradually into the next, unannounced.

Zeno et al. (2018), "Task Agnostic Continual Learning Using Online Variational Bayes", Sec. 5: the
probability that an example belongs to a task rises and falls over time, and nothing shows the
learner where a task begins.  Here time s runs from 0 to the number of tasks T, and task t is the
most probable one for t <= s < t + 1.  Around each boundary, the probability passes linearly from
one task to the next, over a width of w tasks:

.. math::

    P(t \mid s) = f_t(s) - f_{t+1}(s), \qquad
    f_t(s) = \min\Bigl(1, \max\Bigl(0, \frac12 + \frac{s - t}{w}\Bigr)\Bigr),
    \qquad f_0 = 1,\; f_T = 0.

With w = 0 the boundaries are sharp, but still unannounced.  With w = 1 the mixture changes all the
time.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ibpcl.inference.loop import minibatches
from ibpcl.noise import Key, generator

# Noise stream of the choice of tasks; the one of the order of the examples is ORDER_STREAM.
CHOICE_STREAM = 2**32 - 2


def begun(time, tasks, width):
    r"""Return :math:`f_t(s)` of every task but the first, the probability that it has begun.

    Parameters
    ----------
    time : array_like, shape (N,)
        Times s, in 0 .. tasks.
    tasks : int
        Number of tasks T.
    width : float
        Width w of a cross-fade, in 0 .. 1 tasks.

    Returns
    -------
    f : ndarray, shape (N, T - 1)
        Column t - 1 belongs to task t.

    Examples
    --------
    >>> begun([0.5, 0.875, 1.0, 1.5], tasks=2, width=0.5).ravel().tolist()
    [0.0, 0.25, 0.5, 1.0]
    """
    since = np.asarray(time, float)[:, None] - np.arange(1, tasks)
    if width < np.finfo(float).tiny:  # half of such a width may be rounded to 0
        return (since >= 0).astype(float)
    return 0.5 + np.clip(since, -width / 2, width / 2) / width


class Minibatch(NamedTuple):
    """A minibatch of the stream.

    Attributes
    ----------
    x : ndarray, shape (N, D)
        Inputs.
    y : ndarray of int, shape (N,)
        Labels.
    tasks : ndarray of int, shape (N,)
        Task of each example, which the learner does not see.
    last : bool
        Whether the minibatch ends a pass over the examples of the segment.
    """

    x: np.ndarray
    y: np.ndarray
    tasks: np.ndarray
    last: bool


@dataclass(frozen=True, eq=False)
class BlendedStream:
    """Tasks that turn gradually into one another.

    ``stream[t]`` is the underlying task, for tests; :meth:`minibatches` is what a learner sees.
    Segment t is the time t <= s < t + 1.

    Parameters
    ----------
    base : sequence of ibpcl.continual.task.Task
        The tasks: classifications with the same inputs and classes.
    width : float
        Width w of a cross-fade, in 0 .. 1 tasks.
    seed : int
        Seed of the order of the examples and of the choice of their tasks.

    Raises
    ------
    ValueError
        If ``width`` is out of range.
    """

    base: object
    width: float = 0.5
    seed: int = 0

    def __post_init__(self):
        if not 0 <= self.width <= 1:
            raise ValueError(f"BlendedStream: width must be in 0 .. 1, got {self.width}")

    def __len__(self):
        return len(self.base)

    def __getitem__(self, t):
        return self.base[t]

    def minibatches(self, t, batch, passes):
        """Yield the minibatches of a segment.

        Each pass goes through the examples of task t in a new order, the one in which methods
        without noise learn the task (:func:`ibpcl.inference.loop.minibatches`).  Where another task
        is drawn, a random example of that task takes the place.

        Parameters
        ----------
        t : int
            Number of the segment, from 0.
        batch : int
            Largest number of examples in a minibatch.
        passes : int
            Number of passes over the examples of task t.

        Yields
        ------
        minibatch : Minibatch
            In the order of the stream; the same for the same arguments and seed.
        """
        # a cross-fade reaches at most the tasks before and after
        near = {s: self.base[s] for s in range(max(0, t - 1), min(len(self), t + 2))}
        own = near[t]
        examples = len(own.x_train)
        for done in range(passes):
            key = Key(self.seed, t, done, CHOICE_STREAM)
            rng = generator(key)
            time = t + (done + np.arange(examples) / examples) / passes
            shares = begun(time, len(self), self.width)
            chosen = (rng.random((examples, 1)) < shares).sum(axis=1)
            other_rows = rng.random(examples)
            place = 0
            batches = minibatches(examples, batch, key)
            for i, rows in enumerate(batches):
                slots = slice(place, place + len(rows))
                place += len(rows)
                x = own.x_train[rows]
                y = own.y_train[rows]
                for s in near.keys() - {t}:
                    here = np.flatnonzero(chosen[slots] == s)
                    drawn = (other_rows[slots][here] * len(near[s].x_train)).astype(int)
                    x[here] = near[s].x_train[drawn]
                    y[here] = near[s].y_train[drawn]
                yield Minibatch(x, y, chosen[slots], i == len(batches) - 1)

    def examples(self):
        """Return the mean number of training examples of a task, rounded.

        Returns
        -------
        examples : int
            The number by which a learner that does not know the tasks scales its likelihood.
        """
        return round(np.mean([len(self.base[t].x_train) for t in range(len(self))]))
