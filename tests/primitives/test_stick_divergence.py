"""KL divergence of two Kumaraswamy sticks: closed cases, and shape parameters at the edge."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibpcl.primitives import kumaraswamy, stick_divergence

SHAPE = st.floats(0.1, 60)


def kl(*values):
    return float(stick_divergence.kl(*(np.array([float(value)]) for value in values))[0])


@given(SHAPE, SHAPE, SHAPE)
def test_against_the_first_prior_it_is_the_closed_form(a, b, alpha):
    exact = float(kumaraswamy.kl_to_beta(np.array([a]), np.array([b]), alpha)[0])
    assert kl(a, b, alpha, 1) == pytest.approx(exact, rel=1e-12, abs=1e-12)


@given(SHAPE, st.floats(0.1, 20), SHAPE, st.floats(0.1, 20))
def test_it_is_never_negative_and_0_at_equality(a, b, prior_a, prior_b):
    # the largest error of 16 points
    assert kl(a, b, prior_a, prior_b) >= -1e-3 * prior_b
    assert kl(a, b, a, b) == pytest.approx(0, abs=1e-5 * b)


def test_with_one_a_it_is_the_divergence_of_two_exponentials():
    """-log(1 - v^a) is exponential with rate b."""
    for b, prior_b in ((2.0, 3.0), (0.7, 5.0)):
        assert kl(4.0, b, 4.0, prior_b) == pytest.approx(
            np.log(b / prior_b) + prior_b / b - 1, rel=1e-6
        )


@pytest.mark.parametrize("b", [0.02, 0.3, 50.0])
def test_it_is_finite_in_float32_where_sticks_round_to_one(b):
    a, b, prior_a, prior_b = (np.array([value], np.float32) for value in (100.0, b, 30.0, 2.0))
    value, cache = stick_divergence.kl(a, b, prior_a, prior_b)
    gradient = stick_divergence.kl_vjp(np.float32(1), cache)
    assert np.isfinite([value, *np.concatenate(gradient)]).all()
    assert value == pytest.approx(
        kl(*(float(part[0]) for part in (a, b, prior_a, prior_b))), rel=1e-4
    )
