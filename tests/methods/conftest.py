"""Small tasks."""

import numpy as np
import pytest

from ibpcl.continual.task import Task


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


def bars(t, examples=120):
    """Bars: images of 5 x 5 with one bright row (even tasks) or column (odd ones), at one of five
    places.
    """
    rng = np.random.default_rng(t)
    parts = []
    for count in (examples, 40):
        images = np.zeros((count, 5, 5))
        images[np.arange(count), rng.integers(0, 5, count)] = 1
        images = images if t % 2 == 0 else images.swapaxes(1, 2)
        parts.append(images.reshape(count, 25) * rng.uniform(0.7, 1, (count, 1)))
    return Task(f"bars {t}", x_train=parts[0], x_test=parts[1], image_shape=(5, 5), label=t)


@pytest.fixture(scope="session")
def make_images():
    return bars


@pytest.fixture(scope="session")
def make_task():
    return blobs
