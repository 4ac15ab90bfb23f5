"""The integral over arrays beside SciPy's adaptive one."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from ibpcl.paper.integrals import integral


@pytest.mark.parametrize(
    ("function", "support", "points"),
    [
        (lambda x: np.exp(-x * x / 2) * np.cos(x), (-np.inf, np.inf), [0.0]),
        (lambda x: x * np.exp(-3 * x), (0.0, np.inf), []),
        (lambda x: np.abs(x - 0.3), (-1.0, 2.0), [0.3]),
        (lambda x: x**-0.4 * (1 - x) ** 0.7, (0.0, 1.0), []),
    ],
)
def test_the_integral_is_that_of_scipy_and_its_error_bounds_the_difference(
    function, support, points
):
    value, error = integral(function, support, points)
    pieces = [support[0], *points, support[1]]
    exact = sum(quad(function, low, high, epsabs=1e-13)[0] for low, high in pairwise(pieces))
    assert value == pytest.approx(exact, rel=1e-9)
    assert error < 1e-8


def test_too_few_nodes_show_in_the_error():
    value, error = integral(lambda x: np.cos(40 * x), (0.0, 3.0), steps=12)
    assert abs(value - np.sin(120) / 40) > 1e-6
    assert error > 1e-6
