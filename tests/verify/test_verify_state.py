"""What makes a pair unfit to be judged is named instead of the gradient."""

import numpy as np
import pytest

from ibpcl.verify import check
from ibpcl.verify.state import same_bits

X = np.array([0.3, -0.7, 1.1])


def kinds(forward, backward, point=(X,)):
    report = check(forward, backward, point)
    assert not report.ok
    assert report.score == 0
    return [problem["kind"] for problem in report.problems]


def test_a_forward_that_draws_is_told_so():
    rng = np.random.default_rng(0)
    report = check(lambda x: (x * rng.standard_normal(3), x), lambda d, x: d, (X,))
    assert "your forward draws random numbers" in report.text()
    assert [problem["kind"] for problem in report.problems] == ["noisy_forward"]


def test_noise_of_a_single_bit_is_noise():
    calls = []

    def forward(x):
        calls.append(1)
        return x * (1 + 1e-16 * len(calls) * 4), x

    assert kinds(forward, lambda d, x: d) == ["noisy_forward"]


def test_noise_in_the_gradient_is_told():
    rng = np.random.default_rng(0)
    assert "noisy_gradient" in kinds(lambda x: (2 * x, x), lambda d, x: 2 * d * (1 + 1e-12 * rng.random()), (X,))


def test_a_forward_that_is_not_finite_is_told():
    with np.errstate(all="ignore"):
        assert kinds(lambda x: (np.log(x), x), lambda d, x: d / x) == ["non_finite_forward"]


def test_overwriting_arguments_is_told():
    def into_dout(dout, x):
        dout *= 2
        return dout

    def into_input(x):
        x += 0.0
        x[0] = x[0] + 1.0
        return 2 * x, x

    assert kinds(lambda x: (2 * x, x), into_dout) == ["changes_cotangent"]
    assert "changes_input" in kinds(into_input, lambda d, x: 2 * d)


@pytest.mark.parametrize(("a", "b", "same"), [
    (np.array([1.0, np.nan]), np.array([1.0, np.nan]), True), (np.ones(2), np.ones(3), False),
    (np.ones(2), np.ones(2, dtype=np.float32), False), (np.ones(1), np.ones(1) + 2.3e-16, False),
])
def test_same_bits(a, b, same):
    assert same_bits(a, b) is same
