"""What the methods have in common whose network grows by units that are added behind those that are there.

The network that a task knew is then the leading block of every weight matrix: the stamp of a unit is its place.
"""

import numpy as np

from ibpcl.methods.sequential import Sequential
from ibpcl.models import plain
from ibpcl.models.parameters import Layout
from ibpcl.noise import generator


def trunk(inputs, hidden):
    """Return the order of the hidden layers' parameters in a network's vector, without the head's.

    >>> trunk(784, (200,)).size
    157000
    """
    return Layout(plain.network(inputs, tuple(hidden), 1).layout.entries[:-2])


class Growing(Sequential):
    """Learn tasks in a network that grows; a base of methods, parameters as in :class:`Sequential`.

    A task is predicted with the network that there was after it and its own head.  ``shared`` holds the hidden layers
    of the newest network.  ``memory`` has ``widths{s}``, the units of each hidden layer after task s; a method's
    ``train`` puts it there.
    """

    def network(self, outputs, widths=None):
        """Return the network of the next task, or of the one that was just learned, or of any widths."""
        t = self.learned if f"widths{self.learned}" in self.memory else self.learned - 1
        return plain.network(self.inputs, widths or (self.widths(t) if t >= 0 else self.settings.hidden), outputs)

    def network_of(self, task_id):
        """Return the network of a learned task."""
        return self.network(self.outputs[task_id], self.widths(task_id))

    def widths(self, task_id):
        """Return the units of each hidden layer of a task's network."""
        return tuple(self.memory[f"widths{task_id}"].tolist())

    def shared_for(self, task_id):
        """Return the hidden layers of a task's network: a corner of each array of the newest one."""
        newest, own = (trunk(self.inputs, self.widths(t)) for t in (self.learned - 1, task_id))
        return self.shared[own.within(newest)]

    def known(self, network):
        """Return which elements (P,) of a network's vector are those of the last task's hidden layers."""
        found = np.zeros(network.layout.size, bool)
        if self.learned:
            found[trunk(self.inputs, self.widths(self.learned - 1)).within(network.layout)] = True
        return found

    def start(self, network, phase="initial"):
        """Return the parameters of a network that goes on from the last task's, all else fresh."""
        vector = network.start(generator(self.key(phase)), self.settings.start)
        vector[self.known(network)] = 0 if self.shared is None else self.shared
        return vector
