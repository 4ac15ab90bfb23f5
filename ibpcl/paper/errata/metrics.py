"""Errata on the metrics of the supplement (F.2, "Other Metrics") and on their two tables."""

from dataclasses import replace

import numpy as np

from ibpcl.evaluation import metrics
from ibpcl.paper.errata.entry import above, below, equal, erratum

TASKS = 5
# The printed numbers for Permuted MNIST: Acc and BWT (mantissa, exponent) of the table "other
# metrics", and the column of the table of final mean accuracies.
ACC = {"Naive": 90.090, "EwC": 95.392, "Rehearsal": 97.565, "VCL": 97.353, "Ours": 98.180}
BWT = {
    "Naive": (-3.60, -2),
    "EwC": (-1.90, -2),
    "Rehearsal": (1.30, -4),
    "VCL": (-4.00, -3),
    "Ours": (1.33, -5),
}
FINAL_MEAN = {"Naive": 90.090, "Rehearsal": 97.565, "EwC": 95.392, "VCL": 97.353, "Ours": 98.180}


def gradual(first, final_mean):
    """Return the accuracy matrix R of five tasks with even forgetting.

    Parameters
    ----------
    first : float
        Accuracy of each task when it was just learned, in [0, 1].
    final_mean : float
        Mean accuracy of all tasks at the end.

    Returns
    -------
    R : ndarray, shape (5, 5)
        ``R[i, j]`` is the accuracy on task j after task i; NaN for i < j. Each task loses the same
        amount at each later task.
    """
    loss = (first - final_mean) * 2 / (TASKS - 1)
    age = np.subtract.outer(np.arange(TASKS), np.arange(TASKS))
    return np.where(age >= 0, first - loss * age, np.nan)


def mean_of_pairs(R, difference=False):
    """Return the mean of R_ij over i >= j, or of R_ij - R_jj over i > j, by plain loops.

    Parameters
    ----------
    R : ndarray, shape (T, T)
        The accuracy matrix.
    difference : bool
        Whether to take the mean of the differences.

    Returns
    -------
    mean : float
    """
    values = [
        R[i, j] - (R[j, j] if difference else 0)
        for i in range(TASKS)
        for j in range(i + 1 - difference)
    ]
    return sum(values) / len(values)


@erratum(
    "acc-denominator",
    kind="wrong",
    title="The number of pairs in Acc",
    where="supplement F.2, Other Metrics",
    line=593,
    printed="Acc = sum_{i >= j} R_ij / (N (N - 1) / 2)",
    right="i >= j has N (N + 1) / 2 terms",
    typeset=(
        r":math:`\mathrm{Acc} = \frac{\sum_{i \ge j} R_{ij}}{N(N-1)/2}`",
        r":math:`\mathrm{Acc} = \frac{\sum_{i \ge j} R_{ij}}{N(N+1)/2}`: the sum has "
        r":math:`N(N+1)/2` terms",
    ),
    quantity="Acc of five tasks that are always classified without an error",
    reference="mean over all pairs, by plain loops",
)
def acc_denominator(seed):
    """Evaluate both for five tasks whose accuracy is always 1."""
    R = np.ones((TASKS, TASKS))
    printed = R[np.tril_indices(TASKS)].sum() / (TASKS * (TASKS - 1) / 2)
    return equal(printed, metrics.mean_accuracy_over_pairs(R), mean_of_pairs(R), 1e-12)


@erratum(
    "acc-column",
    kind="wrong",
    title="The column Acc holds another quantity",
    where="supplement F.2, Table 'other metrics'",
    line=612,
    printed="the column Acc holds Acc as defined, over pairs",
    right="it holds the final mean accuracies, digit by digit in all five rows",
    typeset=(
        "the column Acc holds Acc as defined, the mean over pairs of tasks",
        "it repeats the final mean accuracies of the table of accuracies, digit by digit in all "
        "five rows, and these are another quantity",
    ),
    quantity="the final mean and the mean over pairs of one example: naive training that starts "
    "at 0.97 and falls evenly to its printed final mean, 0.9009",
    reference="mean over all pairs, by plain loops",
    labels=("Final mean", "Acc as defined"),
)
def acc_column(seed):
    """Compare the final mean and Acc of a matrix that falls evenly from 0.97 with plain loops."""
    R = gradual(0.97, ACC["Naive"] / 100)
    same = sum(ACC[method] == FINAL_MEAN[method] for method in ACC)
    finding = equal(
        metrics.average_accuracy(R), metrics.mean_accuracy_over_pairs(R), mean_of_pairs(R), 1e-12
    )
    return replace(finding, printed_fails=finding.printed_fails and same == len(ACC))


@erratum(
    "acc-unit",
    kind="ambiguity",
    title="Percent and fractions in one table",
    where="supplement F.2, Table 'other metrics'",
    line=614,
    printed="Acc in percent beside FWT and BWT as fractions",
    right="fractions throughout: Acc is at most 1",
    typeset=(
        "Acc without a unit, beside FWT and BWT, which are fractions",
        "Acc is printed in percent; here all three are fractions",
    ),
    quantity="the largest entry of the column Acc, 98.18, as printed and as a fraction",
    reference="the largest possible fraction",
)
def acc_unit(seed):
    """Compare the largest printed Acc, and the same as a fraction, with 1."""
    return below(max(ACC.values()), metrics.mean_accuracy_over_pairs(gradual(0.9818, 0.9818)), 1.0)


@erratum(
    "bwt-exponent",
    kind="remark",
    title="The notation of the exponents of BWT",
    where="supplement F.2, Table 'other metrics'",
    line=614,
    printed="-3.60e^{-2}",
    right="-3.60 x 10^-2, as computers print -3.60e-02; a power of e would need tasks that lose "
    "accuracy and regain it",
    typeset=(
        r":math:`-3.60e^{-2}`",
        r":math:`-3.60 \times 10^{-2}`, as computers print ``-3.60e-02``. This is what the "
        r"numbers mean: read as a power of e, the first would be below the lowest value that the "
        r"printed final mean allows, if no task regains what it lost",
    ),
    quantity="the backward transfer of naive training",
    reference="the lowest BWT that its final mean of 0.9009 allows if forgetting is monotone",
    labels=("Powers of ten", "As a computer reads it"),
    agrees=True,
)
def bwt_exponent(seed):
    """Compare naive training's BWT with a lower bound, which rules out a power of e.

    The bound is the lowest BWT that a final mean of 0.9009 allows if forgetting is monotone. It is
    reached if every task starts at 1 and the first task, which is part of the most pairs, loses
    everything at once.
    """
    mantissa, exponent = BWT["Naive"]
    lost = TASKS * (1 - ACC["Naive"] / 100)
    R = np.where(np.tri(TASKS, dtype=bool), 1.0, np.nan)
    # the first task counts in the most pairs
    R[1:, 0] = 1 - lost
    bound = metrics.backward_transfer(R)
    finding = above(mantissa * 10.0**exponent, float(f"{mantissa}e{exponent}"), bound)
    impossible = mantissa * np.exp(exponent) < bound
    return replace(finding, right_holds=bool(finding.right_holds and impossible))


@erratum(
    "bwt-naive",
    kind="remark",
    title="Backward transfer and final mean of naive training",
    where="supplement F.2, Table 'other metrics'",
    line=614,
    printed="Naive: BWT -0.036 with a final mean of 0.9009",
    right="-0.069 if tasks start at 0.97 and all forget evenly (an assumption); -0.036 is possible",
    typeset=(
        "naive training has :math:`\\mathrm{BWT} = -0.036` and a final mean of 0.9009",
        "if each task started at 0.97 and lost the same amount at each later task (an "
        "assumption: the accuracies are not printed), BWT would be -0.069. The two printed numbers "
        "are possible together, for example if tasks start at 0.973 and four of them lose 0.09 at "
        "the last task, but such a course would be unusual",
    ),
    quantity="the backward transfer of naive training",
    reference="mean over all pairs of that example, by plain loops",
    labels=("Printed", "Even forgetting"),
)
def bwt_naive(seed):
    """Compare the printed BWT, and the BWT of even forgetting, with plain loops."""
    R = gradual(0.97, ACC["Naive"] / 100)
    mantissa, exponent = BWT["Naive"]
    return equal(
        mantissa * 10.0**exponent,
        metrics.backward_transfer(R),
        mean_of_pairs(R, difference=True),
        1e-2,
    )
