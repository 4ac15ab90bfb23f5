"""Targets about accuracy: the table of final means, other metrics, curves, each task over time; and
with one head.
"""

import numpy as np

from ibpcl.experiments import findings
from ibpcl.experiments.findings import Summary
from ibpcl.experiments.tables import (
    FINE_POINTS,
    MEGABYTES,
    PERCENT,
    POINTS,
    SECONDS,
    WHOLE,
    Entry,
    Table,
)
from ibpcl.methods import ABOUT
from ibpcl.paper import numbers as paper
from ibpcl.paper.reproduce import differences, measures, pictures
from ibpcl.paper.reproduce.rows import (
    FOUR,
    ONE_HEAD,
    OURS,
    OURS_CORESET,
    REFERENCE,
    REFERENCE_HE,
    method_rows,
    target,
)

# Of the table of what an accuracy took; steps and seconds are those of all tasks.
TOOK = (
    ("accuracy", findings.final_accuracy, PERCENT),
    ("epochs a task", measures.epochs, WHOLE),
    ("steps", measures.steps, WHOLE),
    ("seconds", measures.train_seconds, SECONDS),
    ("stored, MB", findings.stored, MEGABYTES),
)
SHOWN_TASKS = 4  # of the paper's figure of single tasks


@target(
    FOUR,
    lambda quick: (
        method_rows(REFERENCE, unlisted=False) if quick else method_rows(REFERENCE, REFERENCE_HE)
    ),
)
def final(results):
    """Compare final mean accuracies, as the paper's table, and what they took; notMNIST also
    without repeated images.

    A quick look has the paper's rows and one reference; else there are all methods and two
    references.
    """
    entries = []
    notes = []
    for row in results.rows:
        entries += [
            results.entry(
                row, b, findings.final_accuracy, b.label, PERCENT, paper.accuracy(row.key, b.name)
            )
            for b in results.benchmarks
            if results.of(row, b)
        ]
    tables = [Table("Final mean accuracy, percent", tuple(entries), "method")]
    for b in results.benchmarks:
        tables.append(
            Table(
                f"{b.label}: accuracy, percent, and what it took",
                tuple(
                    results.entry(row, b, number, column, unit)
                    for row in results.rows_on(b)
                    for column, number, unit in TOOK
                ),
                "method",
            )
        )
        if b.experiment == "split-notmnist":
            table, note = _without_repeats(results, b)
            tables.append(table)
            notes.append(note)
    notes.append(
        "Epochs and steps are those of training, of RCL with all networks that it tries, without "
        "the steps on coresets before predictions; a step is of a minibatch. Seconds are the "
        "tasks times the median task's, of training, on this machine as busy as it was. Stored "
        "is what is kept after the last task."
    )
    axes = pictures.compared(results, entries, 18)
    if REFERENCE in results.rows or REFERENCE_HE in results.rows:
        notes.append(
            "independent: one plain network a task, nothing shared and nothing forgotten; what a "
            "method gains over it is transfer, or a single task learned better. It has two "
            "starts: the usual uniform one, and He's, which learns faster."
        )
    if OURS_CORESET in results.rows:
        notes.append(f"The paper's statement, {paper.CLAIMS['coreset']}.")
    if any(b.experiment == "split-fashion-mnist" for b in results.benchmarks):
        notes.append(
            "The paper's Fashion MNIST is all images cut anew into 50,000 for training and 20,000 "
            "for "
            "tests (the data set fashion-resplit); here it is as published, 60,000 and 10,000."
        )
    # else they differ for a reason that is known
    if not results.choice.quick:
        notes += differences.notes(results)
    return Summary(tuple(tables), tuple(notes), {"accuracy": axes})


def _without_repeats(results, benchmark):
    entries = []
    for row in results.rows_on(benchmark):
        entries += [
            results.entry(row, benchmark, findings.final_accuracy, "all test images"),
            results.entry(row, benchmark, measures.accuracy_without_repeats, "without"),
        ]
    repeats, blanks = measures.count_repeats(results.first(benchmark).cell.config)
    note = (
        f"{benchmark.label}: {repeats} test images also occur, pixel for pixel, in training, and "
        f"{blanks} are blank; the table shows the accuracy with all and without both."
    )
    return Table(
        f"{benchmark.label} without repeated and blank images, percent", tuple(entries), "method"
    ), note


@target(("permuted-mnist",), lambda quick: method_rows(REFERENCE))
def other_metrics(results):
    """Compare Acc, FWT and BWT on permuted MNIST."""
    tables = []
    shown = []
    for b in results.benchmarks:
        entries = []
        for row in results.rows_on(b):
            known = row.key if b.name == "permuted-mnist" else None
            entries += [
                results.entry(
                    row,
                    b,
                    findings.final_accuracy,
                    "final mean",
                    PERCENT,
                    paper.metric(known, "Acc"),
                ),
                results.entry(row, b, measures.accuracy_over_pairs, "Acc", PERCENT),
                results.entry(
                    row,
                    b,
                    measures.untrained_accuracy,
                    "FWT",
                    PERCENT,
                    paper.metric(known, "FWT", 100),
                ),
                results.entry(
                    row,
                    b,
                    findings.backward_transfer,
                    "BWT",
                    FINE_POINTS,
                    paper.metric(known, "BWT", 100),
                ),
            ]
        shown.append([entry for entry in entries if entry.column == "BWT"])
        tables.append(
            Table(f"{b.label}: Acc and FWT in percent, BWT in points", tuple(entries), "method")
        )
    axes = pictures.panels(len(shown), height=22 + 6 * len(results.rows))
    for ax, entries, b in zip(axes, shown, results.benchmarks, strict=True):
        pictures.compare(entries, ax, f"{b.label}, backward transfer")
    pictures.one_legend(axes)
    return Summary(
        tuple(tables),
        (
            "Acc is the mean over time and tasks, sum of R_ij for i >= j over N (N + 1) / 2. The "
            "paper prints N (N - 1) / 2, by which perfect accuracy on five tasks would score "
            "1.5; its column Acc repeats the final mean accuracies of its other table, so it "
            "stands beside those here.",
            "FWT is the accuracy on tasks not yet learned. With one head a task it is chance, 1 "
            "/ C, by construction: the head is untrained. Measured after the last task on "
            f"{measures.FURTHER} further permutations, with heads that no example has touched; a "
            "dash where the stream has no further tasks or the method cannot.",
            "BWT is the mean change of a task's accuracy since it was learned, over all later "
            "times. The printed BWT "
            "of Naive and its printed accuracies do not fit together: see the errata.",
            *([] if results.choice.quick else differences.notes(results)),
        ),
        {"backward_transfer": axes},
    )


@target(FOUR, lambda quick: method_rows(REFERENCE))
def curves(results):
    """Draw the mean accuracy of the tasks seen so far: where the paper has values, once with these
    and once without.
    """
    tables = []
    drawn = []
    for b in results.benchmarks:
        entries = []
        matrices = {}
        printed = []
        for row in results.rows_on(b):
            cells = results.of(row, b)
            values = np.array([measures.curve(m) for m in cells])
            last = values.shape[1] - 1
            theirs = paper.accuracy(row.key, b.name)
            entries += [
                Entry(
                    row.label,
                    f"{t + 1}",
                    tuple(values[:, t]),
                    PERCENT,
                    theirs if t == last else None,
                )
                for t in range(last + 1)
            ]
            matrices[row.label] = [findings.matrix(m) for m in cells]
            printed += [(row.label, theirs.value)] if theirs is not None else []
        tables.append(
            Table(f"{b.label}: mean accuracy so far, percent, after task", tuple(entries), "method")
        )
        drawn += [(matrices, f"{b.label}, and the paper's values", printed)] * bool(printed)
        drawn.append((matrices, b.label, []))
    axes = pictures.panels(len(drawn))
    for ax, (matrices, title, printed) in zip(axes, drawn, strict=True):
        pictures.curves(matrices, ax, title, printed)
    pictures.one_legend(axes)
    return Summary(
        tuple(tables),
        (
            (
                "The paper shows curves and prints their last values, in its table: hollow "
                "markers at the right edge."
            ),
        ),
        {"curves": axes},
    )


FORGETTING = ("vcl", "vcl-coreset", OURS.key, OURS_CORESET.key, REFERENCE.key)


@target(
    ("permuted-mnist",),
    lambda quick: tuple(row for row in method_rows(REFERENCE) if row.key in FORGETTING),
)
def forgetting(results):
    """Compare the accuracy on each task as newer tasks are learned."""
    tables = []
    drawn = {}
    for b in results.benchmarks:
        matrices = {
            row.label: np.array([100 * findings.matrix(m) for m in results.of(row, b)])
            for row in results.rows_on(b)
        }
        learned = []
        changed = []
        for label, R in matrices.items():
            for j in range(R.shape[1]):
                learned.append(Entry(label, f"task {j + 1}", tuple(R[:, j, j])))
                changed.append(
                    Entry(label, f"task {j + 1}", tuple(R[:, -1, j] - R[:, j, j]), POINTS)
                )
        tables += [
            Table(f"{b.label}: accuracy right after learning, percent", tuple(learned), "method"),
            Table(f"{b.label}: change until the end, points", tuple(changed), "method"),
        ]
        drawn[f"forgetting_{b.name}"] = _task_panels(matrices)
    return Summary(
        tuple(tables),
        (f"The paper's statement, {paper.CLAIMS['forgetting']}. Its figure has no numbers.",),
        drawn,
    )


def _task_panels(matrices):
    T = max(R.shape[1] for R in matrices.values())
    axes = pictures.panels(min(SHOWN_TASKS, max(T - 1, 1)))
    for j, ax in enumerate(axes):
        lines = {label: R[:, j:, j] for label, R in matrices.items()}
        pictures.bands(
            lines, ax, list(range(1, T + 1)), "tasks learned", "test accuracy (%)", f"task {j + 1}"
        )
    pictures.one_legend(axes)
    return axes


@target(
    ONE_HEAD,
    lambda quick: [row for row in method_rows() if "domain" in ABOUT[row.method].can],
    "domain",
)
def domain(results):
    """Compare final mean accuracy and backward transfer with one head, of every method that can
    have one.
    """
    entries = []
    axes = pictures.panels(len(results.benchmarks))
    for row in results.rows:
        for b in results.benchmarks:
            if results.of(row, b):
                entries += [
                    results.entry(row, b, findings.final_accuracy, b.label, PERCENT),
                    results.entry(row, b, findings.backward_transfer, f"{b.label} BWT", POINTS),
                ]
    for ax, b in zip(axes, results.benchmarks, strict=True):
        pictures.curves(
            {
                row.label: [findings.matrix(m) for m in results.of(row, b)]
                for row in results.rows_on(b)
            },
            ax,
            b.label,
        )
    pictures.one_legend(axes)
    table = Table(
        "Final mean accuracy, percent, and backward transfer, points", tuple(entries), "method"
    )
    return Summary(
        (table,),
        (
            "One head for all tasks. Permuted-10: ten permutations of the pixels of MNIST, ten "
            "classes. Pairs: 0/1 to 8/9 as five tasks with two classes, the first and the second "
            "of a pair, so that the same output means another digit in every task; chance is 50 "
            "%.",
            f"At a test no method is told which task an example is of{_told(results)}.",
        ),
        {"curves": axes},
    )


def _told(results):
    """Return which rows are told all the same, because they have something for each task: a
    mask.
    """
    told = {m.cell.row.label for m in results.measured if measures.has_masks(m)}
    return f", but for those with a mask a task: {', '.join(sorted(told))}" if told else ""
