"""The compiled sticks against their reference, which ``ibpcl verify`` proves."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import digamma, polygamma

from ibpcl.kernels import sticks
from ibpcl.primitives import sticks as reference

DTYPES = [(np.float32, 2e-5), (np.float64, 1e-12)]


def close(found, expected, tolerance):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max(initial=1e-3))


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
@pytest.mark.parametrize("link", ["logit", "log"])
@given(S=st.integers(1, 4), D=st.sampled_from([None, 1, 5]), K=st.sampled_from([1, 2, 16, 37, 200]),
       raw=st.sampled_from([-3.0, 0.0, 30.0, 1000.0]), seed=st.integers(0, 2**32 - 1))
def test_log_odds(dtype, tolerance, link, S, D, K, raw, seed):
    rng, shape = np.random.default_rng(seed), (K,) if D is None else (D, K)
    u = rng.uniform(1e-6, 1 - 1e-6, (S, *shape)).astype(dtype)
    raw_a, raw_b = ((raw * scale + rng.normal(size=shape)).astype(dtype) for scale in (1, 0.1))
    exact = [array.astype(np.float64) for array in (u, raw_a, raw_b)]
    expected, exact_cache = reference.log_odds(*exact, link)
    found, cache = sticks.log_odds(u, raw_a, raw_b, link)
    assert found.dtype == dtype and found.shape == u.shape
    close(found, expected, tolerance)
    dout = rng.normal(size=u.shape)
    for one, other in zip(sticks.log_odds_vjp(dout.astype(dtype), cache), reference.log_odds_vjp(dout, exact_cache),
                          strict=True):
        assert one.dtype == dtype and one.shape == raw_a.shape
        close(one, other, 20 * tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), DTYPES)
@given(shape=st.sampled_from([(1,), (7,), (200,), (3, 20)]), alpha=st.sampled_from([0.1, 5.0, 60.0]),
       centre=st.sampled_from([-8.0, 0.0, 40.0]), seed=st.integers(0, 2**32 - 1))
def test_divergence(dtype, tolerance, shape, alpha, centre, seed):
    rng = np.random.default_rng(seed)
    raw_a, raw_b = ((centre * scale + rng.normal(size=shape)).astype(dtype) for scale in (1, 0.2))
    expected, exact_cache = reference.divergence(raw_a.astype(np.float64), raw_b.astype(np.float64), alpha)
    found, cache = sticks.divergence(raw_a, raw_b, alpha)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=10 * tolerance)
    *gradients, dalpha = sticks.divergence_vjp(0.7, cache)
    *exact, exact_dalpha = reference.divergence_vjp(0.7, exact_cache)
    for one, other in zip(gradients, exact, strict=True):
        assert one.dtype == dtype and one.shape == shape
        close(one, other, 10 * tolerance)
    np.testing.assert_allclose(dalpha, exact_dalpha, rtol=10 * tolerance)


@given(st.floats(1e-8, 1e8))
def test_digamma_and_trigamma(x):
    np.testing.assert_allclose(sticks._psi(x), (digamma(x), polygamma(1, x)), rtol=1e-13, atol=1e-14)


def test_sticks_that_round_to_one_stay_finite():
    u, raw = np.full((1, 3), np.float32(1e-9)), np.full(3, 300, np.float32)
    found, cache = sticks.log_odds(u, raw, raw - 300)
    expected, exact_cache = reference.log_odds(u, raw, raw - 300)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    for one, other in zip(sticks.log_odds_vjp(found, cache), reference.log_odds_vjp(found, exact_cache), strict=True):
        assert np.isfinite(one).all()
        close(one, other, 1e-4)


def test_sticks_that_are_one_to_all_digits_are_on():
    """Logarithms of sticks below the least number: their sum is zero, of either sign, and 1 - pi is cut off."""
    u, raw_a, raw_b = (np.full((1, 2), x, np.float32) for x in (1e-4, 31.0, -2.25))
    found, cache = sticks.log_odds(u, raw_a[0], raw_b[0])
    expected, _ = reference.log_odds(u, raw_a[0], raw_b[0])
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert (found > 69).all() and all(np.isfinite(part).all() for part in sticks.log_odds_vjp(found, cache))


@pytest.mark.parametrize("spoiled", [1, 2])
def test_a_not_a_number_comes_out_again(spoiled):
    arrays = [np.full((1, 3), 0.5, np.float32), np.ones(3, np.float32), np.ones(3, np.float32)]
    arrays[spoiled][..., 0] = np.nan
    assert np.isnan(sticks.log_odds(*arrays)[0]).all()       # the first stick is in all products


@pytest.mark.parametrize("raw_b", [-80.0, -50.0, -20.0])
def test_steep_sticks_have_a_divergence(raw_b):
    """With b near zero digamma and 1 / b, and their derivatives, cancel to all digits."""
    raw = np.array([3.0]), np.array([raw_b])
    a, b = (mpmath.log1p(mpmath.exp(x)) for x in (3, raw_b))
    mean_log = -mpmath.euler - mpmath.digamma(b + 1)
    exact = (1 - 30 / a) * mean_log + mpmath.log(a * b / 30) - 1 + 1 / b
    slope = 1 / (1 + mpmath.exp(-raw_b)) * ((1 - 1 / b) / b - (1 - 30 / a) * mpmath.polygamma(1, b + 1))
    for module in (sticks, reference):
        divergence, cache = module.divergence(*raw, 30.0)
        assert float(divergence) == pytest.approx(float(exact), rel=1e-12)
        assert float(module.divergence_vjp(1.0, cache)[1][0]) == pytest.approx(float(slope), rel=1e-12)


def test_wrong_shapes_and_links_are_refused():
    u, raw = np.full((2, 3), 0.5), np.zeros(3)
    with pytest.raises(ValueError, match=r"parameters must have shape \(3,\), got \(4,\) and \(3,\)"):
        sticks.log_odds(u, np.zeros(4), raw)
    with pytest.raises(ValueError, match="link must be 'logit' or 'log', got 'probit'"):
        sticks.log_odds(u, raw, raw, "probit")
