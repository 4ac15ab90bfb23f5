"""Rehearsal: with whole tasks in its buffers it is joint training."""

from functools import partial

import numpy as np
import pytest

from ibpcl.methods import joint, naive
from ibpcl.methods.pooled import pooled_likelihood, start_all
from ibpcl.methods.rehearsal import Rehearsal, Settings, minibatch

SMALL = {"hidden": (8,), "epochs": 6, "batch": 1000, "rate": 0.02}


@pytest.mark.parametrize("single_head", [False, True])
def test_with_the_whole_data_it_is_joint_training(make_task, single_head):
    one = joint.Joint(joint.Settings(**SMALL, restart=False, single_head=single_head))
    other = Rehearsal(Settings(**SMALL, buffer_size=1000, single_head=single_head))
    for t in range(3):
        # tasks of several sizes: they count by their size
        task = make_task(t, examples=80 + 20 * t)
        histories = [learner.learn(task, progress=False) for learner in (one, other)]
        for a, b in zip(*histories, strict=True):
            assert a.log_likelihood == pytest.approx(b.log_likelihood, rel=1e-4)
    np.testing.assert_allclose(one.knowledge.shared, other.knowledge.shared, atol=2e-3)
    for a, b in zip(one.knowledge.own, other.knowledge.own, strict=True):
        np.testing.assert_allclose(a, b, atol=2e-3)


def test_its_gradient_is_joint_trainings(make_task):
    """Of one step, in float64: loss and gradient are the same to rounding."""
    learners = (
        joint.Joint(joint.Settings(**{**SMALL, "epochs": 0}, restart=False), 0, "numpy"),
        Rehearsal(Settings(**{**SMALL, "epochs": 0}, buffer_size=1000), 0, "numpy"),
    )
    found = []
    for learner in learners:
        learner.learn(make_task(0, examples=50), progress=False)
        task = make_task(1, examples=70)
        context = learner.context
        vector = np.random.default_rng(0).normal(size=len(start_all(context, task, False)))
        if isinstance(learner, Rehearsal):
            groups = partial(minibatch, context, task)
            size = 70
        else:
            groups = partial(joint.minibatch, joint.pool_of(context, task))
            size = 120
        objective = pooled_likelihood(context, task, lambda rows, step, groups=groups: groups(rows))
        parts, gradient, *_ = objective(vector, np.arange(size), 0, 1)
        found.append((parts.log_likelihood, gradient))
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-12)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-9, atol=1e-13)


def test_without_weight_it_is_naive(make_task):
    one = naive.Naive(naive.Settings(**SMALL))
    other = Rehearsal(Settings(**SMALL, weight=0.0))
    for t in range(3):
        for learner in (one, other):
            learner.learn(make_task(t, examples=80), progress=False)
    np.testing.assert_allclose(one.knowledge.shared, other.knowledge.shared, atol=1e-6)
    for a, b in zip(one.knowledge.own, other.knowledge.own, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_its_weight_says_how_many_examples_a_buffer_stands_for(make_task):
    learner = Rehearsal(Settings(**{**SMALL, "epochs": 0}, buffer_size=10, weight=0.25))
    learner.learn(make_task(0), progress=False)
    groups, whole = minibatch(learner.context, make_task(1, examples=30), np.arange(15))
    assert [group.scale for group in groups] == [2, 0.25 * 120 / 10] and whole == 30 + 0.25 * 120


@pytest.mark.parametrize("buffer", ["random", "k_center"])
def test_a_buffer_holds_examples_of_its_task(make_task, buffer):
    learner = Rehearsal(Settings(**{**SMALL, "epochs": 0}, buffer=buffer, buffer_size=7))
    task = make_task(0)
    learner.learn(task, progress=False)
    x = learner.knowledge.memory["x0"]
    y = learner.knowledge.memory["y0"]
    assert len(np.unique(x, axis=0)) == 7
    for row, label in zip(x, y, strict=True):
        (n,) = np.flatnonzero((task.x_train == row).all(axis=1))
        assert task.y_train[n] == label
    groups, whole = minibatch(learner.context, make_task(1, examples=30), np.arange(10))
    assert [group.scale for group in groups] == [3, 120 / 7] and whole == 150
