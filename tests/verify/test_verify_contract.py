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


def test_a_clipped_gradient_is_right_with_a_note():
    report = check(squares, lambda d, x: np.clip(2 * x * d, -1000, 1000), (X,))
    assert report.ok
    assert [habit["kind"] for habit in report.habits] == ["not_linear"]


def test_an_output_that_is_a_number_stays_one():
    def vector_only(dout, x):
        assert np.ndim(dout) == 0
        return dout * 2 * x

    assert check(lambda x: ((x**2).sum(), x), vector_only, (X,)).ok


@pytest.mark.parametrize("returned", [np.array([1, "a", None], object), np.array(["a", "b", "c"])])
def test_gradients_that_are_no_numbers_are_refused_by_the_input_s_name(returned):
    with pytest.raises(TypeError, match=r"gradient of x.*'a'"):
        check(lambda x: (x**2, x), lambda dout, x: returned, (X[0],))
