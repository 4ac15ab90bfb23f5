"""Stick breaking against sampling, and against what is known of the Indian buffet process."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ibpcl.noise import Key, uniform
from ibpcl.primitives import stick_breaking


@given(arrays(np.float64, (2, 6), elements=st.floats(-20, -1e-6)))
def test_probabilities_fall_with_the_unit(log_v):
    log_pi, _ = stick_breaking.log_probabilities(log_v)
    assert (np.diff(log_pi, axis=1) < 0).all()
    np.testing.assert_allclose(np.exp(log_pi), np.cumprod(np.exp(log_v), axis=1), rtol=1e-10)


@given(arrays(np.float64, (5,), elements=st.floats(-600, -1e-9)))
def test_the_logit_is_that_of_the_probability(log_pi):
    from scipy.special import expit
    logit_pi, _ = stick_breaking.logit_probabilities(log_pi)
    np.testing.assert_allclose(expit(logit_pi), np.exp(log_pi), rtol=1e-12)


@pytest.mark.parametrize("alpha", [0.5, 3.0, 30.0])
def test_expectations_match_draws(alpha):
    samples, inputs, units = 3000, 20, 12
    mask, log_pi = stick_breaking.sample_prior(
        uniform(Key(0, 0, 0, 0), (samples, units), np.float64),
        uniform(Key(0, 0, 0, 1), (samples, inputs, units), np.float64), alpha)
    for drawn, expected in (
        (mask.sum(axis=(1, 2)) / inputs, stick_breaking.expected_weights(alpha, units)),
        (np.exp(log_pi).sum(axis=1), stick_breaking.expected_weights(alpha, units)),
        (mask.any(axis=1).sum(axis=1), stick_breaking.expected_active_units(alpha, units, inputs)),
    ):
        # With all units active in every draw the standard error is 0; one draw in 3000 is what could be missed.
        assert abs(drawn.mean() - expected) < 4 * drawn.std() / np.sqrt(samples) + 1 / samples


def test_probabilities_that_round_to_one_have_finite_log_odds_and_gradients():
    """Sticks near one: in single precision log pi may be 0, or so small that 1 / (1 - pi) would overflow."""
    log_pi = -np.array([[0.0, 1e-38, 1e-31, 1e-29, 1e-3]], np.float32)
    logit_pi, cache = stick_breaking.logit_probabilities(log_pi)
    slopes = stick_breaking.logit_probabilities_vjp(np.full_like(log_pi, 1e3), cache)
    assert np.isfinite(logit_pi).all() and np.isfinite(slopes).all()
    assert (np.diff(logit_pi) <= 0).all()
    np.testing.assert_allclose(logit_pi[0, 3:], -np.log([1e-29, 1e-3]), rtol=1e-3)
    np.testing.assert_allclose(slopes[0], [1e3, 1e3, 1e3, 1e32, 1e6], rtol=1e-2)


def test_without_truncation_the_active_units_are_the_buffet_s():
    harmonic = sum(1 / d for d in range(1, 51))
    assert stick_breaking.expected_active_units(2.0, 60, 50) == pytest.approx(2.0 * harmonic, rel=1e-6)


@pytest.mark.parametrize(("alpha", "units", "inputs"), [(1e-3, 10, 1000), (1e-6, 3, 100), (0.002, 50, 784)])
def test_a_small_alpha_has_few_active_units(alpha, units, inputs):
    """Of the first order in alpha only the first unit counts: alpha times the harmonic number of D."""
    harmonic = sum(1 / d for d in range(1, inputs + 1))
    found = stick_breaking.expected_active_units(alpha, units, inputs)
    assert found == pytest.approx(alpha * harmonic, rel=10 * alpha) and stick_breaking.expected_active_units(
        alpha, 1, inputs) <= found


def test_the_paper_s_fifteen_percent_is_the_prior_s():
    assert stick_breaking.expected_weights(30.0, 200) / 200 == pytest.approx(0.1498, abs=5e-5)
