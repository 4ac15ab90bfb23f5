"""Concrete and Bernoulli masks: exact limits, and the ends of their range."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from ibpcl.noise import Key, logistic
from ibpcl.primitives import bernoulli, concrete

LOGIT = st.floats(-6, 6)
TAU = st.floats(0.2, 5.0)


def at(logit_theta, logit_pi):
    return np.full((1, 1, 1), logit_theta), np.full((1, 1), logit_pi)


@given(LOGIT)
def test_a_cold_mask_is_bernoulli(logit_theta):
    noise = logistic(Key(1, 0, 0, 0), (1, 2000, 1), np.float64)
    z, _ = concrete.sample(noise, np.full((1, 2000, 1), logit_theta), 1e-4)
    on = (noise + logit_theta > 0).astype(float)
    # binary, except for draws within 1e-3 of the threshold
    assert np.abs(z - on).mean() < 2e-3
    theta = expit(logit_theta)
    assert abs(z.mean() - theta) < 4 * np.sqrt(theta * (1 - theta) / 2000) + 2e-3


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 2e-6), (np.float64, 5e-15)])
@pytest.mark.parametrize("apart", [1e-30, 1e-3, 0.0499, 0.0501, 0.3, 0.999, 1.001, 6.0, 80.0])
def test_the_slope_of_the_divergence_of_logistics_keeps_its_digits(dtype, tolerance, apart):
    apart = dtype(apart)
    with mpmath.workdps(80):
        x = mpmath.mpf(float(apart))
        exact = float((mpmath.sinh(x) - x) / (mpmath.cosh(x) - 1))
    for sign in (1, -1):
        _, cache = concrete.kl(np.full((1, 1, 1), sign * apart), np.zeros((1, 1), dtype))
        found = concrete.kl_vjp(np.ones(1, dtype), cache)[0]
        assert found.dtype == dtype and found.item() == pytest.approx(sign * exact, rel=tolerance)


@given(LOGIT, LOGIT)
def test_divergences_are_never_negative_and_zero_for_equals(logit_theta, logit_pi):
    assert bernoulli.kl(*at(logit_theta, logit_pi))[0] >= -1e-12
    assert concrete.kl(*at(logit_theta, logit_pi))[0] >= 0
    assert bernoulli.kl(*at(logit_pi, logit_pi))[0] == pytest.approx(0, abs=1e-12)
    assert concrete.kl(*at(logit_pi, logit_pi))[0] == 0
