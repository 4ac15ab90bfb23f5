"""Shared parts of the commands that make many runs: arguments, workers, and printing of results."""

import contextlib
import os
from pathlib import Path

from tqdm import tqdm

from ibpcl import console
from ibpcl.data.dataset import DataError
from ibpcl.data.own import read_tasks
from ibpcl.errors import TrainingError, UserError
from ibpcl.experiments import values
from ibpcl.experiments.cells import Failure
from ibpcl.experiments.config import run_keys
from ibpcl.experiments.report import json_of, text


def tabulate(options, make):
    """Run a comparison; print one line per finished run, then the tables.

    Parameters
    ----------
    options : argparse.Namespace
        The options of the command.
    make : callable
        ``make(progress, on_cell, workers)`` returns a :class:`ibpcl.experiments.report.Report`.

    Raises
    ------
    TrainingError
        At the end, if the training of some runs failed.
    """
    new = []

    def on_cell(outcome):
        new.append(outcome)
        if not options.json:
            print_cell(outcome)

    with hired(options) as workers:
        done = make(True if options.progress else None, on_cell, workers)
    if not new:
        console.tell("ibpcl: nothing was trained: all runs were finished already")
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
        number = f"{len(done.failures)} run{'s' if len(done.failures) > 1 else ''}"
        raise TrainingError(f"the training of {number} failed; the results are without them")


def print_cell(outcome):
    """Print the result of a run, above the progress bar.

    Parameters
    ----------
    outcome : ibpcl.experiments.cells.Measured or ibpcl.experiments.cells.Failure
        The run.
    """
    if isinstance(outcome, Failure):
        tqdm.write(f"{outcome.cell}: {outcome.reason}")
    else:
        values = outcome.values
        seconds = outcome.values["seconds"]["total"]
        result = (
            f"{values['average_log_likelihood']:.2f} nats per image"
            if outcome.cell.config.generative
            else f"{100 * values['average_accuracy']:.2f} %"
        )
        tqdm.write(f"{outcome.cell}: {result} in {seconds:.1f} s")


def assignments(given):
    """Return KEY=VALUE texts as a dict.

    Parameters
    ----------
    given : sequence of str
        The arguments of ``--set``.

    Returns
    -------
    texts : dict of str to str
        Keys with values as text.

    Raises
    ------
    UserError
        If a text is not KEY=VALUE.
    """
    texts = {}
    for assignment in given:
        key, equals, text = assignment.partition("=")
        if not equals or not key.strip():
            raise UserError(f"--set takes KEY=VALUE, got {assignment!r}")
        texts[key.strip()] = text
    return texts


def target(options, texts):
    """Return the experiment of a command, or the user's own tasks from ``--data``.

    Parameters
    ----------
    options : argparse.Namespace
        The options of the command.
    texts : dict of str to str
        The keys of ``--set``; ``classes`` is removed, because it describes the data.

    Returns
    -------
    target : str or ibpcl.data.own.OwnTasks
        The name of the experiment, its TOML file, or the tasks.

    Raises
    ------
    UserError
        If both or none are given, or the data cannot be used.
    """
    if options.data is None:
        if options.experiment is None:
            raise UserError(
                "name an EXPERIMENT (`ibpcl run --list` lists them), or your own data by --data"
            )
        return options.experiment
    if options.experiment is not None:
        raise UserError(f"give EXPERIMENT or --data, not both; got {options.experiment} and --data")
    kind = run_keys()["classes"].kind
    classes = values.parse("classes", texts.pop("classes"), kind) if "classes" in texts else None
    try:
        return read_tasks(options.data, classes)
    except DataError as error:
        raise UserError(f"--data: {error}") from error


def listed(text):
    """Return the names in a comma-separated list.

    Parameters
    ----------
    text : str or None
        The list.

    Returns
    -------
    names : tuple of str, or None
        None if no list was given.
    """
    return None if text is None else tuple(name.strip() for name in text.split(",") if name.strip())


@contextlib.contextmanager
def hired(options):
    """Start or find the workers that the command line names, for a ``with`` block.

    Parameters
    ----------
    options : argparse.Namespace
        The options of the command.

    Yields
    ------
    workers : ibpcl.experiments.sweep.Workers or None
        None if this process does the runs.

    Raises
    ------
    UserError
        If the workers cannot be started or reached.
    """
    if options.workers is options.scheduler is None:
        if options.threads is not None:
            raise UserError(
                "--threads needs --workers or --scheduler: it sets the threads of each worker"
            )
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
    """Return the folder of the image files, as an absolute path if workers were started elsewhere.

    Parameters
    ----------
    options : argparse.Namespace
        The options of the command.

    Returns
    -------
    folder : str or None
        None if no folder is given.
    """
    if options.scheduler is None:
        return options.data_dir
    where = options.data_dir or os.environ.get("IBPCL_DATA")
    return where and str(Path(where).absolute())
