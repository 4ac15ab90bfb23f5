"""Seeds that also draw the order of the tasks, or their permutations, beside the published ones.

In all other tables, a seed changes the learner alone: every seed learns the same tasks in the same
order.  Here the same methods learn pairs of classes in an order, and permutations of pixels, that
the seed draws, so the standard deviation over seeds also has the part of the tasks.
"""

from ibpcl.experiments import findings
from ibpcl.experiments.findings import Summary
from ibpcl.experiments.tables import PERCENT, POINTS, Table
from ibpcl.paper.reproduce import pictures
from ibpcl.paper.reproduce.rows import FOUR, REFERENCE, method_rows, target

MEASURES = (
    ("final mean accuracy, percent", findings.final_accuracy, PERCENT),
    ("backward transfer, points", findings.backward_transfer, POINTS),
)
COLUMNS = {"task": "published", "shuffled": "drawn"}


@target(
    FOUR,
    lambda quick: method_rows(REFERENCE),
    shown=("npbcl", "vcl", "ewc"),
    also=("shuffled",),
)
def orders(results):
    """Compare seeds of the learner alone with seeds that draw the order of the tasks, too."""
    labels = dict.fromkeys(b.label for b in results.benchmarks)
    tables = [
        Table(f"{label}: {name}", tuple(_entries(results, label, number, unit)))
        for name, number, unit in MEASURES
        for label in labels
    ]
    axes = pictures.panels(len(labels), height=26 + 4 * len(results.rows))
    for ax, label, table in zip(axes, labels, tables, strict=False):
        pictures.compare(table.entries, ax, label)
    pictures.one_legend(axes)
    return Summary(
        tuple(tables),
        (
            "Published: every seed learns the same tasks in the same order, and changes only the "
            "learner. Drawn: the seed also draws the order of the pairs of classes, or the "
            "permutations of the pixels.",
            "The standard deviation of the column drawn has both parts. One head per task.",
        ),
        {"orders": axes},
    )


def _entries(results, label, number, unit):
    """Return the entries of one data set, with a column for each kind of order."""
    return [
        results.entry(row, b, number, COLUMNS[b.family], unit)
        for row in results.rows
        for b in results.benchmarks
        if b.label == label and b.family in COLUMNS and results.of(row, b)
    ]
