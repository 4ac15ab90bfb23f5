r"""What the methods have in common that train one network on task after task.

Tasks share most of the network and each has a part of its own: of a classifier the head (or
nothing, with one head for all); of an autoencoder all but the decoder's last layers
(:mod:`ibpcl.methods.images`).  For every task: fresh parameters for its own part, training with a
fresh Adam from where the last task ended, then whatever the method wants to remember.  A method
says what it adds to the loss (:meth:`Sequential.penalty`) and what it remembers
(:meth:`Sequential.remember`); without either this is naive training.  Order of the examples and the
start are functions of the seed and of the task's number, so methods are compared on the same
minibatches.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ibpcl.continual.learner import Saved, check_inputs, check_task, check_task_id, under
from ibpcl.inference import objectives
from ibpcl.inference.loop import Fit, fit
from ibpcl.inference.objectives import Data, Weighted
from ibpcl.methods import OneRate
from ibpcl.models import plain
from ibpcl.models.elbo import GRADIENT
from ibpcl.models.starts import STARTS
from ibpcl.noise import generator
from ibpcl.options import option
from ibpcl.primitives import quadratic


@dataclass(frozen=True, init=False)
class SequentialSettings(OneRate):
    """The settings that every method on a plain network has."""

    single_head: bool = option(False, "One head for all tasks instead of one per task.")
    start: str = option(
        "uniform",
        "Where weights start: uniform within 1 / sqrt(fan-in), or he (normal, wider).",
        choices=STARTS,
    )


class Sequential(Saved):
    """Train one network on task after task; a base of methods.

    Parameters as in :class:`ibpcl.continual.learner.Saved`.

    Attributes
    ----------
    shared : ndarray or None
        What all tasks share, in the order of the network's vector.
    own : list of ndarray
        What each task has for itself, in the same order.
    outputs : list of int
        Width of each task's outputs.
    memory : dict of str to ndarray
        What the method remembers of the tasks.
    """

    settings_type = SequentialSettings
    kind = "classification"  # of task
    layer = "plain"  # kind of the layers that tasks share
    streams: ClassVar = {"initial": 0, "fisher": 1, "buffer": 2, "gates": 3}

    def __init__(self, settings=None, seed=0, backend_name="numba"):
        super().__init__(settings, seed, backend_name)
        self.shared = None
        self.own = []
        self.outputs = []
        self.memory = {}
        # what predictions are made with, until more is learned
        self.refined = {}

    def learn(self, task, progress=None):
        """Train on the next task and remember what the method wants to; return the history of the
        training.

        Arguments and errors as in :meth:`ibpcl.continual.learner.Learner.learn`.
        """
        self.check(task)
        vector, history = self.train(task, progress)
        self.keep(task, vector)
        return [record._replace(task=self.learned - 1) for record in history]

    def predict(self, x, task_id):
        """Return class probabilities (N, C) for inputs (N, D) of a learned task."""
        check_task_id(f"{self.name}.predict", task_id, self.learned)
        network, vector = self.assemble(task_id)
        x = check_inputs(f"{self.name}.predict", x, network.inputs, task_id, self.learned)
        return network.predict(vector, x, self.backend)

    def state(self):
        """Return everything that was learned, as a dict of arrays."""
        if self.shared is None:
            return {}
        arrays = {
            "inputs": np.array(self.inputs),
            "outputs": np.array(self.outputs),
            "shared": self.shared,
        }
        arrays |= {f"task{t}.own": own for t, own in enumerate(self.own)}
        return arrays | {f"memory.{name}": value for name, value in self.memory.items()}

    def load_state(self, state):
        """Become the learner whose :meth:`state` this was."""
        state = {name: np.array(value) for name, value in state.items()}
        self.inputs = int(state["inputs"]) if state else None
        self.outputs = [int(outputs) for outputs in state.get("outputs", ())]
        self.shared = state.get("shared")
        self.own = [state[f"task{t}.own"] for t in range(len(self.outputs))]
        self.memory = under(state, "memory.")
        self.refined = {}

    # What a method may say otherwise.

    def network(self, outputs):
        """Return the network of the next task, or of the one that was just learned."""
        return plain.network(self.inputs, self.settings.hidden, outputs)

    def network_of(self, task_id):
        """Return the network of a learned task."""
        return self.network(self.outputs[task_id])

    def shares(self, name):
        """Return whether all tasks share the parameters of a name."""
        return self.settings.single_head or not name.startswith("head.")

    def places(self, network):
        """Return where in a network's vector that is which all tasks share."""
        return network.layout.places(self.shares)

    def fresh(self, network, task):
        """Return the parameters of a network that knows no task yet."""
        return network.start(generator(self.key()), self.settings.start)

    def prior(self, network):
        """Return the prior of the weights; None for weights that are numbers."""
        return None

    def penalty(self, vector, places, task):
        """Return what the method adds to the negative ELBO, in nats for the whole task, and its
        gradient (P,).

        ``vector[places]`` is what all tasks share.  Nothing by default: (0, None).
        """
        return 0.0, None

    def remember(self, task, vector):
        """Put into ``memory`` what the method wants to know of a task that has just been learned;
        nothing here.
        """

    def shared_for(self, task_id):
        """Return the shared parameters with which a task is predicted."""
        return self.shared

    def weighted(self, task):
        """Return what is maximized: the ELBO, less the penalty."""
        places = self.places(self.network(task.outputs))
        return Weighted(
            GRADIENT, penalty=lambda vector, gradient: self.penalty(vector, places, task)
        )

    def train(self, task, progress):
        """Fit the network to a task; return its parameters and the history."""
        network = self.network(task.outputs)
        return self.maximize(
            network,
            self.begin(task),
            self.prior(network),
            Data(task.x_train, task.targets),
            self.how(progress),
            self.weighted(task),
        )

    def maximize(self, network, vector, prior, data, how, weighted):
        """Fit a network to data from ``vector`` on; return its parameters and the history."""
        rates = dict.fromkeys(("plain", "mu", "log_sigma"), self.settings.rate)
        return objectives.train(network, vector, prior, data, how, rates, weighted, {})[1:]

    def keep(self, task, vector):
        """Keep what was trained: what tasks share, and the task's own part."""
        places = self.places(self.network(task.outputs))
        self.shared = vector[places].copy()
        self.own.append(np.delete(vector, places))
        self.outputs.append(task.outputs)
        self.refined = {}
        self.remember(task, vector)

    # What they are made of.

    def begin(self, task):
        """Return the parameters before training on a task: a fresh part of its own on what is
        shared.
        """
        network = self.network(task.outputs)
        vector = self.fresh(network, task)
        if self.shared is not None:
            vector[self.places(network)] = self.shared
        return vector

    def assemble(self, task_id):
        """Return the network of a learned task and its parameters."""
        network = self.network_of(task_id)
        vector = np.empty(network.layout.size, np.float32)
        places = self.places(network)
        others = np.delete(np.arange(vector.size), places)
        for where, values in ((places, self.shared_for(task_id)), (others, self.own[task_id])):
            if np.shape(values) != vector[where].shape:  # NumPy would repeat a single one
                raise ValueError(
                    f"{self.name}: the state of task {task_id} has parameters of shape "
                    f"{np.shape(values)}, not {vector[where].shape}"
                )
            vector[where] = values
        return network, vector

    def how(self, progress):
        """Return how all fits of the method go."""
        settings = self.settings
        return Fit(
            self.name,
            settings.epochs,
            settings.batch,
            1,
            self.key(),
            self.backend,
            progress,
            settings.rate_end,
        )

    def fit(self, start, objective, examples, progress, rates=None, adapt=None):
        """Fit with an objective of one's own; :func:`ibpcl.inference.loop.fit` says what the
        arguments are.
        """
        rates = np.full(len(start), self.settings.rate, np.float32) if rates is None else rates
        return fit(start, objective, rates, examples, self.how(progress), adapt)

    def check(self, task):
        """Refuse a task that does not fit; note the width of the first one."""
        check_task(self.name, task, self.kind, self.inputs)
        self.inputs = task.inputs
        if self.outputs and task.outputs != self.outputs[0] and self.settings.single_head:
            raise ValueError(
                f"{self.name}: task {task.name!r} has {task.outputs} outputs, "
                f"the one head {self.outputs[0]}"
            )


def pull(vector, places, *anchors):
    """Return the penalty that draws ``vector[places]`` to anchors, each with its precision, and its
    gradient (P,).

    >>> pull(np.array([1.0, 3.0]), slice(1, 2), (np.array([1.0]), np.array([10.0])))
    (20.0, array([ 0., 20.]))
    """
    total = 0.0
    gradient = np.zeros_like(vector)
    for anchor, precision in anchors:
        value, cache = quadratic.penalty(
            vector[places], anchor, precision.astype(vector.dtype, copy=False)
        )
        total += float(value)
        gradient[places] += quadratic.penalty_vjp(1.0, cache)[0]
    return total, gradient
