"""What the commands that make many runs have in common: their arguments, and a line per run."""

from tqdm import tqdm

from ibpcl.data.dataset import DataError
from ibpcl.data.own import read_tasks
from ibpcl.errors import UserError
from ibpcl.experiments import values
from ibpcl.experiments.cells import Failure
from ibpcl.experiments.config import run_keys


def print_cell(outcome):
    """Print how a run ended, above the progress bar."""
    if isinstance(outcome, Failure):
        tqdm.write(f"{outcome.cell}: {outcome.reason}")
    else:
        values, seconds = outcome.values, outcome.values["seconds"]["total"]
        found = (f"{values['average_log_likelihood']:.2f} nats per image" if outcome.cell.config.generative
                 else f"{100 * values['average_accuracy']:.2f} %")
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
    """Return the experiment that a command is about, or the own tasks of ``--data``; ``texts`` loses its classes.

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
