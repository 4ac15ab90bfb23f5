r"""DEN, dynamically expandable networks: select units, retrain them, expand, and split.

Yoon, Yang, Lee and Hwang (2018), "Lifelong Learning with Dynamically Expandable Networks".  With L
the mean negative log likelihood, the first task minimizes :math:`L + \mu \|W\|_1` (Eq. 2).  A later
task has up to four phases:

1. *head*: :math:`L + \mu \|W^{head}\|_1` over a new head alone (Eq. 3).  The selected units are
   those from which a path of nonzero weights leads to the head (Algorithm 2).
2. *selected*: the weights between selected units (Eq. 4), pulled to their earlier values (Eq. 6),

   .. math:: L + \tfrac{\kappa}{2} \|W\|_2^2 + \tfrac{\lambda}{2} \|W - W^{t-1}\|_2^2.

3. *expanded*, if L over the training data is then not below a threshold: every layer gets k more
   units, and the new weights minimize :math:`L + \mu \|W^{new}\|_1 + \gamma \sum_g \|W_g\|_2` (Eq.
   5), with one group for the incoming weights of each new unit.  Units whose group is 0 are removed
   (Algorithm 3).
4. *split*: a unit whose incoming weights have moved further than :math:`\sigma` is reset to its
   earlier weights, and a copy with the new weights is appended for the new task (Algorithm 4).
   Then the new weights are trained again.

**Time stamps**: a task is predicted with the units that existed after it was learned, so neither
new units nor copies change the predictions of earlier tasks.  No unit of an earlier task ever moves
further than :math:`\sigma` in one task.  With :math:`\sigma = 0` earlier predictions stay the same,
bit for bit.

.. warning:: The paper retrains all weights after a split, old ones under the penalty of Eq. 6.
   Here old weights are fixed.  Otherwise they would move again, and the threshold would guarantee
   nothing.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl import adam
from ibpcl.continual.learner import Saved
from ibpcl.inference.loop import Step, fit, geometric
from ibpcl.methods.frame import class_probabilities, documented_learner, documented_step, learning
from ibpcl.methods.growing import continued, known
from ibpcl.methods.sequential import (
    Context,
    PlainClassifier,
    SequentialSettings,
    accept,
    keep,
)
from ibpcl.methods.settings_docs import documented
from ibpcl.models import expandable
from ibpcl.models.elbo import Elbo
from ibpcl.options import option
from ibpcl.primitives import quadratic
from ibpcl.primitives.proximal import group_shrink, soft_threshold


@documented
@dataclass(frozen=True, init=False)
class Settings(SequentialSettings):
    """Settings of DEN."""

    method = "den"

    single_head: bool = option(
        False, "Always false: each head is as wide as the network of its task.", choices=(False,)
    )
    network: str = option(
        "", "Always empty: units are added to and split in dense layers.", choices=("",)
    )
    epochs: int = option(5, "Epochs of each phase of a task, except the phase head.")
    head_epochs: int = option(
        5, "Epochs of the new head alone, which selects units; 0 selects all units.", at_least=0
    )
    sparsity: float = option(
        0.00001, "Strength mu of the L1 penalty, in nats per example.", at_least=0
    )
    decay: float = option(
        0.0001,
        "Strength kappa of the squared L2 penalty on the selected weights, with a factor 1/2.",
        at_least=0,
    )
    drift: float = option(
        0.5,
        "Strength lambda of the squared distance from the weights of the last task, with a factor "
        "1/2.",
        at_least=0,
    )
    loss_threshold: float = option(
        0.01,
        "The network expands unless the loss is below this, in nats per example (inf: never).",
        at_least=0,
        at_most=np.inf,
    )
    expand_units: int = option(10, "Units k that an expansion adds to each layer.", at_least=1)
    group_sparsity: float = option(
        0.001,
        "Strength gamma of the group penalty, the L2 norm of the incoming weights of each new "
        "unit, in nats per example.",
        at_least=0,
    )
    split_threshold: float = option(
        0.05,
        "Distance sigma beyond which a unit that moved is split (inf: never).",
        at_least=0,
        at_most=np.inf,
    )


@dataclass(frozen=True)
class Sparsity:
    """L1 and group penalties, applied by a proximal step after every step of Adam.

    A step of Adam is :math:`w_i - s_i m_i`, with the running mean m of the gradient and a separate
    step size :math:`s_i` for each element.  The proximal step uses the same step sizes, so a fixed
    point of both steps minimizes the loss plus the penalties.  With a threshold independent of
    :math:`s_i`, as in the public code, the strength of a penalty would depend on the learning rate
    and on the number of steps.

    Parameters
    ----------
    single : ndarray, shape (P,)
        Strength of the L1 penalty of each element, >= 0.
    groups : tuple of ndarray of int, shape (D, K)
        Positions in the vector; each column is a group, and no position occurs in two columns.
    group_weight : float
        Strength of the penalty on the L2 norm of each group, >= 0.
    """

    single: np.ndarray
    groups: tuple = ()
    group_weight: float = 0.0

    @property
    def is_zero(self):
        """Whether all penalties are zero."""
        return not self.single.any() and (self.group_weight == 0 or not self.groups)

    def value(self, vector):
        """Return the sum of the penalties.

        Parameters
        ----------
        vector : ndarray, shape (P,)
            Parameters.

        Returns
        -------
        penalty : float
            In the units of the strengths, here nats per example.
        """
        lengths = sum(np.sqrt((vector[places] ** 2).sum(axis=0)).sum() for places in self.groups)
        return np.abs(vector) @ self.single + self.group_weight * lengths

    def shrink(self, vector, sizes):
        """Return the parameters after the proximal step.

        Parameters
        ----------
        vector : ndarray, shape (P,)
            Parameters.
        sizes : ndarray, shape (P,)
            Step sizes, all >= 0; an element with size 0 keeps its value.

        Returns
        -------
        vector : ndarray, shape (P,)
            Shrunk parameters; some are exactly zero.
        """
        vector = soft_threshold(vector, self.single * sizes)
        for places in self.groups:
            vector[places] = group_shrink(vector[places], self.group_weight * sizes[places])
        return vector


class Course:
    """One task of DEN in progress: the current network, its parameters, and the history so far.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`ibpcl.methods.sequential.accept`.
    task : ibpcl.continual.task.Task
        The task to learn.

    Attributes
    ----------
    network : ibpcl.models.plain.PlainNetwork
        Current network.
    vector : ndarray, shape (P,)
        Its parameters.
    old : ibpcl.models.plain.PlainNetwork
        Network at the start of the task.
    before : ndarray
        Parameters at the start of the task.
    plan : ibpcl.inference.loop.Fit
        Training plan of the task.
    history : list of ibpcl.inference.loop.Record
        One row per epoch of the phases so far.
    """

    def __init__(self, context, task):
        self.context = context
        self.task = task
        self.settings = context.settings
        self.plan = context.fit()
        self.history = []
        self.old = self.network = context.next_network(task.outputs)
        self.before = self.vector = continued(context, self.network)

    def fit_new(self, phase, epochs, groups=()):
        """Train the parameters that the last task did not have, with L1 and group penalties.

        Parameters
        ----------
        phase : str
            Name of the phase in the history.
        epochs : int
            Number of epochs, >= 0.
        groups : tuple of ndarray of int, shape (D, K)
            Positions of the incoming weights of new units, one column per unit.
        """
        new = ~known(self.context, self.network)
        single = np.zeros(len(self.vector), np.float32)
        for weight, _ in self.network.weights(single):
            weight[...] = self.settings.sparsity
        self._fit(phase, epochs, new, Sparsity(single * new, groups, self.settings.group_sparsity))

    def fit_selected(self):
        """Train the weights between selected units, pulled to 0 and to their earlier values."""
        trained = expandable.between(
            self.network, expandable.reached(self.network.weights(self.vector))
        )
        decay, drift = (
            np.float32(weight) * trained for weight in (self.settings.decay, self.settings.drift)
        )
        drift[-self.network.head_size :] = 0  # the new head has no earlier values
        self._fit(
            "selected",
            self.settings.epochs,
            trained,
            pulls=((np.zeros_like(decay), decay), (self.before, drift)),
        )

    def loss(self):
        """Return the mean negative log likelihood of the training data, in nats per example."""
        total, _ = self.network.log_likelihood(
            self.vector, self.task.x_train, self.task.y_train, self.context.backend
        )
        return -total / len(self.task.x_train)

    def expand(self):
        """Add units to every layer, train them, and remove those without incoming weights."""
        larger = self.network.resized(
            tuple(width + self.settings.expand_units for width in self.old.hidden)
        )
        vector = continued(self.context, larger, "growth")
        vector[self.network.layout.within(larger.layout)] = self.vector
        self.network = larger
        self.vector = vector
        groups = expandable.incoming(larger, self.old.hidden)
        self.fit_new("expanded", self.settings.epochs, groups)
        keep = tuple(
            np.append(np.ones(width, bool), self.vector[places].any(axis=0))
            for width, places in zip(self.old.hidden, groups, strict=True)
        )
        self.network, self.vector = expandable.kept_units(larger, self.vector, keep)

    def split(self):
        """Split the units that moved too far.

        Each of them is reset, and a copy with the new weights is appended.

        Returns
        -------
        count : int
            Number of split units.
        """
        distances = expandable.drift(self.network, self.vector, self.old, self.before)
        moved = [np.flatnonzero(distance > self.settings.split_threshold) for distance in distances]
        self.network, self.vector = expandable.split(
            self.network, self.vector, self.old, self.before, moved
        )
        return sum(map(len, moved))

    def _fit(self, phase, epochs, trained, sparsity=None, pulls=()):
        """Train some of the parameters, with L1 and group penalties or with quadratic pulls."""
        network = self.network
        task = self.task
        examples = len(self.task.x_train)
        plan = self.plan
        rates = np.float32(self.settings.rate) * trained
        steps = epochs * -(-examples // plan.batch)

        def objective(vector, rows, step, steps):
            total, cache = network.log_likelihood(
                vector, task.x_train[rows], task.y_train[rows], plan.backend
            )
            gradient = network.log_likelihood_vjp(-1 / len(rows), cache)
            penalty = 0.0
            for mean, precision in pulls:
                value, quadratic_cache = quadratic.penalty(vector, mean, precision)
                gradient += quadratic.penalty_vjp(1.0, quadratic_cache)[0]
                penalty += value
            penalty += sparsity.value(vector) if sparsity else 0.0
            return Step(Elbo(total * examples / len(rows)), gradient, penalty=penalty * examples)

        def shrink(step, vector, state, rates):
            factor = np.float32(geometric(1.0, plan.rate_end, step, steps))
            return sparsity.shrink(vector, adam.step_sizes(state, rates * factor)), state, rates

        self.vector, records = fit(
            self.vector,
            objective,
            rates,
            examples,
            plan._replace(phase=phase, epochs=epochs),
            None if sparsity is None or sparsity.is_zero else shrink,
        )
        self.history += records


@documented_step
def learn_task(context, task):
    """Learn one more task with the phases of DEN."""
    context = accept(context, task)
    settings = context.settings
    learned = context.state.learned
    course = Course(context, task)
    if learned == 0:
        course.fit_new("whole", settings.epochs)
    else:
        course.fit_new("head", settings.head_epochs)
        course.fit_selected()
        if course.loss() >= settings.loss_threshold:
            course.expand()
        if course.split():
            course.fit_new("split", settings.epochs)
    widths = {f"widths{learned}": np.array(course.network.hidden)}
    memory = context.state.memory | widths
    return keep(context, course.network, course.vector, memory), course.history


@documented_learner
class DEN(Saved):
    """Learner with a dynamically expandable network.

    Yoon et al. (2018), "Lifelong Learning with Dynamically Expandable Networks".

    Attributes
    ----------
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` holds ``widths{s}``, the
        units of each hidden layer after task s.
    """

    settings_type = Settings
    model_type = PlainClassifier
    context_type = Context
    learn = learning(learn_task)
    predict = class_probabilities
