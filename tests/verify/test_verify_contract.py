"""The contract of a vector-Jacobian product: linear, zero for zero, and for any layout of dout."""

import numpy as np
import pytest

from ibpcl.verify import check

X = np.array([[0.3, -0.7, 1.1], [0.2, 0.9, -0.4]])


def squares(x):
    return x**2, x


@pytest.mark.parametrize(
    "backward",
    [
        lambda d, x: 2 * x * d * (d / d),  # NaN for dout = 0
        # right for small dout only
        lambda d, x: np.where(np.abs(d) < 1e4, 2 * x * d, 0.0),
        lambda d, x: 2 * x * d if np.max(np.abs(d)) < 1e4 else 0 * d,
        # smaller for large dout, but without a limit
        lambda d, x: np.where(np.abs(d) < 1e4, 2 * x * d, x * d),
        lambda d, x: 2 * x * d + 1e-12 * d**2,
        # a limit that changes the sign
        lambda d, x: np.minimum(2 * x * d, 1e4),
        # right for large dout only
        lambda d, x: np.where(np.abs(d) > 1e-6, 2 * x * d, 0.0),
    ],
)
def test_a_gradient_that_is_linear_for_some_dout_only_is_wrong(backward):
    report = check(squares, backward, (X,))
    assert report["x"].kind == "not_linear"
    assert report["x"].words.startswith("not linear in dout")


def test_a_gradient_that_is_right_for_contiguous_dout_only_is_wrong():
    report = check(squares, lambda d, x: 2 * x * d.ravel(order="K").reshape(d.shape), (X,))
    assert report["x"].kind == "layout"


def matrix_product(x, w):
    return x @ w, (x, w)


LARGEST = 0.01


def clipped_twice(dout, cache):
    x, w = cache
    dx = np.clip(dout @ w.T, -LARGEST, LARGEST)
    dw = (x.T @ dout).clip(-LARGEST, LARGEST)
    return dx, dw


def clipped_in_place(dout, cache):
    x, w = cache
    dx, dw = dout @ w.T, x.T @ dout
    for gradient in (dx, dw):
        np.clip(gradient, -LARGEST, LARGEST, out=gradient)
    return dx, dw


def with_a_largest_norm(dout, cache):
    x, w = cache
    dx, dw = dout @ w.T, x.T @ dout
    norm = np.sqrt((dx**2).sum() + (dw**2).sum())
    if norm > LARGEST:
        dx *= LARGEST / norm
        dw = dw * LARGEST / norm
    return dx, dw


def with_a_coefficient(dout, cache):
    x, w = cache
    dx, dw = dout @ w.T, x.T @ dout
    c = min(1.0, LARGEST / (np.linalg.norm(dw) + 1e-6))
    return c * dx, c * dw


def with_a_conditional_coefficient(dout, cache):
    x, w = cache
    dx, dw = dout @ w.T, x.T @ dout
    norm = np.linalg.norm(dw)
    c = 1.0 if norm < LARGEST else LARGEST / norm
    return c * dx, c * dw


@pytest.mark.parametrize(
    "backward",
    [
        clipped_twice,
        clipped_in_place,
        with_a_largest_norm,
        with_a_coefficient,
        with_a_conditional_coefficient,
    ],
)
def test_a_limit_that_does_not_act_is_a_note_and_one_that_acts_is_the_reason(backward, monkeypatch):
    acting = check(matrix_product, backward, (X, X.T.copy()))
    for verdict in acting.inputs:
        assert verdict.kind == "not_linear" and verdict.reason.kind == "limit"
        assert verdict.numbers["got"] != verdict.numbers["expected"]
    monkeypatch.setitem(globals(), "LARGEST", 1000.0)
    idle = check(matrix_product, backward, (X, X.T.copy()))
    assert idle.ok and all(verdict.reason is None for verdict in idle.inputs)
    for report in (acting, idle):
        (habit,) = report.habits
        assert habit.kind == "not_linear" and habit.inputs == ("x", "w")


def wrong_and_clipped(dout, cache):
    x, w = cache
    limit = LARGEST
    return np.clip(dout @ w.T, -limit, limit), 2 * np.clip(x.T @ dout, -limit, limit)


@pytest.mark.parametrize(("limit", "kind"), [(0.01, "not_linear"), (1000.0, "ok")])
def test_a_mistake_beside_a_limit_is_named(limit, kind, monkeypatch):
    monkeypatch.setitem(globals(), "LARGEST", limit)
    report = check(matrix_product, wrong_and_clipped, (X, X.T.copy()))
    assert report["x"].kind == kind and report["w"].kind == "constant_factor"


def test_an_output_that_is_a_number_stays_one():
    def vector_only(dout, x):
        assert np.ndim(dout) == 0
        return dout * 2 * x

    assert check(lambda x: ((x**2).sum(), x), vector_only, (X,)).ok


@pytest.mark.parametrize("returned", [np.array([1, "a", None], object), np.array(["a", "b", "c"])])
def test_gradients_that_are_no_numbers_are_refused_by_the_input_s_name(returned):
    with pytest.raises(TypeError, match=r"gradient of x.*'a'"):
        check(lambda x: (x**2, x), lambda dout, x: returned, (X[0],))
