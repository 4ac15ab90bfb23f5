"""Inputs of the tasks: drawn letters, tasks of two letters, masks, matrices of accuracies."""

import numpy as np

# Five pixels wide and seven high, a row each.
LETTERS = {
    "A": ".###. #...# #...# ##### #...# #...# #...#",
    "B": "####. #...# #...# ####. #...# #...# ####.",
    "C": ".#### #.... #.... #.... #.... #.... .####",
    "D": "####. #...# #...# #...# #...# #...# ####.",
    "E": "##### #.... #.... ####. #.... #.... #####",
    "F": "##### #.... #.... ####. #.... #.... #....",
    "G": ".#### #.... #.... #..## #...# #...# .####",
    "H": "#...# #...# #...# ##### #...# #...# #...#",
}
HEIGHT = 8
WIDTH = 6


def draw(rng, letters, count):
    """Return ``count`` noisy images of two letters, shifted by up to a pixel, and their labels."""
    labels = np.arange(count) % len(letters)
    images = np.zeros((count, HEIGHT, WIDTH))
    for image, label in zip(images, labels, strict=True):
        bitmap = np.array(
            [[pixel == "#" for pixel in row] for row in LETTERS[letters[label]].split()],
            dtype=float,
        )
        down, right = rng.integers(2, size=2)
        image[down : down + 7, right : right + 5] = bitmap
    return (images + 0.3 * rng.standard_normal(images.shape)).reshape(count, -1), labels


def _tasks(rng, count, tasks):
    pairs = [("A", "B"), ("E", "F"), ("G", "H"), ("C", "D")]
    drawn = [draw(rng, pairs[at], count) for at in rng.permutation(len(pairs))[:tasks]]
    return np.array([x for x, _ in drawn]), np.array([labels for _, labels in drawn])


def combined_mask(rng, size):
    """Return inputs of ``combined_mask``: masks that are nearly decided."""
    t, d, c = (1, 3, 1) if size == "odd" else (int(rng.integers(2, 5)), 5, 3)
    masks = np.where(
        rng.random((t, d, c)) < 0.3,
        rng.uniform(0.6, 0.95, (t, d, c)),
        rng.uniform(0.05, 0.4, (t, d, c)),
    )
    return {"masks": masks}


def masked_prior(rng, size):
    """Return inputs of ``masked_prior``."""
    d, c = (1, 3) if size == "odd" else (4, 3)
    return {
        "mask": rng.uniform(0.05, 0.95, (d, c)),
        "mu": rng.standard_normal((d, c)),
        "scale": rng.uniform(-2, 1, (d, c)),
        "first_mu": float(rng.uniform(-0.5, 0.5)),
        "first_scale": float(rng.uniform(-1, 1)),
    }


def objective(rng, size):
    """Return inputs of ``objective``."""
    if size == "large":
        s, n, d, c = 16, 64, 48, 4
    else:
        s, n, d, c = (int(n) for n in rng.permutation([2, 3, 4, 5]))
        if size == "odd":
            s, n, d = (1, n, d) if rng.random() < 0.5 else (s, 1, 1)
    return {
        "eps": rng.standard_normal((s, d, c)),
        "mu": rng.standard_normal((d, c)),
        "scale": rng.uniform(-1, 0.5, (d, c)),
        "mask": rng.uniform(0.1, 1, (d, c)),
        "prior_mu": rng.standard_normal((d, c)),
        "prior_scale": rng.uniform(-1, 0.5, (d, c)),
        "x": rng.standard_normal((n, d)),
        "labels": rng.integers(c, size=n),
    }


def slope_of_divergence(rng, size):
    """Return inputs of ``slope_of_divergence``: those of ``objective`` that it takes."""
    inputs = objective(rng, size)
    return {name: inputs[name] for name in ("mu", "scale", "prior_mu", "prior_scale")}


def learn(rng, size):
    """Return inputs of ``learn``: three tasks of two letters, thirty steps each."""
    tasks, count = (2, 8) if size == "odd" else (3, 16)
    x, labels = _tasks(rng, count, tasks)
    shape = (HEIGHT * WIDTH, 2)
    return {
        "eps": rng.standard_normal((tasks, 30, 2, *shape)),
        "masks": (rng.random((tasks, *shape)) < 0.6) * 1.0,
        "x": x,
        "labels": labels,
        "first_mu": 0.1,
        "first_scale": -0.5,
        "rate": 0.05,
    }


def accuracy_matrix(rng, size):
    """Return inputs of ``accuracy_matrix``."""
    tasks, count = (2, 6) if size == "odd" else (3, 20)
    x, labels = _tasks(rng, count, tasks)
    shape = (tasks, HEIGHT * WIDTH, 2)
    means = (
        np.stack([x[at].T @ (labels[at][:, None] == np.arange(2)) for at in range(tasks)]) / count
    )
    return {
        "mu": means + 0.1 * rng.standard_normal(shape),
        "masks": (rng.random(shape) < 0.6) * 1.0,
        "x": x,
        "labels": labels,
    }


def summary(rng, size):
    """Return inputs of ``summary``."""
    tasks = 2 if size == "odd" else int(rng.integers(3, 6))
    return {"accuracies": rng.uniform(0, 1, (tasks, tasks))}


def exact_posterior(rng, size):
    """Return inputs of ``exact_posterior``."""
    t, n, d = (1, 3, 2) if size == "odd" else (3, 4, 3)
    x = rng.standard_normal((t, n, d))
    y = x @ rng.standard_normal(d) + 0.3 * rng.standard_normal((t, n))
    return {"x": x, "y": y, "noise": float(rng.uniform(0.1, 1))}
