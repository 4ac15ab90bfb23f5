"""``ibpcl reproduce``: a line per run as it ends, then the tables."""

from ibpcl.cli.runs import assignments, listed, print_cell
from ibpcl.cli.workers import data_dir, hired
from ibpcl.errors import TrainingError
from ibpcl.experiments.choice import Choice
from ibpcl.experiments.report import json_of, text
from ibpcl.paper.reproduce import GENERATIVE_TARGETS
from ibpcl.paper.reproduce.target import reproduce


def execute(options):
    """Reproduce what the command line says."""
    ours = "vae_npbcl" if options.target in GENERATIVE_TARGETS else "npbcl"
    choice = Choice(options.seeds, options.quick, options.preset, assignments(options.assignments), data_dir(options),
                    options.out, listed(options.datasets), listed(options.methods), options.tuned, ours)
    with hired(options) as workers:
        done = reproduce(options.target, choice, True if options.progress else None,
                         None if options.json else print_cell, workers)
    written = ", ".join(["report.html", "table.md", "table.json", "values.csv",
                         *(f"{name}.png" for name in done.summary.pictures)])
    print(json_of(done) if options.json else f"{text(done)}\n\nwritten to {done.folder}: {written}")
    if done.failures:
        raise TrainingError(f"{len(done.failures)} of the runs could not be trained; the tables are without them")
