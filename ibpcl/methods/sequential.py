"""Steps and state of the methods that train one network on the tasks in sequence.

Tasks share most of the network, and each task also has its own parameters.  In a classifier these
are the task's head (none, with a single head for all tasks).  In an autoencoder they are everything
except the last layers of the decoder (:mod:`ibpcl.methods.images`).

Every method treats a task alike: it initializes the task's own parameters, trains with a fresh Adam
state from where the last task ended, and then stores what it needs.  Methods differ in the penalty
that they pass to :func:`train` and in the ``memory`` of the :class:`State`.  Without a penalty this
is naive training.  The initial values and the order of the examples depend only on the seed and the
task's number, so all methods see the same minibatches.
"""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from ibpcl.continual.learner import (
    check_inputs,
    check_task,
    check_task_id,
    classes_seen,
    phase_key,
    under,
)
from ibpcl.inference import objectives
from ibpcl.inference.loop import Fit
from ibpcl.inference.objectives import Weighted
from ibpcl.methods import OneRate
from ibpcl.methods.settings_docs import documented
from ibpcl.models import plain
from ibpcl.models.architecture import line_option, parse
from ibpcl.models.elbo import GRADIENT
from ibpcl.models.parameters import Layout
from ibpcl.models.starts import STARTS
from ibpcl.noise import generator
from ibpcl.options import called, option
from ibpcl.primitives import quadratic


@documented
@dataclass(frozen=True, init=False)
class SequentialSettings(OneRate):
    """Settings that every method on a plain network has."""

    single_head: bool = option(False, "One head for all tasks instead of one per task.")
    start: str = option(
        "uniform",
        "Initial weights: uniform within 1 / sqrt(fan-in), or he (normal, wider).",
        choices=STARTS,
    )
    network: str = line_option()

    def __post_init__(self):
        super().__post_init__()
        if self.network:
            parse(self.network, called(type(self)))


@dataclass(frozen=True)
class State:
    """State of a method after the learned tasks; tuples have one element per task.

    Attributes
    ----------
    inputs : int or None
        Width D of the examples; None before the first task.
    shared : ndarray or None
        Parameters that all tasks share, in the order of the network's vector; None before the first
        task.
    outputs : tuple of int
        Number of network outputs of each task.
    own : tuple of ndarray
        Parameters that belong to one task only, in the order of its network's vector.
    memory : dict of str to ndarray
        Additional arrays of the method; its class lists their names.  Where networks grow,
        ``widths{t}`` holds the units of each hidden layer after task t.
    seen : tuple of int or None
        Labels of the classes that the tasks have shown so far, the next task included while it is
        learned; None if all classes take part from the start.
    """

    inputs: int | None = None
    shared: np.ndarray | None = None
    outputs: tuple[int, ...] = ()
    own: tuple[np.ndarray, ...] = ()
    memory: dict = field(default_factory=dict)
    seen: tuple[int, ...] | None = None

    @classmethod
    def initial(cls, settings):
        """Return the state before the first task.

        Parameters
        ----------
        settings : SequentialSettings
            Settings of the learner; not used.

        Returns
        -------
        state : State
            A state without tasks.
        """
        return cls()

    @property
    def learned(self):
        """Number of tasks learned so far."""
        return len(self.outputs)

    def arrays(self):
        """Return the state as a dictionary of arrays, ready to be written to a file.

        Returns
        -------
        arrays : dict of str to ndarray
            ``inputs``, ``outputs``, ``shared``, ``task{t}.own``, ``memory.{name}``, and ``seen``
            unless it is None; empty before the first task.
        """
        if self.shared is None:
            return {}
        arrays = {
            "inputs": np.array(self.inputs),
            "outputs": np.array(self.outputs),
            "shared": self.shared,
        }
        arrays |= {f"task{t}.own": own for t, own in enumerate(self.own)}
        arrays |= {} if self.seen is None else {"seen": np.array(self.seen)}
        return arrays | {f"memory.{name}": value for name, value in self.memory.items()}

    def with_arrays(self, arrays):
        """Return the state that :meth:`arrays` described.

        Parameters
        ----------
        arrays : dict of str to ndarray
            Result of :meth:`arrays`.

        Returns
        -------
        state : State
            The described state, or ``self`` if ``arrays`` is empty.
        """
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
            seen=tuple(arrays["seen"].tolist()) if "seen" in arrays else None,
        )


@dataclass(frozen=True)
class PlainClassifier:
    """Classifier with ReLU units and deterministic weights: its network and its shared parameters.

    Parameters
    ----------
    settings : SequentialSettings
        Settings of the learner.

    Attributes
    ----------
    kind : str
        Kind of the tasks, ``"classification"``.
    streams : dict of str to int
        Number of the noise stream of each phase of a task.
    stride : None
        The network draws no noise during training, so a phase selects a stream of the task's key.
    samples : int
        Monte Carlo samples of a training step, 1.
    weights : ibpcl.models.elbo.Elbo
        Weight of each term of the ELBO.
    warm_up : float
        Share of the steps in which the weight of the codes' KL divergence rises, 0.0.
    """

    settings: object

    kind = "classification"
    # A phase keeps its number forever, so that a new phase does not change published results.
    streams: ClassVar = {
        "initial": 0,
        "train": 0,
        "fisher": 1,
        "growth": 1,
        "buffer": 2,
        "gates": 3,
        "replay": 4,
    }
    stride = None
    samples = 1
    weights = GRADIENT
    warm_up = 0.0

    def network(self, inputs, hidden, outputs):
        """Return the network with the given widths, or the one that the settings describe.

        Parameters
        ----------
        inputs : int
            Width D of the examples.
        hidden : tuple of int
            Units of each hidden layer; not used if ``settings.network`` describes the network.
        outputs : int
            Number of classes.

        Returns
        -------
        network : ibpcl.models.plain.PlainNetwork
            Architecture only.
        """
        return plain.network(inputs, hidden, outputs, line=self.settings.network)

    def shares(self, name):
        """Return whether all tasks share a parameter.

        Parameters
        ----------
        name : str
            Name of the parameter, such as ``"hidden0.weight.mu"`` or ``"head.bias.mu"``.

        Returns
        -------
        shared : bool
            False for the head, unless all tasks use a single head.
        """
        return self.settings.single_head or not name.startswith("head.")

    def start(self, context, network, task):
        """Return fresh parameters of a network.

        Parameters
        ----------
        context : ibpcl.methods.sequential.Context
            Gives the random key of the task: ``learner.context`` of a learner.
        network : ibpcl.models.plain.PlainNetwork
            Network to initialize, from :meth:`network`.
        task : ibpcl.continual.task.Task
            The task; not used.

        Returns
        -------
        vector : ndarray, shape (P,)
            Random parameters, drawn as ``settings.start`` selects.
        """
        return network.start(generator(context.key()), self.settings.start)


@dataclass(frozen=True)
class Context:
    """Inputs of every step of a method; no step changes them.

    The current context of a learner is ``learner.context``.  :func:`accept` returns the context for
    the steps of a task::

        context = accept(learner.context, task)
        network = context.next_network(task.outputs)
        vector = start(context, network, task)

    Attributes
    ----------
    settings : SequentialSettings
        Hyperparameters of the learner.
    model : PlainClassifier or ibpcl.methods.images.PlainAutoencoder
        Builds the network of a task and selects the parameters that tasks share.
    state : State
        The tasks learned so far.
    seed : int
        Seed of all random numbers.
    backend : ibpcl.inference.backend.Backend
        Library that runs the numerical kernels.
    progress : bool, ibpcl.inference.loop.Watch or None
        Whether progress bars are shown (None: on a terminal only), or a Watch that also receives
        every epoch.
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
        """Name of the method, for messages and the history."""
        return called(type(self.settings))

    def key(self, phase="initial", task_id=None):
        """Return the random key of a phase of a task.

        Parameters
        ----------
        phase : str
            A key of ``model.streams``, such as ``"train"``.
        task_id : int, optional
            Task that draws the noise; the next task if not given.

        Returns
        -------
        key : ibpcl.noise.Key
            Seed and position of the noise; equal keys draw equal noise.
        """
        t = self.state.learned if task_id is None else task_id
        return phase_key(self.model, self.seed, t, phase)

    def fit(self, **changes):
        """Return the training plan of a task.

        Parameters
        ----------
        **changes : object
            Fields of :class:`ibpcl.inference.loop.Fit` to set otherwise, such as ``epochs=10``.

        Returns
        -------
        plan : ibpcl.inference.loop.Fit
            Epochs, batch size and learning-rate decay as in the settings.
        """
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
        """Return the units of each hidden layer after a learned task.

        Parameters
        ----------
        task_id : int
            A learned task.

        Returns
        -------
        hidden : tuple of int
            As in the settings, unless the network grows.
        """
        widths = self.state.memory.get(f"widths{task_id}", self.settings.hidden)
        return tuple(int(width) for width in widths)

    def network_of(self, task_id):
        """Return the network of a learned task, with the widths it had after that task.

        Parameters
        ----------
        task_id : int
            A learned task.

        Returns
        -------
        network : ibpcl.models.network.Network
            Architecture only; :meth:`assemble` also returns the parameters.
        """
        state = self.state
        inputs = int(state.memory.get(f"inputs{task_id}", state.inputs))
        network = self.model.network(inputs, self.hidden(task_id), state.outputs[task_id])
        return network.among(state.seen)

    def next_network(self, outputs, hidden=None):
        """Return the network of the next task.

        Parameters
        ----------
        outputs : int
            Number of network outputs.
        hidden : tuple of int, optional
            Units of each hidden layer; those of the last task if not given.

        Returns
        -------
        network : ibpcl.models.network.Network
            Architecture only.
        """
        hidden = hidden or self.hidden(self.state.learned - 1)
        network = self.model.network(self.state.inputs, hidden, outputs)
        return network.among(self.state.seen)

    def places(self, network):
        """Return the positions of the shared parameters in a network's vector.

        Parameters
        ----------
        network : ibpcl.models.network.Network
            Network of any task.

        Returns
        -------
        places : slice or ndarray of int
            Index into the vector of parameters.
        """
        return network.layout.places(self.model.shares)

    def shared_layout(self, task_id):
        """Return the layout of the shared parameters in the network of a learned task.

        Parameters
        ----------
        task_id : int
            A learned task.

        Returns
        -------
        layout : ibpcl.models.parameters.Layout
            Names, shapes and order of the parameters that tasks share.
        """
        entries = self.network_of(task_id).layout.entries
        return Layout(entry for entry in entries if self.model.shares(entry.name))

    def shared_with(self, task_id):
        """Return the shared parameters in the network of a learned task.

        Parameters
        ----------
        task_id : int
            A learned task.

        Returns
        -------
        shared : ndarray
            Where networks grow, the top left corner of each array of the newest network.
        """
        state = self.state
        if f"widths{task_id}" not in state.memory:
            return state.shared
        newest = self.shared_layout(state.learned - 1)
        return state.shared[self.shared_layout(task_id).within(newest)]

    def assemble(self, task_id, shared=None):
        """Return the network and the parameters of a learned task.

        Parameters
        ----------
        task_id : int
            A learned task.
        shared : ndarray, optional
            Replacement of the shared parameters, such as the merged ones of IMM.

        Returns
        -------
        network : ibpcl.models.network.Network
            With the widths it had after that task.
        vector : ndarray, shape (P,)
            Shared parameters, and the task's own.

        Raises
        ------
        ValueError
            If the state holds another number of parameters than the network has.
        """
        network = self.network_of(task_id)
        vector = np.empty(network.layout.size, np.float32)
        places = self.places(network)
        others = np.delete(np.arange(vector.size), places)
        shared = self.shared_with(task_id) if shared is None else shared
        for where, values in ((places, shared), (others, self.state.own[task_id])):
            if np.shape(values) != vector[where].shape:  # NumPy would broadcast a single value
                raise ValueError(
                    f"{self.name}: the state of task {task_id} has parameters of shape "
                    f"{np.shape(values)}, not {vector[where].shape}"
                )
            vector[where] = values
        return network, vector


# The steps of learning a task.


def accept(context, task):
    """Check that a task fits, and return the context with the width of its examples.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task: ``learner.context`` of a learner.
    task : ibpcl.continual.task.Task
        The next task.

    Returns
    -------
    context : Context
        With ``state.inputs`` and ``state.seen`` set.

    Raises
    ------
    TypeError
        If ``task`` is not a Task, or is of another kind than ``context.model.kind``.
    ValueError
        If its inputs are wider or narrower than those of earlier tasks, or it has another number of
        outputs than the single head, or other classes than those of
        :func:`ibpcl.continual.learner.classes_seen`.
    """
    state = context.state
    check_task(context.name, task, context.model.kind, state.inputs)
    if state.outputs and task.outputs != state.outputs[0] and context.settings.single_head:
        raise ValueError(
            f"{context.name}: task {task.name!r} must have {state.outputs[0]} outputs, as the "
            f"single head has, got {task.outputs}"
        )
    seen = classes_seen(context.name, task, state, context.settings.single_head)
    return replace(context, state=replace(state, inputs=task.inputs, seen=seen))


def start(context, network, task):
    """Return the parameters from which training on a task starts.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`accept`.
    network : ibpcl.models.network.Network
        Network of the task, from ``context.next_network(task.outputs)``.
    task : ibpcl.continual.task.Task
        The next task.

    Returns
    -------
    vector : ndarray, shape (P,)
        The shared parameters as the last task left them; all others drawn afresh.
    """
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
    plan=None,
):
    """Maximize the ELBO of a task, minus a penalty.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`accept`.
    network : ibpcl.models.network.Network
        Network of the task, from ``context.next_network(task.outputs)``.
    vector : ndarray, shape (P,)
        Initial parameters, from :func:`ibpcl.methods.sequential.start`.
    data : ibpcl.inference.objectives.Data
        Training examples, ``Data(task.x_train, task.targets)``.
    penalty : callable, optional
        ``penalty(vector, gradient)`` returns the penalty, in nats for the whole task, and its
        gradient (P,) or None.  It is added to the negative ELBO.  The argument ``gradient`` is that
        of the loss without the penalty, in nats per example.
    prior : ibpcl.models.elbo.Prior, optional
        Prior of Gaussian weights; None for deterministic weights.
    weights : ibpcl.models.elbo.Elbo, optional
        Weight of each term of the ELBO; ``model.weights`` if not given.
    held : ndarray of bool, shape (P,), optional
        True for a parameter that must not move.
    adapt : callable, optional
        ``adapt(step, vector, state, rates) -> (vector, state, rates)``, called after each step of
        Adam.
    plan : ibpcl.inference.loop.Fit, optional
        Training plan; ``context.fit()`` if not given.

    Returns
    -------
    vector : ndarray, shape (P,)
        Trained parameters.
    history : list of ibpcl.inference.loop.Record
        One row per epoch.

    Raises
    ------
    NonFiniteError
        If the loss or its gradient becomes infinite or NaN.
    """
    model = context.model
    rates = dict.fromkeys(("plain", "mu", "log_sigma"), context.settings.rate)
    weighted = Weighted(weights or model.weights, model.warm_up, held, penalty, adapt)
    _, vector, history = objectives.train(
        network, vector, prior, data, plan or context.fit(), rates, weighted, {}
    )
    return vector, of_task(context, history)


def of_task(context, history):
    """Return a history with the number of the current task in every row.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`accept`.
    history : list of ibpcl.inference.loop.Record
        Rows of a fit.

    Returns
    -------
    history : list of ibpcl.inference.loop.Record
        Copies of the rows.
    """
    return [record._replace(task=context.state.learned) for record in history]


def keep(context, network, vector, memory=None):
    """Return the state with one more task.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state before the task, from :func:`accept`.
    network : ibpcl.models.network.Network
        Network of the task, from ``context.next_network(task.outputs)``.
    vector : ndarray, shape (P,)
        Trained parameters.
    memory : dict of str to ndarray, optional
        New memory of the method; unchanged if not given.

    Returns
    -------
    state : State
        State with the task added.
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
    """Return class probabilities for inputs of a learned task.

    Parameters
    ----------
    context : ibpcl.methods.sequential.Context
        Settings, and the state with the task: ``learner.context`` of a learner.
    assembled : callable
        ``assembled(task_id)`` returns the network of a task and its parameters (P,).
    x : array_like, shape (N, D)
        Inputs, finite real numbers.
    task_id : int
        A learned task.

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
    check_task_id(f"{context.name}.predict", task_id, context.state.learned)
    network, vector = assembled(task_id)
    x = check_inputs(f"{context.name}.predict", x, network.inputs, task_id, context.state.learned)
    return network.predict(vector, x, context.backend)


def pull(vector, places, *anchors):
    r"""Return a quadratic penalty that pulls parameters towards anchors, and its gradient.

    .. math:: \frac12 \sum_a \sum_q \lambda_{a, q} (\theta_q - \theta_{a, q})^2

    Parameters
    ----------
    vector : ndarray, shape (P,)
        All parameters of the network.
    places : slice or ndarray of int
        Positions of the Q parameters that are pulled.
    *anchors : tuple of (ndarray, ndarray), shape (Q,)
        Anchor and precision of each pull.  The unit of a precision is nats per squared unit of the
        parameter.

    Returns
    -------
    penalty : float
        The sum above, in nats.
    gradient : ndarray, shape (P,)
        Zero outside ``places``.

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
