"""Cells: the runs behind a table, each in a folder of its own, finished ones used again and
interrupted ones resumed.

A cell's folder is named after its configuration, so targets share the runs that they have in
common, and a run with other settings never takes the place of another.  Several commands may be at
work on the same cells: each takes what no other has begun.
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

# who keeps every training example; bytes
ALL_DATA = ("joint",)
MUCH = 5e8
PIXEL_BYTES = 4 * 784  # of an image
# seconds of a run; of its cost a second, two cores
OVERHEAD = 4.0
RATE = 5e4


class Cell(NamedTuple):
    """A run of a table: who learns what, with which seed, under which configuration, in which
    folder.
    """

    row: Row
    benchmark: Benchmark
    seed: int
    config: RunConfig
    folder: Path

    def __str__(self):
        return f"{self.benchmark.name}, {self.row.key}, seed {self.seed}"


class Measured(NamedTuple):
    """A cell that has been run, and the content of its ``result.json``."""

    cell: Cell
    values: dict


class Failure(NamedTuple):
    """A cell that could not be trained, and why."""

    cell: Cell
    reason: str


def plan(rows, benchmarks, choice):
    """Return the cells of all rows, benchmarks and seeds, in the order of the table."""
    planned = []
    for benchmark, row, seed in itertools.product(benchmarks, rows, range(choice.seeds)):
        config = choice.config(row, benchmark, seed)
        name = f"{config.experiment}-{config.title}-seed{seed}-{digest(config)}"
        planned.append(Cell(row, benchmark, seed, config, choice.out / "cells" / name))
    return planned


def digest(config):
    """Return ten hexadecimal digits of a configuration, whatever the place of its data and the
    order of its keys.
    """
    table = dict(sorted(portable(config.table).items()))
    return hashlib.sha256(storage.json_text(table).encode()).hexdigest()[:10]


def finished(cell):
    """Return the cell as measured, or None if its folder does not hold the complete run."""
    values = _found(cell.config, cell.folder)
    return None if values is None else Measured(cell, values)


def _found(config, folder):
    found = Run(config, folder)
    if not found.load():
        return None
    try:
        check_form(checkpoints.load(folder / LEARNER).meta, folder / LEARNER)
    # of a version whose learners this one cannot read
    except ValueError as error:
        warnings.warn(f"{error} (it is run again now)", stacklevel=2)
        return None
    return found.result


def measure(cells, progress=None, on_cell=None, workers=None, so_far=None):
    """Run the cells that are not finished, and return what all of them gave.

    Parameters
    ----------
    cells : list of Cell
        From :func:`plan`.
    progress : bool, optional
        Show a bar over all cells, with the time left: yes, no, or (None) on a terminal only.
    on_cell : callable, optional
        Called with each :class:`Measured` or :class:`Failure` that is new.
    workers : ibpcl.experiments.sweep.Workers, optional
        These run them; this process, one after another, if not given.  The results are the same,
        bit for bit.
    so_far : callable, optional
        Called with what is returned in the end, as far as it is known, after each cell that is new.

    Returns
    -------
    measured, failures : list of Measured and list of Failure
        In the order of ``cells``; those that could not be trained.  Missing or damaged data are a
        UserError, before anything is trained.
    """
    ready = {cell.folder: finished(cell) for cell in cells}
    _name_other_versions(
        [found.values["versions"]["ibpcl"] for found in ready.values() if found is not None]
    )
    missing = list({cell.folder: cell for cell in cells if ready[cell.folder] is None}.values())
    for cell in {cell.benchmark.name: cell for cell in missing}.values():
        # what is missing is known before hours have passed
        make_stream(cell.config)
    for folder in {cell.folder.parent for cell in missing}:
        folder.mkdir(parents=True, exist_ok=True)
    failures = {}
    jobs = []
    for cell in missing:
        # a worker may have another working directory
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

    def known():  # rows may share a run
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
            so_far(*known())
    return known()


def _name_other_versions(versions):
    """Report by a warning how many runs, of those whose versions are given, another version has
    made.
    """
    others = [version for version in versions if version != ibpcl.__version__]
    if others:
        warnings.warn(
            f"{len(others)} of the runs {'was' if len(others) == 1 else 'were'} made by ibpcl "
            f"{', '.join(sorted(set(others)))}, this is {ibpcl.__version__}; to make runs again, "
            "remove their folders or name another with `out`",
            stacklevel=3,
        )


def _run(config, folder, after_task):
    """Run a cell, from its checkpoint if there is one that can be used; return the content of its
    ``result.json``.
    """
    # The name of the folder says what may be replaced: a run of the same configuration whose data
    # lay elsewhere.
    # before the look at the result, which another may write
    fresh = unusable(folder) or (folder / RESULT).exists()
    found = _found(config, folder)
    if found is not None:
        return found
    run(config, folder, False, after_task, force=True, fresh=fresh)
    # as any other cell: null for what was not measured
    return storage.read_sealed_json(folder / RESULT)


def hoards(cell):
    """Return whether a cell would keep so many training images that it writes gigabytes after every
    task.
    """
    return cell.row.method in ALL_DATA and _examples(cell) * cell.config.tasks * PIXEL_BYTES > MUCH


def cost(cell):
    """Return how long a cell takes compared with others, roughly: examples times :func:`effort`."""
    return _examples(cell) * effort(cell.config)


def effort(config):
    """Return how long a run takes compared with others on as many examples: epochs times samples or
    trials.
    """
    settings = config.settings
    epochs = sum(
        getattr(settings, name, 0) for name in ("epochs", "finetune_epochs", "head_epochs")
    )
    times = getattr(settings, "samples", 1) * getattr(settings, "trials", 1)
    return max(1, epochs) * times * config.tasks


def seconds(cell):
    """Return about how many seconds a cell takes on a machine with two cores: within a factor of
    three.
    """
    return OVERHEAD + cost(cell) / RATE


def _examples(cell):
    return min(cell.benchmark.examples, cell.config.train_limit or cell.benchmark.examples)
