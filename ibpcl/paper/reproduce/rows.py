"""What a target is, and the rows and benchmarks of the paper's tables and figures."""

from collections.abc import Callable
from typing import NamedTuple

from ibpcl.experiments.benchmarks import Row
from ibpcl.experiments.config import keys
from ibpcl.methods import METHODS

FOUR = ("split-mnist", "split-notmnist", "permuted-mnist", "split-fashion-mnist")
ONE_HEAD = ("permuted-mnist-10-domain", "domain-mnist")
OURS = Row("npbcl", "ours", "npbcl")
# What the search of all methods found for ours (``--tuned``); its default comes from searches of
# its own.
OURS_SEARCHED = Row("npbcl-searched", "ours, same search", "npbcl")
OURS_CORESET = Row("npbcl-coreset", "ours, coreset", "npbcl", {"coreset": "random"})
REFERENCE = Row("independent", "independent", "independent")
REFERENCE_HE = Row("independent-he", "independent, He", "independent", {"start": "he"})
# The rows of the paper's table, in its order; a method is measured when it is there.
OTHERS = (
    Row("naive", "naive", "naive"),
    Row("rehearsal", "rehearsal", "rehearsal"),
    Row("ewc", "EWC", "ewc"),
    Row("imm", "IMM (mode)", "imm"),
    Row("vcl", "VCL", "vcl"),
    Row("vcl-coreset", "VCL, coreset", "vcl", {"coreset": "random"}),
    Row("den", "DEN", "den"),
    Row("rcl", "RCL", "rcl"),
)

# How people write the names of methods that the paper's table does not have.
LABELS = {"si": "SI", "laplace": "online Laplace", "hat": "HAT", "ibp_vcl": "IBP-VCL"}

# The rows of the paper's figures of generative models.
GENERATIVE_ROWS = (
    Row("naive", "naive", "vae_naive"),
    Row("ewc", "EWC", "vae_ewc"),
    Row("vcl", "VCL", "vae_vcl"),
    Row("npbcl", "ours", "vae_npbcl"),
)


class Target(NamedTuple):
    """A table or figure of the paper.

    Attributes
    ----------
    benchmarks : tuple of str
        On which it is measured, if the user names no others.
    rows : callable
        ``rows(quick)`` returns what is compared, for a quick look or for the whole.
    summarize : callable
        ``summarize(found)`` makes a :class:`ibpcl.experiments.findings.Summary` of what the cells
        gave.
    family : str
        Of the benchmarks.
    """

    benchmarks: tuple
    rows: Callable
    summarize: Callable
    family: str = "task"


def target(benchmarks, rows, family="task"):
    """Make a :class:`Target` of the function below, which summarizes its cells."""
    return lambda summarize: Target(benchmarks, rows, summarize, family)


def method_rows(*references, unlisted=True):
    """Return a row for every method there is: the paper's table, others unless not ``unlisted``,
    ours, references.
    """
    listed = {row.method for row in (*OTHERS, OURS, REFERENCE)}
    others = [
        row
        for row in OTHERS
        if row.method in METHODS and row.settings.keys() <= keys(row.method).keys()
    ]
    more = [
        Row(name, LABELS.get(name, name), name)
        for name in METHODS
        if name not in listed and unlisted
    ]
    return (*others, *more, OURS, OURS_CORESET, *references)
