"""Proximal operators: the optimality condition, and cases with a closed form."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ibpcl.primitives.proximal import group_shrink, soft_threshold

SHAPE = (5, 4)
SEEDS = st.integers(0, 2**32 - 1)


def drawn(seed, count=2):
    """Points and thresholds of very different sizes, some of them 0."""
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-3, 2, (count, 1, SHAPE[1]))
    zeros = rng.choice([0.0, 0.3, 0.9])
    values = rng.normal(size=(count, *SHAPE)) * scale * (rng.random((count, *SHAPE)) >= zeros)
    values[1:] = np.abs(values[1:])
    return values


def lengths(w):
    return np.sqrt((w * w).sum(axis=0))


def is_optimal(w, v, threshold):
    """The subgradient of the group lasso at w cancels the gradient of the squared distance to v."""
    r = lengths(w)
    alive = r > 0
    residual = (w - v + threshold * w / np.where(alive, r, 1))[:, alive]
    np.testing.assert_allclose(residual, 0, atol=1e-9 * (1 + np.abs(v).max() + threshold.max()))
    dead_v = v[:, ~alive]
    dead_t = threshold[:, ~alive]
    # an element with threshold 0 cannot become 0
    np.testing.assert_array_equal(dead_v[dead_t == 0], 0)
    inverse = np.divide(dead_v, dead_t, out=np.zeros_like(dead_v), where=dead_t > 0)
    assert ((inverse * inverse).sum(axis=0) <= 1 + 1e-9).all()


@given(SEEDS)
def test_soft_threshold_is_optimal(seed):
    v, threshold = drawn(seed)
    w = soft_threshold(v, threshold)
    on = w != 0
    np.testing.assert_allclose((w - v + threshold * np.sign(w))[on], 0, atol=1e-12)
    assert (np.abs(v) <= threshold)[~on].all()


@given(SEEDS)
def test_group_shrink_is_optimal(seed):
    v, threshold = drawn(seed)
    is_optimal(group_shrink(v, threshold), v, threshold)


@settings(max_examples=30)
@given(SEEDS, st.floats(0, 3))
def test_both_operators_in_sequence_are_the_joint_operator(seed, single):
    """In any direction, the sum of both penalties and the squared distance increases."""
    v, sizes = drawn(seed)
    sizes = sizes + 0.1
    w = group_shrink(soft_threshold(v, single * sizes), 1.7 * sizes)

    def objective(w):
        return single * np.abs(w).sum() + 1.7 * lengths(w).sum() + ((w - v) ** 2 / sizes).sum() / 2

    rng = np.random.default_rng(seed)
    for scale in (1e-4, 1e-2, 1.0):
        for other in (
            w + rng.normal(scale=scale, size=SHAPE),
            w + scale * (v - w),
            w * (1 - scale),
        ):
            assert objective(w) <= objective(other) + 1e-9 * (1 + objective(w))


@given(SEEDS, st.floats(0, 30))
def test_with_one_threshold_the_length_decreases_by_it(seed, threshold):
    v, _ = drawn(seed)
    w = group_shrink(v, np.full(SHAPE, threshold))
    np.testing.assert_allclose(lengths(w), np.maximum(lengths(v) - threshold, 0), atol=1e-9)


@given(SEEDS)
def test_the_operators_do_not_expand_distances(seed):
    """A proximal operator does not expand, in the metric of its step sizes."""
    v, threshold, step = drawn(seed, 3)
    threshold = threshold + 0.1
    other = v - step
    apart = ((group_shrink(v, threshold) - group_shrink(other, threshold)) ** 2 / threshold).sum()
    assert apart <= ((v - other) ** 2 / threshold).sum() * (1 + 1e-9)


def test_thresholds_may_differ_by_many_orders():
    v = np.array([[1.0], [0.5]])
    threshold = np.array([[1e-13], [2.0]])
    expected = group_shrink(v, threshold)
    np.testing.assert_allclose(expected, [[1], [1 / 6]], rtol=0.02)  # r is near 1
    np.testing.assert_allclose(
        group_shrink(v.astype(np.float32), threshold.astype(np.float32)), expected, rtol=1e-6
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_without_thresholds_nothing_changes_bit_for_bit(dtype):
    v = np.random.default_rng(0).normal(size=(6, 3)).astype(dtype)
    for f in (soft_threshold, group_shrink):
        w = f(v, np.zeros_like(v))
        assert w.dtype == dtype
        np.testing.assert_array_equal(w, v)
    assert group_shrink(v[:, :0], v[:, :0]).shape == (6, 0)
