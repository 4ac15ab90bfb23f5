"""Products of known functions are found, and noise is not taken for one."""

import numpy as np
import pytest

from ibpcl.verify.candidates import Dictionary, placements, pool
from ibpcl.verify.elementary import FUNCTIONS

RNG = np.random.default_rng(4)
A = [RNG.uniform(0.5, 2, (4, 3)) for _ in range(2)]
B = [RNG.uniform(0.5, 2, 3) for _ in range(2)]
K = I = np.arange(12)
ARRAYS = pool([{"a": A[p], "b": B[p], "n": np.array(2)} for p in range(2)], {})


def dictionary():
    return Dictionary(ARRAYS, [(4, 3)], (4, 3), (K, I))


@pytest.mark.parametrize(("function", "factors", "words"), [
    (lambda a, b: a, 1, "a"), (lambda a, b: 3 * np.exp(a), 1, "exp(a)"),
    (lambda a, b: a / b, 2, "a / b"), (lambda a, b: (1 - a * a) * np.sqrt(b), 2, None),
    (lambda a, b: 0 * a + 7, 0, ""), (lambda a, b: a * b * b, 2, None),
])
def test_products_are_found_with_their_constant(function, factors, words):
    goal = [np.broadcast_to(function(a, b), (4, 3)).ravel() for a, b in zip(A, B, strict=True)]
    match = dictionary().match(goal, 1e-9)
    assert match.factors == factors
    assert words is None or match.words == words
    assert dictionary().match([2 * g for g in goal], 1e-9).constant == pytest.approx(2 * match.constant)


def test_noise_and_a_constant_that_differs_between_points_are_no_match():
    assert dictionary().match([RNG.uniform(1, 2, 12) for _ in range(2)], 1e-6) is None
    assert dictionary().match([A[0].ravel(), 2 * A[1].ravel()], 1e-6) is None


def test_arrays_are_placed_in_every_way_that_fits():
    assert len(list(placements(np.arange(3.0), (3, 3)))) == 2
    assert len(list(placements(np.arange(3.0), (4, 3)))) == 1
    assert len(list(placements(np.arange(5.0), (4, 3)))) == 0
    assert np.array_equal(next(placements(np.array(2.0), (2,))), [2.0, 2.0])


def test_equal_arrays_are_kept_once():
    assert list(pool([{"x": A[0], "same": A[0].copy(), "text": np.array("t")}], {"mine": B[0]})) == ["x", "mine"]


def test_functions_of_huge_numbers_take_no_longer_than_others():
    """SciPy's trigamma counts up from a negative number, one by one."""
    x = np.array([-1e15, -3.0, 0.0, 2.0])
    with np.errstate(all="ignore"):
        found = {text: np.asarray(function(x), float) for text, function in FUNCTIONS.items()}
    assert np.isnan(found["trigamma({})"][:3]).all()
    assert found["trigamma({})"][3] == pytest.approx(np.pi**2 / 6 - 1)
