"""The first version of the tests: plausible, and nearly blind."""

import numpy as np
from normalization import batchnorm_backward, batchnorm_forward


def test_the_gradients_have_the_shapes_of_the_inputs():
    """Look at the shapes only."""
    x = np.random.default_rng(0).normal(size=(6, 3))
    out, cache = batchnorm_forward(x, np.ones(3), np.zeros(3))
    dx, dgamma, dbeta = batchnorm_backward(np.ones_like(out), cache)
    assert dx.shape == x.shape and dgamma.shape == dbeta.shape == (3,)


def test_a_constant_upstream_gradient_gives_zero():
    """Use the cotangent one, for which the gradients are known."""
    x = np.random.default_rng(1).normal(size=(6, 3))
    out, cache = batchnorm_forward(x, np.ones(3), np.zeros(3))
    dx, dgamma, dbeta = batchnorm_backward(np.ones_like(out), cache)
    np.testing.assert_allclose(dx, 0, atol=1e-12)
    np.testing.assert_allclose(dgamma, 0, atol=1e-12)
    np.testing.assert_allclose(dbeta, 6)
