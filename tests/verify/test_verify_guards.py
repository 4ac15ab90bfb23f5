"""Guards, casts and rounded constants are notes if they explain the error, and hide no mistake."""

import numpy as np
import pytest

from ibpcl.verify import check

X = np.random.default_rng(3).normal(size=(3, 4))
SMALL = 1e-7


def entropy(x):
    p = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    return -np.log(p[:, 0] + SMALL).sum(), p


def entropy_vjp(dout, p):
    dx = p.copy()
    dx[:, 0] -= 1
    return dout * dx


def density(x):
    return np.exp(-(x**2) / 2) / np.sqrt(2 * 3.14159), x


def density_vjp(dout, x):
    return -dout * x * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)


def single(x):
    return np.tanh(x).astype(np.float32), x


def single_vjp(dout, x):
    return dout * (1 - np.tanh(x) ** 2)


PAIRS = [
    (entropy, entropy_vjp, "1e-07"),
    (density, density_vjp, "3.14159"),
    (single, single_vjp, "float32"),
]


@pytest.mark.parametrize(("forward", "backward", "named"), PAIRS)
def test_guard_that_explains_the_error_is_a_note(forward, backward, named):
    report = check(forward, backward, (X,))
    assert report.ok, str(report)
    assert [habit["kind"] for habit in report.habits] == ["guard"]
    assert named in report.habits[0]["words"]
    assert "in line" in report.habits[0]["words"]


@pytest.mark.parametrize(("forward", "backward"), [pair[:2] for pair in PAIRS])
def test_guard_hides_no_mistake(forward, backward):
    assert check(forward, lambda d, c: -backward(d, c), (X,))["x"].verdict == "wrong"
    assert check(forward, lambda d, c: 1.01 * backward(d, c), (X,))["x"].verdict == "wrong"


def test_mistyped_constant_is_named():
    def backward(dout, x):
        return dout * 2.4178 * x

    report = check(lambda x: (1.2345 * x**2, x), backward, (X,))
    assert report["x"].kind == "constant_factor"
