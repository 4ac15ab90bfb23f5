"""Convolutions against direct sums, SciPy and their limits; their gradients without the checker."""

import numpy as np
import pytest
import scipy.signal

from ibpcl.primitives import (
    convolution,
    linear,
    local_convolution,
    local_linear,
    masked_convolution,
    masked_linear,
    masked_weights,
)
from ibpcl.verify import check

RNG = np.random.default_rng(0)
SHAPES = [(1, 0), (1, 2), (2, 0), (2, 1), (3, 2)]
SHARED = {"weight": (1, 1, 1), "pair": (3, 2, 1), "filter": (3, 2, 4)}


def problem(rng=RNG, x_samples=True):
    x = rng.normal(size=(2, 3, 6, 5, 4))
    return x if x_samples else x[0], rng.normal(size=(2, 3, 2, 4, 3)), rng.normal(size=(2, 3))


def direct_sum(x, w, b, stride, padding):
    """The definition, with a loop for each index."""
    samples, height, width, channels, units = w.shape
    _, examples, rows, columns, _ = x.shape
    down = (rows + 2 * padding - height) // stride + 1
    across = (columns + 2 * padding - width) // stride + 1
    h = np.zeros((samples, examples, down, across, units))
    for s, n, p, q, k in np.ndindex(*h.shape):
        h[s, n, p, q, k] = b[s, k]
        for i, j, d in np.ndindex(height, width, channels):
            a = p * stride + i - padding
            c = q * stride + j - padding
            if 0 <= a < rows and 0 <= c < columns:
                h[s, n, p, q, k] += x[s, n, a, c, d] * w[s, i, j, d, k]
    return h


@pytest.mark.parametrize(("stride", "padding"), SHAPES)
def test_a_convolution_is_its_direct_sum(stride, padding):
    x, w, b = problem()
    h, _ = convolution.conv2d(x, w, b, stride, padding)
    np.testing.assert_allclose(h, direct_sum(x, w, b, stride, padding), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("stride", "padding"), SHAPES)
def test_a_convolution_is_the_correlation_of_scipy(stride, padding):
    x, w, b = problem()
    h, _ = convolution.conv2d(x, w, b, stride, padding)
    around = ((padding, padding), (padding, padding), (0, 0))
    for s, n, k in np.ndindex(2, 3, 3):
        whole = scipy.signal.correlate(np.pad(x[s, n], around), w[s, ..., k], "valid")[..., 0]
        expected = whole[::stride, ::stride] + b[s, k]
        np.testing.assert_allclose(h[s, n, ..., k], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("stride", "padding"), SHAPES)
def test_the_gradient_at_the_image_is_the_transposed_convolution(stride, padding):
    """Stretch dh with zeros, and convolve with the kernels: SciPy turns them by 180 degrees."""
    x, w, b = problem()
    h, cache = convolution.conv2d(x, w, b, stride, padding)
    dh = RNG.normal(size=h.shape)
    dx = convolution.conv2d_vjp(dh, cache)[0]
    rows, columns = x.shape[2] + 2 * padding, x.shape[3] + 2 * padding
    for s, n, d in np.ndindex(2, 3, 4):
        whole = np.zeros((rows, columns))
        for k in range(3):
            stretched = np.zeros((rows - 2, columns - 1))  # the positions with stride 1
            stretched[::stride, ::stride] = dh[s, n, ..., k]
            whole += scipy.signal.convolve(stretched, w[s, ..., d, k], "full")
        inside = whole[padding : rows - padding, padding : columns - padding]
        np.testing.assert_allclose(dx[s, n, ..., d], inside, rtol=0, atol=1e-12)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(("stride", "padding"), SHAPES)
def test_the_gradient_agrees_with_the_complex_step_and_differences(stride, padding, shared):
    """Entry by entry, without the checker, so as not to trust it."""
    inputs = problem(x_samples=not shared)
    h, cache = convolution.conv2d(*inputs, stride, padding)
    dh = RNG.normal(size=h.shape)
    for i, gradient in enumerate(convolution.conv2d_vjp(dh, cache)):
        assert gradient.shape == inputs[i].shape
        for place in RNG.integers(0, inputs[i].size, 12):

            def objective(step, i=i, place=place):
                moved = [np.array(each, type(step)) for each in inputs]
                moved[i].flat[place] += step
                return np.sum(dh * convolution.conv2d(*moved, stride, padding)[0])

            by_step = objective(1e-30j).imag / 1e-30
            # linear in each input, so that the difference has no error but rounding
            by_difference = (objective(1e-4) - objective(-1e-4)) / 2e-4
            assert gradient.flat[place] == pytest.approx(by_step, rel=1e-12, abs=1e-12)
            assert gradient.flat[place] == pytest.approx(by_difference, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize(("stride", "padding"), SHAPES)
def test_patches_and_their_gradient_are_adjoint(stride, padding):
    x = RNG.normal(size=(3, 6, 5, 4))
    rows, cache = convolution.patches(x, 3, 2, stride, padding)
    drows = RNG.normal(size=rows.shape)
    back = convolution.patches_vjp(drows, cache)
    assert np.sum(drows * rows) == pytest.approx(np.sum(back * x), rel=1e-12)


def test_pixels_that_no_position_reads_have_gradient_zero():
    x = RNG.normal(size=(1, 1, 6, 6, 1))
    h, cache = convolution.conv2d(x, np.ones((1, 2, 2, 1, 1)), np.zeros((1, 1)), stride=3)
    dx = convolution.conv2d_vjp(np.ones_like(h), cache)[0][0, 0, ..., 0]
    np.testing.assert_array_equal(dx, np.kron(np.ones((2, 2)), np.pad(np.ones((2, 2)), (0, 1))))


def test_a_1x1_kernel_on_a_1x1_image_is_the_masked_linear_layer():
    x, v, b = (RNG.normal(size=shape) for shape in ((2, 3, 4), (2, 4, 5), (2, 5)))
    z = RNG.random((2, 4, 5))
    dh = RNG.normal(size=(2, 3, 5))
    expected, linear_cache = masked_linear.apply(x, v, z, b)
    h, cache = masked_convolution.apply(x[:, :, None, None], v[:, None, None], z[:, None, None], b)
    np.testing.assert_allclose(h[:, :, 0, 0], expected, rtol=0, atol=1e-12)
    for one, other in zip(
        masked_convolution.apply_vjp(dh[:, :, None, None], cache),
        masked_linear.apply_vjp(dh, linear_cache),
        strict=True,
    ):
        np.testing.assert_allclose(one.reshape(other.shape), other, rtol=0, atol=1e-12)


def test_a_kernel_as_large_as_the_image_is_a_dense_layer():
    x, w, b = (RNG.normal(size=shape) for shape in ((2, 3, 4, 5, 2), (2, 4, 5, 2, 6), (2, 6)))
    h, cache = convolution.conv2d(x, w, b)
    expected, linear_cache = linear.apply(x.reshape(2, 3, 40), w.reshape(2, 40, 6), b)
    np.testing.assert_allclose(h[:, :, 0, 0], expected, rtol=0, atol=1e-12)
    dh = RNG.normal(size=h.shape)
    for one, other in zip(
        convolution.conv2d_vjp(dh, cache),
        linear.apply_vjp(dh[:, :, 0, 0], linear_cache),
        strict=True,
    ):
        np.testing.assert_allclose(one.reshape(other.shape), other, rtol=0, atol=1e-12)


def test_a_shifted_image_gives_a_shifted_output_inside():
    """Away from the border, a shift by the stride moves the output by one position."""
    _, w, b = problem()
    x = RNG.normal(size=(2, 3, 12, 11, 4))
    moved = np.roll(x, (2, 2), axis=(2, 3))
    first, second = (convolution.conv2d(each, w, b, 2, 1)[0] for each in (x, moved))
    inside = slice(2, -2)
    np.testing.assert_allclose(
        second[:, :, inside, inside], first[:, :, 1:-3, 1:-3], rtol=0, atol=1e-12
    )
    assert not np.allclose(second[:, :, 0], first[:, :, 0])  # not so at the border


@pytest.mark.parametrize("sharing", SHARED)
def test_shared_masks_are_masks_of_all_their_weights(sharing):
    x, v, b = problem()
    shared = SHARED[sharing]
    z = RNG.random((2, *(n // m for n, m in zip((3, 2, 4), shared, strict=True)), 3))
    h, cache = masked_convolution.apply(x, v, z, b, 2, 1)
    copied = np.broadcast_to(z, v.shape)
    expected, copied_cache = masked_convolution.apply(x, v, copied, b, 2, 1)
    np.testing.assert_allclose(h, expected, rtol=0, atol=1e-12)
    dh = RNG.normal(size=h.shape)
    _, dv, dz, _ = masked_convolution.apply_vjp(dh, cache)
    _, expected_dv, dcopies, _ = masked_convolution.apply_vjp(dh, copied_cache)
    axes = tuple(axis for axis, m in zip((1, 2, 3), shared, strict=True) if m > 1)
    np.testing.assert_allclose(dv, expected_dv, rtol=0, atol=1e-12)
    np.testing.assert_allclose(dz, dcopies.sum(axis=axes, keepdims=True), rtol=0, atol=1e-12)


@pytest.mark.parametrize("sharing", SHARED)
def test_the_gradient_of_shared_masks_is_right(sharing):
    x, v, b = problem()
    z = RNG.random((2, *(n // m for n, m in zip((3, 2, 4), SHARED[sharing], strict=True)), 3))
    report = check(
        lambda *inputs: masked_convolution.apply(*inputs, 2, 1),
        masked_convolution.apply_vjp,
        {"x": x, "v": v, "z": z, "b": b},
    )
    assert report.ok, report


def test_one_mask_per_weight_is_the_masked_layers_sample():
    d, k = 3, 4
    inputs = [
        RNG.normal(size=shape)
        for shape in ((2, 1, d, k), (2, d, k), (1, d, k), (1, d, k), (d, k), (2, k))
    ]
    (w, activity, divergence), cache = masked_convolution.sample(*inputs, 0.5)
    flat = [inputs[0][:, 0], inputs[1], inputs[2][0], inputs[3][0], *inputs[4:]]
    expected, flat_cache = masked_weights.sample(*flat, 0.5)
    for one, other in zip((w[:, 0], activity, divergence), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    dout = (RNG.normal(size=w.shape), RNG.normal(size=activity.shape), RNG.normal(size=2))
    for one, other in zip(
        masked_convolution.sample_vjp(dout, cache),
        masked_weights.sample_vjp((dout[0][:, 0], *dout[1:]), flat_cache),
        strict=True,
    ):
        np.testing.assert_allclose(one.reshape(other.shape), other, rtol=1e-12, atol=1e-14)


def test_an_all_ones_mask_gives_the_plain_convolution_and_zeros_give_nothing():
    x, v, b = problem()
    on, off = (np.full((2, 1, 1, 1, 3), value) for value in (1.0, 0.0))
    np.testing.assert_array_equal(
        masked_convolution.apply(x, v, on, b)[0], convolution.conv2d(x, v, b)[0]
    )
    assert (masked_convolution.apply(x, v, off, b)[0] == 0).all()  # not even the bias


def test_local_noise_has_the_right_mean_and_variance_but_no_covariance():
    """Against a million draws of the weights: within five standard errors."""
    rng = np.random.default_rng(3)
    x = rng.random((1, 4, 3, 2))  # as pixels and outputs of ReLUs are
    mu = rng.normal(size=(2, 2, 2, 1))
    sigma = rng.random((2, 2, 2, 1)) + 0.2
    bias_sigma = np.array([0.7])
    covariance = local_convolution.shared_covariance(x, sigma, bias_sigma)[0, ..., 0]
    rows = convolution.patches(x, 2, 2)[0].reshape(6, 8)
    count = 1_000_000
    deviations = rng.normal(size=(count, 8)) * sigma.ravel()
    outputs = deviations @ rows.T + bias_sigma * rng.normal(size=(count, 1))
    errors = np.sqrt(
        (np.outer(covariance.diagonal(), covariance.diagonal()) + covariance**2) / count
    )
    assert (np.abs(outputs.T @ outputs / count - covariance) < 5 * errors).all()
    zero = np.zeros((1, 1, 3, 2, 1))
    mean, _ = local_convolution.apply(zero, x, mu, sigma, np.zeros(1), bias_sigma)
    shifted, _ = local_convolution.apply(zero + 1, x, mu, sigma, np.zeros(1), bias_sigma)
    expected, _ = convolution.conv2d(x, mu[None], np.zeros((1, 1)))
    np.testing.assert_allclose(mean, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(((shifted - mean) ** 2).ravel(), covariance.diagonal())
    # the mean over positions: its variance from shared weights, and from independent noise
    shared, independent = covariance.mean(), covariance.diagonal().sum() / covariance.size
    assert independent < 0.8 * shared


def test_local_noise_is_exact_where_the_kernel_has_one_position():
    x, mu, sigma = (RNG.normal(size=shape) for shape in ((3, 2, 3, 2), (2, 3, 2, 4), (2, 3, 2, 4)))
    eps = RNG.normal(size=(5, 3, 1, 1, 4))
    bias = RNG.random((2, 4))
    h, _ = local_convolution.apply(eps, x, mu, sigma, *bias)
    expected, _ = local_linear.apply(
        eps[:, :, 0, 0], x.reshape(3, 12), mu.reshape(12, 4), sigma.reshape(12, 4), *bias
    )
    np.testing.assert_allclose(h[:, :, 0, 0], expected, rtol=0, atol=1e-12)
    assert local_convolution.shared_covariance(x, sigma, bias[1]).shape == (3, 1, 1, 4)


def test_a_nan_reaches_the_outputs_that_read_it_and_no_others():
    x, w, b = problem()
    x[0, 1, 0, 0, 2] = np.nan
    h, _ = convolution.conv2d(x, w, b)
    expected = np.zeros(h.shape, bool)
    expected[0, 1, 0, 0] = True
    np.testing.assert_array_equal(np.isnan(h), expected)


@pytest.mark.parametrize(
    ("change", "argument", "allowed", "given"),
    [
        ({"x": np.zeros((3, 4))}, "x", "(S, N, H, W, D)", "(3, 4)"),
        ({"x": np.zeros((2, 3, 6, 5, 3))}, "w", "D = 3", "(2, 3, 2, 4, 3)"),
        ({"x": np.zeros((7, 3, 6, 5, 4))}, "x", "S = 2", "got 7"),
        ({"w": np.zeros((3, 2, 4, 3))}, "w", "(S, I, J, D, K)", "(3, 2, 4, 3)"),
        ({"b": np.zeros((2, 4))}, "b", "(2, 3)", "(2, 4)"),
        ({"w": np.zeros((2, 7, 2, 4, 3))}, "height", "1 .. 6", "got 7"),
        ({"w": np.zeros((2, 3, 8, 4, 3)), "padding": 1}, "width", "1 .. 7", "got 8"),
        ({"stride": 0}, "stride", "at least 1", "got 0"),
        ({"stride": 1.5}, "stride", "whole number", "got 1.5"),
        ({"stride": float("nan")}, "stride", "whole number", "got nan"),
        ({"padding": -1}, "padding", "at least 0", "got -1"),
    ],
)
def test_bad_inputs_are_named_with_what_is_allowed_and_what_came(change, argument, allowed, given):
    inputs = dict(zip("xwb", problem(), strict=True)) | change
    with pytest.raises(ValueError, match=f"{argument} ") as raised:
        convolution.conv2d(**inputs)
    message = str(raised.value)
    assert allowed in message and given in message and "\n" not in message


@pytest.mark.parametrize("shape", [(2, 3, 2, 4, 2), (2, 2, 2, 4, 3), (1, 3, 2, 4, 3), (2, 3, 2, 3)])
def test_masks_that_fit_no_weights_are_refused(shape):
    x, v, b = problem()
    with pytest.raises(ValueError, match=r"z must have the shape of v"):
        masked_convolution.apply(x, v, np.ones(shape), b)
