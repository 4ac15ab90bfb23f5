"""The compiled sticks, against their reference."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ibpcl.kernels import sticks
from ibpcl.primitives import sticks as reference

SHAPES = st.sampled_from(
    [(1, 500), (3, 1), (2, 0), (0, 4), (10, 33), (2, 3, 7), (1, 5, 40), (2, 0, 3), (2, 3, 0)]
)
LINKS = pytest.mark.parametrize("link", ["logit", "log"])


def single(*arrays):
    return [array.astype(np.float32) for array in arrays]


def same(found, expected, tolerance):
    assert np.asarray(found).dtype == np.float32 and np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(
        found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max(initial=1e-3)
    )


@LINKS
@given(SHAPES, st.integers(0, 2**32 - 1), st.sampled_from([0.1, 1.0, 5.0]))
@settings(deadline=None, max_examples=40)
def test_log_odds_and_their_gradient(link, shape, seed, spread):
    rng = np.random.default_rng(seed)
    given_ = single(rng.uniform(0.001, 0.999, shape), *rng.normal(1, spread, (2, *shape[1:])))
    exact, exact_cache = reference.log_odds(*(array.astype(float) for array in given_), link)
    found, cache = sticks.log_odds(*given_, link)
    same(found, exact, 2e-6)
    cotangent = rng.normal(size=shape)
    for one, other in zip(
        sticks.log_odds_vjp(*single(cotangent), cache),
        reference.log_odds_vjp(cotangent, exact_cache),
        strict=True,
    ):
        same(one, other, 5e-6 if spread < 5 else 5e-5)  # e^s loses |s| units of the last place


@given(
    SHAPES,
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.1, 1.0, 5.0]),
    st.sampled_from([0.3, 20.0]),
)
@settings(deadline=None, max_examples=40)
def test_divergence_and_its_gradient(shape, seed, spread, alpha):
    rng = np.random.default_rng(seed)
    raw = single(*rng.normal(1, spread, (2, *shape[1:])))
    exact, exact_cache = reference.divergence(*(array.astype(float) for array in raw), alpha)
    found, cache = sticks.divergence(*raw, alpha)
    same(found, exact, 2e-6)
    for one, other in zip(
        sticks.divergence_vjp(-0.7, cache), reference.divergence_vjp(-0.7, exact_cache), strict=True
    ):
        same(one, other, 5e-6)


@pytest.mark.parametrize("raw_a", [-60.0, -1.0, 3.0, 60.0])
@pytest.mark.parametrize("raw_b", [-13.0, -1.0, 0.0, 0.5413249, 2.5, 8.0, 60.0, 3000.0])
def test_the_divergence_is_right_at_the_ends_of_the_range(raw_a, raw_b):
    a, b = (np.logaddexp(0, float(np.float32(raw))) for raw in (raw_a, raw_b))
    raw = single(np.array([raw_a]), np.array([raw_b]))
    with mpmath.workdps(50):
        harmonic = float(mpmath.harmonic(b))
        trigamma = float(mpmath.polygamma(1, mpmath.mpf(b) + 1))
        rest = float(1 / mpmath.mpf(b) - mpmath.polygamma(1, mpmath.mpf(b) + 1))
    terms = np.array([-harmonic, 7 / a * harmonic, np.log(a), np.log(b), -np.log(7), -1, 1 / b])
    found, cache = sticks.divergence(*raw, 7.0)
    np.testing.assert_allclose(found, terms.sum(), rtol=0, atol=1e-6 * np.abs(terms).sum())
    slopes = np.exp(-np.logaddexp(0, -np.array([raw_a, raw_b])))
    by_a = [1 / a, -7 * harmonic / a**2]
    by_b = [7 / a * trigamma, rest, -1 / b**2]
    for one, parts, slope in zip(cache.cache, (by_a, by_b), slopes, strict=False):
        np.testing.assert_allclose(
            one, slope * sum(parts), rtol=0, atol=2e-6 * slope * np.abs(parts).sum()
        )


@pytest.mark.parametrize("b", [1e-12, 1e-3, 0.1, 1.0, 3.0, 20.0, 1e4, 1e8])
def test_harmonic_numbers_and_their_slopes_are_right_to_nine_digits(b):
    with mpmath.workdps(50):
        trigamma = mpmath.polygamma(1, mpmath.mpf(b) + 1)
        exact = [
            float(value) for value in (mpmath.harmonic(b), trigamma, 1 / mpmath.mpf(b) - trigamma)
        ]
    np.testing.assert_allclose(sticks._harmonic(b), exact, rtol=3e-10, atol=0)


@LINKS
@pytest.mark.parametrize(
    ("raw_a", "raw_b"), [(-60, 1), (60, 1), (1, -60), (1, 60), (-60, -60), (60, 60), (60, -60)]
)
def test_the_log_odds_are_right_at_the_ends_of_the_range(link, raw_a, raw_b):
    u = np.array([[1e-6, 0.3, 0.9999999]], np.float32).T
    raw = single(np.array([raw_a]), np.array([raw_b]))
    exact, exact_cache = reference.log_odds(
        u.astype(float), *(value.astype(float) for value in raw), link
    )
    found, cache = sticks.log_odds(u, *raw, link)
    np.testing.assert_allclose(found, exact, rtol=2e-6, atol=1e-11)
    for one, other in zip(
        sticks.log_odds_vjp(np.ones_like(u), cache),
        reference.log_odds_vjp(np.ones(u.shape), exact_cache),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=5e-6, atol=1e-30)


def test_nan_is_propagated():
    for place in range(3):
        given_ = [np.full(shape, 0.5, np.float32) for shape in ((1, 40), (40,), (40,))]
        given_[place][..., 17] = np.nan
        found, cache = sticks.log_odds(*given_)
        assert np.isnan(found[0, 17:]).all() and np.isfinite(found[0, :17]).all()
        assert np.isnan(sticks.log_odds_vjp(np.ones((1, 40), np.float32), cache)).any()
        if place > 0:
            found, cache = sticks.divergence(*given_[1:], 20.0)
            assert np.isnan(found) and np.isnan(sticks.divergence_vjp(1.0, cache)[place - 1][17])


def test_mismatched_shapes_are_refused():
    with pytest.raises(ValueError, match=r"sticks\.log_odds: u must have shape"):
        sticks.log_odds(*(np.full(shape, 0.5, np.float32) for shape in ((1, 4), (3,), (3,))))
    with pytest.raises(
        ValueError, match=r"sticks\.divergence: raw_a and raw_b must have one shape"
    ):
        sticks.divergence(*(np.zeros(n, np.float32) for n in (3, 4)), 20.0)
