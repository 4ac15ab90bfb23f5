"""Targets about accuracy: final means, other metrics, curves, single tasks over time, one head."""

import numpy as np

from ibpcl.experiments import findings, paired
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
    shown,
)
from ibpcl.methods import ABOUT
from ibpcl.paper import numbers as paper
from ibpcl.paper.reproduce import differences, measures, pictures
from ibpcl.paper.reproduce.rows import (
    FOUR,
    ONE_HEAD,
    OURS,
    OURS_CORESET,
    OURS_FRESH,
    OURS_K_CENTER,
    REFERENCE,
    REFERENCE_HE,
    TWO_LAYERS,
    VCL,
    VCL_CORESET,
    VCL_K_CENTER,
    method_rows,
    target,
)

# Columns of the tables of training effort; steps and seconds are totals over all tasks.
TOOK = (
    ("accuracy", findings.final_accuracy, PERCENT),
    ("transfer", findings.backward_transfer, POINTS),
    ("epochs a task", measures.epochs, WHOLE),
    ("steps", measures.steps, WHOLE),
    ("seconds", measures.train_seconds, SECONDS),
    ("stored, MB", findings.stored, MEGABYTES),
)
# The paper's figure shows the first four tasks.
SHOWN_TASKS = 4


@target(
    FOUR,
    lambda quick: (
        method_rows(REFERENCE, unlisted=False)
        if quick
        else method_rows(*TWO_LAYERS, OURS_FRESH, REFERENCE, REFERENCE_HE)
    ),
)
def final(results):
    """Compare final mean accuracies with the paper's table, and show the training effort.

    For notMNIST there is also the accuracy without repeated images. A quick run has the paper's
    rows and one reference; a full run has all methods and two references.
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
    compared = paired.reference(results.rows)
    tables += paired.differences(
        tables[0], compared, f"Final mean accuracy, difference from {compared}, points"
    )
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
        "Transfer is backward transfer, in points. Epochs and steps count training: a step is one "
        "minibatch update. For RCL they include all networks that it tries; updates on coresets "
        "before prediction do not count. Seconds are the number of tasks times the training time "
        "of the median task, on this machine with its current load. Stored is the size of the "
        "learner after the last task."
    )
    axes = pictures.compared(results, entries, 18)
    if REFERENCE in results.rows or REFERENCE_HE in results.rows:
        notes.append(
            "independent: one plain network per task, so nothing is shared and nothing is "
            "forgotten. A method that is better than it profits from transfer, or learns a single "
            "task better. It has two initializations: the usual uniform one, and He's, which "
            "learns faster."
        )
    if OURS_FRESH in results.rows:
        notes.append(
            "NPBCL, one per task: a fresh NPBCL for every task, with nothing shared. NPBCL minus "
            "it is the gain or loss by transfer; it minus independent is what masks, priors and "
            "averages over weights are worth."
        )
    if any(row in results.rows for row in TWO_LAYERS):
        notes.append(
            "DEN and RCL also have rows with two hidden layers of 256 and 128 units at the start, "
            "as in the paper (supplement B.1). All other rows have one layer of 200."
        )
    if OURS_CORESET in results.rows:
        notes.append(f"The paper's statement, {paper.CLAIMS['coreset']}.")
    if any(b.experiment == "split-fashion-mnist" for b in results.benchmarks):
        notes.append(
            "The paper splits all images of Fashion MNIST again, into 50,000 for training and "
            "20,000 for testing (the data set fashion-resplit); here they are split as published, "
            "into 60,000 and 10,000."
        )
    # The numbers of a quick run differ because it is quick.
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


# FWT is at chance level for every method.
COMPARED = ("final mean", "Acc", "BWT")


@target(("permuted-mnist",), lambda quick: method_rows(REFERENCE))
def other_metrics(results):
    """Compare Acc, FWT and BWT on Permuted MNIST with the paper's table."""
    tables = []
    shown = []
    for b in results.benchmarks:
        entries = []
        for row in results.rows_on(b):
            printed_row = row.key if b.name == "permuted-mnist" else None
            entries += [
                results.entry(
                    row,
                    b,
                    findings.final_accuracy,
                    "final mean",
                    PERCENT,
                    paper.metric(printed_row, "Acc"),
                ),
                results.entry(row, b, measures.accuracy_over_pairs, "Acc", PERCENT),
                results.entry(
                    row,
                    b,
                    measures.untrained_accuracy,
                    "FWT",
                    PERCENT,
                    paper.metric(printed_row, "FWT", 100),
                ),
                results.entry(
                    row,
                    b,
                    findings.backward_transfer,
                    "BWT",
                    FINE_POINTS,
                    paper.metric(printed_row, "BWT", 100),
                ),
            ]
        shown.append([entry for entry in entries if entry.column == "BWT"])
        table = Table(f"{b.label}: Acc and FWT in percent, BWT in points", tuple(entries), "method")
        compared = paired.reference(results.rows_on(b))
        title = f"{b.label}: difference from {compared}, points"
        tables += [table, *paired.differences(table, compared, title, COMPARED)]
    axes = pictures.panels(len(shown), height=22 + 6 * len(results.rows))
    for ax, entries, b in zip(axes, shown, results.benchmarks, strict=True):
        pictures.compare(entries, ax, f"{b.label}, backward transfer")
    pictures.one_legend(axes)
    return Summary(
        tuple(tables),
        (
            "Acc is the mean over time and tasks, sum of R_ij for i >= j over N (N + 1) / 2. The "
            "paper prints N (N - 1) / 2, by which perfect accuracy on five tasks would score "
            "1.5; its column Acc repeats the final mean accuracies of its other table, so the "
            "paper's values are beside the final means here.",
            "FWT is the accuracy on tasks that are not yet learned. With one head per task it is "
            "at chance level, 1 / C, by construction, because the head is untrained. It is "
            f"measured after the last task on {measures.FURTHER} further permutations, with "
            "untrained heads; it is a dash if the stream has no further tasks or the method "
            "cannot measure it.",
            "BWT is the mean change of a task's accuracy since it was learned, over all later "
            "times. The errata comment on the printed BWT of naive training.",
            *([] if results.choice.quick else differences.notes(results)),
        ),
        {"backward_transfer": axes},
    )


@target(FOUR, lambda quick: method_rows(REFERENCE))
def curves(results):
    """Draw the mean accuracy of the tasks seen so far, with and without the paper's values."""
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
                "The paper shows curves; its table has their last values, drawn here as hollow "
                "markers at the right edge."
            ),
        ),
        {"curves": axes},
    )


# Both methods of the paper's figure: without a coreset, with a random one, and with k centres.
FORGETTING = (VCL, VCL_CORESET, VCL_K_CENTER, OURS, OURS_CORESET, OURS_K_CENTER, REFERENCE)


@target(("permuted-mnist",), lambda quick: FORGETTING)
def forgetting(results):
    """Compare the accuracy on each task while later tasks are learned."""
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
        (
            f"The paper's statement, {paper.CLAIMS['forgetting']}. Its figure has no numbers.",
            *_coreset_sizes(results),
        ),
        drawn,
    )


def _coreset_sizes(results):
    """Return a note for each benchmark: the examples per task in the coreset of each row."""
    notes = []
    for b in results.benchmarks:
        sizes = {
            row.label: results.of(row, b)[0].cell.config.settings.coreset_size
            for row in results.rows_on(b)
            if "coreset" in row.settings
        }
        if sizes:
            of_rows = "; ".join(f"{label} {size}" for label, size in sizes.items())
            notes.append(f"{b.label}, stored examples per task: {of_rows}.")
    return notes


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
    """Compare final mean accuracy and backward transfer with one head for all tasks."""
    entries = []
    axes = pictures.panels(len(results.benchmarks))
    informed = _informed(results)
    labels = {
        row.key: measures.mask_known(row) if row in informed else row.label for row in results.rows
    }
    exception = ", ".join(shown(row.label) for row in informed)
    for row in results.rows:
        for b in results.benchmarks:
            if results.of(row, b):
                entries += [
                    results.entry(row, b, score, column, unit, label=labels[row.key])
                    for score, column, unit in (
                        (findings.final_accuracy, b.label, PERCENT),
                        (findings.backward_transfer, f"{b.label} BWT", POINTS),
                    )
                ]
    for ax, b in zip(axes, results.benchmarks, strict=True):
        pictures.curves(
            {
                labels[row.key]: [findings.matrix(m) for m in results.of(row, b)]
                for row in results.rows_on(b)
            },
            ax,
            b.label,
        )
    pictures.one_legend(axes)
    table = Table(
        "Final mean accuracy, percent, and backward transfer, points", tuple(entries), "method"
    )
    compared = paired.reference([row._replace(label=labels[row.key]) for row in results.rows])
    return Summary(
        (table, *paired.differences(table, compared, f"Difference from {compared}, points")),
        (
            "One head for all tasks. Permuted-10: ten permutations of the pixels of MNIST, ten "
            "classes. Pairs: 0/1 to 8/9 as five tasks with two classes, the first and the second "
            "digit of a pair, so the same output means another digit in every task; chance is "
            "50 %.",
            "Predictions are made without knowledge of the example's task"
            + (f", except for methods with one mask per task: {exception}." if informed else "."),
        ),
        {"curves": axes},
    )


def _informed(results):
    """Return the rows that know the task of a test image, which they need for their masks."""
    masked = {m.cell.row.key for m in results.measured if measures.has_masks(m)}
    return [row for row in results.rows if row.key in masked]
