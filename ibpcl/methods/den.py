r"""DEN, dynamically expandable networks: retrain what a task needs, add units if that fails, copy what moved too far.

Yoon, Yang, Lee and Hwang (2018), "Lifelong Learning with Dynamically Expandable Networks".  With L the mean negative
log likelihood, the first task minimizes :math:`L + \mu \|W\|_1` (Eq. 2).  A later task has up to four phases:

1. *head*: :math:`L + \mu \|W^{head}\|_1` over a new head alone (Eq. 3).  The units from which a path of weights that
   are not zero leads to it are the selected ones (Algorithm 2).
2. *selected*: the weights between selected units (Eq. 4), held where they were (Eq. 6),

   .. math:: L + \tfrac{\kappa}{2} \|W\|_2^2 + \tfrac{\lambda}{2} \|W - W^{t-1}\|_2^2.

3. *expanded*, if L over the training data is not below a threshold then: every layer gets k units more, and what is new
   learns under :math:`L + \mu \|W^{new}\|_1 + \gamma \sum_g \|W_g\|_2` (Eq. 5), a group being what enters a new unit;
   units whose group is 0 go away (Algorithm 3).
4. *split*: a unit whose incoming weights have moved further than :math:`\sigma` is put back, and a copy of what it had
   become stands beside it for the new task (Algorithm 4).  Then what is new learns again.

**Time stamps**: a task is predicted with the units that were there when it had been learned, so neither new units nor
copies change what earlier tasks predict.  No unit of an earlier task ever moves further than :math:`\sigma` in one
task; with :math:`\sigma = 0` earlier predictions stay what they are, bit for bit.

.. warning:: The paper retrains all weights after a split, old ones under the pull of Eq. 6.  Here old ones rest: they
   would move away again, and the threshold would promise nothing.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual.expansion import corner
from ibpcl.continual.learner import Saved, check_inputs, check_task
from ibpcl.methods.den_course import Course
from ibpcl.methods.sequential import SequentialSettings
from ibpcl.models import plain
from ibpcl.options import option


@dataclass(frozen=True)
class Settings(SequentialSettings):
    """The settings of DEN."""

    single_head: bool = option(False, "A head is as wide as its task's network.", choices=(False,))
    epochs: int = option(5, "Epochs of each phase of a task, except the head's.")
    head_epochs: int = option(5, "Epochs of the new head alone, which selects units; 0 selects all there are.",
                              at_least=0)
    sparsity: float = option(0.00001, "Weight mu of the magnitude of each weight, nats per example.", at_least=0)
    decay: float = option(0.0001, "Weight kappa of the squares of the selected weights, with a half.", at_least=0)
    drift: float = option(0.5, "Weight lambda of the squared distance from the last task's weights, with a half.",
                          at_least=0)
    loss_threshold: float = option(0.01, "Expand unless the loss is below this, nats per example (inf: never).",
                                   at_least=0, at_most=np.inf)
    expand_units: int = option(10, "Units k that an expansion adds to each layer.", at_least=1)
    group_sparsity: float = option(0.001, "Weight gamma of the length of what enters a new unit, nats per example.",
                                   at_least=0)
    split_threshold: float = option(0.05, "Copy a unit that moved further than this, sigma (inf: never).",
                                    at_least=0, at_most=np.inf)


class DEN(Saved):
    """Learn tasks in a network that grows.

    Parameters as in :class:`ibpcl.continual.learner.Saved`.

    Attributes
    ----------
    shared : list of pair of ndarray
        Weights (D, K) and biases (K,) of each hidden layer, as large as the last task needed them.
    own : list of pair of ndarray
        The same of each task's head.
    widths : list of tuple of int
        How many units of each layer each task knows: those with its time stamp, or an earlier one.
    """

    settings_type = Settings

    def __init__(self, settings=None, seed=0, backend_name="numba"):
        super().__init__(settings, seed, backend_name)
        self.shared, self.own, self.widths = [], [], []

    def learn(self, task, progress=None):
        """Learn the next task; return the history of its phases.

        Arguments and errors as in :meth:`ibpcl.continual.learner.Learner.learn`.
        """
        self._check(task)
        self.inputs = task.inputs
        course = Course(self, task, progress)
        if self.own:
            course.later()
        else:
            course.first()
        *hidden, head = [(weight.copy(), bias.copy()) for weight, bias in course.network.weights(course.vector)]
        self.shared, self.own = hidden, [*self.own, head]
        self.widths.append(course.network.hidden)
        return [record._replace(task=len(self.own) - 1) for record in course.history]

    def predict(self, x, task_id):
        """Return class probabilities (N, C) for inputs (N, D) of a learned task, from the units that it knows."""
        x = check_inputs("den.predict", x, self.inputs, task_id, len(self.own))
        network = plain.network(self.inputs, self.widths[task_id], len(self.own[task_id][1]))
        vector = np.zeros(network.layout.size, np.float32)
        for views, values in zip(network.weights(vector), (*self.shared, self.own[task_id]), strict=True):
            for view, value in zip(views, values, strict=True):
                view[...] = corner(value, view.shape)
        return network.predict(vector, x, self.backend)

    def state(self):
        """Return everything that was learned, as a dict of arrays."""
        if not self.own:
            return {}
        layers = {f"hidden{i}": layer for i, layer in enumerate(self.shared)}
        layers |= {f"task{t}.head": head for t, head in enumerate(self.own)}
        arrays = {f"{name}.{part}": value for name, pair in layers.items()
                  for part, value in zip(("weight", "bias"), pair, strict=True)}
        return {"inputs": np.array(self.inputs), "widths": np.array(self.widths), **arrays}

    def load_state(self, state):
        """Become the learner whose :meth:`state` this was."""
        def pair(name):
            return np.array(state[f"{name}.weight"]), np.array(state[f"{name}.bias"])

        self.inputs = int(state["inputs"]) if state else None
        self.widths = [tuple(int(width) for width in row) for row in state.get("widths", ())]
        self.shared = [pair(f"hidden{i}") for i in range(len(self.settings.hidden)) if state]
        self.own = [pair(f"task{t}.head") for t in range(len(self.widths))]

    def _check(self, task):
        check_task("den", task, "classification", self.inputs)
