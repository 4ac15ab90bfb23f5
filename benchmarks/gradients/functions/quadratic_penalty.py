"""Penalty of elastic weight consolidation: lambda / 2 sum F (theta - anchor)^2 over several anchors."""

import numpy as np


def f(theta, anchors, precisions, strength):
    moved = theta - anchors
    total = np.sum(precisions * moved**2)
    return 0.5 * strength * total, (moved, precisions, strength, total)


def f_vjp(dout, cache):
    moved, precisions, strength, total = cache
    pulls = dout * strength * precisions * moved
    dprecisions = 0.5 * dout * strength * moved**2
    return pulls.sum(axis=0), -pulls, dprecisions, 0.5 * dout * total


def check_inputs():
    rng = np.random.default_rng(207)
    return {
        "theta": rng.normal(size=4),
        "anchors": rng.normal(size=(3, 4)),
        "precisions": rng.uniform(0.5, 1.5, size=(3, 4)),
        "strength": np.array(1.4),
    }
