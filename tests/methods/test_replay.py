"""Generative replay: joint and naive training as its limits, its samples, and the learner."""

import dataclasses
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from ibpcl.continual.task import Task
from ibpcl.methods import joint, naive
from ibpcl.methods.pooled import pooled_likelihood, start_all
from ibpcl.methods.replay import (
    Replay,
    Settings,
    label,
    learn_task,
    minibatch,
    pool_sizes,
    replayed,
    sample,
)
from ibpcl.methods.sequential import accept

SOLVER = {"hidden": (8,), "epochs": 5, "batch": 40, "rate": 0.02}
GENERATOR = {"generator_hidden": (8,), "generator_latent": 2, "generator_epochs": 2}
SMALL = Settings(**SOLVER, **GENERATOR, generator="naive")


def learner_of(seed=3, backend_name="numpy", **changes):
    return Replay(dataclasses.replace(SMALL, **changes), seed, backend_name)


def true_examples(tasks):
    """A source of replayed examples that has kept all data."""

    def draw(task_id, rows, rng):
        return tasks[task_id].x_train[rows], tasks[task_id].y_train[rows]

    return draw


def same(one, other):
    np.testing.assert_array_equal(one.knowledge.shared, other.knowledge.shared)
    for a, b in zip(one.knowledge.own, other.knowledge.own, strict=True):
        np.testing.assert_array_equal(a, b)


# The limits.


@pytest.mark.parametrize(
    "backend_name",
    ["numpy", pytest.param("numba", marks=pytest.mark.slow(reason="the same steps, compiled"))],
)
@pytest.mark.parametrize("single_head", [False, True])
def test_with_the_true_examples_it_is_joint_training_bit_for_bit(
    make_task, single_head, backend_name
):
    # tasks of several sizes: they count by their size
    tasks = [make_task(t, examples=80 + 20 * t) for t in range(3)]
    options = {"single_head": single_head}
    one = joint.Joint(joint.Settings(**SOLVER, restart=False, **options), 3, backend_name)
    other = learner_of(3, backend_name, **options)
    for task in tasks:
        histories = (
            one.learn(task, progress=False),
            other.turn(partial(learn_task, draw=true_examples(tasks)), task, progress=False),
        )
        same(one, other)
        for a, b in zip(*histories, strict=True):
            assert a._replace(phase="") == b._replace(phase="")


@pytest.mark.parametrize("backend_name", ["numpy", "numba"])
def test_without_replay_it_is_naive_training_bit_for_bit(make_task, backend_name):
    one = naive.Naive(naive.Settings(**SOLVER), 3, backend_name)
    other = learner_of(3, backend_name, ratio=1.0)
    for t in range(3):
        for learner in (one, other):
            learner.learn(make_task(t), progress=False)
        same(one, other)
    assert other.knowledge.memory == {}


def test_the_default_ratio_is_the_share_of_the_examples(make_task):
    """Up to rounding, because the scale of an example is computed in another order."""
    learners = [learner_of(ratio=ratio) for ratio in (None, 60 / 160)]
    for learner in learners:
        learner.learn(make_task(0, examples=100), progress=False)
        learner.learn(make_task(1, examples=60), progress=False)
    np.testing.assert_allclose(*(learner.knowledge.shared for learner in learners), atol=1e-4)


# The loss.


@pytest.mark.parametrize("ratio", [0.0, 0.2, 0.9])
def test_the_loss_is_the_weighted_mean_of_the_new_examples_and_the_old(make_task, ratio):
    """By a pass over the whole pool, in float64; so is its gradient."""
    tasks = [make_task(0, examples=30), make_task(1, examples=50), make_task(2, examples=40)]
    learner = learner_of(ratio=ratio, single_head=True)
    for task in tasks[:2]:
        learner.learn(task, progress=False)
    context = accept(learner.context, tasks[2])
    draw = true_examples(tasks)
    size = pool_sizes(context, tasks[2]).sum()
    assert size == 120
    vector = np.random.default_rng(0).normal(size=len(start_all(context, tasks[2], False)))
    objective = pooled_likelihood(
        context, tasks[2], lambda rows, step: minibatch(context, tasks[2], draw, rows, step)
    )
    found = objective(vector, np.random.default_rng(1).permutation(size), 0, 1)
    network = context.next_network(2)
    parts = []
    for group in (tasks[2:], tasks[:2]):
        x, y = (
            np.concatenate([getattr(task, name) for task in group])
            for name in ("x_train", "y_train")
        )
        total, cache = network.log_likelihood(vector, x, y, context.backend)
        parts.append((total / len(x), network.log_likelihood_vjp(-1 / len(x), cache)))
    (new, dnew), (old, dold) = parts
    assert found.parts.log_likelihood / size == pytest.approx(ratio * new + (1 - ratio) * old)
    expected = ratio * dnew + (1 - ratio) * dold
    np.testing.assert_allclose(found.gradient, expected, rtol=1e-6, atol=1e-9)


def test_an_epoch_takes_each_true_example_once_and_as_many_samples_as_there_were_examples(
    make_task,
):
    tasks = [make_task(0, examples=30), make_task(1, examples=50)]
    learner = learner_of()
    learner.learn(tasks[0], progress=False)
    context = accept(learner.context, tasks[1])
    rows = np.random.default_rng(0).permutation(80)
    batches = [
        minibatch(context, tasks[1], replayed(context), part, step)
        for step, part in enumerate(np.array_split(rows, 4))
    ]
    assert all(whole == 80 for _, whole in batches)
    groups = [group for found, _ in batches for group in found]
    assert sum(len(group.x) for group in groups if group.task == 0) == 30
    seen = np.concatenate([group.x for group in groups if group.task == 1])
    np.testing.assert_array_equal(np.sort(seen, axis=0), np.sort(tasks[1].x_train, axis=0))


# The samples.


def test_codes_come_from_the_prior():
    mean = np.array([1.0, -2.0, 0.0])
    sigma = np.array([0.5, 3.0, 1.0])
    model = SimpleNamespace(prior=lambda: (mean, np.log(sigma)), decode=lambda z: z, latent=3)
    z = sample(model, 40_000, np.random.default_rng(0))
    assert z.shape == (40_000, 3)
    np.testing.assert_array_less(np.abs(z.mean(axis=0) - mean), 4 * sigma / 200)
    np.testing.assert_allclose(z.std(axis=0), sigma, rtol=0.02)


def test_labels_are_drawn_with_the_solvers_probabilities():
    p = np.array([[0.2, 0.5, 0.3], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    drawn = np.array([label(p, "drawn", np.random.default_rng(seed)) for seed in range(4000)])
    frequencies = (drawn[:, :, None] == np.arange(3)).mean(axis=0)
    np.testing.assert_allclose(frequencies, p, atol=0.03)
    np.testing.assert_array_equal(frequencies[1:], p[1:])
    np.testing.assert_array_equal(label(p, "argmax", None), [1, 1, 0, 2])


@pytest.mark.parametrize("rule", ["argmax", "drawn"])
def test_the_solver_before_the_task_labels_the_samples(make_task, rule):
    learner = learner_of(labels=rule)
    for t in range(2):
        learner.learn(make_task(t, classes=2 + t), progress=False)
    draw = replayed(learner.context)
    for t in range(2):
        x, y = draw(t, np.arange(300), np.random.default_rng(0))
        p = learner.predict(x, t)
        if rule == "argmax":
            np.testing.assert_array_equal(y, p.argmax(axis=1))
        else:
            frequencies = (y[:, None] == np.arange(2 + t)).mean(axis=0)
            np.testing.assert_allclose(frequencies, p.mean(axis=0), atol=0.1)


def test_samples_depend_on_seed_task_and_step_alone(make_task):
    def draws(seed, tasks, step):
        learner = learner_of(seed)
        for t in range(tasks):
            learner.learn(make_task(t), progress=False)
        task = make_task(tasks)
        context = accept(learner.context, task)
        groups, _ = minibatch(context, task, replayed(context), np.arange(0, 240, 2), step)
        return [np.column_stack([group.x, group.labels]) for group in groups]

    one, again, later = draws(3, 2, 0), draws(3, 2, 0), draws(3, 2, 1)
    for a, b in zip(one, again, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(one[0], later[0]) and not np.array_equal(one[0], draws(4, 2, 0)[0])
    # two tasks in one step have different codes
    assert not np.array_equal(one[0], one[1])


def test_inputs_of_any_range_come_back_in_it(make_task):
    """Moved and scaled inputs give moved and scaled samples."""
    task = make_task(0)
    moved = dataclasses.replace(task, x_train=100 + 7 * task.x_train, x_test=100 + 7 * task.x_test)
    found = []
    for one in (task, moved):
        learner = learner_of(epochs=0)
        learner.learn(one, progress=False)
        x, _ = replayed(learner.context)(0, np.arange(50), np.random.default_rng(0))
        assert one.x_train.min() <= x.min() and x.max() <= one.x_train.max()
        found.append(x)
    np.testing.assert_allclose(found[1], 100 + 7 * found[0], rtol=1e-3)


def test_constant_inputs_are_no_error():
    task = Task("flat", np.full((20, 3), 5.0), [0, 1] * 10, np.full((2, 3), 5.0), [0, 1])
    learner = learner_of()
    for _ in range(2):
        learner.learn(task, progress=False)
    x, _ = replayed(learner.context)(0, np.arange(4), np.random.default_rng(0))
    assert np.isfinite(x).all() and x.min() >= 5


@pytest.mark.parametrize("generator", ["npbcl", "naive", "ewc", "vcl"])
def test_any_autoencoder_of_the_package_is_a_generator(make_task, generator):
    learner = learner_of(generator=generator)
    assert learner.generator.learned == 0
    for t in range(2):
        learner.learn(make_task(t), progress=False)
    assert learner.generator.name == f"vae_{generator}" and learner.generator.learned == 2


def test_the_masked_generator_forgets_no_task(make_task):
    """The samples of a task stay the same, bit for bit, when others are learned."""
    learner = learner_of(generator="npbcl", epochs=0)
    found = []
    for t in range(3):
        learner.learn(make_task(t), progress=False)
        found.append(sample(learner.generator.latent_model(0), 20, np.random.default_rng(0)))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


# The learner.


def test_it_forgets_less_than_naive_training(make_task):
    """With a single head, whose classes change their inputs from task to task."""
    accuracies = []
    changes = {"epochs": 10, "single_head": True, "generator_epochs": 60}
    for learner in (learner_of(ratio=1.0, **changes), learner_of(**changes)):
        for t in range(3):
            learner.learn(make_task(t), progress=False)
        found = [learner.predict(make_task(t).x_test, t).argmax(axis=1) for t in range(2)]
        accuracies.append(np.mean([found[t] == make_task(t).y_test for t in range(2)]))
    assert accuracies[1] > accuracies[0] + 0.1


def test_no_training_example_is_stored(make_task):
    learner = learner_of(generator="npbcl")
    task = make_task(0)
    learner.learn(task, progress=False)
    for value in learner.state().values():
        rows = {row.tobytes() for row in np.atleast_2d(value).astype(np.float32)}
        assert not rows & {row.tobytes() for row in task.x_train}
