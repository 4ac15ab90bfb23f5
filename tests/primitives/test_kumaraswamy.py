"""Kumaraswamy sticks against quadrature, sampling and the Beta that they equal at the edges; the paper's slip shown."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta as beta_distribution
from scipy.stats import kstest

from ibpcl.noise import Key, uniform
from ibpcl.primitives import kumaraswamy

SHAPE = st.floats(0.3, 60.0)


def divergence_by_quadrature(a, b, alpha, beta):
    a, b, alpha, beta = map(mpmath.mpf, (a, b, alpha, beta))

    def integrand(v):
        log_q = mpmath.log(a * b) + (a - 1) * mpmath.log(v) + (b - 1) * mpmath.log1p(-(v**a))
        log_p = (alpha - 1) * mpmath.log(v) + (beta - 1) * mpmath.log1p(-v) - mpmath.log(mpmath.beta(alpha, beta))
        return mpmath.exp(log_q) * (log_q - log_p)

    with mpmath.workdps(30):
        return float(mpmath.quad(integrand, [0, 0.2, 0.5, 0.8, 0.9, 0.97, 0.99, 0.999, 1]))


def printed_divergence(a, b, alpha, beta=1.0):
    """The form printed in the paper's supplement, with its last constant -b / (1 - b) and eleven terms."""
    mp = mpmath
    series = mp.nsum(lambda m: mp.beta(m / a, b) / (m + a * b), [1, 11])
    return float((a - alpha) / a * (-mp.euler - mp.digamma(b) - 1 / b) + mp.log(a * b) + mp.log(mp.beta(alpha, beta))
                 - b / (1 - b) + (beta - 1) * b * series)


@pytest.mark.parametrize(("a", "b", "alpha"), [(2, 3, 1.5), (31, 2, 30), (57, 0.74, 30), (5, 0.5, 30)])
def test_the_divergence_is_right_and_the_printed_one_is_not(a, b, alpha):
    exact = divergence_by_quadrature(a, b, alpha, 1)
    ours = float(kumaraswamy.kl_to_beta(np.array([float(a)]), np.array([float(b)]), float(alpha))[0])
    assert ours == pytest.approx(exact, rel=1e-8)
    assert abs(printed_divergence(a, b, alpha) - exact) > 1    # a whole nat off
    assert printed_divergence(a, b, alpha) - exact == pytest.approx((b - 1) / b - b / (1 - b), rel=1e-6)


@given(SHAPE, SHAPE, SHAPE)
def test_the_divergence_is_never_negative_and_zero_for_equals(a, b, alpha):
    a, b = np.array([a]), np.array([b])
    assert kumaraswamy.kl_to_beta(a, b, alpha)[0] >= -1e-12
    assert kumaraswamy.kl_to_beta(np.array([alpha]), np.ones(1), alpha)[0] == pytest.approx(0, abs=1e-12)


def test_a_scalar_alpha_serves_all_sticks():
    a, b = np.array([3.0, 5.0]), np.array([2.0, 0.7])
    scalar, scalar_cache = kumaraswamy.kl_to_beta(a, b, 4.0)
    vector, vector_cache = kumaraswamy.kl_to_beta(a, b, np.full(2, 4.0))
    assert scalar == vector
    assert kumaraswamy.kl_to_beta_vjp(1.0, scalar_cache)[2] == kumaraswamy.kl_to_beta_vjp(1.0, vector_cache)[2].sum()


@pytest.mark.parametrize(("a", "b", "alpha", "beta"), [
    (2.0, 3.0, 1.5, 2.5), (31.0, 2.0, 30.0, 3.0), (1.0, 2.0, 1.0, 3.0), (0.4, 0.6, 2.0, 0.5), (8.0, 0.3, 8.0, 4.0),
    (2.0, 3.0, 1.5, 1.0), (2.0, 200.0, 1.5, 2.5), (31, 2, 30, 3)])
def test_the_general_series_is_as_close_as_it_says(a, b, alpha, beta):
    value, error = kumaraswamy.kl_to_general_beta(a, b, alpha, beta, tolerance=1e-9)
    assert error <= 1e-9
    # E_q[log(1 - v)] through the substitution v = (1 - u^(1/b))^(1/a): a bounded integrand for the witness.
    with mpmath.workdps(40):
        mean = mpmath.quad(lambda u: mpmath.log(-mpmath.expm1(mpmath.log1p(-u**(1 / mpmath.mpf(b))) / a)),
                           [0, 1e-9, 1e-6, 1e-3, 0.1, 0.5, 0.9, 0.999, 1 - 1e-6, 1])
        exact = ((1 - alpha / mpmath.mpf(a)) * (-mpmath.euler - mpmath.digamma(b) - 1 / mpmath.mpf(b))
                 + mpmath.log(a * b) + mpmath.log(mpmath.beta(alpha, beta)) - (b - 1) / b - (beta - 1) * mean)
    assert value == pytest.approx(float(exact), abs=max(3 * error, 2e-9))


def test_eleven_terms_are_far_too_few():
    assert kumaraswamy.kl_to_general_beta(31.0, 2.0, 30.0, 3.0)[0] == pytest.approx(0.655169, abs=1e-6)
    eleven = printed_divergence(31, 2, 30, 3) + 2 / (1 - 2) - (2 - 1) / 2       # its constant mended, its series not
    assert eleven == pytest.approx(-0.863, abs=1e-3)


@pytest.mark.parametrize(("a", "b"), [(31.0, 1.0), (1.0, 3.0), (0.5, 1.0)])
def test_it_is_the_beta_when_either_shape_is_one(a, b):
    u = uniform(Key(0, 0, 0, 0), (3000, 1), np.float64)
    log_v, _ = kumaraswamy.sample(u, np.array([a]), np.array([b]))
    assert kstest(np.exp(log_v[:, 0]), beta_distribution(a, b).cdf).pvalue > 1e-3
    np.testing.assert_allclose(kumaraswamy.log_density(log_v, np.array([a]), np.array([b]))[0][:, 0],
                               beta_distribution(a, b).logpdf(np.exp(log_v[:, 0])), rtol=1e-6, atol=1e-8)


@given(st.floats(0.05, 100.0), st.floats(0.05, 100.0), st.floats(1e-6, 1 - 1e-6))
def test_the_sample_inverts_the_distribution_function(a, b, u):
    log_v, _ = kumaraswamy.sample(np.array([[u]]), np.array([a]), np.array([b]))
    power = -np.expm1(a * log_v)                             # 1 - v^a
    assert power**b == pytest.approx(u, rel=1e-6)
    assert (log_v < 0).all()


def test_float32_sticks_stay_finite_at_the_edges_of_the_noise():
    u = np.array([[2.0**-24, 1 - 2.0**-24]], np.float32)
    for a, b in ((0.05, 0.05), (100.0, 100.0), (30.0, 1.0)):
        shapes = np.full(2, a, np.float32), np.full(2, b, np.float32)
        log_v, cache = kumaraswamy.sample(u, *shapes)
        assert np.isfinite(log_v).all()
        assert all(np.isfinite(gradient).all() for gradient in kumaraswamy.sample_vjp(np.ones_like(log_v), cache))
