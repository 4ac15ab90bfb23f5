"""Test images that also occur in training, and blank ones, are found by their pixels."""

import numpy as np
import pytest

from ibpcl.data.dataset import Dataset
from ibpcl.data.overlap import blank, duplicates_of_training, rows_of
from ibpcl.data.registry import load
from ibpcl.data.tasks import SplitStream


def dataset():
    """Twelve random test images; 3 and 7 are from training, 7 with another label, and 5 is
    blank.
    """
    rng = np.random.default_rng(0)
    train, test = (rng.integers(0, 256, (n, 3, 3), dtype=np.uint8) for n in (20, 12))
    test[3] = train[4]
    test[7] = train[9]
    test[5] = 77
    return Dataset(
        "tiny",
        train,
        np.arange(20, dtype=np.uint8) % 10,
        test,
        np.arange(12, dtype=np.uint8) % 10,
        tuple("ABCDEFGHIJ"),
    )


def test_planted_images_are_found():
    images = dataset()
    assert np.flatnonzero(duplicates_of_training(images)).tolist() == [3, 7]
    assert np.flatnonzero(blank(images)).tolist() == [5]


def test_one_bit_makes_another_image():
    images = dataset()
    images.test_images[3, 0, 0] ^= 1
    images.test_images[5, 2, 2] ^= 1
    assert np.flatnonzero(duplicates_of_training(images)).tolist() == [7]
    assert not blank(images).any()


def test_they_are_found_again_in_the_tasks():
    images = dataset()
    out = duplicates_of_training(images) | blank(images)
    stream = SplitStream(images)
    found = [rows_of(stream[t].x_test, images.test_images[out]) for t in range(5)]
    assert sum(part.sum() for part in found) == 3
    np.testing.assert_array_equal(
        found[1], images.test_labels[np.isin(images.test_labels, (2, 3))] == 3
    )
    assert found[2].tolist() == [False, True] and found[3].tolist() == [False, True]


@pytest.mark.data
def test_the_counts_of_notmnist(real_data):
    images = load("notmnist", real_data)
    duplicates = duplicates_of_training(images)
    squares = blank(images)
    assert (duplicates.sum(), squares.sum(), (duplicates | squares).sum()) == (119, 43, 119)
    assert set(images.test_labels[squares]) == {8}  # all are an I
