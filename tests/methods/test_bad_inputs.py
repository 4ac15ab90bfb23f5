"""Every method refuses invalid inputs of predictions with one line that names the argument."""

import numpy as np
import pytest

from ibpcl.errors import NonFiniteError
from ibpcl.methods import METHODS, method

SMALL = {
    "hidden": (8,),
    "epochs": 1,
    "batch": 40,
    "samples": 1,
    "prediction_samples": 2,
    "finetune_epochs": 1,
    "likelihood_epochs": 0,
    "start_rho": 9.0,
    "trials": 1,
}


@pytest.fixture(scope="module", params=METHODS)
def learned(request, make_task):
    found = method(request.param)
    known = {
        key: value for key, value in SMALL.items() if key in found.settings.__dataclass_fields__
    }
    known |= {"likelihood": "gaussian"} if request.param == "m2" else {}  # inputs are any numbers
    learner = found.learner(found.settings(**known), 0, "numpy")
    learner.learn(make_task(0), progress=False)
    return learner


@pytest.mark.parametrize(
    ("x", "task_id", "error", "message"),
    [
        ([[0.0] * 5 + [np.nan]], 0, ValueError, r"x must be finite, got 1 NaN .* row 0, column 5"),
        ([[0.0] * 5 + [np.inf]], 0, ValueError, "x must be finite"),
        (np.full((1, 6), 1e300), 0, ValueError, "x must be finite"),
        ([[0.0] * 6, [0.0] * 5], 0, ValueError, "x must have rows of one length"),
        (np.zeros((2, 5)), 0, ValueError, r"x must have shape \(N, 6\), got \(2, 5\)"),
        ([["a"] * 6], 0, TypeError, "x must hold real numbers"),
        (np.zeros((2, 6)), 0.0, TypeError, "task_id must be an integer, got 0.0"),
        (np.zeros((2, 6)), "a", TypeError, "task_id must be an integer, got 'a'"),
        (np.zeros((2, 6)), 1, ValueError, r"unknown task_id 1; 0 \.\.\. 0"),
    ],
)
def test_invalid_inputs_are_refused_and_named(learned, x, task_id, error, message):
    with pytest.raises(error, match=rf"\w+\.predict: {message}"):
        learned.predict(x, task_id)


@pytest.mark.parametrize(
    ("task_id", "error"), [("0", TypeError), (0.0, TypeError), (True, TypeError)]
)
def test_masks_of_no_task_are_refused(learned, task_id, error):
    if not hasattr(learned, "masks"):
        pytest.skip("has no masks")
    with pytest.raises(error, match=r"\w+\.masks: task_id must be an integer"):
        learned.masks(task_id)
    for unknown in (-1, 1):
        with pytest.raises(ValueError, match=rf"\w+\.masks: unknown task_id {unknown}"):
            learned.masks(unknown)


def test_a_path_that_names_no_file_is_refused(learned, tmp_path):
    with pytest.raises(TypeError, match=r"\w+\.save: path must be a str or path-like, got 5"):
        learned.save(5)
    for path in ("", "/", tmp_path):
        with pytest.raises(ValueError, match=r"\w+\.save: path must name a file"):
            learned.save(path)
    with pytest.raises(FileNotFoundError, match="nodir"):
        learned.save(tmp_path / "nodir" / "x.npz")


def test_errors_of_numpy_may_be_exceptions(learned, make_task):
    with np.errstate(all="raise"):
        learned.learn(make_task(1), progress=False)
        assert np.isfinite(learned.predict(make_task(1).x_test, 1)).all()


def test_information_that_is_not_finite_is_not_kept(make_task):
    task = make_task(0)
    huge = type(task)(
        "huge", 1e20 * task.x_train, task.y_train, task.x_test, task.y_test, 2, ("a", "b")
    )
    learner = method("ewc").learner(method("ewc").settings(epochs=0), 0, "numpy")
    with (
        pytest.raises(NonFiniteError, match="Fisher information is not finite"),
        np.errstate(all="ignore"),
    ):
        learner.learn(huge, progress=False)
