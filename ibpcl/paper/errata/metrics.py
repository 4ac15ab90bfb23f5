"""Errata on the metrics of the supplement (F.2, "Other Metrics") and on the two tables that hold
them.
"""

import numpy as np

from ibpcl.evaluation import metrics
from ibpcl.paper.errata.entry import Finding, above, below, equal, erratum

TASKS = 5
# What the paper prints for Permuted MNIST: Acc and BWT (mantissa, exponent) of the table "other
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
    """Build the matrix R of five tasks that start at ``first`` and all lose the same at each later
    task.
    """
    loss = (first - final_mean) * 2 / (TASKS - 1)
    age = np.subtract.outer(np.arange(TASKS), np.arange(TASKS))
    return np.where(age >= 0, first - loss * age, np.nan)


def mean_of_pairs(R, difference=False):
    """Average R_ij over i >= j, or R_ij - R_jj over i > j, by plain loops."""
    values = [
        R[i, j] - (R[j, j] if difference else 0)
        for i in range(TASKS)
        for j in range(i + 1 - difference)
    ]
    return sum(values) / len(values)


@erratum(
    "acc-denominator",
    "supplement F.2, Other Metrics",
    593,
    "Acc = sum_{i >= j} R_ij / (N (N - 1) / 2)",
    "i >= j has N (N + 1) / 2 terms",
)
def acc_denominator(seed):
    """Both for five tasks that are always at accuracy 1."""
    R = np.ones((TASKS, TASKS))
    printed = R[np.tril_indices(TASKS)].sum() / (TASKS * (TASKS - 1) / 2)
    return equal(printed, metrics.mean_accuracy_over_pairs(R), mean_of_pairs(R), 1e-12)


@erratum(
    "acc-column",
    "supplement F.2, Table 'other metrics'",
    612,
    "the column Acc holds Acc as defined, over pairs",
    "it holds the final mean accuracies, digit by digit in all five rows",
)
def acc_column(seed):
    """The final mean and Acc for a matrix that ends at the Naive row's 0.9009 from 0.97, against
    plain loops.
    """
    R = gradual(0.97, ACC["Naive"] / 100)
    same = sum(ACC[method] == FINAL_MEAN[method] for method in ACC)
    found = equal(
        metrics.average_accuracy(R), metrics.mean_accuracy_over_pairs(R), mean_of_pairs(R), 1e-12
    )
    return Finding(
        found.printed,
        found.right,
        found.truth,
        "=",
        found.printed_fails and same == len(ACC),
        found.right_holds,
    )


@erratum(
    "acc-unit",
    "supplement F.2, Table 'other metrics'",
    614,
    "Acc in percent beside FWT and BWT as fractions",
    "fractions throughout: Acc is at most 1",
)
def acc_unit(seed):
    """The largest printed Acc, and the largest in the package's unit, against the largest that a
    fraction may be.
    """
    return below(max(ACC.values()), metrics.mean_accuracy_over_pairs(gradual(0.9818, 0.9818)), 1.0)


@erratum(
    "bwt-exponent",
    "supplement F.2, Table 'other metrics'",
    614,
    "-3.60 e^{-2}, which is -0.487",
    "-3.60 x 10^-2",
)
def bwt_exponent(seed):
    """Naive's BWT read both ways against the lowest that its final mean 0.9009 allows while
    forgetting is monotone.

    That is reached if every task starts at 1 and the first, which counts in the most pairs, falls
    at once by all that the mean lets it lose.
    """
    mantissa, exponent = BWT["Naive"]
    lost = TASKS * (1 - ACC["Naive"] / 100)
    R = np.where(np.tri(TASKS, dtype=bool), 1.0, np.nan)
    # the first task counts in the most pairs
    R[1:, 0] = 1 - lost
    return above(
        mantissa * np.exp(exponent), mantissa * 10.0**exponent, metrics.backward_transfer(R)
    )


@erratum(
    "bwt-naive",
    "supplement F.2, Table 'other metrics'",
    614,
    "Naive: BWT -0.036 with a final mean of 0.9009",
    (
        "about -0.07 if tasks start at 0.97 and forgetting is gradual; the last row alone would "
        "give -0.086"
    ),
)
def bwt_naive(seed):
    """The printed BWT and the package's, of that matrix, against plain loops."""
    R = gradual(0.97, ACC["Naive"] / 100)
    mantissa, exponent = BWT["Naive"]
    return equal(
        mantissa * 10.0**exponent,
        metrics.backward_transfer(R),
        mean_of_pairs(R, difference=True),
        1e-2,
    )
