"""Gradients at the ends of the number range, in both types, against fifty digits."""

import mpmath
import numpy as np
import pytest

from ibpcl.primitives import bernoulli, concrete, kumaraswamy

TYPES = pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 3e-6), (np.float64, 3e-14)])


def close(found, exact, tolerance):
    assert found.dtype.type in (np.float32, np.float64)
    assert abs(mpmath.mpf(float(found)) - exact) <= tolerance * abs(exact), (float(found), float(exact))


def slope(x):
    """Return the derivative of the sigmoid."""
    return mpmath.exp(-abs(x)) / (1 + mpmath.exp(-abs(x))) ** 2


@TYPES
@pytest.mark.parametrize("logit", [-80.0, -40.0, -17.0, -1.0, 0.0, 1.0, 17.0, 40.0, 80.0])
def test_the_gradient_of_a_mask_that_rounds_to_one(dtype, tolerance, logit):
    one = np.ones((1, 1, 1), dtype)
    _, cache = concrete.sample(0 * one, logit * one, 1.0)
    close(concrete.sample_vjp(one, cache)[0, 0, 0], slope(logit), tolerance)


@TYPES
@pytest.mark.parametrize("logit", [-80.0, -40.0, -17.0, -1.0, 1.0, 17.0, 40.0, 80.0])
def test_the_gradient_of_a_divergence_whose_probability_rounds_to_one(dtype, tolerance, logit):
    one = np.ones((1, 1, 1), dtype)
    _, cache = bernoulli.kl(logit * one, 3 * one[0])
    close(bernoulli.kl_vjp(one[0, 0], cache)[0][0, 0, 0], slope(logit) * (logit - 3), tolerance)


@TYPES
@pytest.mark.parametrize("b", [1e-6, 1e-3, 0.5, 1.5, 7.0, 29.0, 31.0, 1e3, 1e5, 1e7, 1e9, 1e12])
@pytest.mark.parametrize("alpha", [1e-9, 0.3, 5.0])
def test_the_gradient_at_b_of_the_sticks_divergence(dtype, tolerance, b, alpha):
    a, b, alpha = (np.array([value], dtype) for value in (2.0, b, alpha))
    _, cache = kumaraswamy.kl_to_beta(a, b, alpha)
    with mpmath.workdps(50):
        exact_b, share = mpmath.mpf(float(b[0])), mpmath.mpf(float(alpha[0])) / 2
        exact = (1 - 1 / exact_b) / exact_b - (1 - share) * mpmath.polygamma(1, exact_b + 1)
        # Two terms of opposite sign are left; what matters is their size.
        size = abs(exact) + share / exact_b
        found = kumaraswamy.kl_to_beta_vjp(dtype(1), cache)[1][0]
        assert found.dtype == dtype and abs(mpmath.mpf(float(found)) - exact) <= tolerance * size
