"""The public functions of ``import ibpcl``: make a learner, learn tasks, run an experiment, compare
methods, and load results.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ibpcl.continual.learner import Learner
from ibpcl.continual.loop import Progress, learn_stream
from ibpcl.continual.task import Task
from ibpcl.data.own import own_tasks
from ibpcl.errors import UserError
from ibpcl.experiments import compare as comparison
from ibpcl.experiments import values
from ibpcl.experiments.choice import Choice
from ibpcl.experiments.config import configure, run_keys
from ibpcl.experiments.folder import CONFIG, table_of
from ibpcl.experiments.presets import DEFAULT
from ibpcl.experiments.report import Report
from ibpcl.experiments.run import Run
from ibpcl.experiments.run import run as run_config
from ibpcl.experiments.stored_learners import load
from ibpcl.experiments.sweep import Workers
from ibpcl.methods import GENERATIVE
from ibpcl.methods.own import name_of

__all__ = ["compare", "learn", "learner", "load", "load_run", "run"]
Target = str | PathLike | Sequence[Task]
Method = str | type


def learner(
    method: Method = "npbcl",
    preset: str = "default",
    seed: int = 0,
    backend: str = "numba",
    **settings: Any,
) -> Learner:
    """Return a new learner, before its first task.

    Parameters
    ----------
    method : str or class
        A name from ``ibpcl methods``, such as ``"ewc"``; with the prefix ``vae_`` the same method
        for images without labels; ``"package.module:Class"``; or a class that has the interface
        of :class:`ibpcl.continual.learner.Learner`.
    preset : str
        Named settings of the method; ``ibpcl settings METHOD`` lists them.
    seed : int, at least 0
        Seed of everything random. The same seed gives the same learner.
    backend : {"numba", "numpy"}
        What computes: compiled kernels, or plain NumPy.
    **settings
        Settings that override those of the preset, such as ``epochs=3``; ``ibpcl settings METHOD``
        lists them with their defaults.

    Returns
    -------
    learner : Learner
        It has ``learn(task)``, ``predict(x, task)``, ``save(path)`` and ``load(path)``.

    Raises
    ------
    UserError
        If the method, the preset or a setting does not exist, or a value is not allowed.

    Examples
    --------
    >>> learner("ewc", epochs=3, seed=1)
    EWC(Settings(epochs=3), seed=1, backend_name='numba'), 0 tasks learned
    >>> learner("vae_ewc", epochs=3)
    ImageEWC(ImageSettings(epochs=3), seed=0, backend_name='numba'), 0 tasks learned
    """
    if useless := [key for key in settings if key in run_keys()]:
        raise UserError(
            f"learner: {', '.join(useless)} must be left out; only a run has these keys, see "
            "ibpcl.run"
        )
    name = name_of(method)
    stream = {"stream": "classes"} if name in GENERATIVE else {}
    config = configure(
        experiment="learner",
        method=name,
        preset=preset,
        seed=seed,
        backend=backend,
        **stream,
        **settings,
    )
    return Run(config).new_learner()


def learn(
    learner: Learner, stream: Sequence[Task], progress: bool | None = False
) -> Iterator[Progress]:
    """Learn the tasks of a stream one after another, and test after each on all tasks so far.

    Nothing is computed until the result is iterated: each step of the loop learns one task.

    Parameters
    ----------
    learner : Learner
        From :func:`learner`, or any object with ``learn(task)`` and ``predict(x, task)``.
    stream : sequence of Task
        The tasks, in the order in which they are learned; at least one.
    progress : bool or None
        Whether to show progress bars on standard error; None shows them on a terminal only.

    Returns
    -------
    stages : iterator of ibpcl.continual.loop.Progress
        One item after each task. Its ``accuracy`` is the matrix (T, T) of accuracies in 0..1 so
        far: entry [i, j] is the accuracy on task j after learning task i, NaN where nothing was
        measured.

    Raises
    ------
    UserError
        If ``learner`` has no ``learn`` or ``predict``, or ``stream`` is not a sequence of tasks.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 40, dtype=np.float32).reshape(-1, 2)
    >>> task = Task("sign", x, (x[:, 0] > 0).astype(int), x, (x[:, 0] > 0).astype(int), 2)
    >>> for stage in learn(learner("naive", epochs=50, rate=0.01, backend="numpy"), [task]):
    ...     print(stage.name, stage.accuracy)
    sign [[1.]]
    """
    if isinstance(learner, type):
        raise UserError(
            f"learn: learner must be an instance, got the class {learner.__name__}; make one with "
            f"ibpcl.learner({learner.__name__})"
        )
    for name in ("learn", "predict"):
        if not callable(getattr(learner, name, None)):
            raise UserError(
                f"learn: learner must have a method {name}, got {type(learner).__name__}"
            )
    if (
        isinstance(stream, Task)
        or not hasattr(stream, "__len__")
        or not hasattr(stream, "__getitem__")
    ):
        raise UserError(f"learn: stream must be a sequence of Task, got {type(stream).__name__}")
    if not len(stream):
        raise UserError("learn: stream must have at least one Task, got none")
    # Other sequences make their tasks only when they are indexed.
    if isinstance(stream, list | tuple):
        for t, task in enumerate(stream):
            if not isinstance(task, Task):
                raise UserError(
                    f"learn: stream must be a sequence of Task, got {type(task).__name__} at "
                    f"index {t}"
                )
    _check_progress("learn", progress)
    return learn_stream(learner, stream, progress)


def _check_progress(function, progress):
    if not (progress is None or isinstance(progress, bool | np.bool_)):
        raise UserError(f"{function}: progress must be True, False or None, got {progress!r}")


def _path(function, name, value):
    """Return a path, or raise a UserError that names the argument."""
    if isinstance(value, str | PathLike) and str(value):
        return Path(value)
    raise UserError(f"{function}: {name} must be a path, got {value!r}")


def _flag(function, name, value):
    if not isinstance(value, bool | np.bool_):
        raise UserError(f"{function}: {name} must be True or False, got {value!r}")


def run(
    target: Target = DEFAULT,
    out: str | PathLike | None = None,
    *,
    method: Method | None = None,
    progress: bool | None = False,
    force: bool = False,
    fresh: bool = False,
    **keys: Any,
) -> Run:
    """Run an experiment: learn its tasks one after another, and measure learning and forgetting.

    The Python counterpart of the command ``ibpcl run``. With a folder ``out``, an interrupted run
    continues from its last checkpoint, and a finished one is loaded, not repeated.

    Parameters
    ----------
    target : str, path-like or sequence of Task
        The name of an experiment (``ibpcl run --list`` prints them), the path of a TOML file, or
        your own tasks, such as those of :func:`ibpcl.data.own.tasks_from_arrays`.
    out : path-like, optional
        Folder for the files of the run. Without it, nothing is written.
    method : str or class, optional
        The method that learns: a name from ``ibpcl methods``, ``"package.module:Class"``, or a
        class. The experiment's own method if not given.
    progress : bool or None
        Whether to show progress bars on standard error; None shows them on a terminal only.
    force : bool
        Whether to replace a run with another configuration in ``out``.
    fresh : bool
        Whether to start again if ``out`` holds this run, finished or interrupted.
    **keys
        Any other key of the configuration, such as ``seed=1``, ``preset="paper"`` or ``epochs=20``;
        ``ibpcl settings METHOD`` lists them.

    Returns
    -------
    run : ibpcl.experiments.run.Run
        ``run.result`` is the content of ``result.json``, ``run.history`` the training history,
        ``run.learner`` the trained learner, ``run.folder`` the folder; ``run.figures()`` draws.

    Raises
    ------
    UserError
        If an argument, the data or the folder cannot be used.
    ibpcl.errors.TrainingError
        If training fails with these settings, for example because the objective overflows.

    Examples
    --------
    >>> finished = run(method="naive", tasks=2, epochs=3, backend="numpy")
    >>> finished
    Run(split-glyphs, naive, seed 0): finished
    >>> finished.result["tasks"], finished.result["average_accuracy"] > 0.9
    (['A/B', 'C/D'], True)
    """
    folder = None if out is None else _path("run", "out", out)
    _check_progress("run", progress)
    _flag("run", "force", force)
    _flag("run", "fresh", fresh)
    if method is not None:
        keys["method"] = name_of(method)
    config = configure(str(target) if isinstance(target, PathLike) else target, **keys)
    return run_config(config, folder, progress, force=force, fresh=fresh)


def compare(
    target: Target = DEFAULT,
    methods: Sequence[Method] | None = None,
    seeds: int = 3,
    out: str | PathLike = "comparison",
    *,
    progress: bool | None = False,
    tuned: bool = False,
    data_dir: str | None = None,
    executor: Executor | None = None,
    **keys: Any,
) -> Report:
    """Run several methods with several seeds on one experiment, and tabulate the results.

    The Python counterpart of the command ``ibpcl compare``. Finished runs in ``out`` are reused,
    and interrupted ones continue.

    Parameters
    ----------
    target : str, path-like or sequence of Task
        The name of an experiment, the path of a TOML file, or your own tasks.
    methods : sequence of str or class, optional
        The methods to compare, by name (see ``ibpcl methods``) or as classes. All methods that can
        do the experiment if not given.
    seeds : int, at least 1
        Number of seeds per method, counted from 0.
    out : path-like
        Folder for the runs, the tables and the figures.
    progress : bool or None
        Whether to show a progress bar on standard error; None shows it on a terminal only.
    tuned : bool
        Whether to use the searched settings (the preset "tuned") of the methods that have some.
    data_dir : str, optional
        Folder of the image files; by default that of ``IBPCL_DATA``, else the user's cache.
    executor : concurrent.futures.Executor, optional
        Does the runs in parallel, such as ``dask.distributed.Client(...).get_executor()``. Its
        workers must see ``out`` under the same path. Without it, this process does the runs.
    **keys
        Keys of the configuration, such as ``tasks=2`` or ``epochs=5``; a setting applies to every
        method that has it.

    Returns
    -------
    report : ibpcl.experiments.report.Report
        ``print(report)`` shows its table; ``report.folder`` holds the files.

    Raises
    ------
    UserError
        If an argument, the data or the folder cannot be used.
    ibpcl.errors.TrainingError
        If no run could be trained.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = compare(
    ...         methods=["naive"], seeds=1, out=folder, tasks=1, epochs=1, backend="numpy"
    ...     )
    >>> [entry.column for entry in report.summary.tables[0].entries]
    ['accuracy, %', 'BWT, points', 'seconds', 'stored, MB']
    """
    if methods is not None and (
        isinstance(methods, str | type) or not isinstance(methods, Iterable)
    ):
        raise UserError(f"compare: methods must be a list of methods, got {methods!r}")
    methods = None if methods is None else list(methods)
    if methods == []:
        raise UserError("compare: methods must name at least one method, got an empty list")
    seeds = values.convert("compare: seeds", seeds, int)
    folder = _path("compare", "out", out)
    _check_progress("compare", progress)
    _flag("compare", "tuned", tuned)
    data_dir = None if data_dir is None else str(_path("compare", "data_dir", data_dir))
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise UserError(
            "compare: executor must be a concurrent.futures.Executor, got "
            f"{type(executor).__name__}"
        )
    target = str(target) if isinstance(target, PathLike) else target
    names = [
        name_of(method) for method in (comparison.able(target) if methods is None else methods)
    ]
    texts = comparison.spread({key: _text(value) for key, value in keys.items()}, names)
    choice = Choice(seeds, assignments=texts, data_dir=data_dir, out=folder, tuned=bool(tuned))
    return comparison.compare(
        target if isinstance(target, str) else own_tasks(target),
        names,
        choice,
        progress,
        workers=None if executor is None else Workers(executor),
    )


def load_run(folder: str | PathLike) -> Run:
    """Return the finished run that a folder holds.

    Parameters
    ----------
    folder : path-like
        The folder of a run, such as ``runs/split-glyphs-npbcl-seed0``.

    Returns
    -------
    run : ibpcl.experiments.run.Run
        With ``config``, ``result``, ``history``, ``learner`` and ``figures()``.

    Raises
    ------
    UserError
        If the folder holds no run, an unfinished run, or a run with a damaged file.

    Examples
    --------
    >>> load_run("nowhere")
    Traceback (most recent call last):
    ...
    ibpcl.errors.UserError: load_run: nowhere is not the folder of a run: no complete config.toml
    """
    place = _path("load_run", "folder", folder)
    if table_of(place) is None:
        raise UserError(f"load_run: {place} is not the folder of a run: no complete {CONFIG}")
    loaded = Run(configure(place / CONFIG), place)
    if not loaded.load(strict=True):
        raise UserError(f"load_run: the run in {place} is not finished; resume it first")
    return loaded


def _text(value):
    """Return a value as the text that the command line would have."""
    value = values.plain(values.unwrapped(value))
    if isinstance(value, list) and any(isinstance(element, list) for element in value):
        return values.toml(value)
    return (
        ",".join(map(str, value))
        if isinstance(value, list | tuple)
        else "none"
        if value is None
        else str(value)
    )
