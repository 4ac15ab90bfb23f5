"""Inputs of the pairs."""


def vector(rng, size):
    """Return inputs of ``square`` and ``total``."""
    return {"x": rng.standard_normal(1 if size == "odd" else 5)}


def gate(rng, size):
    """Return inputs of ``gate``."""
    n = 1 if size == "odd" else 4
    return {"x": rng.standard_normal((n, 3)), "w": rng.standard_normal(3)}
