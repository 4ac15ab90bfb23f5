"""The Gaussian against quadrature and against its exact limits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import kstest, norm

from ibpcl.noise import Key, normal
from ibpcl.primitives import gaussian

REAL, SCALE = st.floats(-3, 3), st.floats(-1.5, 1.5)


@given(REAL, SCALE, REAL, SCALE)
def test_the_divergence_matches_quadrature(mu, log_sigma, prior_mu, prior_log_sigma):
    sigma = np.exp(log_sigma)

    def integrand(x):
        log_q = norm.logpdf(x, mu, sigma)
        return np.exp(log_q) * (log_q - norm.logpdf(x, prior_mu, np.exp(prior_log_sigma)))

    exact = quad(integrand, mu - 12 * sigma, mu + 12 * sigma, epsabs=1e-12, limit=200)[0]
    arguments = [np.array([value]) for value in (mu, log_sigma, prior_mu, prior_log_sigma)]
    assert gaussian.kl(*arguments)[0] == pytest.approx(exact, rel=1e-8, abs=1e-9)


@given(REAL, SCALE, REAL, SCALE)
def test_the_divergence_is_never_negative_and_zero_for_equals(mu, log_sigma, prior_mu, prior_log_sigma):
    mu, log_sigma, prior_mu, prior_log_sigma = (np.array([v]) for v in (mu, log_sigma, prior_mu, prior_log_sigma))
    assert gaussian.kl(mu, log_sigma, prior_mu, prior_log_sigma)[0] >= 0
    assert gaussian.kl(mu, log_sigma, mu, log_sigma)[0] == 0


def test_nearly_equal_scales_keep_their_digits():
    # KL = d^2 for a small log ratio d of the scales, far below the last place of 1.
    divergence, _ = gaussian.kl(np.zeros(1), np.array([1e-7]), np.zeros(1), np.zeros(1))
    assert divergence == pytest.approx(1e-14, rel=1e-2)


def test_samples_have_the_distribution_that_the_density_says():
    v, _ = gaussian.sample(normal(Key(1, 0, 0, 0), (4000, 1), np.float64), np.array([0.7]), np.array([-0.4]))
    assert kstest(v[:, 0], norm(0.7, np.exp(-0.4)).cdf).pvalue > 1e-3
    np.testing.assert_allclose(gaussian.log_density(v, np.array([0.7]), np.array([-0.4]))[0],
                               norm.logpdf(v, 0.7, np.exp(-0.4)), rtol=1e-12)
