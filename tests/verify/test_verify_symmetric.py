"""Gradients of symmetric matrices if the forward reads one triangle only."""

import doctest

import numpy as np
import pytest

from ibpcl.verify import check
from ibpcl.verify.derivative import symmetric

RNG = np.random.default_rng(5)
B = RNG.standard_normal((4, 4))
S = B @ B.T + np.eye(4)
Y = RNG.standard_normal(4)


def likelihood(s, y):
    """Return minus the log density of a Gaussian with covariance ``s``.

    ``np.linalg.cholesky`` reads the lower triangle of ``s`` only.
    """
    factor = np.linalg.cholesky(s)
    z = np.linalg.solve(factor, y)
    return z @ z / 2 + np.log(np.diag(factor)).sum(), (s, y)


def symmetric_vjp(dout, cache, sign=1.0, factor=0.5):
    s, y = cache
    inverse = np.linalg.inv(s)
    a = inverse @ y
    return dout * factor * (inverse - sign * np.outer(a, a)), dout * a


def triangular_vjp(dout, cache):
    ds, dy = symmetric_vjp(dout, cache)
    return np.tril(2 * ds) - np.diag(np.diag(ds)), dy


def test_symmetric_gradient_is_right_and_noted():
    report = check(likelihood, symmetric_vjp, (S, Y))
    assert report.ok, str(report)
    assert any("s is symmetric" in note and "lower triangle" in note for note in report.notes)


def test_constant_covariance_stays_symmetric_at_second_point():
    report = check(
        likelihood, lambda dout, cache: symmetric_vjp(dout, cache)[1], (S, Y), wrt=("y",)
    )
    assert report.ok, str(report)


def test_ill_conditioned_covariance_raises_no_alarm():
    q, _ = np.linalg.qr(B)
    s = q @ np.diag([1, 0.5, 0.1, 1e-7]) @ q.T
    s = (s + s.T) / 2
    report = check(likelihood, symmetric_vjp, (s, np.linalg.cholesky(s) @ np.ones(4)))
    assert report.verdict != "wrong", str(report)


def test_gradient_by_entries_is_right():
    # at the second point s is not symmetric, and only this gradient is right
    def mirrored_first(s, y):
        return likelihood(np.tril(s) + np.tril(s, -1).T, y)

    report = check(mirrored_first, lambda dout, cache: triangular_vjp(dout, cache), (S, Y))
    assert report.ok, str(report)
    assert not any("symmetric changes" in note for note in report.notes)


@pytest.mark.parametrize(
    ("options", "kind"), [({"factor": 1.0}, "constant_factor"), ({"sign": -1.0}, None)]
)
def test_wrong_symmetric_gradient_is_caught(options, kind):
    verdict = check(likelihood, lambda dout, cache: symmetric_vjp(dout, cache, **options), (S, Y))[
        "s"
    ]
    assert verdict.verdict == "wrong"
    assert kind in (None, verdict.kind)


def test_symmetrized_gradient_is_wrong_if_all_entries_are_read():
    weights = RNG.standard_normal((4, 4))
    report = check(
        lambda s: ((weights * s).sum(), None),
        lambda dout, cache: dout * (weights + weights.T) / 2,
        (S,),
    )
    assert report.verdict == "wrong"


def test_doctests():
    assert doctest.testmod(symmetric).failed == 0
