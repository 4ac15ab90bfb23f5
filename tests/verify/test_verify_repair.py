"""A single changed operation that makes a gradient right is found, with its line."""

import numpy as np
import pytest
from scipy.special import digamma, polygamma

from ibpcl.verify import check
from ibpcl.verify.repair import Runner, cache_names

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


def psi(x, s):
    return digamma(s * x), (x, s)


def psi_vjp(dh, cache):
    """SciPy's function takes its argument out of the record: only what follows can be repeated."""
    x, s = cache
    slope = dh * polygamma(1, s * x)
    return slope * s, (slope * x).sum(axis=0)


def with_a_wrong_argument(dh, cache):
    x, s = cache
    slope = dh * polygamma(1, 2 * s * x)
    return slope * s, (slope * x).sum(axis=0)


def with_a_term_too_many(dh, cache):
    x, s = cache
    slope = dh * polygamma(1, s * x)
    return slope * s, (slope * x + slope * s).sum(axis=0)


@pytest.mark.parametrize(("wrong", "kind"), [(with_a_wrong_argument, "constant_factor"),
                                             (with_a_term_too_many, "missing_term")])
def test_mistakes_before_and_behind_what_cannot_be_recorded_are_named(wrong, kind):
    assert check(psi, psi_vjp, (POINT[0], POINT[2])).ok
    report = check(psi, wrong, (POINT[0], POINT[2]))
    assert report["s"].kind == kind


def with_a_power_too_many(dh, cache):
    x, s = cache
    slope = dh * polygamma(1, s * x) ** 1.37
    return slope * s, (slope * x).sum(axis=0)


def test_only_what_leads_to_something_unrecorded_is_run_in_full(monkeypatch):
    followed, runs = [], []
    record, run = Runner.record, Runner.run

    def recorded(self, t=0):
        recorder = record(self, t)
        followed.append([step.label for step in recorder.steps if step.index in self.followed])
        return recorder

    def counted(self, t, target=None, *rest, **options):
        runs.append(target)
        return run(self, t, target, *rest, **options)

    monkeypatch.setattr(Runner, "record", recorded)
    monkeypatch.setattr(Runner, "run", counted)
    assert not check(psi, with_a_power_too_many, (POINT[0], POINT[2])).ok
    assert len(followed[0]) >= 4
    assert "s * x" not in followed[0]
    assert runs.count(0) > 5 * max(runs.count(step) for step in range(1, 5))


def test_no_factor_is_tried_that_makes_a_result_huge():
    """SciPy's trigamma would count up from -1e9, one by one."""
    asked, far = [], np.full(3, -1e9)

    def f(x, s):
        return digamma(s * x), (x, s, far)

    def wrong(dh, cache):
        x, s, _ = cache
        argument = np.asarray(1.37 * (s * x) ** 1.1)
        asked.append(argument.min())
        slope = dh * polygamma(1, np.maximum(argument, -10))
        return slope * s, (slope * x).sum(axis=0)

    assert not check(f, wrong, (POINT[0], POINT[2])).ok
    assert min(asked) > -1e8
