"""Why some of our accuracies are not the paper's: a sentence for each row and data set of which we
know anything.
"""

import math

from ibpcl.experiments import findings
from ibpcl.paper import numbers as paper

# standard deviations, ours and the paper's together
LIMIT = 2.0
FINE_TUNING = (
    "With a head a task, fine-tuning alone forgets little at a small rate; the printed number "
    "fits long training at a large rate or another protocol, of which the paper does not tell."
)
ABOVE_FINE_TUNING = (
    "It protects what fine-tuning learns, and fine-tuning alone already ends above the printed "
    "number, so that the paper's protocol must be another one."
)
MERGED = (
    "It merges the solutions of fine-tuning, which alone ends above the printed number, so that "
    "the paper's protocol must be another one."
)
SHORT = (
    "It has a few epochs a task; the paper does not say how long its baselines were trained, and "
    "the published code of VCL trains a hundred here."
)
NOT_ACCURACY = (
    "The published code of DEN prints the mean area under the ROC curve, not the accuracy, and "
    "the paper may have taken its number from there."
)
FROZEN = (
    "It never moves an old weight and adds a few units a task; here it tries ten networks for "
    "each, its authors' code fifty, in smaller minibatches."
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
    ): "The 200 examples kept of a task are learned in every step, and soon known by "
    "heart; the paper tells neither how many it keeps nor how they are weighted.",
}


def differing(results):
    """Return the rows and benchmarks whose final accuracy is further than ``LIMIT`` deviations from
    the paper's.

    The deviation is the root of the sum of both squares; ours counts as 0 where there is one seed.

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
    """Return a remark for each reason that explains some differences, and one that names those
    without.
    """
    by_reason = {}
    for row, b in differing(results):
        by_reason.setdefault(WHY.get((row.key, b.name)), {}).setdefault(row.label, []).append(
            b.label
        )
    unexplained = by_reason.pop(None, {})
    remarks = []
    for reason, labels in by_reason.items():
        remarks.append(f"{_named(labels)}, not as printed: {reason[0].lower()}{reason[1:]}")
    if unexplained:
        remarks.append(
            "Further from the printed numbers than two standard deviations, and we do not know "
            f"why: {_named(unexplained)}."
        )
    return remarks


def _named(labels):
    return "; ".join(f"{label} on {', '.join(of)}" for label, of in labels.items())
