"""Hand-written gradients of PyTorch, JAX and autograd, where they are installed.

Each file is checked in a separate process, because a loaded framework changes how later tests can
start processes.
"""

import importlib.util
import json
import subprocess
import sys

import pytest

TORCH = """
import torch

class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        y = torch.exp(x)
        ctx.save_for_backward(y, w)
        return y * w

    @staticmethod
    def backward(ctx, grad):
        y, w = ctx.saved_tensors
        return FACTOR * grad * y * w, grad * y
"""
JAX = """
import jax

@jax.custom_vjp
def product(x, w):
    return jax.numpy.sin(x) * w

def product_fwd(x, w):
    return product(x, w), (x, w)

def product_bwd(kept, g):
    x, w = kept
    return FACTOR * g * jax.numpy.cos(x) * w, g * jax.numpy.sin(x)

product.defvjp(product_fwd, product_bwd)
"""
AUTOGRAD = """
from autograd.extend import defvjp, primitive

@primitive
def cube(x, w):
    return x ** 3 * w

defvjp(
    cube,
    lambda out, x, w: lambda g: FACTOR * 3 * g * x ** 2 * w,
    lambda out, x, w: lambda g: g * x ** 3,
)
"""


@pytest.mark.parametrize(
    ("library", "text", "name"),
    [("torch", TORCH, "Exp"), ("jax", JAX, "product"), ("autograd", AUTOGRAD, "cube")],
)
def test_a_function_of_a_framework_is_judged(tmp_path, library, text, name):
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    for factor, verdicts in (("1.0", {"x": "ok", "w": "ok"}), ("-1.0", {"x": "sign", "w": "ok"})):
        path = tmp_path / f"mine{factor[0] == '-'}.py"
        path.write_text(text.replace("FACTOR", factor), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "ibpcl", "check", "--json", str(path)],
            capture_output=True,
            text=True,
            check=False,
        )
        (check,) = json.loads(done.stdout)["checks"]
        assert check["name"].endswith(f":{name}")
        assert {item["name"]: item["kind"] for item in check["numbers"]["inputs"]} == verdicts
