"""The Weibull posterior of alpha against quadrature and scipy, and the exactness of what a learned alpha needs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import gamma, kstest, weibull_min

from ibpcl.noise import Key, uniform
from ibpcl.primitives import kumaraswamy, weibull

SHAPE, SCALE = st.floats(0.7, 20.0), st.floats(0.2, 60.0)


def one(value):
    return np.array([value])


@settings(max_examples=20)
@given(SHAPE, SCALE, st.floats(0.5, 10.0), st.floats(0.05, 3.0))
def test_the_divergence_is_the_integral(k, scale, shape, rate):
    q, p = weibull_min(k, scale=scale), gamma(shape, scale=1 / rate)
    # Over the quantiles: a bounded interval without a singular end.
    exact, _ = quad(lambda u: q.logpdf(q.ppf(u)) - p.logpdf(q.ppf(u)), 1e-13, 1 - 1e-13, limit=500, epsabs=1e-9)
    assert weibull.kl_to_gamma(one(k), one(scale), shape, rate)[0] == pytest.approx(exact, rel=1e-5, abs=1e-5)


@given(SCALE)
def test_an_exponential_is_both_a_weibull_and_a_gamma(scale):
    assert weibull.kl_to_gamma(one(1.0), one(scale), 1.0, 1 / scale)[0] == pytest.approx(0, abs=1e-12)


@given(SHAPE, SCALE)
def test_the_moments_and_the_density_are_scipy_s(k, scale):
    (mean, mean_log), _ = weibull.moments(one(k), one(scale))
    distribution = weibull_min(k, scale=scale)
    assert mean[0] == pytest.approx(distribution.mean(), rel=1e-9)
    assert mean_log[0] == pytest.approx(np.log(scale) - np.euler_gamma / k)
    x = distribution.ppf([0.1, 0.5, 0.9])[:, None]
    np.testing.assert_allclose(weibull.log_density(x, one(k), one(scale))[0][:, 0], distribution.logpdf(x[:, 0]),
                               rtol=1e-9, atol=1e-9)


def test_samples_have_the_distribution():
    alpha, _ = weibull.sample(uniform(Key(0, 0, 0, 0), (4000, 1), np.float64), one(3.0), one(30.0))
    assert kstest(alpha[:, 0], weibull_min(3.0, scale=30.0).cdf).pvalue > 1e-3


def test_the_sticks_divergence_under_a_random_alpha_needs_only_two_moments():
    a, b = np.array([31.0, 40.0]), np.array([2.0, 0.8])
    alpha, _ = weibull.sample(uniform(Key(1, 0, 0, 0), (20000, 1), np.float64), one(4.0), one(30.0))
    sampled = np.array([kumaraswamy.kl_to_beta(a, b, value)[0] for value in alpha[:, 0]])
    (mean, mean_log), _ = weibull.moments(one(4.0), one(30.0))
    exact, _ = kumaraswamy.expected_kl_to_beta(a, b, mean[0], mean_log[0])
    assert abs(sampled.mean() - exact) < 4 * sampled.std() / np.sqrt(len(sampled))
    assert sampled.std() > 0.01                              # the estimate that one would otherwise train with
