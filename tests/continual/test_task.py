"""A task rejects all data that would otherwise fail later, or never fail."""

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ibpcl.continual.task import Task


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


def regression(**changes):
    fields = {
        "name": "line",
        "x_train": np.zeros((4, 6)),
        "y_train": np.zeros((4, 2)),
        "x_test": np.ones((2, 6)),
        "y_test": np.ones((2, 2)),
        "image_shape": (2, 3),
    }
    return Task(**{**fields, **changes})


def images(**changes):
    fields = {
        "name": "seven",
        "x_train": np.full((4, 6), 0.5),
        "x_test": np.ones((2, 6)),
        "image_shape": (2, 3),
        "label": 7,
    }
    return Task(**{**fields, **changes})


KINDS = {"classification": make, "regression": regression, "images": images}
OF_ALL = [
    ("name", "", TypeError, "must be a non-empty string, got ''"),
    ("name", 3, TypeError, "must be a non-empty string, got 3"),
    ("x_train", with_value(np.nan), ValueError, "must be finite, got 1 NaN .*row 2, column 5: nan"),
    ("x_train", with_value(-np.inf), ValueError, "must be finite.*row 2, column 5: -inf"),
    ("x_train", with_value(1e300), ValueError, "must be finite.*row 2, column 5: inf"),
    ("x_train", np.zeros((0, 6)), ValueError, r"must not be empty, got shape \(0, 6\)"),
    ("x_train", np.zeros((4, 0)), ValueError, "must not be empty"),
    ("x_train", np.zeros((4, 2, 3)), ValueError, r"must have shape \(N, D\), got \(4, 2, 3\)"),
    ("x_train", [[0.0], [0.0, 1.0]], ValueError, "rows of one length"),
    (
        "x_train",
        np.zeros((4, 6), complex),
        TypeError,
        "must hold real numbers, got dtype complex128",
    ),
    ("x_train", np.full((4, 6), "0"), TypeError, "must hold real numbers"),
    ("x_test", None, TypeError, "must hold real numbers"),
    (
        "x_test",
        np.full((2, 6), np.nan),
        ValueError,
        "must be finite, got 12 NaN or infinite values",
    ),
    ("x_test", np.zeros((0, 6)), ValueError, "must not be empty"),
    ("x_test", np.zeros((2, 5)), ValueError, "must be as wide as x_train, got 5 and 6 columns"),
    ("image_shape", (2, 2), ValueError, "6 pixels.*got 2 x 2"),
    ("image_shape", (-2, -3), ValueError, "must be at least 1, got -2"),
    ("image_shape", (6,), ValueError, r"must be \(height, width\), got \(6,\)"),
    ("image_shape", 6, ValueError, r"must be \(height, width\), got 6"),
    ("image_shape", (2.0, 3.0), TypeError, "must be an integer, got 2.0"),
]
OF_ONE = {
    "classification": [
        ("classes", 2.0, TypeError, "must be an integer, got 2.0"),
        ("classes", True, TypeError, "must be an integer"),
        ("classes", 0, ValueError, "must be at least 1, got 0"),
        ("class_names", "ab", TypeError, "must be a sequence of strings, got 'ab'"),
        ("class_names", (0, 1), TypeError, "must be a sequence of strings"),
        ("class_names", 2, TypeError, "must be a sequence of strings, got 2"),
        (
            "class_names",
            ("a",),
            ValueError,
            "got 1 names for 2 classes",
        ),
        (
            "y_train",
            np.array([0, 1, 0, 2]),
            ValueError,
            r"must lie in 0 \.\. 1, got labels from 0 to 2",
        ),
        (
            "y_train",
            np.array([0, 1, 0, -1]),
            ValueError,
            r"must lie in 0 \.\. 1, got labels from -1 to 1",
        ),
        ("y_test", np.array([0, 2]), ValueError, r"must lie in 0 \.\. 1, got labels from 0 to 2"),
        (
            "y_train",
            np.array([0.0, 1.0, 0.0, 1.0]),
            TypeError,
            "must hold integers, .*got dtype float64",
        ),
        ("y_train", [True] * 4, TypeError, "must hold integers, .*got dtype bool"),
        (
            "y_train",
            1,
            ValueError,
            r"must have shape \(N,\), or \(N, C\) for a regression, got \(\)",
        ),
        ("y_train", [[0], [1, 0]], ValueError, "rows of one length"),
        ("y_test", np.zeros((2, 1), int), ValueError, r"must have shape \(N,\), .*got \(2, 1\)"),
        ("y_test", np.zeros(0, int), ValueError, "must not be empty"),
        ("y_test", [0, 1, 0], ValueError, "x_test, got 3 and 2"),
        ("y_test", None, TypeError, "must be given"),
        (
            "label",
            1,
            ValueError,
            "images; its kind is classification",
        ),
    ],
    "regression": [
        (
            "y_train",
            with_value(np.nan)[:, 4:],
            ValueError,
            "must be finite, .*row 2, column 1: nan",
        ),
        ("y_train", np.full((4, 2), "0"), TypeError, "must hold real numbers"),
        ("y_train", np.zeros((4, 0)), ValueError, "must not be empty"),
        (
            "y_train",
            np.zeros((3, 2)),
            ValueError,
            "x_train, got 3 and 4",
        ),
        ("y_test", np.zeros((2, 3)), ValueError, "must be as wide as y_train, got 3 and 2 columns"),
        ("y_test", np.zeros(2), ValueError, r"must have shape \(N, D\), got \(2,\)"),
        ("y_test", None, TypeError, "must be given"),
        (
            "classes",
            2,
            ValueError,
            r"its kind is regression.*shape \(4, 2\)",
        ),
        (
            "label",
            1,
            ValueError,
            "images; its kind is regression",
        ),
    ],
    "images": [
        (
            "x_train",
            np.full((4, 6), 1.5),
            ValueError,
            r"must lie in 0 \.\. 1, got pixels from 1.5 to 1.5",
        ),
        (
            "x_test",
            np.full((2, 6), -0.1),
            ValueError,
            r"must lie in 0 \.\. 1, got pixels from -0.1",
        ),
        (
            "class_names",
            ("a",),
            ValueError,
            "its kind is images.*shape None",
        ),
        ("label", -1, ValueError, "must be at least 0, got -1"),
        ("label", 1.0, TypeError, "must be an integer, got 1.0"),
    ],
}


@pytest.mark.parametrize(
    ("kind", "field", "value", "error", "message"),
    [(kind, *bad) for kind in KINDS for bad in (*OF_ALL, *OF_ONE[kind])],
)
def test_bad_input_is_refused_and_named(kind, field, value, error, message):
    name = KINDS[kind]().name
    begin = "Task(name=...): " if field == "name" else f"Task({name!r}, {field}=...): "
    with pytest.raises(error, match=f"^{re.escape(begin)}.*{message}"):
        KINDS[kind](**{field: value})


@pytest.mark.parametrize("kind", KINDS)
def test_the_kind_follows_from_the_targets(kind):
    task = KINDS[kind]()
    assert (task.kind, task.inputs, task.image_shape) == (kind, 6, (2, 3))
    assert task.outputs == {"classification": 2, "regression": 2, "images": 6}[kind]
    assert task.x_train.dtype == task.x_test.dtype == np.float32
    assert dataclasses.replace(task, name="again").kind == kind
    assert (task.classes, task.class_names) == (
        (2, ("a", "b")) if kind == "classification" else (None, None)
    )
    assert task.label == (7 if kind == "images" else None)


def test_classes_and_their_names_follow_from_the_labels():
    found = make(classes=None, class_names=None, y_test=[3, 0])
    assert found.classes == 4 and found.class_names == ("0", "1", "2", "3")
    assert make(classes=None, class_names=list("abc")).classes == 3
    with pytest.raises(TypeError, match="must be a sequence of strings, got 2"):
        make(classes=None, class_names=2)
    assert make(classes=3, class_names=None).class_names == ("0", "1", "2")
    with pytest.raises(ValueError, match=r"must lie in 0 \.\. 1, got labels from -1 to 1"):
        make(classes=None, class_names=None, y_train=[0, 1, 0, -1])
    with pytest.raises(
        ValueError, match="must be given for more than 10000 classes, got 1000000001"
    ):
        make(classes=None, class_names=None, y_train=[0, 1, 0, 10**9])


@given(
    x=hnp.arrays(np.float64, (3, 4), elements=st.floats(-1e3, 1e3)),
    y=hnp.arrays(np.uint8, 3, elements=st.integers(0, 4)),
)
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
