"""A data set whose arrays do not fit together is refused, and the message names the array."""

import numpy as np
import pytest

from ibpcl.data.dataset import DataError, Dataset, check_dataset

GOOD = Dataset(
    "d",
    np.zeros((3, 28, 28), np.uint8),
    np.array([0, 1, 1], np.uint8),
    np.zeros((2, 28, 28), np.uint8),
    np.array([1, 0], np.uint8),
    ("a", "b"),
)


def test_good_data_set_is_given_back():
    assert check_dataset(GOOD) is GOOD


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("train_images", np.zeros((3, 28, 28)), "train_images must be uint8"),
        (
            "test_images",
            np.zeros((2, 784), np.uint8),
            r"test_images must be uint8 of shape \(N, H, W\)",
        ),
        ("test_images", np.zeros((0, 28, 28), np.uint8), "test_images are empty"),
        ("test_images", np.zeros((2, 27, 28), np.uint8), r"\(28, 28\) and \(27, 28\)"),
        ("train_images", np.zeros((4, 28, 28), np.uint8), "train has 4 images but 3 labels"),
        ("test_labels", np.array([0, 1, 1], np.uint8), "test has 2 images but 3 labels"),
        ("train_labels", np.array([0.0, 1.0, 1.0]), "train_labels must be integers"),
        (
            "train_labels",
            np.array([0, 1, 2], np.uint8),
            r"train_labels must lie in 0 .. 1, got labels from 0 to 2",
        ),
        (
            "test_labels",
            np.array([-1, 0]),
            r"test_labels must lie in 0 .. 1, got labels from -1 to 0",
        ),
    ],
)
def test_bad_data_set_is_refused(field, value, message):
    with pytest.raises(DataError, match=rf"Dataset 'd': .*{message}"):
        check_dataset(GOOD._replace(**{field: value}))
