"""A recorded run, repeated on plain arrays, gives what the code gives; where it cannot, it says so."""

import numpy as np
import pytest

from ibpcl.verify import check
from ibpcl.verify.problem import as_tuple
from ibpcl.verify.replay import Program
from ibpcl.verify.trace import Recorder, wrap

RNG = np.random.default_rng(12)
X, A = RNG.uniform(0.5, 1.5, (3, 4)), RNG.uniform(0.5, 1.5, 4)


def smooth(x, a):
    e = np.exp(-x * a)
    return e @ x.T, (e * a).sum(axis=0), np.where(x > a, x, e)


def reshaped(x, a):
    rows = x.reshape(12, 1).copy()
    return rows * rows.astype(float), np.stack([x[0], a]).mean(axis=0), x.real + a


def written(x, a):
    y = np.zeros((3, 4))
    y[1:] = x[1:] * a
    return (y,)


def placed(x, a):
    y = np.zeros((3, 4))
    np.put_along_axis(y, np.zeros((1, 4), int), (x * a)[:1], axis=0)
    return (y + x,)


def record(function, more=()):
    recorder = Recorder(more=more)
    return recorder, as_tuple(function(*wrap((X, A), recorder, names=["x", "a"])))


def doubled(compute, operands, options, recorder):
    return 2 * compute(*operands, **options)


@pytest.mark.parametrize("function", [smooth, reshaped])
def test_a_repeated_run_is_the_run_with_the_same_change(function):
    recorder, outputs = record(function)
    program = Program(recorder, outputs)
    assert program.valid
    for index in range(len(recorder.steps)):
        _, changed = record(function, [(index, doubled)])
        for one, other in zip(program.run({index: doubled}), changed, strict=True):
            np.testing.assert_array_equal(one, np.asarray(other))


def test_several_changes_act_together_and_none_is_remembered():
    recorder, outputs = record(smooth)
    program = Program(recorder, outputs)
    changes = {0: doubled, 3: doubled}
    _, changed = record(smooth, changes.items())
    for _ in range(2):
        for one, other in zip(program.run(changes), changed, strict=True):
            np.testing.assert_array_equal(one, np.asarray(other))


def test_values_that_are_placed_in_arrays_cannot_be_repeated():
    assert not Program(*record(placed)).valid


def test_a_mistake_is_found_where_values_leave_the_record():
    def f(x, a):
        return written(x, a)[0], (x, a)

    def vjp(d, cache):
        x, a = cache
        dx = np.zeros((3, 4))
        dx[1:] = d[1:] * np.sqrt(a)
        return dx, (d * x)[1:].sum(axis=0)

    report = check(f, vjp, (X, A))
    assert report["a"].ok
    assert report["x"].kind == "elementwise_factor"
    assert "`sqrt(a)`" in report["x"].words
