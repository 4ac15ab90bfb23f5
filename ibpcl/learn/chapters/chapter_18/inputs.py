"""Inputs of the functions of chapter 18."""


def _count(rng, size):
    """Return a number of masks: one if ``size`` is "odd"."""
    return {"odd": 1, "large": 40}.get(size, int(rng.integers(3, 7)))


def mean_loss(rng, size):
    """Return inputs of ``mean_loss``."""
    n = _count(rng, size)
    return {
        "phi": rng.standard_normal(n),
        "f0": rng.standard_normal(n),
        "f1": rng.standard_normal(n),
    }


def relaxed_given(rng, size):
    """Return inputs of ``relaxed_given``."""
    n = _count(rng, size)
    return {
        "logistic": rng.logistic(size=n),
        "mask": (rng.random(n) < 0.5) * 1.0,
        "phi": rng.standard_normal(n),
        "tau": float(rng.uniform(0.4, 1.5)),
    }


def disarm(rng, size):
    """Return inputs of ``disarm``: two opposite masks per sample, and their losses."""
    s = int(rng.integers(2, 6))
    n = _count(rng, size)
    phi = rng.standard_normal(n)
    logistic = rng.logistic(size=(s, n))
    return {
        "first": rng.standard_normal(s),
        "second": rng.standard_normal(s),
        "b": (phi + logistic > 0) * 1.0,
        "opposite": (phi - logistic > 0) * 1.0,
        "phi": phi,
    }
