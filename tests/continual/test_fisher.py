"""The diagonal Fisher information: against closed forms, brute force, and among its definitions."""

import numpy as np
import pytest

from ibpcl.continual import fisher
from ibpcl.inference.backend import backend
from ibpcl.models.plain import network as plain_network


def softmax(logits):
    p = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True)


def setting(seed=0, examples=9, hidden=(4, 3), classes=3):
    rng = np.random.default_rng(seed)
    network = plain_network(5, hidden, classes)
    vector = rng.normal(scale=0.8, size=network.layout.size)
    return network, vector, rng.normal(size=(examples, 5)), rng.integers(0, classes, examples)


def brute_force(network, vector, x, label_weights):
    """Square the gradient of every example and label, one at a time."""
    total = np.zeros_like(vector)
    for n, row in enumerate(x):
        for label, weight in enumerate(label_weights[n]):
            _, cache = network.log_likelihood(vector, row[None], np.array([label]), backend("numpy"))
            total += weight * network.log_likelihood_vjp(1.0, cache) ** 2
    return total / len(x)


def test_softmax_regression_has_the_closed_form():
    """The head alone is softmax regression on h: F = mean of h^2 p (1 - p), whatever the labels are."""
    network, vector, x, _ = setting(hidden=(6,))
    (w0, b0), (w1, b1) = network.weights(vector)
    h = np.maximum(x @ w0 + b0, 0)
    p = softmax(h @ w1 + b1)
    weight, bias = network.weights(fisher.diagonal(network, vector, x, None, "exact", None))[-1]
    np.testing.assert_allclose(weight, (h**2).T @ (p * (1 - p)) / len(x), rtol=1e-12)
    np.testing.assert_allclose(bias, (p * (1 - p)).mean(axis=0), rtol=1e-12)


@pytest.mark.parametrize("examples", [1, 9])
def test_exact_and_empirical_are_sums_of_squared_gradients(examples):
    network, vector, x, y = setting(1, examples)
    _, logits = fisher.layer_inputs(network.weights(vector), x)
    np.testing.assert_allclose(fisher.diagonal(network, vector, x, y, "exact", None),
                               brute_force(network, vector, x, softmax(logits)), rtol=1e-10)
    np.testing.assert_allclose(fisher.diagonal(network, vector, x, y, "empirical", None),
                               brute_force(network, vector, x, np.eye(3)[y]), rtol=1e-10)


def test_sampled_labels_are_unbiased():
    network, vector, x, _ = setting(2)
    exact = fisher.diagonal(network, vector, x, None, "exact", None)
    rng = np.random.default_rng(0)
    draws = np.array([fisher.diagonal(network, vector, x, None, "sampled", rng) for _ in range(600)])
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - exact) <= 4.5 * error + 1e-12).all()
    assert (draws.std(axis=0) > 0).any()


def test_chunks_change_nothing(monkeypatch):
    network, vector, x, y = setting(3)
    whole = fisher.diagonal(network, vector, x, y, "exact", None)
    monkeypatch.setattr(fisher, "CHUNK", 4)
    np.testing.assert_allclose(fisher.diagonal(network, vector, x, y, "exact", None), whole, rtol=1e-12)


def test_the_empirical_one_vanishes_faster_for_a_sure_network():
    """With correct labels of probability p its slopes are (1 - p)^2 where the information is p (1 - p)."""
    network, vector, x, _ = setting(4)
    network.weights(vector)[-1][0][...] *= 8
    labels = fisher.layer_inputs(network.weights(vector), x)[1].argmax(axis=1)
    exact, empirical = (fisher.diagonal(network, vector, x, labels, kind, None) for kind in ("exact", "empirical"))
    assert empirical.sum() < exact.sum()


def test_what_it_cannot_do_is_refused():
    network, vector, x, y = setting()
    with pytest.raises(ValueError, match="definition must be one of exact, sampled, empirical, got 'true'"):
        fisher.diagonal(network, vector, x, y, "true", None)
    with pytest.raises(ValueError, match="at least one example"):
        fisher.diagonal(network, vector, x[:0], y[:0], "exact", None)


def test_deltas_times_inputs_are_the_gradient():
    network, vector, x, y = setting()
    layers = network.weights(vector)
    inputs, logits = fisher.layer_inputs(layers, x)
    deltas = fisher.deltas(layers, inputs, np.eye(3)[y] - softmax(logits))
    _, cache = network.log_likelihood(vector, x, y, backend("numpy"))
    found = network.weights(network.log_likelihood_vjp(1.0, cache))
    for (weight, bias), h, delta in zip(found, inputs, deltas, strict=True):
        np.testing.assert_allclose(h.T @ delta, weight, atol=1e-12)
        np.testing.assert_allclose(delta.sum(axis=0), bias, atol=1e-12)
