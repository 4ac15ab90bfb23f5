"""EWC: its penalty, its anchors, and naive training as its exact limit."""

import numpy as np
import pytest

from ibpcl.continual import fisher
from ibpcl.methods.ewc import EWC, Settings, penalty
from ibpcl.methods.naive import Naive
from ibpcl.methods.naive import Settings as NaiveSettings

SMALL = {"hidden": (8,), "epochs": 4, "batch": 20, "rate": 0.02}


def learned(make_task, tasks=2, **settings):
    learner = EWC(Settings(**{**SMALL, **settings}), seed=3)
    for t in range(tasks):
        learner.learn(make_task(t), progress=False)
    return learner


@pytest.mark.parametrize("variant", ["separate", "online"])
def test_without_weight_it_is_naive_bit_for_bit(make_task, variant):
    one = learned(make_task, 3, weight=0.0, variant=variant)
    other = Naive(NaiveSettings(**SMALL), seed=3)
    for t in range(3):
        other.learn(make_task(t), progress=False)
    np.testing.assert_array_equal(one.knowledge.shared, other.knowledge.shared)
    for a, b in zip(one.knowledge.own, other.knowledge.own, strict=True):
        np.testing.assert_array_equal(a, b)


def test_with_a_large_weight_nothing_moves_that_matters(make_task):
    loose, tight = (learned(make_task, weight=weight) for weight in (0.0, 1e5))
    moved = []
    for learner in (loose, tight):
        first = learned(make_task, 1)
        moved.append(
            (
                first.knowledge.memory["fisher"]
                * (learner.knowledge.shared - first.knowledge.shared) ** 2
            ).sum()
        )
    assert moved[1] < moved[0] / 10


@pytest.mark.parametrize("kind", fisher.DEFINITIONS)
def test_the_penalty_is_half_of_the_weighted_square(make_task, kind):
    """The factor 1/2 of the Laplace approximation, N examples, and one anchor per task."""
    learner = learned(make_task, variant="separate", weight=7.0, fisher=kind, fisher_examples=50)
    vector = np.random.default_rng(0).normal(size=len(learner.knowledge.shared) + 5)
    places = slice(len(learner.knowledge.shared))
    weight = 7.0 * len(make_task(2).x_train)
    value, gradient = penalty(vector, places, learner.knowledge.memory, weight)
    expected = 0.0
    slope = np.zeros_like(vector)
    for s in range(2):
        shift = vector[:-5] - learner.knowledge.memory[f"anchor{s}"]
        expected += 7.0 / 2 * 120 * (learner.knowledge.memory[f"fisher{s}"] * shift**2).sum()
        slope[:-5] += 7.0 * 120 * learner.knowledge.memory[f"fisher{s}"] * shift
    assert value == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(gradient, slope, rtol=1e-5)


def test_online_and_separate_agree_while_there_is_one_anchor(make_task):
    one, other = (learned(make_task, 2, variant=variant) for variant in ("online", "separate"))
    np.testing.assert_array_equal(one.knowledge.shared, other.knowledge.shared)
    np.testing.assert_allclose(
        one.knowledge.memory["fisher"],
        other.knowledge.memory["fisher0"] + other.knowledge.memory["fisher1"],
        rtol=1e-6,
    )
    np.testing.assert_array_equal(one.knowledge.memory["anchor"], other.knowledge.memory["anchor1"])


def test_decayed_information_is_forgotten(make_task):
    one = learned(make_task, 2, decay=0.0)
    last = one.knowledge.memory["fisher"]
    vector = np.concatenate([one.knowledge.shared, one.knowledge.own[1]])
    np.testing.assert_allclose(
        last,
        fisher.diagonal(
            one.context.next_network(2), vector, make_task(1).x_train, None, "exact", None
        )[: len(one.knowledge.shared)],
        rtol=1e-5,
    )


def test_the_fisher_is_of_what_is_shared(make_task):
    head = (8 + 1) * 2
    assert len(learned(make_task, 1, single_head=True).knowledge.memory["fisher"]) == (
        len(learned(make_task, 1).knowledge.memory["fisher"]) + head
    )
