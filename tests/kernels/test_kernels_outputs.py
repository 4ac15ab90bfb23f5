"""The compiled head and the compiled likelihood of labels, against their references."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibpcl.kernels import activations, likelihoods, local_linear, thin_products
from ibpcl.primitives import activations as reference_activations
from ibpcl.primitives import gaussian as reference_gaussian
from ibpcl.primitives import likelihoods as reference_likelihoods
from ibpcl.primitives import local_linear as reference_local_linear

DTYPES = [(np.float32, 2e-4), (np.float64, 1e-11)]


def close(found, expected, tolerance):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max(initial=1))


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
@given(S=st.integers(1, 4), N=st.integers(1, 300), D=st.sampled_from([1, 7, 16, 113, 200]),
       K=st.sampled_from([1, 2, 5, thin_products.WIDEST, thin_products.WIDEST + 1]), shared=st.booleans(),
       density=st.sampled_from([0.0, 0.1, 0.3, 1.0]), seed=st.integers(0, 2**32 - 1))
def test_a_layer_sampled_at_its_outputs(dtype, tolerance, S, N, D, K, shared, density, seed):
    rng = np.random.default_rng(seed)
    eps, x = rng.normal(size=(S, N, K)), rng.normal(size=(N, D) if shared else (S, N, D))
    x[rng.random(x.shape) >= density] = 0
    given_ = (eps, x, rng.normal(size=(D, K)), rng.uniform(0.1, 1, (D, K)), rng.normal(size=K), rng.uniform(0.1, 1, K))
    expected, exact_cache = reference_local_linear.apply(*given_)
    found, cache = local_linear.apply(*(array.astype(dtype) for array in given_))
    assert found.dtype == dtype
    close(found, expected, tolerance)
    dh = rng.normal(size=expected.shape)
    for one, other in zip(local_linear.apply_vjp(dh.astype(dtype), cache),
                          reference_local_linear.apply_vjp(dh, exact_cache), strict=True):
        assert one.dtype == dtype
        close(one, other, tolerance)
    assert local_linear.apply_vjp(dh.astype(dtype), cache, needs_dx=False)[0] is None


def moments_like_the_reference(name, given_, mask, dout, dtype, tolerance):
    """Compare a pair of functions with the reference's, and return all that they gave."""
    expected, exact_cache = getattr(reference_local_linear, name)(*given_, mask)
    found, cache = getattr(local_linear, name)(*(array.astype(dtype) for array in given_), mask)
    back = getattr(local_linear, f"{name}_vjp")([array.astype(dtype) for array in dout], cache)
    expected = (*expected, *getattr(reference_local_linear, f"{name}_vjp")(dout, exact_cache))
    for one, other in zip((*found, *back), expected, strict=True):
        assert one.dtype == dtype
        close(one, other, tolerance)
    return *found, *back


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
@given(D=st.integers(1, 90), K=st.integers(1, 90), density=st.sampled_from([0.0, 0.02, 0.5, 1.0]),
       seed=st.integers(0, 2**32 - 1))
def test_masked_moments(dtype, tolerance, D, K, density, seed):
    rng = np.random.default_rng(seed)
    given_ = [rng.normal(size=shape) for shape in ((D, K), (D, K), (K,), (K,))]
    mask, dout = rng.random((D, K)) < density, [rng.normal(size=shape) for shape in ((D, K), (D, K), (K,), (K,))]
    results = moments_like_the_reference("masked_moments", given_, mask, dout, dtype, tolerance)
    for one in results:
        assert not one[~(mask if one.ndim == 2 else mask.any(axis=0))].any()


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
@given(D=st.integers(1, 150), K=st.integers(1, 90), density=st.sampled_from([0.0, 0.02, 0.5, 1.0]),
       seed=st.integers(0, 2**32 - 1))
def test_kept_moments(dtype, tolerance, D, K, density, seed):
    rng = np.random.default_rng(seed)
    kept = rng.random((D, K)) < density
    given_ = [rng.normal(size=shape) for shape in (kept.sum(), kept.sum(), (K,), (K,))]
    dout = [rng.normal(size=shape) for shape in ((D, K), (D, K), (K,), (K,))]
    results = moments_like_the_reference("kept_moments", given_, kept, dout, dtype, tolerance)
    mu, log_sigma = (np.full((D, K), 7, dtype) for _ in range(2))    # what is off makes no difference
    mu[kept], log_sigma[kept] = given_[:2]
    biases = [array.astype(dtype) for array in given_[2:]]
    dense, dense_cache = local_linear.masked_moments(mu, log_sigma, *biases, kept)
    dense_back = local_linear.masked_moments_vjp([array.astype(dtype) for array in dout], dense_cache)
    for one, other in zip(results, (*dense, *dense_back), strict=True):
        np.testing.assert_array_equal(one, other if one.shape == other.shape else other[kept])


@pytest.mark.parametrize("count", [1, 3])
def test_kept_moments_refuse_another_number_of_weights_than_the_mask_keeps(count):
    zero = np.zeros(count, np.float32)
    with pytest.raises(ValueError, match="the mask keeps 2 weights"):
        local_linear.kept_moments(zero, zero, np.zeros(2, np.float32), np.zeros(2, np.float32), np.eye(2, dtype=bool))


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
@given(S=st.integers(1, 3), N=st.integers(1, 600), C=st.integers(1, 12), scale=st.sampled_from([1.0, 80.0]),
       seed=st.integers(0, 2**32 - 1))
def test_the_likelihood_of_labels(dtype, tolerance, S, N, C, scale, seed):
    rng = np.random.default_rng(seed)
    logits, labels, dlog_p = scale * rng.normal(size=(S, N, C)), rng.integers(0, C, N), rng.normal(size=(S, N))
    logits = logits.astype(dtype).astype(np.float64)
    expected, exact_cache = reference_likelihoods.categorical(logits, labels)
    found, cache = likelihoods.categorical(logits.astype(dtype), labels)
    close(found, expected, tolerance)
    close(likelihoods.categorical_vjp(dlog_p.astype(dtype), cache),
          reference_likelihoods.categorical_vjp(dlog_p, exact_cache), tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
@given(S=st.integers(1, 3), N=st.integers(1, 40), C=st.sampled_from([1, 2, 15, 784]),
       scale=st.sampled_from([0.1, 1.0, 80.0, 1e4]), seed=st.integers(0, 2**32 - 1))
def test_the_likelihood_of_pixels(dtype, tolerance, S, N, C, scale, seed):
    rng = np.random.default_rng(seed)
    logits, dlog_p = (scale * rng.normal(size=(S, N, C))).astype(dtype), rng.normal(size=(S, N))
    targets = rng.choice([0, 1, rng.random()], (N, C)).astype(dtype)
    arrays = logits.astype(np.float64), targets.astype(np.float64)
    expected, exact_cache = reference_likelihoods.bernoulli_logistic(*arrays)
    found, cache = likelihoods.bernoulli_logistic(logits, targets)
    assert found.dtype == dtype
    close(found, expected, tolerance)
    close(likelihoods.bernoulli_logistic_vjp(dlog_p.astype(dtype), cache),
          reference_likelihoods.bernoulli_logistic_vjp(dlog_p, exact_cache), tolerance)


def test_pixels_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"targets must have shape \(2, 3\), got \(2, 4\)"):
        likelihoods.bernoulli_logistic(np.zeros((1, 2, 3)), np.zeros((2, 4)))


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
@pytest.mark.parametrize("name", ["relu", "leaky_relu"])
@given(shape=st.tuples(st.integers(1, 3), st.integers(1, 50), st.integers(1, 300)), seed=st.integers(0, 2**32 - 1))
def test_piecewise_linear_activations(name, dtype, tolerance, shape, seed):
    rng = np.random.default_rng(seed)
    x, dh = rng.normal(size=shape) * (rng.random(shape) < 0.9), rng.normal(size=shape)
    found, cache = getattr(activations, name)(x.astype(dtype))
    expected, exact_cache = getattr(reference_activations, name)(x)
    close(found, expected, tolerance)
    close(getattr(activations, name + "_vjp")(dh.astype(dtype), cache),
          getattr(reference_activations, name + "_vjp")(dh, exact_cache), tolerance)


def test_labels_out_of_range_are_refused():
    for labels in ([0, 3], [-1, 0]):
        with pytest.raises(IndexError, match=r"labels must be in 0 \.\.\. 2"):
            likelihoods.categorical(np.zeros((1, 2, 3)), np.array(labels))


def test_not_a_number_comes_out_again():
    logits = np.zeros((1, 2, 3), np.float32)
    logits[0, 0, 1] = np.nan
    log_p = likelihoods.categorical(logits, np.array([1, 1]))[0]
    assert np.isnan(log_p[0, 0]) and np.isfinite(log_p[0, 1])


def test_gradients_of_the_prior_only_where_they_are_needed():
    from ibpcl.kernels import gaussian

    arrays = np.random.default_rng(0).normal(size=(4, 3, 5))
    for module in (gaussian, reference_gaussian):
        cache = module.kl(*arrays)[1]
        both, alone = module.kl_vjp(0.5, cache), module.kl_vjp(0.5, cache, needs_dprior=False)
        assert alone[2:] == (None, None)
        assert all(np.array_equal(x, y) for x, y in zip(both[:2], alone[:2], strict=True))
