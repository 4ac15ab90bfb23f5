"""The diagonal Fisher information: against closed forms, brute force, and among its definitions."""

import numpy as np
import pytest

from ibpcl.continual import fisher
from ibpcl.inference.backend import backend
from ibpcl.models.layers import Pass
from ibpcl.models.likelihoods import Bernoulli, of_pixels
from ibpcl.models.network import autoencoder
from ibpcl.models.plain import network as plain_network
from ibpcl.models.point_autoencoder import PointAutoencoder
from ibpcl.numerics import sigmoid


def softmax(logits):
    p = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True)


def setting(seed=0, examples=9, hidden=(4, 3), classes=3):
    rng = np.random.default_rng(seed)
    network = plain_network(5, hidden, classes)
    vector = rng.normal(scale=0.8, size=network.layout.size)
    return network, vector, rng.normal(size=(examples, 5)), rng.integers(0, classes, examples)


IMAGES = "image:4x4x2;conv:3;dense:4;blocks:2"


def setting_of_images(seed=0, examples=9):
    rng = np.random.default_rng(seed)
    network = plain_network(32, (), 3, line=IMAGES)
    vector = rng.normal(scale=0.5, size=network.layout.size)
    return network, vector, rng.normal(size=(examples, 32)), rng.integers(0, 3, examples)


def brute_force(network, vector, x, label_weights):
    """Square the gradient of every example and label, one at a time."""
    total = np.zeros_like(vector)
    for n, row in enumerate(x):
        for label, weight in enumerate(label_weights[n]):
            _, cache = network.log_likelihood(
                vector, row[None], np.array([label]), backend("numpy")
            )
            total += weight * network.log_likelihood_vjp(1.0, cache) ** 2
    return total / len(x)


def test_softmax_regression_has_the_closed_form():
    """For the head alone, F is the mean of h^2 p (1 - p), for any labels."""
    network, vector, x, _ = setting(hidden=(6,))
    (w0, b0), (w1, b1) = network.weights(vector)
    h = np.maximum(x @ w0 + b0, 0)
    p = softmax(h @ w1 + b1)
    weight, bias = network.weights(fisher.diagonal(network, vector, x, None, "exact", None))[-1]
    np.testing.assert_allclose(weight, (h**2).T @ (p * (1 - p)) / len(x), rtol=1e-12)
    np.testing.assert_allclose(bias, (p * (1 - p)).mean(axis=0), rtol=1e-12)


@pytest.mark.parametrize("of", [setting, setting_of_images])
@pytest.mark.parametrize("examples", [1, 9])
def test_exact_and_empirical_are_sums_of_squared_gradients(examples, of):
    network, vector, x, y = of(1, examples)
    (logits, _), _ = network.forward(vector, x, {}, Pass(backend("numpy"), {}))
    np.testing.assert_allclose(
        fisher.diagonal(network, vector, x, y, "exact", None),
        brute_force(network, vector, x, softmax(logits[0])),
        rtol=1e-10,
    )
    np.testing.assert_allclose(
        fisher.diagonal(network, vector, x, y, "empirical", None),
        brute_force(network, vector, x, np.eye(3)[y]),
        rtol=1e-10,
    )


def test_sampled_labels_are_unbiased():
    network, vector, x, _ = setting(2)
    exact = fisher.diagonal(network, vector, x, None, "exact", None)
    rng = np.random.default_rng(0)
    draws = np.array(
        [fisher.diagonal(network, vector, x, None, "sampled", rng) for _ in range(600)]
    )
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - exact) <= 4.5 * error + 1e-12).all()
    assert (draws.std(axis=0) > 0).any()


def test_chunks_change_nothing(monkeypatch):
    network, vector, x, y = setting(3)
    whole = fisher.diagonal(network, vector, x, y, "exact", None)
    monkeypatch.setattr(fisher, "CHUNK", 4)
    np.testing.assert_allclose(
        fisher.diagonal(network, vector, x, y, "exact", None), whole, rtol=1e-12
    )


def test_the_empirical_fisher_vanishes_faster_when_confident():
    """With correct labels of probability p its slopes are (1 - p)^2 where the information is p (1 -
    p).
    """
    network, vector, x, _ = setting(4)
    network.weights(vector)[-1][0][...] *= 8
    labels = network.predict(vector, x, backend("numpy")).argmax(axis=1)
    exact, empirical = (
        fisher.diagonal(network, vector, x, labels, kind, None) for kind in ("exact", "empirical")
    )
    assert empirical.sum() < exact.sum()


def test_unknown_definitions_and_empty_data_are_refused():
    network, vector, x, y = setting()
    with pytest.raises(
        ValueError, match="definition must be one of exact, sampled, empirical, got 'true'"
    ):
        fisher.diagonal(network, vector, x, y, "true", None)
    with pytest.raises(ValueError, match="at least one example"):
        fisher.diagonal(network, vector, x[:0], y[:0], "exact", None)


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_for_autoencoders_it_is_the_mean_squared_decoder_slope(likelihood):
    """Image by image, by finite differences, with the codes fixed at their means."""
    rng = np.random.default_rng(0)
    model = autoencoder(6, (5, 4), 3, of_pixels(likelihood, 0.1), ("plain",) * 7, "tanh")
    vector = rng.normal(scale=0.5, size=model.layout.size)
    x = rng.random((4, 6))
    views = model.layout.views(vector)
    views["scale.weight.mu"][...] = 0
    views["scale.bias.mu"][...] = -60
    point = PointAutoencoder(model, vector)
    squares = np.zeros_like(vector)
    behind = np.arange(len(vector))[
        model.layout.places(lambda name: name.startswith(("decoder", "pixels")))
    ]
    for image in x:
        z = point.encode(image[None])[0]
        for i in behind:
            kept = vector[i]
            values = []
            for step in (1e-5, -1e-5):
                vector[i] = kept + step
                values.append(
                    PointAutoencoder(model, vector).log_likelihood(image[None], z[None])[0, 0]
                )
            vector[i] = kept
            squares[i] += ((values[0] - values[1]) / 2e-5) ** 2 / len(x)
    found = fisher.diagonal(model, vector, x, x, "empirical", rng)
    np.testing.assert_allclose(found, squares, rtol=1e-5, atol=1e-7)
    assert (found[behind] > 0).any() and not np.delete(found, behind).any()


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_sampled_information_of_the_pixels_biases_has_the_closed_form(likelihood):
    """The exact information of a logit is p (1 - p), that of a mean 1 / sigma^2; sampled ones
    average to it.
    """
    rng = np.random.default_rng(0)
    model = autoencoder(3, (2,), 1, of_pixels(likelihood, 0.5), ("plain",) * 5)
    vector = np.zeros(model.layout.size)
    model.layout.view(vector, "pixels.bias.mu")[...] = (-2.0, 0.0, 1.0)
    x = np.zeros((40_000, 3))
    found = model.layout.view(
        fisher.diagonal(model, vector, x, x, "sampled", rng), "pixels.bias.mu"
    )
    p = sigmoid(np.array([-2.0, 0.0, 1.0]))
    np.testing.assert_allclose(
        found, p * (1 - p) if likelihood == "bernoulli" else np.full(3, 4.0), rtol=0.05
    )


def test_the_exact_definition_is_for_classes_only():
    model = autoencoder(3, (2,), 1, Bernoulli(), ("plain",) * 5)
    with pytest.raises(
        ValueError, match="definition must be one of sampled, empirical, got 'exact'"
    ):
        fisher.diagonal(model, np.zeros(model.layout.size), np.zeros((1, 3)), None, "exact", None)
