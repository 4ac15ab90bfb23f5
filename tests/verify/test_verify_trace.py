"""Recording arrays compute what plain arrays compute, and a changed operation changes only itself."""

from typing import NamedTuple

import numpy as np
import pytest

from ibpcl.verify.labels import bracketed
from ibpcl.verify.trace import Recorder, Traced, wrap

X = np.random.default_rng(5).standard_normal((3, 4))

FUNCTIONS = [
    lambda x: np.exp(x) * 2 - x / 3, lambda x: x.sum(axis=0), lambda x: x.mean(), lambda x: (x @ x.T).T,
    lambda x: np.where(x > 0, x, 0.1 * x), lambda x: np.cumsum(x, axis=1)[:, ::-1],
    lambda x: x.max(axis=1, keepdims=True),
    lambda x: np.einsum("ij,kj->ik", x, x), lambda x: np.concatenate([x, -x]), lambda x: x[1:, None] + x[0],
    lambda x: np.linalg.norm(x), lambda x: x.reshape(4, 3).dot(x), lambda x: np.add.reduce(x, axis=1),
    lambda x: np.take_along_axis(x, np.argmax(x, axis=1)[:, None], axis=1), lambda x: x.copy().astype(float) ** 2,
    lambda x: float(x.sum()) * np.ones(2), lambda x: np.swapaxes(x, 0, 1) * x.T, lambda x: np.stack([x, x]).std(axis=0),
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_recording_changes_no_number(function):
    recorder = Recorder()
    assert np.array_equal(np.asarray(function(recorder.root(X, "x"))), function(X))


def in_place(x):
    y = np.zeros_like(x)
    y[1] = x[1] * 2
    y += x
    y[:, 0] -= 1
    np.multiply(y, 2, out=y)
    return y


def test_writing_in_place_changes_no_number_and_no_input():
    before = X.copy()
    assert np.array_equal(np.asarray(in_place(Recorder().root(X, "x"))), in_place(X))
    assert np.array_equal(X, before)


def test_steps_are_named_and_lie_on_their_lines():
    recorder = Recorder()
    x, a = recorder.root(X, "x"), recorder.root(np.ones(4), "a")
    np.exp(x - a).sum(axis=0)
    assert [step.label for step in recorder.steps] == ["x - a", "exp(x - a)", "sum(exp(x - a), axis=0)"]
    assert all("np.exp(x - a).sum(axis=0)" in step.line for step in recorder.steps)


def test_one_operation_is_changed_and_the_rest_follows():
    recorder = Recorder(target=0, change=lambda compute, operands, options, r: -compute(*operands, **options))
    x = recorder.root(X, "x")
    assert np.array_equal(np.asarray(np.exp(x * 2) + x), np.exp(-2 * X) + X)


class Pair(NamedTuple):
    first: np.ndarray
    second: float


def test_caches_of_every_form_are_wrapped_and_named():
    recorder = Recorder()
    cache = wrap((X, 0.5, 3, "word", {"k": X}, Pair(X, 2.0), [X]), recorder,
                 names=["x", "tau", "n", "t", "d", "p", "l"])
    assert isinstance(cache[0], Traced)
    assert cache[2] == 3
    assert type(cache[2]) is int
    assert cache[3] == "word"
    assert isinstance(cache[5], Pair)
    assert set(recorder.roots) == {"x", "tau", "d['k']", "first", "second", "l[0]"}
    assert float(cache[1] * 2) == 1.0


@pytest.mark.parametrize(("label", "bracket"), [
    ("x", "x"), ("exp(x + 1)", "exp(x + 1)"), ("x + 1", "(x + 1)"), ("f(x) * g(y)", "(f(x) * g(y))"), ("-x", "(-x)"),
])
def test_brackets_only_where_needed(label, bracket):
    assert bracketed(label) == bracket
