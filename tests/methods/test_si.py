"""SI: the path integral is the decrease of the loss, and without weight SI is naive training."""

import numpy as np
import pytest

from ibpcl.inference.backend import backend
from ibpcl.methods import si
from ibpcl.methods.naive import Naive
from ibpcl.methods.naive import Settings as NaiveSettings
from ibpcl.methods.sequential import accept, start
from ibpcl.methods.si import SI, Settings

SMALL = {"hidden": (8,), "epochs": 4, "batch": 20, "rate": 0.02}


def test_without_weight_it_is_naive_bit_for_bit(make_task):
    one = SI(Settings(**SMALL, weight=0.0), seed=3)
    other = Naive(NaiveSettings(**SMALL), seed=3)
    for t in range(3):
        for learner in (one, other):
            learner.learn(make_task(t), progress=False)
    np.testing.assert_array_equal(one.knowledge.shared, other.knowledge.shared)
    for a, b in zip(one.knowledge.own, other.knowledge.own, strict=True):
        np.testing.assert_array_equal(a, b)


def ends(learner, task, monkeypatch):
    """Learn a task; return its start, the shared start, its end, and the path integral."""
    seen = []

    class Watched(si.PathIntegral):
        def __init__(self, places):
            super().__init__(places)
            seen.append(self)

    monkeypatch.setattr(si, "PathIntegral", Watched)
    context = accept(learner.context, task)
    network = context.next_network(task.outputs)
    begin = start(context, network, task)
    learner.learn(task, progress=False)
    return (begin, context.places(network)), (learner.assemble(0)[1], seen[0].total)


def test_the_path_integral_adds_up_to_the_fall_of_the_loss(make_task, monkeypatch):
    """With small steps on all data and a single head, so that the sum contains all weights."""
    task = make_task(0)
    learner = SI(
        Settings(**{**SMALL, "rate": 0.0005, "batch": 120, "epochs": 60, "single_head": True}),
        0,
        "numpy",
    )
    (begin, _), (vector, path) = ends(learner, task, monkeypatch)
    network = learner.context.next_network(2)
    losses = [
        -network.log_likelihood(weights, task.x_train, task.y_train, backend("numpy"))[0] / 120
        for weights in (begin, vector)
    ]
    fall = losses[0] - losses[1]
    assert fall > 0.01
    assert path.sum() == pytest.approx(fall, rel=0.05)


def test_importance_is_the_integral_over_the_squared_path(make_task, monkeypatch):
    learner = SI(Settings(**SMALL, damping=0.01))
    task = make_task(0)
    (begin, shared), (vector, path) = ends(learner, task, monkeypatch)
    expected = np.maximum(path, 0) / ((vector[shared] - begin[shared]) ** 2 + 0.01)
    np.testing.assert_allclose(learner.knowledge.memory["importance"], expected, rtol=1e-5)
    first = learner.knowledge.memory["importance"]
    learner.learn(make_task(1), progress=False)
    assert (learner.knowledge.memory["importance"] >= first).all()  # it adds up, and never falls
    np.testing.assert_array_equal(learner.knowledge.memory["anchor"], learner.knowledge.shared)


def test_the_penalty_is_the_weighted_square_without_a_half(make_task):
    learner = SI(Settings(**SMALL, weight=3.0))
    learner.learn(make_task(0), progress=False)
    vector = np.random.default_rng(0).normal(size=len(learner.knowledge.shared) + 4)
    places = slice(len(learner.knowledge.shared))
    value, gradient = si.penalty(vector, places, learner.knowledge.memory, 3.0 * 120)
    shift = vector[:-4] - learner.knowledge.memory["anchor"]
    assert value == pytest.approx(
        3.0 * 120 * (learner.knowledge.memory["importance"] * shift**2).sum(), rel=1e-5
    )
    np.testing.assert_allclose(
        gradient[:-4], 6.0 * 120 * learner.knowledge.memory["importance"] * shift, rtol=1e-5
    )
    assert not gradient[-4:].any()


def test_a_large_weight_holds_the_weights(make_task):
    moved = []
    for weight in (0.0, 1e3):
        learner = SI(Settings(**SMALL, weight=weight))
        learner.learn(make_task(0), progress=False)
        first = learner.knowledge.shared
        importance = learner.knowledge.memory["importance"]
        learner.learn(make_task(1), progress=False)
        moved.append((importance * (learner.knowledge.shared - first) ** 2).sum())
    assert moved[1] < moved[0] / 5
