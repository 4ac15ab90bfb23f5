"""The interface that every method implements, and the base class of the package's learners.

The training loop, the metrics, the figures and the checkpoints use only this interface, so a custom
method needs nothing else.
"""

import dataclasses
import os
from typing import Protocol

import numpy as np

import ibpcl
from ibpcl import checkpoints
from ibpcl.continual.task import Task, real_rows
from ibpcl.inference.backend import backend
from ibpcl.noise import Key
from ibpcl.options import called

# Version of the arrays that ``state()`` returns and that checkpoints hold.  Increase it whenever a
# name in them changes, or the meaning of one.
FORM = 4


class Learner(Protocol):
    """Interface of a method that learns tasks one after another and predicts for each of them.

    Tasks are numbered from 0 in the order of learning.  A learner with one binary mask per task
    also has a method ``masks(task_id)``, which returns a tuple of boolean arrays of shape (D, K),
    one per masked layer.

    Parameters
    ----------
    settings : object
        The settings of the method.
    seed : int
        Seed of all random numbers.
    backend_name : {"numba", "numpy"}
        Which implementation computes: the compiled functions or the NumPy reference.
    """

    def __init__(self, settings, seed, backend_name): ...

    def learn(self, task, progress=None):
        """Learn the next task and return the history of its training.

        Parameters
        ----------
        task : ibpcl.continual.task.Task
            The task.  All tasks of a learner have the same kind and inputs of the same width; if
            they share one head, they also have the same number of classes.
        progress : bool or ibpcl.inference.loop.Watch, optional
            Whether to show progress bars.  By default they are shown only on a terminal.  A
            :class:`ibpcl.inference.loop.Watch` also receives every epoch.

        Returns
        -------
        history : list of ibpcl.inference.loop.Record
            One row per epoch.

        Raises
        ------
        TypeError
            If ``task`` is not a Task, or of a kind that the method does not learn.
        ValueError
            If the task does not fit the network.
        ibpcl.errors.TrainingError
            If the objective becomes NaN or infinite, or if no weight is left in the network.
        """

    def predict(self, x, task_id):
        """Return the predictions of a learned task.

        Parameters
        ----------
        x : array_like, shape (N, D)
            Inputs, finite real numbers.
        task_id : int
            Number of the task, in 0 .. learned - 1.

        Returns
        -------
        predictions : ndarray, shape (N, C)
            Class probabilities in a classification, means in a regression, reconstructions
            (with C = D) of images.

        Raises
        ------
        TypeError
            If ``task_id`` is not an integer, or ``x`` does not hold real numbers.
        ValueError
            If the task has not been learned, or ``x`` has the wrong shape or is not finite.
        """

    def state(self):
        """Return everything that was learned.

        Returns
        -------
        state : dict of str to ndarray
            Arrays by name, ready for a file; empty before the first task.
        """

    def load_state(self, state):
        """Replace everything that was learned by a saved state.

        Parameters
        ----------
        state : dict of str to ndarray
            Result of :meth:`state` of a learner of the same class with the same settings.
        """


class Saved:
    """Base class of the package's learners: settings, state, saving and loading.

    A subclass sets the three class attributes ``settings_type``, ``model_type`` and
    ``context_type``, and defines ``learn`` and ``predict``.

    Parameters
    ----------
    settings : dataclass, optional
        An instance of ``settings_type``.  By default, the method's default settings.
    seed : int
        Seed of all random numbers.  The same seed gives the same results.
    backend_name : {"numba", "numpy"}
        Which implementation computes: the compiled functions or the NumPy reference.

    Attributes
    ----------
    settings_type : type
        Class attribute: the dataclass of the settings.
    model_type : type
        Class attribute: the class of ``model``, called with the settings.
    context_type : type
        Class attribute: the dataclass that every step of the method reads; its ``state_type`` is
        the class of ``knowledge``.
    settings : dataclass
        The settings of the method.
    seed : int
        The seed.
    backend : ibpcl.inference.backend.Backend
        The functions that compute.
    model : object
        Builds the network of a task and decides which of its parameters the tasks share.
    knowledge : object
        The state: everything that was learned.
    refined : dict of int to ndarray
        Cache of the parameters that predict for each task, computed when they are first needed.
    """

    settings_type = None
    model_type = None
    context_type = None

    def __init__(self, settings=None, seed=0, backend_name="numba"):
        self.settings = settings or self.settings_type()
        self.seed = seed
        self.backend = backend(backend_name)
        self.model = self.model_type(self.settings)
        self.become(self.context_type.state_type.initial(self.settings))

    @property
    def name(self):
        """Name of the method, used in messages and in the history."""
        return called(type(self.settings))

    @property
    def learned(self):
        """Number of tasks learned so far."""
        return self.knowledge.learned

    @property
    def inputs(self):
        """Width of the inputs; None before the first task."""
        return self.knowledge.inputs

    @property
    def context(self):
        """Settings, model, state, seed and backend, which every step of the method reads."""
        return self.context_type(self.settings, self.model, self.knowledge, self.seed, self.backend)

    def become(self, knowledge):
        """Replace the state and empty the cache of refined parameters.

        Parameters
        ----------
        knowledge : object
            The new state, an instance of ``context_type.state_type``.
        """
        self.knowledge = knowledge
        self.refined = {}

    def turn(self, learn_task, task, progress=None):
        """Learn a task with a given function and return the history.

        Parameters
        ----------
        learn_task : callable
            ``learn_task(context, task)`` returns the new state, which includes the task, and the
            history.
        task : ibpcl.continual.task.Task
            The task to learn.
        progress : bool or ibpcl.inference.loop.Watch, optional
            Whether to show progress bars.  By default they are shown only on a terminal.

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
        """Return the network of a learned task and its parameters.

        Parameters
        ----------
        task_id : int
            Number of the task, in 0 .. learned - 1.

        Returns
        -------
        network : ibpcl.models.network.Network
            The network, with the size that it had for this task.
        vector : ndarray, shape (P,)
            Its parameters.
        masks : dict of str to ndarray of bool, shape (D, K)
            Hard masks by layer.  Only methods with masks return this third element.
        """
        return self.context.assemble(task_id)

    def state(self):
        """Return everything that was learned.

        Returns
        -------
        state : dict of str to ndarray
            Arrays by name, ready for a file; empty before the first task.
        """
        return self.knowledge.arrays()

    def load_state(self, state):
        """Replace everything that was learned by a saved state.

        Parameters
        ----------
        state : dict of str to ndarray
            Result of :meth:`state` of a learner of the same class with the same settings.
        """
        before = self.context_type.state_type.initial(self.settings)
        self.become(before.with_arrays(state))

    def __repr__(self):
        """Return the class, the settings that differ from the defaults, and the number of learned
        tasks.

        >>> from ibpcl.methods.npbcl import NPBCL, Settings
        >>> NPBCL(Settings(hidden=(50,)), seed=3)
        NPBCL(Settings(hidden=(50,)), seed=3, backend_name='numba'), 0 tasks learned
        """
        changed = ", ".join(
            f"{field.name}={getattr(self.settings, field.name)!r}"
            for field in dataclasses.fields(self.settings)
            if getattr(self.settings, field.name) != field.default
        )
        return (
            f"{type(self).__name__}({type(self.settings).__name__}({changed}), seed={self.seed}, "
            f"backend_name={self.backend.name!r}), {self.learned} tasks learned"
        )

    def save(self, path):
        """Write the learner to one file.

        The file holds the settings, the seed, the backend and everything that was learned.  It is
        written atomically: an interrupted call leaves the old file unchanged.

        Parameters
        ----------
        path : str or path-like
            The file to write, usually ``*.npz``; an existing file is replaced.

        Raises
        ------
        TypeError
            If ``path`` is not a str or path-like.
        ValueError
            If it is empty or names a folder.
        OSError
            If the file cannot be written.
        """
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"{self.name}.save: path must be a str or path-like, got {path!r}")
        if not os.fspath(path) or os.path.isdir(path):
            raise ValueError(f"{self.name}.save: path must name a file, got {os.fspath(path)!r}")
        checkpoints.save(
            path, self.state(), about(self, self.settings, self.seed, self.backend.name)
        )

    @classmethod
    def load(cls, path):
        """Read a learner that :meth:`save` wrote.

        It predicts and learns further tasks exactly as the saved learner would.

        Parameters
        ----------
        path : str or path-like
            The file to read.

        Returns
        -------
        learner : Saved
            An instance of the class on which the method was called.

        Raises
        ------
        FileNotFoundError
            If the file does not exist.
        ValueError
            If the file is damaged, holds another method, or was written by a version of the
            package with another format.
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
    """Return the key of the random numbers for one phase of one task.

    Parameters
    ----------
    model : object
        ``model.streams`` maps the name of each phase to a number.  ``model.stride`` is how many
        key numbers are reserved per task, or None if the network draws no noise.
    seed : int
        The seed of the learner.
    task_id : int
        Number of the task, from 0.
    phase : str
        Name of the phase, a key of ``model.streams``.

    Returns
    -------
    key : ibpcl.noise.Key
        ``Key(seed, stride * task_id + number, 0, 0)``, or ``Key(seed, task_id, 0, number)`` if
        ``stride`` is None, where ``number = model.streams[phase]``.  Its field ``step`` is 0 and
        counts the steps of the phase.
    """
    number = model.streams[phase]
    if model.stride is None:
        return Key(seed, task_id, 0, number)
    return Key(seed, model.stride * task_id + number, 0, 0)


def form():
    """Return the format number of a saved state and the version of the package.

    :func:`check_form` reads both.
    """
    return {"form": FORM, "version": ibpcl.__version__}


def about(learner, settings, seed, backend_name):
    """Return the metadata that a file stores about a learner.

    Parameters
    ----------
    learner : object
        The learner; its class is recorded.
    settings : dataclass
        Its settings.
    seed : int
        Its seed.
    backend_name : str
        Name of its backend.

    Returns
    -------
    meta : dict
        JSON-compatible values under the keys ``method``, ``class``, ``settings``, ``seed``,
        ``backend``, ``form`` and ``version``.
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
    """Check that a saved learner has the format of this version of the package.

    Parameters
    ----------
    meta : dict
        Metadata of the file, see :func:`about`.
    path : str or path-like
        The file, named in the message.

    Raises
    ------
    ValueError
        If the file has another format; the message names the version that wrote it.

    Examples
    --------
    >>> check_form({"form": 1, "version": "0.0.9"}, "learner.npz")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: learner.npz was written by ibpcl 0.0.9 in format 1, this version reads format 4: ...
    """
    if meta.get("form") != FORM:
        raise ValueError(
            f"{path} was written by ibpcl {meta.get('version', '0.1.0 or older')} in format "
            f"{meta.get('form', 1)}, this version reads format {FORM}: run the experiment again"
        )


def check_task(caller, task, kinds, inputs):
    """Check that a method can learn a task.

    Parameters
    ----------
    caller : str
        Name of the method, which begins the message.
    task : ibpcl.continual.task.Task
        The task.
    kinds : str or sequence of str
        The allowed values of :attr:`ibpcl.continual.task.Task.kind`.
    inputs : int or None
        Width of the inputs of the earlier tasks; None before the first task.

    Raises
    ------
    TypeError
        If ``task`` is not a Task, or its kind is not among ``kinds``.
    ValueError
        If its inputs have another width.
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


def classes_seen(caller, task, state, single_head):
    """Return the classes that the tasks have shown so far, including the next task.

    Parameters
    ----------
    caller : str
        Name of the method, which begins the message.
    task : ibpcl.continual.task.Task
        The next task.
    state : object
        State before the task, with ``learned`` and ``seen``.
    single_head : bool
        Whether all tasks use one head.

    Returns
    -------
    seen : tuple of int, or None
        ``task.seen``; None if all classes take part from the start.

    Raises
    ------
    ValueError
        If the task has ``seen`` and the tasks have separate heads, or it lacks classes that earlier
        tasks had, or only some of the tasks have ``seen``.
    """
    if task.seen is not None and not single_head:
        raise ValueError(
            f"{caller}: single_head must be True for task {task.name!r}, which counts the classes "
            "seen so far"
        )
    fits = set(state.seen or ()) <= set(task.seen or ())
    if state.learned and not (fits and (task.seen is None) == (state.seen is None)):
        raise ValueError(
            f"{caller}: seen of task {task.name!r} must include {state.seen}, the classes of "
            f"earlier tasks, got {task.seen}"
        )
    return task.seen


def under(state, start):
    """Return the entries whose names begin with a prefix, with the prefix removed.

    Parameters
    ----------
    state : dict of str to object
        The entries.
    start : str
        The prefix.

    Returns
    -------
    entries : dict of str to object
        The matching entries, in the same order.

    Examples
    --------
    >>> under({"head.w": 1, "head.b": 2, "rho": 3}, "head.")
    {'w': 1, 'b': 2}
    """
    return {
        name.removeprefix(start): value for name, value in state.items() if name.startswith(start)
    }


def check_inputs(caller, x, inputs, task_id, learned):
    """Return the inputs of a prediction as a float32 array, after checking them and the task.

    Parameters
    ----------
    caller : str
        Name of the method, which begins the message.
    x : array_like, shape (N, D)
        Inputs, finite real numbers.
    inputs : int
        The expected width D.
    task_id : int
        Number of the task, in 0 .. learned - 1.
    learned : int
        Number of tasks learned so far.

    Returns
    -------
    x : ndarray of float32, shape (N, D)
        The inputs; not copied if they are float32 already.

    Raises
    ------
    TypeError
        If ``task_id`` is not an integer, or ``x`` does not hold real numbers.
    ValueError
        If the task has not been learned, or ``x`` has another shape or is not finite.
    """
    check_task_id(caller, task_id, learned)
    x = real_rows(x, f"{caller}: x")
    if x.shape[1] != inputs:
        raise ValueError(f"{caller}: x must have shape (N, {inputs}), got {x.shape}")
    return x


def check_task_id(caller, task_id, learned):
    """Check that a task has been learned.

    Parameters
    ----------
    caller : str
        Name of the method, which begins the message.
    task_id : int
        Number of the task, in 0 .. learned - 1.
    learned : int
        Number of tasks learned so far.

    Raises
    ------
    TypeError
        If ``task_id`` is not an integer.
    ValueError
        If it is negative, or no task of this number has been learned.
    """
    if isinstance(task_id, bool) or not isinstance(task_id, (int, np.integer)):
        raise TypeError(f"{caller}: task_id must be an integer, got {task_id!r}")
    if not 0 <= task_id < learned:
        if not learned:
            raise ValueError(f"{caller}: unknown task_id {task_id}; no task has been learned yet")
        raise ValueError(
            f"{caller}: unknown task_id {task_id}; 0 ... {learned - 1} have been learned"
        )
