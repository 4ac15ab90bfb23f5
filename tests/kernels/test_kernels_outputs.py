"""The compiled head and the compiled likelihood of labels, against their references."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibpcl.kernels import activations, likelihoods, local_linear
from ibpcl.primitives import activations as reference_activations
from ibpcl.primitives import likelihoods as reference_likelihoods
from ibpcl.primitives import local_linear as reference_local_linear

DTYPES = [(np.float32, 2e-4)]


def close(found, expected, tolerance):
    np.testing.assert_allclose(
        found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max(initial=1)
    )


def layer(S, N, D, K, shared, density, seed):
    """Make noise, inputs and parameters of a layer, float64."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(N, D) if shared else (S, N, D))
    x[rng.random(x.shape) >= density] = 0
    weights = rng.normal(size=(D, K)), rng.uniform(-2, 0, (D, K))
    return rng.normal(size=(S, N, K)), x, *weights, rng.normal(size=K), rng.uniform(-2, 0, K)


def like_the_reference(given_, mask, dtype, tolerance, activation=None):
    """Compare value and gradients of a layer with the reference's, and return its gradients."""
    expected, exact_cache = reference_local_linear.sample(*given_, mask, activation)
    found, cache = local_linear.sample(*(array.astype(dtype) for array in given_), mask, activation)
    assert found.dtype == dtype
    close(found, expected, tolerance)
    dh = np.random.default_rng(0).normal(size=expected.shape)
    dh[np.abs(expected) < 1e-4] = 0  # the slope at a kink is not defined
    gradients = local_linear.sample_vjp(dh.astype(dtype), cache)
    for one, other in zip(
        gradients, reference_local_linear.sample_vjp(dh, exact_cache), strict=True
    ):
        assert one.dtype == dtype
        close(one, other, tolerance)
    assert local_linear.sample_vjp(dh.astype(dtype), cache, needs_dx=False)[0] is None
    return gradients


ACTIVATIONS = [None, "relu", "leaky_relu", "softplus", "tanh"]
COLUMNS = [1, 2, 5, 16, 70, 130]


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
@given(
    S=st.integers(1, 4),
    N=st.integers(1, 300),
    D=st.sampled_from([1, 7, 16, 113, 200]),
    K=st.sampled_from(COLUMNS),
    shared=st.booleans(),
    density=st.sampled_from([0.0, 0.1, 0.3, 1.0]),
    activation=st.sampled_from(ACTIVATIONS),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_layer_sampled_at_its_outputs(
    dtype, tolerance, S, N, D, K, shared, density, activation, seed
):
    like_the_reference(layer(S, N, D, K, shared, density, seed), None, dtype, tolerance, activation)


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
@given(
    S=st.integers(1, 3),
    N=st.integers(1, 130),
    D=st.integers(1, 150),
    K=st.sampled_from(COLUMNS),
    shared=st.booleans(),
    density=st.sampled_from([0.1, 1.0]),
    kept=st.sampled_from([0.0, 0.02, 0.5, 1.0]),
    activation=st.sampled_from(ACTIVATIONS),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_masked_layer_with_all_weights_and_with_kept_ones(
    dtype, tolerance, S, N, D, K, shared, density, kept, activation, seed
):
    given_ = layer(S, N, D, K, shared, density, seed)
    mask = np.random.default_rng(seed).random((D, K)) < kept
    whole = like_the_reference(given_, mask, dtype, tolerance, activation)
    for one in whole[1:3]:
        assert not one[~mask].any()
    for one in whole[3:]:
        assert not one[~mask.any(axis=0)].any()
    packed = (*given_[:2], given_[2][mask], given_[3][mask], *given_[4:])
    for one, other in zip(
        like_the_reference(packed, mask, dtype, tolerance, activation), whole, strict=True
    ):
        np.testing.assert_array_equal(one, other if one.shape == other.shape else other[mask])


@pytest.mark.parametrize("dtype", [np.float32])
@pytest.mark.parametrize("K", [3, 40])
def test_units_without_noise_have_zero_gradient_in_their_scale(dtype, K):
    eps, x, mu, log_sigma, bias_mu, bias_log_sigma = (
        array.astype(dtype) for array in layer(2, 70, 9, K, True, 1, 0)
    )
    mask = np.ones((9, K), bool)
    mask[:, ::2] = False
    h, cache = local_linear.sample(eps, x, mu, log_sigma, bias_mu, bias_log_sigma, mask)
    assert not h[:, :, ::2].any()
    gradients = local_linear.sample_vjp(np.ones_like(h), cache)
    assert all(np.isfinite(part).all() for part in gradients)
    assert not any(part[..., ::2].any() for part in gradients[1:])


@pytest.mark.parametrize("count", [1, 3])
def test_a_number_of_weights_unlike_the_mask_is_refused(count):
    zero = np.zeros(count, np.float32)
    two = np.zeros(2, np.float32)
    with pytest.raises(ValueError, match="the mask keeps 2 weights"):
        local_linear.sample(
            np.zeros((1, 1, 2), np.float32), two[None], zero, zero, two, two, np.eye(2, dtype=bool)
        )


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
@given(
    S=st.integers(1, 3),
    N=st.integers(1, 600),
    C=st.integers(1, 12),
    scale=st.sampled_from([1.0, 80.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_likelihood_of_labels(dtype, tolerance, S, N, C, scale, seed):
    rng = np.random.default_rng(seed)
    logits = scale * rng.normal(size=(S, N, C))
    labels = rng.integers(0, C, N)
    dlog_p = rng.normal(size=(S, N))
    logits = logits.astype(dtype).astype(np.float64)
    expected, exact_cache = reference_likelihoods.categorical(logits, labels)
    found, cache = likelihoods.categorical(logits.astype(dtype), labels)
    close(found, expected, tolerance)
    close(
        likelihoods.categorical_vjp(dlog_p.astype(dtype), cache),
        reference_likelihoods.categorical_vjp(dlog_p, exact_cache),
        tolerance,
    )


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
@given(
    S=st.integers(1, 3),
    N=st.integers(1, 40),
    C=st.sampled_from([1, 2, 15, 784]),
    scale=st.sampled_from([0.1, 1.0, 80.0, 1e4]),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_likelihood_of_pixels(dtype, tolerance, S, N, C, scale, seed):
    rng = np.random.default_rng(seed)
    logits = (scale * rng.normal(size=(S, N, C))).astype(dtype)
    dlog_p = rng.normal(size=(S, N))
    targets = rng.choice([0, 1, rng.random()], (N, C)).astype(dtype)
    arrays = logits.astype(np.float64), targets.astype(np.float64)
    expected, exact_cache = reference_likelihoods.bernoulli_logistic(*arrays)
    found, cache = likelihoods.bernoulli_logistic(logits, targets)
    assert found.dtype == dtype
    close(found, expected, tolerance)
    close(
        likelihoods.bernoulli_logistic_vjp(dlog_p.astype(dtype), cache),
        reference_likelihoods.bernoulli_logistic_vjp(dlog_p, exact_cache),
        tolerance,
    )


def test_pixels_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"targets must have shape \(2, 3\), got \(2, 4\)"):
        likelihoods.bernoulli_logistic(
            np.zeros((1, 2, 3), np.float32), np.zeros((2, 4), np.float32)
        )


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
@pytest.mark.parametrize("name", ["relu", "leaky_relu"])
@given(
    shape=st.tuples(st.integers(1, 3), st.integers(1, 50), st.integers(1, 300)),
    seed=st.integers(0, 2**32 - 1),
)
def test_activations(name, dtype, tolerance, shape, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape) * (rng.random(shape) < 0.9)
    dh = rng.normal(size=shape)
    found, cache = getattr(activations, name)(x.astype(dtype))
    expected, exact_cache = getattr(reference_activations, name)(x)
    close(found, expected, tolerance)
    close(
        getattr(activations, name + "_vjp")(dh.astype(dtype), cache),
        getattr(reference_activations, name + "_vjp")(dh, exact_cache),
        tolerance,
    )


def test_labels_out_of_range_are_refused():
    for where, dtype in ((likelihoods, np.float32), (reference_likelihoods, np.float64)):
        for labels in ([0, 3], [-1, 0], [[0], [1]], [0], [0.0, 1.0], [True, False]):
            with pytest.raises(ValueError, match=r"categorical: labels must be"):
                where.categorical(np.zeros((1, 2, 3), dtype), np.array(labels))


def test_nan_is_propagated():
    logits = np.zeros((1, 2, 3), np.float32)
    logits[0, 0, 1] = np.nan
    log_p = likelihoods.categorical(logits, np.array([1, 1]))[0]
    assert np.isnan(log_p[0, 0]) and np.isfinite(log_p[0, 1])


def test_certain_labels_leave_no_subnormal_gradients():
    logits = np.array([[[0.0, -60.0, -99.0]]], np.float32)
    labels = np.array([0])
    dlogits = likelihoods.categorical_vjp(
        np.ones((1, 1), np.float32), likelihoods.categorical(logits, labels)[1]
    )
    assert not dlogits[0, 0, 1:].any()
    logits[0, 0, 1] = -40.0
    dlogits = likelihoods.categorical_vjp(
        np.ones((1, 1), np.float32), likelihoods.categorical(logits, labels)[1]
    )
    assert dlogits[0, 0, 1] == pytest.approx(-np.exp(-40.0), rel=1e-5)
