"""Cells: the runs behind a table. Finished runs are reused, and interrupted ones continue.

A cell's folder is named after its configuration. Tables therefore share the runs that they have in
common, and a run with other settings never replaces another. Several commands may work on the same
cells at once: each takes cells that no other command has begun.
"""

import hashlib
import itertools
import warnings
from functools import partial
from pathlib import Path
from typing import NamedTuple

import ibpcl
from ibpcl import checkpoints, storage
from ibpcl.continual.learner import check_form
from ibpcl.errors import TrainingError
from ibpcl.experiments.benchmarks import Benchmark, Row
from ibpcl.experiments.config import RunConfig
from ibpcl.experiments.folder import LEARNER, RESULT, at_work, portable
from ibpcl.experiments.journal import unusable
from ibpcl.experiments.run import Run, run
from ibpcl.experiments.streams import make_stream
from ibpcl.experiments.sweep import Job, outcomes

# Methods that store every training example.
ALL_DATA = ("joint",)
# Bytes of stored images from which a cell counts as too large.
TOO_MANY_BYTES = 5e8
IMAGE_BYTES = 4 * 784
# Estimate of a cell's time: fixed seconds per run, and cost per second on two cores.
OVERHEAD = 4.0
RATE = 5e4


class Cell(NamedTuple):
    """A run of a table.

    Attributes
    ----------
    row : Row
        Its row: the method and the settings that the row fixes.
    benchmark : Benchmark
        The tasks.
    seed : int
        Seed of the learner.
    config : RunConfig
        The configuration.
    folder : Path
        The folder of the run.
    """

    row: Row
    benchmark: Benchmark
    seed: int
    config: RunConfig
    folder: Path

    def __str__(self):
        return f"{self.benchmark.name}, {self.row.key}, seed {self.seed}"


class Measured(NamedTuple):
    """A finished cell.

    Attributes
    ----------
    cell : Cell
        The cell.
    values : dict
        The content of its ``result.json``.
    """

    cell: Cell
    values: dict


class Failure(NamedTuple):
    """A cell whose training failed.

    Attributes
    ----------
    cell : Cell
        The cell.
    reason : str
        The message of the error.
    """

    cell: Cell
    reason: str


def plan(rows, benchmarks, choice):
    """Return the cells of all rows, benchmarks and seeds.

    Parameters
    ----------
    rows : sequence of Row
        The rows of the table.
    benchmarks : sequence of Benchmark
        Its benchmarks.
    choice : Choice
        The user's choices: seeds, settings, folders.

    Returns
    -------
    cells : list of Cell
        In the order of the table: by benchmark, row, seed.
    """
    planned = []
    for benchmark, row, seed in itertools.product(benchmarks, rows, range(choice.seeds)):
        config = choice.config(row, benchmark, seed)
        name = f"{config.experiment}-{config.title}-seed{seed}-{digest(config)}"
        planned.append(Cell(row, benchmark, seed, config, choice.out / "cells" / name))
    return planned


def digest(config):
    """Return ten hexadecimal digits that identify a configuration.

    They depend neither on the folder of the data nor on the order of the keys.

    Parameters
    ----------
    config : RunConfig
        The configuration.

    Returns
    -------
    digest : str
        The first ten digits of a SHA-256.
    """
    table = dict(sorted(portable(config.table).items()))
    return hashlib.sha256(storage.json_text(table).encode()).hexdigest()[:10]


def finished(cell):
    """Return the result of a cell, if its folder holds the complete run.

    Parameters
    ----------
    cell : Cell
        The cell.

    Returns
    -------
    measured : Measured or None
        None if the run is missing, unfinished or unreadable.
    """
    values = _finished_result(cell.config, cell.folder)
    return None if values is None else Measured(cell, values)


def _finished_result(config, folder):
    """Return the content of ``result.json`` of a finished run, or None."""
    run = Run(config, folder)
    if not run.load():
        return None
    try:
        check_form(checkpoints.load(folder / LEARNER).meta, folder / LEARNER)
    # The file may come from a version whose learners this one cannot read.
    except ValueError as error:
        warnings.warn(f"{error}; the run starts again", stacklevel=2)
        return None
    return run.result


def measure(cells, progress=None, on_cell=None, workers=None, so_far=None):
    """Run the cells that are not finished, and return the results of all.

    The results are the same, bit for bit, with and without workers.

    Parameters
    ----------
    cells : list of Cell
        From :func:`plan`.
    progress : bool or None
        Whether to show one bar over all cells, with the time left; None shows it on a terminal
        only.
    on_cell : callable, optional
        Called with each new :class:`Measured` or :class:`Failure`.
    workers : ibpcl.experiments.sweep.Workers, optional
        Do the runs in parallel. Without them, this process does one run after another.
    so_far : callable, optional
        Called after each new cell with the two lists of results so far.

    Returns
    -------
    measured : list of Measured
        In the order of ``cells``.
    failures : list of Failure
        The cells whose training failed.

    Raises
    ------
    UserError
        If data are missing or damaged; nothing is trained then.
    """
    ready = {cell.folder: finished(cell) for cell in cells}
    _name_other_versions(
        [done.values["versions"]["ibpcl"] for done in ready.values() if done is not None]
    )
    missing = list({cell.folder: cell for cell in cells if ready[cell.folder] is None}.values())
    for cell in {cell.benchmark.name: cell for cell in missing}.values():
        # Report missing data now, not after hours.
        make_stream(cell.config)
    for folder in {cell.folder.parent for cell in missing}:
        folder.mkdir(parents=True, exist_ok=True)
    failures = {}
    jobs = []
    for cell in missing:
        # A worker may have another working directory.
        folder = cell.folder.absolute()
        jobs.append(
            Job(
                cell,
                str(cell),
                cost(cell),
                cell.config.tasks,
                (folder,),
                partial(_run, cell.config, folder),
                partial(at_work, folder),
            )
        )

    def results():  # rows may share a run
        return (
            [
                ready[cell.folder]._replace(cell=cell)
                for cell in cells
                if ready[cell.folder] is not None
            ],
            list(failures.values()),
        )

    for job, outcome in (
        outcomes(jobs, missing[0].folder.parent, workers, progress) if missing else ()
    ):
        cell = job.key
        if isinstance(outcome, TrainingError):
            new = failures[cell.folder] = Failure(cell, str(outcome))
        else:
            new = ready[cell.folder] = Measured(cell, outcome)
        if on_cell is not None:
            on_cell(new)
        if so_far is not None:
            so_far(*results())
    return results()


def _name_other_versions(versions):
    """Warn if some of the runs were made by other versions of this package."""
    others = [version for version in versions if version != ibpcl.__version__]
    if others:
        warnings.warn(
            f"{len(others)} of the runs {'was' if len(others) == 1 else 'were'} made by ibpcl "
            f"{', '.join(sorted(set(others)))}, this is {ibpcl.__version__}; to repeat them, "
            "remove their folders, or name another folder with `out`",
            stacklevel=3,
        )


def _run(config, folder, after_task):
    """Run a cell, from its checkpoint if it has a usable one; return the content of its
    ``result.json``.
    """
    # The folder is named after the configuration, so `force` can only replace a run with the same
    # one, whose data were in another folder. Look for the result first: another process may write
    # it in between.
    fresh = unusable(folder) or (folder / RESULT).exists()
    values = _finished_result(config, folder)
    if values is not None:
        return values
    run(config, folder, False, after_task, force=True, fresh=fresh)
    # From the file, like any other cell: null for a missing value.
    return storage.read_sealed_json(folder / RESULT)


def hoards(cell):
    """Return whether a cell would write gigabytes of training images after every task.

    Parameters
    ----------
    cell : Cell
        The cell.

    Returns
    -------
    too_large : bool
        True for a method that stores all training data, on a long stream.
    """
    images = _examples(cell) * cell.config.tasks
    return cell.row.method in ALL_DATA and images * IMAGE_BYTES > TOO_MANY_BYTES


def cost(cell):
    """Return the approximate time of a cell, relative to others: examples times :func:`effort`.

    Parameters
    ----------
    cell : Cell
        The cell.

    Returns
    -------
    cost : float
        Comparable between cells; see :func:`seconds`.
    """
    return _examples(cell) * effort(cell.config)


def effort(config):
    """Return the approximate time of a run per example: epochs times samples or trials, over all
    tasks.

    Parameters
    ----------
    config : RunConfig
        The configuration.

    Returns
    -------
    effort : int
        At least the number of tasks.
    """
    settings = config.settings
    epochs = sum(
        getattr(settings, name, 0) for name in ("epochs", "finetune_epochs", "head_epochs")
    )
    times = getattr(settings, "samples", 1) * getattr(settings, "trials", 1)
    return max(1, epochs) * times * config.tasks


def seconds(cell):
    """Return the approximate time of a cell on a machine with two cores, within a factor of three.

    Parameters
    ----------
    cell : Cell
        The cell.

    Returns
    -------
    seconds : float
        Of training and testing.
    """
    return OVERHEAD + cost(cell) / RATE


def _examples(cell):
    return min(cell.benchmark.examples, cell.config.train_limit or cell.benchmark.examples)
