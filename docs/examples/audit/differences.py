"""The second version of the tests: a comparison with differences, at a random cotangent."""

import numpy as np
from normalization import batchnorm_backward, batchnorm_forward

STEP = 1e-6


def slope(f, value, dout):
    """Return the gradient of sum(dout * f(value)) by central differences."""
    found = np.zeros_like(value)
    for index in np.ndindex(value.shape):
        step = np.zeros_like(value)
        step[index] = STEP
        found[index] = np.sum(dout * (f(value + step) - f(value - step))) / (2 * STEP)
    return found


def test_the_gradients_agree_with_differences():
    """Compare at random inputs and a random cotangent."""
    rng = np.random.default_rng(2)
    inputs = {"x": rng.normal(size=(5, 3)), "gamma": rng.normal(size=3), "beta": rng.normal(size=3)}
    dout = rng.normal(size=(5, 3))
    _, cache = batchnorm_forward(**inputs)
    gradients = batchnorm_backward(dout, cache)
    for (name, value), gradient in zip(inputs.items(), gradients, strict=True):
        expected = slope(lambda v: batchnorm_forward(**{**inputs, name: v})[0], value, dout)  # noqa: B023
        np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-8)
