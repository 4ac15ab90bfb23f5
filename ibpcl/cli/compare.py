"""The command ``ibpcl compare``: print one line per finished run, then the table."""

from functools import partial

from ibpcl.cli.making_runs import assignments, data_dir, listed, tabulate, target
from ibpcl.experiments import compare as comparison
from ibpcl.experiments.choice import Choice
from ibpcl.experiments.report import duration


def execute(options):
    """Compare methods, or print the size of the comparison with ``--dry-run``.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl compare``.
    """
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
        tabulate(options, partial(comparison.compare, experiment, methods, choice))
        return
    runs, done, seconds = comparison.forecast(experiment, methods, choice)
    print(
        f"{runs} runs ({len(methods)} methods, {choice.seeds} seeds), {done} of them finished; "
        f"the others take about {duration(seconds)} on a machine with two cores"
    )
