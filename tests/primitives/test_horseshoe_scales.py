"""The horseshoe's scales: symmetry of the prior, limits of the divergence, and its optimum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ibpcl.primitives import horseshoe

REAL = st.floats(-6, 6)
SCALE = st.floats(0.01, 100)


def one(*values):
    return [np.array([float(value)]) for value in values]


@given(REAL, SCALE)
def test_the_prior_is_a_hyperbolic_secant_around_its_median(distance, scale):
    center = 2 * np.log(scale)
    sides = horseshoe.log_density(center + distance * np.array([[-1.0, 1.0]]), scale)[0]
    np.testing.assert_allclose(sides[0, 0], sides[0, 1], atol=1e-10)
    exact = stats.halfcauchy.logpdf(scale * np.exp(distance / 2), scale=scale)
    jacobian = np.log(scale) + distance / 2 - np.log(2)
    np.testing.assert_allclose(sides[0, 1], exact + jacobian, atol=1e-10)


@given(REAL, st.floats(-4, 1), SCALE)
def test_the_divergence_is_positive_and_scales_with_its_prior(mu, log_sigma, scale):
    value = horseshoe.kl(*one(mu, log_sigma), scale)[0]
    assert value > 0
    moved = horseshoe.kl(*one(mu + 2 * np.log(scale), log_sigma), scale)[0]
    assert moved == pytest.approx(horseshoe.kl(*one(mu, log_sigma), 1.0)[0], abs=1e-9)


def test_the_divergence_of_a_narrow_posterior_is_the_negative_log_density_and_its_entropy():
    mu, log_sigma = one(1.3, -12.0)
    exact = -horseshoe.log_density(mu, 0.7)[0] - horseshoe.ENTROPY - log_sigma
    assert horseshoe.kl(mu, log_sigma, 0.7)[0] == pytest.approx(exact[0], rel=1e-9)


@given(REAL, st.floats(-4, 1), st.floats(0.05, 20), st.floats(0.05, 20), SCALE)
def test_no_other_auxiliary_posterior_is_better(mu, log_sigma, a, b, scale):
    least = horseshoe.kl(*one(mu, log_sigma), scale)[0]
    assert horseshoe.hierarchy_kl(*one(mu, log_sigma, a, b), scale)[0] >= least - 1e-9 * abs(least)
    rate = np.exp(np.exp(2 * log_sigma) / 2 - mu) + scale**-2
    found, cache = horseshoe.hierarchy_kl(*one(mu, log_sigma, 1.0, rate), scale)
    assert found == pytest.approx(least, rel=1e-9, abs=1e-9)
    _, _, da, db = horseshoe.hierarchy_kl_vjp(1.0, cache)
    np.testing.assert_allclose([da[0], db[0] * rate], 0, atol=1e-9)


def test_the_pull_of_the_prior_is_at_most_half_a_nat_in_either_direction():
    """So large scales are hardly shrunk, and a unit that adds noise shrinks towards zero."""
    mu = np.linspace(-60, 60, 25)
    dmu, _ = horseshoe.kl_vjp(1.0, horseshoe.kl(mu, np.full(25, -3.0), 1.0)[1])
    assert dmu[0] == pytest.approx(-0.5) and dmu[-1] == pytest.approx(0.5)
    assert (np.diff(dmu) >= 0).all()
