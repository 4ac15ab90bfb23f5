"""The autoencoder: the scale of its ELBO, its limits, its parts, and both backends."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import expit, xlogy

from ibpcl.inference.backend import backend
from ibpcl.models import autoencoder_packing, packing
from ibpcl.models.autoencoder import Autoencoder
from ibpcl.models.point_autoencoder import at_means, pixel_biases
from ibpcl.models.supervised import Prior
from ibpcl.noise import Key
from ibpcl.paper.autoencoders import MIXED, network

NUMPY = backend("numpy")
TRUE = (1.0, -1.0, -1.0, -1.0, -1.0)


def draw(model, x, relaxed=True, samples=2, dtype=np.float64):
    return model.noise(Key(0, 0, 0, 0), samples, len(x), NUMPY, dtype, relaxed)


def evaluate(model, vector, prior, x, masks=None, who=NUMPY, samples=2):
    noise = draw(model, x, masks is None, samples)
    return model.elbo(vector, prior, x, noise, 70, who, masks, 0.7)


@pytest.mark.parametrize("kinds", [None, MIXED, ("plain",) * 7], ids=["masked", "mixed", "plain"])
@pytest.mark.parametrize("relaxed", [True, False])
def test_both_backends_compute_the_same(kinds, relaxed):
    model, vector, prior, x, masks = network(kinds=kinds, activation="leaky_relu")
    results = []
    for who in (NUMPY, backend("numba")):
        parts, cache = evaluate(model, vector, prior, x, None if relaxed else masks, who)
        results.append((parts, model.elbo_vjp(TRUE, cache)))
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-9)
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-7, atol=1e-9 * np.abs(results[0][1]).max())


def test_minibatches_of_a_partition_average_to_the_whole_task():
    model, vector, prior, x, masks = network()
    x = np.concatenate([x, x])[:12]
    vector[model.layout.block("log_sigma")] = -40            # no noise in the weights, so that parts can be compared
    noise = draw(model, x, False)
    whole, _ = model.elbo(vector, prior, x, noise, 12, NUMPY, masks)
    parts = []
    for rows in np.array_split(np.arange(12), 3):
        some = noise._replace(layers=tuple(eps[:, rows] for eps in noise.layers), latent=noise.latent[:, rows])
        parts.append(model.elbo(vector, prior, x[rows], some, 12, NUMPY, masks)[0])
    np.testing.assert_allclose(np.mean(parts, axis=0), whole, rtol=1e-9)
    for part in parts:
        assert part.kl_weights == pytest.approx(whole.kl_weights)


def test_at_the_prior_every_divergence_is_zero():
    model = Autoencoder(6, (5, 4), 3, (4, 5), learns_prior=True)
    alpha = np.full(6, 3.0)
    vector = model.initial(np.random.default_rng(0), alpha, 0.3, 0.5, np.float64)
    for name in ("mean", "scale"):                           # an encoder that answers with the prior, whatever it reads
        model.layers(vector)[name]["weight.mu"][...] = 0
        model.layers(vector)[name]["weight.log_sigma"][...] = -40
        model.layers(vector)[name]["bias.log_sigma"][...] = -40
    block = model.layout.block
    prior = Prior(vector[block("mu")].copy(), vector[block("log_sigma")].copy(), alpha)
    parts, _ = evaluate(model, vector, prior, np.random.default_rng(1).random((4, 6)))
    assert parts[1:] == pytest.approx((0, 0, 0, 0), abs=1e-12)
    assert parts.log_likelihood < 0


def test_all_ones_masks_give_the_network_without_masks():
    model, vector, prior, x, _ = network()
    unmasked = Autoencoder(6, (5, 4), 3, (4, 5), ("gaussian",) * 7)
    count = model.layout.block("log_sigma").stop
    vector[model.layout.block("codes")] = 0                  # a layer without masks has biases instead
    ones = {name: np.ones(model.shapes[name], bool) for name in model.of_kind("masked")}
    masked_parts, cache = evaluate(model, vector, prior, x, ones)
    parts, other = evaluate(unmasked, vector[:count], prior._replace(alpha=np.zeros(0)), x)
    np.testing.assert_allclose(masked_parts, parts, rtol=1e-12)
    np.testing.assert_allclose(model.elbo_vjp(TRUE, cache)[:count], unmasked.elbo_vjp(TRUE, other), rtol=1e-12)


def test_masks_that_are_surely_on_are_all_ones():
    model, vector, _, x, _ = network()
    vector[model.layout.block("rho")], vector[model.layout.block("log_sigma")] = 500.0, -40.0
    ones = {name: np.ones(model.shapes[name], bool) for name in model.of_kind("masked")}
    relaxed = model.evaluate(vector, x, draw(model, x), NUMPY, None, 0.7)[0]
    fixed = model.evaluate(vector, x, draw(model, x, False), NUMPY, ones)[0]
    for one, other in zip(relaxed[:3], fixed[:3], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_beta_weighs_the_codes_divergence_alone():
    """The gradient is linear in the cotangent: beta times the latent part's gradient, the others as they were."""
    model, vector, prior, x, masks = network()
    _, cache = evaluate(model, vector, prior, x, masks)
    by_beta = [model.elbo_vjp((1.0, -beta, -1.0, 0.0, 0.0), cache) for beta in (0.0, 1.0, 4.0)]
    np.testing.assert_allclose(by_beta[2], by_beta[0] + 4 * (by_beta[1] - by_beta[0]), rtol=1e-9, atol=1e-9)
    assert np.abs(by_beta[1] - by_beta[0]).max() > 0
    decoder = model.layers(by_beta[1] - by_beta[0])["decoder0"]["weight.mu"]
    np.testing.assert_allclose(decoder, 0, atol=1e-12)       # the decoder has no path to it


def test_the_sticks_order_does_not_reach_the_scales():
    """Two layers: the first column of the scales is as likely on as the first column of the means."""
    model = Autoencoder(6, (5,), 3, (5,))
    vector = model.initial(np.random.default_rng(0), np.full(4, 2.0), 0.1, 1.0)
    layers = model.layers(vector)
    for name in ("rho", "raw_a", "raw_b"):
        np.testing.assert_array_equal(layers["mean"][name], layers["scale"][name])
    assert layers["mean"]["rho"].shape == (5, 3)


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_at_its_means_it_is_the_network_without_noise(likelihood):
    model, vector, _, x, masks = network(likelihood=likelihood, learns_prior=True, activation="leaky_relu")
    masks["encoder0"][:, 1], masks["decoder1"][:, 2] = False, False      # units that are left out
    vector[model.layout.block("log_sigma")] = -40
    point, noise = at_means(model, vector, masks), draw(model, x, False)
    (outputs, mean, log_sigma, _), _ = model.evaluate(vector, x, noise, NUMPY, masks)
    z = mean + np.exp(log_sigma) * noise.latent
    assert point.encoder[0][0].shape == (6, 4)
    for got, exact in zip((*point.encode(x), point.outputs(z)), (mean[0], log_sigma[0], outputs), strict=True):
        np.testing.assert_allclose(got, exact, rtol=1e-9)
    picture = expit(outputs) if likelihood == "bernoulli" else outputs
    np.testing.assert_allclose(point.decode(z), picture, rtol=1e-9)
    density = (xlogy(x, picture) + xlogy(1 - x, 1 - picture) if likelihood == "bernoulli"
               else -0.5 * np.log(2 * np.pi) - np.log(0.1) - ((x - picture) / 0.1)**2 / 2)
    np.testing.assert_allclose(point.log_likelihood(x, z), density.sum(axis=-1), rtol=1e-9)
    np.testing.assert_array_equal(point.prior()[0], model.latent_prior(vector)[0])
    assert point.latent == 3


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "tanh"])
def test_the_part_a_task_can_use_computes_the_same(activation):
    """Dead inputs and empty units left out: same outputs, and the same gradient where something is left."""
    model, vector, prior, x, masks = network(activation=activation)
    x[:, 2] = 0
    masks["encoder1"][:, 0] = masks["decoder0"][:, 3] = False
    masks["encoder0"][:, 4] = [False, False, True, False, False, False]  # connected to the dead input alone
    part = autoencoder_packing.fixed_part(model, masks, x)
    small, noise = part.model, draw(model, x, False)
    some = noise._replace(layers=tuple(
        eps[..., kept] for eps, kept in zip(noise.layers, (*part.units[:2], *[np.ones(3, bool)] * 2, *part.units[2:],
                                                           np.ones(6, bool)), strict=True)))
    arguments = (some, 70, NUMPY, autoencoder_packing.pack_masks(model, part, masks, NUMPY), None, x)
    parts, cache = small.elbo(vector[part.index], packing.pack_prior(part, model, prior), part.columns(x), *arguments)
    whole, whole_cache = model.elbo(vector, prior, x, noise, 70, NUMPY, masks)
    assert parts[:2] == pytest.approx(whole[:2], rel=1e-12)
    assert (small.encoder, small.decoder) == ((5, 3), (3, 5))
    assert (np.diff(part.index) > 0).all()                   # checkpoints rely on it: they name elements by a mask
    np.testing.assert_allclose(small.elbo_vjp((1, -1, 0, 0, 0), cache),
                               model.elbo_vjp((1, -1, 0, 0, 0), whole_cache)[part.index], rtol=1e-9, atol=1e-9)


def test_before_training_the_pixels_are_the_mean_image():
    x = np.random.default_rng(0).random((50, 6))
    np.testing.assert_allclose(expit(pixel_biases(x, "bernoulli")), x.mean(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(pixel_biases(x, "gaussian"), x.mean(axis=0))
    assert np.isfinite(pixel_biases(np.zeros((2, 3)), "bernoulli")).all()


def test_the_layers_are_where_they_belong():
    model = Autoencoder(6, (5, 4), 3, (4, 5))
    assert model.names == ("encoder0", "encoder1", "mean", "scale", "decoder0", "decoder1", "pixels")
    assert [model.shapes[name] for name in model.names] == [*pairwise((6, 5, 4, 3)), (4, 3), *pairwise((3, 4, 5, 6))]
    assert model.of_kind("gaussian") == ("pixels",)


@pytest.mark.parametrize(("arguments", "message"), [
    ((0, (3,), 2, (3,)), "at least 1"), ((4, (), 2, (3,)), "at least 1"), ((4, (3,), 2, (3,), ("masked",)), "kinds"),
    ((4, (3,), 2, (3,), ("mask",) * 5), "kinds"), ((4, (3,), 2, (3,), None, "gelu"), "activation")])
def test_a_network_that_cannot_be_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Autoencoder(*arguments)
    for bad in ({"likelihood": "poisson"}, {"pixel_sigma": 0.0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            Autoencoder(4, (3,), 2, (3,), **bad)


@pytest.mark.parametrize("activation", ["leaky_relu", "tanh", "softplus"])
@pytest.mark.parametrize("seed", range(4))
def test_weights_that_change_nothing_are_switched_off_and_no_others(activation, seed):
    """On images with dead pixels the model is the same without them; without one more weight it is another.

    Biases are 0: a unit that only dead pixels lead to has a weight, so it says its bias, and is dropped with it.
    """
    rng = np.random.default_rng(seed)
    model = Autoencoder(9, (6, 5), 4, (5, 6), activation=activation)
    vector = rng.normal(size=model.layout.size)
    for layer in model.layers(vector).values():
        layer["bias.mu"][...] = 0
    masks = {name: rng.random(model.shapes[name]) < 0.25 for name in model.of_kind("masked")}
    masks["encoder1"][:, 2] = masks["decoder0"][:, 1] = False
    x = rng.random((20, 9)) * (np.arange(9) % 4 != 0)
    kept = autoencoder_packing.useful(model, masks, x)

    def outputs(chosen):
        point = at_means(model, vector, chosen)
        mean, log_sigma = point.encode(x)
        return np.concatenate([mean, log_sigma, point.outputs(mean + np.exp(log_sigma))], axis=1)

    whole = outputs(masks)
    np.testing.assert_allclose(outputs(kept), whole, rtol=1e-10)
    assert sum(mask.sum() for mask in kept.values()) < sum(mask.sum() for mask in masks.values())
    for name, mask in kept.items():
        assert not (mask & ~masks[name]).any()
        for d, k in np.argwhere(mask):
            fewer = {key: value.copy() for key, value in kept.items()}
            fewer[name][d, k] = False
            assert np.abs(outputs(fewer) - whole).max() > 1e-12, (name, d, k)
