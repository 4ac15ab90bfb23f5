"""The linear classifier on representations: its gradient, its optimum, limits and invariance."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quick import quick

from ibpcl.continual.task import Task
from ibpcl.errors import TrainingError
from ibpcl.evaluation import linear_probe
from ibpcl.methods import METHODS, method
from ibpcl.methods.hat import gates_of
from ibpcl.models.gated import gates
from ibpcl.verify import check


def blobs(seed, classes=3, examples=60, width=4, distance=1.5):
    """Return overlapping classes of points, and their labels."""
    rng = np.random.default_rng(seed)
    labels = np.arange(examples) % classes
    centres = rng.normal(scale=distance, size=(classes, width))
    return centres[labels] + rng.normal(size=(examples, width)), labels


def halves(t):
    """Return a task of 40 examples in five dimensions that a plane separates."""
    rng = np.random.default_rng(t)
    x = rng.normal(size=(40, 5))
    labels = (x @ rng.normal(size=5) > 0).astype(np.int64)
    return Task(f"plane {t}", x, labels, x[:8], labels[:8], 2, ("below", "above"))


def learner_of(name, tasks=2, **changes):
    """Return a small learner of a method after some tasks."""
    kind = method(name)
    names = {field.name for field in dataclasses.fields(kind.settings)}
    small = {
        "hidden": (6,),
        "epochs": 1,
        "finetune_epochs": 1,
        "head_epochs": 1,
        "batch": 20,
        "trials": 1,
        "start_rho": 3.0,
    } | changes
    learner = kind.learner(
        kind.settings(**{key: value for key, value in small.items() if key in names}), 1, "numpy"
    )
    for t in range(tasks):
        learner.learn(halves(t), progress=False)
    return learner


@pytest.mark.parametrize(
    ("seed", "examples", "classes", "width"), [(0, 6, 3, 5), (1, 1, 2, 1), (2, 7, 4, 2)]
)
def test_the_gradient_of_the_loss(seed, examples, classes, width):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(examples, width))
    labels = rng.integers(0, classes, examples)
    report = check(
        lambda weights, bias: linear_probe.objective(weights, bias, x, labels, 0.3),
        linear_probe.objective_vjp,
        {"weights": rng.normal(size=(width, classes)), "bias": rng.normal(size=classes)},
        seed=seed,
    )
    assert report.ok, str(report)


@pytest.mark.parametrize("seed", range(3))
def test_the_solution_is_stationary_and_no_other_point_is_better(seed):
    x, labels = blobs(seed)
    penalty = 0.01
    probe = linear_probe.fit(x, labels, 3, penalty)
    scaled = (x - probe.centre) / probe.scale
    assert np.abs(scaled.mean(axis=0)).max() < 1e-12
    assert (scaled**2).mean() == pytest.approx(1)

    # by the definitions, without the package's functions
    logits = scaled @ probe.weights + probe.bias
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    errors = (p - np.eye(3)[labels]) / len(x)
    np.testing.assert_allclose(scaled.T @ errors + penalty * probe.weights, 0, atol=1e-5)
    np.testing.assert_allclose(errors.sum(axis=0), 0, atol=1e-5)
    assert probe.gradient <= 1e-5
    assert probe.bias.sum() == pytest.approx(0, abs=1e-8)
    np.testing.assert_allclose(probe.weights.sum(axis=1), 0, atol=1e-4)

    best, _ = linear_probe.objective(probe.weights, probe.bias, scaled, labels, penalty)
    assert best == pytest.approx(
        -np.log(p[np.arange(len(x)), labels]).mean() + penalty / 2 * (probe.weights**2).sum()
    )
    rng = np.random.default_rng(seed)
    for _ in range(20):
        step = rng.normal(scale=0.1, size=probe.weights.shape)
        there, _ = linear_probe.objective(
            probe.weights + step,
            probe.bias + rng.normal(scale=0.1, size=3),
            scaled,
            labels,
            penalty,
        )
        # strongly convex in the weights
        assert there >= best + penalty / 2 * (step**2).sum() - 1e-5


def test_two_classes_in_one_dimension_by_bisection():
    """By symmetry W = (-w, w) and b = 0, and w is the zero of one increasing function."""
    x = np.array([-2.0, -1.0, -0.2, 0.2, 1.0, 2.0])
    labels = np.array([0, 0, 1, 0, 1, 1])
    penalty = 0.05
    scaled = x / np.sqrt((x**2).mean())
    low = 0.0
    high = 100.0
    signs = 2 * labels - 1
    for _ in range(80):
        w = (low + high) / 2
        slope = (-signs * scaled / (1 + np.exp(2 * w * signs * scaled))).mean() + penalty * w
        low, high = (w, high) if slope < 0 else (low, w)
    probe = linear_probe.fit(x[:, None], labels, 2, penalty)
    np.testing.assert_allclose(probe.weights, [[-w, w]], atol=1e-4)
    np.testing.assert_allclose(probe.bias, 0, atol=1e-4)


@given(st.integers(0, 10_000), st.integers(2, 4))
@settings(max_examples=20, deadline=None)
def test_classes_that_a_plane_separates_are_all_recognized(seed, classes):
    rng = np.random.default_rng(seed)
    labels = np.arange(40) % classes
    # disjoint boxes along one direction for each class: linearly separable by construction
    x = rng.uniform(-1, 1, size=(40, classes))
    x[np.arange(40), labels] += 3.5
    assert linear_probe.accuracy(x, labels, x, labels, classes) == 1.0


def test_features_without_information_give_the_largest_class():
    labels = np.array([0, 1, 1, 2])
    probe = linear_probe.fit(np.ones((4, 3)), labels, 3)
    np.testing.assert_allclose(probe.weights, 0, atol=1e-8)
    np.testing.assert_allclose(
        np.exp(probe.bias) / np.exp(probe.bias).sum(), [0.25, 0.5, 0.25], atol=1e-5
    )


@pytest.mark.parametrize("seed", range(3))
def test_shifts_scales_rotations_and_orders_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    x, labels = blobs(seed)
    test_x, _ = blobs(seed + 100)
    rotation, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    order = rng.permutation(len(x))
    names = rng.permutation(3)
    logits = linear_probe.fit(x, labels, 3).logits(test_x)

    def centred(logits):
        return logits - logits.mean(axis=1, keepdims=True)

    for new_x, new_labels, new_test in (
        (x + 7.0, labels, test_x + 7.0),
        (x * 1e3, labels, test_x * 1e3),
        (x @ rotation, labels, test_x @ rotation),
        (x[order], labels[order], test_x),
    ):
        other = linear_probe.fit(new_x, new_labels, 3).logits(new_test)
        np.testing.assert_allclose(centred(other), centred(logits), atol=0.02)
    renamed = linear_probe.fit(x, names[labels], 3).logits(test_x)
    np.testing.assert_allclose(centred(renamed)[:, names], centred(logits), atol=0.02)


def test_bad_arguments_are_refused(monkeypatch):
    x, labels = blobs(0)
    for arguments, message in (
        ((x, labels[:-1], 3), r"labels shape \(N,\)"),
        ((x[0], labels, 3), "x must have shape"),
        ((x[:0], labels[:0], 3), "N >= 1"),
        ((x, labels, 1), "classes must be at least 2, got 1"),
        ((x, labels, 3, 0.0), "penalty must be > 0, got 0.0"),
        ((x, labels, 2), "labels"),
    ):
        with pytest.raises(ValueError, match=message):
            linear_probe.fit(*arguments)
    monkeypatch.setattr(linear_probe, "MOST_STEPS", 1)
    with pytest.raises(TrainingError, match="no solution after 1 steps"):
        linear_probe.fit(x, labels, 3)


@pytest.mark.parametrize(
    "name",
    quick(
        [name for name in METHODS if name not in ("replay", "m2")],
        [name for name in METHODS if name != "m2"],  # one representation per image and class
        "replay trains its generator as well",
    ),
)
def test_every_method_has_a_representation(name):
    learner = learner_of(name)
    before = {key: np.array(value) for key, value in learner.state().items()}
    x = halves(2).x_train
    h = linear_probe.representation(learner, x)
    network, *_ = learner.assemble(1)
    assert h.shape == (40, network.stages[-2].units) and np.isfinite(h).all() and h.any()
    np.testing.assert_array_equal(h, linear_probe.representation(learner, x))
    for key, value in learner.state().items():
        np.testing.assert_array_equal(value, before[key], err_msg=key)


def test_a_plain_representation_is_the_hidden_layer():
    learner = learner_of("naive")
    x = halves(2).x_train
    network, vector = learner.assemble(1)
    (weights, bias), _ = network.weights(vector)
    np.testing.assert_allclose(
        linear_probe.representation(learner, x), np.maximum(x @ weights + bias, 0), rtol=1e-5
    )


def test_masks_of_all_tasks_are_on_and_no_others(monkeypatch):
    learner = learner_of("npbcl", start_rho=0.0, alpha=5.0, mask_link="logit", epochs=3)
    x = halves(2).x_train
    union = learner.masks(0)[0] | learner.masks(1)[0]
    assert (learner.masks(0)[0] != learner.masks(1)[0]).any() and not union.all()
    posterior = learner.posterior["hidden0"]
    bias = posterior["bias.mu"] * union.any(axis=0)
    exact = np.maximum(x @ (posterior["weight.mu"] * union) + bias, 0)
    np.testing.assert_allclose(linear_probe.representation(learner, x), exact, rtol=1e-5, atol=1e-6)
    monkeypatch.setattr(linear_probe, "CHUNK", 7)
    np.testing.assert_allclose(linear_probe.representation(learner, x), exact, rtol=1e-5, atol=1e-6)


def test_masks_of_another_learner_can_be_used():
    """An untrained network with the union of a learned one differs in the values alone."""
    learned = learner_of("npbcl", start_rho=0.0, alpha=5.0, mask_link="logit", epochs=3)
    other = learner_of("npbcl", start_rho=50.0, epochs=0, finetune_epochs=0)
    x = halves(2).x_train
    masks = linear_probe.open_weights(learned)
    assert not masks["hidden0"].all() and linear_probe.open_weights(other)["hidden0"].all()
    posterior = other.posterior["hidden0"]
    used = masks["hidden0"]
    bias = posterior["bias.mu"] * used.any(axis=0)
    exact = np.maximum(x @ (posterior["weight.mu"] * used) + bias, 0)
    found = linear_probe.representation(other, x, masks)
    np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-6)
    assert (found != linear_probe.representation(other, x)).any()
    own = linear_probe.open_weights(other)
    np.testing.assert_array_equal(
        linear_probe.representation(other, x, own), linear_probe.representation(other, x)
    )
    assert linear_probe.open_weights(learner_of("naive")) == {}


def test_a_unit_of_hat_has_its_largest_gate():
    learner = learner_of("hat")
    context = learner.context
    x = halves(2).x_train
    network, vector = learner.assemble(1)
    views = network.layout.layers(vector)["hidden0"]
    largest = np.maximum(gates_of(context, 0), gates_of(context, 1))
    own = gates(views["embedding"], context.settings.scale)[0]
    assert (largest != own).any()
    exact = np.maximum(x @ views["weight.mu"] + views["bias.mu"], 0) * largest
    np.testing.assert_allclose(linear_probe.representation(learner, x), exact, rtol=1e-4, atol=1e-6)


def test_a_network_that_grew_has_its_newest_units():
    learner = learner_of("den", loss_threshold=0.0)
    widths = [learner.assemble(t)[0].stages[-2].units for t in range(2)]
    assert widths[1] > widths[0]
    assert linear_probe.representation(learner, halves(2).x_train).shape == (40, widths[1])


def test_without_a_learned_task_there_is_no_representation():
    with pytest.raises(ValueError, match="must have learned a task"):
        linear_probe.representation(learner_of("naive", 0), halves(0).x_train)
