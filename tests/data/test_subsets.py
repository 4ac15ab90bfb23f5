"""Derived streams only remove examples; they never add, move or change any."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibpcl.continual.task import Task
from ibpcl.data.dataset import Dataset
from ibpcl.data.subsets import limited, limited_dataset, resplit, with_validation
from ibpcl.data.tasks import PermutedStream


def make_task(labels, test_labels=(0, 1, 0, 1), name="t"):
    """Number the examples, so that each can be found again: training from 0, test from 1000."""
    n = len(labels)
    m = len(test_labels)
    return Task(
        name,
        np.arange(n)[:, None] * [1.0, 0.0],
        labels,
        1000 + np.arange(m)[:, None] * [1.0, 0.0],
        test_labels,
        3,
        ("a", "b", "c"),
        (1, 2),
    )


class Tasks(list):
    name = "some"


LABELS = st.lists(st.integers(0, 2), min_size=20, max_size=60)


@given(labels=LABELS, fraction=st.floats(0.1, 0.9), seed=st.integers(0, 1000))
def test_validation_cuts_the_training_set_in_two_by_class(labels, fraction, seed):
    task = make_task(labels)
    cut = with_validation(Tasks([task]), fraction, seed)[0]
    kept = cut.x_train[:, 0].astype(int)
    held_out = cut.x_test[:, 0].astype(int)
    # no test example of the task among them
    assert sorted([*kept, *held_out]) == list(range(len(labels)))
    np.testing.assert_array_equal(cut.y_train, np.array(labels)[kept])
    np.testing.assert_array_equal(cut.y_test, np.array(labels)[held_out])
    for label in range(3):
        assert abs((cut.y_test == label).sum() - fraction * labels.count(label)) <= 0.5
    assert (cut.name, cut.classes, cut.class_names, cut.image_shape) == (
        "t",
        3,
        ("a", "b", "c"),
        (1, 2),
    )


def test_validation_is_repeatable_and_differs_by_seed_and_task():
    tasks = Tasks([make_task([0, 1] * 50)] * 2)
    one = with_validation(tasks, 0.3, 4)
    np.testing.assert_array_equal(one[1].x_test, with_validation(tasks, 0.3, 4)[1].x_test)
    np.testing.assert_array_equal(one[1].x_test, one[-1].x_test)
    assert (one[0].x_test != one[1].x_test).any()
    assert (one[0].x_test != with_validation(tasks, 0.3, 5)[0].x_test).any()
    assert one.name == "some (validation)" and len(one) == 2


@pytest.mark.parametrize("fraction", [0, 1, -0.1, 1.5, float("nan")])
def test_bad_fraction_is_refused(fraction):
    with pytest.raises(
        ValueError, match=r"with_validation: fraction must lie strictly between 0 and 1, got"
    ):
        with_validation(Tasks(), fraction)


@pytest.mark.parametrize("fraction", [0.01, 0.99])
def test_fraction_that_leaves_one_side_empty_names_the_task(fraction):
    stream = with_validation(Tasks([make_task([0, 1, 2], name="few")]), fraction)
    with pytest.raises(ValueError, match="task 'few' leaves one side empty"):
        stream[0]


@given(labels=LABELS, train=st.none() | st.integers(1, 70), test=st.none() | st.integers(1, 6))
def test_limits_keep_the_first_examples_and_the_balance(labels, train, test):
    cut = limited(Tasks([make_task(labels)]), train, test)[0]
    assert len(cut.y_train) == min(len(labels), train or len(labels)) and len(cut.y_test) == min(
        4, test or 4
    )
    kept = cut.x_train[:, 0].astype(int)
    assert sorted(kept) == kept.tolist()
    np.testing.assert_array_equal(cut.y_train, np.array(labels)[kept])
    counts = {label: (labels.count(label), (cut.y_train == label).sum()) for label in set(labels)}
    most = max(got for _, got in counts.values())
    for label, (there, got) in counts.items():
        # a class is smaller only when it has no more
        assert got >= min(there, most - 1)
        members = np.flatnonzero(np.array(labels) == label)
        np.testing.assert_array_equal(kept[cut.y_train == label], members[:got])
    np.testing.assert_array_equal(cut.x_test[:, 0], 1000 + np.arange(len(cut.y_test)))


def test_limited_keeps_the_name_and_ends():
    stream = limited(Tasks([make_task([0, 1])] * 3), train=1)
    assert stream.name == "some" and len(list(stream)) == 3
    with pytest.raises(IndexError):
        stream[3]


@pytest.mark.parametrize("limits", [{"train": 0}, {"test": -1}])
def test_bad_limit_is_refused(limits):
    with pytest.raises(ValueError, match=r"limited: (train|test) must be at least 1 or None, got"):
        limited(Tasks(), **limits)


def test_both_can_be_combined():
    stream = limited(with_validation(Tasks([make_task([0, 1, 2] * 20)]), 0.5), train=6, test=3)
    assert np.bincount(stream[0].y_train).tolist() == [2, 2, 2] and np.bincount(
        stream[0].y_test
    ).tolist() == [1, 1, 1]


@given(st.lists(st.integers(0, 2), min_size=3, max_size=30), st.integers(1, 35), st.integers(1, 35))
def test_few_images_permuted_are_the_few_of_a_permuted_task(labels, train, test):
    """The order of the pixels does not affect the selection, so images may be removed first."""
    labels = np.array(labels, np.uint8)
    images = np.arange(4 * len(labels), dtype=np.uint8).reshape(-1, 2, 2)
    dataset = Dataset("tiny", images, labels, images[::-1], labels[::-1], ("a", "b", "c"))
    before = PermutedStream(limited_dataset(dataset, train, test), 2)
    after = limited(PermutedStream(dataset, 2), train, test)
    for t in range(2):
        for field in ("x_train", "y_train", "x_test", "y_test"):
            np.testing.assert_array_equal(getattr(before[t], field), getattr(after[t], field))


def test_examples_of_a_regression_are_drawn_whatever_their_targets():
    y = np.where(np.arange(100) < 20, 1.0, np.arange(100.0))[:, None]
    task = Task(
        "r", np.arange(100.0)[:, None], np.hstack([y, y]), np.zeros((5, 1)), np.zeros((5, 2))
    )
    for share in (0.1, 0.3, 0.6):
        held = with_validation([task], share, 0)[0]
        assert len(held.x_test) == round(100 * share)
        assert 0 < (held.x_test < 20).mean() < 0.6  # a fifth of all examples
    assert limited([task], train=50)[0].x_train.ravel().tolist() == list(range(50))


@pytest.mark.parametrize("limit", [0, -1])
def test_a_data_set_is_not_cut_to_nothing(limit):
    images = np.zeros((4, 1, 1), np.uint8)
    labels = np.array([0, 0, 1, 1], np.uint8)
    with pytest.raises(ValueError, match="limited_dataset: train must be at least 1 or None"):
        limited_dataset(Dataset("tiny", images, labels, images, labels, ("a", "b")), train=limit)


def pool_of(counts, test_counts):
    """Return a data set in which every image is a different number, with given class sizes."""
    labels, test_labels = (
        np.repeat(np.arange(len(c), dtype=np.uint8), c) for c in (counts, test_counts)
    )
    numbers = np.arange(len(labels) + len(test_labels), dtype=np.uint8).reshape(-1, 1, 1)
    return Dataset(
        "pool", numbers[: len(labels)], labels, numbers[len(labels) :], test_labels, ("a", "b", "c")
    )


def test_a_resplit_holds_every_image_once_and_two_sevenths_of_each_class_for_tests():
    whole = pool_of((30, 60, 12), (5, 10, 2))
    cut = resplit(whole)
    labels = np.concatenate([whole.train_labels, whole.test_labels])
    train = cut.train_images.ravel()
    test = cut.test_images.ravel()
    assert sorted([*train, *test]) == list(range(119))
    np.testing.assert_array_equal(cut.train_labels, labels[train])
    np.testing.assert_array_equal(cut.test_labels, labels[test])
    assert np.bincount(cut.test_labels).tolist() == [10, 20, 4]
    assert np.bincount(cut.train_labels).tolist() == [25, 50, 10]
    # both parts have images that were in the other
    assert (test < 102).any() and (train >= 102).any()
    np.testing.assert_array_equal(resplit(whole).test_images, cut.test_images)
    assert (resplit(whole, seed=1).test_images != cut.test_images).any()


@pytest.mark.parametrize(
    ("fraction", "words"),
    [
        (0, "fraction must lie strictly between 0 and 1, got 0"),
        (0.001, "data set 'pool' leaves one side empty"),
    ],
)
def test_a_resplit_that_is_none_is_refused(fraction, words):
    with pytest.raises(ValueError, match=f"resplit: .*{words}"):
        resplit(pool_of((3, 3, 3), (1, 1, 1)), fraction)
