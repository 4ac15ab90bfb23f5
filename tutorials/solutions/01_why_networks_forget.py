"""Solutions to the exercises of tutorial 1.

`ibpcl check tutorials/solutions/01_why_networks_forget.py` proves the pair of exercise 5; run as a script, the file
prints what comes out of the others.
"""

from pathlib import Path

import numpy as np

# Exercise 1: the other order.  The wall is as high: B and E still look alike, whoever comes first.
# Exercise 2: stop in time.  Ten kept examples are enough to find an s at which the mean loss is far below that at the
#    end of the line.  The mean accuracy hardly differs: E/F loses about what A/B gains.
# Exercise 3: a better parabola.  The loss's own curvature is larger than EWC's: the diagonal has no terms between
#    weights that move together.  It is too flat at s = 1 all the same, for the loss is no parabola.
# Exercise 4: which layer forgets?  The hidden layer: the old head on the new features brings nothing back, the new head
#    on the old features nearly everything.
# Exercise 5: EWC's penalty as a pair.


def penalty(theta, anchor, fisher, weight):
    """Return EWC's penalty, summed over all weights."""
    away = theta - anchor
    return weight / 2 * np.sum(fisher * away * away), (away, fisher, weight)


def penalty_vjp(dpenalty, cache):
    """Pull the gradient at the penalty back to all four inputs."""
    away, fisher, weight = cache
    pull = dpenalty * weight * fisher * away
    return (
        pull,
        -pull,
        dpenalty * weight / 2 * away * away,
        dpenalty * np.sum(fisher * away * away) / 2,
    )


def check_inputs():
    rng = np.random.default_rng(1)
    return {
        "theta": rng.standard_normal(5),
        "anchor": rng.standard_normal(5),
        "fisher": rng.uniform(0.1, 1, 5),
        "weight": 3.0,
    }


def tutorial(until, **changed):
    """Return the names of the tutorial's cells before a heading, some lines changed."""
    text = (
        (Path(__file__).parents[1] / Path(__file__).name)
        .read_text(encoding="utf-8")
        .split(until)[0]
    )
    for old, new in changed.values():
        text = text.replace(old, new)
    names = {}
    exec(
        compile(
            "\n".join(line for line in text.splitlines() if "plt." not in line[:12]),
            "tutorial",
            "exec",
        ),
        names,
    )
    return names


def main():
    import contextlib
    import io

    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    with contextlib.redirect_stdout(io.StringIO()):
        found = tutorial("# ## In a plane")
        other = tutorial(
            "# ## Along a line",
            order=("((0, 1), (4, 5), (6, 7))", "((4, 5), (0, 1), (6, 7))"),
        )
    plt.close("all")
    first, second = found["first"], found["second"]
    print(
        f"1. E/F first: {other['before']:.1%} before A/B is learned, "
        f"{other['test'](other['naive'], other['first']):.1%} after"
    )

    rows = np.concatenate(
        [np.flatnonzero(first.y_train == label)[:5] for label in (0, 1)]
    )

    def right(theta, x, y):
        p = found["network"].predict(
            theta.astype(np.float32), x, found["numpy_backend"]
        )
        return np.mean(p.argmax(axis=1) == y)

    def loss_of(theta, x, y):
        p = found["network"].predict(
            theta.astype(np.float32), x, found["numpy_backend"]
        )
        return -np.log(p[np.arange(len(p)), y]).mean(dtype=np.float64)

    best = np.argmin(
        [
            loss_of(theta, first.x_train[rows], first.y_train[rows])
            + loss_of(theta, second.x_train, second.y_train)
            for theta in found["line"]
        ]
    )
    s, theta = found["shares"][best], found["line"][best]
    for place, weights in (
        (s, theta),
        (1.0, found["line"][list(found["shares"]).index(1.0)]),
    ):
        losses = [
            loss_of(weights, task.x_test, task.y_test) for task in (first, second)
        ]
        print(
            f"2. s = {place:.2f}: A/B {right(weights, first.x_test, first.y_test):.1%}, "
            f"E/F {right(weights, second.x_test, second.y_test):.1%}, mean loss {np.mean(losses):.2f} nats"
        )

    def loss(s):
        return loss_of(
            (1 - s) * found["theta_1"] + s * found["theta_2"],
            first.x_train,
            first.y_train,
        )

    h = 0.05
    true = (loss(h) - 2 * loss(0.0) + loss(-h)) / h**2
    F = found["fisher"].diagonal(
        found["network"], found["theta_1"], first.x_train, first.y_train, "exact", None
    )
    of_ewc = float((F * (found["theta_2"] - found["theta_1"]) ** 2).sum())
    print(
        f"3. curvature of the loss {true:.3f}, EWC's {of_ewc:.4f}; at s = 1 the loss rose by "
        f"{loss(1.0) - loss(0.0):.2f}, the better parabola by {true / 2:.2f}"
    )

    old, new, size = found["theta_1"], found["theta_2"], found["network"].head_size
    for label, theta in (
        ("old head, new hidden layer", np.append(new[:-size], old[-size:])),
        ("new head, old hidden layer", np.append(old[:-size], new[-size:])),
    ):
        print(f"4. {label}: A/B {right(theta, first.x_test, first.y_test):.1%}")
    value, _ = penalty(new, old, F, 300.0)
    print(f"5. theta_2 would cost EWC {value:.3f} nats per example at lambda = 300")


if __name__ == "__main__":
    main()
