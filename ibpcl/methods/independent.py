r"""Independent networks: one plain network a task, the reference without any continual learning.

Nothing is shared, so nothing is forgotten and nothing is transferred.  What a method of continual learning gains over
this is transfer between tasks, or a single task learned better; what it loses is forgetting, or too little capacity.
Each network is deterministic, has ReLU units, and maximizes the likelihood of its own task.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual.learner import Saved, check_inputs, check_task, check_task_id
from ibpcl.inference import objectives
from ibpcl.inference.loop import Fit
from ibpcl.inference.objectives import Data, Weighted
from ibpcl.methods import OneRate, option
from ibpcl.models import plain
from ibpcl.models.elbo import Elbo
from ibpcl.models.starts import STARTS
from ibpcl.noise import Key, generator


@dataclass(frozen=True)
class Settings(OneRate):
    """The settings of the reference."""

    hidden: tuple[int, ...] = option((200,), "Units of each hidden layer of each network.")
    epochs: int = 10
    start: str = option("uniform", "Where training starts: uniform within 1 / sqrt(fan-in), or he (normal, wider).",
                        choices=STARTS)


class Independent(Saved):
    """Learn every task in a network of its own.

    Parameters as in :class:`ibpcl.continual.learner.Saved`.
    """

    settings_type = Settings

    def __init__(self, settings=None, seed=0, backend_name="numba"):
        super().__init__(settings, seed, backend_name)
        self.networks = []                                   # (network, its parameters) of each task

    @property
    def learned(self):
        """How many tasks were learned."""
        return len(self.networks)

    def learn(self, task, progress=None):
        """Maximize the likelihood of the task in a new network; return the history of its training.

        Arguments and errors as in :meth:`ibpcl.continual.learner.Learner.learn`.
        """
        check_task("independent", task, "classification", None)
        settings = self.settings
        network = plain.network(task.inputs, settings.hidden, task.outputs)
        key = Key(self.seed, len(self.networks), 0, 0)
        start = network.start(generator(key), settings.start)

        how = Fit("independent", settings.epochs, settings.batch, 1, key, self.backend, progress)
        vector, history = objectives.train_fixed(network, start, None, {}, Data(task.x_train, task.y_train), how,
                                                 {"plain": settings.rate}, Weighted(Elbo(1.0)))
        self.networks.append((network, vector))
        return history

    def predict(self, x, task_id):
        """Return class probabilities (N, C) for inputs (N, D) of a learned task."""
        check_task_id("independent.predict", task_id, len(self.networks))
        network, vector = self.networks[task_id]
        x = check_inputs("independent.predict", x, network.inputs, task_id, len(self.networks))
        return network.predict(vector, x, self.backend)

    def state(self):
        """Return everything that was learned, as a dict of arrays."""
        return {f"task{t}.{name}": view for t, (network, vector) in enumerate(self.networks)
                for name, view in network.layout.views(vector).items()}

    def load_state(self, state):
        """Become the learner whose :meth:`state` this was."""
        names, self.networks = [*(f"hidden{i}" for i in range(len(self.settings.hidden))), "head"], []
        while (start := f"task{len(self.networks)}.") + "hidden0.weight.mu" in state:
            shapes = [state[f"{start}{name}.weight.mu"].shape for name in names]
            network = plain.network(shapes[0][0], tuple(width for _, width in shapes[:-1]), shapes[-1][1])
            vector = np.zeros(network.layout.size, np.float32)
            for name, view in network.layout.views(vector).items():
                view[...] = state[start + name]
            self.networks.append((network, vector))
