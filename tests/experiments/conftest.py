"""A small image set in the place of every real one, and runs that are interrupted, for tests that ask for them."""

from contextlib import contextmanager

import numpy as np
import pytest

from ibpcl import checkpoints
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


@pytest.fixture
def interrupted(monkeypatch):
    """Give a context that is interrupted once so many files, of any name or of one, are saved; it gives their names."""
    @contextmanager
    def after(count, file=None):
        save, written = checkpoints.save, []

        def stopping(path, *arguments, **options):
            save(path, *arguments, **options)
            written.append(path.name)
            if (len(written) if file is None else written.count(file)) == count:
                raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(checkpoints, "save", stopping)
            yield written
    return after
