"""Known reasons for differences between our accuracies and the paper's, by row and data set."""

import math

from ibpcl.experiments import findings, tables
from ibpcl.paper import numbers as paper

# In standard deviations, ours and the paper's combined.
LIMIT = 2.0
FINE_TUNING = (
    "With one head per task, fine-tuning at a small rate forgets little. The printed number would "
    "fit long training at a large rate, or another protocol that the paper does not describe."
)
ABOVE_FINE_TUNING = (
    "It protects the result of fine-tuning, and fine-tuning alone already ends above the printed "
    "number, so the paper's protocol must be different."
)
MERGED = (
    "It merges the solutions of fine-tuning, which alone ends above the printed number, so the "
    "paper's protocol must be different."
)
SHORT = (
    "It is trained for a few epochs per task. The paper does not say how long its baselines were "
    "trained; the published code of VCL trains for a hundred epochs here."
)
NOT_ACCURACY = (
    "The published code of DEN prints the mean area under the ROC curve, not the accuracy, and "
    "the paper may have taken its number from there."
)
FROZEN = (
    "It never moves an old weight and adds a few units per task. Here it tries ten networks per "
    "task, its authors' code fifty, with smaller minibatches."
)
WHY = {
    **{("naive", b): FINE_TUNING for b in ("split-mnist", "split-notmnist", "split-fashion-mnist")},
    **{
        ("ewc", b): ABOVE_FINE_TUNING
        for b in ("split-mnist", "split-notmnist", "split-fashion-mnist")
    },
    **{("imm", b): MERGED for b in ("split-mnist", "split-notmnist", "split-fashion-mnist")},
    **{(row, "permuted-mnist"): SHORT for row in ("imm", "vcl", "vcl-coreset")},
    **{("den", b): NOT_ACCURACY for b in paper.COLUMNS},
    **{("rcl", b): FROZEN for b in ("split-mnist", "split-notmnist", "permuted-mnist")},
    (
        "rehearsal",
        "permuted-mnist",
    ): "The 200 stored examples per task are used in every step and are soon overfitted. The paper "
    "states neither how many it stores nor how it weights them.",
}


def differing(results):
    """Return the rows and benchmarks whose final accuracy differs from the paper's.

    They differ by more than ``LIMIT`` deviations. The deviation is the root of the sum of both
    squares; with one seed, ours counts as 0.

    Parameters
    ----------
    results : ibpcl.experiments.findings.Results

    Returns
    -------
    pairs : list of (Row, Benchmark)
    """
    pairs = []
    for row in results.rows:
        for b in results.benchmarks:
            printed = paper.accuracy(row.key, b.name)
            entry = results.entry(row, b, findings.final_accuracy, b.label, printed=printed)
            ours = 0.0 if math.isnan(entry.deviation) else entry.deviation
            if printed is not None and abs(entry.difference) > LIMIT * math.hypot(
                ours, printed.deviation
            ):
                pairs.append((row, b))
    return pairs


def notes(results):
    """Return a note for each known reason of differences, and one for differences without.

    Parameters
    ----------
    results : ibpcl.experiments.findings.Results

    Returns
    -------
    notes : list of str
    """
    by_reason = {}
    for row, b in differing(results):
        by_reason.setdefault(WHY.get((paper.LIKE.get(row.key, row.key), b.name)), {}).setdefault(
            row.label, []
        ).append(b.label)
    unexplained = by_reason.pop(None, {})
    remarks = []
    for reason, labels in by_reason.items():
        remarks.append(f"{_named(labels)}, not as printed: {reason[0].lower()}{reason[1:]}")
    if unexplained:
        remarks.append(
            "More than two standard deviations from the printed numbers, for unknown reasons: "
            f"{_named(unexplained)}."
        )
    return remarks


def _named(labels):
    return "; ".join(f"{tables.shown(label)} on {', '.join(of)}" for label, of in labels.items())
