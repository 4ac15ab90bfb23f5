"""What the cells of a table gave, and the numbers that every table of methods has.

Every function of a :class:`ibpcl.experiments.cells.Measured` here returns a number, or an array, in
the unit that its table shows: percent or points.  NaN stands for what cannot be measured.
"""

import math
import time
from typing import NamedTuple

from ibpcl.errors import TrainingError
from ibpcl.evaluation import metrics
from ibpcl.experiments import cells
from ibpcl.experiments.choice import Choice
from ibpcl.experiments.stored_learners import load
from ibpcl.experiments.tables import PERCENT, Entry
from ibpcl.methods import method

# seconds between two tables of the results so far
PAUSE = 60.0


class Results(NamedTuple):
    """All cells of a table that could be measured, what they were made from, and the cells that
    failed.
    """

    choice: Choice
    rows: tuple
    benchmarks: tuple
    measured: tuple
    failures: tuple = ()

    def of(self, row, benchmark):
        """Return the cells of a row on a benchmark, a seed after another."""
        return [
            m
            for m in self.measured
            if m.cell.row.key == row.key and m.cell.benchmark.name == benchmark.name
        ]

    def first(self, benchmark):
        """Return the first cell on a benchmark."""
        return next(m for m in self.measured if m.cell.benchmark.name == benchmark.name)

    def entry(self, row, benchmark, number, column, unit=PERCENT, printed=None, label=None):
        """Return the entry of a row in a column: ``number`` of each of its cells, NaN for None."""
        numbers = [number(m) for m in self.of(row, benchmark)]
        values = tuple(math.nan if value is None else float(value) for value in numbers)
        return Entry(label or row.label, column, values, unit, printed)

    def rows_on(self, benchmark):
        """Return the rows that have at least one cell on a benchmark."""
        return [row for row in self.rows if self.of(row, benchmark)]


class Summary(NamedTuple):
    """What a table is made of: tables, remarks, and pictures by name (Axes, or arrays of them)."""

    tables: tuple
    notes: tuple
    pictures: dict


def gather(
    planned, choice, rows, benchmarks, progress=None, on_cell=None, workers=None, publish=None
):
    """Run the planned cells that are not finished, and return what all of them gave; TrainingError
    if none could be.

    ``rows`` and ``benchmarks`` stand in the order of the table; those without a measured cell are
    left out. ``publish`` is called at most every :data:`PAUSE` seconds with the results so far and
    a sentence that says so; the rest as for :func:`ibpcl.experiments.cells.measure`.
    """
    published = time.monotonic()

    def results(measured, failures):
        there = {m.cell.row.key for m in measured}
        on = {m.cell.benchmark.name for m in measured}
        return Results(
            choice,
            tuple(row for row in rows if row.key in there),
            tuple(b for b in benchmarks if b.name in on),
            tuple(measured),
            tuple(failures),
        )

    def so_far(measured, failures):
        nonlocal published
        if publish is not None and measured and time.monotonic() - published >= PAUSE:
            publish(results(measured, failures), f"So far: {len(measured)} of {len(planned)} runs.")
            published = time.monotonic()

    measured, failures = cells.measure(planned, progress, on_cell, workers, so_far)
    if not measured:
        raise TrainingError(f"none of the runs could be trained; the first: {failures[0].reason}")
    return results(measured, failures)


def matrix(m):
    """Return the accuracy matrix R (T, T), fractions, NaN where it was not measured."""
    return metrics.as_accuracy_matrix(m.values["accuracy_matrix"], "accuracy_matrix")


def final_accuracy(m):
    """Return the mean accuracy on all tasks at the end, percent."""
    return 100 * metrics.average_accuracy(matrix(m))


def backward_transfer(m):
    """Return the backward transfer in points."""
    return 100 * metrics.backward_transfer(matrix(m))


def learner(m):
    """Return the learner of a cell as it was after its last task."""
    return load(m.cell.folder, method(m.cell.config.method).learner)


def epochs(found):
    """Return a remark on how long each row learned a task, if not all rows did for the same number
    of epochs.
    """
    rows = {}
    for m in found.measured:
        settings = m.cell.config.settings
        parts = [getattr(settings, name, 0) for name in ("epochs", "finetune_epochs")]
        rows.setdefault(" + ".join(str(part) for part in parts if part) or "none", {})[
            m.cell.row.label
        ] = None
    if len(rows) < 2:
        return []
    told = "; ".join(f"{number}: {', '.join(labels)}" for number, labels in rows.items())
    return [f"Epochs per task (+ those of fine-tuning): {told}."]


def seconds(m):
    """Return the time of training and of testing, seconds."""
    return m.values["seconds"]["train"] + m.values["seconds"]["test"]


def stored(m):
    """Return what the method keeps after its last task, MB of 10^6 bytes: see
    :mod:`ibpcl.experiments.footprint`.
    """
    return sum(array.nbytes for array in learner(m).state().values() if array.ndim) / 1e6
