"""A small image set in the place of every real one, and runs that are interrupted, for tests that
ask for them.
"""

from contextlib import contextmanager

import numpy as np
import pytest

from ibpcl.data import registry
from ibpcl.data.dataset import Dataset
from ibpcl.experiments.journal import RunJournal


def draw(name, data_dir=None, seed=0, tests=100):
    """Ten classes of 4 x 4 images, each with a bright pixel of its own; no files are read."""
    rng = np.random.default_rng(0)
    parts = []
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


@pytest.fixture(scope="module")
def drawn_once():
    """The same for all tests of a file, whose fixtures make runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "load", draw)
        yield


@pytest.fixture
def interrupted(monkeypatch):
    """Give a context that is interrupted once a run has written so many epochs of its history, of
    all tasks.
    """

    @contextmanager
    def after(count):
        watch = RunJournal.watch
        left = count

        def stopping(journal, bar):
            inner = watch(journal, bar)

            def on_epoch(record, vector):
                nonlocal left
                inner.on_epoch(record, vector)
                left -= 1
                if left == 0:
                    raise KeyboardInterrupt

            return inner._replace(on_epoch=on_epoch)

        with monkeypatch.context() as patch:
            patch.setattr(RunJournal, "watch", stopping)
            yield

    return after
