r"""Independent networks: one plain network a task, the reference without any continual learning.

Nothing is shared, so nothing is forgotten and nothing is transferred.  What a method of continual
learning gains over this is transfer between tasks, or a single task learned better; what it loses
is forgetting, or too little capacity. Each network is deterministic, has ReLU units, and maximizes
the likelihood of its own task.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.continual.learner import check_task
from ibpcl.methods import Training
from ibpcl.methods.sequential import Sequential
from ibpcl.models import plain
from ibpcl.models.starts import STARTS
from ibpcl.options import option


@dataclass(frozen=True, init=False)
class Settings(Training):
    """The settings of the reference."""

    method = "independent"

    hidden: tuple[int, ...] = option((200,), "Units of each hidden layer of each network.")
    epochs: int = 10
    rate: float = option(0.001, "Adam's learning rate.", at_least=0)
    start: str = option(
        "uniform",
        "Where training starts: uniform within 1 / sqrt(fan-in), or he (normal, wider).",
        choices=STARTS,
    )

    # no choice here
    single_head = False
    rate_end = 1.0


class Independent(Sequential):
    """Learn every task in a network of its own; parameters and attributes as in
    :class:`Sequential`.

    ``memory`` has ``inputs{s}``, the width of each task's inputs, which may differ.
    """

    settings_type = Settings

    def network_of(self, task_id):
        """Return the network of a learned task, with the task's own width of the inputs."""
        return plain.network(
            int(self.memory[f"inputs{task_id}"]), self.settings.hidden, self.outputs[task_id]
        )

    def shares(self, name):
        """Return whether all tasks share the parameters of a name: none."""
        return False

    def check(self, task):
        """Refuse a task of another kind."""
        check_task(self.name, task, self.kind, None)
        self.inputs = task.inputs

    def remember(self, task, vector):
        """Keep the width of the inputs."""
        self.memory[f"inputs{self.learned - 1}"] = np.array(task.inputs)
