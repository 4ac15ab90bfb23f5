r"""Independent networks: one plain network a task, the reference without any continual learning.

Nothing is shared, so nothing is forgotten and nothing is transferred.  What a method of continual
learning gains over this is transfer between tasks, or a single task learned better; what it loses
is forgetting, or too little capacity. Each network is deterministic, has ReLU units, and maximizes
the likelihood of its own task.
"""

from dataclasses import dataclass, replace

import numpy as np

from ibpcl.continual.learner import Saved
from ibpcl.inference.objectives import Data
from ibpcl.methods import Training
from ibpcl.methods.sequential import (
    Context,
    PlainClassifier,
    accept,
    keep,
    predict,
    start,
    train,
)
from ibpcl.methods.settings_docs import documented
from ibpcl.models.starts import STARTS
from ibpcl.options import option


@documented
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


class SeparateClassifiers(PlainClassifier):
    """The network of a task, of which tasks share nothing."""

    def shares(self, name):
        """Return whether all tasks share the parameters of this name: none."""
        return False


def learn_task(context, task):
    """Train a network of its own on a task; return the new state and the history."""
    # every task may have inputs of another width
    context = accept(replace(context, state=replace(context.state, inputs=None)), task)
    network = context.next_network(task.outputs)
    vector = start(context, network, task)
    vector, history = train(context, network, vector, Data(task.x_train, task.targets))
    width = {f"inputs{context.state.learned}": np.array(task.inputs)}
    return keep(context, network, vector, context.state.memory | width), history


class Independent(Saved):
    """Learn every task in a network of its own; parameters as in :class:`Saved`.

    ``knowledge.memory`` has ``inputs{s}``, the width of each task's inputs, which may differ.
    """

    settings_type = Settings
    model_type = SeparateClassifiers
    context_type = Context

    def learn(self, task, progress=None):
        """Learn the next task and return the history of the training."""
        return self.turn(learn_task, task, progress)

    def predict(self, x, task_id):
        """Return class probabilities (N, C) for inputs (N, D) of a learned task."""
        return predict(self.context, self.assemble, x, task_id)
