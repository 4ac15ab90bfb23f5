"""Stick breaking: monotonicity, extremes, and known results on the Indian buffet process."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ibpcl.primitives import stick_breaking


@given(arrays(np.float64, (2, 6), elements=st.floats(-20, -1e-6)))
def test_probabilities_decrease_with_the_unit(log_v):
    log_pi, _ = stick_breaking.log_probabilities(log_v)
    assert (np.diff(log_pi, axis=1) < 0).all()


@given(arrays(np.float64, (5,), elements=st.floats(-600, -1e-9)))
def test_the_logit_is_that_of_the_probability(log_pi):
    from scipy.special import expit

    logit_pi, _ = stick_breaking.logit_probabilities(log_pi)
    np.testing.assert_allclose(expit(logit_pi), np.exp(log_pi), rtol=1e-12)


def test_probabilities_that_round_to_one_have_finite_log_odds_and_gradients():
    """In single precision, log pi of sticks near 1 may be 0, or 1 / (1 - pi) would overflow."""
    log_pi = -np.array([[0.0, 1e-38, 1e-31, 1e-29, 1e-3]], np.float32)
    logit_pi, cache = stick_breaking.logit_probabilities(log_pi)
    slopes = stick_breaking.logit_probabilities_vjp(np.full_like(log_pi, 1e3), cache)
    assert np.isfinite(logit_pi).all() and np.isfinite(slopes).all()
    assert (np.diff(logit_pi) <= 0).all()
    np.testing.assert_allclose(logit_pi[0, 3:], -np.log([1e-29, 1e-3]), rtol=1e-3)
    np.testing.assert_allclose(slopes[0], [1e3, 1e3, 1e3, 1e32, 1e6], rtol=1e-2)


def test_without_truncation_active_units_are_those_of_the_ibp():
    harmonic = sum(1 / d for d in range(1, 51))
    assert stick_breaking.expected_active_units(2.0, 60, 50) == pytest.approx(
        2.0 * harmonic, rel=1e-6
    )


@pytest.mark.parametrize(
    ("alpha", "units", "inputs"), [(1e-3, 10, 1000), (1e-6, 3, 100), (0.002, 50, 784)]
)
def test_a_small_alpha_has_few_active_units(alpha, units, inputs):
    """To first order in alpha, only the first unit counts: alpha times the harmonic number of D."""
    harmonic = sum(1 / d for d in range(1, inputs + 1))
    found = stick_breaking.expected_active_units(alpha, units, inputs)
    assert (
        found == pytest.approx(alpha * harmonic, rel=10 * alpha)
        and stick_breaking.expected_active_units(alpha, 1, inputs) <= found
    )
