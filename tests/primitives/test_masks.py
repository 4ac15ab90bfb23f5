"""Concrete and Bernoulli masks against quadrature, against sampling, and in the limits where they are exact."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import kstest
from scipy.stats import logistic as logistic_distribution

from ibpcl.noise import Key, logistic
from ibpcl.numerics import logit, sigmoid
from ibpcl.primitives import bernoulli, concrete

LOGIT, TAU = st.floats(-6, 6), st.floats(0.2, 5.0)


def at(logit_theta, logit_pi):
    return np.full((1, 1, 1), logit_theta), np.full((1, 1), logit_pi)


@given(LOGIT, TAU)
def test_the_density_of_the_logit_integrates_to_one(logit_theta, tau):
    centre = logit_theta / tau
    mass, _ = quad(lambda y: np.exp(concrete.log_density_logit(y, logit_theta, tau)[0]), centre - 40 / tau,
                   centre + 40 / tau, limit=200)
    assert mass == pytest.approx(1, abs=1e-7)


@given(LOGIT, TAU, st.floats(0.01, 0.99))
def test_the_density_of_the_mask_is_the_slope_of_its_distribution_function(logit_theta, tau, z):
    # P(mask < z) = P(Y < logit z) = sigma(tau logit z - logit theta), differentiated by the complex step.
    slope = sigmoid(tau * logit(np.complex128(z + 1e-30j)) - logit_theta).imag / 1e-30
    assert np.exp(concrete.log_density(np.array(z), logit_theta, tau)[0]) == pytest.approx(slope, rel=1e-9)


@pytest.mark.parametrize(("logit_theta", "tau"), [(0.7, 0.3), (-2.0, 2.0)])
def test_samples_have_that_density(logit_theta, tau):
    noise = logistic(Key(0, 0, 0, 0), (1, 4000, 1), np.float64)
    z, _ = concrete.sample(noise, np.full((1, 4000, 1), logit_theta), tau)
    y = np.log(z / (1 - z)).ravel()
    assert kstest(y, logistic_distribution(logit_theta / tau, 1 / tau).cdf).pvalue > 1e-3


@given(LOGIT)
def test_a_cold_mask_is_bernoulli(logit_theta):
    noise = logistic(Key(1, 0, 0, 0), (1, 2000, 1), np.float64)
    z, _ = concrete.sample(noise, np.full((1, 2000, 1), logit_theta), 1e-4)
    on = (noise + logit_theta > 0).astype(float)
    assert np.abs(z - on).mean() < 2e-3                      # binary, but for draws within 1e-3 of the threshold
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
def test_divergences_are_never_negative_zero_for_equals_and_ordered(logit_theta, logit_pi):
    discrete = bernoulli.kl(*at(logit_theta, logit_pi))[0]
    relaxed = concrete.kl(*at(logit_theta, logit_pi))[0]
    assert relaxed >= discrete - 1e-12 >= -2e-12
    assert bernoulli.kl(*at(logit_pi, logit_pi))[0] == pytest.approx(0, abs=1e-12)
    assert concrete.kl(*at(logit_pi, logit_pi))[0] == 0


@given(LOGIT, LOGIT)
def test_the_bernoulli_divergence_is_its_definition(logit_theta, logit_pi):
    theta, pi = expit(logit_theta), expit(logit_pi)
    exact = theta * np.log(theta / pi) + (1 - theta) * np.log((1 - theta) / (1 - pi))
    assert bernoulli.kl(*at(logit_theta, logit_pi))[0] == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize(("delta", "value"), [(0.5, 0.0415), (1, 0.164), (2.197, 0.7464), (4.394, 2.504), (8, 6.005)])
def test_the_relaxed_divergence_is_that_of_two_logistics(delta, value):
    def integrand(y):
        log_q = logistic_distribution.logpdf(y - delta)
        return np.exp(log_q) * (log_q - logistic_distribution.logpdf(y))
    exact = quad(integrand, -60, 80, limit=400)[0]
    assert concrete.kl(*at(delta, 0.0))[0] == pytest.approx(exact, rel=1e-7)
    assert exact == pytest.approx(value, abs=6e-4)


@pytest.mark.parametrize("tau", [0.25, 1.0, 10.0])
def test_the_estimate_at_equal_temperatures_has_the_exact_mean(tau):
    noise = logistic(Key(2, 0, 0, 0), (20000, 1, 1), np.float64)
    estimates, _ = concrete.kl_monte_carlo(noise, np.full((20000, 1, 1), 0.8), np.full((20000, 1), -0.9), tau, tau)
    exact = concrete.kl(*at(0.8, -0.9))[0].item()
    assert abs(estimates.mean() - exact) < 4 * estimates.std() / np.sqrt(len(estimates))


@pytest.mark.parametrize(("tau", "value"), [(10.0, 5.70), (0.3, 1.93)])
def test_unequal_temperatures_cost_even_where_nothing_was_learned(tau, value):
    """Two equal distributions at pi = 0.9, the posterior at tau, the prior at 0.05 as in the authors' code."""
    noise = logistic(Key(3, 0, 0, 0), (20000, 1, 1), np.float64)
    same = np.log(9.0)
    estimates, _ = concrete.kl_monte_carlo(noise, np.full((20000, 1, 1), same), np.full((20000, 1), same), tau, 0.05)
    assert estimates.mean() == pytest.approx(value, abs=max(0.03, 4 * estimates.std() / np.sqrt(len(estimates))))


def test_the_log_link_caps_the_prior_at_one_half():
    for pi, capped in ((0.99, 0.497), (0.9, 0.474), (0.5, 0.333), (0.1, 0.091)):
        assert expit(np.log(pi)) == pytest.approx(capped, abs=5e-4)
