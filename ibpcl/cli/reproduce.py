"""The command ``ibpcl reproduce``: print one line per finished run, then the tables."""

from functools import partial

from ibpcl.cli.making_runs import assignments, data_dir, listed, tabulate
from ibpcl.experiments.choice import Choice
from ibpcl.paper.reproduce import GENERATIVE_TARGETS
from ibpcl.paper.reproduce.target import reproduce


def execute(options):
    """Reproduce a table or figure of the paper.

    Parameters
    ----------
    options : argparse.Namespace
        The options of ``ibpcl reproduce``.
    """
    ours = "vae_npbcl" if options.target in GENERATIVE_TARGETS else "npbcl"
    choice = Choice(
        options.seeds,
        options.quick,
        options.preset,
        assignments(options.assignments),
        data_dir(options),
        options.out,
        listed(options.datasets),
        listed(options.methods),
        options.tuned,
        ours,
    )
    tabulate(options, partial(reproduce, options.target, choice))
