"""Solutions to the exercises of tutorial 9.

`ibpcl check tutorials/solutions/09_algorithm_1.py` checks the pair of functions. Run
as a script, the file prints the numbers that the comments refer to.
"""

from pathlib import Path

import numpy as np

# Exercise 1: The weight of the masks' divergence.
#
# Weights are now chosen one by one rather than by units. The tasks use little more
# than half as many weights, and share a smaller part of them. The package still gives
# the same masks.

# Exercise 2: The stiffness of Eq. 11.
#
# It is 400 times stiffer: 1 / 0.05^2 against 1 / 1^2.


def pull(mu, prior_mu, prior_sigma):
    """Return KL[q | p] of Gaussians of one width, the prior's, summed over weights."""
    away = (mu - prior_mu) / prior_sigma
    return np.sum(away * away) / 2, (away, prior_sigma)


def pull_vjp(dkl, cache):
    """Pull the gradient back to ``mu``, ``prior_mu`` and ``prior_sigma``."""
    away, prior_sigma = cache
    dmu = dkl * away / prior_sigma
    return dmu, -dmu, -dmu * away


# Exercise 3: Adam's first step.
#
# It moves by its learning rate. After one step m / (1 - beta_1) = g and s / (1 -
# beta_2) = g^2, so the quotient is the sign of g. Masks therefore move ten times as
# fast as weights. In 240 steps of 0.1 a log-odds can go from 0 to 24.

# Exercise 4: Another union.
#
# The second task takes old weights first, because they belong to the first units,
# which the prior favours. The third task takes nearly all weights.


def run_tutorial(until, old="", new=""):
    """Return the names of the tutorial's cells before a line, without figures.

    The text ``old`` is replaced by ``new`` first.
    """
    script = Path(__file__).parents[1] / Path(__file__).name
    text = script.read_text(encoding="utf-8").split(until)[0]
    assert old in text
    cells = text.replace(old, new).split("# %%")
    cells = [cell for cell in cells if not cell.startswith(' tags=["hide')]
    names = {}
    exec(compile("# %%".join(cells), str(script), "exec"), names)
    return names


def learn_all(names):
    """Learn all tasks of the tutorial; return masks and final accuracies."""
    used, posterior = np.zeros((names["D"], names["K"]), bool), names["P0"]
    masks, heads, accuracies = [], [], []
    for t, task in enumerate(names["tasks"]):
        posterior, head, mask = names["learn"](t, task, used, posterior)
        used, masks, heads = used | mask, [*masks, mask], [*heads, head]
    for t, task in enumerate(names["tasks"]):
        p = names["predict"](t, posterior, heads[t], masks[t], task.x_test)
        accuracies.append(np.mean(p.argmax(axis=1) == task.y_test))
    return masks, accuracies


def check_inputs():
    rng = np.random.default_rng(9)
    return {
        "mu": rng.standard_normal(5),
        "prior_mu": rng.standard_normal(5),
        "prior_sigma": rng.uniform(0.1, 1, 5),
    }


def main():
    names = run_tutorial(
        "# That was all.", "np.full(S, 1 / N / S", "np.full(S, 0.05 / N / S"
    )
    masks, accuracies = learn_all(names)
    shares, both = [mask.mean() for mask in masks], (masks[0] & masks[1]).mean()
    print(
        f"1. with weight 0.05: {shares[0]:.0%} and {shares[1]:.0%} of the weights, "
        f"{both:.0%} shared; accuracies {accuracies[0]:.1%} and {accuracies[1]:.1%}"
    )
    assert max(shares) < 0.35

    stiff, loose = (
        pull_vjp(1.0, pull(np.ones(1), np.zeros(1), np.array([sigma]))[1])[0][0]
        for sigma in (0.05, 1.0)
    )
    print(f"2. pull of the posterior {stiff:.0f}, of p0 {loose:.0f}")
    assert np.isclose(stiff / loose, 400)

    adam = run_tutorial("# ## The hard mask")["adam"]
    moved = [
        adam({"mu": np.zeros(1)}, {"mu": np.array([g])}, {}, 1, 0.01)["mu"][0]
        for g in (1e-3, 100.0)
    ]
    print(
        f"3. a gradient of 0.001 moves it by {moved[0]:.4f}, of 100 by {moved[1]:.4f}"
    )

    names = run_tutorial(
        "# That was all.", "((0, 1), (4, 5))", "((0, 1), (4, 5), (6, 7))"
    )
    masks, accuracies = learn_all(names)
    unions = [np.logical_or.reduce(masks[: t + 1]).mean() for t in range(3)]
    print("4. used by each task", [f"{mask.mean():.0%}" for mask in masks])
    print("4. used by any task so far", [f"{union:.0%}" for union in unions])
    print(f"4. accuracies {np.round(accuracies, 3).tolist()}")
    assert unions[1] - unions[0] < 0.1 and masks[2].mean() > 0.8


if __name__ == "__main__":
    main()
