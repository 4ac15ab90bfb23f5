"""Numerical derivatives: their precision, and where they fail."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibpcl.verify.derivative.differences import central, complex_step, first_step, richardson
from ibpcl.verify.derivative.kinks import kink_gap

ONE = np.array(1.0)
SMOOTH = [
    (np.sin, np.cos),
    (np.exp, np.exp),
    (np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    (lambda x: x**3, lambda x: 3 * x**2),
    (np.log1p, lambda x: 1 / (1 + x)),
    (lambda x: 1 / (1 + x * x), lambda x: -2 * x / (1 + x * x) ** 2),
]


@given(st.sampled_from(SMOOTH), st.floats(0.01, 3))
def test_complex_step_is_exact_to_rounding(pair, x):
    f, derivative = pair
    assert complex_step(f, np.array(x), ONE) == pytest.approx(derivative(x), rel=1e-14, abs=1e-15)


@given(st.sampled_from(SMOOTH), st.floats(0.01, 3))
def test_richardson_stays_within_its_own_error_estimate(pair, x):
    f, derivative = pair
    estimate = richardson(f, np.array(x), ONE)
    assert abs(estimate.value - derivative(x)) <= 10 * estimate.error + 1e-14
    assert estimate.error <= 1e-8 * (1 + abs(derivative(x)))


def test_central_difference_has_second_order():
    errors = [abs(central(np.exp, ONE, ONE, h) - np.e) for h in (1e-2, 1e-3)]
    assert errors[0] / errors[1] == pytest.approx(100, rel=0.01)


def test_complex_step_refuses_a_cast_that_drops_the_imaginary_part():
    with pytest.raises(TypeError, match="casts complex to real"):
        complex_step(lambda x: x.astype(float), np.ones(2), np.ones(2))


def test_complex_step_is_silently_zero_through_abs_and_richardson_is_not():
    assert complex_step(np.abs, ONE, ONE) == 0
    assert richardson(np.abs, ONE, ONE).value == pytest.approx(1)


def test_richardson_steps_back_into_the_domain():
    # log of a negative number
    estimate = richardson(np.log, np.array([1e-3, 1.0]), np.array([1.0, 0.0]), h=0.05)
    assert estimate.value[0] == pytest.approx(1000, rel=1e-7)
    assert estimate.step < 1e-3


def test_richardson_reports_a_large_error_for_a_coarse_forward():
    estimate = richardson(lambda x: np.sin(x).astype(np.float32), ONE, ONE)
    assert estimate.error > 1e-7
    assert abs(estimate.value - np.cos(1)) <= 10 * estimate.error


def test_hidden_noise_widens_the_error_estimate():
    def coarse(x):
        # float32 inside, float64 outside
        return np.sin(x).astype(np.float32).astype(float)

    for x in np.linspace(0.1, 2, 20):
        estimate = richardson(coarse, np.array(x), ONE)
        assert abs(estimate.value - np.cos(x)) <= 10 * estimate.error
        assert estimate.error < 1e-3


@pytest.mark.parametrize(
    ("f", "x", "has_kink"),
    [
        (np.abs, 0.0, True),
        (np.abs, 0.5, False),
        (lambda x: np.maximum(x, 0), 0.0, True),
        (np.floor, 2.0, True),
        (lambda x: x**3, 0.0, False),
        (np.exp, 2.0, False),
        (lambda x: np.maximum(x, 1), 1 + 1e-11, True),
        (lambda x: 1e6 + np.sin(x), 1.0, False),
        (np.sign, 1.0, False),
        (lambda x: np.sin(1e6 * x), 0.3, False),
        (lambda x: (1e6 + np.sin(x)) - 1e6, 1.0, False),
        (lambda x: x**1.5, 1e-3, False),
    ],
)
def test_kinks_are_told_from_curvature(f, x, has_kink):
    assert bool(kink_gap(f, np.array(x), ONE)) is has_kink


def test_first_step_is_not_ruled_by_a_single_zero():
    assert first_step(np.array([0.0, 1.0]), np.ones(2)) > 1e-3
    assert first_step(np.zeros(0), np.zeros(0)) > 0


def test_where_the_derivative_is_zero_the_complex_step_leaves_no_error_of_its_own():
    assert complex_step(lambda x: x**3, np.zeros(2), np.ones(2)).tolist() == [0.0, 0.0]
