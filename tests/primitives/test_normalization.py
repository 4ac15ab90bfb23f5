"""Normalizations against NumPy and mpmath, and what their statistics do when tasks follow."""

import mpmath
import numpy as np
import pytest

from ibpcl.primitives import normalization as norm

RNG = np.random.default_rng(0)
GAIN = np.array([1.5, -0.5, 2.0])
SHIFT = np.array([0.3, 0.0, -1.0])


def images(examples=6, mean=0.0, scale=1.0):
    return mean + scale * RNG.normal(size=(2, examples, 3, 4, 3))


def test_batch_norm_is_its_definition_and_its_parts():
    x = images(mean=3.0)
    y, cache = norm.batch_norm(x, GAIN, SHIFT, 0.1)
    mean, variance = x.mean(axis=(1, 2, 3)), x.var(axis=(1, 2, 3))
    by_numpy = (x - mean[:, None, None, None]) / np.sqrt(variance + 0.1)[:, None, None, None]
    np.testing.assert_allclose(y, GAIN * by_numpy + SHIFT, rtol=0, atol=1e-12)
    # the gradient in one formula, and as a composition of the two pairs
    moments, moments_cache = norm.statistics(x)
    composed, parts_cache = norm.normalize(x, *moments, GAIN, SHIFT, 0.1)
    np.testing.assert_allclose(composed, y, rtol=0, atol=1e-12)
    dy = RNG.normal(size=y.shape)
    dx, dgain, dshift = norm.batch_norm_vjp(dy, cache)
    direct, dmean, dvariance, dgain_parts, dshift_parts = norm.normalize_vjp(dy, parts_cache)
    through = norm.statistics_vjp((dmean, dvariance), moments_cache)
    np.testing.assert_allclose(dx, direct + through, rtol=0, atol=1e-12)
    np.testing.assert_allclose(dgain, dgain_parts, rtol=1e-12)
    np.testing.assert_allclose(dshift, dshift_parts, rtol=1e-12)
    np.testing.assert_allclose(dx.sum(axis=(1, 2, 3)), 0, atol=1e-12)


def test_layer_norm_is_its_definition_and_ignores_other_examples():
    x = images()
    y, _ = norm.layer_norm(x, GAIN, SHIFT, 0.1)
    apart = x - x.mean(axis=(2, 3, 4), keepdims=True)
    hat = apart / np.sqrt(x.var(axis=(2, 3, 4), keepdims=True) + 0.1)
    np.testing.assert_allclose(y, GAIN * hat + SHIFT, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(norm.layer_norm(x[:, :1], GAIN, SHIFT, 0.1)[0], y[:, :1])
    batch, _ = norm.batch_norm(x, GAIN, SHIFT)
    assert not np.allclose(norm.batch_norm(x[:, :3], GAIN, SHIFT)[0], batch[:, :3])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mean", [0.0, 1e3, -1e4])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("name", ["batch_norm", "layer_norm"])
def test_nothing_cancels_far_from_zero(name, mean, scale, dtype):
    """The input itself has eps |x| of rounding; the normalized error is that, in units of s."""
    x = (mean + scale * np.random.default_rng(1).normal(size=(1, 4, 2, 2, 1))).astype(dtype)
    y, cache = getattr(norm, name)(x, np.ones(1, dtype), np.zeros(1, dtype), 1e-5)
    dy = np.random.default_rng(2).normal(size=y.shape).astype(dtype)
    dx, *_ = getattr(norm, f"{name}_vjp")(dy, cache)
    assert y.dtype == dx.dtype == dtype
    groups = [slice(None)] if name == "batch_norm" else [slice(n, n + 1) for n in range(4)]
    for group in groups:
        with mpmath.workdps(60):
            values = [mpmath.mpf(float(each)) for each in x[:, group].ravel()]
            slopes = [mpmath.mpf(float(each)) for each in dy[:, group].ravel()]
            count = len(values)
            m = sum(values) / count
            v = sum((each - m) ** 2 for each in values) / count
            s = mpmath.sqrt(v + mpmath.mpf("1e-5"))
            hat = [(each - m) / s for each in values]
            a = sum(slopes) / count
            b = sum(g * h for g, h in zip(slopes, hat, strict=True)) / count
            exact = [(g - a - h * b) / s for g, h in zip(slopes, hat, strict=True)]
        # the mean is one sum of `count` numbers, each of size |x|
        limit = 20 * np.finfo(dtype).eps * (1 + (abs(mean) + scale) / float(s))
        found = y[:, group].ravel()
        np.testing.assert_allclose(found, np.array(hat, float), rtol=0, atol=limit)
        np.testing.assert_allclose(
            dx[:, group].ravel() * float(s), np.array(exact, float) * float(s), rtol=0, atol=limit
        )


@pytest.mark.parametrize("name", ["batch_norm", "layer_norm"])
def test_a_constant_has_its_shift_and_a_finite_gradient(name):
    x = np.full((1, 2, 3, 3, 3), 7.0)
    y, cache = getattr(norm, name)(x, GAIN, SHIFT)
    np.testing.assert_allclose(y, np.broadcast_to(SHIFT, y.shape))
    gradients = getattr(norm, f"{name}_vjp")(RNG.normal(size=y.shape), cache)
    assert all(np.isfinite(gradient).all() for gradient in gradients)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan")])
def test_an_epsilon_that_bounds_nothing_is_refused(epsilon):
    one = np.ones((1, 1))
    for call in (
        lambda: norm.batch_norm(np.ones((1, 1, 1, 1, 1)), one[0], one[0], epsilon),
        lambda: norm.layer_norm(np.ones((1, 1, 1, 1, 1)), one[0], one[0], epsilon),
        lambda: norm.normalize(np.ones((1, 1, 1, 1, 1)), one, one, one[0], one[0], epsilon),
    ):
        with pytest.raises(ValueError, match=r"epsilon must be > 0, got"):
            call()


def test_statistics_of_batches_pool_to_those_of_the_data():
    x = images(examples=9, mean=5.0)
    parts = [norm.of_batch(part) for part in np.split(x, (2, 6), axis=1)]
    for order in ((0, 1, 2), (2, 0, 1)):
        first, second, third = (parts[i] for i in order)
        both = norm.pooled(norm.pooled(first, second), third)
        assert both.count == 9 * 12
        np.testing.assert_allclose(both.mean, x.mean(axis=(1, 2, 3)), rtol=1e-12)
        np.testing.assert_allclose(both.variance, x.var(axis=(1, 2, 3)), rtol=1e-12)


@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 0, 3, 4, 3)])
def test_statistics_of_nothing_are_refused(shape):
    with pytest.raises(ValueError, match=r"at least one example, got shape"):
        norm.of_batch(np.zeros(shape))


def test_statistics_of_a_task_keep_its_outputs_and_a_running_average_does_not():
    first, second = images(mean=0.0), images(mean=4.0, scale=3.0)
    own = norm.of_batch(first)
    before, _ = norm.normalize(first, own.mean, own.variance, GAIN, SHIFT)
    trained, _ = norm.batch_norm(first, GAIN, SHIFT)
    np.testing.assert_allclose(before, trained, rtol=0, atol=1e-12)  # what training computed
    running = own
    for _ in range(50):  # the usual momentum, on batches of the second task
        new = norm.of_batch(second)
        running = norm.Statistics(
            0, 0.9 * running.mean + 0.1 * new.mean, 0.9 * running.variance + 0.1 * new.variance
        )
    after, _ = norm.normalize(first, running.mean, running.variance, GAIN, SHIFT)
    assert np.abs(after - before).max() > 1
    kept, _ = norm.normalize(first, own.mean, own.variance, GAIN, SHIFT)
    np.testing.assert_array_equal(kept, before)


def test_batch_norm_switched_off_is_another_function():
    """The authors' second code predicts with mean 0 and variance 1, but trains with the batch."""
    x = images(mean=np.array([2.0, -3.0, 0.0]), scale=np.array([5.0, 0.2, 1.0]))
    trained, _ = norm.batch_norm(x, GAIN, SHIFT)
    zero, one = np.zeros((2, 3)), np.ones((2, 3))
    off, _ = norm.normalize(x, zero, one - 1e-5, GAIN, SHIFT)
    own = norm.of_batch(x)
    scale = np.sqrt(own.variance + 1e-5)[:, None, None, None]
    mean = own.mean[:, None, None, None]
    np.testing.assert_allclose(off, scale * (trained - SHIFT) + GAIN * mean + SHIFT, atol=1e-12)
    # a decision between two channels, even without gains and shifts: half of them become wrong
    plain = np.ones(3), np.zeros(3)
    trained, _ = norm.batch_norm(x, *plain)
    off, _ = norm.normalize(x, zero, one - 1e-5, *plain)
    decided, switched = (y[..., 2] > y[..., 1] for y in (trained, off))
    assert np.mean(decided != switched) > 0.4
