"""Texts of a small project whose tests are weak or strong."""

LAYERS = '''import numpy as np


def linear_forward(x, w):
    return x @ w, (x, w)


def linear_backward(dout, cache):
    x, w = cache
    return dout @ w.T, x.T @ dout
'''
WEAK = '''import numpy as np
from layers import linear_backward, linear_forward


def test_linear_backward_returns_the_right_shapes():
    x, w = np.ones((3, 3)), np.ones((3, 3))
    out, cache = linear_forward(x, w)
    dx, dw = linear_backward(np.ones((3, 3)), cache)
    assert dx.shape == x.shape and dw.shape == w.shape
'''
STRONG = '''import numpy as np
from layers import linear_backward, linear_forward


def slope(f, value, dout):
    found = np.zeros_like(value)
    for index in np.ndindex(value.shape):
        step = np.zeros_like(value)
        step[index] = 1e-5
        found[index] = np.sum(dout * (f(value + step) - f(value - step))) / 2e-5
    return found


def test_linear_backward_agrees_with_differences():
    rng = np.random.default_rng(0)
    x, w, dout = rng.normal(size=(4, 3)), rng.normal(size=(3, 2)), rng.normal(size=(4, 2))
    dx, dw = linear_backward(dout, linear_forward(x, w)[1])
    np.testing.assert_allclose(dx, slope(lambda x: linear_forward(x, w)[0], x, dout), atol=1e-7)
    np.testing.assert_allclose(dw, slope(lambda w: linear_forward(x, w)[0], w, dout), atol=1e-7)


def test_the_output_is_a_product():
    assert linear_forward(np.eye(2), np.eye(2))[0][0, 0] == 1
'''
