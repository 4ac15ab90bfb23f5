r"""GEM, gradient episodic memory: no step may increase the loss on an earlier task's examples.

Lopez-Paz and Ranzato (2017), "Gradient episodic memory for continual learning", Sec. 3.  With the
gradient g of the loss of a minibatch, and the gradient :math:`g_s` of the mean loss on the stored
examples of the earlier task s, at the same parameters, a step follows

.. math::

    \tilde g = \arg\min_u \tfrac12 \lVert u - g \rVert^2 \quad
    \text{such that} \quad u^\top g_s \ge 0 \text{ for every } s < t,

because the step :math:`-\epsilon \tilde g` changes the loss of task s by :math:`-\epsilon \tilde
g^\top g_s`, to first order.  With a row :math:`g_s` of G for each earlier task, the dual is

.. math::

    v = \arg\min_{v \ge 0} \tfrac12 v^\top G G^\top v + g^\top G^\top v, \qquad
    \tilde g = G^\top v + g.

It has only as many unknowns as there are earlier tasks.  The gradients are those of the shared
parameters: earlier heads do not move, and the head of the task is free.  Without stored examples
this is naive training.
"""

from dataclasses import dataclass

import numpy as np
import scipy  # its optimize is loaded on first use

from ibpcl.continual.coresets import SELECTIONS
from ibpcl.continual.learner import Saved
from ibpcl.inference.objectives import Data
from ibpcl.methods.frame import class_probabilities, documented_learner, documented_step, learning
from ibpcl.methods.pooled import remembered
from ibpcl.methods.rehearsal import buffer
from ibpcl.methods.sequential import (
    Context,
    PlainClassifier,
    SequentialSettings,
    accept,
    keep,
    start,
    train,
)
from ibpcl.methods.settings_docs import documented
from ibpcl.options import option


@documented
@dataclass(frozen=True, init=False)
class Episodic(SequentialSettings):
    """Settings of the methods that compare gradients with those on stored examples."""

    buffer: str = option(
        "random",
        "Selection of the stored examples; k_center spreads them over the inputs.",
        choices=SELECTIONS,
    )
    buffer_size: int = option(
        200,
        "Largest number of stored examples per task; every training step uses all of them.",
        at_least=0,
    )


@documented
@dataclass(frozen=True, init=False)
class Settings(Episodic):
    """Settings of GEM."""

    method = "gem"


def memory_gradients(context, network, vector):
    r"""Return the gradient of the loss on the stored examples of each earlier task.

    .. math:: g_s = -\nabla \frac1{|b_s|} \sum_{n \in b_s} \log p(y^s_n | x^s_n, \theta)

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.
    network : ibpcl.models.network.Network
        Network of the task, from ``context.next_network(task.outputs)``.
    vector : ndarray, shape (P,)
        Current parameters; the shared ones are used, with the head of each earlier task.

    Returns
    -------
    gradients : ndarray, shape (S, Q)
        One row for each earlier task with stored examples, in nats per example and unit of each of
        the Q shared parameters.
    examples : ndarray of int, shape (S,)
        Number of stored examples of these tasks.

    Raises
    ------
    ValueError
        If the state holds another number of parameters than the networks have.
    """
    shared = vector[context.places(network)]
    gradients = []
    examples = []
    for s in range(context.state.learned):
        if f"x{s}" in context.state.memory:
            x, labels, *_ = remembered(context.state.memory, s)
            earlier, parameters = context.assemble(s, shared)
            _, cache = earlier.log_likelihood(parameters, x, labels, context.backend)
            gradient = earlier.log_likelihood_vjp(-1 / len(x), cache)
            gradients.append(gradient[context.places(earlier)])
            examples.append(len(x))
    return np.array(gradients).reshape(-1, len(shared)), np.array(examples, int)


def solve_dual(gradient, gradients):
    r"""Return the solution of the dual problem.

    .. math:: v = \arg\min_{v \ge 0} \tfrac12 v^\top G G^\top v + g^\top G^\top v

    With :math:`G^\top = Q R` the objective is :math:`\tfrac12 \lVert R v + Q^\top g \rVert^2` minus
    a constant: non-negative least squares with a square root R of :math:`G G^\top`.

    Parameters
    ----------
    gradient : ndarray, shape (Q,)
        The gradient g.
    gradients : ndarray, shape (S, Q)
        The rows of G.

    Returns
    -------
    v : ndarray, shape (S,)
        Multiplier of each row, at least 0.

    Raises
    ------
    ValueError
        If an entry is infinite or NaN.

    Examples
    --------
    >>> solve_dual(np.array([-3.0, 1.0]), np.array([[2.0, 0.0], [0.0, 1.0]])).round(12)
    array([1.5, 0. ])
    """
    orthogonal, root = np.linalg.qr(np.asarray(gradients, float).T)
    return scipy.optimize.nnls(root, -orthogonal.T @ gradient, maxiter=100 * len(gradients))[0]


def project(gradient, gradients):
    r"""Return the nearest vector that has no negative inner product with any row.

    .. math:: \tilde g = \arg\min_u \tfrac12 \lVert u - g \rVert^2 \quad
              \text{such that} \quad G u \ge 0

    Parameters
    ----------
    gradient : ndarray, shape (Q,)
        The gradient g.
    gradients : ndarray, shape (S, Q)
        The rows of G.

    Returns
    -------
    projected : ndarray, shape (Q,)
        The vector, computed in float64; ``gradient`` itself if it needs no change, and NaN if an
        inner product is not finite.

    Examples
    --------
    >>> project(np.array([-3.0, 1.0]), np.array([[2.0, 0.0], [0.0, 1.0]])).round(12)
    array([0., 1.])
    """
    rows = np.asarray(gradients, float)
    products = rows @ np.asarray(gradient, float)
    if (products >= 0).all():
        return gradient
    if not np.isfinite(products).all():
        return np.full(len(gradient), np.nan)  # the fit refuses it
    return gradient + rows.T @ solve_dual(gradient, rows)


def learn_projected(context, task, projection):
    """Learn one more task, with a projection of the gradient of every step.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task: ``learner.context`` of a learner.
    task : ibpcl.continual.task.Task
        The next task.
    projection : callable
        ``projection(gradient, gradients, examples)`` returns the vector (Q,) that a step follows,
        from the gradient (Q,) of the loss in the shared parameters and the results of
        :func:`memory_gradients`.  It is not called before there are stored examples.

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
    context = accept(context, task)
    network = context.next_network(task.outputs)
    places = context.places(network)

    # A penalty of 0 nats whose gradient is the change, for the whole task.
    def change(vector, gradient):
        gradients, examples = memory_gradients(context, network, vector)
        if not len(gradients):
            return 0.0, None
        projected = projection(gradient[places], gradients, examples)
        difference = np.zeros_like(gradient)
        difference[places] = len(task.x_train) * (projected - gradient[places])
        return 0.0, difference

    vector = start(context, network, task)
    data = Data(task.x_train, task.targets)
    vector, history = train(context, network, vector, data, penalty=change)
    memory = context.state.memory
    if context.settings.buffer_size:
        memory = memory | buffer(context, task)
    return keep(context, network, vector, memory), history


@documented_step
def learn_task(context, task):
    """Learn one more task with GEM.

    The state also keeps examples of the task.
    """
    return learn_projected(
        context, task, lambda gradient, gradients, examples: project(gradient, gradients)
    )


@documented_learner
class GEM(Saved):
    """Learner with gradient episodic memory.

    Lopez-Paz and Ranzato (2017), "Gradient episodic memory for continual learning".

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` holds ``x{s}`` and ``y{s}``, the
        stored examples of task s, and ``examples{s}``, its number of training examples.
    """

    settings_type = Settings
    model_type = PlainClassifier
    context_type = Context
    learn = learning(learn_task)
    predict = class_probabilities
