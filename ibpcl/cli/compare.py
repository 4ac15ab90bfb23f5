"""``ibpcl compare``: a line a run as it ends, then the table."""

import numpy as np

from ibpcl.cli.runs import assignments, listed, print_cell
from ibpcl.errors import TrainingError
from ibpcl.experiments.choice import Choice
from ibpcl.experiments.compare import compare, spread
from ibpcl.experiments.config import able
from ibpcl.experiments.report import text


def execute(options):
    """Compare what the command line says."""
    methods = listed(options.methods) if options.methods is not None else tuple(able(options.experiment))
    choice = Choice(options.seeds, assignments=spread(assignments(options.assignments), methods),
                    data_dir=options.data_dir, out=options.out, tuned=options.tuned)
    # An overflow is about to stop a run with a message that says more than NumPy's warning.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        done = compare(options.experiment, methods, choice, True if options.progress else None, print_cell)
    print(f"{text(done)}\n\nwritten to {done.folder}: table.md, table.json, curves.png")
    if done.failures:
        raise TrainingError(f"{len(done.failures)} of the runs could not be trained; the table is without them")
