"""Results of the cells of a table, and the numbers that every table of methods contains.

Every function here that takes a :class:`ibpcl.experiments.cells.Measured` returns a number or an
array in the unit of its column. NaN stands for a number that cannot be measured.
"""

import math
import time
from typing import NamedTuple

from ibpcl.errors import TrainingError
from ibpcl.evaluation import metrics
from ibpcl.experiments import cells
from ibpcl.experiments.choice import Choice
from ibpcl.experiments.stored_learners import load
from ibpcl.experiments.tables import PERCENT, Entry, shown
from ibpcl.methods import method

# Minimum number of seconds between two tables of the results so far.
PAUSE = 60.0


class Results(NamedTuple):
    """The results of all cells of a table.

    Attributes
    ----------
    choice : Choice
        The user's choices.
    rows : tuple of Row
        The rows that have a finished cell, in order.
    benchmarks : tuple of Benchmark
        The benchmarks that have a finished cell, in order.
    measured : tuple of Measured
        The finished cells.
    failures : tuple of Failure
        The cells whose training failed.
    """

    choice: Choice
    rows: tuple
    benchmarks: tuple
    measured: tuple
    failures: tuple = ()

    def of(self, row, benchmark):
        """Return the finished cells of a row on a benchmark.

        Parameters
        ----------
        row : Row
            The row.
        benchmark : Benchmark
            The benchmark.

        Returns
        -------
        measured : list of Measured
            One per seed, in order.
        """
        return [
            m
            for m in self.measured
            if m.cell.row.key == row.key and m.cell.benchmark.name == benchmark.name
        ]

    def first(self, benchmark):
        """Return the first finished cell on a benchmark.

        Parameters
        ----------
        benchmark : Benchmark
            A benchmark that has one.

        Returns
        -------
        measured : Measured
            The cell.
        """
        return next(m for m in self.measured if m.cell.benchmark.name == benchmark.name)

    def entry(self, row, benchmark, number, column, unit=PERCENT, printed=None, label=None):
        """Return one entry of a table, from the cells of a row on a benchmark.

        Parameters
        ----------
        row : Row
            The row.
        benchmark : Benchmark
            The benchmark.
        number : callable
            Returns the number of a ``Measured``, or None for a missing one, which becomes NaN.
        column : str
            Name of the column.
        unit : ibpcl.experiments.tables.Unit
            Unit of the numbers.
        printed : ibpcl.experiments.tables.Printed, optional
            The number that was reported elsewhere.
        label : str, optional
            Name of the row in the table; the row's own label if not given.

        Returns
        -------
        entry : ibpcl.experiments.tables.Entry
            With one value per seed.
        """
        measured = self.of(row, benchmark)
        numbers = [number(m) for m in measured]
        values = tuple(math.nan if value is None else float(value) for value in numbers)
        seeds = tuple(m.cell.seed for m in measured)
        return Entry(label or row.label, column, values, unit, printed, seeds)

    def rows_on(self, benchmark):
        """Return the rows that have a finished cell on a benchmark.

        Parameters
        ----------
        benchmark : Benchmark
            The benchmark.

        Returns
        -------
        rows : list of Row
            In order.
        """
        return [row for row in self.rows if self.of(row, benchmark)]


class Summary(NamedTuple):
    """The content of a report.

    Attributes
    ----------
    tables : tuple of ibpcl.experiments.tables.Table
        Its tables.
    notes : tuple of str
        Remarks below the tables.
    pictures : dict of str to Axes or array of Axes
        Figures, by the name of their file.
    """

    tables: tuple
    notes: tuple
    pictures: dict


def gather(
    planned, choice, rows, benchmarks, progress=None, on_cell=None, workers=None, publish=None
):
    """Run the planned cells that are not finished, and return the results of all.

    Parameters
    ----------
    planned : list of Cell
        From :func:`ibpcl.experiments.cells.plan`.
    choice : Choice
        The user's choices.
    rows : sequence of Row
        The rows, in the order of the table.
    benchmarks : sequence of Benchmark
        The benchmarks, in the order of the table.
    progress : bool or None
        Whether to show a progress bar; None shows it on a terminal only.
    on_cell : callable, optional
        Called with each new ``Measured`` or ``Failure``.
    workers : ibpcl.experiments.sweep.Workers, optional
        Do the runs in parallel.
    publish : callable, optional
        Called with the results so far and a sentence on their number, at most every :data:`PAUSE`
        seconds.

    Returns
    -------
    results : Results
        Rows and benchmarks without a finished cell are left out.

    Raises
    ------
    ibpcl.errors.TrainingError
        If the training of every cell failed.
    """
    published = time.monotonic()

    def results(measured, failures):
        row_keys = {m.cell.row.key for m in measured}
        names = {m.cell.benchmark.name for m in measured}
        return Results(
            choice,
            tuple(row for row in rows if row.key in row_keys),
            tuple(b for b in benchmarks if b.name in names),
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
        raise TrainingError(f"no run could be trained; the first failed: {failures[0].reason}")
    return results(measured, failures)


def matrix(m):
    """Return the accuracy matrix of a cell.

    Parameters
    ----------
    m : Measured
        A finished cell.

    Returns
    -------
    R : ndarray, shape (T, T)
        Fractions; NaN where nothing was measured.
    """
    return metrics.as_accuracy_matrix(m.values["accuracy_matrix"], "accuracy_matrix")


def final_accuracy(m):
    """Return the mean accuracy on all tasks at the end.

    Parameters
    ----------
    m : Measured
        A finished cell.

    Returns
    -------
    accuracy : float
        In percent.
    """
    return 100 * metrics.average_accuracy(matrix(m))


def accuracy_as_learned(m):
    """Return the mean over tasks of the accuracy on a task when it has just been learned.

    Parameters
    ----------
    m : Measured
        A finished cell.

    Returns
    -------
    accuracy : float
        In percent.
    """
    return 100 * float(matrix(m).diagonal().mean())


def backward_transfer(m):
    """Return the backward transfer.

    Parameters
    ----------
    m : Measured
        A finished cell.

    Returns
    -------
    transfer : float
        In points; NaN for one task.
    """
    return 100 * metrics.backward_transfer(matrix(m))


def learner(m):
    """Return the learner of a cell after its last task.

    Parameters
    ----------
    m : Measured
        A finished cell.

    Returns
    -------
    learner : Learner
        Read from the cell's folder.
    """
    return load(m.cell.folder, method(m.cell.config.method).learner)


def epochs(results):
    """Return a remark on the number of epochs per task, if it differs between rows.

    Parameters
    ----------
    results : Results
        The results of a table.

    Returns
    -------
    notes : list of str
        One sentence, or none.
    """
    rows = {}
    for m in results.measured:
        settings = m.cell.config.settings
        parts = [getattr(settings, name, 0) for name in ("epochs", "finetune_epochs")]
        rows.setdefault(" + ".join(str(part) for part in parts if part) or "none", {})[
            shown(m.cell.row.label)
        ] = None
    if len(rows) < 2:
        return []
    text = "; ".join(f"{number}: {', '.join(labels)}" for number, labels in rows.items())
    return [f"Epochs per task (+ epochs of fine-tuning): {text}."]


def seconds(m):
    """Return the time of training and testing.

    Parameters
    ----------
    m : Measured
        A finished cell.

    Returns
    -------
    seconds : float
        Their sum.
    """
    return m.values["seconds"]["train"] + m.values["seconds"]["test"]


def stored(m):
    """Return the size of the learner after its last task, see :mod:`ibpcl.experiments.footprint`.

    Parameters
    ----------
    m : Measured
        A finished cell.

    Returns
    -------
    megabytes : float
        In MB of 10^6 bytes.
    """
    return sum(array.nbytes for array in learner(m).state().values() if array.ndim) / 1e6
