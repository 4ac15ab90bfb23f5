"""What joint training and rehearsal have in common: the loss is of several tasks, and all their heads are trained."""

from typing import NamedTuple

import numpy as np

from ibpcl.methods.sequential import Sequential
from ibpcl.models.elbo import Elbo
from ibpcl.noise import generator


class Group(NamedTuple):
    """Examples of one task: inputs (N, D), labels (N,), their head, and how many of the whole each stands for."""

    x: np.ndarray
    labels: np.ndarray
    head: int
    scale: float


class Pooled(Sequential):
    """Train one network on examples of several tasks at once; a base of methods.

    A method says how many examples an epoch passes over (``pool_size``), and which groups of examples a step's rows
    are and how many there are in the whole (``groups``).
    """

    restarts = False                                         # whether every task starts from fresh parameters

    def train(self, task, progress):
        """Fit the network and all heads; return the hidden layers' parameters, then each head's, and the history."""
        return self.fit(self.begin_all(task), self.objective(task), self.pool_size(task), progress)

    def objective(self, task):
        """Return the objective of a fit: the log likelihoods of all groups of a minibatch, and their gradient."""
        outputs = (*self.outputs, task.outputs)

        def objective(vector, rows, step, steps):
            groups, whole = self.groups(task, rows)
            gradient, likelihood = np.zeros_like(vector), 0.0
            for group in groups:
                if len(group.x):                             # the hidden layers gather the gradients of all groups
                    network, places = self.network(outputs[group.head]), self.places_of(outputs, group.head)
                    total, cache = network.log_likelihood(vector[places], group.x, group.labels, self.backend)
                    likelihood += group.scale * total
                    gradient[places] += network.log_likelihood_vjp(-group.scale / whole, cache)
            return Elbo(likelihood), gradient, 0.0

        return objective

    def keep(self, task, vector):
        """Keep what was trained: the hidden layers and every head."""
        self.outputs.append(task.outputs)
        count = self.shared_size(task.outputs)
        self.shared = vector[:count].copy()
        self.own = [vector[self.places_of(self.outputs, head)[count:]] for head in range(len(self.outputs))]
        self.remember(task, vector)

    def places_of(self, outputs, head):
        """Return which elements of the vector the network with one of the heads has, in its order."""
        if self.settings.single_head:
            return np.arange(self.network(outputs[0]).layout.size)
        sizes = [self.network(count).head_size for count in outputs[: head + 1]]
        shared = self.shared_size(outputs[head])
        start = shared + sum(sizes[:-1])
        return np.concatenate([np.arange(shared), np.arange(start, start + sizes[-1])])

    def shared_size(self, outputs):
        """Return how many parameters all tasks share, the first ones of the vector."""
        network = self.network(outputs)
        return network.layout.size - (0 if self.settings.single_head else network.head_size)

    def head(self, task_id):
        """Return which head a task has."""
        return 0 if self.settings.single_head else task_id

    def begin_all(self, task):
        """Return the parameters before training: those of the tasks before, and a fresh head."""
        if self.shared is None:
            return self.begin(task)
        if not self.restarts:
            fresh = self.begin(task)
            return np.concatenate([self.shared, *self.own, fresh[len(self.shared):]])
        starts = [self.network(outputs).start(generator(self.key(task_id=t)), self.settings.start)
                  for t, outputs in enumerate((*self.outputs, task.outputs))]
        if self.settings.single_head:
            return starts[0]
        shared = self.shared_size(task.outputs)
        return np.concatenate([starts[0][:shared], *(start[shared:] for start in starts)])

    def remembered(self, task_id, scale):
        """Return the examples that are kept of a task, for its head."""
        return Group(self.memory[f"x{task_id}"], self.memory[f"y{task_id}"], self.head(task_id), scale)
