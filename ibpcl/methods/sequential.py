r"""What the methods have in common that train one plain network on task after task.

Hidden layers are shared; each task has a head of its own, or all have one.  For every task: a new head, training with a
fresh Adam from where the last task ended, then whatever the method wants to remember.  A method says what it adds to
the loss (:meth:`Sequential.penalty`) and what it remembers (:meth:`Sequential.remember`); without either this is naive
training.  Order of the examples and the start are functions of the seed and of the task's number, so methods are
compared on the same minibatches.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual.learner import Saved, check_inputs, check_task
from ibpcl.inference import objectives
from ibpcl.inference.loop import Fit, fit
from ibpcl.inference.objectives import Data, Weighted
from ibpcl.methods import OneRate, option
from ibpcl.models import plain
from ibpcl.models.elbo import Elbo
from ibpcl.models.starts import STARTS
from ibpcl.noise import Key, generator

# What is random besides the order of the examples; each has a stream of its own under the task's key.
STREAMS = ("initial", "fisher", "buffer", "gates")


@dataclass(frozen=True)
class SequentialSettings(OneRate):
    """The settings that every method on a plain network has."""

    single_head: bool = option(False, "One head for all tasks instead of one a task.")
    rate_end: float = option(1.0, "Factor of the learning rate at a task's last step; it falls geometrically.", above=0)
    start: str = option("uniform", "Where weights start: uniform within 1 / sqrt(fan-in), or he (normal, wider).",
                        choices=STARTS)


class Sequential(Saved):
    """Train one network on task after task; a base of methods.

    Parameters as in :class:`ibpcl.continual.learner.Saved`.

    Attributes
    ----------
    shared : ndarray or None
        What all tasks share: the hidden layers, with ``single_head`` the head too.
    heads : list of ndarray
        What each task has for itself; empty with ``single_head``.
    outputs : list of int
        Number of classes of each task.
    memory : dict of str to ndarray
        What the method remembers of the tasks.
    """

    settings_type = SequentialSettings

    def __init__(self, settings=None, seed=0, backend_name="numba"):
        super().__init__(settings, seed, backend_name)
        self.shared = None
        self.heads, self.outputs, self.memory = [], [], {}

    @property
    def name(self):
        """The method's name, for messages and the history."""
        return type(self.settings).method

    @property
    def learned(self):
        """How many tasks were learned."""
        return len(self.outputs)

    def learn(self, task, progress=None):
        """Train on the next task and remember what the method wants to; return the history of the training.

        Arguments and errors as in :meth:`ibpcl.continual.learner.Learner.learn`.
        """
        self._check(task)
        vector, history = self.train(task, progress)
        self.keep(task, vector)
        return history

    def predict(self, x, task_id):
        """Return class probabilities (N, C) for inputs (N, D) of a learned task."""
        x = check_inputs(f"{self.name}.predict", x, self.inputs, task_id, len(self.outputs))
        vector = np.concatenate([self.shared_for(task_id), self.heads[task_id]])
        return self.network(self.outputs[task_id]).predict(vector, x, self.backend)

    def state(self):
        """Return everything that was learned, as a dict of arrays."""
        if self.shared is None:
            return {}
        arrays = {"inputs": np.array(self.inputs), "outputs": np.array(self.outputs), "shared": self.shared}
        arrays |= {f"task{t}.head": head for t, head in enumerate(self.heads)}
        return arrays | {f"memory.{name}": value for name, value in self.memory.items()}

    def load_state(self, state):
        """Become the learner whose :meth:`state` this was."""
        state = {name: np.array(value) for name, value in state.items()}
        self.inputs = int(state["inputs"]) if state else None
        self.outputs = [int(outputs) for outputs in state.get("outputs", ())]
        self.shared = state.get("shared")
        self.heads = [state[f"task{t}.head"] for t in range(len(self.outputs))]
        self.memory = {name.removeprefix("memory."): value for name, value in state.items()
                       if name.startswith("memory.")}

    # What a method may say otherwise.

    def penalty(self, vector, task):
        """Return what the method adds to the negative log likelihood, in nats for the whole task, and its gradient.

        ``vector`` holds what is shared, then the task's head.  Nothing by default: (0, None).
        """
        return 0.0, None

    def remember(self, task, vector):
        """Put into ``memory`` what the method wants to know of a task that has just been learned; nothing here."""

    def shared_for(self, task_id):
        """Return the shared parameters with which a task is predicted."""
        return self.shared

    def train(self, task, progress):
        """Fit the network to a task; return its parameters, shared ones first, and the history."""
        weighted = Weighted(Elbo(1.0), penalty=lambda vector: self.penalty(vector, task))
        return objectives.train_fixed(self.network(task.outputs), self.begin(task), None, {},
                                      Data(task.x_train, task.y_train), self.how(progress),
                                      {"plain": self.settings.rate}, weighted)

    def keep(self, task, vector):
        """Keep what was trained: the shared part, and the task's own head."""
        count = self.shared_size(task.outputs)
        self.shared = vector[:count].copy()
        self.heads.append(vector[count:].copy())
        self.outputs.append(task.outputs)
        self.remember(task, vector)

    # What they are made of.

    def network(self, outputs):
        """Return the network of a task."""
        return plain.network(self.inputs, self.settings.hidden, outputs)

    def shared_size(self, outputs):
        """Return how many parameters all tasks share."""
        network = self.network(outputs)
        return network.layout.size - (0 if self.settings.single_head else network.head_size)

    def key(self, stream="initial", task_id=None):
        """Return the key of the noise of the next task, or of another."""
        return Key(self.seed, len(self.outputs) if task_id is None else task_id, 0, STREAMS.index(stream))

    def begin(self, task):
        """Return the parameters before training on a task: a fresh head on what is shared."""
        vector = self.network(task.outputs).start(generator(self.key()), self.settings.start)
        if self.shared is not None:
            vector[: len(self.shared)] = self.shared
        return vector

    def how(self, progress):
        """Return how all fits of the method go."""
        settings = self.settings
        return Fit(self.name, settings.epochs, settings.batch, 1, self.key(), self.backend, progress, settings.rate_end)

    def fit(self, start, objective, examples, progress, rates=None, adapt=None):
        """Fit with an objective of one's own; :func:`ibpcl.inference.loop.fit` says what the arguments are."""
        rates = np.full(len(start), self.settings.rate, np.float32) if rates is None else rates
        return fit(start, objective, rates, examples, self.how(progress), adapt)

    def _check(self, task):
        check_task(self.name, task, "classification", self.inputs)
        if self.settings.single_head and self.outputs and task.outputs != self.outputs[0]:
            raise ValueError(f"{self.name}: task {task.name!r} has {task.outputs} outputs, "
                             f"the one head {self.outputs[0]}")
        self.inputs = task.inputs
