"""Few labels per task: M2 beside references that use the same labelled images."""

from ibpcl.experiments import findings
from ibpcl.experiments.benchmarks import Row
from ibpcl.experiments.findings import Summary
from ibpcl.experiments.tables import PERCENT, POINTS, SECONDS, Table
from ibpcl.paper.reproduce import measures
from ibpcl.paper.reproduce.rows import target

LABELS = (1, 10, 100)  # labelled images of each class in a task
METHODS = {
    "m2": ("M2", "m2"),
    "nearest": ("nearest code", "ibpcl.methods.few_labels:Nearest"),
    "supervised": ("labelled images only", "ibpcl.methods.few_labels:Supervised"),
}
ROWS = tuple(
    Row(f"{key}-{labels}", f"{label}, {labels} per class", method, {"labels": labels})
    for labels in LABELS
    for key, (label, method) in METHODS.items()
)
COLUMNS = (
    ("accuracy", findings.final_accuracy, PERCENT),
    ("transfer", findings.backward_transfer, POINTS),
    ("training", measures.train_seconds, SECONDS),
)


@target(("split-mnist", "split-fashion-mnist"), lambda quick: ROWS)
def few_labels(results):
    """Compare learners that know few labels of each task."""
    tables = [
        Table(
            f"{b.label}: few labels",
            tuple(
                results.entry(row, b, number, column, unit)
                for row in results.rows_on(b)
                for column, number, unit in COLUMNS
            ),
        )
        for b in results.benchmarks
    ]
    return Summary(
        tuple(tables),
        (
            "All rows of a seed have the same labelled images. M2 and the nearest code also see "
            "the other images, without labels.",
        ),
        {},
    )
