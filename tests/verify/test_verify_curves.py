"""The V-curve and the Taylor slopes, on functions whose slopes are known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibpcl.verify import check
from ibpcl.verify.derivative.curves import taylor_remainders, taylor_slope, v_curve

X = np.array([0.4, -0.9, 1.3])
D = np.array([1.0, 0.5, -0.7])


def value(x):
    return float(np.sum(np.exp(x) * np.sin(x)))


def slope(x):
    return float(np.sum(np.exp(x) * (np.sin(x) + np.cos(x)) * D))


def curvature(x):
    return float(np.sum(2 * np.exp(x) * np.cos(x) * D * D))


@given(st.floats(1e-3, 10), st.booleans())
def test_first_order_slope_is_two_if_right_and_one_if_wrong(error, negative):
    assert taylor_slope(value, X, D, slope(X)) == pytest.approx(2, abs=0.1)
    assert taylor_slope(value, X, D, slope(X) * (1 - error if negative else 1 + error)) < 1.6


def test_second_order_slope_is_three_if_right_and_two_if_the_curvature_is_wrong():
    assert taylor_slope(value, X, D, slope(X), curvature(X)) == pytest.approx(3, abs=0.1)
    assert taylor_slope(value, X, D, slope(X), 1.1 * curvature(X)) == pytest.approx(2, abs=0.1)
    assert taylor_slope(value, X, D, 1.1 * slope(X), curvature(X)) == pytest.approx(1, abs=0.1)


def test_a_linear_function_leaves_no_remainder():
    curve = taylor_remainders(lambda x: float(x @ D), X, D, float(D @ D))
    assert curve.slope == np.inf


def test_the_v_curve_falls_rises_and_stays_flat_for_a_wrong_derivative():
    good = v_curve(value, X, D, slope(X))
    best = int(np.argmin(good.values))
    assert 0 < best < len(good.steps) - 1
    assert good.values[best] < 1e-9
    assert good.values[0] > 100 * good.values[best]
    assert good.values[-1] > 100 * good.values[best]
    assert v_curve(value, X, D, 1.1 * slope(X)).values.min() > 0.05


def test_the_curves_of_a_report_tell_right_from_wrong():
    def f(x):
        return np.exp(x) * x, x

    right = check(f, lambda d, x: d * np.exp(x) * (1 + x), (X,)).curves["x"]
    wrong = check(f, lambda d, x: d * np.exp(x), (X,)).curves["x"]
    assert [round(right.taylor(order).slope) for order in (1, 2)] == [2, 3]
    assert [round(wrong.taylor(order).slope) for order in (1, 2)] == [1, 1]
    assert right.v_curve().values.min() < 1e-8 < 1e-2 < wrong.v_curve().values.min()
    assert wrong.v_curve_of_truth().values.min() < 1e-8
