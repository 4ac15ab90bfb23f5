"""Forward transfer by a linear classifier on the representation of further tasks (supplement F.2).

The learner after its last task meets further tasks of its stream, so no checkpoint is needed: three
more permutations, or the last two pairs of digits after it has learned the first three.  The paper
proposes the measure "after each subsequent tasks": a second target learns the first 1, 2, ... tasks
in separate runs, and meets the same further tasks.
"""

import numpy as np

from ibpcl.experiments.benchmarks import BENCHMARKS
from ibpcl.experiments.findings import Summary
from ibpcl.experiments.tables import PERCENT, POINTS, Entry, Table
from ibpcl.paper.reproduce import measures, pictures
from ibpcl.paper.reproduce.rows import REFERENCE, method_rows, target

# Numbers of training images of the classifier: few, where the representation matters, and many.
EXAMPLES = (100, 10_000)


def with_representation():
    """Return the rows of methods whose network has one representation of an image.

    A coreset refines copies of the posterior for predictions, not the representation.  M2 has one
    representation per image and class.
    """
    return [
        row
        for row in method_rows(REFERENCE)
        if "coreset" not in row.settings and row.method != "m2"
    ]


@target(
    ("probe-mnist", "probe-permuted-mnist"),
    lambda quick: with_representation(),
    family="probe",
)
def linear_probe(results):
    """Compare a linear classifier on learned and on untrained representations, and on pixels."""
    tables = []
    drawn = []
    for b in results.benchmarks:
        for examples in EXAMPLES:
            entries = []
            for row in results.rows_on(b):
                found = [measures.probe_accuracy(m, examples) for m in results.of(row, b)]
                learned, untrained, same_masks, pixels = zip(*found, strict=True)
                columns = {
                    "learned": (learned, PERCENT),
                    "untrained": (untrained, PERCENT),
                    "pixels": (pixels, PERCENT),
                    "FWT": (_difference(learned, untrained), POINTS),
                    "same masks": (same_masks, PERCENT),
                    "FWT, same masks": (_difference(learned, same_masks), POINTS),
                    "over pixels": (_difference(learned, pixels), POINTS),
                }
                entries += [
                    Entry(row.label, column, values, unit)
                    for column, (values, unit) in columns.items()
                ]
            tables.append(
                Table(f"{b.label}: linear classifier on {examples} images", tuple(entries))
            )
            if examples == EXAMPLES[0]:
                drawn += [
                    entry._replace(column=b.label) for entry in entries if entry.column == "FWT"
                ]
    return Summary(
        tuple(tables),
        (
            "Test accuracy, in percent, of softmax regression on the last hidden layer, trained to "
            "convergence on at most so many images of a task that the learner has not seen. Mean "
            "over the further tasks of the stream: three permutations, or two pairs of classes "
            "after the first three. Weights are on that any learned task uses.",
            "Untrained: the network before its training, with NPBCL's masks open. FWT is the "
            "difference from it in points, seed by seed. Same masks: the untrained network with "
            "only those weights on that any learned task of NPBCL uses; FWT, same masks, is the "
            "difference from that, which masks do not blur. Over pixels is the difference from the "
            "classifier on the inputs. Independent networks show the last task's network. The "
            "paper proposes this measure (supplement F.2) and reports no numbers.",
        ),
        {"linear-probe": pictures.compared(results, drawn, 22)},
    )


@target(
    tuple(name for name, b in BENCHMARKS.items() if b.family == "probe" and "mnist" in name),
    lambda quick: with_representation(),
    family="probe",
    shown=("naive", "vcl", "npbcl", "independent"),
)
def probe_over_tasks(results):
    """Compare the linear classifier after each number of learned tasks."""
    tables = []
    labels = list(dict.fromkeys(b.label for b in results.benchmarks))
    axes = pictures.panels(len(labels))
    for ax, label in zip(axes, labels, strict=True):
        stages = {
            results.first(b).cell.config.tasks: b for b in results.benchmarks if b.label == label
        }
        for examples in EXAMPLES:
            entries = [
                Entry(row, f"{tasks} learned", values, POINTS)
                for tasks in sorted(stages)
                for row, values in _transfers(results, stages[tasks], examples).items()
            ]
            tables.append(
                Table(f"{label}: transfer to further tasks, {examples} images", tuple(entries))
            )
            if examples == EXAMPLES[0]:
                draw(entries, sorted(stages), ax, label)
    pictures.one_legend(axes)
    return Summary(
        tuple(tables),
        (
            "Test accuracy of softmax regression on the last hidden layer after 1, 2, ... learned "
            "tasks, minus that on the untrained network, in points, seed by seed. The further "
            "tasks are the same in all columns: two pairs of classes, or three permutations. Same "
            "masks: the untrained network has the masks of the learned one.",
        ),
        {"probe-over-tasks": axes},
    )


def draw(entries, stages, ax, title):
    """Draw a line per row over the numbers of learned tasks; a table so far may lack values.

    Parameters
    ----------
    entries : sequence of ibpcl.experiments.tables.Entry
        Transfers in points; a column such as "2 learned" for each number of tasks.
    stages : sequence of int
        The numbers of learned tasks.
    ax : matplotlib.axes.Axes
    title : str
    """
    seeds = max(len(entry.values) for entry in entries)
    lines = {entry.row: np.full((seeds, len(stages)), np.nan) for entry in entries}
    for entry in entries:
        column = [f"{tasks} learned" for tasks in stages].index(entry.column)
        lines[entry.row][: len(entry.values), column] = entry.values
    pictures.bands(lines, ax, stages, "tasks learned", "transfer (points)", title, percent=False)


def _transfers(results, benchmark, examples):
    """Return, by label, the difference from the untrained network for each seed."""
    found = {}
    for row in results.rows_on(benchmark):
        measured = [measures.probe_accuracy(m, examples) for m in results.of(row, benchmark)]
        learned, untrained, same_masks, _ = zip(*measured, strict=True)
        found[row.label] = _difference(learned, untrained)
        if same_masks != untrained:
            found[f"{row.label}, same masks"] = _difference(learned, same_masks)
    return found


def _difference(values, others):
    return tuple(value - other for value, other in zip(values, others, strict=True))
