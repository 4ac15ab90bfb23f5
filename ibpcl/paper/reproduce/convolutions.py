"""A target beyond the paper: a network of convolutions beside a dense one of the same size.

Kumar et al. (2021), Sec. 7, name convolutional networks as future work.
"""

from ibpcl.experiments import findings
from ibpcl.experiments.benchmarks import Row
from ibpcl.experiments.findings import Summary
from ibpcl.experiments.tables import Table
from ibpcl.paper.reproduce import measures, pictures
from ibpcl.paper.reproduce.rows import target
from ibpcl.paper.reproduce.scenarios import DOMAIN, INFERRED, final_without_task, without_task

LINE = "conv:16,32;dense:200"
# Units of one dense layer with as many weights in front of the head, for images of 28 x 28: 318,304
# and 318,352.
UNITS = 406
# Standard deviation of the weights before the first step. The default was found for dense networks;
# with it, convolutions hardly learn the first task of permuted MNIST from 12,000 images.
START = 0.03
SMALLER = {"start_sigma": START}
STREAMS = ("split-notmnist", "split-fashion-mnist", "permuted-mnist")
NETWORKS = (
    ("dense", "dense", {"hidden": (UNITS,)}),
    ("conv", "convolutions", {"network": LINE}),
)
METHODS = (
    ("npbcl", "ours"),
    ("naive", "naive"),
    ("ewc", "EWC"),
    ("vcl", "VCL"),
    ("rehearsal", "rehearsal"),
)
ROWS = (
    *(
        Row(f"{method}-{key}", f"{label}, {words}", method, settings)
        for method, label in METHODS
        for key, words, settings in NETWORKS
    ),
    *(
        Row(f"npbcl-{key}-start", f"ours, {words}, smaller start", "npbcl", network | SMALLER)
        for key, words, network in NETWORKS
    ),
)
SHOWN = (
    "npbcl-dense",
    "npbcl-dense-start",
    "npbcl-conv",
    "npbcl-conv-start",
    "ewc-dense",
    "ewc-conv",
    "rehearsal-dense",
    "rehearsal-conv",
)
NOTES = (
    f"Convolutions: {LINE}. Dense: one layer of {UNITS} units, which has as many weights in front "
    "of the head. All other settings of a method are its defaults, which were chosen for dense "
    f"networks. Smaller start: the standard deviation of a weight begins at {START}.",
    "Task, domain, class, and class with an inferred task are the scenarios of `ibpcl reproduce "
    "scenarios`. All tasks of permuted MNIST have the same ten classes, so there is no softmax "
    "over the classes of all tasks. A permutation of the pixels destroys what a convolution is "
    "made for: neighbouring pixels are no longer alike.",
)


@target(STREAMS, lambda quick: ROWS, shown=SHOWN, also=("domain", "class"))
def convolutions(results):
    """Compare a network of convolutions with a dense one, in all scenarios."""
    of_images = {}
    for b in results.benchmarks:
        # split-notmnist, domain-notmnist and class-notmnist; permuted-mnist, domain-permuted-mnist
        images = b.name if b.name.startswith("permuted") else b.name.partition("-")[2]
        of_images.setdefault(images, {})[b.family] = b
    tables = []
    for families in of_images.values():
        entries = []
        for row in results.rows:
            for family, column, number in (
                ("task", "task", findings.final_accuracy),
                ("domain", DOMAIN, final_without_task),
                ("class", "class", findings.final_accuracy),
                ("task", INFERRED, without_task),
            ):
                b = families.get(family)
                if b and results.of(row, b):
                    entries.append(results.entry(row, b, number, column))
            domain = families.get("domain")
            if domain and any(map(measures.has_masks, results.of(row, domain))):
                entries.append(
                    results.entry(
                        row,
                        domain,
                        findings.final_accuracy,
                        DOMAIN,
                        label=measures.mask_known(row),
                    )
                )
        if entries:
            label = next(iter(families.values())).label
            label = families["task"].label if "task" in families else label
            tables.append(Table(f"{label}: final accuracy, percent", tuple(entries), "method"))
    axes = pictures.panels(max(1, len(tables)), height=26 + 4 * len(results.rows))
    for ax, table in zip(axes, tables, strict=False):
        pictures.compare(table.entries, ax, table.title.partition(":")[0])
    pictures.one_legend(axes)
    return Summary(tuple(tables), NOTES, {"convolutions": axes})
