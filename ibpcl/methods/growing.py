"""What the methods have in common whose network grows by units that are added behind those that are
there.

The network that a task knew is then the leading block of every weight matrix: the stamp of a unit
is its place.
"""

import numpy as np

from ibpcl.methods.sequential import Sequential
from ibpcl.models import plain
from ibpcl.models.parameters import Layout
from ibpcl.noise import generator


class Growing(Sequential):
    """Learn tasks in a network that grows; a base of methods, parameters as in :class:`Sequential`.

    A task is predicted with the network that there was after it.  ``shared`` is that of the newest
    network.  ``memory`` has ``widths{s}``, the units of each hidden layer after task s; a method
    puts it there before a task is kept.
    """

    @property
    def hidden(self):
        """The units of each hidden layer of the newest network."""
        t = self.learned if f"widths{self.learned}" in self.memory else self.learned - 1
        return self.widths(t) if t >= 0 else self.settings.hidden

    def network(self, outputs, widths=None):
        """Return a network of given widths, of the newest ones if they are not given."""
        return plain.network(self.inputs, widths or self.hidden, outputs)

    def network_of(self, task_id):
        """Return the network of a learned task."""
        return self.network(self.outputs[task_id], self.widths(task_id))

    def widths(self, task_id):
        """Return the units of each hidden layer of a task's network."""
        return tuple(self.memory[f"widths{task_id}"].tolist())

    def shared_layout(self, task_id=-1):
        """Return the order of what tasks share in the network of a task, the last one if not
        given.
        """
        entries = self.network_of(task_id % self.learned).layout.entries
        return Layout(entry for entry in entries if self.shares(entry.name))

    def shared_for(self, task_id):
        """Return what a task's network has of what tasks share: a corner of each array of the
        newest one.
        """
        return self.shared[self.shared_layout(task_id).within(self.shared_layout())]

    def known(self, network):
        """Return which elements (P,) of a network's vector are those of what the last task's
        network shares.
        """
        found = np.zeros(network.layout.size, bool)
        if self.learned:
            found[self.shared_layout().within(network.layout)] = True
        return found

    def start(self, network, phase="initial"):
        """Return the parameters of a network that goes on from the last task's, all else fresh."""
        vector = network.start(generator(self.key(phase)), self.settings.start)
        vector[self.known(network)] = 0 if self.shared is None else self.shared
        return vector
