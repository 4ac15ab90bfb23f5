"""A single changed operation that makes a gradient right is found, with its line."""

import numpy as np
import pytest

from ibpcl.verify import check
from ibpcl.verify.repair import cache_names

RNG = np.random.default_rng(8)
POINT = (RNG.uniform(0.5, 1.5, (4, 3)), RNG.uniform(0.5, 1.5, (3, 3)), RNG.uniform(0.5, 1.5, 3))


def f(x, w, s):
    h = np.exp(-s * x) @ w
    return h, (x, w, s)


RIGHT = """
def vjp(dh, cache):
    x, w, s = cache
    e = np.exp(-s * x)
    de = dh @ w.T
    dx = -de * e * s
    dw = e.T @ dh
    ds = -(de * e * x).sum(axis=0)
    return dx, dw, ds
"""


def compiled(source):
    scope = {"np": np}
    exec(compile(source, "<planted>", "exec"), scope)
    return scope["vjp"]


@pytest.mark.parametrize(("right", "wrong", "name", "kinds"), [
    ("np.exp(-s * x)", "np.exp(s * x)", "w", {"sign"}),
    ("dh @ w.T", "dh @ w", "x", {"transposed"}),
    ("e.T @ dh", "e.T @ dh / 2", "w", {"constant_factor"}),
    ("-de * e * s", "-de * e / s", "x", {"elementwise_factor"}),
    ("-de * e * s", "-de * x * s", "x", {"elementwise_factor"}),
    ("-de * e * s", "-de * e", "x", {"elementwise_factor"}),
    ("-de * e * s", "-de * e * s + e", "x", {"missing_term"}),
    (".sum(axis=0)", ".sum(axis=1)[:3]", "s", {"wrong", "summed"}),
    (".sum(axis=0)", ".mean(axis=0)", "s", {"mean"}),
    ("(de * e * x)", "(de * e * x)[1:]", "s", {"shifted"}),
    ("(de * e * x)", "(de * e * (x + 1))", "s", {"missing_term", "elementwise_factor"}),
    ("(de * e * x)", "(e * x)", "s", {"elementwise_factor"}),
])
def test_mistakes_inside_a_gradient_are_named(right, wrong, name, kinds):
    assert check(f, compiled(RIGHT), POINT).ok
    assert RIGHT.count(right) == 1
    report = check(f, compiled(RIGHT.replace(right, wrong)), POINT)
    assert not report[name].ok
    assert report[name].kind in kinds


def unpacks(dout, cache):
    x, w, _ = cache
    return dout * x * w


def does_not_unpack(dout, kept):
    return dout * kept


def gives_it_a_name(dout, cache):
    noise = cache
    return dout * noise


def hands_it_on(dout, cache):
    return unpacks(2 * dout, cache)


def test_names_of_cached_values_are_read_from_the_source():
    assert cache_names(unpacks) == ["x", "w", "cache[2]"]
    assert cache_names(does_not_unpack) == "kept"
    assert cache_names(gives_it_a_name) == "noise"
    assert cache_names(hands_it_on) == ["x", "w", "cache[2]"]
    assert cache_names(compiled(RIGHT)) is None                    # no source to read
    assert cache_names(np.sin) is None


def test_a_gradient_that_cannot_be_recorded_is_still_judged():
    def stubborn(dout, cache):
        if type(dout) is not np.ndarray:
            raise TypeError("plain arrays only")
        return 3 * dout * np.cos(cache)

    report = check(lambda x: (np.sin(x), x), stubborn, (np.linspace(0.1, 1, 5),))
    assert report["x"].kind == "constant_factor"

    def stubborn_term(dout, cache):
        if type(dout) is not np.ndarray:
            raise TypeError("plain arrays only")
        return dout * np.cos(cache) * cache

    assert check(lambda x: (np.sin(x), x), stubborn_term, (np.linspace(0.1, 1, 5),))["x"].kind == "elementwise_factor"
