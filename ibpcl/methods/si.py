r"""SI, synaptic intelligence: each weight adds up, while it learns, how much it helped.

Zenke, Poole and Ganguli (2017), "Continual Learning Through Synaptic Intelligence", Eqs. 3 to 5.  Along the path of
training, a weight's part in the fall of the loss L (of the data alone) is

.. math:: \omega_i = -\sum_{\text{steps}} \partial_i L\, \Delta\theta_i,

and after task s it counts for :math:`\Omega_i \leftarrow \Omega_i + \max(0, \omega_i) / ((\theta_{s, i} - \theta_{s -
1, i})^2 + \xi)`.  The loss of a later task is, in nats an example,

.. math:: L_t + c \sum_i \Omega_i (\theta_i - \theta_{t - 1, i})^2.

No pass over the data is needed at a task's end.  A weight can have :math:`\omega_i < 0`, which would make the penalty
unbounded below; it counts as 0, which the paper does not say.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.methods import option
from ibpcl.methods.sequential import Sequential, SequentialSettings
from ibpcl.models.elbo import Elbo
from ibpcl.primitives import quadratic


@dataclass(frozen=True)
class Settings(SequentialSettings):
    """The settings of synaptic intelligence."""

    weight: float = option(1.0, "Weight c of the penalty, without a half.", at_least=0)
    damping: float = option(0.001, "Xi, which bounds the importance of a weight that hardly moved.", above=0)


class SI(Sequential):
    """Learn tasks with intelligent synapses; parameters as in :class:`Sequential`.

    ``memory`` has ``anchor``, where the last task ended, and ``importance``, both of what tasks share; ``path`` is the
    path integral of the last task.
    """

    settings_type = Settings

    def __init__(self, settings=None, seed=0, backend_name="numba"):
        super().__init__(settings, seed, backend_name)
        self.path = None

    def penalty(self, vector, task):
        """Pull what mattered back to where the last task ended."""
        if not self.memory:
            return 0.0, None
        anchor = self.memory["anchor"]
        precision = 2 * self.settings.weight * len(task.x_train) * self.memory["importance"]
        value, cache = quadratic.penalty(vector[: len(anchor)], anchor, precision.astype(vector.dtype))
        gradient = np.zeros_like(vector)
        gradient[: len(anchor)] = quadratic.penalty_vjp(1.0, cache)[0]
        return value, gradient

    def train(self, task, progress):
        """Fit the network and add up the path integral; return the parameters and the history."""
        network, examples, shared = self.network(task.outputs), len(task.x_train), self.shared_size(task.outputs)
        begin = self.begin(task)
        self.path = before = slopes = np.zeros(shared, begin.dtype)

        def objective(vector, rows, step, steps):
            nonlocal before, slopes
            total, cache = network.log_likelihood(vector, task.x_train[rows], task.y_train[rows], self.backend)
            gradient = network.log_likelihood_vjp(-1 / len(rows), cache)
            before, slopes = vector[:shared].copy(), gradient[:shared].copy()
            value, dpenalty = self.penalty(vector, task)
            if dpenalty is not None:
                gradient += dpenalty / examples
            return Elbo(total * examples / len(rows), value), gradient, 0.0

        def integrate(step, vector, state, rates):
            self.path = self.path - slopes * (vector[:shared] - before)
            return vector, state, rates

        return self.fit(begin, objective, examples, progress, adapt=integrate)

    def keep(self, task, vector):
        """Keep what was trained, and turn the path integral into importance."""
        shared = self.shared_size(task.outputs)
        start = self.begin(task)[:shared]                    # before the new task is counted: where it started
        moved = vector[:shared] - start
        gained = np.maximum(self.path, 0) / (moved * moved + self.settings.damping)
        importance = self.memory.get("importance", 0) + gained
        super().keep(task, vector)
        self.memory = {"anchor": self.shared, "importance": importance.astype(vector.dtype)}
