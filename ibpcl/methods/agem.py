r"""A-GEM, averaged GEM: no step may increase the mean loss on the earlier tasks' examples.

Chaudhry et al. (2019), "Efficient lifelong learning with A-GEM", Sec. 4.  With the gradient g of
the loss of a minibatch, and the gradient :math:`g_{ref}` of the mean loss on all stored examples, a
step follows

.. math::

    \tilde g = g - \frac{g^\top g_{ref}}{g_{ref}^\top g_{ref}}\, g_{ref}
    \quad \text{if } g^\top g_{ref} < 0, \qquad \tilde g = g \quad \text{otherwise}.

It is the nearest vector to g with :math:`\tilde g^\top g_{ref} \ge 0`: the problem of GEM
(:mod:`ibpcl.methods.gem`) with one constraint for all earlier tasks.  With one earlier task the two
methods are the same.  The paper draws a batch of the stored examples in each step; here all of them
are used.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual.learner import Saved
from ibpcl.methods.gem import Episodic, learn_projected
from ibpcl.methods.sequential import Context, PlainClassifier, predict
from ibpcl.methods.settings_docs import documented


@documented
@dataclass(frozen=True, init=False)
class Settings(Episodic):
    """Settings of A-GEM."""

    method = "agem"


def project(gradient, reference):
    r"""Return the nearest vector that has no negative inner product with a reference.

    .. math:: \tilde g = g - \frac{\min(g^\top g_{ref}, 0)}{g_{ref}^\top g_{ref}}\, g_{ref}

    Parameters
    ----------
    gradient : ndarray, shape (Q,)
        The gradient g.
    reference : ndarray, shape (Q,)
        The reference :math:`g_{ref}`.

    Returns
    -------
    projected : ndarray, shape (Q,)
        The vector, computed in float64; ``gradient`` itself if it needs no change, and NaN if the
        inner product is NaN.

    Examples
    --------
    >>> project(np.array([-3.0, 1.0]), np.array([2.0, 0.0]))
    array([0., 1.])
    """
    reference = np.asarray(reference, float)
    product = reference @ np.asarray(gradient, float)
    if product >= 0:
        return gradient
    return gradient - product / (reference @ reference) * reference


def reference_of(gradients, examples):
    """Return the gradient of the mean loss on all stored examples.

    Parameters
    ----------
    gradients : ndarray, shape (S, Q)
        Gradient of the mean loss on the stored examples of each task, from
        :func:`ibpcl.methods.gem.memory_gradients`.
    examples : ndarray of int, shape (S,)
        Number of stored examples of each task.

    Returns
    -------
    reference : ndarray, shape (Q,)
        Mean of the rows, weighted by the numbers of examples.

    Examples
    --------
    >>> reference_of(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([30, 10]))
    array([0.75, 0.25])
    """
    return examples / examples.sum() @ gradients


def learn_task(context, task):
    """Learn one more task with A-GEM.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task: ``learner.context`` of a learner.
    task : ibpcl.continual.task.Task
        The next task.

    Returns
    -------
    state : ibpcl.methods.sequential.State
        State with the task added, and with its stored examples.
    history : list of ibpcl.inference.loop.Record
        One row per epoch.

    Raises
    ------
    TypeError
        If the task is of another kind than the model learns.
    ValueError
        If the task does not fit the network.
    TrainingError
        If the loss or the projected gradient is not finite.
    """
    return learn_projected(
        context,
        task,
        lambda gradient, gradients, examples: project(gradient, reference_of(gradients, examples)),
    )


class AGEM(Saved):
    """Learner with averaged gradient episodic memory.

    Chaudhry et al. (2019), "Efficient lifelong learning with A-GEM".

    Parameters
    ----------
    settings : Settings, optional
        Hyperparameters; all defaults if not given.
    seed : int, default 0
        Seed of all random numbers, in 0 .. 2**64 - 1.  Equal seeds, settings and tasks give equal
        results.
    backend_name : {"numba", "numpy"}, default "numba"
        Library that runs the numerical kernels: compiled loops, or plain NumPy.  NumPy also
        replaces Numba where Numba is not available.

    Attributes
    ----------
    settings : Settings
        The hyperparameters.
    seed : int
        The seed.
    backend : ibpcl.inference.backend.Backend
        The numerical backend.
    model : ibpcl.methods.sequential.PlainClassifier
        Builds the network of a task and selects the parameters that tasks share.
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` holds ``x{s}`` and ``y{s}``, the
        stored examples of task s, and ``examples{s}``, its number of training examples.
    name : str
        Name of the method, ``"agem"``.
    learned : int
        Number of tasks learned so far.
    inputs : int or None
        Width D of the examples; None before the first task.
    context : ibpcl.methods.sequential.Context
        Inputs of every step of the method, for the current state.

    Raises
    ------
    ValueError
        If ``backend_name`` is neither "numba" nor "numpy".

    Examples
    --------
    >>> from ibpcl.continual.task import Task
    >>> task = Task("xor", [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], [[0, 0]], [0])
    >>> learner = AGEM(Settings(hidden=(8,), epochs=1), backend_name="numpy")
    >>> history = learner.learn(task, progress=False)
    >>> learner.predict([[0.0, 1.0]], task_id=0).shape
    (1, 2)
    """

    settings_type = Settings
    model_type = PlainClassifier
    context_type = Context

    def learn(self, task, progress=None):
        """Learn the next task.

        Parameters
        ----------
        task : ibpcl.continual.task.Task
            A classification with inputs as wide as those of the earlier tasks.
        progress : bool or ibpcl.inference.loop.Watch, optional
            True shows progress bars, False hides them; by default they are shown on a terminal
            only.  A Watch also receives every epoch.

        Returns
        -------
        history : list of ibpcl.inference.loop.Record
            One row per epoch, with the parts of the objective in nats for the whole task.

        Raises
        ------
        TypeError
            If ``task`` is not a Task, or not a classification.
        ValueError
            If its inputs are wider or narrower than those of earlier tasks, or it does not fit the
            single head.
        TrainingError
            If the loss or the projected gradient is not finite.
        """
        return self.turn(learn_task, task, progress)

    def predict(self, x, task_id):
        """Return class probabilities for inputs of a learned task.

        Parameters
        ----------
        x : array_like, shape (N, D)
            Inputs, finite real numbers.
        task_id : int
            Number of a learned task, from 0 in the order of learning.

        Returns
        -------
        probabilities : ndarray, shape (N, C)
            Each row sums to 1.

        Raises
        ------
        TypeError
            If ``task_id`` is not an integer, or ``x`` does not hold real numbers.
        ValueError
            If the task was not learned, or ``x`` has another width or non-finite entries.
        """
        return predict(self.context, self.assemble, x, task_id)
