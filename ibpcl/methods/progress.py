r"""Progress and Compress: a column learns each task freely, then teaches the network that keeps it.

Schwarz, Luketina, Czarnecki, Grabska-Barwinska, Teh, Pascanu and Hadsell (2018), "Progress &
Compress: A scalable framework for continual learning".  There are two networks of equal size.  The
*active column* learns; the *knowledge base* predicts, and is all that remains of earlier tasks.

**Progress.**  The active column is trained on task t without any protection.  The knowledge base is
frozen, and helps: its last hidden units k enter the outputs by lateral weights U, which start at 0,

.. math:: f(x) = h(x)\, W + b + k(x)\, U, \qquad \partial_U L = \sum_n k(x_n)^\top \delta_n,

with the slopes :math:`\delta_n` at the outputs.  Nothing flows back into the knowledge base.

**Compress.**  The knowledge base :math:`\theta` learns to predict what the active column predicts.
Online EWC holds what it knows already.  With the probabilities p of the column and q of the
knowledge base, the loss is, in nats per example,

.. math:: \frac1{N_t} \sum_n KL\bigl[p(\cdot | x_n)\, \|\, q(\cdot | x_n, \theta)\bigr] +
          \frac\lambda2 \sum_i \gamma F_i\, (\theta_i - \theta_{t - 1, i})^2, \qquad
          F \leftarrow \gamma F + F^t.

Its gradient at the logits is :math:`q - p` (:mod:`ibpcl.primitives.distillation`).  After the first
task, the column continues from where it is, or starts afresh (``reset``).  Each task has its own
head in both networks, unless there is a single one.

**Exact limits.**  Without lateral weights the column does not know the knowledge base, and its
parameters are those of :mod:`ibpcl.methods.naive`, bit for bit.  If the teacher is certain of the
labels (``teacher = "labels"``), the divergence is minus their log likelihood.  With :math:`\gamma =
1` the knowledge base is then online :mod:`ibpcl.methods.ewc`, and with :math:`\gamma = 0` it is
naive training, both bit for bit.

.. warning:: In the paper, lateral connections lead to every layer through one more hidden layer
   (Eq. 1).  Here they lead from the last hidden layer to the outputs only.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.blas_threads import on_one_thread
from ibpcl.continual.learner import Saved
from ibpcl.inference.backend import backend
from ibpcl.inference.loop import Step, fit
from ibpcl.inference.objectives import Data
from ibpcl.methods.ewc import Information, information
from ibpcl.methods.frame import class_probabilities, documented_learner, documented_step, learning
from ibpcl.methods.sequential import (
    Context,
    PlainClassifier,
    accept,
    keep,
    of_task,
    pull,
    start,
    train,
)
from ibpcl.methods.settings_docs import documented
from ibpcl.models.elbo import Elbo
from ibpcl.models.layers import Pass
from ibpcl.options import option
from ibpcl.primitives import distillation

CHUNK = 512  # examples that are evaluated at once, which bounds the memory


@documented
@dataclass(frozen=True, init=False)
class Settings(Information):
    """Settings of Progress and Compress."""

    method = "progress"

    weight: float = option(
        100.0,
        "Strength lambda of the penalty, lambda / 2 times gamma and the Fisher information.",
        at_least=0,
    )
    decay: float = option(
        1.0,
        "Decay gamma of the sum of Fisher information; 0 does not protect earlier tasks.",
        at_least=0,
        at_most=1,
    )
    compress_epochs: int = option(
        5, "Epochs per task in which the knowledge base learns from the column.", at_least=0
    )
    laterals: bool = option(True, "Lateral weights from the knowledge base to the column.")
    reset: bool = option(False, "Start the column afresh for every task.")
    teacher: str = option(
        "column",
        "Whom the knowledge base imitates: the active column, or the labels.",
        choices=("column", "labels"),
    )


class Column:
    """The network of a task with lateral inputs, whose weights follow its parameters in one vector.

    Parameters
    ----------
    network : ibpcl.models.plain.PlainNetwork
        Network of the task.
    lateral_units : int
        Number of lateral inputs K.
    functions : ibpcl.inference.backend.Backend
        The functions that compute.

    Attributes
    ----------
    network, lateral_units, functions
        As given.
    """

    def __init__(self, network, lateral_units, functions):
        self.network = network
        self.lateral_units = lateral_units
        self.functions = functions

    def split(self, vector):
        """Return the parameters of the network and the lateral weights, as views.

        Parameters
        ----------
        vector : ndarray, shape (P + K C,)
            All parameters.

        Returns
        -------
        column : ndarray, shape (P,)
            Parameters of the network.
        laterals : ndarray, shape (K, C)
            Lateral weights.
        """
        size = self.network.layout.size
        return vector[:size], vector[size:].reshape(self.lateral_units, self.network.outputs)

    @on_one_thread
    def scores(self, vector, x, k):
        r"""Compute the logits, :math:`f = h W + b + k U`.

        Parameters
        ----------
        vector : ndarray, shape (P + K C,)
            All parameters.
        x : ndarray, shape (N, D)
            Inputs.
        k : ndarray, shape (N, K)
            Lateral inputs.

        Returns
        -------
        scores : ndarray, shape (1, N, C)
            Logits.
        cache : tuple
            Input of :meth:`scores_vjp`.
        """
        column, laterals = self.split(vector)
        (outputs, _), cache = self.network.forward(column, x, {}, Pass(self.functions, {}))
        return outputs + k @ laterals, (cache, k)

    def scores_vjp(self, dscores, cache):
        r"""Pull the gradient at the logits back to ``vector``: :math:`dU = k^\top df`."""
        of_network, k = cache
        gradient = self.network.forward_vjp((dscores, {}), of_network)
        return np.concatenate([gradient, (k.T @ dscores[0]).ravel()])


def in_pieces(function, *arrays):
    """Apply a function to some examples at a time, and join the results.

    Parameters
    ----------
    function : callable
        ``function(*pieces)`` returns one row per example.
    *arrays : ndarray
        Arrays with one row per example.

    Returns
    -------
    rows : ndarray
        The results, one row per example.
    """
    starts = range(0, len(arrays[0]), CHUNK)
    pieces = [tuple(each[at : at + CHUNK] for each in arrays) for at in starts]
    return np.concatenate([function(*piece) for piece in pieces])


def last_hidden(network, vector, x):
    """Return the outputs of the last hidden layer, which the head reads.

    Parameters
    ----------
    network : ibpcl.models.plain.PlainNetwork
        The network.
    vector : ndarray, shape (P,)
        Its parameters.
    x : ndarray, shape (N, D)
        Inputs.

    Returns
    -------
    k : ndarray, shape (N, K)
        Hidden units.
    """
    options = Pass(backend("numpy"), {})  # whose caches hold the inputs of each layer

    @on_one_thread
    def read_by_head(x):
        _, (_, caches) = network.forward(vector, x, {}, options)
        evaluated, _ = caches[-1]
        h, _ = evaluated.linear
        return h.reshape(len(x), -1)

    return in_pieces(read_by_head, x)


def progress(context, network, task):
    """Train the active column on a task, and return what it predicts.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.
    network : ibpcl.models.plain.PlainNetwork
        Network of the task, from ``context.next_network(task.outputs)``.
    task : ibpcl.continual.task.Task
        The task.

    Returns
    -------
    column : ndarray, shape (P,)
        Parameters of the trained column, without its lateral weights.
    scores : ndarray, shape (N, C)
        Its logits for the training examples.
    history : list of ibpcl.inference.loop.Record
        One row per epoch.
    """
    settings = context.settings
    data = Data(task.x_train, task.targets)
    vector = context.model.start(context, network, task)
    if "active" in context.state.memory and not settings.reset:
        vector[context.places(network)] = context.state.memory["active"]
    plan = context.fit(phase="progress")
    if context.state.learned and settings.laterals:
        knowledge = start(context, network, task)
        k = last_hidden(network, knowledge, data.x)
    else:
        vector, history = train(context, network, vector, data, plan=plan)
        k = np.zeros((len(data.x), 0), vector.dtype)
    column = Column(network, k.shape[1], context.backend)
    if column.lateral_units:
        laterals = np.zeros(column.lateral_units * network.outputs, vector.dtype)
        vector = np.concatenate([vector, laterals])
        objective = likelihood_of(column, data, k)
        rates = np.full(len(vector), settings.rate, np.float32)
        vector, history = fit(vector, objective, rates, len(data.x), plan)
        history = of_task(context, history)
    scores = in_pieces(lambda x, k: column.scores(vector, x, k)[0][0], data.x, k)
    return column.split(vector)[0], scores, history


def likelihood_of(column, data, k):
    """Return the objective of a column: the log likelihood of the labels.

    Parameters
    ----------
    column : Column
        The column.
    data : ibpcl.inference.objectives.Data
        Training examples.
    k : ndarray, shape (N, K)
        Their lateral inputs.

    Returns
    -------
    objective : callable
        ``objective(vector, rows, step, steps)`` returns an :class:`ibpcl.inference.loop.Step`.
    """
    likelihood = column.network.likelihood

    def objective(vector, rows, step, steps):
        scores, cache = column.scores(vector, data.x[rows], k[rows])
        log_p, inner = likelihood.log_density({}, scores, data.y[rows], column.functions)
        slopes, _ = likelihood.log_density_vjp(np.full_like(log_p, -1 / len(rows)), inner)
        total = len(data.x) / len(rows) * log_p.sum()
        return Step(Elbo(total), column.scores_vjp(slopes, cache))

    return objective


def compress(context, network, task, scores):
    """Train the knowledge base to predict as the active column does.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.
    network : ibpcl.models.plain.PlainNetwork
        Network of the task, from ``context.next_network(task.outputs)``.
    task : ibpcl.continual.task.Task
        The task.
    scores : ndarray, shape (N, C)
        Logits of the column for the training examples.

    Returns
    -------
    vector : ndarray, shape (P,)
        Trained parameters of the knowledge base, with the head of the task.
    history : list of ibpcl.inference.loop.Record
        One row per epoch.  Minus the divergence is in the column of the log likelihood.
    """
    settings = context.settings
    memory = context.state.memory
    places = context.places(network)
    data = Data(task.x_train, task.targets)
    plan = context.fit(phase="compress", epochs=settings.compress_epochs)
    weight = settings.weight * settings.decay * len(data.x)

    def pulled(vector):
        anchors = [(memory["anchor"], weight * memory["fisher"])] if "anchor" in memory else []
        return pull(vector, places, *anchors)

    vector = start(context, network, task)
    if settings.teacher == "labels":
        return train(
            context, network, vector, data, penalty=lambda vector, _: pulled(vector), plan=plan
        )
    taught = imitation_of(network, data.x, scores, context.backend)

    def objective(vector, rows, step, steps):
        result = taught(vector, rows)
        value, slope = pulled(vector)
        return result._replace(gradient=result.gradient + slope / len(data.x), penalty=value)

    rates = np.full(len(vector), settings.rate, np.float32)
    vector, history = fit(vector, objective, rates, len(data.x), plan)
    return vector, of_task(context, history)


def imitation_of(network, x, scores, functions):
    """Return the objective of distillation: minus the divergence from the teacher's probabilities.

    Parameters
    ----------
    network : ibpcl.models.plain.PlainNetwork
        The student.
    x : ndarray, shape (N, D)
        Inputs.
    scores : ndarray, shape (N, C)
        Logits of the teacher.
    functions : ibpcl.inference.backend.Backend
        The functions that compute.

    Returns
    -------
    objective : callable
        ``objective(vector, rows)`` returns an :class:`ibpcl.inference.loop.Step`.
    """
    student = Column(network, 0, functions)
    classes = list(network.likelihood.labels(network.outputs))  # those seen so far

    def objective(vector, rows):
        logits, cache = student.scores(vector, x[rows], np.zeros((len(rows), 0), vector.dtype))
        kl, inner = distillation.divergence(scores[rows][:, classes], logits[0][:, classes])
        _, of_classes = distillation.divergence_vjp(np.full_like(kl, 1 / len(rows)), inner)
        slopes = np.zeros_like(logits)
        slopes[0][:, classes] = of_classes
        total = len(x) / len(rows) * kl.sum()
        return Step(Elbo(-total), student.scores_vjp(slopes, cache))

    return objective


@documented_step
def learn_task(context, task):
    """Learn one more task: train the active column, then compress it into the knowledge base."""
    context = accept(context, task)
    network = context.next_network(task.outputs)
    places = context.places(network)
    column, scores, progressing = progress(context, network, task)
    vector, compressing = compress(context, network, task, scores)
    gained = information(context, network, vector, task)
    before = context.state.memory.get("fisher", np.zeros_like(gained))
    memory = {
        "active": column[places].copy(),
        "anchor": vector[places].copy(),
        "fisher": (context.settings.decay * before + gained).astype(gained.dtype),
    }
    return keep(context, network, vector, memory), [*progressing, *compressing]


@documented_learner
class ProgressCompress(Saved):
    """Learner with a column that learns freely and a knowledge base that it teaches.

    Schwarz et al. (2018), "Progress & Compress: A scalable framework for continual learning".

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far: the knowledge base, which predicts.  ``knowledge.memory`` holds
        ``active``, the shared parameters of the active column, and ``anchor`` and ``fisher`` of
        online EWC.
    """

    settings_type = Settings
    model_type = PlainClassifier
    context_type = Context
    learn = learning(learn_task)
    predict = class_probabilities
