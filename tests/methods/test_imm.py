"""IMM: the merging of solutions, which does not influence training."""

import numpy as np
import pytest

from ibpcl.methods.imm import IMM, Settings, alphas, merge_mode, merged
from ibpcl.methods.naive import Naive
from ibpcl.methods.naive import Settings as NaiveSettings

SMALL = {"hidden": (8,), "epochs": 4, "batch": 20, "rate": 0.02}


def learned(make_task, tasks=3, **settings):
    learner = IMM(Settings(**{**SMALL, **settings}), seed=2)
    for t in range(tasks):
        learner.learn(make_task(t), progress=False)
    return learner


def merged_of(learner):
    return merged(learner.knowledge, learner.settings)


@pytest.mark.parametrize("last", [None, 0.7])
def test_the_mode_of_equal_informations_is_the_mean(last):
    rng = np.random.default_rng(0)
    solutions = rng.normal(size=(4, 30))
    weights = alphas(4, last)
    information = np.tile(rng.exponential(size=30), (4, 1))
    np.testing.assert_allclose(
        merge_mode(solutions, information, weights), weights @ solutions, rtol=1e-12
    )
    zero = np.zeros((4, 30))  # nothing known of any: the mean again
    np.testing.assert_allclose(
        merge_mode(solutions, zero, weights), weights @ solutions, rtol=1e-12
    )


def test_a_learner_with_equal_fishers_predicts_with_the_mean(make_task):
    learner = learned(make_task)
    for t in range(3):
        learner.knowledge.memory[f"fisher{t}"] = learner.knowledge.memory["fisher0"]
    mean = learned(make_task, merge="mean")
    np.testing.assert_array_equal(mean.knowledge.shared, learner.knowledge.shared)
    np.testing.assert_allclose(merged_of(learner), merged_of(mean), atol=1e-6)


def test_the_mode_maximizes_the_product_of_the_gaussians():
    """It is where the weighted squared distances to all solutions are least."""
    rng = np.random.default_rng(1)
    solutions = rng.normal(size=(3, 5))
    information = rng.exponential(size=(3, 5))
    weights = alphas(3, 0.5)
    mode = merge_mode(solutions, information, weights)

    def distance(theta):
        return (weights[:, None] * information * (theta - solutions) ** 2).sum()

    for i in range(5):
        for step in (-1e-3, 1e-3):
            assert distance(mode + step * np.eye(5)[i]) > distance(mode)


def test_alphas_add_up_to_one():
    for tasks in (1, 2, 5):
        for last in (None, 0.0, 0.3, 1.0):
            assert alphas(tasks, last).sum() == pytest.approx(1)


def test_training_does_not_see_the_merging(make_task):
    learner = learned(make_task, transfer=0.0)
    naive = Naive(NaiveSettings(**SMALL), seed=2)
    for t in range(3):
        naive.learn(make_task(t), progress=False)
    np.testing.assert_array_equal(learner.knowledge.shared, naive.knowledge.shared)
    assert (merged_of(learner) != naive.knowledge.shared).any()
    only = learned(make_task, transfer=0.0, alpha_last=1.0, merge="mean")
    np.testing.assert_array_equal(
        only.predict(make_task(0).x_test, 0), naive.predict(make_task(0).x_test, 0)
    )


def test_transfer_keeps_solutions_close(make_task):
    far = learned(make_task, 2, transfer=0.0)
    close = learned(make_task, 2, transfer=1.0)
    distances = [
        np.abs(learner.knowledge.memory["solution1"] - learner.knowledge.memory["solution0"]).sum()
        for learner in (far, close)
    ]
    assert distances[1] < distances[0] / 2
