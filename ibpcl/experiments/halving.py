"""Successive halving: after a few tasks, only the better half of the trials continues.

Jamieson and Talwalkar (2016), "Non-stochastic Best Arm Identification and Hyperparameter
Optimization". The resource is the number of tasks: a trial continues from its checkpoint, so
nothing is learned twice, and a trial that reaches the end has the same scores as without halving. A
round is decided when all its trials have ended, so their order does not matter.
"""

import math


def rounds(trials, tasks):
    """Return the rounds of a search: after how many tasks the trials are compared, and how many
    continue.

    The numbers of tasks are 1, 2, 4, ..., up to half of all tasks.

    Parameters
    ----------
    trials : int
        Number of trials at the start.
    tasks : int, at least 1
        Number of tasks of a run.

    Returns
    -------
    rounds : list of (int, int)
        Pairs of (tasks, number of trials that continue); empty if there is nothing to compare.

    Examples
    --------
    >>> rounds(12, 5), rounds(12, 10), rounds(12, 1)
    ([(1, 6), (2, 3)], [(1, 6), (2, 3), (4, 2)], [])
    """
    # Round k compares after 2^(k - 1) tasks, at most tasks / 2.
    halvings = range(1, int(math.log2(tasks)) + 1)
    return [(2 ** (k - 1), math.ceil(trials / 2**k)) for k in halvings if trials > 1]


def survivors(scored, number):
    """Return the numbers of the best trials.

    Trial 0, with which the others are compared, always continues. Trials are ranked by
    log-likelihood, because after one or two tasks many trials have equal accuracies.

    Parameters
    ----------
    scored : dict of int to float
        The mean log-likelihood of each trial, by its number; NaN for a trial that failed, which
        never continues.
    number : int
        How many trials continue.

    Returns
    -------
    numbers : list of int
        In increasing order.

    Examples
    --------
    >>> survivors({0: -0.5, 1: -0.1, 2: math.nan, 3: -0.1}, 2)
    [0, 1]
    """
    ranked = sorted(
        (n for n, likelihood in scored.items() if not math.isnan(likelihood)),
        key=lambda n: (n != 0, -scored[n], n),
    )
    return sorted(ranked[:number])
