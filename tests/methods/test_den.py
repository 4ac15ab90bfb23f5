"""DEN: exact limits (naive training, selective retraining), and unchanged earlier predictions."""

import dataclasses

import numpy as np
import pytest

from ibpcl import adam
from ibpcl.continual.loop import learn_stream
from ibpcl.inference.backend import backend
from ibpcl.inference.loop import Watch, minibatches
from ibpcl.methods.den import DEN, Settings
from ibpcl.methods.naive import Naive
from ibpcl.methods.naive import Settings as NaiveSettings
from ibpcl.models import expandable
from ibpcl.models.plain import network as plain_network
from ibpcl.noise import Key, generator
from ibpcl.primitives.proximal import soft_threshold

NUMPY = backend("numpy")
COMMON = {"epochs": 3, "batch": 20, "rate": 0.02}
SMALL = Settings(hidden=(8,), head_epochs=2, expand_units=3, split_threshold=0.1, **COMMON)
NEVER = {"loss_threshold": np.inf, "split_threshold": np.inf}


def learner_of(seed=1, **changes):
    return DEN(dataclasses.replace(SMALL, **changes), seed, "numpy")


def learned(tasks, seed=1, **changes):
    learner = learner_of(seed, **changes)
    for task in tasks:
        learner.learn(task, progress=False)
    return learner


def newest(learner):
    """Return the network of the last task and its parameters; copies."""
    return learner.assemble(learner.learned - 1)


def layers(learner):
    """Return weights and biases of each layer of the network of the last task; copies."""
    network, vector = newest(learner)
    return network.weights(vector)


def widths(learner):
    return [learner.context.hidden(t) for t in range(learner.learned)]


def widths_drifted(learner, before):
    """Return how far each unit of an earlier task has moved, after checking the threshold."""
    return [distance for layer in expandable.drift(*newest(learner), *before) for distance in layer]


def test_without_penalties_and_thresholds_it_is_naive_bit_for_bit(make_task):
    """Every unit is selected by a head that does not learn first; nothing is held, added or
    split.
    """
    nothing = dict.fromkeys(("head_epochs", "sparsity", "decay", "drift", "group_sparsity"), 0)
    tasks = [make_task(t, classes=2 + t % 2) for t in range(3)]
    den = learned(tasks, 3, hidden=(8, 7), **nothing, **NEVER)
    naive = Naive(NaiveSettings(hidden=(8, 7), **COMMON), 3, "numpy")
    for task in tasks:
        naive.learn(task, progress=False)
    np.testing.assert_array_equal(den.knowledge.shared, naive.knowledge.shared)
    for t, task in enumerate(tasks):
        np.testing.assert_array_equal(den.knowledge.own[t], naive.knowledge.own[t])
        np.testing.assert_array_equal(den.predict(task.x_test, t), naive.predict(task.x_test, t))


def plain_phase(network, vector, task, key, epochs, trained, mu=0.0, pulls=()):
    """Train with Adam and the soft threshold of its step sizes on the weights, written plainly."""
    weights = np.zeros(network.layout.size, np.float32)
    for weight, _ in network.weights(weights):
        weight[...] = 1
    rates = np.float32(COMMON["rate"]) * trained
    state = adam.start(vector)
    for epoch in range(epochs):
        for rows in minibatches(len(task.x_train), COMMON["batch"], key._replace(step=epoch)):
            _, cache = network.log_likelihood(vector, task.x_train[rows], task.y_train[rows], NUMPY)
            gradient = network.log_likelihood_vjp(-1 / len(rows), cache)
            for strength, anchor in pulls:
                gradient = gradient + strength * (vector - anchor)
            vector, state = adam.update(vector, gradient, state, rates)
            if mu:
                steps = rates / (np.sqrt(state.second / (1 - 0.999**state.step)) + 1e-8)
                vector = soft_threshold(vector, np.float32(mu) * weights * trained * steps)
    return vector


@pytest.mark.parametrize("hidden", [(8,), (8, 7)])
def test_with_infinite_thresholds_it_is_selective_retraining_bit_for_bit(make_task, hidden):
    """Yoon et al. (2018), Algorithm 2, for the second of two tasks."""
    settings = {"hidden": hidden, "sparsity": 0.02, "decay": 0.01, "drift": 0.3, **NEVER}
    first = make_task(0)
    second = make_task(1)
    learner = learned([first], **settings)
    network = plain_network(6, hidden, 2)
    key = Key(1, 1, 0, 0)
    start = network.start(generator(key))
    for (weight, bias), (old_weight, old_bias) in zip(
        network.weights(start), layers(learner)[:-1], strict=False
    ):
        weight[...] = old_weight
        bias[...] = old_bias

    head = np.arange(len(start)) >= len(start) - network.head_size
    vector = plain_phase(network, start, second, key, 2, head, mu=0.02)
    np.testing.assert_array_equal(vector[~head], start[~head])
    units = expandable.reached(network.weights(vector))
    assert 0 < sum(unit.sum() for unit in units) < sum(hidden), (
        "nothing to select: choose other penalties"
    )
    trained = expandable.between(network, units)

    decay = np.float32(0.01) * trained
    drift = np.float32(0.3) * trained
    drift[head] = 0
    vector = plain_phase(
        network, vector, second, key, 3, trained, pulls=((decay, 0 * start), (drift, start))
    )
    learner.learn(second, progress=False)
    np.testing.assert_array_equal(learner.assemble(1)[1], vector)


def test_what_is_retrained_is_the_selected_network_alone(make_task):
    """Cut out of the rest, the selected units compute the same logits, so no other unit matters."""
    learner = learned([make_task(0), make_task(1)], hidden=(8, 7), sparsity=0.02, **NEVER)
    network, vector = learner.assemble(1)
    units = expandable.reached(network.weights(vector))
    cut = expandable.kept_units(network, vector, units)
    assert sum(cut[0].hidden) < 15
    x = make_task(1).x_test
    np.testing.assert_allclose(cut[0].predict(cut[1], x, NUMPY), learner.predict(x, 1), rtol=1e-5)


@pytest.mark.parametrize("hidden", [(8,), (8, 7)])
def test_with_threshold_0_no_earlier_prediction_changes_by_a_bit(make_task, hidden):
    learner = learner_of(hidden=hidden, split_threshold=0.0, loss_threshold=0.0)
    before = {}
    for t in range(4):
        learner.learn(make_task(t, classes=2 + t % 2), progress=False)
        for s, expected in before.items():
            np.testing.assert_array_equal(learner.predict(make_task(s).x_test, s), expected)
        before[t] = learner.predict(make_task(t).x_test, t)
    assert all(np.diff(widths(learner), axis=0)[:, 0] > 0)


def test_expansion_alone_changes_no_earlier_prediction(make_task, monkeypatch):
    """No unit is selected, so only new weights are trained."""
    monkeypatch.setattr(
        expandable, "reached", lambda layers: tuple(np.zeros(len(b), bool) for _, b in layers[:-1])
    )
    learner = learned([make_task(0)], loss_threshold=0.0, split_threshold=np.inf)
    first = learner.predict(make_task(0).x_test, 0)
    weights = layers(learner)[0][0]
    learner.learn(make_task(1), progress=False)
    assert learner.context.hidden(1)[0] > 8
    np.testing.assert_array_equal(layers(learner)[0][0][:, :8], weights)
    np.testing.assert_array_equal(learner.predict(make_task(0).x_test, 0), first)
    p = learner.predict(make_task(1).x_test, 1)
    assert (p.argmax(axis=1) == make_task(1).y_test).mean() > 0.9


def test_no_unit_moves_further_than_the_threshold(make_task):
    learner = learner_of(hidden=(8, 7), split_threshold=0.2, loss_threshold=np.inf, drift=0.01)
    copied = 0
    learner.learn(make_task(0), progress=False)
    for t in range(1, 3):
        before = newest(learner)
        learner.learn(make_task(t), progress=False)
        moved = widths_drifted(learner, before)
        assert max(moved) <= 0.2
        copied += sum(learner.context.hidden(t)) - sum(learner.context.hidden(t - 1))
        assert max(moved) > 0
    assert copied > 0


def test_it_grows_only_while_the_loss_is_not_below_its_threshold(make_task):
    for threshold, grown in ((np.inf, 0), (0.0, 3)):
        learner = learned(
            [make_task(0), make_task(1)], loss_threshold=threshold, split_threshold=np.inf
        )
        assert widths(learner) == [(8,), (8 + grown,)]


def test_group_sparsity_takes_new_units_away_again(make_task):
    learner = learned(
        [make_task(0), make_task(1)], loss_threshold=0.0, split_threshold=np.inf, group_sparsity=3.0
    )
    assert widths(learner) == [(8,), (8,)]


def test_a_drift_penalty_holds_units(make_task):
    moved = []
    for drift in (0.0, 100.0):
        learner = learned([make_task(0)], drift=drift, **NEVER)
        before = newest(learner)
        learner.learn(make_task(1), progress=False)
        moved.append(max(widths_drifted(learner, before)))
    assert moved[1] < moved[0] / 4


def test_it_learns_and_keeps(make_task):
    *_, last = learn_stream(learner_of(epochs=8), [make_task(t) for t in range(3)], progress=False)
    assert last.accuracy[2].min() > 0.9
    assert [record.phase for record in last.history[:2]] == ["head"] * 2
    assert all(np.isfinite(record.elbo) and record.penalty >= 0 for record in last.history)


def test_a_task_goes_through_every_phase(make_task):
    """The network grows twice on the way."""
    learner = learned(
        [make_task(0)], hidden=(8, 7), loss_threshold=0.0, split_threshold=0.3, drift=0.01
    )
    sizes = []
    watch = Watch(False, lambda record, vector: sizes.append((record.phase, vector.size)))
    learner.learn(make_task(1), progress=watch)
    assert list(dict.fromkeys(phase for phase, _ in sizes)) == [
        "head",
        "selected",
        "expanded",
        "split",
    ]
    assert sizes[0][1] < sizes[-4][1] < sizes[-1][1]
