"""Patches, pools, and convolutions with pools against the reference, in value and gradient."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ibpcl.kernels import convolution, pooled_convolution, pooling, threads
from ibpcl.primitives import convolution as patches_reference
from ibpcl.primitives import pooled_convolution as pooled_reference
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


def compare_pooled(x, w, b, rng, *arguments):
    """Compare a convolution with its pool.  All numbers are small integers, so sums are exact."""
    h, cache = pooled_convolution.apply(x, w, b, *arguments)
    expected, expected_cache = pooled_reference.apply(x, w, b, *arguments)
    assert h.dtype == np.float32 and h.shape == expected.shape
    # leaky ReLU rounds, and NumPy's tanh has other last digits than itself in other layouts
    np.testing.assert_allclose(h, expected, rtol=TOLERANCE, atol=TOLERANCE)
    dh = rng.integers(-3, 4, h.shape).astype(np.float32)
    gradients = pooled_convolution.apply_vjp(dh, cache)
    exact = pooled_reference.apply_vjp(dh, expected_cache)
    for one, other in zip(gradients, exact, strict=True):
        assert one.dtype == np.float32 and one.shape == other.shape
        scale = np.abs(other).max(initial=1)
        np.testing.assert_allclose(one / scale, other / scale, rtol=0, atol=25 * TOLERANCE)
    no_dx, *rest = pooled_convolution.apply_vjp(dh, cache, False)
    assert no_dx is None
    assert all(np.array_equal(*pair) for pair in zip(gradients[1:], rest, strict=True))


@given(
    images,
    st.integers(1, 4),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(0, 2),
    st.sampled_from([None, "relu", "leaky_relu", "softplus", "tanh"]),
    st.sampled_from([1, 2, 3, 16]),
    st.sampled_from([(1, 1), (2, 5), (3, 4), (2, 0)]),
)
@settings(deadline=None, max_examples=150)
def test_convolutions_with_pools_equal_the_reference(
    problem, height, width, stride, padding, activation, window, filters
):
    """Images that all samples share, or that each sample has; with tie after tie in the windows."""
    x, rng = image(**problem)
    samples, units = (len(x), filters[1]) if x.ndim == 5 else filters
    height = min(height, x.shape[-3] + 2 * padding)
    width = min(width, x.shape[-2] + 2 * padding)
    smallest = min(
        convolution.reference.positions(size, kernel, stride, padding)
        for size, kernel in zip(x.shape[-3:-1], (height, width), strict=True)
    )
    x = rng.integers(-2, 3, x.shape).astype(np.float32)
    w = rng.integers(-1, 2, (samples, height, width, x.shape[-1], units)).astype(np.float32)
    b = rng.integers(-2, 3, (samples, units)).astype(np.float32)
    compare_pooled(x, w, b, rng, stride, padding, activation, min(window, smallest))


def test_a_piece_holds_several_images_and_one_that_is_larger_than_its_room():
    rng = np.random.default_rng(0)
    for shape in ((40, 5, 5, 3), (2, 40, 5, 5, 3), (2, 90, 70, 4)):
        x = rng.integers(-2, 3, shape).astype(np.float32)
        w = rng.integers(-1, 2, (2, 3, 3, shape[-1], 6)).astype(np.float32)
        compare_pooled(x, w, np.zeros((2, 6), np.float32), rng, 1, 1, "relu", 2)


def test_the_patches_of_a_minibatch_are_never_stored():
    rng = np.random.default_rng(0)
    x, w, b = (
        rng.standard_normal(shape).astype(np.float32)
        for shape in ((2, 48, 14, 14, 16), (2, 3, 3, 16, 32), (2, 32))
    )
    patches = x.nbytes * 9
    peaks = []
    for module in (pooled_convolution, pooled_reference):
        tracemalloc.start()
        h, cache = module.apply(x, w, b, 1, 1, "relu", 2)
        module.apply_vjp(h, cache)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[0] < patches / 3 < patches < peaks[1]


@pytest.mark.parametrize("window", [1, 2, 3])
def test_nan_reaches_the_output_of_its_window_and_no_other(window):
    x = np.zeros((1, 6, 6, 1), np.float32)
    x[0, 4, 1] = np.nan
    one = np.ones((1, 1, 1, 1, 1), np.float32)
    h, _ = pooled_convolution.apply(x, one, np.ones((1, 1), np.float32), 1, 0, "relu", window)
    assert np.isnan(h[0, 0, 4 // window, 1 // window, 0])
    assert np.count_nonzero(np.isnan(h)) == 1 and np.nanmin(h) == 1


def test_a_convolution_with_a_pool_refuses_what_the_reference_refuses():
    x, w, b = (np.ones(shape, np.float32) for shape in ((1, 4, 6, 2), (1, 3, 3, 2, 5), (1, 5)))
    wrong = (
        ((x[0], w, b), "axes"),
        ((x, w[0], b), "axes"),
        ((x, w[:, :, :, :1], b), "input channels"),
        ((x, w, b[:, 1:]), "b must have shape"),
        ((x, w, b, 0), "stride"),
        ((x, w, b, 1, -1), "padding"),
        ((x, w, b, 1, 0, None, 3), "window of a pool"),
    )
    for arguments, words in wrong:
        messages = []
        for module in (pooled_convolution, pooled_reference):
            with pytest.raises(ValueError, match=words) as raised:
                module.apply(*arguments)
            messages.append(str(raised.value))
        assert messages[0] == messages[1]


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
    x, rng = image((4, 70), (11, 12), 5, 1)
    w, b = (rng.normal(size=size).astype(np.float32) for size in ((4, 3, 3, 5, 6), (4, 6)))
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
        for pixels in (x, x[0]):  # of each sample, or shared by all
            h, cache = pooled_convolution.apply(pixels, w, b, 1, 1, "relu", 2)
            found[-1] += [h, *pooled_convolution.apply_vjp(np.sin(h), cache)]
    threads.set_count(None)
    for others in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0], others, strict=True))
