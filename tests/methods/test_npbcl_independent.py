"""A fresh NPBCL for each task: its first task is that of the continual run."""

import numpy as np
import pytest

from ibpcl.experiments.config import configure
from ibpcl.experiments.run import run
from ibpcl.experiments.streams import make_stream
from ibpcl.methods.npbcl import NPBCL
from ibpcl.methods.npbcl_independent import IndependentNPBCL
from ibpcl.methods.npbcl_settings import Settings

NAME = "ibpcl.methods.npbcl_independent:IndependentNPBCL"
TINY = {"train_limit": 60, "test_limit": 30, "tasks": 2}
QUICK = {"hidden": (12,), "epochs": 2, "finetune_epochs": 1, "batch": 20, "samples": 1}


@pytest.fixture(scope="module")
def stream():
    return make_stream(configure("split-glyphs", **TINY))


def learned(kind, tasks, **settings):
    learner = kind(Settings(**QUICK, **settings), seed=5, backend_name="numpy")
    histories = [learner.learn(task, progress=False) for task in tasks]
    return learner, histories


@pytest.mark.parametrize("settings", [{}, {"mask_link": "logit", "unused_prior": "gaussian"}])
def test_the_first_task_is_that_of_the_continual_run_bit_for_bit(stream, settings):
    tasks = [stream[0], stream[1]]
    fresh, ours = learned(IndependentNPBCL, tasks, **settings)
    continual, theirs = learned(NPBCL, tasks[:1], **settings)
    assert ours[0] == theirs[0]
    x = tasks[0].x_test
    np.testing.assert_array_equal(fresh.predict(x, 0), continual.predict(x, 0))
    for mine, other in zip(fresh.masks(0), continual.masks(0), strict=True):
        np.testing.assert_array_equal(mine, other)
    for name, array in continual.state().items():
        np.testing.assert_array_equal(fresh.state()[f"network0.{name}"], array)


def test_the_second_task_is_not_that_of_the_continual_run(stream):
    """The control differs where something could be transferred."""
    tasks = [stream[0], stream[1]]
    fresh, ours = learned(IndependentNPBCL, tasks)
    continual, theirs = learned(NPBCL, tasks)
    assert [record.task for record in ours[1]] == [1] * len(theirs[1])
    assert ours[1][0].elbo != theirs[1][0].elbo
    x = tasks[1].x_test
    assert np.abs(fresh.predict(x, 1) - continual.predict(x, 1)).max() > 1e-6


def test_every_task_is_learned_as_if_it_were_the_first(stream):
    fresh, _ = learned(IndependentNPBCL, [stream[0], stream[1]])
    alone, _ = learned(IndependentNPBCL, [stream[1]])
    x = stream[1].x_test
    np.testing.assert_array_equal(fresh.predict(x, 1), alone.predict(x, 0))


def test_a_saved_state_is_the_learner(stream):
    fresh, _ = learned(IndependentNPBCL, [stream[0], stream[1]])
    copy = IndependentNPBCL(fresh.settings, 5, "numpy")
    copy.load_state(fresh.state())
    for t in range(2):
        x = stream[t].x_test
        np.testing.assert_array_equal(copy.predict(x, t), fresh.predict(x, t))


@pytest.mark.slow(reason="a whole run")
def test_it_makes_a_run(tmp_path):
    config = configure("split-glyphs", method=NAME, **TINY, **QUICK)
    result = run(config, tmp_path / "run").result
    assert result["backward_transfer"] == 0.0
    assert result["mask_density"] is not None


def test_what_it_cannot_do_is_refused(stream):
    with pytest.raises(ValueError, match="single_head must be False"):
        IndependentNPBCL(Settings(single_head=True))
    fresh, _ = learned(IndependentNPBCL, [stream[0]])
    with pytest.raises(ValueError, match="unknown task_id 1"):
        fresh.predict(stream[0].x_test, 1)
