"""What joint training and rehearsal have in common: the loss is of several tasks, and all their heads are trained."""

import numpy as np

from ibpcl.methods.sequential import Sequential
from ibpcl.models.elbo import Elbo
from ibpcl.models.plain import Group, MultiHead
from ibpcl.noise import generator


class Pooled(Sequential):
    """Train one network on examples of several tasks at once; a base of methods.

    A method says how many examples an epoch passes over (:meth:`pool_size`), which groups of examples a step's rows
    are (:meth:`groups`), and how many examples of the whole each example of a group stands for.
    """

    restarts = False                                         # whether every task starts from fresh parameters

    def train(self, task, progress):
        """Fit the network and all heads; return the hidden layers' parameters, then each head's, and the history."""
        model = self.model((*self.outputs, task.outputs))

        def objective(vector, rows, step, steps):
            groups, scales, whole = self.groups(task, rows)
            totals, cache = model.log_likelihoods(vector, groups, self.backend)
            gradient = model.log_likelihoods_vjp([-scale / whole for scale in scales], cache)
            likelihood = sum(scale * total for scale, total in zip(scales, totals, strict=True))
            return Elbo(likelihood, 0.0, 0.0, 0.0), gradient, 0.0

        return self.fit(self.begin_all(task), objective, self.pool_size(task), progress)

    def keep(self, task, vector):
        """Keep what was trained: the hidden layers and every head."""
        self.outputs.append(task.outputs)
        model = self.model(self.outputs)
        if self.settings.single_head:
            self.shared, self.heads = vector.copy(), [vector[:0]] * len(self.outputs)
        else:
            self.shared = vector[model.parts(0)[0]].copy()
            self.heads = [vector[model.parts(head)[1]].copy() for head in range(len(self.outputs))]
        self.remember(task, vector)

    def model(self, outputs):
        """Return the network of all tasks."""
        outputs = outputs[:1] if self.settings.single_head else outputs
        return MultiHead(self.inputs, self.settings.hidden, tuple(outputs))

    def head(self, task_id):
        """Return which head a task has."""
        return 0 if self.settings.single_head else task_id

    def begin_all(self, task):
        """Return the parameters before training: those of the tasks before, and a fresh head."""
        if self.shared is None:
            return self.begin(task)
        if not self.restarts:
            fresh = self.begin(task)
            return np.concatenate([self.shared, *self.heads, fresh[len(self.shared):]])
        starts = [self.network(outputs).initial(generator(self.key(task_id=t)), self.settings.start)
                  for t, outputs in enumerate((*self.outputs, task.outputs))]
        if self.settings.single_head:
            return starts[0]
        hidden = self.network(task.outputs).hidden_size
        return np.concatenate([starts[0][:hidden], *(start[hidden:] for start in starts)])

    def remembered(self, task_id):
        """Return the examples that are kept of a task, for its head."""
        return Group(self.memory[f"x{task_id}"], self.memory[f"y{task_id}"], self.head(task_id))
