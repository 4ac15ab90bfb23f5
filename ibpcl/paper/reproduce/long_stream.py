"""Thirty permutations: accuracy and free weights after more than the paper's five tasks."""

import numpy as np

from ibpcl.evaluation import metrics
from ibpcl.experiments import findings
from ibpcl.experiments.benchmarks import Row
from ibpcl.experiments.findings import Summary
from ibpcl.experiments.tables import COUNT, PERCENT, POINTS, SHARE, Entry, Table
from ibpcl.paper import numbers as paper
from ibpcl.paper.reproduce import measures, pictures
from ibpcl.paper.reproduce.rows import OURS, REFERENCE, target

GROWING = Row(
    "npbcl-growing",
    f"ours, from {paper.EXPANDING_UNITS} units",
    "npbcl",
    {"hidden": (paper.EXPANDING_UNITS,), "expand": True},
)
ROWS = (
    OURS,
    GROWING,
    Row("hat", "HAT", "hat"),
    Row("vcl", "VCL", "vcl"),
    Row("ewc", "EWC", "ewc"),
    REFERENCE,
)
# The table has a column after each of these numbers of tasks.
LOOKS = (1, 5, 10, 20, 30)
# Mean accuracy (percent) after 30 permutations in a public continuation of the authors' code,
# results/perm_mnist_30_tasks/permutedmnist_accuracies.npy of the repository.
CONTINUED = 97.82
CONTINUATION = "https://github.com/thapa-jeevan/npbcl"


@target(("permuted-mnist-30",), lambda quick: ROWS)
def long_stream(results):
    """Compare ours, fixed and growing, with other methods on a long stream."""
    tables = []
    axes = pictures.panels(2, height=90)
    for b in results.benchmarks:
        accuracies = []
        shares = []
        matrices = {}
        for row in results.rows_on(b):
            cells = results.of(row, b)
            matrices[row.label] = np.array([findings.matrix(m) for m in cells])
            means = np.array([metrics.average_accuracy_so_far(findings.matrix(m)) for m in cells])
            accuracies += [
                Entry(row.label, f"after {t}", tuple(100 * means[:, t - 1]), PERCENT)
                for t in LOOKS
                if t <= means.shape[1]
            ]
            accuracies.append(results.entry(row, b, findings.backward_transfer, "transfer", POINTS))
            if row.method == "npbcl":
                filled = np.array([measures.filled(m) for m in cells])
                shares += [
                    Entry(row.label, f"after {t}", tuple(filled[:, t - 1]), SHARE)
                    for t in LOOKS
                    if t <= filled.shape[1]
                ]
                shares.append(results.entry(row, b, lambda m: measures.units(m)[0], "units", COUNT))
                pictures.bands(
                    {row.label: filled},
                    axes[1],
                    list(range(1, filled.shape[1] + 1)),
                    "tasks learned",
                    "weights in use (%)",
                    "Network",
                    percent=False,
                )
        tables += [
            Table(f"{b.label}: mean accuracy on the tasks so far, percent", tuple(accuracies)),
            Table(f"{b.label}: weights in use, percent of the network", tuple(shares)),
        ]
        pictures.curves(matrices, axes[0], b.label)
    axes[1].set_xticks(LOOKS)
    pictures.one_legend(axes)
    return Summary(
        tuple(tables),
        (
            (
                f"A public continuation of the authors' code ({CONTINUATION}) reports "
                f"{CONTINUED} % after 30 permutations of all images."
            ),
        ),
        {"long-stream": axes},
    )
