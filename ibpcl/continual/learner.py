"""The interface of every method: the loop, the metrics, the figures and the checkpoints know only
this.
"""

import dataclasses
from typing import Protocol

import numpy as np

import ibpcl
from ibpcl import checkpoints
from ibpcl.continual.task import Task, real_rows
from ibpcl.inference.backend import backend
from ibpcl.noise import Key
from ibpcl.options import called

# Of what ``state()`` returns and checkpoints hold; one more whenever a name or a meaning in it
# changes.
FORM = 4


class Learner(Protocol):
    """Learns tasks one after another and predicts for any task that it has learned.

    Tasks are numbered from 0 in the order of learning.  A learner that keeps a binary mask a task
    also has ``masks(task_id)``: a tuple of boolean arrays (D, K), one a hidden layer.
    """

    def learn(self, task, progress=None):
        """Learn the next task; return its history, a list of :class:`ibpcl.inference.loop.Record`.

        All tasks of a learner are of one kind, with inputs of one width; with one head for all also
        of one number of classes.  ``progress`` shows progress bars: yes, no, or (None) on a
        terminal only; or it is a :class:`ibpcl.inference.loop.Watch`, who sees every epoch.

        Raises
        ------
        TypeError, ValueError, TrainingError
            If the method does not learn tasks of this kind; if the task does not fit the network;
            if the objective is not finite, or no weight is left.
        """

    def predict(self, x, task_id):
        """Return class probabilities (N, C) for inputs (N, D) of a learned task."""

    def state(self):
        """Return everything that was learned, as a dict of arrays."""

    def load_state(self, state):
        """Become the learner whose :meth:`state` this was."""


class Saved:
    """Base class of the package's learners: what they are made with, and how they are saved.

    A method's class names its parts and defines ``learn`` and ``predict``.

    Parameters
    ----------
    settings : dataclass, optional
        Of the class ``settings_type``; the method's defaults if not given.
    seed : int
        Everything random is a function of it.
    backend_name : {"numba", "numpy"}
        What computes.

    Attributes
    ----------
    model : object
        Makes the network of a task, and says which of its parameters tasks share.
    knowledge : object
        The state: everything that was learned.
    refined : dict of int to ndarray
        Parameters by task that predictions are made with, computed when they are first needed.
    """

    settings_type = None  # the dataclass of the settings
    model_type = None  # made from the settings
    context_type = None  # what the steps of the method read; it names the type of the state

    def __init__(self, settings=None, seed=0, backend_name="numba"):
        self.settings = settings or self.settings_type()
        self.seed = seed
        self.backend = backend(backend_name)
        self.model = self.model_type(self.settings)
        self.become(self.context_type.state_type.initial(self.settings))

    @property
    def name(self):
        """The method's name, for messages and the history."""
        return called(type(self.settings))

    @property
    def learned(self):
        """How many tasks were learned."""
        return self.knowledge.learned

    @property
    def inputs(self):
        """Width of the examples; None before the first task."""
        return self.knowledge.inputs

    @property
    def context(self):
        """What every step of the method reads."""
        return self.context_type(self.settings, self.model, self.knowledge, self.seed, self.backend)

    def become(self, knowledge):
        """Take over a state."""
        self.knowledge = knowledge
        self.refined = {}

    def turn(self, learn_task, task, progress=None):
        """Learn a task by a function of a context and a task, and return the history.

        Parameters
        ----------
        learn_task : callable
            ``learn_task(context, task)`` returns the state with the task, and the history.
        task : ibpcl.continual.task.Task
        progress : bool or ibpcl.inference.loop.Watch, optional
            Whether progress bars are shown; on a terminal only if not given.

        Returns
        -------
        history : list of ibpcl.inference.loop.Record
            One row per epoch.
        """
        context = dataclasses.replace(self.context, progress=progress)
        knowledge, history = learn_task(context, task)
        self.become(knowledge)
        return history

    def assemble(self, task_id):
        """Return the network of a learned task, its parameters, and its masks if it has any."""
        return self.context.assemble(task_id)

    def state(self):
        """Return everything that was learned, as a dict of arrays."""
        return self.knowledge.arrays()

    def load_state(self, state):
        """Become the learner whose :meth:`state` this was."""
        before = self.context_type.state_type.initial(self.settings)
        self.become(before.with_arrays(state))

    def __repr__(self):
        """Return the class, the number of tasks learned, and the settings that differ from the
        defaults.

        >>> from ibpcl.methods.npbcl import NPBCL, Settings
        >>> NPBCL(Settings(hidden=(50,)), seed=3)
        NPBCL(Settings(hidden=(50,)), seed=3, backend_name='numba'), 0 tasks learned
        """
        changed = ", ".join(
            f"{one.name}={getattr(self.settings, one.name)!r}"
            for one in dataclasses.fields(self.settings)
            if getattr(self.settings, one.name) != one.default
        )
        return (
            f"{type(self).__name__}({type(self.settings).__name__}({changed}), seed={self.seed}, "
            f"backend_name={self.backend.name!r}), {self.learned} tasks learned"
        )

    def save(self, path):
        """Write the learner to one file, atomically: settings, seed, backend and all that it
        learned.
        """
        checkpoints.save(
            path, self.state(), about(self, self.settings, self.seed, self.backend.name)
        )

    @classmethod
    def load(cls, path):
        """Read a learner that :meth:`save` wrote; it predicts and goes on exactly as the one that
        was saved.

        Raises
        ------
        FileNotFoundError, ValueError
            If there is no such file; if it is damaged, of another method, or of an older version.
        """
        arrays, meta, _ = checkpoints.load(path)
        check_form(meta, path)
        if meta.get("method") != cls.__name__:
            raise ValueError(f"{cls.__name__}.load: {path} holds a {meta.get('method')}")
        values = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in meta["settings"].items()
        }
        learner = cls(cls.settings_type(**values), meta["seed"], meta["backend"])
        learner.load_state(arrays)
        return learner


def phase_key(model, seed, task_id, phase):
    """Return the key of the noise of a phase of a task; its third field counts steps.

    Parameters
    ----------
    model : object
        Its ``streams`` number the phases by name.  Its ``stride`` says how many numbers are set
        aside for a task; it is None where the network draws no noise, and the phase is the stream.
    seed, task_id : int
    phase : str
    """
    number = model.streams[phase]
    if model.stride is None:
        return Key(seed, task_id, 0, number)
    return Key(seed, model.stride * task_id + number, 0, 0)


def form():
    """Return what a file with a learner's state says of its form: see :func:`check_form`."""
    return {"form": FORM, "version": ibpcl.__version__}


def about(learner, settings, seed, backend_name):
    """Return what a file with a learner's state says of the learner: its class, and what that was
    made with.
    """
    return {
        "method": type(learner).__name__,
        "class": f"{type(learner).__module__}:{type(learner).__qualname__}",
        "settings": dataclasses.asdict(settings),
        "seed": seed,
        "backend": backend_name,
        **form(),
    }


def check_form(meta, path):
    """Refuse a file whose learner's state is in the form of another version, which the ValueError
    names.

    >>> check_form({"form": 1, "version": "0.0.9"}, "learner.npz")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: learner.npz was written by ibpcl 0.0.9 in form 1, this version reads form 4: ...
    """
    if meta.get("form") != FORM:
        raise ValueError(
            f"{path} was written by ibpcl {meta.get('version', '0.1.0 or older')} in form "
            f"{meta.get('form', 1)}, this version reads form {FORM}: run the experiment again"
        )


def check_task(caller, task, kinds, inputs):
    """Refuse a task of a kind that the method does not learn, or of another width than the first
    task's.

    ``kinds`` is one of the :attr:`ibpcl.continual.task.Task.kind`, or several; ``inputs`` None
    before the first task. The TypeError or ValueError names ``caller``, what is allowed and what
    came.
    """
    if not isinstance(task, Task):
        raise TypeError(f"{caller}: task must be a Task, got {type(task).__name__}")
    kinds = (kinds,) if isinstance(kinds, str) else kinds
    if task.kind not in kinds:
        raise TypeError(
            f"{caller}: task {task.name!r} must be of kind {' or '.join(kinds)}, got {task.kind}"
        )
    if inputs is not None and task.inputs != inputs:
        raise ValueError(
            f"{caller}: task {task.name!r} has {task.inputs} inputs, the network {inputs}"
        )


def under(state, start):
    """Return what lies under a name in a state, by the rest of its name.

    >>> under({"head.w": 1, "head.b": 2, "rho": 3}, "head.")
    {'w': 1, 'b': 2}
    """
    return {
        name.removeprefix(start): value for name, value in state.items() if name.startswith(start)
    }


def check_inputs(caller, x, inputs, task_id, learned):
    """Return the inputs of a prediction as float32 (N, D); refuse others, and tasks that were not
    learned.
    """
    check_task_id(caller, task_id, learned)
    x = real_rows(x, f"{caller}: x")
    if x.shape[1] != inputs:
        raise ValueError(f"{caller}: x must have shape (N, {inputs}), got {x.shape}")
    return x


def check_task_id(caller, task_id, learned):
    """Refuse tasks that were not learned; ``caller`` is named in the error."""
    if isinstance(task_id, bool) or not isinstance(task_id, (int, np.integer)):
        raise TypeError(f"{caller}: task_id must be an integer, got {task_id!r}")
    if not 0 <= task_id < learned:
        known = f"0 ... {learned - 1}" if learned else "no task has been learned yet"
        raise ValueError(f"{caller}: unknown task_id {task_id}; {known}")
