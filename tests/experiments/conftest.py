"""A small image set in the place of every real one, for tests that ask for it."""

import numpy as np
import pytest

from ibpcl.data import registry
from ibpcl.data.dataset import Dataset


def draw(name, data_dir=None, seed=0, tests=100):
    """Ten classes of 4 x 4 images, each with a bright pixel of its own; no files are read."""
    rng, parts = np.random.default_rng(0), []
    for count in (200, tests):
        labels = np.arange(count, dtype=np.uint8) % 10
        images = rng.integers(0, 100, (count, 16), dtype=np.uint8)
        images[np.arange(count), labels] = 255
        parts += [images.reshape(count, 4, 4), labels]
    return Dataset(name, *parts, tuple("ABCDEFGHIJ"))


@pytest.fixture
def drawn(monkeypatch):
    """Put drawn images in the place of all image sets; gives the function that draws them."""
    monkeypatch.setattr(registry, "load", draw)
    return draw
