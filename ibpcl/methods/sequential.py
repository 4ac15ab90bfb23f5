r"""Methods that train one network on the tasks in sequence: their state and their common steps.

Tasks share most of the network, and each task has a part of its own.  In a classifier the task's
own part is its head (or nothing, with one head for all tasks).  In an autoencoder it is everything
but the last layers of the decoder (:mod:`ibpcl.methods.images`).  Every method does the same for a
task: it starts the task's own part afresh, trains with a fresh Adam from where the last task ended,
and then remembers what it needs.  Methods differ by the penalty that they pass to :func:`train` and
by what they put into the memory of the :class:`State`.  Without a penalty this is naive training.
The order of the examples and the start are functions of the seed and of the task's number, so all
methods see the same minibatches.
"""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from ibpcl.continual.learner import check_inputs, check_task, check_task_id, phase_key, under
from ibpcl.inference import objectives
from ibpcl.inference.loop import Fit
from ibpcl.inference.objectives import Weighted
from ibpcl.methods import OneRate
from ibpcl.methods.settings_docs import documented
from ibpcl.models import plain
from ibpcl.models.elbo import GRADIENT
from ibpcl.models.parameters import Layout
from ibpcl.models.starts import STARTS
from ibpcl.noise import generator
from ibpcl.options import called, option
from ibpcl.primitives import quadratic


@documented
@dataclass(frozen=True, init=False)
class SequentialSettings(OneRate):
    """The settings that every method on a plain network has."""

    single_head: bool = option(False, "One head for all tasks instead of one per task.")
    start: str = option(
        "uniform",
        "Where weights start: uniform within 1 / sqrt(fan-in), or he (normal, wider).",
        choices=STARTS,
    )


@dataclass(frozen=True)
class State:
    """What is kept of the learned tasks; a tuple has one element per task.

    Attributes
    ----------
    inputs : int or None
        Width D of the examples; None before the first task.
    shared : ndarray or None
        Parameters that all tasks share, in the order of the network's vector.
    outputs : tuple of int
        Width of the outputs.
    own : tuple of ndarray
        Parameters that only this task has, in the order of its network's vector.
    memory : dict of str to ndarray
        What the method remembers; the class of the method lists the names.  Where networks grow,
        ``widths{t}`` has the units of each hidden layer after task t.
    """

    inputs: int | None = None
    shared: np.ndarray | None = None
    outputs: tuple[int, ...] = ()
    own: tuple[np.ndarray, ...] = ()
    memory: dict = field(default_factory=dict)

    @classmethod
    def initial(cls, settings):
        """Return the state before the first task."""
        return cls()

    @property
    def learned(self):
        """How many tasks were learned."""
        return len(self.outputs)

    def arrays(self):
        """Return everything as a dict of arrays for a file; empty before the first task."""
        if self.shared is None:
            return {}
        arrays = {
            "inputs": np.array(self.inputs),
            "outputs": np.array(self.outputs),
            "shared": self.shared,
        }
        arrays |= {f"task{t}.own": own for t, own in enumerate(self.own)}
        return arrays | {f"memory.{name}": value for name, value in self.memory.items()}

    def with_arrays(self, arrays):
        """Return the state whose :meth:`arrays` these are; this state if there are none."""
        if not arrays:
            return self
        arrays = {name: np.array(value) for name, value in arrays.items()}
        outputs = tuple(map(int, arrays["outputs"]))
        return State(
            inputs=int(arrays["inputs"]),
            shared=arrays["shared"],
            outputs=outputs,
            own=tuple(arrays[f"task{t}.own"] for t in range(len(outputs))),
            memory=under(arrays, "memory."),
        )


@dataclass(frozen=True)
class PlainClassifier:
    """A network with ReLU units and numbers as weights, and which of its parameters tasks share.

    Parameters
    ----------
    settings : SequentialSettings
    """

    settings: object

    kind = "classification"  # of the tasks
    # The noise of each phase of a task.  A name keeps its number, so that a new phase changes no
    # published result.
    streams: ClassVar = {
        "initial": 0,
        "train": 0,
        "fisher": 1,
        "growth": 1,
        "buffer": 2,
        "gates": 3,
    }
    stride = None  # the network draws no noise, so a phase is the stream of the key
    samples = 1
    weights = GRADIENT  # of the parts of the ELBO
    warm_up = 0.0

    def network(self, inputs, hidden, outputs):
        """Return the network with given widths: ints, and a tuple of ints for the hidden layers."""
        return plain.network(inputs, hidden, outputs)

    def shares(self, name):
        """Return whether all tasks share the parameters of this name."""
        return self.settings.single_head or not name.startswith("head.")

    def start(self, context, network, task):
        """Return fresh parameters (P,) of a network."""
        return network.start(generator(context.key()), self.settings.start)


@dataclass(frozen=True)
class Context:
    """What every step of a method reads and none changes.

    Attributes
    ----------
    settings : SequentialSettings
    model : PlainClassifier or ibpcl.methods.images.PlainAutoencoder
        The network of a task, and which of its parameters tasks share.
    state : State
        What is kept of the tasks so far.
    seed : int
    backend : ibpcl.inference.backend.Backend
    progress : bool, ibpcl.inference.loop.Watch or None
        Whether progress bars are shown, or who watches the training.
    """

    settings: object
    model: object
    state: State
    seed: int
    backend: object
    progress: object = None

    state_type: ClassVar = State

    @property
    def name(self):
        """The method's name, for messages and the history."""
        return called(type(self.settings))

    def key(self, phase="initial", task_id=None):
        """Return the key of the noise of a phase, of the next task unless another is named."""
        t = self.state.learned if task_id is None else task_id
        return phase_key(self.model, self.seed, t, phase)

    def fit(self, **changes):
        """Return how the training on a task goes, with changes to single fields."""
        settings = self.settings
        usual = Fit(
            phase=self.name,
            epochs=settings.epochs,
            batch=settings.batch,
            samples=self.model.samples,
            key=self.key("train"),
            backend=self.backend,
            progress=self.progress,
            rate_end=settings.rate_end,
        )
        return usual._replace(**changes)

    def hidden(self, task_id):
        """Return the units of each hidden layer after a learned task."""
        widths = self.state.memory.get(f"widths{task_id}", self.settings.hidden)
        return tuple(int(width) for width in widths)

    def network_of(self, task_id):
        """Return the network of a learned task, as large as it was then."""
        state = self.state
        inputs = int(state.memory.get(f"inputs{task_id}", state.inputs))
        return self.model.network(inputs, self.hidden(task_id), state.outputs[task_id])

    def next_network(self, outputs, hidden=None):
        """Return the network of the next task; as wide as the last one unless widths are given."""
        hidden = hidden or self.hidden(self.state.learned - 1)
        return self.model.network(self.state.inputs, hidden, outputs)

    def places(self, network):
        """Return where in a network's vector the parameters are that tasks share."""
        return network.layout.places(self.model.shares)

    def shared_layout(self, task_id):
        """Return the names and shapes of what tasks share in the network of a learned task."""
        entries = self.network_of(task_id).layout.entries
        return Layout(entry for entry in entries if self.model.shares(entry.name))

    def shared_with(self, task_id):
        """Return the shared parameters of a learned task's network.

        Where networks grow, it is a corner of each array of the newest network.
        """
        state = self.state
        if f"widths{task_id}" not in state.memory:
            return state.shared
        newest = self.shared_layout(state.learned - 1)
        return state.shared[self.shared_layout(task_id).within(newest)]

    def assemble(self, task_id, shared=None):
        """Return the network of a learned task and its parameters (P,).

        ``shared`` replaces the shared parameters, as the merged ones of IMM do.
        """
        network = self.network_of(task_id)
        vector = np.empty(network.layout.size, np.float32)
        places = self.places(network)
        others = np.delete(np.arange(vector.size), places)
        shared = self.shared_with(task_id) if shared is None else shared
        for where, values in ((places, shared), (others, self.state.own[task_id])):
            if np.shape(values) != vector[where].shape:  # NumPy would repeat a single one
                raise ValueError(
                    f"{self.name}: the state of task {task_id} has parameters of shape "
                    f"{np.shape(values)}, not {vector[where].shape}"
                )
            vector[where] = values
        return network, vector


# The steps of a task.


def accept(context, task):
    """Refuse a task that does not fit; return the context with the width of the examples.

    Raises
    ------
    TypeError, ValueError
        If the task is of another kind, has another width, or does not fit the one head.
    """
    state = context.state
    check_task(context.name, task, context.model.kind, state.inputs)
    if state.outputs and task.outputs != state.outputs[0] and context.settings.single_head:
        raise ValueError(
            f"{context.name}: task {task.name!r} has {task.outputs} outputs, "
            f"the one head {state.outputs[0]}"
        )
    return replace(context, state=replace(state, inputs=task.inputs))


def start(context, network, task):
    """Return where training on a task starts (P,): the shared parameters, all others afresh."""
    vector = context.model.start(context, network, task)
    if context.state.shared is not None:
        vector[context.places(network)] = context.state.shared
    return vector


def train(
    context,
    network,
    vector,
    data,
    *,
    penalty=None,
    prior=None,
    weights=None,
    held=None,
    adapt=None,
):
    """Maximize the ELBO of a task, less a penalty.

    Parameters
    ----------
    context : Context
    network : ibpcl.models.network.Network
    vector : ndarray, shape (P,)
        Where to start.
    data : ibpcl.inference.objectives.Data
    penalty : callable, optional
        ``penalty(vector, gradient)`` returns what is added to the negative ELBO, in nats for the
        whole task, and its gradient (P,) or None.  ``gradient`` is that of the loss without it, in
        nats per example.
    prior : ibpcl.models.elbo.Prior, optional
        Prior of Gaussian weights; None where weights are numbers.
    weights : ibpcl.models.elbo.Elbo, optional
        Weight of each part of the ELBO; those of the model if not given.
    held : ndarray of bool, shape (P,), optional
        Parameters that stay where they are.
    adapt : callable, optional
        Called after each step, see :func:`ibpcl.inference.loop.fit`.

    Returns
    -------
    vector : ndarray, shape (P,)
    history : list of ibpcl.inference.loop.Record
    """
    model = context.model
    rates = dict.fromkeys(("plain", "mu", "log_sigma"), context.settings.rate)
    weighted = Weighted(weights or model.weights, model.warm_up, held, penalty, adapt)
    _, vector, history = objectives.train(
        network, vector, prior, data, context.fit(), rates, weighted, {}
    )
    return vector, of_task(context, history)


def of_task(context, history):
    """Return the rows of a history with the number of the task that is being learned."""
    return [record._replace(task=context.state.learned) for record in history]


def keep(context, network, vector, memory=None):
    """Return the state with one more task.

    Parameters
    ----------
    context : Context
    network : ibpcl.models.network.Network
    vector : ndarray, shape (P,)
        The trained parameters.
    memory : dict of str to ndarray, optional
        What the method remembers from now on; unchanged if not given.

    Returns
    -------
    state : State
    """
    state = context.state
    places = context.places(network)
    return replace(
        state,
        shared=vector[places].copy(),
        outputs=(*state.outputs, network.outputs),
        own=(*state.own, np.delete(vector, places)),
        memory=state.memory if memory is None else memory,
    )


def predict(context, assembled, x, task_id):
    """Return class probabilities (N, C) for inputs (N, D) of a learned task.

    Parameters
    ----------
    context : Context
    assembled : callable
        ``assembled(task_id)`` returns the network of a task and its parameters.
    x : array_like, shape (N, D)
    task_id : int

    Returns
    -------
    probabilities : ndarray, shape (N, C)
    """
    check_task_id(f"{context.name}.predict", task_id, context.state.learned)
    network, vector = assembled(task_id)
    x = check_inputs(f"{context.name}.predict", x, network.inputs, task_id, context.state.learned)
    return network.predict(vector, x, context.backend)


def pull(vector, places, *anchors):
    """Return the penalty that pulls parameters towards anchors, and its gradient.

    Parameters
    ----------
    vector : ndarray, shape (P,)
    places : slice or ndarray of int
        Which parameters are pulled, Q of them.
    *anchors : pair of ndarray, shape (Q,)
        Where each pull leads to, and its precision.

    Returns
    -------
    penalty : float
        The sum of ``precision / 2 * (vector[places] - anchor) ** 2``.
    gradient : ndarray, shape (P,)

    Examples
    --------
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
