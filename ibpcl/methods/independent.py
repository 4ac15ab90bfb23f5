"""Independent networks: one plain network per task, the reference without continual learning.

Nothing is shared, so nothing is forgotten and nothing is transferred.  If a method of continual
learning scores higher, it gains by transfer between tasks or by learning single tasks better.  If
it scores lower, it forgets or has too little capacity.  Each network is deterministic, has ReLU
units, and maximizes the likelihood of its task.
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
from ibpcl.models.architecture import line_option, parse
from ibpcl.models.starts import STARTS
from ibpcl.options import option


@documented
@dataclass(frozen=True, init=False)
class Settings(Training):
    """Settings of independent networks."""

    method = "independent"

    hidden: tuple[int, ...] = option((200,), "Units of each hidden layer of each network.")
    epochs: int = 10
    rate: float = option(0.001, "Adam's learning rate.", at_least=0)
    start: str = option(
        "uniform",
        "Initial weights: uniform within 1 / sqrt(fan-in), or he (normal, wider).",
        choices=STARTS,
    )
    network: str = line_option()

    # fixed settings, which the shared steps read
    single_head = False
    rate_end = 1.0

    def __post_init__(self):
        super().__post_init__()
        if self.network:
            parse(self.network, "independent")


class SeparateClassifiers(PlainClassifier):
    """Classifier of which tasks share no parameter.

    Parameters
    ----------
    settings : Settings
        Settings of the learner.

    Attributes
    ----------
    kind : str
        Kind of the tasks, ``"classification"``.
    streams : dict of str to int
        Number of the noise stream of each phase of a task.
    """

    def shares(self, name):
        """Return whether all tasks share a parameter: never.

        Parameters
        ----------
        name : str
            Name of the parameter; not used.

        Returns
        -------
        shared : bool
            False.
        """
        return False


def learn_task(context, task):
    """Train a separate network on a task.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task: ``learner.context`` of a learner.
    task : ibpcl.continual.task.Task
        The next task.

    Returns
    -------
    state : ibpcl.methods.sequential.State
        State with the task added.
    history : list of ibpcl.inference.loop.Record
        One row per epoch.

    Raises
    ------
    TypeError
        If the task is of another kind than the model learns.
    ValueError
        If the task does not fit the network.
    TrainingError
        If the loss is not finite.
    """
    # the inputs of every task may have another width
    context = accept(replace(context, state=replace(context.state, inputs=None)), task)
    network = context.next_network(task.outputs)
    vector = start(context, network, task)
    vector, history = train(context, network, vector, Data(task.x_train, task.targets))
    width = {f"inputs{context.state.learned}": np.array(task.inputs)}
    return keep(context, network, vector, context.state.memory | width), history


class Independent(Saved):
    """Learner that trains a separate network for each task.

    Parameters
    ----------
    settings : Settings, optional
        Hyperparameters; all defaults if not given.
    seed : int, default 0
        Seed of all random numbers, in 0 .. 2**64 - 1.  Equal seeds, settings and tasks give equal
        results.
    backend_name : {"numba", "numpy"}, default "numba"
        Library that runs the numerical kernels: compiled loops, or plain NumPy.  NumPy also
        replaces Numba where Numba is not available.

    Attributes
    ----------
    settings : Settings
        The hyperparameters.
    seed : int
        The seed.
    backend : ibpcl.inference.backend.Backend
        The numerical backend.
    model : SeparateClassifiers
        Builds the network of a task and selects the parameters that tasks share.
    knowledge : ibpcl.methods.sequential.State
        Everything learned so far.  ``knowledge.memory`` holds ``inputs{s}``, the
        width of the inputs of task s, which may differ between tasks.
    name : str
        Name of the method, ``"independent"``.
    learned : int
        Number of tasks learned so far.
    inputs : int or None
        Width D of the examples; None before the first task.
    context : ibpcl.methods.sequential.Context
        Inputs of every step of the method, for the current state.

    Raises
    ------
    ValueError
        If ``backend_name`` is neither "numba" nor "numpy".

    Examples
    --------
    >>> from ibpcl.continual.task import Task
    >>> task = Task("xor", [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], [[0, 0]], [0])
    >>> learner = Independent(Settings(hidden=(8,), epochs=1), backend_name="numpy")
    >>> history = learner.learn(task, progress=False)
    >>> learner.predict([[0.0, 1.0]], task_id=0).shape
    (1, 2)
    """

    settings_type = Settings
    model_type = SeparateClassifiers
    context_type = Context

    def learn(self, task, progress=None):
        """Learn the next task.

        Parameters
        ----------
        task : ibpcl.continual.task.Task
            A classification with inputs of any width.
        progress : bool or ibpcl.inference.loop.Watch, optional
            True shows progress bars, False hides them; by default they are shown on a terminal
            only.  A Watch also receives every epoch.

        Returns
        -------
        history : list of ibpcl.inference.loop.Record
            One row per epoch, with the parts of the objective in nats for the whole task.

        Raises
        ------
        TypeError
            If ``task`` is not a Task, or not a classification.
        TrainingError
            If the loss is not finite.
        """
        return self.turn(learn_task, task, progress)

    def predict(self, x, task_id):
        """Return class probabilities for inputs of a learned task.

        Parameters
        ----------
        x : array_like, shape (N, D)
            Inputs, finite real numbers.
        task_id : int
            Number of a learned task, from 0 in the order of learning.

        Returns
        -------
        probabilities : ndarray, shape (N, C)
            Each row sums to 1.

        Raises
        ------
        TypeError
            If ``task_id`` is not an integer, or ``x`` does not hold real numbers.
        ValueError
            If the task was not learned, or ``x`` has another width or non-finite entries.
        """
        return predict(self.context, self.assemble, x, task_id)
