"""Every hand-derived gradient of the primitives agrees with finite differences.

The differences are the ten lines of :func:`slope` below, not the package's own checker: a fault of
the checker can't hide one of a gradient.
"""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ibpcl.paper import pairs

PRIMITIVES = [pair for pair in pairs.documented_pairs() if not pair.name.startswith("kernels.")]
STEP = 1e-6


def as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


def total(f, inputs, dout):
    """Return the sum of all outputs, weighted by a cotangent: one number."""
    out, _ = f(*inputs.values())
    return sum(np.sum(weights * part) for weights, part in zip(dout, as_tuple(out), strict=True))


def slope(f, inputs, direction, dout):
    """Return the derivative of :func:`total` along a direction, by central differences."""
    ahead, behind = (
        {
            name: value + step * direction[name] if name in direction else value
            for name, value in inputs.items()
        }
        for step in (STEP, -STEP)
    )
    return (total(f, ahead, dout) - total(f, behind, dout)) / (2 * STEP)


def errors(pair, seed):
    """Return the error of each gradient along a random direction, relative to its entries."""
    rng = np.random.default_rng(seed)
    inputs = pairs.make_inputs(pair, rng)

    def f(*values):
        return pair.f(*values, **pair.choices)

    out, cache = f(*inputs.values())
    dout = tuple(rng.normal(size=np.shape(part)) for part in as_tuple(out))
    gradients = as_tuple(pair.f_vjp(dout if isinstance(out, tuple) else dout[0], cache))
    names = [name for name in inputs if name not in pairs.CONSTANT]
    found = {}
    for name, gradient in zip(names, gradients, strict=True):
        assert np.shape(gradient) == np.shape(inputs[name])
        signs = rng.choice([-1.0, 1.0], np.shape(inputs[name]))
        difference = np.sum(gradient * signs) - slope(f, inputs, {name: signs}, dout)
        found[name] = abs(difference) / (np.sum(np.abs(gradient)) + 1)
    return found


@pytest.mark.parametrize("pair", PRIMITIVES, ids=str)
@settings(max_examples=4)
@given(st.integers(0, 2**32 - 1))
@example(0)
def test_the_gradient_is_the_slope_of_the_forward(pair, seed):
    assert max(errors(pair, seed).values()) < 1e-6


@pytest.mark.parametrize("factor", [-1, 0.999])
def test_a_wrong_sign_or_factor_is_seen(factor):
    (pair,) = (pair for pair in PRIMITIVES if pair.name == "gaussian.kl")

    def wrong(dout, cache):
        first, *others = pair.f_vjp(dout, cache)
        return factor * first, *others

    first, *others = errors(pair._replace(f_vjp=wrong), 0).values()
    assert first > 1e-5 and max(others) < 1e-6
