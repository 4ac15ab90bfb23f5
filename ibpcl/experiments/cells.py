"""Cells: the runs behind a table, each in a folder of its own, finished ones used again and interrupted ones resumed.

A cell's folder is named after its configuration, so targets share the runs that they have in common, and a run with
other settings never takes the place of another.  Several processes may be at work on the same cells: each takes what
no other has begun.
"""

import hashlib
import time
import warnings
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

import ibpcl
from ibpcl import checkpoints, storage
from ibpcl.continual.learner import check_form
from ibpcl.errors import TrainingError
from ibpcl.experiments import runs
from ibpcl.experiments.benchmarks import Benchmark, Row
from ibpcl.experiments.config import RunConfig, as_table
from ibpcl.experiments.folder import LEARNER, RESULT, AtWorkError, at_work, portable
from ibpcl.experiments.journal import unusable
from ibpcl.experiments.run import run
from ibpcl.experiments.streams import make_stream

ALL_DATA, MUCH = ("joint",), 5e8                             # who keeps every training example; bytes
PIXEL_BYTES = 4 * 784                                        # of an image
OVERHEAD, RATE = 4.0, 5e4                                    # seconds of a run; of its cost a second, two cores
LOOK = 0.5                                                   # seconds between looks whether another process is done
BAR = "{desc} {percentage:3.0f}%|{bar:20}| {elapsed} so far, about {remaining} left"


class Cell(NamedTuple):
    """A run of a table: who learns what, with which seed, under which configuration, in which folder."""

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
    """Return the cells of all rows, benchmarks and seeds, in the order of the table.

    Parameters
    ----------
    rows : sequence of Row
    benchmarks : sequence of Benchmark
    choice : ibpcl.experiments.choice.Choice
    """
    return [_cell(row, benchmark, seed, choice) for benchmark in benchmarks for row in rows
            for seed in range(choice.seeds)]


def _cell(row, benchmark, seed, choice):
    config = choice.config(row, benchmark, seed)
    name = f"{config.experiment}-{config.title}-seed{seed}-{digest(config)}"
    return Cell(row, benchmark, seed, config, choice.out / "cells" / name)


def digest(config):
    """Return ten hexadecimal digits that differ for configurations that differ in more than where the data lies.

    They do not depend on the order of the keys.
    """
    table = dict(sorted(portable(as_table(config)).items()))
    return hashlib.sha256(storage.json_text(table).encode()).hexdigest()[:10]


def finished(cell):
    """Return the cell as measured, or None if its folder does not hold the complete run."""
    found = runs.finished(cell.folder, cell.config)
    if found is None:
        return None
    try:
        check_form(checkpoints.load(cell.folder / LEARNER).meta, cell.folder / LEARNER)
    except ValueError as error:                              # of a version whose learners this one cannot read
        warnings.warn(f"{error} (it is run again now)", stacklevel=2)
        return None
    return Measured(cell, found.result)


def measure(cells, progress=None, on_cell=None):
    """Run the cells that are not finished, and return what all of them gave.

    Parameters
    ----------
    cells : list of Cell
        From :func:`plan`.
    progress : bool, optional
        Show a bar over all cells, with the time left: yes, no, or (None) on a terminal only.
    on_cell : callable, optional
        Called with each :class:`Measured` or :class:`Failure` that is new.

    Returns
    -------
    measured : list of Measured
        In the order of ``cells``.
    failures : list of Failure
        Those that are missing there.

    Raises
    ------
    UserError
        If the data of a cell that must run are missing or damaged; before anything is trained.
    """
    ready = {cell.folder: finished(cell) for cell in cells}
    _name_other_versions([found.values["versions"]["ibpcl"] for found in ready.values() if found is not None])
    missing = list({cell.folder: cell for cell in cells if ready[cell.folder] is None}.values())
    _check_data(missing)
    measured, failures, waiting = [], {}, list(missing)
    with _bar(cells, missing, progress) as bar:
        for cell in _in_turn(waiting, bar):
            bar.set_description_str(f"{len(missing) - len(waiting)} of {len(missing)}: {cell}")
            try:
                outcome = ready[cell.folder] = _elsewhere(cell, bar) or Measured(cell, _run(cell, bar))
            except AtWorkError:                              # another process was faster
                waiting.append(cell)
                continue
            except TrainingError as error:
                outcome = failures[cell.folder] = Failure(cell, str(error))
            if on_cell is not None:
                on_cell(outcome)
    for cell in cells:
        if cell.folder not in failures:
            measured.append(ready[cell.folder]._replace(cell=cell))    # rows may share a run
    return measured, list(failures.values())


def _name_other_versions(versions):
    """Report by a warning how many runs, of those whose versions are given, another version has made."""
    others = [version for version in versions if version != ibpcl.__version__]
    if others:
        warnings.warn(f"{len(others)} of the runs {'was' if len(others) == 1 else 'were'} made by ibpcl "
                      f"{', '.join(sorted(set(others)))}, this is {ibpcl.__version__}; to make runs again, remove "
                      "their folders or name another with --out", stacklevel=3)


def _in_turn(waiting, bar):
    """Give the cells of a list, which may grow meanwhile, those first that no other process is at work on."""
    while waiting:
        free = next((cell for cell in waiting if not at_work(cell.folder)), None)
        if free is None:
            bar.set_description_str(f"{len(waiting)} left, another process is at work on them")
            time.sleep(LOOK)
        else:
            waiting.remove(free)
            yield free


def _elsewhere(cell, bar):
    """Return a cell that another process has finished meanwhile, or None."""
    found = finished(cell)
    if found is not None:
        bar.update(cost(cell))
    return found


def _run(cell, bar):
    """Run a cell, from its checkpoint if there is one that can be used."""
    cell.folder.parent.mkdir(parents=True, exist_ok=True)
    step = cost(cell) / cell.config.tasks
    # The name of the folder says what may be replaced: a run of the same configuration whose data lay elsewhere.
    fresh = unusable(cell.folder) or Path(cell.folder, RESULT).exists()      # whose result cannot be used
    run(cell.config, cell.folder, False, lambda report: bar.update(step), force=True, fresh=fresh)
    return storage.read_sealed_json(cell.folder / RESULT)    # as any other cell: null for what was not measured


def hoards(cell):
    """Return whether a cell would keep so many training images that it writes gigabytes after every task."""
    return cell.row.method in ALL_DATA and _examples(cell) * cell.config.tasks * PIXEL_BYTES > MUCH


def cost(cell):
    """Return how long a cell takes compared with others, roughly: examples times epochs times samples or trials."""
    settings = cell.config.settings
    epochs = sum(getattr(settings, name, 0) for name in ("epochs", "finetune_epochs", "head_epochs"))
    times = getattr(settings, "samples", 1) * getattr(settings, "trials", 1)
    return _examples(cell) * max(1, epochs) * times * cell.config.tasks


def seconds(cell):
    """Return about how many seconds a cell takes on a machine with two cores: within a factor of three."""
    return OVERHEAD + cost(cell) / RATE


def _examples(cell):
    return min(cell.benchmark.examples, cell.config.train_limit or cell.benchmark.examples)


def _check_data(cells):
    """Load each image set once, so that what is missing is known before hours have passed."""
    for cell in {cell.benchmark.name: cell for cell in cells}.values():
        make_stream(cell.config)


def _bar(cells, missing, progress):
    total = sum(cost(cell) for cell in missing)
    # None: tqdm itself looks whether standard error is a terminal.
    return tqdm(total=total, bar_format=BAR, disable=None if progress is None else not progress, leave=False,
                smoothing=0.05)
