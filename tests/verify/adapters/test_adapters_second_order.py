"""Jacobian-vector and Hessian-vector products, and their identities."""

import numpy as np
import pytest
from quick import quick

from ibpcl.verify.adapters.pair import Pair
from ibpcl.verify.adapters.product import hvp_pair, jvp_pair
from ibpcl.verify.check import check

RNG = np.random.default_rng(7)
X = RNG.normal(size=4)
A = RNG.normal(size=(4, 4))


def f(x, w):
    return np.tanh(x * w)


def f_jvp(x, w, dx, dw):
    return (1 - np.tanh(x * w) ** 2) * (w * dx + x * dw)


def f_vjp(dout, x, w):
    d = dout * (1 - np.tanh(x * w) ** 2)
    return d * w, d * x


POINT = {"x": X, "w": X[::-1] + 2}


def judge(pair):
    assert isinstance(pair, Pair)
    return check(pair)


def test_a_right_jvp_is_right():
    assert judge(jvp_pair(f, f_jvp, POINT)).ok


def test_a_wrong_jvp_names_its_input():
    report = judge(
        jvp_pair(f, lambda x, w, dx, dw: (1 - np.tanh(x * w) ** 2) * (w * dx - x * dw), POINT)
    )
    assert [item.kind for item in report.inputs] == ["ok", "sign"]


def test_a_jvp_with_a_cache():
    assert judge(
        jvp_pair(lambda x: (np.sin(x), {"x": x}), lambda dx, cache: np.cos(cache["x"]) * dx, X)
    ).ok


def energy(x):
    return 0.5 * x @ (A + A.T) @ x + np.sum(x**4)


def energy_grad(x):
    return (A + A.T) @ x + 4 * x**3


MISTAKES = {
    "right": lambda x, v: (A + A.T) @ v + 12 * x**2 * v,
    "a part of the symmetric matrix": lambda x, v: 2 * A @ v + 12 * x**2 * v,
    "a factor": lambda x, v: (A + A.T) @ v + 4 * x**2 * v,
    "the curvature forgotten": lambda x, v: (A + A.T) @ v,
    "a power": lambda x, v: (A + A.T) @ v + 12 * x * v,
    "a sign": lambda x, v: -((A + A.T) @ v + 12 * x**2 * v),
    "point and direction exchanged": lambda x, v: (A + A.T) @ v + 12 * v**2 * x,
}


@pytest.mark.parametrize(
    ("mistake", "gradient"),
    quick(
        [
            "right-gradient",
            "a sign-gradient",
            "the curvature forgotten-gradient",
            "a part of the symmetric matrix-complex step",
            "point and direction exchanged-gradient",
        ],
        [
            pytest.param(mistake, gradient, id=f"{mistake}-{way}")
            for mistake in MISTAKES
            for way, gradient in (("gradient", energy_grad), ("complex step", None))
        ],
        "both ways to the right product are there",
    ),
)
def test_planted_mistakes_of_second_order_are_caught(mistake, gradient):
    report = judge(hvp_pair(energy, MISTAKES[mistake], X, gradient))
    assert report.verdict == ("ok" if mistake == "right" else "wrong"), str(report)
