"""``ibpcl reproduce``: a line a run as it ends, then the tables."""

import numpy as np
from tqdm import tqdm

from ibpcl.errors import TrainingError, UserError
from ibpcl.experiments.reproduce import report
from ibpcl.experiments.reproduce.cells import Failure
from ibpcl.experiments.reproduce.choice import Choice
from ibpcl.experiments.reproduce.names import GENERATIVE_TARGETS


def execute(options):
    """Reproduce what the command line says."""
    ours = "vae_npbcl" if options.target in GENERATIVE_TARGETS else "npbcl"
    choice = Choice(options.seeds, options.quick, options.preset, assignments(options.assignments), options.data_dir,
                    options.out, listed(options.datasets), listed(options.methods), options.tuned, ours)
    # An overflow is about to stop a run with a message that says more than NumPy's warning.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        done = report.reproduce(options.target, choice, True if options.progress else None, print_cell)
    print(f"{report.text(done)}\n\nwritten to {done.folder}: table.md, table.json, values.csv, "
          + ", ".join(f"{name}.png" for name in done.summary.pictures))
    if done.failures:
        raise TrainingError(f"{len(done.failures)} of the runs could not be trained; the tables are without them")


def print_cell(outcome):
    """Print how a run ended, above the progress bar."""
    if isinstance(outcome, Failure):
        tqdm.write(f"{outcome.cell}: {outcome.reason}")
    else:
        values, seconds = outcome.values, outcome.values["seconds"]["total"]
        found = (f"{values['average_log_likelihood']:.2f} nats an image" if outcome.cell.config.generative
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


def listed(text):
    """Return the names of a list with commas; None if it was not given."""
    return None if text is None else tuple(name.strip() for name in text.split(",") if name.strip())
