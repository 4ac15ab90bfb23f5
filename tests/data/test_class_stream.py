"""Streams with one class per task and without labels, and streams derived from them."""

import numpy as np
import pytest

from ibpcl.data.dataset import Dataset
from ibpcl.data.subsets import limited, with_validation
from ibpcl.data.tasks import ClassStream

RNG = np.random.default_rng(0)


def dataset(count=60):
    parts = []
    for size in (count, count // 2):
        parts += [
            RNG.integers(0, 256, (size, 2, 3), dtype=np.uint8),
            (np.arange(size) % 3).astype(np.uint8),
        ]
    return Dataset("tiny", *parts, ("a", "b", "c"))


def test_every_image_is_in_the_task_of_its_class_and_in_no_other():
    images = dataset()
    stream = ClassStream(images)
    assert (stream.name, len(stream), [task.name for task in stream]) == (
        "classes-tiny",
        3,
        ["a", "b", "c"],
    )
    for label, task in enumerate(stream):
        assert (task.label, task.image_shape) == (label, (2, 3))
        for x, pictures, labels in (
            (task.x_train, images.train_images, images.train_labels),
            (task.x_test, images.test_images, images.test_labels),
        ):
            np.testing.assert_array_equal(
                np.round(255 * x).astype(np.uint8).reshape(-1, 2, 3), pictures[labels == label]
            )


def test_classes_may_be_chosen_in_any_order():
    stream = ClassStream(dataset(), (2, 0))
    assert [task.label for task in stream] == [2, 0] and stream[-1].name == "a"
    with pytest.raises(IndexError):
        stream[2]


@pytest.mark.parametrize("labels", [(), (3,), (-1, 0)])
def test_classes_that_are_not_there_are_refused(labels):
    with pytest.raises(ValueError, match=r"ClassStream: labels must be at least one in 0 \.\. 2"):
        ClassStream(dataset(), labels)


def test_limits_keep_the_first_images():
    stream = ClassStream(dataset())
    small = limited(stream, 7, 3)
    np.testing.assert_array_equal(small[1].x_train, stream[1].x_train[:7])
    np.testing.assert_array_equal(small[1].x_test, stream[1].x_test[:3])
    assert small[1].label == 1


def test_validation_cuts_the_training_images_in_two():
    stream = ClassStream(dataset())
    cut = with_validation(stream, 0.25)[2]
    assert (len(cut.x_train), len(cut.x_test)) == (15, 5)
    both = np.concatenate([cut.x_train, cut.x_test])
    np.testing.assert_array_equal(np.sort(both, axis=0), np.sort(stream[2].x_train, axis=0))
