"""Predictions: without noise, in their limits, and by each likelihood."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, log_softmax, ndtr

from ibpcl.inference.backend import backend
from ibpcl.models import likelihoods, starts
from ibpcl.models.masked import Masked
from ibpcl.models.network import classifier
from ibpcl.models.prediction import predict
from ibpcl.noise import Key
from ibpcl.paper.networks import network

NUMPY = backend("numpy")


@pytest.mark.parametrize("kind", ["classifier", "logistic", "probit"])
def test_without_noise_a_prediction_is_the_network_output(kind):
    model, vector, _, x, _, masks = network(kind=kind)
    vector[model.layout.block("log_sigma")] = -40
    h = x
    for name, layer in model.layout.layers(vector).items():
        mask = masks.get(name)
        active = 1 if mask is None else mask.any(axis=0)
        h = h @ (layer["weight.mu"] * (1 if mask is None else mask)) + layer["bias.mu"] * active
        h = h if mask is None else np.maximum(h, 0)
    on = {"logistic": expit, "probit": ndtr}.get(kind)
    exact = np.exp(log_softmax(h, axis=1)) if on is None else np.hstack([1 - on(h), on(h)])
    prediction = predict(model, vector, masks, x, 3, Key(0, 0, 0, 0), NUMPY)
    np.testing.assert_allclose(prediction.probabilities, exact, rtol=1e-9)
    np.testing.assert_allclose(prediction.mutual_information, 0, atol=1e-9)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 40), st.integers(1, 50), st.integers(0, 100))
def test_predictions_are_distributions_and_uncertainty_is_bounded(samples, chunk, seed):
    model, vector, _, x, _, masks = network(seed)
    p = predict(model, vector, masks, x, samples, Key(seed, 0, 0, 0), NUMPY, chunk)
    np.testing.assert_allclose(p.probabilities.sum(axis=1), 1, rtol=1e-9)
    assert (p.entropy <= np.log(3) + 1e-9).all()
    assert (p.mutual_information >= 0).all()
    assert (p.mutual_information <= p.entropy + 1e-9).all()


def test_one_sample_carries_no_information_about_the_weights():
    model, vector, _, x, _, masks = network()
    p = predict(model, vector, masks, x, 1, Key(0, 0, 0, 0), NUMPY)
    np.testing.assert_allclose(p.mutual_information, 0, atol=1e-12)


def test_no_examples_have_no_predictions():
    model, vector, _, x, _, masks = network()
    p = predict(model, vector, masks, x[:0], 3, Key(0, 0, 0, 0), NUMPY)
    assert p.probabilities.shape == (0, 3) and p.entropy.shape == (0,)


def test_the_variance_of_values_is_that_of_the_outputs_without_bias():
    """The mean over many pairs of samples equals the result for many samples."""
    model = classifier(3, (4,), likelihoods.Gaussian(0.25, True), 1, Masked)
    vector = model.initial(starts.normal(np.random.default_rng(0), 0.5), 0.5, (2.0,), np.float64)
    masks = {"hidden0": np.ones((3, 4), bool)}
    x = np.ones((4000, 3))
    pairs = predict(model, vector, masks, x, 2, Key(0, 0, 0, 0), NUMPY)
    many = predict(model, vector, masks, x[:1], 4000, Key(1, 0, 0, 0), NUMPY)
    assert (pairs.model_sigma**2).mean() == pytest.approx(many.model_sigma[0, 0] ** 2, rel=0.1)
    with pytest.raises(ValueError, match="samples, got 1"):
        predict(model, vector, masks, x, 1, Key(0, 0, 0, 0), NUMPY)


def test_a_two_class_likelihood_refuses_three_classes():
    assert (
        likelihoods.of_classes("probit").width(2) == 1
        and likelihoods.of_classes("softmax").width(3) == 3
    )
    with pytest.raises(ValueError, match=r"probit.*got 3"):
        likelihoods.of_classes("probit").width(3)
