"""Kumaraswamy sticks: signs, limits and extremes; the catalogue of checks verifies the rest."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibpcl.primitives import kumaraswamy

SHAPE = st.floats(0.3, 60.0)


@given(SHAPE, SHAPE, SHAPE)
def test_the_divergence_is_never_negative_and_zero_for_equals(a, b, alpha):
    a = np.array([a])
    b = np.array([b])
    assert kumaraswamy.kl_to_beta(a, b, alpha)[0] >= -1e-12
    assert kumaraswamy.kl_to_beta(np.array([alpha]), np.ones(1), alpha)[0] == pytest.approx(
        0, abs=1e-12
    )


def test_a_scalar_alpha_applies_to_all_sticks():
    a = np.array([3.0, 5.0])
    b = np.array([2.0, 0.7])
    scalar, scalar_cache = kumaraswamy.kl_to_beta(a, b, 4.0)
    vector, vector_cache = kumaraswamy.kl_to_beta(a, b, np.full(2, 4.0))
    assert scalar == vector
    assert (
        kumaraswamy.kl_to_beta_vjp(1.0, scalar_cache)[2]
        == kumaraswamy.kl_to_beta_vjp(1.0, vector_cache)[2].sum()
    )


@given(st.floats(0.05, 100.0), st.floats(0.05, 100.0), st.floats(1e-6, 1 - 1e-6))
def test_the_sample_inverts_the_distribution_function(a, b, u):
    log_v, _ = kumaraswamy.sample(np.array([[u]]), np.array([a]), np.array([b]))
    power = -np.expm1(a * log_v)  # 1 - v^a
    assert power**b == pytest.approx(u, rel=1e-6)
    assert (log_v < 0).all()


def test_float32_sticks_stay_finite_at_the_edges_of_the_noise():
    u = np.array([[2.0**-24, 1 - 2.0**-24]], np.float32)
    for a, b in ((0.05, 0.05), (100.0, 100.0), (30.0, 1.0)):
        shapes = np.full(2, a, np.float32), np.full(2, b, np.float32)
        log_v, cache = kumaraswamy.sample(u, *shapes)
        assert np.isfinite(log_v).all()
        assert all(
            np.isfinite(gradient).all()
            for gradient in kumaraswamy.sample_vjp(np.ones_like(log_v), cache)
        )
