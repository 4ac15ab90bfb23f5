"""The elementary functions against 400-digit arithmetic, at the extremes, and through the complex
step.
"""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibpcl import numerics

mpmath.mp.dps = 400  # enough digits for 1 - e^-700

# name: (function, 400-digit oracle, arguments that include the extremes of the float range)
TINY = [5e-324, 1e-308, 1e-100, 1e-20, 1e-8, 1e-3]
REAL = [
    s * x
    for s in (-1, 1)
    for x in [*TINY, 0.1, 0.5, 0.6931471805599453, 0.7, 1.0, 2.5, 10.0, 36.7, 40.0, 700.0]
]
ONE_ARGUMENT = {
    "log1mexp": (
        lambda x: mpmath.log(-mpmath.expm1(x)),
        [-x for x in [*TINY, 0.1, 0.69, 0.7, 1.0, 30.0, 40.0, 700.0]],
    ),
    "softplus": (lambda x: mpmath.log1p(mpmath.exp(x)), [*REAL, 1e300, 1e5]),
    "inverse_softplus": (
        lambda y: mpmath.log(mpmath.expm1(y)),
        [*TINY, 0.1, 0.6931, 1.0, 30.0, 700.0, 1e300],
    ),
    "sigmoid": (lambda x: 1 / (1 + mpmath.exp(-x)), [*REAL, 1e300]),
    "log_sigmoid": (lambda x: -mpmath.log1p(mpmath.exp(-x)), [*REAL, -1e300]),
    "logit": (
        lambda p: mpmath.log(p) - mpmath.log1p(-p),
        [*TINY, 0.1, 0.25, 0.3, 0.5 - 1e-15, 0.5 + 1e-12, 0.7, 0.9, 1 - 1e-16],
    ),
    "expm1_rest": (
        lambda x: mpmath.expm1(x) - x,
        [
            s * x
            for s in (-1, 1)
            for x in (1e-100, 1e-8, 1e-4, 0.01, 0.3, 0.499, 0.5, 1.0, 40.0, 300.0)
        ],
    ),
    "log1p_rest": (
        lambda u: u - mpmath.log1p(u),
        [
            -0.999,
            -0.5,
            *(s * x for s in (-1, 1) for x in (1e-100, 1e-8, 1e-4, 0.01, 0.2, 0.249, 0.25)),
            1.0,
            40.0,
            1e300,
        ],
    ),
    "logistic_kl": (
        lambda d: d * mpmath.coth(d / 2) - 2,
        [
            s * x
            for s in (-1, 1)
            for x in (1e-8, 1e-4, 0.01, 0.0999999, 0.1, 0.11, 0.999, 1.0, 5.0, 40.0, 1e5)
        ],
    ),
}
# At the ends of the series the differences cancel: twelve-fold for d coth(d/2) - 2, five- and
# ninefold for the others.
TOLERANCE = {"logistic_kl": 1e-14, "expm1_rest": 2e-15, "log1p_rest": 3e-15}
CASES = [(name, x) for name, (_, xs) in ONE_ARGUMENT.items() for x in xs]


def relative_error(value, exact):
    return float(abs(mpmath.mpf(float(value)) - exact) / (abs(exact) if exact != 0 else 1))


@pytest.mark.parametrize(("name", "x"), CASES)
def test_one_argument_functions_match_mpmath(name, x):
    exact = ONE_ARGUMENT[name][0](mpmath.mpf(x))
    # the result itself underflows to a subnormal
    if abs(exact) < 1e-307:
        assert abs(float(getattr(numerics, name)(x)) - float(exact)) <= 1e-307
    else:
        # Near a zero of the function at x != 0, rounding x already changes the result this much.
        conditioning = abs(x) * 1.2e-16 / abs(float(exact)) if name == "inverse_softplus" else 0.0
        assert (
            relative_error(getattr(numerics, name)(x), exact)
            < TOLERANCE.get(name, 6e-16) + 2 * conditioning
        )


@pytest.mark.parametrize("a", [1e-10, 0.3, 1.0, 7.5, 9.99, 10.0, 31.0, 1e4, 1e10])
@pytest.mark.parametrize("b", [1e-10, 1e-3, 1.0, 2.0, 9.5, 10.5, 200.0, 1e6, 1e12])
def test_log_beta_matches_mpmath(a, b):
    exact = mpmath.log(mpmath.beta(mpmath.mpf(a), mpmath.mpf(b)))
    assert abs(float(numerics.log_beta(a, b)) - float(exact)) <= 1e-13 * max(1.0, abs(float(exact)))


@pytest.mark.parametrize("name", ONE_ARGUMENT)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_the_type_is_preserved(name, dtype):
    x = np.array([-0.7, -0.2]) if name == "log1mexp" else np.array([0.2, 0.7])
    assert getattr(numerics, name)(x.astype(dtype)).dtype == dtype
    assert (
        numerics.log_beta(np.array([0.2, 0.7], dtype), np.array([3.0, 14.0], dtype)).dtype == dtype
    )
    assert numerics.logsumexp(x.astype(dtype)).dtype == dtype


@given(st.floats(1e-3, 30.0), st.sampled_from(sorted(ONE_ARGUMENT)))
def test_the_complex_step_gives_the_derivative(x, name):
    x = {"log1mexp": -x, "logit": 1 / (1 + x)}.get(name, x)
    by_step = getattr(numerics, name)(np.complex128(x + 1e-30j)).imag / 1e-30
    by_mpmath = float(mpmath.diff(ONE_ARGUMENT[name][0], mpmath.mpf(x)))
    assert by_step == pytest.approx(by_mpmath, rel=1e-11)


@given(st.floats(0.01, 50.0), st.floats(0.01, 50.0))
def test_the_complex_step_passes_through_log_beta(a, b):
    by_step = numerics.log_beta(np.complex128(a + 1e-30j), np.complex128(b)).imag / 1e-30
    assert by_step == pytest.approx(
        float(mpmath.digamma(a) - mpmath.digamma(a + b)), rel=1e-10, abs=1e-12
    )


@pytest.mark.parametrize("shift", [0.0, 1e4, -1e4])
def test_logsumexp_is_shift_equivariant_and_matches_scipy(shift):
    from scipy.special import logsumexp

    x = np.random.default_rng(0).normal(size=(4, 5, 3)) * 20
    for axis in (None, 0, -1, (0, 2)):
        np.testing.assert_allclose(
            numerics.logsumexp(x + shift, axis), logsumexp(x, axis) + shift, rtol=1e-12
        )
        assert (
            numerics.logsumexp(x, axis, keepdims=True).shape == np.sum(x, axis, keepdims=True).shape
        )


def test_integers_are_not_truncated():
    """Arrays of integers, as a user may write them, are not truncated."""
    for name, x in (
        ("logistic_kl", 2),
        ("log1mexp", -2),
        ("softplus", 2),
        ("sigmoid", -2),
        ("inverse_softplus", 3),
    ):
        function = getattr(numerics, name)
        assert function(np.array([x])) == function(np.array([float(x)])), name
    assert numerics.log_beta(30, 3) == numerics.log_beta(30.0, 3.0)
    assert numerics.logsumexp(np.array([1000, 1000])) == numerics.logsumexp(
        np.array([1000.0, 1000.0])
    )


def test_edges_are_the_limits():
    assert numerics.log1mexp(0.0) == -np.inf
    assert np.isnan(numerics.log1mexp(1.0))
    assert numerics.logit(0.0) == -np.inf
    assert numerics.logit(1.0) == np.inf
    assert numerics.logsumexp(np.array([-np.inf, -np.inf])) == -np.inf
    assert numerics.softplus(np.float32(-200.0)) == 0
    assert numerics.sigmoid(np.float32(200.0)) == 1
