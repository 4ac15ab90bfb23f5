"""The autoencoder: the scale of its ELBO, its limits, its parts, and both backends."""

import numpy as np
import pytest
from scipy.special import expit, xlogy

from ibpcl.inference.backend import backend
from ibpcl.models import starts
from ibpcl.models.elbo import GRADIENT, Prior, elbo, elbo_vjp
from ibpcl.models.layers import Pass
from ibpcl.models.likelihoods import Bernoulli, Gaussian
from ibpcl.models.network import autoencoder
from ibpcl.models.point_autoencoder import PointAutoencoder, pixel_biases
from ibpcl.noise import Key
from ibpcl.paper.autoencoders import MIXED, network

NUMPY = backend("numpy")


def draw(model, x, relaxed=True, samples=2, dtype=np.float64):
    return model.noise(Key(0, 0, 0, 0), samples, len(x), NUMPY, dtype, relaxed)


def evaluate(model, vector, prior, x, masks=None, who=NUMPY, samples=2):
    noise = draw(model, x, masks is None, samples)
    return elbo(model, vector, prior, x, x, noise, 70, who, masks, 0.7)


@pytest.mark.parametrize("kinds", [None, MIXED, ("plain",) * 7], ids=["masked", "mixed", "plain"])
@pytest.mark.parametrize("relaxed", [True, False])
def test_both_backends_compute_the_same(kinds, relaxed):
    model, vector, prior, x, masks = network(kinds=kinds, activation="leaky_relu")
    results = []
    for who in (NUMPY, backend("numba")):
        parts, cache = evaluate(model, vector, prior, x, None if relaxed else masks, who)
        results.append((parts, elbo_vjp(GRADIENT, cache)))
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-9)
    np.testing.assert_allclose(
        results[0][1], results[1][1], rtol=1e-7, atol=1e-9 * np.abs(results[0][1]).max()
    )


def test_minibatches_of_a_partition_average_to_the_whole_task():
    model, vector, prior, x, masks = network()
    x = np.concatenate([x, x])[:12]
    # without noise in the weights, so that the parts are comparable
    vector[model.layout.block("log_sigma")] = -40
    noise = draw(model, x, False)
    whole, _ = elbo(model, vector, prior, x, x, noise, 12, NUMPY, masks)
    parts = []
    for rows in np.array_split(np.arange(12), 3):
        some = {name: {"eps": own["eps"][:, rows]} for name, own in noise.items()}
        parts.append(elbo(model, vector, prior, x[rows], x[rows], some, 12, NUMPY, masks)[0])
    np.testing.assert_allclose(np.mean(parts, axis=0), whole, rtol=1e-9)
    for part in parts:
        assert part.kl_weights == pytest.approx(whole.kl_weights)


def test_at_the_prior_every_divergence_is_zero():
    model = autoencoder(6, (5, 4), 3, Bernoulli(), learns_prior=True)
    vector = model.initial(
        starts.he(np.random.default_rng(0), 0.5), 0.3, np.full(6, 3.0), np.float64
    )
    layers = model.layout.layers(vector)
    # an encoder that outputs the prior for any input
    for name in ("mean", "scale"):
        layers[name]["weight.mu"][...] = 0
        layers[name]["weight.log_sigma"][...] = -40
        layers[name]["bias.log_sigma"][...] = -40
    block = model.layout.block
    prior = Prior(
        vector[block("mu")].copy(),
        vector[block("log_sigma")].copy(),
        dict.fromkeys(model.masked, 3.0),
    )
    parts, _ = evaluate(model, vector, prior, np.random.default_rng(1).random((4, 6)))
    assert parts[1:] == pytest.approx((0, 0, 0, 0, 0), abs=1e-12)
    assert parts.log_likelihood < 0


def test_all_ones_masks_give_the_network_without_masks():
    model, vector, prior, x, _ = network()
    unmasked = autoencoder(6, (5, 4), 3, Bernoulli(), ("gaussian",) * 7)
    count = model.layout.block("log_sigma").stop
    # a layer without masks has biases instead
    vector[model.layout.block("codes")] = 0
    ones = {name: np.ones(layer.shape, bool) for name, layer in model.masked.items()}
    masked_parts, cache = evaluate(model, vector, prior, x, ones)
    parts, other = evaluate(unmasked, vector[:count], prior._replace(sticks={}), x)
    np.testing.assert_allclose(masked_parts, parts, rtol=1e-12)
    np.testing.assert_allclose(
        elbo_vjp(GRADIENT, cache)[:count], elbo_vjp(GRADIENT, other), rtol=1e-12
    )


def test_masks_that_are_surely_on_are_all_ones():
    model, vector, _, x, _ = network()
    vector[model.layout.block("rho")] = 500.0
    vector[model.layout.block("log_sigma")] = -40.0
    ones = {name: np.ones(layer.shape, bool) for name, layer in model.masked.items()}
    relaxed, found = model.forward(vector, x, draw(model, x), Pass(NUMPY, None, 0.7))[0]
    fixed, expected = model.forward(vector, x, draw(model, x, False), Pass(NUMPY, ones))[0]
    np.testing.assert_allclose(relaxed, fixed, rtol=1e-9)
    np.testing.assert_allclose(found["kl_latent"], expected["kl_latent"], rtol=1e-9)


def test_beta_weights_only_the_divergence_of_the_codes():
    """The gradient is linear in the cotangent: only the latent part is multiplied by beta."""
    model, vector, prior, x, masks = network()
    _, cache = evaluate(model, vector, prior, x, masks)
    by_beta = [elbo_vjp(GRADIENT._replace(kl_latent=-beta), cache) for beta in (0.0, 1.0, 4.0)]
    np.testing.assert_allclose(
        by_beta[2], by_beta[0] + 4 * (by_beta[1] - by_beta[0]), rtol=1e-9, atol=1e-9
    )
    assert np.abs(by_beta[1] - by_beta[0]).max() > 0
    decoder = model.layout.view(by_beta[1] - by_beta[0], "decoder0.weight.mu")
    np.testing.assert_allclose(decoder, 0, atol=1e-12)  # it does not depend on the decoder


def test_the_order_of_sticks_does_not_affect_the_scales():
    """With two layers, the first columns of scales and means are equally likely on."""
    model = autoencoder(6, (5,), 3, Bernoulli())
    layers = model.layout.layers(
        model.initial(starts.he(np.random.default_rng(0)), 0.1, np.full(4, 2.0))
    )
    for name in ("rho", "raw_a", "raw_b"):
        np.testing.assert_array_equal(layers["mean"][name], layers["scale"][name])
    assert layers["mean"]["rho"].shape == (5, 3)


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_at_its_means_it_is_the_network_without_noise(likelihood):
    model, vector, _, x, masks = network(
        likelihood=likelihood, learns_prior=True, activation="leaky_relu"
    )
    # units that will be left out
    masks["encoder0"][:, 1] = False
    masks["decoder1"][:, 2] = False
    vector[model.layout.block("log_sigma")] = -40
    point = PointAutoencoder(model, vector, masks)
    noise = draw(model, x, False)
    (outputs, _), _ = model.forward(vector, x, noise, Pass(NUMPY, masks))
    mean, log_sigma = point.encode(x)
    z = mean + np.exp(log_sigma) * noise["codes"]["eps"]
    assert point.views["encoder0"]["weight.mu"].shape == (6, 4)
    np.testing.assert_allclose(point.outputs(z), outputs, rtol=1e-9)
    picture = expit(outputs) if likelihood == "bernoulli" else outputs
    np.testing.assert_allclose(point.decode(z), picture, rtol=1e-9)
    density = (
        xlogy(x, picture) + xlogy(1 - x, 1 - picture)
        if likelihood == "bernoulli"
        else -0.5 * np.log(2 * np.pi) - np.log(0.1) - ((x - picture) / 0.1) ** 2 / 2
    )
    np.testing.assert_allclose(point.log_likelihood(x, z), density.sum(axis=-1), rtol=1e-9)
    np.testing.assert_array_equal(point.prior()[0], model.layout.view(vector, "prior.mu"))
    assert point.latent == 3


def test_before_training_the_pixels_are_the_mean_image():
    x = np.random.default_rng(0).random((50, 6))
    np.testing.assert_allclose(expit(pixel_biases(x, Bernoulli())), x.mean(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(pixel_biases(x, Gaussian()), x.mean(axis=0))
    assert np.isfinite(pixel_biases(np.zeros((2, 3)), Bernoulli())).all()
