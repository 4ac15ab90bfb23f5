"""RCL: old parameters never move, and the network with the largest reward is kept."""

import numpy as np
import pytest

from ibpcl import adam
from ibpcl.data.subsets import with_validation
from ibpcl.errors import TrainingError
from ibpcl.evaluation.metrics import accuracy
from ibpcl.inference import objectives
from ibpcl.inference.loop import minibatches
from ibpcl.methods import rcl
from ibpcl.methods.naive import Naive
from ibpcl.methods.naive import Settings as NaiveSettings
from ibpcl.methods.rcl import RCL, Settings
from ibpcl.models.controller import Controller
from ibpcl.models.plain import network as plain_network
from ibpcl.noise import generator

SHORT = {"hidden": (8,), "epochs": 4, "batch": 20, "rate": 0.02}
SMALL = {**SHORT, "trials": 3, "most_units": 5, "controller_units": 5}


def learned(make_task, tasks=3, seed=1, backend="numpy", **settings):
    learner = RCL(Settings(**{**SMALL, **settings}), seed, backend)
    for t in range(tasks):
        learner.learn(make_task(t, classes=2 + t % 2), progress=False)
    return learner


def choosing(monkeypatch, added):
    """Let the controller choose these numbers of units, whatever its inputs."""
    monkeypatch.setattr(Controller, "sample", lambda self, vector, u: np.array(added))


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("hidden", [(8,), (7, 6)])
def test_predictions_of_earlier_tasks_are_the_same_for_ever_bit_for_bit(
    make_task, monkeypatch, hidden, backend
):
    choosing(monkeypatch, (4, 3)[: len(hidden)])
    learner = RCL(Settings(**{**SMALL, "hidden": hidden}), 0, backend)
    first = []
    x = np.vstack([make_task(t).x_test for t in range(3)])
    for t in range(4):
        learner.learn(make_task(t, classes=2 + t % 2), progress=False)
        first.append(learner.predict(x, t))
        for earlier in range(t):
            np.testing.assert_array_equal(learner.predict(x, earlier), first[earlier])
    assert learner.context.hidden(3) == tuple(
        np.array(hidden) + 3 * np.array((4, 3)[: len(hidden)])
    )


def test_what_was_there_does_not_move_a_bit_and_what_is_new_is_trained(make_task, monkeypatch):
    choosing(monkeypatch, (3, 2))
    learner = learned(make_task, 1, hidden=(8, 6))
    old = learner.context.shared_layout(learner.learned - 1).views(learner.knowledge.shared)
    key = learner.context.key()
    learner.learn(make_task(1, classes=3), progress=False)
    before = learner.context.shared_layout(learner.learned - 1)
    fresh = plain_network(6, (11, 8), 3).start(generator(key))[: before.size]
    for name, view in before.views(learner.knowledge.shared).items():
        inside = np.zeros(view.shape, bool)
        inside[tuple(slice(0, size) for size in old[name].shape)] = True
        np.testing.assert_array_equal(view[inside], old[name].ravel())
        moved = view[~inside] != before.views(fresh)[name][~inside]
        assert moved.mean() > 0.7, name  # a unit that is never on does not move


def test_without_room_the_shared_part_does_not_move_and_a_task_trains_its_head_alone(make_task):
    """The head equals softmax regression on the frozen features, trained by a separate loop."""
    settings = {**SMALL, "most_units": 0, "rate_end": 1.0}
    learner = learned(make_task, 1, **settings)
    shared = learner.knowledge.shared.copy()
    network = plain_network(6, (8,), 3)
    task = make_task(1, classes=3)
    key = learner.context.key()
    start = network.start(generator(learner.context.key()))
    learner.learn(task, progress=False)
    np.testing.assert_array_equal(learner.knowledge.shared, shared)
    assert learner.context.hidden(1) == (8,)

    part = with_validation([task], 0.1, 1)[0]
    weight, bias = learner.context.shared_layout(learner.learned - 1).views(shared).values()
    features = np.maximum(part.x_train @ weight + bias, 0)
    head = start[shared.size :]
    state = adam.start(head)
    for epoch in range(settings["epochs"]):
        for rows in minibatches(len(features), settings["batch"], key._replace(step=epoch)):
            w = head[:24].reshape(8, 3)
            b = head[24:]
            p = np.exp(features[rows] @ w + b)
            delta = (p / p.sum(axis=1, keepdims=True) - np.eye(3)[part.y_train[rows]]) / len(rows)
            gradient = np.append(features[rows].T @ delta, delta.sum(axis=0))
            head, state = adam.update(head, gradient, state, settings["rate"])
    np.testing.assert_allclose(learner.knowledge.own[1], head, rtol=1e-3, atol=1e-4)


def test_the_first_task_is_naive(make_task):
    one = learned(make_task, 1, seed=3)
    other = Naive(NaiveSettings(**SHORT), 3, "numpy")
    other.learn(make_task(0), progress=False)
    np.testing.assert_array_equal(one.knowledge.shared, other.knowledge.shared)
    np.testing.assert_array_equal(one.knowledge.own[0], other.knowledge.own[0])


# the best trial is neither always the first nor the last
@pytest.mark.parametrize("seed", [0, 3])
def test_the_network_that_is_kept_is_the_one_with_the_largest_reward(make_task, seed):
    learner = learned(make_task, seed=seed, trials=8, unit_cost=0.01, epochs=2)
    for t in (1, 2):
        trials = learner.knowledge.memory[f"trials{t}"]
        assert trials.shape == (8, 2) and len(np.unique(trials[:, 0])) > 2
        best = trials[trials[:, 1].argmax()]
        assert learner.context.hidden(t)[0] - learner.context.hidden(t - 1)[0] == best[0]
        part = with_validation([make_task(t, classes=2 + t % 2)], 0.1, seed)[0]
        right = accuracy(learner.predict(part.x_test, t), part.y_test)
        assert right - 0.01 * best[0] == pytest.approx(best[1])
        assert trials[:, 0].min() >= 0 and trials[:, 0].max() <= 5


def test_units_that_cost_more_than_they_are_worth_are_not_added(make_task):
    learner = learned(make_task, trials=8, unit_cost=10.0, epochs=1)
    for t in (1, 2):
        trials = learner.knowledge.memory[f"trials{t}"]
        assert (
            learner.context.hidden(t)[0] - learner.context.hidden(t - 1)[0]
            == trials[:, 0].min()
            < trials[:, 0].max()
        )


def test_a_choice_that_was_tried_before_is_not_trained_again(make_task, monkeypatch):
    learner = learned(make_task, 1, trials=12, epochs=1)
    grown = []
    grow = rcl.grow
    monkeypatch.setattr(
        rcl,
        "grow",
        lambda context, task, added: grown.append(tuple(added)) or grow(context, task, added),
    )
    learner.learn(make_task(1), progress=False)
    trials = learner.knowledge.memory["trials1"]
    assert len(grown) == len(set(grown)) == len(np.unique(trials[:, 0])) < 12
    for added in grown:  # and is worth the same every time
        assert np.ptp(trials[trials[:, 0] == added, 1]) == 0


def test_the_held_out_examples_are_not_trained_on(make_task, monkeypatch):
    seen = []
    elbo = objectives.elbo
    learner = learned(make_task, 1)
    task = make_task(1)

    def watched(network, vector, prior, x, *rest):
        seen.append(x)
        return elbo(network, vector, prior, x, *rest)

    monkeypatch.setattr(objectives, "elbo", watched)
    learner.learn(task, progress=False)
    seen = {row.tobytes() for row in np.vstack(seen)}
    part = with_validation([task], 0.1, 1)[0]
    assert len(part.x_test) == 12
    assert seen == {row.tobytes() for row in part.x_train} and not seen & {
        row.tobytes() for row in part.x_test
    }


class Right:
    """Network that classifies a given share of the examples correctly."""

    def __init__(self, labels, share):
        right = np.arange(len(labels)) < round(share * len(labels))
        self.probabilities = np.eye(2)[np.where(right, labels, 1 - labels)]

    def predict(self, vector, x, backend):
        return self.probabilities


def test_the_controller_learns_from_the_rewards(make_task, monkeypatch):
    """Every unit makes the network better: at first it chooses any number of them, in the end
    mostly five.
    """
    learner = learned(make_task, 1, trials=150, controller_rate=0.02, unit_cost=0.0)
    monkeypatch.setattr(
        rcl,
        "grow",
        lambda context, task, added: (
            Right(task.y_test, added[0] / 5),
            np.empty(0, np.float32),
            [],
        ),
    )
    chosen = rcl.search(learner.context, make_task(1))[1][:, 0]
    assert chosen[:30].mean() < 3.5 and chosen[-30:].mean() > 4.5


def test_a_saved_learner_with_grown_layers_is_the_learner(make_task, tmp_path, monkeypatch):
    choosing(monkeypatch, (2, 4))
    learner = learned(make_task, hidden=(7, 6))
    learner.save(tmp_path / "learner.npz")
    copy = RCL.load(tmp_path / "learner.npz")
    x = make_task(0).x_test
    assert copy.settings == learner.settings and copy.context.hidden(2) == (11, 14)
    for t in range(3):
        np.testing.assert_array_equal(copy.predict(x, t), learner.predict(x, t))
    for one in (copy, learner):
        one.learn(make_task(3), progress=False)
    np.testing.assert_array_equal(copy.knowledge.shared, learner.knowledge.shared)


def test_a_task_stores_its_units_its_head_and_its_trials(make_task, monkeypatch):
    """Four bytes per parameter: new units with all their inputs, and a head from all units."""
    choosing(monkeypatch, (4,))

    def stored(learner):
        return sum(value.nbytes for value in learner.state().values() if value.ndim)

    learner = learned(make_task, 1)
    for t in range(1, 4):
        before = stored(learner)
        learner.learn(make_task(t), progress=False)
        units = 8 + 4 * t
        widths = 8
        trials = 8 * 3 * 2
        outputs = 8
        assert (
            stored(learner) - before
            == 4 * (4 * (6 + 1) + 2 * (units + 1)) + widths + trials + outputs
        )


def test_a_task_too_small_to_hold_anything_out_is_refused(make_task):
    learner = learned(make_task, 1)
    with pytest.raises(
        TrainingError,
        match=r"held_out = 0\.1 of the 4 training examples of task 'task 1'",
    ):
        learner.learn(make_task(1, examples=4), progress=False)
