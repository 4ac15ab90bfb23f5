"""One mistake in several places is found as one."""

import numpy as np
import pytest

from ibpcl.verify import check

RNG = np.random.default_rng(9)


def power(x, a, b):
    return np.sum(b * x ** a, axis=0), (x, a, b)


def right(d, cache):
    x, a, b = cache
    return d * a * b * x ** (a - 1), d * (b * np.log(x) * x ** a).sum(axis=0), d * (x ** a).sum(axis=0)


def other_name(d, cache):
    x, a, b = cache
    return d * b * b * x ** (b - 1), d * (b * np.log(x) * x ** a).sum(axis=0), d * (x ** a).sum(axis=0)


def test_one_name_for_another_in_two_places():
    point = (RNG.uniform(0.5, 2, (4, 3)), RNG.uniform(0.5, 2, 3), RNG.uniform(0.5, 2, 3))
    assert check(power, right, point).ok
    report = check(power, other_name, point)
    assert [item.ok for item in report.inputs] == [False, True, True]
    assert report["x"].kind == "elementwise_factor"
    assert "`b` stands where `a` belongs, in " in report["x"].words
    assert "x ** (b - 1)" in report["x"].numbers["where"]


def pick(x, rows):
    return x ** 2 - x[np.arange(len(rows)), rows][:, None], (x, rows)


def pick_vjp(d, cache, shift=0):
    x, rows = cache
    dx = 2 * d * x
    dx[np.arange(len(rows)), rows - shift] -= d.sum(axis=1)
    return dx


@pytest.mark.parametrize(("shift", "words"), [(1, "it must be one larger"), (-1, "it must be one smaller")])
def test_an_index_one_off_where_it_is_read_and_written(shift, words):
    x, rows = RNG.uniform(0.5, 2, (5, 4)), np.array([1, 2, 1, 1, 2])
    assert check(pick, pick_vjp, (x, rows), wrt=("x",)).ok
    report = check(pick, lambda d, cache: pick_vjp(d, cache, shift), (x, rows), wrt=("x",))
    assert report["x"].kind == "shifted"
    assert words in report["x"].words
