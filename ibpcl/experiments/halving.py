"""Successive halving: after a few tasks only the better half of the trials continues.

Jamieson and Talwalkar (2016), "Non-stochastic Best Arm Identification and Hyperparameter
Optimization".  What is rationed is tasks: a trial continues from its checkpoint, so nothing is
learned twice, and one that reaches the end has the same scores as without halving.  A round is
decided when all its trials have ended, so their order does not matter.
"""

import math


def rounds(trials, tasks):
    """Return after how many tasks trials are compared, 1, 2, 4, ... up to half of them, and how
    many then continue.

    >>> rounds(12, 5), rounds(12, 10), rounds(12, 1)
    ([(1, 6), (2, 3)], [(1, 6), (2, 3), (4, 2)], [])
    """
    # 2^(k - 1) tasks in the k-th round, at most tasks / 2
    halvings = range(1, int(math.log2(tasks)) + 1)
    return [(2 ** (k - 1), math.ceil(trials / 2**k)) for k in halvings if trials > 1]


def survivors(scored, number):
    """Return the numbers of the best trials; trial 0, which the others are compared with, always
    continues.

    ``scored`` has mean log-likelihoods by the number of the trial, NaN for those that failed, which
    never continue. Accuracies would not do: after one or two tasks many trials have the same.

    >>> survivors({0: -0.5, 1: -0.1, 2: math.nan, 3: -0.1}, 2)
    [0, 1]
    """
    ranked = sorted(
        (n for n, likelihood in scored.items() if not math.isnan(likelihood)),
        key=lambda n: (n != 0, -scored[n], n),
    )
    return sorted(ranked[:number])
