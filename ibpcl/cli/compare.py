"""``ibpcl compare``: a line per run as it ends, then the table."""

from ibpcl.cli.runs import assignments, listed, print_cell, target
from ibpcl.cli.workers import data_dir, hired
from ibpcl.errors import TrainingError
from ibpcl.experiments import compare as comparison
from ibpcl.experiments.choice import Choice
from ibpcl.experiments.report import duration, json_of, text


def execute(options):
    """Compare what the command line says."""
    texts = assignments(options.assignments)
    experiment = target(options, texts)
    methods = listed(options.methods) if options.methods is not None else tuple(comparison.able(experiment))
    choice = Choice(options.seeds, assignments=comparison.spread(texts, methods), data_dir=data_dir(options),
                    out=options.out, tuned=options.tuned)
    if options.dry_run:
        runs, there, seconds = comparison.forecast(experiment, methods, choice)
        print(f"{runs} runs of {len(methods)} methods with {choice.seeds} seeds, {there} of them finished; the others "
              f"take about {duration(seconds)} on a machine with two cores")
        return
    with hired(options) as workers:
        done = comparison.compare(experiment, methods, choice, True if options.progress else None,
                                  None if options.json else print_cell, workers)
    print(json_of(done) if options.json else
          f"{text(done)}\n\nwritten to {done.folder}: report.html, table.md, table.json, values.csv, curves.png")
    if done.failures:
        raise TrainingError(f"{len(done.failures)} of the runs could not be trained; the table is without them")
