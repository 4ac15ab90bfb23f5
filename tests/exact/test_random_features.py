"""Exact regression on random features: one head is joint training in any order of the tasks, and it
runs as every method does.
"""

from dataclasses import replace

import numpy as np
import pytest
from quick import quick

from ibpcl.continual.task import Task
from ibpcl.exact import linear
from ibpcl.exact.random_features import RandomFeatures, Settings
from ibpcl.experiments.config import configure
from ibpcl.experiments.run import run

SMALL = Settings(features=40, single_head=True)


def task(t, classes=2, seen=None, inputs=6):
    rng = np.random.default_rng(t)
    parts = []
    for examples in (60, 30):
        y = rng.integers(0, 2, examples) + (2 * t if seen else 0)
        x = rng.normal(scale=0.4, size=(examples, inputs))
        x[np.arange(examples), (y + t) % inputs] += 2.0
        parts += [x, y]
    return Task(f"task {t}", *parts, classes, seen=seen)


def joined(tasks):
    names = ("x_train", "y_train", "x_test", "y_test")
    arrays = [np.concatenate([getattr(each, name) for each in tasks]) for name in names]
    return Task("joint", *arrays, tasks[-1].classes, seen=tasks[-1].seen)


def after(tasks, settings=SMALL):
    learner = RandomFeatures(settings, seed=3)
    history = [learner.learn(each)[0] for each in tasks]
    return learner, history


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_one_head_is_joint_training_in_any_order(order):
    tasks = [task(t) for t in range(3)]
    learner, history = after([tasks[t] for t in order])
    joint, whole = after([joined(tasks)])
    x = task(7).x_test
    np.testing.assert_allclose(
        linear.mean(learner.beliefs[0]), linear.mean(joint.beliefs[0]), rtol=1e-8, atol=1e-10
    )
    np.testing.assert_allclose(learner.predict(x, 0), joint.predict(x, 0), atol=1e-10)
    assert sum(record.elbo for record in history) == pytest.approx(whole[0].elbo, rel=1e-10)


def test_classes_so_far_are_those_of_joint_training_in_any_order():
    def stream(order):
        shown = []
        tasks = []
        for t in order:
            shown += [2 * t, 2 * t + 1]
            tasks.append(replace(task(t, 6, seen=(2 * t, 2 * t + 1)), seen=tuple(sorted(shown))))
        return tasks

    x = task(7).x_test
    joint, _ = after([joined(stream((0, 1, 2)))])
    for order in ((0, 1, 2), (1, 2, 0)):
        learner, _ = after(stream(order))
        np.testing.assert_allclose(learner.predict(x, 2), joint.predict(x, 0), atol=1e-10)


def test_unseen_classes_have_probability_zero():
    learner, _ = after(
        [task(0, 6, seen=(0, 1)), replace(task(1, 6, seen=(2, 3)), seen=(0, 1, 2, 3))]
    )
    p = learner.predict(task(0).x_test, 0)
    assert (p[:, 4:] == 0).all() and (p[:, :4] > 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_with_separate_heads_no_task_changes_another():
    separate = Settings(features=40)
    tasks = [task(t) for t in range(3)]
    learner, _ = after(tasks, separate)
    for t, each in enumerate(tasks):
        alone, _ = after([each], separate)
        x = each.x_test
        np.testing.assert_array_equal(learner.predict(x, t), alone.predict(x, 0))


def test_the_features_depend_on_the_seed_alone():
    x = task(0).x_test
    features = [RandomFeatures(SMALL, seed).features(x) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(features[0], features[1])
    assert np.abs(features[0] - features[2]).max() > 0.1
    assert (features[0][:, 0] == 1).all() and (features[0] >= 0).all()


def test_a_saved_state_is_the_learner():
    learner, _ = after([task(0), task(1)])
    copy = RandomFeatures(SMALL, seed=3)
    copy.load_state(learner.state())
    for each in (learner, copy):
        each.learn(task(2))
    np.testing.assert_array_equal(
        learner.predict(task(2).x_test, 1), copy.predict(task(2).x_test, 1)
    )
    copy.load_state({})
    assert copy.learned == 0 and copy.state() == {}


@pytest.mark.parametrize(
    "name",
    quick(
        ["class-glyphs"],
        ["split-glyphs", "domain-glyphs", "class-glyphs"],
        "a run each; the scenarios are tested with other methods",
    ),
)
def test_it_runs_in_the_three_scenarios(tmp_path, name):
    given = {"features": 60, "train_limit": 200, "test_limit": 80}
    config = configure(name, method="ibpcl.exact.random_features:RandomFeatures", **given)
    result = run(config, tmp_path / "run").result
    chance = {"split-glyphs": 0.5, "domain-glyphs": 0.5, "class-glyphs": 0.1}[name]
    assert result["average_accuracy"] > chance + 0.1


def test_what_it_cannot_learn_is_refused():
    with pytest.raises(TypeError, match="must be of kind classification"):
        RandomFeatures(SMALL).learn(Task("r", [[0.0]], [[0.0]], [[1.0]], [[1.0]]))
    learner, _ = after([task(0)])
    with pytest.raises(ValueError, match="must have 2 outputs"):
        learner.learn(task(1, classes=3))
    with pytest.raises(ValueError, match="6"):
        learner.learn(task(1, inputs=5))
    with pytest.raises(ValueError, match="unknown task_id 1"):
        learner.predict(task(0).x_test, 1)
