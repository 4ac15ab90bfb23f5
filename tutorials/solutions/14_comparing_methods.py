"""Solutions to the exercises of tutorial 14.

`ibpcl check tutorials/solutions/14_comparing_methods.py` checks the pair of exercise 3.
Run as a script, the file prints the numbers that the comments refer to.
"""

import contextlib
import io
from pathlib import Path

import numpy as np

from ibpcl.evaluation.metrics import average_accuracy, backward_transfer

# Exercise 1: Two numbers are not enough.
#
# The method learned the first task perfectly and stopped learning. Later tasks are at
# chance level, 0.5, and the mean of 1, 0.5 and 0.5 is two thirds. Nothing changed
# after the first task, so the transfer is zero.

STOPPED = np.array([[1.0, np.nan, np.nan], [1.0, 0.5, np.nan], [1.0, 0.5, 0.5]])

# Exercise 2: The price of training longer.
#
# More epochs make the second task better and the first one worse. A method that is
# trained for fewer epochs looks as if it remembered better. Methods must be compared
# at equal training, and with the accuracy on new tasks beside the accuracy on old
# ones.

# Exercise 3: VCL's prediction as a pair.


def predicted_rise(mu, log_sigma, old_mu, old_log_sigma):
    """Return the rise of -log q_1, averaged over the posterior, in nats."""
    away = (mu - old_mu) / np.exp(old_log_sigma)
    ratio = np.exp(2 * (log_sigma - old_log_sigma))
    rise = np.sum(away**2 + ratio - 1) / 2
    return rise, (away, ratio, old_log_sigma)


def predicted_rise_vjp(drise, cache):
    """Pull the gradient back to both means and both log widths."""
    away, ratio, old_log_sigma = cache
    dmu = drise * away / np.exp(old_log_sigma)
    dlog_sigma = drise * ratio
    return dmu, dlog_sigma, -dmu, -drise * (away**2 + ratio)


# Exercise 4: Guessing the task.
#
# The choice by entropy is right more often than guessing among three tasks, but far
# from always: a network with the wrong mask can be just as sure of its prediction.


def entropy(p):
    """Return the entropy of each row, in nats."""
    return -np.sum(p * np.log(np.maximum(p, 1e-12)), axis=1)


def check_inputs():
    rng = np.random.default_rng(14)
    names = "mu", "log_sigma", "old_mu", "old_log_sigma"
    return {name: rng.standard_normal(6) for name in names}


def run_tutorial(until):
    """Return the names of the tutorial's cells before a heading, without figures."""
    script = Path(__file__).parents[1] / Path(__file__).name
    text = script.read_text(encoding="utf-8").split(until)[0]
    cells = [cell for cell in text.split("# %%") if not cell.startswith(' tags=["hide')]
    names = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile("# %%".join(cells), str(script), "exec"), names)
    return names


def main():
    mean, transfer = average_accuracy(STOPPED), backward_transfer(STOPPED)
    print(f"1. average accuracy {mean:.3f}, backward transfer {transfer:.1f}")
    assert np.isclose(mean, 2 / 3) and transfer == 0

    run = run_tutorial("# ## The accuracy matrix")
    first, second, test = run["first"], run["second"], run["test"]
    results = {}
    for epochs in (5, 33, 200):
        run["SETTINGS"]["naive"]["epochs"] = epochs
        learner = run["make"]("naive", single_head=True)
        for task in (first, second):
            learner.learn(task, progress=False)
        results[epochs] = test(learner, first), test(learner, second)
        print(
            f"2. {epochs:3d} epochs: A/B {results[epochs][0]:.1%}, "
            f"E/F {results[epochs][1]:.1%}"
        )
    assert results[5][0] > results[33][0] and results[5][1] < results[33][1]

    _, cache = predicted_rise(**check_inputs())
    print("3. gradient at the means:", predicted_rise_vjp(1.0, cache)[0].round(3))

    npbcl = run["learners"]["one head", "npbcl"]
    entropies = [entropy(npbcl.predict(first.x_test, task_id)) for task_id in range(3)]
    chosen = np.argmin(entropies, axis=0)
    right = np.mean(chosen == 0)
    print(f"4. the mask of A/B has the lowest entropy for {right:.0%} of the images")
    assert 1 / 3 < right < 0.9


if __name__ == "__main__":
    main()
