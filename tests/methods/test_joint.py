"""Joint training uses all data, each example with the head of its task."""

import numpy as np
import pytest

from ibpcl.continual.loop import learn_stream
from ibpcl.methods.joint import Joint, Settings, minibatch, pool_of
from ibpcl.methods.pooled import start_all

SMALL = {"hidden": (8,), "epochs": 8, "batch": 20, "rate": 0.02}


def test_nothing_is_forgotten(make_task):
    *_, last = learn_stream(
        Joint(Settings(**SMALL)), [make_task(t) for t in range(3)], progress=False
    )
    assert last.accuracy[-1].min() > 0.9


def test_the_groups_of_a_minibatch_are_the_pool(make_task):
    learner = Joint(Settings(**{**SMALL, "epochs": 0}))
    tasks = [make_task(t, examples=10 + t) for t in range(3)]
    for task in tasks[:2]:
        learner.learn(task, progress=False)
    rows = np.array([0, 9, 10, 20, 21, 32])
    groups, whole = minibatch(pool_of(learner.context, tasks[2]), rows)
    assert whole == 33
    assert [group.scale for group in groups] == [33 / 6] * 3
    assert [group.task for group in groups] == [0, 1, 2]
    for group, task, own in zip(groups, tasks, ([0, 9], [0, 10], [0, 11]), strict=True):
        np.testing.assert_array_equal(group.x, task.x_train[own])
        np.testing.assert_array_equal(group.labels, task.y_train[own])


@pytest.mark.parametrize("single_head", [False, True])
def test_a_restart_forgets_how_it_got_there(make_task, single_head):
    """Without training, a restarted network is the start of the first task again, with fresh
    heads.
    """
    learner = Joint(Settings(**SMALL, single_head=single_head))
    learner.learn(make_task(0), progress=False)
    fresh = Joint(Settings(**{**SMALL, "epochs": 0}, single_head=single_head))
    fresh.learn(make_task(0), progress=False)
    again = start_all(learner.context, make_task(1), restart=True)
    np.testing.assert_array_equal(again[: len(fresh.knowledge.shared)], fresh.knowledge.shared)
    assert (again[: len(fresh.knowledge.shared)] != learner.knowledge.shared).any()
