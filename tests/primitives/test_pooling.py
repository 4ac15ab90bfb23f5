"""Pooling against plain loops, ties, and impossible windows; the residual sum."""

import numpy as np
import pytest

from ibpcl.primitives import pooling, residual

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("name", "reduce"), [("max", np.max), ("mean", np.mean)])
@pytest.mark.parametrize(("window", "stride"), [(1, 1), (2, None), (2, 1), (3, 2), (5, None)])
def test_a_pool_is_its_loop(name, reduce, window, stride):
    x = RNG.normal(size=(2, 3, 7, 5, 4))
    h, _ = getattr(pooling, f"{name}_pool2d")(x, window, stride)
    step = stride or window
    expected = np.empty((2, 3, (7 - window) // step + 1, (5 - window) // step + 1, 4))
    for p, q in np.ndindex(expected.shape[2:4]):
        cell = x[:, :, p * step : p * step + window, q * step : q * step + window]
        expected[:, :, p, q] = reduce(cell, axis=(2, 3))
    np.testing.assert_allclose(h, expected, rtol=0, atol=1e-14)


def test_the_global_mean_is_one_window():
    x = RNG.normal(size=(2, 3, 4, 4, 5))
    h, cache = pooling.global_mean_pool(x)
    one_window, window_cache = pooling.mean_pool2d(x, 4)
    np.testing.assert_allclose(h, one_window[:, :, 0, 0], rtol=0, atol=1e-14)
    dh = RNG.normal(size=h.shape)
    np.testing.assert_allclose(
        pooling.global_mean_pool_vjp(dh, cache),
        pooling.mean_pool2d_vjp(dh[:, :, None, None], window_cache),
        rtol=0,
        atol=1e-14,
    )


def test_among_equal_pixels_the_first_gets_the_gradient():
    x = np.array([[1.0, 3.0], [3.0, 3.0]]).reshape(1, 1, 2, 2, 1)
    _, cache = pooling.max_pool2d(x, 2)
    dx = pooling.max_pool2d_vjp(np.ones((1, 1, 1, 1, 1)), cache)
    np.testing.assert_array_equal(dx[0, 0, ..., 0], [[0, 1], [0, 0]])


def test_a_pixel_in_several_windows_collects_their_gradients():
    x = np.zeros((1, 1, 3, 3, 1))
    x[0, 0, 1, 1] = 1
    h, cache = pooling.max_pool2d(x, 2, 1)
    dx = pooling.max_pool2d_vjp(np.ones_like(h), cache)
    assert dx[0, 0, 1, 1, 0] == 4 and dx.sum() == 4


@pytest.mark.parametrize("pool", [pooling.max_pool2d, pooling.mean_pool2d])
def test_a_nan_is_not_hidden(pool):
    x = RNG.normal(size=(1, 1, 4, 4, 1))
    x[0, 0, 3, 0] = np.nan
    np.testing.assert_array_equal(np.isnan(pool(x, 2)[0])[0, 0, ..., 0], [[0, 0], [1, 0]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_pools_keep_the_ends_of_the_range(dtype, size):
    x = np.full((1, 1, 2, 2, 1), size, dtype)
    for pool in (pooling.max_pool2d, pooling.mean_pool2d):
        h, cache = pool(x, 2)
        assert h.item() == dtype(size)
        back = getattr(pooling, f"{pool.__name__}_vjp")(h, cache)
        assert back.dtype == dtype and back.sum() == pytest.approx(float(dtype(size)))


@pytest.mark.parametrize(
    ("shape", "window", "stride", "words"),
    [
        ((3, 4), 2, None, ("x", "(S, N, H, W, K)", "(3, 4)")),
        ((1, 1, 4, 5, 1), 5, None, ("window", "1 .. 4", "got 5")),
        ((1, 1, 4, 5, 1), 0, None, ("window", "1 .. 4", "got 0")),
        ((1, 1, 4, 5, 1), float("nan"), None, ("window", "whole number", "got nan")),
        ((1, 1, 4, 5, 1), 2, 0, ("stride", "at least 1", "got 0")),
    ],
)
def test_impossible_windows_are_named(shape, window, stride, words):
    for pool in (pooling.max_pool2d, pooling.mean_pool2d):
        with pytest.raises(ValueError, match="must") as raised:
            pool(np.zeros(shape), window, stride)
        assert all(word in str(raised.value) for word in words)


def test_a_residual_sum_is_its_input_or_the_usual_residual():
    h, f = RNG.normal(size=(2, 2, 3, 4))
    np.testing.assert_array_equal(residual.add(h, f, np.zeros(2))[0], h)
    y, cache = residual.add(h, f, np.ones(2))
    np.testing.assert_array_equal(y, h + f)
    dy = RNG.normal(size=y.shape)
    np.testing.assert_array_equal(residual.add_vjp(dy, cache)[0], dy)


def test_a_residual_sum_of_a_shared_input_sums_its_gradient():
    h, f, dy = (RNG.normal(size=shape) for shape in ((3, 4), (2, 3, 4), (2, 3, 4)))
    _, cache = residual.add(h, f, RNG.random(2))
    np.testing.assert_array_equal(residual.add_vjp(dy, cache)[0], dy.sum(axis=0))
