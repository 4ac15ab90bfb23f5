"""Online Laplace: Bayes' rule in an exact case, and naive training at weight 0."""

import numpy as np
import pytest

from ibpcl.continual import fisher
from ibpcl.methods.laplace import Laplace, Settings, penalty
from ibpcl.methods.naive import Naive
from ibpcl.methods.naive import Settings as NaiveSettings

SMALL = {"hidden": (8,), "epochs": 4, "batch": 20, "rate": 0.02}


def learned(make_task, tasks=2, **settings):
    learner = Laplace(Settings(**{**SMALL, **settings}), seed=3)
    for t in range(tasks):
        learner.learn(make_task(t), progress=False)
    return learner


def test_without_weight_it_is_naive_bit_for_bit(make_task):
    one = learned(make_task, 3, weight=0.0)
    other = Naive(NaiveSettings(**SMALL), seed=3)
    for t in range(3):
        other.learn(make_task(t), progress=False)
    np.testing.assert_array_equal(one.knowledge.shared, other.knowledge.shared)
    for a, b in zip(one.knowledge.own, other.knowledge.own, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_precision_adds_up_over_examples_and_tasks(make_task):
    one = learned(make_task, 1, prior_sigma=0.5)
    two = learned(make_task, 2, prior_sigma=0.5)
    for learner, before, t in ((one, 4.0, 0), (two, one.knowledge.memory["precision"], 1)):
        vector = np.concatenate([learner.knowledge.shared, learner.knowledge.own[t]])
        found = fisher.diagonal(
            learner.context.next_network(2), vector, make_task(t).x_train, None, "exact", None
        )
        np.testing.assert_allclose(
            learner.knowledge.memory["precision"],
            before + 120 * found[: len(learner.knowledge.shared)],
            rtol=1e-5,
        )
        np.testing.assert_array_equal(learner.knowledge.memory["mean"], learner.knowledge.shared)


def test_the_penalty_is_minus_the_logarithm_of_the_prior(make_task):
    learner = learned(make_task, 1, prior_sigma=2.0, weight=3.0)
    count = len(learner.knowledge.shared)
    vector = np.random.default_rng(0).normal(size=count + 4)
    value, gradient = penalty(vector, slice(count), learner.knowledge.memory, learner.settings)
    shift = np.append(vector[:count] - learner.knowledge.memory["mean"], vector[count:])
    precision = np.append(learner.knowledge.memory["precision"], np.full(4, 0.25))
    assert value == pytest.approx(1.5 * (precision * shift**2).sum(), rel=1e-6)
    np.testing.assert_allclose(gradient, 3.0 * precision * shift, rtol=1e-5)


def test_a_narrow_prior_keeps_the_weights_at_zero(make_task):
    assert (
        np.abs(learned(make_task, 1, prior_sigma=0.01, epochs=10).knowledge.shared).max()
        < np.abs(learned(make_task, 1, prior_sigma=10.0, epochs=10).knowledge.shared).max() / 2
    )
