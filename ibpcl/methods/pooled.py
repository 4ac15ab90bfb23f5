"""What joint training and rehearsal have in common: the loss is of several tasks, and all their
heads are trained.
"""

from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from ibpcl.inference.loop import Step
from ibpcl.methods.sequential import Sequential
from ibpcl.models.elbo import Elbo
from ibpcl.noise import generator


class Group(NamedTuple):
    """Examples of one task: inputs (N, D), labels (N,), the task, and how many of the whole each
    stands for.
    """

    x: np.ndarray
    labels: np.ndarray
    task: int
    scale: float = 1.0


class Pooled(Sequential):
    """Train one network on examples of several tasks at once; a base of methods.

    A method says how many examples an epoch passes over (:meth:`pool_size`), and ``groups(task,
    rows)``: which groups of examples a step's rows are, and how many there are in the whole.
    """

    def train(self, task, progress):
        """Fit the network and all heads; return what tasks share, then what each has of its own,
        and the history.
        """
        return self.fit(self.begin_all(task), self.objective(task), self.pool_size(task), progress)

    def pool_size(self, task):
        """Return the number of examples that an epoch passes over."""
        return len(task.x_train)

    def begin_all(self, task):
        """Return the parameters before training: those of the tasks before, and a fresh part of the
        task's own.
        """
        fresh = self.begin(task)
        shared = self.places(self.network(task.outputs))
        vector = np.concatenate([fresh[shared], *self.own, np.delete(fresh, shared)])
        if self.settings.restart:
            # the first one's stays
            for t, (network, places) in reversed(list(enumerate(self.parts(task.outputs)))):
                vector[places] = network.start(generator(self.key(task_id=t)), self.settings.start)
        return vector

    def objective(self, task):
        """Return the objective of a fit: the log likelihoods of all groups of a minibatch, and
        their gradient.
        """
        parts = self.parts(task.outputs)

        def objective(vector, rows, step, steps):
            groups, whole = self.groups(task, rows)
            gradient = np.zeros_like(vector)
            likelihood = 0.0
            for group in groups:
                # what tasks share gathers the gradients of all groups
                if len(group.x):
                    network, places = parts[group.task]
                    total, cache = network.log_likelihood(
                        vector[places], group.x, group.labels, self.backend
                    )
                    likelihood += group.scale * total
                    gradient[places] += network.log_likelihood_vjp(-group.scale / whole, cache)
            return Step(Elbo(likelihood), gradient)

        return objective

    def parts(self, outputs):
        """Return the network of each task so far, and of one with so many outputs, and its places
        in the vector.
        """
        networks = [self.network(count) for count in (*self.outputs, outputs)]
        # the first ones of each network's vector, and of all
        shared = self.places(networks[0]).stop
        ends = accumulate((network.layout.size - shared for network in networks), initial=shared)
        return [
            (network, np.r_[:shared, start:end])
            for network, (start, end) in zip(networks, pairwise(ends), strict=True)
        ]

    def keep(self, task, vector):
        """Keep what was trained: what tasks share, and what each has of its own."""
        *before, (_, last) = self.parts(task.outputs)
        self.own = [np.delete(vector[places], self.places(network)) for network, places in before]
        super().keep(task, vector[last])

    def remembered(self, task_id, scale=1.0):
        """Return the examples that are kept of a task."""
        return Group(self.memory[f"x{task_id}"], self.memory[f"y{task_id}"], task_id, scale)
