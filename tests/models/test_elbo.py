"""The ELBO: its scale, its limits, its priors, and that both backends compute the same."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from quick import quick

from ibpcl.inference.backend import backend
from ibpcl.models import starts, subnetwork
from ibpcl.models.elbo import GRADIENT, Elbo, Flat, Prior, elbo, elbo_vjp
from ibpcl.models.layers import Pass
from ibpcl.models.likelihoods import Softmax
from ibpcl.models.masked import Masked, MaskModel, sticks
from ibpcl.models.network import classifier
from ibpcl.noise import Key
from ibpcl.numerics import inverse_softplus, sigmoid
from ibpcl.paper.networks import ALPHA, network
from ibpcl.primitives import kumaraswamy
from ibpcl.verify import check

NUMPY = backend("numpy")


def draw(model, x, relaxed=True, samples=2, who=NUMPY):
    return model.noise(Key(0, 0, 0, 0), samples, len(x), who, np.float64, relaxed)


def evaluate(model, vector, prior, x, labels, who=NUMPY):
    return elbo(model, vector, prior, x, labels, draw(model, x), 70, who, None, 0.7)


def hidden(model, vector, i=0):
    return model.layout.layers(vector)[f"hidden{i}"]


def test_at_the_prior_every_divergence_is_zero():
    model = classifier(6, (5, 4), Softmax(), 3, Masked)
    vector = model.initial(starts.normal(np.random.default_rng(0), 0.5), 0.3, ALPHA, np.float64)
    block = model.layout.block
    prior = Prior(
        vector[block("mu")].copy(),
        vector[block("log_sigma")].copy(),
        dict(zip(model.masked, ALPHA, strict=True)),
    )
    parts, _ = evaluate(model, vector, prior, np.ones((2, 6)), np.zeros(2, int))
    assert parts[1:] == pytest.approx((0, 0, 0, 0, 0), abs=1e-12)


def test_masks_that_are_surely_on_give_the_plain_bayesian_network():
    """With large rho every mask is 1, so the relaxed network equals the one without masks."""
    model, vector, _, x, _, _ = network()
    vector[model.layout.block("rho")] = 500.0
    vector[model.layout.block("log_sigma")] = -40.0
    (relaxed, _), _ = model.forward(vector, x, draw(model, x), Pass(NUMPY, None, 0.7))
    ones = {name: np.ones(layer.shape, bool) for name, layer in model.masked.items()}
    for masks in (ones, {}):
        (fixed, _), _ = model.forward(vector, x, draw(model, x, False), Pass(NUMPY, masks))
        np.testing.assert_allclose(relaxed, fixed, rtol=1e-9)


@pytest.mark.parametrize("mask_kl", ["bernoulli", "concrete"])
@pytest.mark.parametrize("kind", ["classifier", "regressor", "logistic", "probit"])
def test_both_backends_compute_the_same(mask_kl, kind):
    model, vector, prior, x, labels, _ = network(mask_kl=mask_kl, kind=kind)
    results = []
    for who in (NUMPY, backend("numba")):
        parts, cache = evaluate(model, vector, prior, x, labels, who=who)
        results.append((parts, elbo_vjp(GRADIENT, cache)))
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-9)
    np.testing.assert_allclose(
        results[0][1], results[1][1], rtol=1e-7, atol=1e-9 * np.abs(results[0][1]).max()
    )


def test_the_estimate_averages_over_samples():
    """Twice the samples, the first half with the first noise: the mean of both halves."""
    model, vector, prior, x, labels, _ = network()
    noise = draw(model, x, samples=4)

    def half(rows):
        return {
            name: {part: array[rows] for part, array in drawn.items()}
            for name, drawn in noise.items()
        }

    estimates = [
        elbo(model, vector, prior, x, labels, n, 70, NUMPY, None, 0.7)[0]
        for n in (noise, half(slice(0, 2)), half(slice(2, 4)))
    ]
    np.testing.assert_allclose(estimates[0], np.mean(estimates[1:], axis=0), rtol=1e-12)


def test_an_unknown_backend_is_refused():
    with pytest.raises(ValueError, match="numba"):
        backend("torch")


def test_a_flat_prior_is_the_limit_of_a_wide_one():
    """For a wide Gaussian prior, the divergence tends to -sum(log sigma) plus a constant."""
    model, vector, prior, x, labels, masks = network()
    count = len(prior.mu)
    flat = prior._replace(informative=np.arange(0, count, 2), others=Flat)
    others = np.setdiff1d(np.arange(count), flat.informative)
    noise = draw(model, x, False)

    def divergence(prior):
        parts, cache = elbo(model, vector, prior, x, labels, noise, 70, NUMPY, masks)
        return parts.kl_weights, elbo_vjp(Elbo(0.0, 1.0), cache)

    value, gradient = divergence(flat)
    for width, tolerance in ((1e3, 1e-4), (1e5, 1e-8)):
        wide = prior._replace(
            log_sigma=np.where(np.isin(np.arange(count), others), np.log(width), prior.log_sigma)
        )
        wide_value, wide_gradient = divergence(wide)
        constant = len(others) * (np.log(width) - 0.5)
        np.testing.assert_allclose(wide_value - constant, value, atol=tolerance)
        np.testing.assert_allclose(wide_gradient, gradient, atol=tolerance)
    none_value, none_gradient = divergence(flat._replace(others=None))
    sigmas = vector[model.layout.block("log_sigma")]
    np.testing.assert_allclose(none_value, value + sigmas[others].sum())
    assert not none_gradient[model.layout.block("mu")][others].any()


def with_row_sticks(model):
    rows = MaskModel(row_sticks=True)
    return replace(
        model,
        stages=tuple(
            replace(layer, model=rows) if isinstance(layer, Masked) else layer
            for layer in model.stages
        ),
    )


def test_equal_sticks_of_all_rows_equal_shared_sticks():
    """The same sticks in every row: same outputs and masks' divergence; and the sticks' divergence
    counts D times.
    """
    model, vector, prior, x, labels, _ = network()
    each = with_row_sticks(model)
    vector_each = np.zeros(each.layout.size)
    for name, view in each.layout.views(vector_each).items():
        view[...] = model.layout.views(vector)[name]  # (K,) to (D, K)
    noise = draw(model, x)
    same = noise | {
        name: noise[name]
        | {"stick": np.repeat(noise[name]["stick"][:, None], layer.inputs, axis=1)}
        for name, layer in model.masked.items()
    }
    parts, cache = elbo(model, vector, prior, x, labels, noise, 70, NUMPY, None, 0.7)
    parts_each, cache_each = elbo(each, vector_each, prior, x, labels, same, 70, NUMPY, None, 0.7)
    np.testing.assert_allclose(parts_each[:3], parts[:3], rtol=1e-12)
    once = [
        kumaraswamy.kl_to_beta(*sticks(own["raw_a"], own["raw_b"])[0], alpha)[0]
        for own, alpha in zip(model.layout.layers(vector).values(), ALPHA, strict=False)
    ]
    assert parts_each.kl_sticks == pytest.approx(
        np.dot([layer.inputs for layer in model.masked.values()], once)
    )
    weights = Elbo(1, -1, -1)
    one, other = (
        of.layout.views(elbo_vjp(weights, kept))
        for of, kept in ((model, cache), (each, cache_each))
    )
    for name, gradient in one.items():
        summed = other[name].sum(axis=0) if ".raw" in name else other[name]
        np.testing.assert_allclose(summed, gradient, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("mask_kl", ["bernoulli", "concrete"])
def test_compiled_row_sticks_equal_the_reference(mask_kl):
    model, vector, prior, x, labels, _ = network(2, mask_kl, row_sticks=True)
    noise = draw(model, x, samples=3)
    found = []
    for which in (NUMPY, backend("numba")):
        parts, cache = elbo(model, vector, prior, x, labels, noise, 70, which, None, 0.7)
        found.append((parts, elbo_vjp(GRADIENT, cache)))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("row_sticks", [False, True])
def test_masks_that_inherit_their_prior_diverge_from_the_earlier_posterior(row_sticks):
    """Given the sticks, both log-odds of a mask contain the offsets of the earlier posterior."""
    model, vector, prior, x, labels, _ = network(3, inherits=True, row_sticks=row_sticks)
    noise = draw(model, x)
    parts, _ = elbo(model, vector, prior, x, labels, noise, 70, NUMPY, None, 0.7)
    expected = 0.0
    for name in model.masked:
        own = model.layout.layers(vector)[name]
        log_odds, _ = NUMPY.sticks.log_odds(noise[name]["stick"], own["raw_a"], own["raw_b"])
        before = own["prior_rho"] + (log_odds if row_sticks else log_odds[:, None, :])
        theta, before = (
            sigmoid(odds).reshape(len(before), -1) for odds in (own["rho"] + before, before)
        )
        on, off = theta * np.log(theta / before), (1 - theta) * np.log((1 - theta) / (1 - before))
        expected += (on + off).sum() / len(before)
    assert parts.kl_masks == pytest.approx(expected, rel=1e-9) and expected > 0
    vector[model.layout.block("rho")] = 0
    parts, _ = elbo(model, vector, prior, x, labels, noise, 70, NUMPY, None, 0.7)
    assert parts.kl_masks == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("mask_kl", "row_sticks"),
    quick(
        ["bernoulli-True", "concrete-False"],
        itertools.product(["bernoulli", "concrete"], [False, True]),
        "both divergences and both ways to hold sticks are there",
        name=lambda case: f"{case[0]}-{case[1]}",
    ),
)
def test_gradient_with_inherited_masks(mask_kl, row_sticks):
    """The offsets of the prior are constants; the gradient at all other parameters is checked."""
    model, vector, prior, x, labels, _ = network(
        4, mask_kl, inherits=True, row_sticks=row_sticks, sizes=(4, 3, 3)
    )
    constant = model.layout.block("prior_rho")
    trained = np.delete(np.arange(len(vector)), np.r_[constant])
    noise = draw(model, x)
    found = []
    for who in (NUMPY, backend("numba")):

        def f(part, who=who):
            moved = vector.astype(part.dtype)
            moved[trained] = part
            return elbo(model, moved, prior, x, labels, noise, 70, who, None, 0.7)

        def f_vjp(dparts, cache):
            gradient = elbo_vjp(dparts, cache)
            assert not gradient[constant].any()
            return gradient[trained]

        found.append(f_vjp(GRADIENT, f(vector[trained])[1]))
        if who is NUMPY:
            report = check(f, f_vjp, {"part": vector[trained]}, seed=0, mode="full")
            assert report.ok, str(report)
    np.testing.assert_allclose(*found, rtol=1e-7, atol=1e-9 * np.abs(found[0]).max())


def test_masks_without_sticks_cannot_inherit_their_prior():
    with pytest.raises(ValueError, match="structured"):
        network(inherits=True, structured=False)


def test_a_zero_input_with_its_own_sticks_can_be_left_out():
    """A row at its prior adds nothing to any part and has gradient 0."""
    model, vector, prior, x, labels, _ = network(row_sticks=True)
    dead = 2
    layer = hidden(model, vector)
    x[:, dead] = 0
    layer["rho"][dead] = 0
    layer["raw_a"][dead], layer["raw_b"][dead] = inverse_softplus(ALPHA[0]), inverse_softplus(1.0)
    # otherwise a mask of this row could be the largest of its unit
    layer["bias.mu"][...] = 0
    layer["bias.log_sigma"][...] = -40
    noise = draw(model, x)
    parts, cache = elbo(model, vector, prior, x, labels, noise, 70, NUMPY, None, 0.7)
    gradient = hidden(model, elbo_vjp(GRADIENT._replace(kl_weights=0.0), cache))
    for name in ("rho", "raw_a", "raw_b"):
        np.testing.assert_allclose(gradient[name][dead], 0, atol=1e-9)
    part = subnetwork.usable(model, x)
    kept = part.sides["hidden0"][0]
    drawn = noise["hidden0"]
    smaller = noise | {
        "hidden0": drawn | {name: drawn[name][:, kept] for name in ("weight", "stick", "mask")}
    }
    without, _ = elbo(
        part.network,
        vector[part.index],
        subnetwork.cut_prior(part, model, prior),
        part.columns(x),
        labels,
        smaller,
        70,
        NUMPY,
        None,
        0.7,
    )
    assert kept.tolist() == [True, True, False, True, True, True]
    np.testing.assert_allclose((without[0], *without[2:]), (parts[0], *parts[2:]), rtol=1e-9)
