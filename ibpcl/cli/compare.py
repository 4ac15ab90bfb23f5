"""``ibpcl compare``: a line per run as it ends, then the table."""

from functools import partial

from ibpcl.cli.making_runs import assignments, data_dir, listed, tabulate, target
from ibpcl.experiments import compare as comparison
from ibpcl.experiments.choice import Choice
from ibpcl.experiments.report import duration


def execute(options):
    """Compare what the command line says."""
    texts = assignments(options.assignments)
    experiment = target(options, texts)
    methods = (
        listed(options.methods)
        if options.methods is not None
        else tuple(comparison.able(experiment))
    )
    choice = Choice(
        options.seeds,
        assignments=comparison.spread(texts, methods),
        data_dir=data_dir(options),
        out=options.out,
        tuned=options.tuned,
    )
    if not options.dry_run:
        return tabulate(options, partial(comparison.compare, experiment, methods, choice))
    runs, there, seconds = comparison.forecast(experiment, methods, choice)
    print(
        f"{runs} runs of {len(methods)} methods with {choice.seeds} seeds, {there} of them "
        f"finished; the others take about {duration(seconds)} on a machine with two cores"
    )
