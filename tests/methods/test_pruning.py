"""Pruning: the penalty against differences, what stays for ever, and naive training as a limit."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest

from ibpcl.errors import TrainingError
from ibpcl.inference.backend import backend
from ibpcl.methods import naive, pruning
from ibpcl.methods.pruning import (
    PRUNE_NOTHING,
    Pruning,
    Settings,
    absolute,
    absolute_vjp,
    cut,
    incoming,
    largest_threshold,
    mean_activations,
)
from ibpcl.methods.sequential import accept
from ibpcl.models.plain import network as plain_network
from ibpcl.verify import check

NUMPY = backend("numpy")
COMMON = {"hidden": (12, 9), "epochs": 6, "batch": 40, "rate": 0.02}
SMALL = Settings(**COMMON, sparsity=0.01, margin=0.05)


def learner_of(seed=3, backend_name="numpy", **changes):
    return Pruning(dataclasses.replace(SMALL, **changes), seed, backend_name)


def random_network(seed=0):
    network = plain_network(5, (7, 6), 3)
    rng = np.random.default_rng(seed)
    vector = rng.normal(size=network.layout.size)
    return network, vector, rng.random(13) < 0.5, rng.normal(size=(20, 5))


# The penalty.


def test_the_gradient_of_the_penalty_is_right_by_two_witnesses():
    rng = np.random.default_rng(0)
    weights, strength = rng.normal(size=(2, 8))
    strength = np.abs(strength)
    assert check(absolute, absolute_vjp, (weights, strength), wrt=(0,)).ok

    def opposite(dtotal, cache):
        return -absolute_vjp(dtotal, cache)

    def unweighted(dtotal, cache):
        return dtotal * np.sign(cache[0])

    for wrong in (opposite, unweighted):
        assert not check(absolute, wrong, (weights, strength), wrt=(0,)).ok


def test_the_subgradient_at_zero_is_zero():
    _, cache = absolute(np.array([0.0, -2.0]), np.array([3.0, 3.0]))
    np.testing.assert_array_equal(absolute_vjp(1.0, cache), [0.0, -3.0])


def test_the_history_has_the_penalty_of_what_is_trained(make_task):
    """At the first step: all weights for the first task, for the second those into free units."""
    task = make_task(0)
    learner = learner_of(epochs=1, batch=1000, sparsity=0.3, threshold=0.05)
    for t in range(2):
        context = accept(learner.context, task)
        network = context.next_network(2)
        fresh = context.model.start(context, network, task)
        trained = ~incoming(network, learner.used_units())
        [record] = learner.learn(task, progress=False)
        expected = 0.3 * len(task.x_train) * np.abs(fresh[trained]).sum()
        assert record.penalty == pytest.approx(expected, rel=1e-4)
        assert t == 1 or (trained.all() and 0 < learner.used_units().sum() < 21)


def test_a_stronger_penalty_leaves_smaller_weights_and_fewer_units(make_task):
    sums = []
    used = []
    for sparsity in (0.0, 0.01, 0.1):
        learner = learner_of(sparsity=sparsity, threshold=0.02, epochs=30)
        learner.learn(make_task(0), progress=False)
        sums.append(np.abs(learner.knowledge.shared).sum())
        used.append(learner.used_units().sum())
    assert sums == sorted(sums, reverse=True) and sums[-1] < sums[0] / 2
    assert used == sorted(used, reverse=True) and used[-1] < used[0]


# What is cut, and what stays.


def test_mean_activations_are_those_of_the_network():
    network, vector, _, x = random_network()
    found = mean_activations(network, vector, x)
    (first, b1), (second, b2), _ = network.weights(vector)
    h1 = np.array([[max(0.0, row @ first[:, k] + b1[k]) for k in range(7)] for row in x])
    h2 = np.array([[max(0.0, row @ second[:, k] + b2[k]) for k in range(6)] for row in h1])
    np.testing.assert_allclose(found, [*h1.mean(axis=0), *h2.mean(axis=0)], rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_nothing_that_later_tasks_change_reaches_a_unit_in_use(seed):
    """Change every weight into the other units at random: the outputs stay, bit for bit."""
    network, vector, used, x = random_network(seed)
    vector = vector.astype(np.float32)
    free = incoming(network, ~used)
    pruned = cut(network, vector, used)
    changed = np.where(free, np.random.default_rng(9).normal(size=len(vector)), pruned)
    changed = changed.astype(np.float32)
    np.testing.assert_array_equal(*(network.predict(v, x, NUMPY) for v in (pruned, changed)))
    # without the cut they change, and a cut changes nothing else
    whole = np.where(free, changed, vector)
    assert not np.array_equal(*(network.predict(v, x, NUMPY) for v in (vector, whole)))
    np.testing.assert_array_equal(pruned[pruned != 0], vector[pruned != 0])
    sides = [used[:7], used[7:], np.ones(3, bool)]
    for i, (weight, bias) in enumerate(network.weights(pruned)):
        assert (bias != 0).all()
        severed = np.outer(~sides[i - 1], sides[i]) if i else np.zeros(weight.shape, bool)
        np.testing.assert_array_equal(weight == 0, severed)


@pytest.mark.parametrize("backend_name", ["numpy", "numba"])
def test_predictions_of_earlier_tasks_never_change(make_task, backend_name):
    learner = learner_of(3, backend_name)
    found = []
    frozen = []
    for t in range(4):
        learner.learn(make_task(t), progress=False)
        used = learner.used_units()
        frozen.append(learner.knowledge.shared[incoming(learner.assemble(t)[0], used)[:-20]])
        found.append([learner.predict(make_task(s).x_test, s) for s in range(t + 1)])
    for t in range(4):
        for later in found[t:]:
            np.testing.assert_array_equal(later[t], found[t][t])
        network, _ = learner.assemble(t)
        places = incoming(network, learner.used_units(t))[:-20]
        np.testing.assert_array_equal(learner.knowledge.shared[places], frozen[t])
    # each task had something to train
    assert not np.array_equal(found[1][0], found[1][1])


def test_without_the_cut_predictions_change(make_task, monkeypatch):
    """The test above can fail: the cut is what protects an earlier task."""
    monkeypatch.setattr(pruning, "cut", lambda network, vector, used: vector)
    learner = learner_of(threshold=0.3)
    learner.learn(make_task(0), progress=False)
    assert 0 < learner.used_units().sum() < 21
    before = learner.predict(make_task(0).x_test, 0)
    learner.learn(make_task(1), progress=False)
    assert not np.array_equal(learner.predict(make_task(0).x_test, 0), before)


def test_the_units_in_use_only_grow(make_task):
    learner = learner_of(threshold=0.2)
    np.testing.assert_array_equal(learner.used_units(), np.zeros(21, bool))
    for t in range(4):
        learner.learn(make_task(t), progress=False)
    used = [learner.used_units(t) for t in range(4)]
    for before, after in pairwise(used):
        assert (before <= after).all()
    assert used[0].sum() < used[-1].sum()
    np.testing.assert_array_equal(used[-1], learner.used_units())


def test_free_units_are_drawn_afresh(make_task):
    """A second task that trains nothing: weights into free units are those that it would draw."""
    learner = learner_of(threshold=0.3)
    learner.learn(make_task(0), progress=False)
    before = learner.knowledge.shared
    idle = learner_of(threshold=1e9, epochs=0)
    idle.load_state(learner.state())
    context = idle.context
    network = context.next_network(2)
    fresh = context.model.start(context, network, make_task(1))
    held = incoming(network, idle.used_units())
    idle.learn(make_task(1), progress=False)
    _, vector = idle.assemble(1)
    free = ~held & (vector != 0)
    np.testing.assert_array_equal(vector[free], fresh[free])
    np.testing.assert_array_equal(vector[held], before[held[: len(before)]])
    assert free.sum() > 30 and held.sum() > 30


# The threshold.


@pytest.mark.parametrize("margin", [0.0, 0.03, 0.2])
def test_the_threshold_is_the_largest_that_keeps_the_margin(make_task, margin):
    """By trying all sets of units with the largest means, in a random network."""
    task = make_task(0)
    learner = learner_of(margin=margin)
    context = accept(learner.context, task)
    network = context.next_network(2)
    vector = np.random.default_rng(1).normal(size=network.layout.size).astype(np.float32)
    means = mean_activations(network, vector, task.x_train)
    threshold = largest_threshold(context, network, vector, means, task)

    def accuracy(units):
        p = network.predict(cut(network, vector, units), task.x_test, NUMPY)
        return np.mean(p.argmax(axis=1) == task.y_test)

    whole = accuracy(np.ones(21, bool))
    assert accuracy(means > threshold) >= whole - margin
    larger = means[means > threshold]
    assert all(accuracy(means > other) < whole - margin for other in larger)
    assert threshold in means and len(larger) < 21


def test_a_margin_of_one_prunes_everything(make_task):
    greedy = learner_of(margin=1.0)
    greedy.learn(make_task(0), progress=False)
    assert not greedy.used_units().any()
    p = greedy.predict(make_task(0).x_test, 0)
    assert (p == p[0]).all()


def test_many_units_are_tried_in_steps(make_task, monkeypatch):
    counts = []
    monkeypatch.setattr(pruning, "MOST_THRESHOLDS", 5)
    inner = pruning.cut

    def counted(network, vector, used):
        counts.append(used.sum())
        return inner(network, vector, used)

    monkeypatch.setattr(pruning, "cut", counted)
    task = make_task(0)
    context = accept(learner_of(margin=0.0).context, task)
    network = context.next_network(2)
    vector = np.random.default_rng(1).normal(size=network.layout.size).astype(np.float32)
    means = mean_activations(network, vector, task.x_train)
    answers = network.predict(vector, task.x_test, NUMPY).argmax(axis=1)
    largest_threshold(context, network, vector, means, dataclasses.replace(task, y_test=answers))
    # nothing is pruned first; then at most five thresholds, from the largest to the smallest
    assert counts[:2] == [21, 0] and 3 <= len(counts) <= 6
    assert counts[1:] == sorted(counts[1:])


# Limits.


@pytest.mark.parametrize("backend_name", ["numpy", "numba"])
def test_without_penalty_and_pruning_the_first_task_is_naive_bit_for_bit(make_task, backend_name):
    one = naive.Naive(naive.Settings(**COMMON), 3, backend_name)
    other = learner_of(3, backend_name, sparsity=0.0, threshold=PRUNE_NOTHING)
    histories = [learner.learn(make_task(0), progress=False) for learner in (one, other)]
    assert [record.elbo for record in histories[0]] == [record.elbo for record in histories[1]]
    np.testing.assert_array_equal(one.knowledge.shared, other.knowledge.shared)
    np.testing.assert_array_equal(one.knowledge.own[0], other.knowledge.own[0])
    # all units are in use: later tasks train their heads only
    assert other.used_units().all()
    before = other.knowledge.shared.copy()
    other.learn(make_task(1), progress=False)
    np.testing.assert_array_equal(other.knowledge.shared, before)
    assert other.knowledge.own[1].any()


def test_too_few_examples_to_hold_some_out_are_an_error(make_task):
    with pytest.raises(TrainingError, match=r"pruning: held_out = 0\.1 of the 4 training examples"):
        learner_of().learn(make_task(0, examples=4), progress=False)
    learner_of(threshold=0.1).learn(make_task(0, examples=4), progress=False)
