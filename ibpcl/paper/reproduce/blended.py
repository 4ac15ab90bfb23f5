"""Tasks that fade into one another: methods without boundaries, and NPBCL that detects them."""

import math

import numpy as np

from ibpcl.evaluation import figures
from ibpcl.experiments import findings
from ibpcl.experiments.benchmarks import Row
from ibpcl.experiments.findings import Summary
from ibpcl.experiments.tables import COUNT, PERCENT, POINTS, Entry, Table
from ibpcl.paper.reproduce import pictures
from ibpcl.paper.reproduce.rows import target

DETECTING = Row("npbcl", "ours, detecting", "npbcl", {"boundaries": "hidden"})
ROWS = (
    Row("naive", "naive", "naive"),
    Row("bgd", "BGD", "bgd"),
    Row("npbcl-known", "ours, known", "npbcl", {"boundaries": "known"}),
    DETECTING,
)


@target(("blended-permuted-mnist", "blended-mnist"), lambda quick: ROWS, "blended")
def blended(results):
    """Compare accuracies on a blended stream, and count the errors of the detection."""
    tables = []
    axes = pictures.panels(2 * len(results.benchmarks))
    for i, b in enumerate(results.benchmarks):
        rows = results.rows_on(b)
        columns = (
            (findings.final_accuracy, "accuracy", PERCENT),
            (findings.backward_transfer, "transfer", POINTS),
            (inferred_accuracy, "task inferred", PERCENT),
        )
        entries = tuple(results.entry(row, b, *column) for row in rows for column in columns)
        tables.append(Table(f"{b.label}: all test images at the end, percent", entries))
        matrices = {row.label: list(map(findings.matrix, results.of(row, b))) for row in rows}
        pictures.curves(matrices, axes[2 * i], b.label)
        if cells := results.of(DETECTING, b):
            tables.append(Table(f"{b.label}: detection of the tasks", _errors(cells)))
            values = cells[0].values["blended"]
            figures.stream_scores(
                *(values[name] for name in ("scores", "ends", "starts", "alarms")),
                ax=axes[2 * i + 1],
            )
        else:
            axes[2 * i + 1].set_axis_off()
    pictures.one_legend(axes)
    return Summary(
        tuple(tables),
        (
            "Accuracy: NPBCL predicts with the masks of the learned task that was current during "
            "most of the segment of the test image's task. Task inferred: with those of the "
            "learned task of the least entropy for the image. Other methods have no masks.",
            "Starts, false alarms and misses: per run. Delay: minibatches from the first that can "
            "contain the new task to the alarm, mean and longest. An alarm after the middle of a "
            "segment is a false alarm.",
            "The figure shows the scores of the first seed; grey bands are cross-fades.",
        ),
        {"blended": axes},
    )


def inferred_accuracy(m):
    """Return the mean accuracy over tasks if the masks must be inferred, in percent.

    Parameters
    ----------
    m : ibpcl.experiments.cells.Measured
        A finished cell.

    Returns
    -------
    accuracy : float
    """
    return 100 * float(np.mean(m.values["blended"]["accuracy_inferred"]))


def _errors(cells):
    """Return the entries of the detection's errors, one value per seed."""
    values = [m.values["blended"] for m in cells]
    delays = [each["delays"] or [math.nan] for each in values]
    columns = {
        "starts": [len(each["starts"]) for each in values],
        "false alarms": [each["false_alarms"] for each in values],
        "misses": [each["misses"] for each in values],
        "delay": [float(np.mean(each)) for each in delays],
        "longest": [max(each) for each in delays],
    }
    return tuple(
        Entry(DETECTING.label, name, tuple(map(float, numbers)), COUNT)
        for name, numbers in columns.items()
    )
