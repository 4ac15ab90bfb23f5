"""Inspection of run folders: contents, state, the command that repeats a run, and differences.

Files are only read. No module that they name is imported, because a folder may come from another
person.
"""

import contextlib
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ibpcl import checkpoints, storage
from ibpcl.errors import UserError
from ibpcl.experiments import identity, values
from ibpcl.experiments.config import OWN, STREAMS, configure, keys, measure_of, run_keys
from ibpcl.experiments.folder import CONFIG, RESULT, at_work, table_of
from ibpcl.experiments.forms import check_form
from ibpcl.experiments.journal import FILE, HISTORY, HOLDS, matrix_of
from ibpcl.experiments.presets import DEFAULT, PRESETS
from ibpcl.inference.loop import Record
from ibpcl.methods import GENERATIVE, METHODS

# Keys with an option of their own in `ibpcl run`, and keys that follow from the user's own data.
OPTIONS = {"method": "--method", "preset": "--preset", "seed": "--seed", "data_dir": "--data-dir"}
OF_OWN_DATA = ("data", "data_sha256", "dataset", "stream", "tasks")
TEXTS = ("experiment", "dataset", "stream", "method", "preset")
# Entries of result.json on the configuration (IDENTITY), and on the machine (CIRCUMSTANCES).
IDENTITY = (
    "configuration",
    "experiment",
    "method",
    "seed",
    "dataset",
    "stream",
    "tasks",
    "measure",
    "image_shape",
    "unit_range",
    "elbo_weights",
)
CIRCUMSTANCES = ("seconds", "peak_memory_mb", "compile_seconds", "backend", "versions", "processor")


class Contents(NamedTuple):
    """The content of a run's folder.

    Attributes
    ----------
    folder : Path
        The folder.
    table : dict
        The configuration.
    result : dict
        The content of ``result.json``. While the run is not finished: the same entries, as far as
        the checkpoint has them.
    history : dict of str to ndarray
        The columns of ``history.csv``; empty if there is none.
    finished : bool
        Whether the run is complete.
    problems : tuple of str
        Messages on damaged files.
    """

    folder: Path
    table: dict
    result: dict
    history: dict
    finished: bool
    problems: tuple

    @property
    def measure(self):
        """The measure of the run: "accuracy", "R^2" or "log-likelihood"."""
        return measure_of(self.table["stream"])

    @property
    def matrix(self):
        """The matrix of the measure, (T, T), NaN where nothing was measured; None before the first
        task.
        """
        name = "log_likelihood_matrix" if self.measure == "log-likelihood" else "accuracy_matrix"
        return np.array(self.result[name], float) if name in self.result else None

    @property
    def average(self):
        """The mean of the measure over all tasks at the end, a fraction or nats; None for an
        unfinished run.
        """
        name = "average_log_likelihood" if self.measure == "log-likelihood" else "average_accuracy"
        return self.result[name] if self.finished else None

    @property
    def written(self):
        """The time at which the last result was written, in seconds since 1970."""
        names = (RESULT,) if self.finished else (HISTORY, FILE, CONFIG)
        return max(path.stat().st_mtime for name in names if (path := self.folder / name).exists())

    @property
    def place(self):
        """The progress of the run in words, such as "in task 2 of 5 (masked, epoch 3)"."""
        if self.finished:
            return "finished"
        if not self.history or not len(self.history["task"]):
            return "before its first epoch"
        task, phase, epoch = (self.history[name][-1] for name in ("task", "phase", "epoch"))
        return f"in task {task + 1} of {self.table['tasks']} ({phase}, epoch {epoch + 1})"

    @property
    def state(self):
        """The state of the run in words: finished, running, stopped, or damaged."""
        if self.finished:
            return self.place
        if self.problems:
            return f"damaged: {self.problems[0]}"
        return f"{'running' if at_work(self.folder) else 'stopped'} {self.place}"


def read(folder):
    """Return the contents of a run's folder.

    Parameters
    ----------
    folder : path-like
        The folder of a run, finished or not.

    Returns
    -------
    contents : Contents
        Damaged files are listed in ``contents.problems``.

    Raises
    ------
    UserError
        If the folder holds no run, or its configuration is damaged.
    """
    folder = Path(folder)
    problems = []
    if links := [name for name in (CONFIG, RESULT, HISTORY, FILE) if (folder / name).is_symlink()]:
        raise UserError(f"{folder}: {', '.join(links)} must be a file, got a link")
    table = table_of(folder)
    if table is None:
        raise UserError(f"{folder} is not the folder of a run: it has no complete {CONFIG}")
    if wrong := [key for key in TEXTS if not isinstance(table[key], str)]:
        raise UserError(f"{folder / CONFIG}: {', '.join(wrong)} must be text")
    if wrong := [key for key in ("seed", "tasks") if type(table[key]) is not int]:
        raise UserError(f"{folder / CONFIG}: {', '.join(wrong)} must be an integer")
    if table["stream"] not in STREAMS:
        raise UserError(
            f"{folder / CONFIG}: stream must be one of {', '.join(STREAMS)}, got "
            f"{table['stream']!r}"
        )

    def intact(read, *arguments):
        try:
            return read(*arguments)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            problems.append(str(error))
            return {}

    result = intact(_result_of, folder, table)
    history = intact(_history_of, folder)
    return Contents(
        folder,
        table,
        result or intact(_so_far, folder, table),
        history,
        bool(result),
        tuple(problems),
    )


def _result_of(folder, table):
    """Return the result of a folder's run, after checking its identity and its form."""
    result = storage.read_sealed_json(folder / RESULT)
    identity.check_result(result, table, folder / RESULT)
    check_form(result, measure_of(table["stream"]), folder / RESULT)
    return result


def _history_of(folder):
    """Return the history of a folder's run, after checking its columns."""
    history = storage.read_csv(folder / HISTORY)
    for name, kind in Record.__annotations__.items():
        if name not in history:
            raise storage.damaged("runs", folder / HISTORY, f"column {name} is missing")
        if kind is not str and history[name].dtype.kind not in "if":
            raise storage.damaged("runs", folder / HISTORY, f"column {name} does not hold numbers")
    if history["task"].dtype.kind != "i" and len(history["task"]):
        raise storage.damaged("runs", folder / HISTORY, "column task does not hold integers")
    return history


def _so_far(folder, table):
    """Return the entries of a result that the checkpoint contains."""
    try:
        return _of_checkpoint(folder, table)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise storage.damaged("runs", folder / FILE, f"{type(error).__name__}: {error}") from error


def _of_checkpoint(folder, table):
    done = checkpoints.latest(folder, FILE, HOLDS).meta["done"]
    name = "log_likelihood" if table["stream"] == "classes" else "accuracy"
    times = {
        f"{part}_per_task": [task["seconds"][i] for task in done]
        for i, part in enumerate(("train", "test"))
    }
    return {
        "tasks": [task["name"] for task in done],
        f"{name}_matrix": matrix_of(folder, done, name),
        "seconds": {part: sum(times[f"{part}_per_task"]) for part in ("train", "test")} | times,
    }


def runs_in(folder):
    """Return the runs directly inside a folder, or in its ``cells``.

    Parameters
    ----------
    folder : path-like
        The folder.

    Returns
    -------
    runs : list of Contents
        The oldest first. A run that cannot be read at all is left out with a warning.

    Raises
    ------
    UserError
        If the folder does not exist.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise UserError(f"{folder}: this folder does not exist")
    candidates = (
        path.parent
        for pattern in (CONFIG, f"*/{CONFIG}", f"cells/*/{CONFIG}")
        for path in folder.glob(pattern)
    )
    return sorted(
        (run for place in candidates if table_of(place) for run in _readable(place)),
        key=lambda run: (run.written, run.folder),
    )


def _readable(place):
    """Yield the contents of a folder, or warn that it cannot be read."""
    try:
        yield read(place)
    except (UserError, OSError) as error:
        warnings.warn(f"{error}; it is left out", stacklevel=3)


def at_hand(method):
    """Return whether a method can be used without importing further modules.

    Parameters
    ----------
    method : str
        Name of the method, or ``package.module:Class``.

    Returns
    -------
    available : bool
        True for a method of this package, or of a module that has been imported already.
    """
    return method in (*METHODS, *GENERATIVE) or (
        ":" in method and method.partition(":")[0] in sys.modules
    )


def known_keys(method):
    """Return the keys of a run with a method, without importing further modules.

    Parameters
    ----------
    method : str
        Name of the method, or ``package.module:Class``.

    Returns
    -------
    keys : dict of str to ibpcl.experiments.config.Key
        With the settings of the method only if :func:`at_hand`.
    """
    if at_hand(method):
        with contextlib.suppress(UserError):  # a module without such a class
            return keys(method)
    return run_keys()


def changed(table):
    """Return the entries of a configuration that differ from the defaults in ``ibpcl settings``.

    Parameters
    ----------
    table : dict
        A configuration.

    Returns
    -------
    changes : dict
        Keys with their values; also keys whose default is not known.
    """
    defaults = {
        key: values.NONE if known.default is None else values.plain(known.default)
        for key, known in known_keys(table["method"]).items()
    }
    return {
        key: value for key, value in table.items() if key not in defaults or value != defaults[key]
    }


def command(run):
    """Return the command that repeats a run.

    Parameters
    ----------
    run : Contents
        The run.

    Returns
    -------
    words : list of str
        The words of the command; empty if the tasks came from Python.
    """
    table = run.table
    custom = run.table["dataset"] == OWN
    if custom and "data" not in table:
        return []
    base = table["experiment"] if table["experiment"] in PRESETS else DEFAULT
    usual = start = None
    if at_hand(table["method"]):
        # This version may lack the preset.
        with contextlib.suppress(UserError):
            usual, start = (
                configure(base, **names).table
                for names in ({}, {"method": table["method"], "preset": table["preset"]})
            )
    # The default settings of this method are unknown here.
    if start is None:
        return ["ibpcl", "run", str(run.folder / CONFIG)]
    if custom:
        start |= {key: table[key] for key in OF_OWN_DATA} | {"experiment": Path(table["data"]).stem}
    words = ["ibpcl", "run", *(("--data", table["data"]) if custom else (base,))]
    for key, value in table.items():
        text = value if isinstance(value, str) else values.toml(value)
        if value != (usual if key in OPTIONS else start).get(key):
            words += [OPTIONS[key], text] if key in OPTIONS else ["--set", f"{key}={text}"]
    return words


def differences(first, second):
    """Return the settings and results in which two runs differ.

    Parameters
    ----------
    first, second : Contents
        The runs.

    Returns
    -------
    differences : dict
        ``settings``, ``results`` and ``circumstances`` (times, memory, versions): a dict from each
        key to its pair of values, None for a missing one. ``other_results``: names of the lists and
        tables of ``result.json`` that differ.
    """
    results, lists = zip(*map(_results, (first, second)), strict=True)
    around = [
        dict(_flat({key: run.result[key] for key in CIRCUMSTANCES if key in run.result}))
        for run in (first, second)
    ]
    return {
        "settings": _pairs(first.table, second.table),
        "results": _pairs(*results),
        "circumstances": _pairs(*around),
        "other_results": list(_pairs(*lists)),
    }


def _pairs(first, second):
    return {
        key: [first.get(key), second.get(key)]
        for key in first | second
        if first.get(key) != second.get(key)
    }


def _results(run):
    """Return the numbers of a result by name, and its other entries."""
    rest = {
        key: value for key, value in run.result.items() if key not in (*IDENTITY, *CIRCUMSTANCES)
    }
    numbers = {key: rest.pop(key) for key in list(rest) if isinstance(rest[key], int | float)}
    if run.matrix is not None:
        last = [None if np.isnan(value) else float(value) for value in run.matrix[-1]]
        numbers |= {
            f"{run.measure} of {name}": value
            for name, value in zip(run.result["tasks"], last, strict=True)
        }
    if rest.get("share_used"):
        numbers["share_used"] = rest.pop("share_used")[-1]
    return numbers, {
        key: np.asarray(value).tolist() if key.endswith("_matrix") else value
        for key, value in rest.items()
    }


def _flat(value, name=""):
    """Yield the entries of nested dictionaries under dotted names, without lists."""
    for key, entry in value.items():
        if isinstance(entry, dict):
            yield from _flat(entry, f"{name}{key}.")
        elif not isinstance(entry, list):
            yield f"{name}{key}", entry
