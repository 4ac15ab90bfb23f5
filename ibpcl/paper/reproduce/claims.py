"""Ablations: parts of the method that the paper says help, each left out or changed alone.

Every row changes one setting of the first row, with one exception: without fine-tuning, a run has
fewer epochs, so a second row without fine-tuning has as many epochs in all as the first row.
Growth, more epochs, and the weight of the masks' divergence have separate targets
(:mod:`ibpcl.paper.reproduce.variants`).
"""

from typing import NamedTuple

from ibpcl.experiments import findings, paired
from ibpcl.experiments.benchmarks import Row
from ibpcl.experiments.findings import Summary
from ibpcl.experiments.tables import PERCENT, POINTS, SHARE, WHOLE, Table
from ibpcl.methods.npbcl import Settings
from ibpcl.paper import numbers as paper
from ibpcl.paper.reproduce import measures, pictures
from ibpcl.paper.reproduce.rows import FOUR, target

ENOUGH_ALPHA = (
    'Sec. 4.4: "a sufficiently large value of alpha without tuning" performs "reasonably"'
)
FINE_TUNING = (
    'Sec. 4.5: masks that are not completely binary affect "task performance a bit", fine-tuning '
    'restores it'
)
CORESETS = paper.CLAIMS["coreset"]
DEFAULT = Settings()


class Claim(NamedTuple):
    """A row of the ablations.

    Attributes
    ----------
    key, label : str
        The key for ``--methods``, and the label in tables.
    settings : dict
        The settings in which the row differs from the default.
    statement : str
        The paper's statement, with its place.
    """

    key: str
    label: str
    settings: dict
    statement: str


CLAIMS = (
    Claim(
        "mean-field",
        "masks without sticks",
        {"structured": False},
        (
            'Sec. 3.2: the structured mean field "performs better than normally used mean-field '
            'approximation"'
        ),
    ),
    Claim(
        "last-posterior",
        "last posterior as prior",
        {"masked_prior": False},
        (
            "Sec. 4.1, Eq. 11: the prior of weights that no task uses is the initial prior, not "
            "the last posterior"
        ),
    ),
    Claim(
        "flat-prior",
        "flat initial prior",
        {"unused_prior": "flat"},
        (
            'Sec. 4.1: "a zero mean normal distribution or uniform distribution" as the initial '
            'prior "further reduces the catastrophic forgetting"'
        ),
    ),
    Claim("no-fine-tuning", "no fine-tuning", {"finetune_epochs": 0}, FINE_TUNING),
    # The limit of max_steps holds for both phases together, so all epochs become masked ones: on
    # Permuted MNIST, 15 instead of 3 + 12.
    Claim(
        "no-fine-tuning-equal",
        "no fine-tuning, equal epochs",
        {"epochs": DEFAULT.epochs + DEFAULT.finetune_epochs, "finetune_epochs": 0},
        FINE_TUNING,
    ),
    Claim("alpha-10", "alpha 10", {"alpha": 10.0}, ENOUGH_ALPHA),
    Claim("alpha-30", "alpha 30", {"alpha": 30.0}, ENOUGH_ALPHA),
    Claim("alpha-200", "alpha 200", {"alpha": 200.0}, ENOUGH_ALPHA),
    Claim("random-coreset", "random coreset", {"coreset": "random"}, CORESETS),
    Claim("k-center-coreset", "k-center coreset", {"coreset": "k_center"}, CORESETS),
    Claim("one-mask", "one mask for all", {"shared_mask": True}, paper.CLAIMS["shared-mask"]),
    Claim(
        "two-layers",
        "two hidden layers",
        {"hidden": (200, 200)},
        "Sec. 3.1 describes L layers; every classifier of the paper has one (supplement B.1)",
    ),
)
UNCHANGED = Row("npbcl", "nothing", "npbcl")


@target(
    FOUR,
    lambda quick: (
        UNCHANGED,
        *(Row(claim.key, claim.label, "npbcl", claim.settings) for claim in CLAIMS),
    ),
)
def claims(results):
    """Compare ours with ours after each change."""
    tables = []
    changes = []
    for b in results.benchmarks:
        whole = results.entry(UNCHANGED, b, findings.final_accuracy, b.label)
        columns = (
            ("accuracy", findings.final_accuracy, PERCENT),
            ("as learned", findings.accuracy_as_learned, PERCENT),
            ("transfer", findings.backward_transfer, POINTS),
            ("density", lambda m: measures.used_by_task(m).mean(), SHARE),
            ("sharing", measures.pairwise_sharing, SHARE),
            ("epochs", measures.epochs, WHOLE),
        )
        entries = [
            results.entry(row, b, number, name, unit)
            for row in results.rows_on(b)
            for name, number, unit in columns
        ]
        for row in results.rows_on(b):
            accuracy = results.entry(row, b, findings.final_accuracy, b.label)
            change = paired.difference(accuracy, whole)
            if row.key != UNCHANGED.key and change is not None:
                changes.append(change)
        tables.append(Table(f"{b.label}: what is changed", tuple(entries)))
    change = Table("Change of the final accuracy, points, seed by seed", tuple(changes))
    statements = {claim.statement: [] for claim in CLAIMS}
    for claim in CLAIMS:
        statements[claim.statement].append(claim.label)
    return Summary(
        (change, *tables),
        (
            "Accuracy, density and sharing in percent, backward transfer in points. As learned is "
            "the mean accuracy on a task when it has just been learned. Density is the mean over "
            "tasks, sharing is with one earlier task. Epochs are those of both phases, per task, "
            "as trained: the setting max_steps limits them on large tasks.",
            "The row without fine-tuning has fewer epochs in all. Where max_steps limits both "
            "phases, it has more masked epochs than the first row. The row with equal epochs has "
            f"{DEFAULT.epochs + DEFAULT.finetune_epochs} masked epochs instead of "
            f"{DEFAULT.epochs} + {DEFAULT.finetune_epochs}, within the same limit. Every other row "
            "changes one setting.",
            *(f"{', '.join(labels)}: {statement}." for statement, labels in statements.items()),
        ),
        {"claims": pictures.compared(results, changes, 22)} if changes else {},
    )
