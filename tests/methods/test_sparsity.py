"""Nonsmooth penalties under Adam: its step sizes, and the minimum of the penalized loss."""

import numpy as np
import pytest

from ibpcl import adam
from ibpcl.inference.backend import backend
from ibpcl.methods.den import Sparsity
from ibpcl.primitives.proximal import soft_threshold


@pytest.mark.parametrize("name", ["numpy", "numba"])
def test_step_sizes_are_those_of_adam(name):
    """Its step is the size times the running mean: so the constants are the same in both places."""
    rng = np.random.default_rng(0)
    w = rng.normal(size=7).astype(np.float32)
    rates = np.float32(0.01) * np.arange(7, dtype=np.float32)
    state = adam.start(w)
    for _ in range(3):
        before = w
        w, state = backend(name).adam.update(w, rng.normal(size=7).astype(np.float32), state, rates)
    mean = state.first / (1 - 0.9**state.step)
    np.testing.assert_allclose(
        before - w, adam.step_sizes(state, rates) * mean, rtol=1e-4, atol=1e-7
    )
    assert adam.step_sizes(state, rates)[0] == 0


def test_it_minimizes_the_loss_with_its_penalties():
    """Weights of very different curvature: (h / 2) (w - c)^2 + l |w| has its minimum at a known
    place.
    """
    curvature = np.array([0.01, 1.0, 100.0, 1.0, 5.0])
    centre = np.array([2.0, -1.0, 0.5, 0.1, 0.0])
    kinks = Sparsity(np.full(5, 0.2))
    w = np.ones(5)
    state = adam.start(w)
    steps = 3000
    for i in range(steps):
        rates = np.full(5, 0.02 * 0.001 ** (i / steps))
        w, state = adam.update(w, curvature * (w - centre), state, rates)
        w = kinks.shrink(w, adam.step_sizes(state, rates))
    expected = soft_threshold(centre, 0.2 / curvature)
    np.testing.assert_allclose(w, expected, atol=2e-3)
    np.testing.assert_array_equal(w == 0, expected == 0)


def test_a_group_whose_gradient_is_short_goes_away_and_another_stays():
    """The optimality condition of the group lasso: a group is 0 where the loss pulls with less than
    its weight.
    """
    groups = (np.array([[0, 2], [1, 3]]),)
    kinks = Sparsity(np.zeros(4), groups, 0.5)
    target = np.array([0.3, 0.3, 0.9, -1.2])
    w = np.ones(4)
    state = adam.start(np.ones(4))
    for i in range(800):
        rates = np.full(4, 0.1 * 0.001 ** (i / 800))
        w, state = adam.update(w, w - target, state, rates)
        w = kinks.shrink(w, adam.step_sizes(state, rates))
    assert (w[:2] == 0).all()  # |target| = 0.42 < 0.5
    np.testing.assert_allclose(w[2:], target[2:] * (1 - 0.5 / 1.5), atol=2e-3)


def test_the_value_is_what_is_penalized():
    kinks = Sparsity(np.array([1.0, 0.0, 2.0]), (np.array([[0], [1]]),), 10.0)
    assert kinks.value(np.array([3.0, 4.0, -1.0])) == pytest.approx(3 + 2 + 50)
    assert (
        not kinks.is_zero
        and Sparsity(np.zeros(3)).is_zero
        and Sparsity(np.zeros(3), kinks.groups).is_zero
    )
