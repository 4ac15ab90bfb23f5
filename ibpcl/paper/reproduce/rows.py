"""The type of a target, and the rows and benchmarks of the paper's tables and figures."""

from collections.abc import Callable
from typing import NamedTuple

from ibpcl.experiments.benchmarks import Row
from ibpcl.experiments.config import keys
from ibpcl.methods import METHODS
from ibpcl.methods.npbcl_settings import IMAGE_PRESETS

FOUR = ("split-mnist", "split-notmnist", "permuted-mnist", "split-fashion-mnist")
ONE_HEAD = ("permuted-mnist-10-domain", "domain-mnist")
OURS = Row("npbcl", "ours", "npbcl")
# The settings that the common search found for ours (``--tuned``). The default comes from other
# searches.
OURS_SEARCHED = Row("npbcl-searched", "ours, same search", "npbcl")
OURS_CORESET = Row("npbcl-coreset", "ours, coreset", "npbcl", {"coreset": "random"})
OURS_K_CENTER = Row("npbcl-k-center", "ours, k-center coreset", "npbcl", {"coreset": "k_center"})
VCL = Row("vcl", "VCL", "vcl")
# VCL's authors store 40 examples per task on Split MNIST, which is the default, and 200 on Permuted
# MNIST (run_permuted.py of nvcuong/variational-continual-learning).
PERMUTED = {name: {"coreset_size": 200} for name in ("permuted-mnist", "permuted-mnist-30")}
VCL_CORESET = Row("vcl-coreset", "VCL, coreset", "vcl", {"coreset": "random"}, PERMUTED)
VCL_K_CENTER = Row(
    "vcl-k-center", "VCL, k-center coreset", "vcl", {"coreset": "k_center"}, PERMUTED
)
REFERENCE = Row("independent", "independent", "independent")
REFERENCE_HE = Row("independent-he", "independent, He", "independent", {"start": "he"})
# Ours without anything that tasks could share: a fresh network for each task.
OURS_FRESH = Row(
    "npbcl-independent",
    "ours, one per task",
    "ibpcl.methods.npbcl_independent:IndependentNPBCL",
)
# Exact Bayes, on features that do not learn.
EXACT = Row(
    "random-features",
    "exact, random features",
    "ibpcl.exact.random_features:RandomFeatures",
)
# The widths that the paper states for DEN and RCL (supplement B.1). All other rows have one layer
# of 200 units.
TWO_LAYERS = (
    Row("den-256-128", "DEN, 256-128", "den", {"hidden": (256, 128)}),
    Row("rcl-256-128", "RCL, 256-128", "rcl", {"hidden": (256, 128)}),
)
# The rows of the paper's table, in its order.
OTHERS = (
    Row("naive", "naive", "naive"),
    Row("rehearsal", "rehearsal", "rehearsal"),
    Row("ewc", "EWC", "ewc"),
    Row("imm", "IMM (mode)", "imm"),
    VCL,
    VCL_CORESET,
    Row("den", "DEN", "den"),
    Row("rcl", "RCL", "rcl"),
)

# Labels of methods that are not in the paper's table.
LABELS = {
    "agem": "A-GEM",
    "gem": "GEM",
    "si": "SI",
    "laplace": "online Laplace",
    "gvcl": "GVCL",
    "hat": "HAT",
    "ibp_vcl": "IBP-VCL",
    "bgd": "BGD",
    "replay": "generative replay",
    "pruning": "pruning",
    "horseshoe": "horseshoe",
    "ivon": "IVON",
    "m2": "M2, few labels",
    "gpm": "GPM",
    "hibp_vcl": "H-IBP-VCL",
    "frcl": "FRCL",
    "claw": "CLAW",
    "kronecker": "Kronecker Laplace",
    "progress": "Progress & Compress",
    "ucb": "UCB",
}

# The rows of the paper's figures of generative models, and ours at the printed settings. The paper
# prints no number of epochs. The preset has as many as ours; the last row has more, because the
# printed rates are small.
AS_PRINTED = Row("paper", "ours, as printed", "vae_npbcl", IMAGE_PRESETS["paper"])
PRINTED_LONGER = Row(
    "paper-50",
    "ours, as printed longer",
    "vae_npbcl",
    {**IMAGE_PRESETS["paper"], "epochs": 50, "finetune_epochs": 50},
)
GENERATIVE_ROWS = (
    Row("naive", "naive", "vae_naive"),
    Row("ewc", "EWC", "vae_ewc"),
    Row("vcl", "VCL", "vae_vcl"),
    Row("npbcl", "ours", "vae_npbcl"),
    AS_PRINTED,
    PRINTED_LONGER,
)


class Target(NamedTuple):
    """A table or figure of the paper.

    Attributes
    ----------
    benchmarks : tuple of str
        The benchmarks on which it is measured, unless the user names others.
    rows : callable
        ``rows(quick)`` returns the rows to compare, for a quick or for a full run.
    summarize : callable
        ``summarize(results)`` turns :class:`ibpcl.experiments.findings.Results` into a
        :class:`ibpcl.experiments.findings.Summary`.
    family : str
        The family of the benchmarks: "task", "domain", "blended", "vae", "probe" or "regression".
    shown : tuple of str or None
        The keys of the rows that run unless the user names others; None runs all rows.
    also : tuple of str
        Further families, whose benchmarks with the same images are measured, too.
    """

    benchmarks: tuple
    rows: Callable
    summarize: Callable
    family: str = "task"
    shown: tuple | None = None
    also: tuple = ()


def target(benchmarks, rows, family="task", shown=None, also=()):
    """Turn the decorated function into a :class:`Target`.

    Parameters
    ----------
    benchmarks, rows, family, shown, also
        As in :class:`Target`.

    Returns
    -------
    decorator : callable
        It takes ``summarize`` and returns a :class:`Target`.
    """
    return lambda summarize: Target(benchmarks, rows, summarize, family, shown, also)


def method_rows(*references, unlisted=True):
    """Return the rows of a table of methods.

    Parameters
    ----------
    *references : Row
        Appended at the end.
    unlisted : bool
        Whether to include methods that are not in the paper's table.

    Returns
    -------
    rows : tuple of Row
        Those of the paper's table, other methods, ours without and with a coreset, references.
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
