"""State of objects between steps, and shapes with axes of length one: wrong twins are never ok."""

import pytest

from ibpcl.verify.running.checking import results_here
from ibpcl.verify.running.user import Request

MOMENTUM = """
import numpy as np
class Linear:
    def __init__(self, n_in, n_out):
        self.w = np.random.default_rng(0).normal(size=(n_in, n_out))
        self.V_dw = np.zeros((n_in, n_out))
    def forward(self, x):
        self.x = x
        return x @ self.w
    def backward(self, dout, learning_rate=0.1):
        dx = dout @ self.w.T
        self.V_dw = 0.9 * self.V_dw + self.x.T @ dout {change}
        self.w -= learning_rate * self.V_dw
        return dx
"""
NORM = """
import numpy as np
class BatchNorm1d:
    def __init__(self, n):
        self.gamma = np.ones((1, n))
    def forward(self, x):
        self.n = x.shape[0]
        self.d = x - np.mean(x, axis=0)
        self.s = np.sqrt(np.mean(self.d**2, axis=0) + 1e-8)
        return self.gamma * self.d / self.s
    def backward(self, dout):
        self.dgamma = np.sum(dout * self.d / self.s, axis=0, keepdims=True)
        g = dout * self.gamma / self.s
        dv = np.sum(g * self.d / self.s**2, axis=0).reshape(1, -1) / self.n
        return g - np.mean(g, axis=0).reshape(1, -1) {sign} self.d * dv
"""


LATE = """
import numpy as np
class Linear:
    def __init__(self):
        self.w = np.random.default_rng(0).normal(size=(4, 3))
    def forward(self, x):
        self.x = x
        return x @ self.w
    def backward(self, pre_grad=None):
        self.dw = self.x.T @ pre_grad {change}
        return pre_grad @ self.w.T
"""
ROW = """
import numpy as np
def affine_forward(x, w, b):
    return x @ w + b, (x, w)
def affine_backward(dout, cache):
    x, w = cache
    return dout @ w.T, x.T @ dout, {sign} dout.sum(axis=0, keepdims=True)
"""


@pytest.mark.parametrize(
    ("source", "verdict"),
    [
        (MOMENTUM.format(change=""), "ok"),
        (MOMENTUM.format(change="* 2"), "wrong"),
        (NORM.format(sign="-"), "ok"),
        (NORM.format(sign="+"), "wrong"),
        (LATE.format(change=""), "ok"),
        (LATE.format(change="* 2"), "wrong"),
        (ROW.format(sign=""), "ok"),
        (ROW.format(sign="-"), "wrong"),
    ],
)
def test_habits_of_layers_are_read_and_their_wrong_twins_are_not_right(tmp_path, source, verdict):
    path = tmp_path / "mine.py"
    path.write_text(source, encoding="utf-8")
    assert [item.verdict for item in results_here(Request(str(path)))] == [verdict]


SWISH = """
import numpy as np
def swish_forward(x, alpha):
    s = 1 / (1 + np.exp(-alpha * x))
    return x * s, (x, alpha, s)
def swish_backward(dout, cache):
    x, alpha, s = cache
    dalpha = np.sum(dout * x**2 * s * (1 - s), axis=0)
    return dout * (s + alpha * x * s * (1 - s)), {dalpha}
"""


@pytest.mark.parametrize(("dalpha", "verdict"), [("dalpha", "ok"), ("np.roll(dalpha, 1)", "wrong")])
def test_the_shape_of_a_returned_gradient_tells_that_of_its_input(tmp_path, dalpha, verdict):
    path = tmp_path / "mine.py"
    path.write_text(SWISH.format(dalpha=dalpha), encoding="utf-8")
    [found] = results_here(Request(str(path)))
    assert found.verdict == verdict and "alpha (4,)" in str(found.report)
