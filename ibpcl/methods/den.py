r"""DEN, dynamically expandable networks: retrain what a task needs, add units if that fails, copy
what moved too far.

Yoon, Yang, Lee and Hwang (2018), "Lifelong Learning with Dynamically Expandable Networks".  With L
the mean negative log likelihood, the first task minimizes :math:`L + \mu \|W\|_1` (Eq. 2).  A later
task has up to four phases:

1. *head*: :math:`L + \mu \|W^{head}\|_1` over a new head alone (Eq. 3).  The units from which a
   path of weights that are not zero leads to it are the selected ones (Algorithm 2).
2. *selected*: the weights between selected units (Eq. 4), held where they were (Eq. 6),

   .. math:: L + \tfrac{\kappa}{2} \|W\|_2^2 + \tfrac{\lambda}{2} \|W - W^{t-1}\|_2^2.

3. *expanded*, if L over the training data is not below a threshold then: every layer gets k units
   more, and what is new learns under :math:`L + \mu \|W^{new}\|_1 + \gamma \sum_g \|W_g\|_2` (Eq.
   5), a group being what enters a new unit; units whose group is 0 go away (Algorithm 3).
4. *split*: a unit whose incoming weights have moved further than :math:`\sigma` is put back, and a
   copy of what it had become stands beside it for the new task (Algorithm 4).  Then what is new
   learns again.

**Time stamps**: a task is predicted with the units that were there when it had been learned, so
neither new units nor copies change what earlier tasks predict.  No unit of an earlier task ever
moves further than :math:`\sigma` in one task; with :math:`\sigma = 0` earlier predictions stay what
they are, bit for bit.

.. warning:: The paper retrains all weights after a split, old ones under the pull of Eq. 6.  Here
   old ones rest: they would move away again, and the threshold would promise nothing.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl import adam
from ibpcl.continual.learner import Saved
from ibpcl.inference.loop import Step, fit, geometric
from ibpcl.methods.growing import continued, known
from ibpcl.methods.sequential import (
    Context,
    PlainClassifier,
    SequentialSettings,
    accept,
    keep,
    predict,
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
    """The settings of DEN."""

    method = "den"

    single_head: bool = option(False, "A head is as wide as its task's network.", choices=(False,))
    epochs: int = option(5, "Epochs of each phase of a task, except the head's.")
    head_epochs: int = option(
        5, "Epochs of the new head alone, which selects units; 0 selects all there are.", at_least=0
    )
    sparsity: float = option(
        0.00001, "Weight mu of the magnitude of each weight, nats per example.", at_least=0
    )
    decay: float = option(
        0.0001, "Weight kappa of the squares of the selected weights, with a half.", at_least=0
    )
    drift: float = option(
        0.5,
        "Weight lambda of the squared distance from the last task's weights, with a half.",
        at_least=0,
    )
    loss_threshold: float = option(
        0.01,
        "Expand unless the loss is below this, nats per example (inf: never).",
        at_least=0,
        at_most=np.inf,
    )
    expand_units: int = option(10, "Units k that an expansion adds to each layer.", at_least=1)
    group_sparsity: float = option(
        0.001, "Weight gamma of the length of what enters a new unit, nats per example.", at_least=0
    )
    split_threshold: float = option(
        0.05,
        "Copy a unit that moved further than this, sigma (inf: never).",
        at_least=0,
        at_most=np.inf,
    )


@dataclass(frozen=True)
class Sparsity:
    """Penalties with a kink, taken after every step of Adam: weights, and whole units, that are
    zero exactly.

    A step of Adam is :math:`w_i - s_i m_i`, m being the running mean of the gradient and
    :math:`s_i` a size of its own for each element.  The proximal step that follows has the same
    sizes, so what both leave where it is minimizes the loss plus the penalties.  With a threshold
    that knows nothing of :math:`s_i`, as public code has it, the strength of a penalty would depend
    on the learning rate and on how many steps are taken.

    ``single`` (P,): the weight of the magnitude of each element, >= 0.  ``groups``: arrays (D, K)
    of places in the vector; the length of each column is a penalty, and no place stands in two
    columns.  ``group_weight``: of these lengths, >= 0.
    """

    single: np.ndarray
    groups: tuple = ()
    group_weight: float = 0.0

    @property
    def is_zero(self):
        """Whether there is no penalty at all."""
        return not self.single.any() and (self.group_weight == 0 or not self.groups)

    def value(self, vector):
        """Add the penalties up, in the units of their weights."""
        lengths = sum(np.sqrt((vector[places] ** 2).sum(axis=0)).sum() for places in self.groups)
        return np.abs(vector) @ self.single + self.group_weight * lengths

    def shrink(self, vector, sizes):
        """Take the proximal step of given sizes (P,), all >= 0; an element whose size is 0 stays
        where it is.
        """
        vector = soft_threshold(vector, self.single * sizes)
        for places in self.groups:
            vector[places] = group_shrink(vector[places], self.group_weight * sizes[places])
        return vector


class Course:
    """One task of DEN under way: the network and its parameters as they are now, and the history so
    far.
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
        """Train what the last task did not have, sparsely: weights alone, and ``groups`` of what
        enters a unit.
        """
        new = ~known(self.context, self.network)
        single = np.zeros(len(self.vector), np.float32)
        for weight, _ in self.network.weights(single):
            weight[...] = self.settings.sparsity
        self._fit(phase, epochs, new, Sparsity(single * new, groups, self.settings.group_sparsity))

    def fit_selected(self):
        """Train the weights between selected units, drawn to 0, and to what the last task left."""
        trained = expandable.between(
            self.network, expandable.reached(self.network.weights(self.vector))
        )
        decay, drift = (
            np.float32(weight) * trained for weight in (self.settings.decay, self.settings.drift)
        )
        drift[-self.network.head_size :] = 0  # the new head was nowhere
        self._fit(
            "selected",
            self.settings.epochs,
            trained,
            pulls=((np.zeros_like(decay), decay), (self.before, drift)),
        )

    def loss(self):
        """Return the mean negative log likelihood of the training data, nats per example."""
        total, _ = self.network.log_likelihood(
            self.vector, self.task.x_train, self.task.y_train, self.context.backend
        )
        return -total / len(self.task.x_train)

    def expand(self):
        """Add units to every layer, train them, and remove those that nothing enters."""
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
        """Put back the units that moved too far, and copy them; return how many."""
        distances = expandable.drift(self.network, self.vector, self.old, self.before)
        moved = [np.flatnonzero(distance > self.settings.split_threshold) for distance in distances]
        self.network, self.vector = expandable.split(
            self.network, self.vector, self.old, self.before, moved
        )
        return sum(map(len, moved))

    def _fit(self, phase, epochs, trained, kinks=None, pulls=()):
        """Train some of the parameters, under penalties with a kink, or drawn to means with
        precisions.
        """
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
            penalty += kinks.value(vector) if kinks else 0.0
            return Step(Elbo(total * examples / len(rows)), gradient, penalty=penalty * examples)

        def shrink(step, vector, state, rates):
            factor = np.float32(geometric(1.0, plan.rate_end, step, steps))
            return kinks.shrink(vector, adam.step_sizes(state, rates * factor)), state, rates

        self.vector, records = fit(
            self.vector,
            objective,
            rates,
            examples,
            plan._replace(phase=phase, epochs=epochs),
            None if kinks is None or kinks.is_zero else shrink,
        )
        self.history += records


def learn_task(context, task):
    """Go through the phases of a task; return the new state and the history."""
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


class DEN(Saved):
    """Learn tasks in a network that grows; parameters as in :class:`Saved`.

    ``knowledge.memory`` has ``widths{s}``, the units of each hidden layer after task s.
    """

    settings_type = Settings
    model_type = PlainClassifier
    context_type = Context

    def learn(self, task, progress=None):
        """Learn the next task and return the history of the training."""
        return self.turn(learn_task, task, progress)

    def predict(self, x, task_id):
        """Return class probabilities (N, C) for inputs (N, D) of a learned task."""
        return predict(self.context, self.assemble, x, task_id)
