"""What the front door answers to arguments that cannot be meant: one line that names the argument;
and NumPy's own.
"""

import warnings

import numpy as np
import pytest

import ibpcl
from ibpcl.errors import UserError

pytestmark = pytest.mark.usefixtures("no_figures")

X = np.random.default_rng(0).random((60, 8))
Y = np.repeat([0, 1, 2, 3], 15)
CLASSES = [(0, 1), (2, 3)]
SMALL = {"method": "naive", "epochs": 1, "hidden": (3,), "backend": "numpy"}


@pytest.fixture(scope="module")
def tasks():
    return ibpcl.tasks_from_arrays(X, Y, CLASSES)


def refused(call, *words):
    """Assert that a call is refused in one line that has the words."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((UserError, TypeError, ValueError)) as caught:
            call()
    said = str(caught.value)
    assert "\n" not in said
    assert all(word in said for word in words), said


MASKED = np.ma.masked_greater(X, 0.5)
WRONG_ARRAYS = {
    "ragged": (([[1.0, 2.0], [3.0]], [0, 1]), {}, "x"),
    "empty": ((np.zeros((0, 8)), np.zeros(0, int)), {}, "x"),
    "no width": ((np.zeros((60, 0)), Y), {}, "x"),
    "masked": ((MASKED, Y, CLASSES), {}, "x"),
    "masked labels": ((X, np.ma.masked_equal(Y, 2), CLASSES), {}, "y"),
    "test is text": ((X, Y, CLASSES), {"test": "0.2"}, "test"),
    "test is NaN": ((X, Y, CLASSES), {"test": np.nan}, "test"),
    "negative seed": ((X, Y, CLASSES), {"seed": -1}, "seed"),
    "no seed": ((X, Y, CLASSES), {"seed": None}, "seed"),
    "names are a number": ((X, Y, CLASSES), {"class_names": 5}, "class_names"),
    "labels are text": ((X, Y, ["10", "23"]), {}, "classes"),
    "labels are fractions": ((X, Y, [(0.5, 1), (2, 3)]), {}, "classes"),
    "labels are one text": ((X, Y, "0123"), {}, "classes"),
}


@pytest.mark.parametrize("name", WRONG_ARRAYS)
def test_wrong_arrays_are_refused_by_name(name):
    arguments, options, named = WRONG_ARRAYS[name]
    refused(lambda: ibpcl.tasks_from_arrays(*arguments, **options), f"{named} ")


def test_a_number_that_is_missing_is_named_by_its_place_in_what_was_given():
    spoiled = X.copy()
    spoiled[3, 4] = np.nan
    refused(lambda: ibpcl.tasks_from_arrays(spoiled, Y, CLASSES), "x must", "row 3, column 4")


def test_a_masked_array_without_masked_elements_is_an_array():
    tasks = ibpcl.tasks_from_arrays(np.ma.masked_array(X), Y, CLASSES)
    assert tasks.sha256 == ibpcl.tasks_from_arrays(X, Y, CLASSES).sha256
    refused(lambda: ibpcl.Task("a", np.ma.masked_less(X, 0.1), Y, X, Y), "x_train", "masked")


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda tasks: ibpcl.learn(ibpcl.learner("ewc"), [1, 2]), "stream"),
        (lambda tasks: ibpcl.learn(ibpcl.learner("ewc"), []), "stream"),
        (lambda tasks: ibpcl.learn(type(ibpcl.learner("ewc")), tasks), "learner"),
        (lambda tasks: ibpcl.learn(ibpcl.learner("ewc"), tasks, progress="yes"), "progress"),
        (lambda tasks: ibpcl.learner(tasks=3, dataset="mnist"), "tasks"),
        (lambda tasks: ibpcl.learner(experiment="x"), "experiment"),
        (lambda tasks: ibpcl.learner("ewc", epochs=np.ma.masked_array(3, True)), "epochs"),
        (lambda tasks: ibpcl.run(tasks, tasks=1, **SMALL), "tasks"),
        (lambda tasks: ibpcl.run(tasks, dataset="mnist", **SMALL), "dataset"),
        (lambda tasks: ibpcl.run(tasks, stream="permuted", **SMALL), "stream"),
        (lambda tasks: ibpcl.run(tasks, classes=[(0, 1)], **SMALL), "classes"),
        (lambda tasks: ibpcl.run("split-glyphs", classes=[(0, 1)], **SMALL), "classes"),
        (lambda tasks: ibpcl.run(tasks, out=5, **SMALL), "out"),
        (lambda tasks: ibpcl.run(tasks, force="no", **SMALL), "force"),
        (lambda tasks: ibpcl.run(tasks, seed="one", **SMALL), "seed"),
        (lambda tasks: ibpcl.run(tasks, seed=True, **SMALL), "seed"),
        (lambda tasks: ibpcl.compare(tasks, methods=[]), "methods"),
        (lambda tasks: ibpcl.compare(tasks, methods=7), "methods"),
        (lambda tasks: ibpcl.compare(tasks, ["ewc"], seeds="3"), "seeds"),
        (lambda tasks: ibpcl.compare(tasks, ["ewc"], out=None), "out"),
        (lambda tasks: ibpcl.compare(tasks, ["ewc"], data_dir=3), "data_dir"),
        (lambda tasks: ibpcl.compare(tasks, ["ewc"], executor="all"), "executor"),
        (lambda tasks: ibpcl.load(5), "path"),
        (lambda tasks: ibpcl.load("x", method="ewc"), "method"),
        (lambda tasks: ibpcl.load_run(None), "folder"),
        (lambda tasks: ibpcl.datasets.load("glyphs", seed=-1), "seed"),
        (lambda tasks: ibpcl.datasets.load("glyphs", seed="a"), "seed"),
        (lambda tasks: ibpcl.datasets.load(5), "name"),
        (lambda tasks: ibpcl.datasets.load(["mnist"]), "name"),
        (lambda tasks: ibpcl.datasets.load("mnist", data_dir=5), "data_dir"),
        (lambda tasks: ibpcl.datasets.status(data_dir=5), "data_dir"),
    ],
)
def test_wrong_arguments_are_refused_by_name(call, named, tasks):
    refused(lambda: call(tasks), named)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("rtol", np.nan),
        ("rtol", -1),
        ("rtol", "1e-6"),
        ("seed", -1),
        ("seed", 0.5),
        ("seed", None),
        ("timeout", "10"),
        ("timeout", np.nan),
        ("timeout", -1),
    ],
)
def test_the_checker_refuses_numbers_that_would_mislead(option, value):
    refused(
        lambda: ibpcl.check(
            lambda x: (x**2, x), lambda d, x: 2 * x * d, (np.array([1.0, 2.0]),), **{option: value}
        ),
        f"{option} must",
    )


def test_numbers_of_numpy_are_numbers(tmp_path, tasks):
    settings = {"epochs": np.int64(3), "hidden": np.array([50]), "rate": np.float32(0.5)}
    learner = ibpcl.learner("ewc", seed=np.arange(3)[1], **settings)
    assert learner.settings == ibpcl.learner("ewc", epochs=3, hidden=(50,), rate=0.5).settings
    assert (type(learner.seed), learner.seed) == (int, 1)
    keys = {**SMALL, "epochs": np.int16(1), "hidden": np.array([3]), "seed": np.uint8(2)}
    run = ibpcl.run(tasks, tmp_path / "r", **keys)
    assert run.config == ibpcl.load_run(tmp_path / "r").config
    report = ibpcl.compare(
        tasks,
        ["naive"],
        seeds=np.int64(1),
        out=tmp_path / "c",
        epochs=np.int64(1),
        hidden=np.array([3]),
        backend="numpy",
    )
    assert not report.failures


def test_keys_that_say_what_own_tasks_are_may_be_said(tmp_path, tasks):
    """So a run's own configuration, which has them, can be run again."""
    assert ibpcl.run(tasks, tasks=2, stream="own", dataset="own", **SMALL).config.tasks == 2
