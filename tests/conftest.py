"""One Hypothesis profile for all tests, without a deadline on a busy machine; and small images for whole runs."""

import numpy as np
import pytest
from hypothesis import settings

from ibpcl.data import registry
from ibpcl.data.dataset import Dataset
from ibpcl.experiments import run_figures

# The same examples on every run.
settings.register_profile("ibpcl", deadline=None, derandomize=True)
settings.load_profile("ibpcl")


def load_small(name, data_dir=None, seed=0):
    """Ten classes of 4 x 4 images, each with a bright pixel of its own; no files are read.

    The first test image is from training, and the second is blank.
    """
    rng, parts = np.random.default_rng(seed), []
    for count in (200, 100):
        labels = np.arange(count, dtype=np.uint8) % 10
        images = rng.integers(0, 60, (count, 16), dtype=np.uint8)
        images[np.arange(count), labels] = 255
        parts += [images.reshape(count, 4, 4), labels]
    parts[2][0], parts[2][1] = parts[0][0], 255
    return Dataset(name, *parts, tuple("ABCDEFGHIJ"))


@pytest.fixture
def tiny():
    """Keys with their texts, as a user would set them."""
    return {"hidden": "6", "samples": "1", "prediction_samples": "2", "epochs": "2", "finetune_epochs": "1",
            "batch": "20", "backend": "numpy", "tasks": "3", "independent.hidden": "6", "independent.epochs": "3",
            "alpha": "200", "mask_link": "logit", "coreset_size": "10"}


@pytest.fixture
def small_images(monkeypatch):
    """Put a small image set in the place of every real one."""
    monkeypatch.setattr(registry, "load", load_small)
    monkeypatch.setattr(run_figures, "draw", lambda run: None)  # a run's own figures take longer than it
