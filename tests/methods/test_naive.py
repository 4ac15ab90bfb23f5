"""Naive training: its first task equals that of independent networks, and it forgets."""

import numpy as np

from ibpcl.continual.loop import learn_stream
from ibpcl.continual.task import Task
from ibpcl.methods import independent, naive

SMALL = {"hidden": (8,), "epochs": 4, "batch": 20, "rate": 0.02}


def test_one_task_alone_is_the_reference_bit_for_bit(make_task):
    one = naive.Naive(naive.Settings(**SMALL))
    other = independent.Independent(independent.Settings(**SMALL))
    for learner in (one, other):
        learner.learn(make_task(0), progress=False)
    np.testing.assert_array_equal(
        np.concatenate([one.knowledge.shared, one.knowledge.own[0]]), other.knowledge.own[0]
    )


def test_a_task_goes_on_from_the_last_one(make_task):
    learner = naive.Naive(naive.Settings(**{**SMALL, "epochs": 0}))
    learner.learn(make_task(0), progress=False)
    before = learner.knowledge.shared.copy()
    head = learner.knowledge.own[0].copy()
    learner.learn(make_task(1), progress=False)
    np.testing.assert_array_equal(learner.knowledge.shared, before)
    np.testing.assert_array_equal(learner.knowledge.own[0], head)
    assert (learner.knowledge.own[1] != head).all()


def test_with_one_head_it_forgets_a_task_that_the_next_contradicts(make_task):
    first = make_task(0)
    second = Task(
        "turned round",
        first.x_train,
        1 - first.y_train,
        first.x_test,
        1 - first.y_test,
        2,
        ("a", "b"),
    )
    learner = naive.Naive(naive.Settings(**{**SMALL, "single_head": True, "epochs": 10}))
    *_, last = learn_stream(learner, [first, second], progress=False)
    assert last.accuracy[0, 0] > 0.9 and last.accuracy[1, 0] < 0.2
