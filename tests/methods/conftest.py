"""Small tasks, and a journal that can stop a learner anywhere."""

import numpy as np
import pytest

from ibpcl.continual.task import Task


class Kept:
    """A journal that keeps all it is told."""

    def __init__(self, resume=None):
        self.resume, self.partials = resume, []

    def save(self, partial):
        self.partials.append(partial)


def blobs(t, classes=2, examples=120, inputs=6):
    """Blobs: in task t, class c is bright in an input that is its own for the first tasks."""
    rng = np.random.default_rng(t)
    parts = []
    for count in (examples, 60):
        y = rng.integers(0, classes, count)
        x = rng.normal(scale=0.4, size=(count, inputs))
        x[np.arange(count), (2 * t + y) % inputs] += 2.0
        parts += [x, y]
    return Task(f"task {t}", *parts, classes, tuple("abcd"[:classes]))


@pytest.fixture(scope="session")
def make_task():
    return blobs


@pytest.fixture(scope="session")
def kept():
    return Kept
