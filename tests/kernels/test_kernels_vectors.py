"""The Gaussian divergence, Adam, and passes over the vector, against their references."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ibpcl import adam as reference_adam
from ibpcl import numerics
from ibpcl.kernels import adam, gaussian
from ibpcl.primitives import gaussian as reference_gaussian

shapes = st.one_of(
    st.sampled_from([(0,), (1,), (0, 3), (1023,), (1025,), (16385,), (3, 7, 5)]),
    st.tuples(st.integers(1, 40), st.integers(1, 40)),
)
seeds = st.integers(0, 2**32 - 1)
PRECISION = pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 5e-6)])


@PRECISION
@given(shapes, seeds, st.sampled_from([1e-3, 1.0, 4.0]))
@settings(deadline=None, max_examples=40)
def test_gaussian_divergence_and_gradient(dtype, tolerance, shape, seed, spread):
    rng = np.random.default_rng(seed)
    point = [rng.normal(0, spread, shape).astype(dtype) for _ in range(4)]
    exact, exact_cache = reference_gaussian.kl(*(value.astype(np.float64) for value in point))
    value, cache = gaussian.kl(*point)
    assert np.asarray(value).dtype == dtype and np.shape(value) == ()
    assert value == pytest.approx(exact, rel=tolerance, abs=tolerance * spread)
    gradients = gaussian.kl_vjp(0.7, cache)
    for found, expected in zip(gradients, reference_gaussian.kl_vjp(0.7, exact_cache), strict=True):
        assert found.dtype == dtype and found.shape == shape
        np.testing.assert_allclose(found, expected, rtol=20 * tolerance, atol=tolerance * spread)


@given(shapes, seeds, st.sampled_from([-0.3, 1.0]))
@settings(deadline=None, max_examples=20)
def test_gaussian_gradient_is_added_to_other_gradients(shape, seed, ddivergence):
    rng = np.random.default_rng(seed)
    *point, dmu, dlog_sigma = rng.normal(0, 1, (6, *shape)).astype(np.float32)
    _, cache = gaussian.kl(*point)
    by_mu, by_log_sigma, *_ = gaussian.kl_vjp(ddivergence, cache)
    expected = dmu + by_mu, dlog_sigma + by_log_sigma
    gaussian.add_kl_gradient(ddivergence, cache, dmu, dlog_sigma)
    assert np.array_equal(dmu, expected[0]) and np.array_equal(dlog_sigma, expected[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gaussian_gradient_is_added_to_strided_and_wide_gradients(dtype):
    point = np.random.default_rng(0).normal(0, 1, (4, 7)).astype(dtype)
    _, cache = gaussian.kl(*point)
    by_mu, by_log_sigma, *_ = gaussian.kl_vjp(0.5, cache)
    pairs = np.zeros((7, 2), dtype)
    gaussian.add_kl_gradient(0.5, cache, pairs[:, 0], pairs[:, 1])
    assert np.array_equal(pairs[:, 0], by_mu) and np.array_equal(pairs[:, 1], by_log_sigma)


def test_gaussian_divergence_of_equals_is_zero_and_of_neighbours_is_positive():
    mu, log_sigma = np.random.default_rng(0).standard_normal((2, 5000)).astype(np.float32)
    assert gaussian.kl(mu, log_sigma, mu, log_sigma)[0] == 0
    assert gaussian.kl(mu, log_sigma, mu, log_sigma + np.float32(0.01))[0] == pytest.approx(
        0.5, rel=0.02
    )


def test_gaussian_refuses_different_shapes():
    with pytest.raises(ValueError, match=r"gaussian\.kl: all inputs must have one shape"):
        gaussian.kl(*(np.zeros(n, np.float32) for n in (3, 3, 1, 3)))


@PRECISION
@given(
    st.sampled_from([0, 1, 2, 1023, 1025, 16383, 16385, 40_000]),
    seeds,
    st.integers(0, 10_000),
    st.sampled_from([0.0, 0.3, 1.0]),
)
@settings(deadline=None, max_examples=30)
def test_adam_takes_the_same_steps(dtype, tolerance, size, seed, steps, factor):
    rng = np.random.default_rng(seed)
    vector = rng.standard_normal(size).astype(dtype)
    rates = rng.uniform(0, 0.1, size).astype(dtype)
    first = rng.standard_normal(size)
    second = rng.standard_normal(size) ** 2
    state = reference_adam.State(first.astype(dtype), second.astype(dtype), steps)
    exact = [
        vector.astype(float),
        reference_adam.State(state.first.astype(float), state.second.astype(float), steps),
    ]
    found = [vector, state]
    for _ in range(2):
        gradient = rng.standard_normal(size).astype(dtype)
        chosen = (0.8, 0.95, 1e-6, factor)
        exact = reference_adam.update(
            exact[0], gradient.astype(float), exact[1], rates.astype(float), *chosen
        )
        found = adam.update(found[0], gradient, found[1], rates, *chosen)
    assert isinstance(found[1], reference_adam.State) and found[1].step == steps + 2
    for a, b in (
        (found[0], exact[0]),
        (found[1].first, exact[1].first),
        (found[1].second, exact[1].second),
    ):
        assert a.dtype == dtype
        np.testing.assert_allclose(a, b, rtol=20 * tolerance, atol=tolerance)


def test_adam_overwrites_nothing_but_the_moments():
    vector, gradient, rates = (np.full(70_000, value, np.float32) for value in (1, 2, 3))
    state = reference_adam.start(vector)
    moved, new = adam.update(vector, gradient, state, rates)
    assert (
        (vector == 1).all() and (gradient == 2).all() and (rates == 3).all() and (moved < 0).all()
    )
    assert (
        new.first is state.first
        and new.second is state.second
        and state.step == 0
        and new.step == 1
    )


def test_adam_leaves_its_arguments_and_elements_without_a_rate_alone():
    vector = np.arange(2000.0)
    rates = np.where(np.arange(2000) % 2, 0.1, 0.0)
    state = reference_adam.start(vector)
    moved, new = adam.update(vector, np.ones(2000), state, rates)
    assert np.array_equal(vector, np.arange(2000.0)) and not state.first.any() and state.step == 0
    assert np.array_equal(moved[::2], vector[::2]) and (moved[1::2] < vector[1::2]).all()
    assert new.step == 1


def test_adam_has_the_same_defaults_and_refuses_what_does_not_fit():
    x = np.linspace(-1, 1, 7)
    state = reference_adam.start(x)
    expected = reference_adam.update(x, x, state, x**2)[0]
    np.testing.assert_allclose(adam.update(x, x, state, x**2)[0], expected, rtol=1e-13)
    with pytest.raises(ValueError, match=r"adam\.update: all arrays must have one shape"):
        adam.update(x, x[:-1], state, x)


@PRECISION
@given(st.sampled_from([1, 16_384, 50_001]), seeds, st.sampled_from([np.nan, np.inf, -np.inf]))
@settings(deadline=None, max_examples=20)
def test_one_non_finite_number_is_found(dtype, tolerance, size, seed, bad):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=size).astype(dtype)
    assert numerics.finite(x)
    x[rng.integers(size)] = bad
    assert not numerics.finite(x)
    x[rng.integers(size)] = -bad  # two infinities do not cancel
    assert not numerics.finite(x)


@PRECISION
def test_numbers_whose_sum_overflows_are_finite(dtype, tolerance):
    x = np.full(40_000, np.finfo(dtype).max / 3)
    assert numerics.finite(x)
    x[7] = np.inf
    assert not numerics.finite(x)


def test_nothing_is_finite():
    assert numerics.finite(np.empty(0))


def test_elements_added_later_start_afresh():
    """The bias correction counts the steps of each parameter, in both backends."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=6)
    rates = np.full(6, 0.1)
    gradients = rng.normal(size=(20, 6))
    for update in (reference_adam.update, adam.update):
        vector = x[:4]
        state = reference_adam.start(x[:4])
        for gradient in gradients[:12]:
            vector, state = update(vector, gradient[:4], state, rates[:4])
        vector = np.append(vector, x[4:])
        state = reference_adam.State(
            np.append(state.first, [0, 0]),
            np.append(state.second, [0, 0]),
            np.append(np.full(4, state.step), [0, 0]),
        )
        late = x[4:]
        late_state = reference_adam.start(x[4:])
        for gradient in gradients[12:]:
            vector, state = update(vector, gradient, state, rates)
            late, late_state = update(late, gradient[4:], late_state, rates[4:])
        np.testing.assert_allclose(vector[4:], late, rtol=1e-12)
        assert state.step.tolist() == [20] * 4 + [8] * 2
        early = x[:4]
        early_state = reference_adam.start(x[:4])
        for gradient in gradients:
            early, early_state = update(early, gradient[:4], early_state, rates[:4])
        np.testing.assert_allclose(vector[:4], early, rtol=1e-12)
        single = reference_adam.State(
            *(moment.astype(np.float32) for moment in state[:2]), state.step
        )
        moved = update(
            *(array.astype(np.float32) for array in (vector, gradient)),
            single,
            rates.astype(np.float32),
        )[0]
        assert moved.dtype == np.float32
