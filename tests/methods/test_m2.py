"""M2: one class is the autoencoder, labels give the conditional bound, two classes the sum."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax

from ibpcl.continual.task import Task
from ibpcl.inference.backend import backend
from ibpcl.methods import few_labels, m2, method
from ibpcl.methods.m2 import M2, Settings, choose, partly_labelled
from ibpcl.methods.npbcl_images import ImageNPBCL, ImageSettings
from ibpcl.models import starts
from ibpcl.models.class_codes import EXTRA, with_classes
from ibpcl.models.elbo import elbo
from ibpcl.models.layers import Gaussian
from ibpcl.models.likelihoods import Bernoulli
from ibpcl.models.network import autoencoder
from ibpcl.noise import Key
from ibpcl.primitives import class_posterior

NUMPY = backend("numpy")
SMALL = {"hidden": (8,), "latent": 3, "epochs": 2, "finetune_epochs": 2, "batch": 10}


def images(t=0, classes=2, count=40):
    """Images whose left or right half is bright, by class; one pixel is always 0."""
    rng = np.random.default_rng((7, t))
    y = np.arange(count) % classes
    x = 0.3 * rng.random((count, 9))
    x[:, 1:] += 0.6 * (np.arange(8) % classes == y[:, None])
    x[:, 0] = 0
    return x.astype(np.float32), y


def task(t=0, classes=2):
    x, y = images(t, classes)
    return Task(f"task {t}", x, y, x[:6], y[:6])


def learner_of(seed=1, backend_name="numpy", **changes):
    return M2(Settings(**SMALL | changes), seed, backend_name)


@pytest.mark.parametrize("backend_name", ["numpy", "numba"])
@pytest.mark.parametrize("output", ["own", "shared"])
def test_one_class_is_the_autoencoder_bit_for_bit(backend_name, output):
    ours = learner_of(3, backend_name, output=output)
    plain = ImageNPBCL(ImageSettings(**SMALL, output=output), 3, backend_name)
    for t in range(2):
        x, y = images(t)
        first = ours.learn(Task("a", x, 0 * y, x, 0 * y), progress=False)
        second = plain.learn(Task("a", x_train=x, x_test=x), progress=False)
        assert first == second
    expected = plain.state()
    found = ours.state()
    assert found.keys() == expected.keys()
    for name in expected.keys() - {"outputs"}:  # one class, or nine pixels
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)
    np.testing.assert_array_equal(ours.predict(x, 1), np.ones((len(x), 1)))


def network_of(classes, seed=0):
    rng = np.random.default_rng(seed)
    model = with_classes(autoencoder(5, (4,), 2, Bernoulli()), Gaussian, classes)
    vector = model.initial(
        starts.he(rng, 0.7), 0.2, np.full(len(model.masked), 3.0), dtype=np.float64
    )
    vector = vector + rng.normal(scale=0.3, size=vector.size)
    masks = {name: rng.random(layer.shape) < 0.8 for name, layer in model.masked.items()}
    return model, vector, masks, rng.random((6, 5))


def parts_of(model, vector, masks, x, labels, weight=0.0):
    """The data's part of the bound, and the divergence of classes and codes, without noise."""
    targets = np.column_stack([labels, np.full(len(x), weight), x])
    noise = model.noise(Key(0, 0, 0, 0), 0, len(x), NUMPY, np.float64, False)
    found, _ = elbo(model, vector, None, x, targets, noise, len(x), NUMPY, masks)
    return found.log_likelihood, found.kl_latent


def logits_of(model, vector, masks, x):
    """Logits of the classes, by plain matrix products."""
    views = model.layout.layers(vector)

    def layer(name, h):
        weight = views[name]["weight.mu"] * masks.get(name, 1.0)
        on = masks[name].any(axis=0) if name in masks else 1.0
        return h @ weight + views[name]["bias.mu"] * on

    return layer("label", np.maximum(layer("encoder0", x), 0))


@pytest.mark.parametrize("classes", [2, 3])
def test_without_labels_it_is_the_sum_over_classes(classes):
    """Each image with each label in turn, weighted by q(y | x), and the divergence of q(y | x)."""
    model, vector, masks, x = network_of(classes)
    log_q = log_softmax(logits_of(model, vector, masks, x), axis=1)
    likelihood = 0.0
    divergence = 0.0
    for n in range(len(x)):
        for y in range(classes):
            one = parts_of(model, vector, masks, x[n : n + 1], [y])
            q = np.exp(log_q[n, y])
            likelihood += q * one[0]
            # a label has the divergence log C, which is -log p(y)
            divergence += q * (one[1] - np.log(classes) + log_q[n, y] + np.log(classes))
    found = parts_of(model, vector, masks, x, np.full(len(x), -1))
    np.testing.assert_allclose(found, (likelihood, divergence), rtol=1e-12)


def test_all_labelled_is_the_conditional_bound():
    """By plain loops: p(x | y, z), the divergence of the codes given the class, and log p(y)."""
    model, vector, masks, x = network_of(3)
    labels = np.array([0, 1, 2, 2, 1, 0])
    views = model.layout.layers(vector)
    own = views["codes"]

    def layer(name, h):
        return h @ (views[name]["weight.mu"] * masks[name]) + views[name]["bias.mu"] * masks[
            name
        ].any(axis=0)

    likelihood = 0.0
    divergence = 0.0
    for n, y in enumerate(labels):
        by_class = {
            name: own[name][y - 1] if y else 0.0 for name in ("class_mu", "class_log_sigma")
        }
        h = np.maximum(layer("encoder0", x[n]), 0)
        mean = layer("mean", h) + own["mu"] + by_class["class_mu"]
        log_sigma = layer("scale", h) + own["log_sigma"] + by_class["class_log_sigma"]
        z = mean + (own["shift"][y - 1] if y else 0.0)
        logits = np.maximum(layer("decoder0", z), 0) @ views["pixels"]["weight.mu"]
        logits = logits + views["pixels"]["bias.mu"]
        likelihood += (x[n] * logits - np.logaddexp(0, logits)).sum()
        divergence += 0.5 * (mean**2 + np.exp(2 * log_sigma) - 1 - 2 * log_sigma).sum()
        divergence += np.log(3)
    found = parts_of(model, vector, masks, x, labels)
    np.testing.assert_allclose(found, (likelihood, divergence), rtol=1e-12)
    # the labels are read: others give another bound
    assert not np.allclose(parts_of(model, vector, masks, x, np.roll(labels, 1)), found)


def test_the_weight_of_a_label_adds_its_log_probability():
    model, vector, masks, x = network_of(3)
    labels = np.array([0, 1, -1, 2, -1, 0])
    log_q = log_softmax(logits_of(model, vector, masks, x), axis=1)
    told = labels >= 0
    expected = 2.5 * log_q[told, labels[told]].sum()
    plain = parts_of(model, vector, masks, x, labels)
    weighted = parts_of(model, vector, masks, x, labels, 2.5)
    np.testing.assert_allclose(weighted[0] - plain[0], expected, rtol=1e-10)
    assert weighted[1] == plain[1]


@given(st.integers(1, 5), st.integers(0, 1000), st.floats(0, 700))
def test_the_posterior_of_a_class_is_a_distribution(classes, seed, size):
    rng = np.random.default_rng(seed)
    logits = size * rng.normal(size=(2, 6, classes))
    known = rng.integers(-1, classes, 6)
    (w, divergence, log_q), _ = class_posterior.infer(logits, known)
    np.testing.assert_allclose(w.sum(axis=-1), 1)
    assert (divergence >= -1e-12).all() and (divergence <= np.log(classes) + 1e-12).all()
    np.testing.assert_allclose(divergence[:, known >= 0], np.log(classes))
    np.testing.assert_allclose(w[:, known < 0], softmax(logits, axis=-1)[:, known < 0])
    assert (log_q <= 0).all() and (log_q[:, known < 0] == 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("apart", [1.0, 17.0, 80.0])
def test_the_gradient_of_a_label_keeps_its_digits_far_out(dtype, apart):
    logits = np.array([[[apart, 0.0]]], dtype)
    for label in (0, 1):
        _, cache = class_posterior.infer(logits, np.array([label]))
        none = np.zeros((1, 1, 2), dtype)
        slope = class_posterior.infer_vjp((none, none[..., 0], np.ones((1, 1), dtype)), cache)
        exact = np.exp(-apart) / (1 + np.exp(-apart)) if label == 0 else -1 / (1 + np.exp(-apart))
        np.testing.assert_allclose(slope[0, 0, 0], exact, rtol=1e-5)


def test_labels_are_chosen_evenly_and_nested():
    y = np.repeat([0, 1, 2], [30, 40, 2])
    few, more = choose(y, 3, 5, 1), choose(y, 10, 5, 1)
    assert np.bincount(y[few]).tolist() == [3, 3, 2]
    assert np.bincount(y[more]).tolist() == [10, 10, 2]
    assert set(few) <= set(more)
    assert not np.array_equal(few, choose(y, 3, 6, 1))
    assert not np.array_equal(few, choose(y, 3, 5, 2))


def test_labels_that_are_not_told_are_not_read():
    """The control: with other hidden labels, everything is the same; with another told one, not."""
    first = task()
    rows = choose(first.y_train, 3, 1, 0)
    y = first.y_train.copy()
    hidden = np.setdiff1d(np.arange(len(y)), rows)
    y[hidden] = 1 - y[hidden]
    one = partly_labelled(first, rows, 1.0)
    other = partly_labelled(replace(first, y_train=y), rows, 1.0)
    np.testing.assert_array_equal(one.targets, other.targets)
    y[rows[0]] = 1 - y[rows[0]]
    assert not np.array_equal(partly_labelled(replace(first, y_train=y), rows, 1.0).targets, one[2])
    assert (one.targets[hidden, 0] == -1).all()
    np.testing.assert_allclose(one.targets[:, 1], 40 / 6)
    np.testing.assert_array_equal(one.targets[:, EXTRA:], first.x_train)


def test_it_learns_classes_from_two_labels_each():
    learner = learner_of(epochs=8, finetune_epochs=20, labels=2)
    tasks = [task(0), task(1, 3)]
    for each in tasks:
        learner.learn(each, progress=False)
    for t, each in enumerate(tasks):
        found = learner.predict(each.x_train, t)
        np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-5)
        assert (found.argmax(axis=1) == each.y_train).mean() > 0.9
    assert learner.masks(1)[0].shape == (9, 8)


@pytest.mark.parametrize("backend_name", ["numpy", "numba"])
def test_a_second_task_leaves_the_answers_to_the_first(backend_name):
    learner = learner_of(backend_name=backend_name)
    learner.learn(task(0, 3), progress=False)
    before = learner.predict(images()[0], 0)
    learner.learn(task(1, 2), progress=False)
    # weights that the first task uses are held, so nothing is forgotten
    np.testing.assert_allclose(learner.predict(images()[0], 0), before, atol=1e-6)


@pytest.mark.parametrize(
    ("learner", "settings"),
    [
        (few_labels.Supervised, few_labels.SupervisedSettings),
        (few_labels.Nearest, few_labels.NearestSettings),
    ],
)
def test_the_references_learn_from_the_same_labels(tmp_path, learner, settings):
    known = {name: SMALL[name] for name in SMALL if name in settings.__dataclass_fields__}
    ours = learner(settings(**known, labels=2), 1, "numpy")
    for t in range(2):
        ours.learn(task(t), progress=False)
    found = ours.predict(task(1).x_test, 1)
    assert found.shape == (6, 2)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-5)
    ours.save(tmp_path / "reference.npz")
    copy = learner.load(tmp_path / "reference.npz")
    np.testing.assert_array_equal(copy.predict(task(1).x_test, 1), found)


def test_the_nearest_labelled_image_has_its_own_label():
    ours = few_labels.Nearest(few_labels.NearestSettings(**SMALL, labels=3), 1, "numpy")
    first = task()
    ours.learn(first, progress=False)
    rows = choose(first.y_train, 3, 1, 0)
    found = ours.predict(first.x_train[rows], 0).argmax(axis=1)
    np.testing.assert_array_equal(found, first.y_train[rows])


def test_it_refuses_what_it_cannot_learn():
    learner = learner_of()
    x, y = images()
    with pytest.raises(ValueError, match=r"m2: task 'wide' must have pixels in 0 \.\. 1"):
        learner.learn(Task("wide", 3 * x, y, 3 * x, y))
    with pytest.raises(TypeError, match="m2"):
        learner.learn(Task("images", x_train=x, x_test=x))
    with pytest.raises(ValueError, match=r"m2\.predict: unknown task_id 0"):
        learner.predict(x, 0)
    for wrong in ({"labels": -1}, {"label_weight": -0.1}):
        with pytest.raises(ValueError, match=f"m2: {next(iter(wrong))} must"):
            Settings(**wrong)
    assert method("m2").learner is m2.M2
