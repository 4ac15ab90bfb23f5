"""The classifier: its ELBO's scale, its limits, its predictions, and that both backends compute the same."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax

from ibpcl.inference.backend import backend
from ibpcl.models import layers, packing
from ibpcl.models.classifier import Classifier
from ibpcl.models.layers import MaskModel
from ibpcl.models.regressor import Regressor
from ibpcl.models.supervised import Prior
from ibpcl.noise import Key
from ibpcl.numerics import inverse_softplus
from ibpcl.paper.networks import ALPHA, network
from ibpcl.primitives import kumaraswamy

NUMPY = backend("numpy")


def evaluate(model, vector, prior, x, labels, samples=2, examples=70, who=NUMPY, dtype=np.float64, step=0):
    noise = model.noise(Key(0, 0, step, 0), samples, len(x), NUMPY, dtype)
    return model.elbo(vector, prior, x, labels, noise, 0.7, examples, who)


def test_at_the_prior_every_divergence_is_zero():
    model = Classifier(6, (5, 4), 3)
    vector = model.initial(np.random.default_rng(0), ALPHA, 0.3, 0.5, np.float64)
    block = model.layout.block
    prior = Prior(vector[block("mu")].copy(), vector[block("log_sigma")].copy(), ALPHA)
    parts, _ = evaluate(model, vector, prior, np.ones((2, 6)), np.zeros(2, int))
    assert parts[1:] == pytest.approx((0, 0, 0, 0), abs=1e-12)


def test_masks_that_are_surely_on_give_the_plain_bayesian_network():
    """rho far up: every mask is 1, so the relaxed network with the masks' limit is the one with all-ones masks."""
    model, vector, _, x, _, _ = network()
    vector[model.layout.block("rho")] = 500.0
    vector[model.layout.block("log_sigma")] = -40.0
    noise = model.noise(Key(0, 0, 0, 0), 2, len(x), NUMPY, np.float64)
    (relaxed, _), _ = model.relaxed(vector, x, noise, 0.7, NUMPY)
    ones = [np.ones(shape, bool) for shape in model.shapes]
    fixed, _ = model.fixed(vector, ones, x, model.fixed_noise(Key(0, 0, 0, 0), 2, len(x), NUMPY, np.float64))
    np.testing.assert_allclose(relaxed, fixed, rtol=1e-9)


def test_without_noise_a_prediction_is_the_network_s():
    model, vector, _, x, _, masks = network()
    vector[model.layout.block("log_sigma")] = -40
    h = x
    for layer, mask in zip(model.layers(vector), (*masks, None), strict=True):
        active = 1 if mask is None else mask.any(axis=0)
        h = h @ (layer["weight.mu"] * (1 if mask is None else mask)) + layer["bias.mu"] * active
        h = h if mask is None else np.maximum(h, 0)
    prediction = model.predict(vector, masks, x, 3, Key(0, 0, 0, 0), NUMPY)
    np.testing.assert_allclose(prediction.probabilities, np.exp(log_softmax(h, axis=1)), rtol=1e-9)
    np.testing.assert_allclose(prediction.mutual_information, 0, atol=1e-9)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 40), st.integers(1, 50), st.integers(0, 100))
def test_predictions_are_distributions_and_uncertainty_is_bounded(samples, chunk, seed):
    model, vector, _, x, _, masks = network(seed)
    p = model.predict(vector, masks, x, samples, Key(seed, 0, 0, 0), NUMPY, chunk)
    np.testing.assert_allclose(p.probabilities.sum(axis=1), 1, rtol=1e-9)
    assert (p.entropy <= np.log(3) + 1e-9).all()
    assert (p.mutual_information >= 0).all()
    assert (p.mutual_information <= p.entropy + 1e-9).all()


def test_one_sample_carries_no_information_about_the_weights():
    model, vector, _, x, _, masks = network()
    p = model.predict(vector, masks, x, 1, Key(0, 0, 0, 0), NUMPY)
    np.testing.assert_allclose(p.mutual_information, 0, atol=1e-12)


@pytest.mark.parametrize("mask_kl", ["bernoulli", "concrete"])
def test_both_backends_compute_the_same(mask_kl):
    model, vector, prior, x, labels, _ = network(mask_kl=mask_kl)
    results = []
    for who in (NUMPY, backend("numba")):
        parts, cache = evaluate(model, vector, prior, x, labels, who=who)
        results.append((parts, model.elbo_vjp((1.0, -1.0, -1.0, -1.0, -1.0), cache)))
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-9)
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-7, atol=1e-9 * np.abs(results[0][1]).max())


def test_the_estimate_averages_over_samples():
    """Twice the samples, the first half with the first noise: the mean of both halves."""
    model, vector, prior, x, labels, _ = network()
    noise = model.noise(Key(0, 0, 0, 0), 4, len(x), NUMPY, np.float64)

    def half(rows):
        layers = tuple(type(layer)(*(array[rows] for array in layer)) for layer in noise.hidden)
        return type(noise)(layers, noise.head[rows])

    estimates = [model.elbo(vector, prior, x, labels, n, 0.7, 70, NUMPY)[0]
                 for n in (noise, half(slice(0, 2)), half(slice(2, 4)))]
    np.testing.assert_allclose(estimates[0], np.mean(estimates[1:], axis=0), rtol=1e-12)


@pytest.mark.parametrize(("arguments", "message"), [
    ((0, (3,), 2), "at least 1"), ((4, (), 2), "at least 1"), ((4, (3,), 2, "gelu"), "activation"),
    ((4, (3,), 2, "relu", MaskModel("exact")), "mask_kl"),
    ((4, (3,), 2, "relu", MaskModel(link="probit")), "mask_link")])
def test_a_network_that_cannot_be_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Classifier(*arguments)


def test_an_unknown_backend_is_refused():
    with pytest.raises(ValueError, match="numba"):
        backend("torch")


def test_a_flat_prior_is_the_limit_of_a_wide_one():
    """The wider a Gaussian, the nearer its divergence to minus the logarithms of sigma, and a constant."""
    model, vector, prior, x, labels, masks = network()
    count = len(prior.mu)
    flat = prior._replace(informative=np.arange(0, count, 2), flat=True)
    others = np.setdiff1d(np.arange(count), flat.informative)
    noise = model.fixed_noise(Key(0, 0, 0, 0), 2, len(x), NUMPY, np.float64)

    def divergence(prior):
        parts, cache = model.fixed_elbo(vector, prior, masks, x, labels, noise, 70, NUMPY)
        return parts.kl_weights, model.fixed_elbo_vjp((0.0, 1.0, 0.0, 0.0), cache)

    value, gradient = divergence(flat)
    for width, tolerance in ((1e3, 1e-4), (1e5, 1e-8)):
        wide = prior._replace(log_sigma=np.where(np.isin(np.arange(count), others), np.log(width), prior.log_sigma))
        wide_value, wide_gradient = divergence(wide)
        constant = len(others) * (np.log(width) - 0.5)
        np.testing.assert_allclose(wide_value - constant, value, atol=tolerance)
        np.testing.assert_allclose(wide_gradient, gradient, atol=tolerance)
    none_value, none_gradient = divergence(flat._replace(flat=False))
    sigmas = vector[model.layout.block("log_sigma")]
    np.testing.assert_allclose(none_value, value + sigmas[others].sum())
    assert not none_gradient[model.layout.block("mu")][others].any()


def test_sticks_that_rows_have_of_their_own_but_equal_are_those_that_rows_share():
    """The same sticks in every row: same outputs and masks' divergence; and the sticks' divergence counts D times."""
    model, vector, prior, x, labels, _ = network()
    each = replace(model, mask_model=MaskModel(row_sticks=True))
    vector_each = np.zeros(each.layout.size)
    for name, view in each.layout.views(vector_each).items():
        view[...] = model.layout.views(vector)[name]          # (K,) to (D, K)
    noise = model.noise(Key(0, 0, 0, 0), 2, len(x), NUMPY, np.float64)
    same = tuple(drawn._replace(stick=np.repeat(drawn.stick[:, None], len(drawn.weight[0]), axis=1))
                 for drawn in noise.hidden)
    parts, cache = model.elbo(vector, prior, x, labels, noise, 0.7, 70, NUMPY)
    parts_each, cache_each = each.elbo(vector_each, prior, x, labels, noise._replace(hidden=same), 0.7, 70, NUMPY)
    np.testing.assert_allclose(parts_each[:3], parts[:3], rtol=1e-12)
    sticks = [kumaraswamy.kl_to_beta(*layers.sticks(layer["raw_a"], layer["raw_b"])[0], alpha)[0]
              for layer, alpha in zip(model.layers(vector), ALPHA, strict=False)]
    assert parts_each.kl_sticks == pytest.approx(np.dot([shape[0] for shape in model.shapes], sticks))
    weights = (1, -1, -1, 0, 0)
    for one, other in zip(model.layers(model.elbo_vjp(weights, cache)),
                          each.layers(each.elbo_vjp(weights, cache_each)), strict=True):
        for name, gradient in one.items():
            summed = other[name].sum(axis=0) if name.startswith("raw") else other[name]
            np.testing.assert_allclose(summed, gradient, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("mask_kl", ["bernoulli", "concrete"])
def test_sticks_of_each_row_are_compiled_as_they_are_written(mask_kl):
    model, vector, prior, x, labels, _ = network(2, mask_kl, row_sticks=True)
    noise = model.noise(Key(2, 0, 0, 0), 3, len(x), NUMPY, np.float64)
    found = []
    for which in (NUMPY, backend("numba")):
        parts, cache = model.elbo(vector, prior, x, labels, noise, 0.7, 70, which)
        found.append((parts, model.elbo_vjp((1, -1, -1, -1, -1), cache)))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_an_input_that_is_always_zero_may_rest_with_its_own_sticks():
    """At its prior a row adds nothing to any part, and its sticks and masks are pulled nowhere."""
    model, vector, prior, x, labels, _ = network(row_sticks=True)
    dead, layer = 2, model.layers(vector)[0]
    x[:, dead], layer["rho"][dead] = 0, 0
    layer["raw_a"][dead], layer["raw_b"][dead] = inverse_softplus(ALPHA[0]), inverse_softplus(1.0)
    layer["bias.mu"][...], layer["bias.log_sigma"][...] = 0, -40     # or a mask of the row could be its unit's largest
    noise = model.noise(Key(0, 0, 0, 0), 2, len(x), NUMPY, np.float64)
    parts, cache = model.elbo(vector, prior, x, labels, noise, 0.7, 70, NUMPY)
    gradient = model.layers(model.elbo_vjp((1, 0, -1, -1, -1), cache))[0]
    for name in ("rho", "raw_a", "raw_b"):
        np.testing.assert_allclose(gradient[name][dead], 0, atol=1e-9)
    part = packing.masked_part(model, x)
    kept = part.inputs
    drawn = noise.hidden[0]
    smaller = noise._replace(hidden=(drawn._replace(weight=drawn.weight[:, kept], stick=drawn.stick[:, kept],
                                                    mask=drawn.mask[:, kept]), *noise.hidden[1:]))
    without, _ = part.model.elbo(vector[part.index], packing.pack_prior(part, model, prior), part.columns(x), labels,
                                 smaller, 0.7, 70, NUMPY)
    assert kept.tolist() == [True, True, False, True, True, True]
    np.testing.assert_allclose((without[0], *without[2:]), (parts[0], *parts[2:]), rtol=1e-9)


@pytest.mark.parametrize("who", ["numpy", "numba"])
def test_only_the_weights_that_a_mask_keeps_are_trained(who):
    """The ELBO of a part that has nothing else, and its gradient, are those of the whole network there."""
    model, vector, prior, x, labels, masks = network()
    x[:, 2] = 0
    masks[0][:, 0] = False
    masks[0][:, 1] = [False, False, True, False, False, False]       # connected to an input that is always zero alone
    who, part = backend(who), packing.fixed_part(model, masks, x)
    small = part.model
    some, whole = part.columns(x), model.fixed_noise(Key(0, 0, 0, 0), 2, len(x), who, np.float64)
    units = (*part.units, np.ones(model.outputs, bool))
    noise = tuple(eps[..., kept] for eps, kept in zip(whole, units, strict=True))
    parts, cache = small.fixed_elbo(vector[part.index], packing.pack_prior(part, model, prior),
                                    packing.pack_masks(part, masks, who), some, labels, noise, 70, who)
    expected, whole_cache = model.fixed_elbo(vector, prior, masks, x, labels, whole, 70, who)
    assert small.layout.blocks == ("mu", "log_sigma")
    assert (np.diff(part.index) > 0).all()                   # checkpoints rely on it: they name elements by a mask
    assert small.kept == tuple(int(mask.sum()) for mask in packing.pack_masks(part, masks, backend("numpy")))
    assert parts.log_likelihood == pytest.approx(expected.log_likelihood, rel=1e-12)
    np.testing.assert_allclose(small.fixed_elbo_vjp((1, -1, 0, 0), cache),
                               model.fixed_elbo_vjp((1, -1, 0, 0), whole_cache)[part.index], rtol=1e-9, atol=1e-9)
    off = np.setdiff1d(np.arange(model.layout.block("log_sigma").stop), part.index)
    gradient = model.fixed_elbo_vjp((1, 0, 0, 0), whole_cache)
    np.testing.assert_allclose(gradient[off], 0, atol=1e-12)         # what is left out has no gradient but the prior's


def test_a_regressor_keeps_its_noise_where_masks_are_given():
    model = Regressor(3, (2,), 1, noise_sigma=0.25)
    vector = model.initial(np.random.default_rng(0), (2.0,), 0.1, 0.5)
    part = packing.fixed_part(model, (np.array([[True, False], [False, False], [True, True]]),), np.ones((1, 3)))
    assert part.model.kept == (3,)
    assert part.model.log_noise(vector[part.index]).tolist() == [np.log(np.float32(0.25))]


def test_a_regressor_s_variance_is_that_of_its_outputs_without_bias():
    """Mean over many pairs of samples: what many samples say at once."""
    model = Regressor(3, (4,), 1, noise_sigma=0.25)
    vector = model.initial(np.random.default_rng(0), (2.0,), 0.5, 0.5, np.float64)
    masks, x = (np.ones((3, 4), bool),), np.ones((4000, 3))
    pairs = model.predict(vector, masks, x, 2, Key(0, 0, 0, 0), backend("numpy"))
    many = model.predict(vector, masks, x[:1], 4000, Key(1, 0, 0, 0), backend("numpy"))
    assert (pairs.model_sigma**2).mean() == pytest.approx(many.model_sigma[0, 0] ** 2, rel=0.1)
    with pytest.raises(ValueError, match="one sample tells no deviation"):
        model.predict(vector, masks, x, 1, Key(0, 0, 0, 0), backend("numpy"))
