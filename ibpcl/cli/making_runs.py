"""What the commands that make runs have in common: their arguments, who does the runs, and how
results are printed.
"""

import contextlib
import os
from pathlib import Path

from tqdm import tqdm

from ibpcl.data.dataset import DataError
from ibpcl.data.own import read_tasks
from ibpcl.errors import TrainingError, UserError
from ibpcl.experiments import values
from ibpcl.experiments.cells import Failure
from ibpcl.experiments.config import run_keys
from ibpcl.experiments.report import json_of, text


def tabulate(options, make):
    """Print a line per run as it ends, then the tables that ``make(progress, on_cell, workers)``
    gives.

    Raises
    ------
    TrainingError
        In the end, if some of the runs could not be trained.
    """
    with hired(options) as workers:
        done = make(
            True if options.progress else None, None if options.json else print_cell, workers
        )
    files = [
        "report.html",
        "table.md",
        "table.json",
        "values.csv",
        *(f"{name}.png" for name in done.summary.pictures),
    ]
    print(
        json_of(done)
        if options.json
        else f"{text(done)}\n\nwritten to {done.folder}: {', '.join(files)}"
    )
    if done.failures:
        tables = "table is" if options.command == "compare" else "tables are"
        raise TrainingError(
            f"{len(done.failures)} of the runs could not be trained; the {tables} without them"
        )


def print_cell(outcome):
    """Print how a run ended, above the progress bar."""
    if isinstance(outcome, Failure):
        tqdm.write(f"{outcome.cell}: {outcome.reason}")
    else:
        values = outcome.values
        seconds = outcome.values["seconds"]["total"]
        found = (
            f"{values['average_log_likelihood']:.2f} nats per image"
            if outcome.cell.config.generative
            else f"{100 * values['average_accuracy']:.2f} %"
        )
        tqdm.write(f"{outcome.cell}: {found} in {seconds:.1f} s")


def assignments(given):
    """Return KEY=VALUE texts as a dict.

    Raises
    ------
    UserError
        If one has another form.
    """
    texts = {}
    for assignment in given:
        key, equals, text = assignment.partition("=")
        if not equals or not key.strip():
            raise UserError(f"--set takes KEY=VALUE, got {assignment!r}")
        texts[key.strip()] = text
    return texts


def target(options, texts):
    """Return the experiment that a command is about, or the own tasks of ``--data``; ``texts``
    loses its classes.

    Raises
    ------
    UserError
        If both are given, or neither, or the data make no tasks.
    """
    if options.data is None:
        if options.experiment is None:
            raise UserError("name an EXPERIMENT (see `ibpcl run --list`), or own data with --data")
        return options.experiment
    if options.experiment is not None:
        raise UserError(f"--data takes the place of EXPERIMENT, got {options.experiment} too")
    kind = run_keys()["classes"].kind
    classes = values.parse("classes", texts.pop("classes"), kind) if "classes" in texts else None
    try:
        return read_tasks(options.data, classes)
    except DataError as error:
        raise UserError(f"--data: {error}") from error


def listed(text):
    """Return the names of a list with commas; None if it was not given."""
    return None if text is None else tuple(name.strip() for name in text.split(",") if name.strip())


@contextlib.contextmanager
def hired(options):
    """Give the workers that the command line asks for to a ``with``, or None; say where to look at
    them.

    Raises
    ------
    UserError
        If they cannot be had.
    """
    if options.workers is options.scheduler is None:
        if options.threads is not None:
            raise UserError("--threads is for each worker: it goes with --workers or --scheduler")
        yield None
        return
    from ibpcl.experiments import cluster

    with (
        cluster.local(options.workers, options.threads)
        if options.scheduler is None
        else cluster.remote(options.scheduler, options.threads)
    ) as (workers, dashboard):
        if not options.json:
            tqdm.write(f"{workers.count()} workers; Dask's dashboard: {dashboard}")
        yield workers


def data_dir(options):
    """Return the folder of the image files, such that workers that were started elsewhere find it
    too.
    """
    if options.scheduler is None:
        return options.data_dir
    where = options.data_dir or os.environ.get("IBPCL_DATA")
    return where and str(Path(where).absolute())
