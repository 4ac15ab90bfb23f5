"""Patches and pools against the reference, in value and gradient."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ibpcl.kernels import convolution, pooling, threads
from ibpcl.primitives import convolution as patches_reference
from ibpcl.primitives import pooling as pooling_reference

TOLERANCE = 1e-6  # float32; up to 25 gradients are added in another order

images = st.fixed_dictionaries(
    {
        "leading": st.sampled_from([(3,), (2, 3), (0, 2), (1, 1)]),
        "size": st.tuples(st.integers(1, 9), st.integers(1, 9)),
        "channels": st.sampled_from([0, 1, 2, 5, 17]),
        "seed": st.integers(0, 2**32 - 1),
    }
)


def image(leading, size, channels, seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((*leading, *size, channels)).astype(np.float32), rng


def compare(twin, reference, name, x, rng, *arguments):
    """Compare value and gradient of a twin with its reference; return the twin's gradient."""
    h, cache = getattr(twin, name)(x, *arguments)
    expected, expected_cache = getattr(reference, name)(x, *arguments)
    assert h.dtype == np.float32 and h.shape == expected.shape
    np.testing.assert_array_equal(h, expected)  # both copy, nothing is rounded
    dh = rng.standard_normal(h.shape).astype(np.float32)
    dx = getattr(twin, f"{name}_vjp")(dh, cache)
    exact = getattr(reference, f"{name}_vjp")(dh, expected_cache)
    assert dx.dtype == np.float32 and dx.shape == x.shape
    np.testing.assert_allclose(dx, exact, rtol=0, atol=25 * TOLERANCE)
    return dx


@given(images, st.integers(1, 5), st.integers(1, 5), st.integers(1, 4), st.integers(0, 6))
@settings(deadline=None, max_examples=150)
def test_patches_equal_the_reference(problem, height, width, stride, padding):
    x, rng = image(**problem)
    height = min(height, x.shape[-3] + 2 * padding)
    width = min(width, x.shape[-2] + 2 * padding)
    compare(convolution, patches_reference, "patches", x, rng, height, width, stride, padding)


@given(images, st.integers(1, 4), st.sampled_from([None, 1, 2, 5]))
@settings(deadline=None, max_examples=100)
def test_pools_equal_the_reference(problem, window, stride):
    x, rng = image(**problem)
    window = min(window, *x.shape[-3:-1])
    compare(pooling, pooling_reference, "max_pool2d", x, rng, window, stride)


def test_equal_pixels_and_nan_are_chosen_as_in_the_reference():
    x = np.zeros((1, 6, 6, 4), np.float32)
    x[0, 1::2, ::3, 1] = np.nan
    x[0, :, :, 2] = np.nan
    x[0, 2, 2, 3] = -np.inf
    dx = compare(pooling, pooling_reference, "max_pool2d", x, np.random.default_rng(0), 2)
    assert np.count_nonzero(dx[..., 0]) == 9


def test_a_window_may_be_the_whole_image():
    x, rng = image((2,), (17, 17), 3, 0)
    compare(pooling, pooling_reference, "max_pool2d", x, rng, 17)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_other_types_are_left_to_the_reference(dtype):
    x = np.random.default_rng(0).standard_normal((2, 5, 5, 2)).astype(dtype)
    rows, cache = convolution.patches(x, 3, 3, 2, 1)
    assert rows.dtype == dtype
    np.testing.assert_array_equal(rows, patches_reference.patches(x, 3, 3, 2, 1)[0])
    assert convolution.patches_vjp(rows, cache).dtype == dtype


@pytest.mark.parametrize("axes", [3, 6])
def test_impossible_images_are_refused(axes):
    with pytest.raises(ValueError, match="axes"):
        convolution.patches(np.zeros((4,) * axes, np.float32), 2, 2)
    with pytest.raises(ValueError, match="axes"):
        pooling.max_pool2d(np.zeros((4,) * axes, np.float32), 2)


@pytest.mark.parametrize("window", [0, 5])
def test_impossible_windows_are_refused(window):
    x = np.zeros((1, 4, 6, 1), np.float32)
    with pytest.raises(ValueError, match="in 1"):
        convolution.patches(x, window, 2)
    with pytest.raises(ValueError, match="in 1"):
        pooling.max_pool2d(x, window)


def test_the_same_bits_for_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(threads, "available", lambda: 64)
    x, _ = image((4, 30), (11, 12), 5, 1)
    found = []
    for count in (1, 2, 8):
        threads.set_count(count)
        rows, cache = convolution.patches(x, 3, 3, 1, 1)
        pooled, pool_cache = pooling.max_pool2d(x, 3, 2)
        found.append(
            [
                rows,
                convolution.patches_vjp(np.sin(rows), cache),
                pooled,
                pooling.max_pool2d_vjp(np.sin(pooled), pool_cache),
            ]
        )
    threads.set_count(None)
    for others in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0], others, strict=True))
