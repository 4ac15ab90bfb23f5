"""Solutions to the exercises of tutorial 1.

`ibpcl check tutorials/solutions/01_why_networks_forget.py` checks the pair of
exercise 5. Run as a script, the file prints the numbers that the comments refer to.
"""

import contextlib
import io
from pathlib import Path

import numpy as np

# Exercise 1: The other order.
#
# Yes. E/F falls to chance level as A/B did: B and E look alike, whichever comes
# first.

# Exercise 2: Stop in time.
#
# Ten kept examples are enough to find an s whose mean loss is far below the mean loss
# at the end of the line. The mean accuracy hardly differs there: E/F loses about as
# much as A/B gains.

# Exercise 3: A better parabola.
#
# The loss's own curvature is about a hundred times as large as EWC's. Part of the
# reason is the missing terms between weights that move together. The better parabola
# is still too flat at s = 1, because the loss is not a parabola.

# Exercise 4: Which layer forgets?
#
# The hidden layer. The old head on the new features brings hardly anything back. The
# new head on the old features brings back nearly everything.

# Exercise 5: EWC's penalty as a pair.


def penalty(theta, anchor, fisher, weight):
    """Return EWC's penalty, summed over all weights."""
    away = theta - anchor
    return weight / 2 * np.sum(fisher * away * away), (away, fisher, weight)


def penalty_vjp(dpenalty, cache):
    """Pull the gradient at the penalty back to all four inputs."""
    away, fisher, weight = cache
    dtheta = dpenalty * weight * fisher * away
    dfisher = dpenalty * weight / 2 * away * away
    return dtheta, -dtheta, dfisher, dpenalty * np.sum(fisher * away * away) / 2


def check_inputs():
    rng = np.random.default_rng(1)
    return {
        "theta": rng.standard_normal(5), "anchor": rng.standard_normal(5),
        "fisher": rng.uniform(0.1, 1, 5), "weight": 3.0,
    }  # fmt: skip


def run_tutorial(until, old="", new=""):
    """Return the names of the tutorial's cells before a heading, without figures.

    The text ``old`` is replaced by ``new`` first.
    """
    script = Path(__file__).parents[1] / Path(__file__).name
    text = script.read_text(encoding="utf-8").split(until)[0].replace(old, new)
    cells = [cell for cell in text.split("# %%") if not cell.startswith(' tags=["hide')]
    names = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile("# %%".join(cells), str(script), "exec"), names)
    return names


def main():
    run = run_tutorial("# ## In a plane")
    other = run_tutorial(
        "# ## Along a line", "((0, 1), (4, 5), (6, 7))", "((4, 5), (0, 1), (6, 7))"
    )
    after = other["test"](other["naive"], other["first"])
    print(
        f"1. E/F first: {other['before']:.1%} before A/B is learned, {after:.1%} after"
    )
    assert after < 0.6

    first, second, network = run["first"], run["second"], run["network"]

    def predict(theta, x):
        return network.predict(theta.astype(np.float32), x, run["numpy_backend"])

    def right(theta, x, y):
        return np.mean(predict(theta, x).argmax(axis=1) == y)

    def loss_of(theta, x, y):
        return -np.log(predict(theta, x)[np.arange(len(x)), y]).mean(dtype=np.float64)

    kept = np.concatenate(
        [np.flatnonzero(first.y_train == label)[:5] for label in (0, 1)]
    )
    x_kept, y_kept = first.x_train[kept], first.y_train[kept]
    losses = [
        loss_of(theta, x_kept, y_kept) + loss_of(theta, second.x_train, second.y_train)
        for theta in run["line"]
    ]
    best, end = np.argmin(losses), np.abs(run["shares"] - 1).argmin()
    means = []
    for index in (best, end):
        s, theta = run["shares"][index], run["line"][index]
        accuracies = [
            right(theta, task.x_test, task.y_test) for task in (first, second)
        ]
        means.append(
            np.mean(
                [loss_of(theta, task.x_test, task.y_test) for task in (first, second)]
            )
        )
        print(
            f"2. s = {s:.2f}: A/B {accuracies[0]:.1%}, E/F {accuracies[1]:.1%}, "
            f"mean loss {means[-1]:.2f} nats"
        )
    assert means[0] < 0.8 * means[1]

    def loss(s):
        theta = (1 - s) * run["theta_1"] + s * run["theta_2"]
        return loss_of(theta, first.x_train, first.y_train)

    h = 0.05
    true = (loss(h) - 2 * loss(0.0) + loss(-h)) / h**2
    F = run["fisher"].diagonal(
        network, run["theta_1"], first.x_train, first.y_train, "exact", None
    )
    ewc = float((F * (run["theta_2"] - run["theta_1"]) ** 2).sum())
    print(f"3. curvature of the loss {true:.3f}, EWC's {ewc:.4f}")
    print(
        f"3. at s = 1 the loss rose by {loss(1.0) - loss(0.0):.2f}, "
        f"the better parabola by {true / 2:.2f}"
    )
    assert 50 < true / ewc < 200 and true / 2 < (loss(1.0) - loss(0.0)) / 2

    old, new, size = run["theta_1"], run["theta_2"], network.head_size
    swapped = {
        "old head, new hidden layer": np.append(new[:-size], old[-size:]),
        "new head, old hidden layer": np.append(old[:-size], new[-size:]),
    }
    for name, theta in swapped.items():
        swapped[name] = right(theta, first.x_test, first.y_test)
        print(f"4. {name}: A/B {swapped[name]:.1%}")
    assert min(swapped.values()) < 0.65 and max(swapped.values()) > 0.95

    value, _ = penalty(new, old, F, 300.0)
    print(f"5. theta_2 would cost EWC {value:.3f} nats per example at lambda = 300")


if __name__ == "__main__":
    main()
