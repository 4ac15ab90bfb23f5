"""Layers, activations and likelihoods against plain definitions and limits."""

import mpmath
import numpy as np
import pytest
from scipy.special import log_softmax
from scipy.stats import bernoulli, norm

from ibpcl.primitives import (
    activations,
    likelihoods,
    linear,
    local_linear,
    masked_linear,
    masked_weights,
)

RNG = np.random.default_rng(0)


def test_an_all_ones_mask_gives_the_plain_layer():
    x = RNG.normal(size=(4, 5))
    v = RNG.normal(size=(3, 5, 2))
    b = RNG.normal(size=(3, 2))
    np.testing.assert_array_equal(
        masked_linear.apply(x, v, np.ones_like(v), b)[0], linear.apply(x, v, b)[0]
    )


def test_a_unit_without_weights_loses_its_bias():
    z = np.ones((1, 5, 2))
    z[:, :, 1] = 0
    h, _ = masked_linear.apply(
        RNG.normal(size=(4, 5)), RNG.normal(size=(1, 5, 2)), z, np.ones((1, 2))
    )
    assert (h[..., 1] == 0).all()
    assert (h[..., 0] != 0).all()


def test_a_shared_input_is_an_input_for_each_sample():
    x, w, b, dh = (RNG.normal(size=s) for s in ((4, 5), (3, 5, 2), (3, 2), (3, 4, 2)))
    (shared, cache), (copied, copied_cache) = (
        linear.apply(x, w, b),
        linear.apply(np.stack([x] * 3), w, b),
    )
    np.testing.assert_allclose(shared, copied)
    for one, other in zip(
        linear.apply_vjp(dh, cache)[1:], linear.apply_vjp(dh, copied_cache)[1:], strict=True
    ):
        np.testing.assert_allclose(one, other)
    np.testing.assert_allclose(
        linear.apply_vjp(dh, cache)[0], linear.apply_vjp(dh, copied_cache)[0].sum(axis=0)
    )
    assert linear.apply_vjp(dh, cache, needs_dx=False)[0] is None


def test_a_shared_input_of_a_noisy_layer_is_an_input_for_each_sample():
    eps, x, mu, bias_mu = (RNG.normal(size=s) for s in ((3, 4, 2), (4, 5), (5, 2), 2))
    sigma, bias_sigma = (RNG.uniform(0.5, 1, size=s) for s in ((5, 2), 2))
    shared, cache = local_linear.apply(eps, x, mu, sigma, bias_mu, bias_sigma)
    copied, copied_cache = local_linear.apply(
        eps, np.stack([x] * 3), mu, sigma, bias_mu, bias_sigma
    )
    np.testing.assert_allclose(shared, copied)
    dh = RNG.normal(size=shared.shape)
    dx, *gradients = local_linear.apply_vjp(dh, cache)
    dcopies, *expected = local_linear.apply_vjp(dh, copied_cache)
    np.testing.assert_allclose(dx, dcopies.sum(axis=0))
    for gradient, other in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(gradient, other)


def test_a_fully_masked_unit_has_zero_gradient_and_no_nan():
    zero = np.zeros((5, 3))
    h, cache = local_linear.apply(
        np.ones((2, 4, 3)), np.ones((4, 5)), zero, zero, np.zeros(3), np.zeros(3)
    )
    assert (h == 0).all()
    assert all(
        np.isfinite(gradient).all() for gradient in local_linear.apply_vjp(np.ones_like(h), cache)
    )


def test_masked_weights_are_the_product_of_both():
    s = 2
    d = 3
    k = 4
    inputs = [
        RNG.normal(size=shape) for shape in ((s, d, k), (s, d, k), (d, k), (d, k), (d, k), (s, k))
    ]
    (w, activity, divergence), _ = masked_weights.sample(*inputs, 0.5)
    eps, logistic, mu, log_sigma, rho, logit_pi = inputs
    z = 1 / (1 + np.exp(-(rho + logit_pi[:, None, :] + logistic) / 0.5))
    np.testing.assert_allclose(w, z * (mu + np.exp(log_sigma) * eps))
    np.testing.assert_allclose(activity, z.max(axis=1))
    assert (divergence > 0).all()


def test_likelihoods_equal_scipy():
    logits = RNG.normal(size=(2, 6, 3)) * 5
    labels = RNG.integers(0, 3, 6)
    expected = log_softmax(logits, axis=-1)[:, np.arange(6), labels]
    np.testing.assert_allclose(likelihoods.categorical(logits, labels)[0], expected)
    targets = RNG.integers(0, 2, (6, 3)).astype(float)
    np.testing.assert_allclose(
        likelihoods.bernoulli_logistic(logits, targets)[0],
        bernoulli.logpmf(targets, 1 / (1 + np.exp(-logits))).sum(axis=-1),
        rtol=1e-7,
    )
    np.testing.assert_allclose(
        likelihoods.bernoulli_probit(logits / 3, targets)[0],
        bernoulli.logpmf(targets, norm.cdf(logits / 3)).sum(axis=-1),
        rtol=1e-6,
    )
    np.testing.assert_allclose(
        likelihoods.gaussian(logits, np.full(3, -0.3), targets)[0],
        norm.logpdf(targets, logits, np.exp(-0.3)).sum(axis=-1),
    )


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-6), (np.float64, 1e-14)])
@pytest.mark.parametrize("score", [-1e9, -1e6, -5794.0, -512.0, -3.0, 0.0, 3.0, 46_376.0, 1e9])
def test_the_gradient_of_the_probit_far_out_is_the_score(dtype, tolerance, score):
    """For a nearly impossible event, density / tail is -f - 1 / f + ..., else it is 0."""
    with mpmath.workdps(50):  # fifteen digits are not enough at the extremes
        scores = np.full((1, 1, 1), score, dtype)
        exact = mpmath.npdf(score) / mpmath.ncdf(score)
    for sign, target in ((1, 1.0), (-1, 0.0)):
        log_p, cache = likelihoods.bernoulli_probit(sign * scores, np.full((1, 1), target, dtype))
        gradient = likelihoods.bernoulli_probit_vjp(np.ones_like(log_p), cache)
        assert gradient.dtype == dtype
        assert gradient.item() == pytest.approx(sign * float(exact), rel=tolerance, abs=1e-30)


def test_activations_accept_integers():
    for name in ("relu", "leaky_relu", "softplus", "tanh"):
        activation = getattr(activations, name)
        np.testing.assert_array_equal(
            activation(np.array([-5, 5]))[0], activation(np.array([-5.0, 5.0]))[0]
        )


@pytest.mark.parametrize("scale", [1e3, -1e3])
def test_likelihoods_do_not_overflow(scale):
    logits = np.full((1, 1, 2), scale)
    for likelihood, targets in (
        (likelihoods.categorical, np.zeros(1, int)),
        (likelihoods.bernoulli_logistic, np.ones((1, 2))),
        (likelihoods.bernoulli_probit, np.ones((1, 2))),
    ):
        log_p, cache = likelihood(logits, targets)
        gradient = getattr(likelihoods, likelihood.__name__ + "_vjp")(np.ones_like(log_p), cache)
        assert np.isfinite(log_p).all()
        assert np.isfinite(gradient).all()


def test_permuting_the_units_permutes_everything():
    order = RNG.permutation(4)
    inputs = [
        RNG.normal(size=shape) for shape in ((2, 3, 4), (2, 3, 4), (3, 4), (3, 4), (3, 4), (2, 4))
    ]
    (w, activity, divergence), _ = masked_weights.sample(*inputs, 0.5)
    (moved_w, moved_activity, moved), _ = masked_weights.sample(
        *(array[..., order] for array in inputs), 0.5
    )
    np.testing.assert_allclose(moved_w, w[..., order])
    np.testing.assert_allclose(moved_activity, activity[..., order])
    np.testing.assert_allclose(moved, divergence)
