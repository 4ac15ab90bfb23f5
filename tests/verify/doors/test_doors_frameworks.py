"""Hand-written gradients of PyTorch, JAX and autograd, where they are installed."""

import numpy as np
import pytest

from ibpcl import check

X = np.random.default_rng(0).normal(size=(3, 2))


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "ok"), (2.0, "wrong")])
def test_a_function_of_torch(factor, verdict):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            y = torch.exp(x)
            ctx.save_for_backward(y, w)
            return y * w

        @staticmethod
        def backward(ctx, grad):
            y, w = ctx.saved_tensors
            return factor * grad * y * w, grad * y

    report = check(Exp, {"x": X, "w": X + 1})
    assert report.verdict == verdict and report["w"].ok


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "ok"), (-1.0, "wrong")])
def test_a_custom_vjp_of_jax(factor, verdict):
    jax = pytest.importorskip("jax", reason="JAX is not installed")

    @jax.custom_vjp
    def product(x, y):
        return jax.numpy.sin(x) * y

    product.defvjp(lambda x, y: (product(x, y), (x, y)),
                   lambda kept, g: (factor * g * jax.numpy.cos(kept[0]) * kept[1], g * jax.numpy.sin(kept[0])))
    report = check(product, (X, X + 1))
    assert report.verdict == verdict and report["y"].ok


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "ok"), (3.0, "wrong")])
def test_a_primitive_of_autograd(factor, verdict):
    extend = pytest.importorskip("autograd.extend", reason="autograd is not installed")

    @extend.primitive
    def cube(x):
        return x ** 3

    extend.defvjp(cube, lambda out, x: lambda g: factor * 3 * g * x ** 2)
    assert check(cube, X).verdict == verdict
