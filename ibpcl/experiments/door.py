"""What ``import ibpcl`` offers: learners, runs, comparisons and what they left, for one's own data
and methods too.
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
    """Return a learner, before its first task.

    Parameters
    ----------
    method : str or class
        A name that ``ibpcl methods`` lists, for images without labels with ``vae_`` before it;
        ``package.module:Class``; or a class with the face of a learner.
    preset : str
        Named settings of the method.
    seed : int
        Everything random is a function of it.
    backend : {"numba", "numpy"}
        The backend that computes: numba or numpy.
    **settings
        Settings that differ from the preset's; ``ibpcl settings METHOD`` lists them.

    Raises
    ------
    UserError
        If there is no such method, preset or setting, or a value is not allowed.

    Examples
    --------
    >>> learner("ewc", epochs=3, seed=1)
    EWC(Settings(epochs=3), seed=1, backend_name='numba'), 0 tasks learned
    >>> learner("vae_ewc", epochs=3)
    ImageEWC(ImageSettings(epochs=3), seed=0, backend_name='numba'), 0 tasks learned
    """
    if useless := [key for key in settings if key in run_keys()]:
        raise UserError(
            f"learner: {', '.join(useless)} must be left out: a run, such as ibpcl.run, has these "
            "keys, a learner has not"
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
    """Learn every task of a stream; after each, test on it and on all before it.

    Parameters
    ----------
    learner : Learner
    stream : sequence of Task
    progress : bool, optional
        Show progress bars on standard error: yes, no, or (None) on a terminal only.

    Yields
    ------
    ibpcl.continual.loop.Progress
        After each task: the accuracies so far, in 0..1, and more.

    Raises
    ------
    UserError
        If ``learner`` or ``stream`` is something else.
    """
    if isinstance(learner, type):
        raise UserError(
            f"learn: learner must be a learner, got the class {learner.__name__}; make one with "
            "ibpcl.learner"
        )
    for name in ("learn", "predict"):
        if not callable(getattr(learner, name, None)):
            raise UserError(f"learn: learner must have {name}, got {type(learner).__name__}")
    if (
        isinstance(stream, Task)
        or not hasattr(stream, "__len__")
        or not hasattr(stream, "__getitem__")
    ):
        raise UserError(f"learn: stream must be a sequence of Task, got {type(stream).__name__}")
    if not len(stream):
        raise UserError("learn: stream must have at least one Task, got none")
    # another one makes its tasks when they are asked for
    if isinstance(stream, list | tuple):
        for t, task in enumerate(stream):
            if not isinstance(task, Task):
                raise UserError(
                    f"learn: stream must be a sequence of Task, got {type(task).__name__} at {t}"
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
    """Do what ``ibpcl run`` does: learn the tasks of an experiment, or one's own, and measure what
    was kept.

    Parameters
    ----------
    target : str, path-like or sequence of Task
        The name of an experiment, a TOML file, or tasks.
    out : path-like, optional
        Folder for the files; without it nothing is written.  The same run continues there if it was
        interrupted, and is kept if it is finished.
    method : str or class, optional
        Who learns: a name, ``package.module:Class``, or a class; the experiment's method if not
        given.
    progress : bool, optional
        Show progress bars on standard error: yes, no, or (None) on a terminal only.
    force, fresh : bool
        Replace a run with another configuration; begin the same run again.
    **keys
        Any configuration keys, such as ``seed``, ``preset``, ``epochs``.

    Returns
    -------
    Run
        With ``result``, ``history``, ``learner``, ``folder`` and ``figures()``.

    Raises
    ------
    UserError
        If an argument, the data or the folder cannot be used; a line that says why.
    ibpcl.errors.TrainingError
        If training cannot go on with these settings.
    """
    place = None if out is None else _path("run", "out", out)
    _check_progress("run", progress)
    _flag("run", "force", force)
    _flag("run", "fresh", fresh)
    if method is not None:
        keys["method"] = name_of(method)
    config = configure(str(target) if isinstance(target, PathLike) else target, **keys)
    return run_config(config, place, progress, force=force, fresh=fresh)


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
    """Do what ``ibpcl compare`` does: run several methods with several seeds and tabulate them.

    Parameters
    ----------
    target : str, path-like or sequence of Task
        As for :func:`run`.
    methods : sequence of str or class, optional
        All that can do the experiment if not given.
    seeds : int
        How many, counted from 0.
    out : path-like
        Folder for runs and tables; finished runs are reused, interrupted runs continue.
    progress : bool, optional
        Show a progress bar on standard error: yes, no, or (None) on a terminal only.
    tuned : bool
        With the settings that a search found, where there are.
    data_dir : str, optional
        Folder of the image files.
    executor : concurrent.futures.Executor, optional
        Whose workers do the runs, such as ``dask.distributed.Client(...).get_executor()``; they
        share ``out``.
    **keys
        Keys of every run, and settings of every method that has them.

    Returns
    -------
    Report
        ``print`` shows its table.

    Raises
    ------
    UserError, ibpcl.errors.TrainingError
        As :func:`run`; the latter if no run could be trained.
    """
    if methods is not None and (
        isinstance(methods, str | type) or not isinstance(methods, Iterable)
    ):
        raise UserError(f"compare: methods must be a list of methods, got {methods!r}")
    methods = None if methods is None else list(methods)
    if methods == []:
        raise UserError("compare: methods must name at least one method, got an empty list")
    seeds = values.convert("compare: seeds", seeds, int)
    place = _path("compare", "out", out)
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
    choice = Choice(seeds, assignments=texts, data_dir=data_dir, out=place, tuned=bool(tuned))
    return comparison.compare(
        target if isinstance(target, str) else own_tasks(target),
        names,
        choice,
        progress,
        workers=None if executor is None else Workers(executor),
    )


def load_run(folder: str | PathLike) -> Run:
    """Return the finished run of a folder: its ``config``, ``result``, ``history``, ``learner`` and
    ``figures()``.

    Raises
    ------
    UserError
        If the folder holds no run, one that is not finished, or one with a damaged file.
    """
    folder = _path("load_run", "folder", folder)
    if table_of(folder) is None:
        raise UserError(
            f"load_run: {folder} is not the folder of a run: it has no {CONFIG} with all keys of "
            "one"
        )
    found = Run(configure(folder / CONFIG), folder)
    if not found.load(strict=True):
        raise UserError(f"load_run: the run in {folder} is not finished; resume it first")
    return found


def _text(value):
    """Write a value as a command line has it."""
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
