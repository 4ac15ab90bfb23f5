"""Independent networks: plain networks without shared parameters, one per task."""

import numpy as np
import pytest

from ibpcl.continual.loop import learn_stream
from ibpcl.continual.task import Task
from ibpcl.errors import NonFiniteError
from ibpcl.inference.backend import backend
from ibpcl.methods import method
from ibpcl.methods.independent import Independent, Settings
from ibpcl.models.plain import network as plain_network

SMALL = Settings(hidden=(8,), epochs=6, batch=20, rate=0.02)


def task(t, classes=2, inputs=4, shift=2.0):
    """Blobs: class c is bright in input c."""
    rng = np.random.default_rng(t)
    parts = []
    for examples in (120, 60):
        y = rng.integers(0, classes, examples)
        x = rng.normal(scale=0.4, size=(examples, inputs))
        x[np.arange(examples), y] += shift
        parts += [x, y]
    return Task(f"task {t}", *parts, classes, tuple("abc"[:classes]))


def learned(count=2, **settings):
    learner = Independent(Settings(**{**SMALL.__dict__, **settings}), seed=1)
    *_, last = learn_stream(learner, [task(t) for t in range(count)], progress=False)
    return learner, last


def test_it_learns_and_nothing_is_ever_lost():
    _, last = learned(3)
    assert last.accuracy[-1].min() > 0.95
    # a later task changes no bit of an earlier one
    for j in range(3):
        assert np.ptp(last.accuracy[j:, j]) == 0


def test_a_task_is_learned_as_if_it_were_the_only_one_of_its_number():
    alone, _ = learned(2)
    other = Independent(SMALL, seed=1)
    other.learn(task(7), progress=False)
    other.learn(task(1), progress=False)
    np.testing.assert_array_equal(alone.knowledge.own[1], other.knowledge.own[1])


def test_without_hidden_weights_it_is_softmax_regression():
    """The head's gradient has a closed form: h^T (onehot - p)."""
    rng = np.random.default_rng(0)
    network = plain_network(3, (5,), 4)
    vector = rng.normal(size=network.layout.size)
    x = rng.normal(size=(6, 3))
    y = rng.integers(0, 4, 6)
    total, cache = network.log_likelihood(vector, x, y, backend("numpy"))
    (w0, b0), (w1, b1) = network.weights(vector)
    h = np.maximum(x @ w0 + b0, 0)
    p = np.exp(h @ w1 + b1)
    p /= p.sum(axis=1, keepdims=True)
    assert total == pytest.approx(np.log(p[np.arange(6), y]).sum())
    gradient = network.weights(network.log_likelihood_vjp(1.0, cache))
    np.testing.assert_allclose(gradient[1][0], h.T @ (np.eye(4)[y] - p))


def test_predictions_are_probabilities_of_any_width():
    learner = Independent(SMALL)
    learner.learn(task(0, classes=3, inputs=5), progress=False)
    learner.learn(task(1, classes=2, inputs=4), progress=False)
    for t, (classes, inputs) in enumerate(((3, 5), (2, 4))):
        p = learner.predict(np.random.default_rng(0).normal(size=(7, inputs)), t)
        assert p.shape == (7, classes)
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-5)
    with pytest.raises(ValueError, match="unknown task_id 2"):
        learner.predict(np.zeros((1, 4)), 2)
    with pytest.raises(ValueError, match=r"x must have shape \(N, 5\)"):
        learner.predict(np.zeros((1, 4)), 0)


def test_more_epochs_fit_better_and_the_history_says_so():
    learner = Independent(SMALL)
    history = learner.learn(task(0), progress=False)
    assert [record.epoch for record in history] == list(range(6))
    assert history[-1].log_likelihood > history[0].log_likelihood
    assert history[-1].elbo == history[-1].log_likelihood  # without any KL divergence


def test_the_two_starts_differ_and_have_their_spread():
    network = plain_network(400, (300,), 2)
    for start, deviation in (("uniform", 1 / np.sqrt(3 * 400)), ("he", np.sqrt(2 / 400))):
        weight, _ = network.weights(network.start(np.random.default_rng(0), start))[0]
        assert weight.std() == pytest.approx(deviation, rel=0.02)


def test_what_it_cannot_learn_is_refused():
    with pytest.raises(TypeError, match="must be of kind classification, got regression"):
        Independent(SMALL).learn(Task("r", [[0.0]], [[0.0]], [[1.0]], [[1.0]]))
    with np.errstate(all="ignore"), pytest.raises(NonFiniteError):
        Independent(Settings(hidden=(8,), rate=1e30)).learn(task(0), progress=False)


def test_it_is_registered():
    assert method("independent").learner is Independent
