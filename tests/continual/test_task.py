"""The task refuses everything that would otherwise fail later, or worse, not fail."""

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ibpcl.continual.task import ImageTask, Task, check_stream, check_width


def make(**changes):
    fields = {
        "name": "a/b",
        "x_train": np.zeros((4, 6), np.float32),
        "y_train": np.array([0, 1, 0, 1]),
        "x_test": np.ones((2, 6), np.float32),
        "y_test": np.array([1, 0]),
        "classes": 2,
        "class_names": ("a", "b"),
        "image_shape": (2, 3),
    }
    return Task(**{**fields, **changes})


def with_value(value):
    x = np.zeros((4, 6), np.float64)
    x[2, 5] = value
    return x


BAD = [
    ("name", "", TypeError, "name must be a non-empty string"),
    ("name", 3, TypeError, "name must be a non-empty string"),
    ("classes", 2.0, TypeError, "classes must be an integer"),
    ("classes", True, TypeError, "classes must be an integer"),
    ("classes", 0, ValueError, "classes must be at least 1"),
    ("class_names", "ab", TypeError, "class_names must be a sequence of strings"),
    ("class_names", (0, 1), TypeError, "class_names must be a sequence of strings"),
    ("class_names", ("a",), ValueError, "1 names for 2 classes"),
    ("x_train", with_value(np.nan), ValueError, r"x_train must be finite.*row 2, column 5: nan"),
    ("x_train", with_value(-np.inf), ValueError, r"x_train must be finite.*row 2, column 5: -inf"),
    ("x_train", with_value(1e300), ValueError, r"x_train must be finite.*row 2, column 5: inf"),
    ("x_train", np.zeros((0, 6)), ValueError, r"x_train is empty, got shape \(0, 6\)"),
    ("x_train", np.zeros((4, 0)), ValueError, "x_train is empty"),
    ("x_train", np.zeros((4, 2, 3)), ValueError, r"x_train must have shape \(N, D\), got \(4, 2, 3\)"),
    ("x_train", np.zeros((4, 6), complex), TypeError, "x_train must hold real numbers, got dtype complex128"),
    ("x_train", np.full((4, 6), "0"), TypeError, "x_train must hold real numbers"),
    ("x_train", np.zeros((3, 6)), ValueError, "got 3 inputs and 4 labels"),
    ("x_test", np.full((2, 6), np.nan), ValueError, "x_test must be finite, got 12 NaN or infinite values"),
    ("x_test", np.zeros((0, 6)), ValueError, "x_test is empty"),
    ("x_test", np.zeros((2, 5)), ValueError, "got 6 and 5 columns"),
    ("y_train", np.array([0, 1, 0, 2]), ValueError, r"y_train must lie in 0 .. 1, got labels from 0 to 2"),
    ("y_train", np.array([0, 1, 0, -1]), ValueError, r"y_train must lie in 0 .. 1, got labels from -1 to 1"),
    ("y_train", np.array([0.0, 1.0, 0.0, 1.0]), TypeError, "y_train must hold integers, got dtype float64"),
    ("y_train", np.zeros((4, 1), int), ValueError, r"y_train must have shape \(N,\)"),
    ("y_test", [], ValueError, "y_test is empty"),
    ("y_test", [0, 1, 0], ValueError, "got 2 inputs and 3 labels"),
    ("image_shape", (2, 2), ValueError, "image_shape 2 x 2 does not make the 6 inputs"),
    ("image_shape", (-2, -3), ValueError, "image_shape -2 x -3"),
    ("image_shape", (6,), ValueError, "image_shape must be"),
    ("image_shape", (2.0, 3.0), TypeError, "image_shape must be an integer"),
]


@pytest.mark.parametrize(("field", "value", "error", "message"), BAD)
def test_bad_input_is_refused_in_words_that_name_it(field, value, error, message):
    with pytest.raises(error, match=message) as caught:
        make(**{field: value})
    if field != "name":
        assert "'a/b'" in str(caught.value)


@given(x=hnp.arrays(np.float64, (3, 4), elements=st.floats(-1e3, 1e3)),
       y=hnp.arrays(np.uint8, 3, elements=st.integers(0, 4)))
def test_good_input_is_kept_as_float32_and_int64(x, y):
    task = Task("t", x, y, x[:1], y[:1], 5, list("abcde"))
    assert task.x_train.dtype == np.float32 and task.y_train.dtype == np.int64
    np.testing.assert_array_equal(task.x_train, x.astype(np.float32))
    np.testing.assert_array_equal(task.y_train, y)
    assert task.class_names == ("a", "b", "c", "d", "e")
    assert task.inputs == 4 and task.image_shape is None


def test_arrays_of_the_right_type_are_not_copied():
    x = np.zeros((4, 6), np.float32)
    assert make(x_train=x).x_train is x


def test_a_task_cannot_be_changed_and_equals_only_itself():
    task = make()
    with pytest.raises(dataclasses.FrozenInstanceError):
        task.classes = 3
    assert task == task and task != make()


def test_stream_width_is_the_shared_width():
    assert check_stream([make(), make(name="c/d")]) == 6


def test_stream_with_another_width_names_both_tasks():
    wider = make(name="wide", x_train=np.zeros((4, 7)), x_test=np.zeros((2, 7)), image_shape=None)
    with pytest.raises(ValueError, match=r"'wide': inputs are 7 wide, but those of task 'a/b' are 6"):
        check_stream([make(), make(name="c/d"), wider])
    with pytest.raises(ValueError, match=r"'wide'.*7 wide"):
        check_width(wider, 6, "a/b")


def test_empty_stream_is_refused():
    with pytest.raises(ValueError, match="has no tasks"):
        check_stream([])


def images(**changes):
    fields = {"name": "seven", "x_train": np.full((4, 6), 0.5), "x_test": np.ones((2, 6)), "image_shape": (2, 3),
              "label": 7}
    return ImageTask(**{**fields, **changes})


def test_images_are_kept_as_float32_with_their_label():
    task = images()
    assert task.x_train.dtype == task.x_test.dtype == np.float32
    assert (task.inputs, task.label, task.image_shape) == (6, 7, (2, 3))


@pytest.mark.parametrize(("field", "value", "error", "message"), [
    ("name", "", TypeError, "name must be a non-empty string"),
    ("x_train", np.full((4, 6), 1.5), ValueError, "x_train must lie in 0 .. 1, got pixels from 1.5 to 1.5"),
    ("x_test", np.full((2, 6), -0.1), ValueError, "x_test must lie in 0 .. 1"),
    ("x_test", np.ones((2, 5)), ValueError, "must have the same width, got 6 and 5 columns"),
    ("x_train", with_value(np.nan), ValueError, "must be finite"),
    ("x_train", np.zeros((0, 6)), ValueError, "x_train is empty"),
    ("label", -1, ValueError, "label must be at least 0"), ("label", 1.0, TypeError, "label must be an integer"),
    ("image_shape", (2, 2), ValueError, "does not make the 6 inputs")])
def test_images_that_no_model_could_learn_are_refused(field, value, error, message):
    with pytest.raises(error, match=re.escape(message)):
        images(**{field: value})
