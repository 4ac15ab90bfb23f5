"""Correlated weights: the divergence against dense formulas, limits, extremes, and samples."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mpf

from ibpcl.primitives import full_covariance, gaussian, low_rank

SIZE = 4


def dense_kl(mean, covariance, prior_mean, prior_covariance):
    """The divergence by its definition."""
    inverse = np.linalg.inv(prior_covariance)
    distance = mean - prior_mean
    log_ratio = np.linalg.slogdet(prior_covariance)[1] - np.linalg.slogdet(covariance)[1]
    trace = np.trace(inverse @ covariance)
    return (trace + distance @ inverse @ distance - len(mean) + log_ratio) / 2


def low_rank_side(rng, rank, size=SIZE):
    return rng.normal(size=size), rng.normal(size=size), rng.normal(size=(rank, size))


def full_side(rng, size=SIZE):
    return rng.normal(size=size), rng.normal(size=size), rng.normal(size=(size, size))


def covariance_of_low_rank(log_sigma, factor):
    return np.diag(np.exp(2 * log_sigma)) + factor.T @ factor


def covariance_of_full(log_sigma, lower):
    root = np.tril(lower, -1) + np.diag(np.exp(log_sigma))
    return root @ root.T


@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 1000))
def test_low_rank_equals_the_dense_divergence(rank, prior_rank, seed):
    rng = np.random.default_rng(seed)
    q, p = low_rank_side(rng, rank), low_rank_side(rng, prior_rank)
    exact = dense_kl(q[0], covariance_of_low_rank(*q[1:]), p[0], covariance_of_low_rank(*p[1:]))
    assert low_rank.kl(*q, *p)[0] == pytest.approx(exact, rel=1e-8)


@given(st.integers(1, 5), st.integers(0, 1000))
def test_a_cholesky_factor_gives_the_dense_divergence(size, seed):
    rng = np.random.default_rng(seed)
    q, p = full_side(rng, size), full_side(rng, size)
    exact = dense_kl(q[0], covariance_of_full(*q[1:]), p[0], covariance_of_full(*p[1:]))
    assert full_covariance.kl(*q, *p)[0] == pytest.approx(exact, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("module", "nothing"),
    [
        (low_rank, np.zeros((0, SIZE))),
        (low_rank, np.zeros((2, SIZE))),
        (full_covariance, np.zeros((SIZE, SIZE))),
    ],
)
def test_without_correlations_the_divergence_is_the_diagonal_one_bit_for_bit(
    module, nothing, dtype
):
    values = np.random.default_rng(0).normal(size=(4, SIZE)).astype(dtype)
    nothing = nothing.astype(dtype)
    value, cache = module.kl(values[0], values[1], nothing, values[2], values[3], nothing)
    plain, plain_cache = gaussian.kl(*values)
    assert value == plain and value.dtype == dtype
    dmu, dlog_sigma, dmore, *_ = module.kl_vjp(dtype(1), cache)
    expected = gaussian.kl_vjp(dtype(1), plain_cache)
    np.testing.assert_array_equal(dmu, expected[0])
    np.testing.assert_array_equal(dlog_sigma, expected[1])
    assert not dmore.any()


def test_full_rank_represents_every_covariance():
    """With as many common parts as weights, both forms are one distribution and one divergence."""
    rng = np.random.default_rng(1)
    q, p = full_side(rng), full_side(rng)
    sides = []
    for mean, log_sigma, lower in (q, p):
        covariance = covariance_of_full(log_sigma, lower)
        # an independent part below the smallest eigenvalue; the rest is a product U' U
        share = np.linalg.eigvalsh(covariance)[0] / 2
        factor = np.linalg.cholesky(covariance - share * np.eye(SIZE)).T
        found = covariance_of_low_rank(np.full(SIZE, np.log(share) / 2), factor)
        np.testing.assert_allclose(found, covariance, atol=1e-12)
        sides += [mean, np.full(SIZE, np.log(share) / 2), factor]
    assert low_rank.kl(*sides)[0] == pytest.approx(full_covariance.kl(*q, *p)[0], rel=1e-7)


@given(st.integers(0, 1000))
def test_the_divergence_is_zero_at_the_prior_and_positive_beside_it(seed):
    rng = np.random.default_rng(seed)
    for module, q in ((low_rank, low_rank_side(rng, 2)), (full_covariance, full_side(rng))):
        value, cache = module.kl(*q, *q)
        # rounding of the terms that cancel, which a badly conditioned prior enlarges
        assert abs(value) < 1e-6
        beside = q[0] + 0.1, q[1], q[2]
        assert module.kl(*beside, *q)[0] > 0
        slopes = module.kl_vjp(1.0, cache)
        for one, other in zip(slopes[:3], slopes[3:], strict=True):
            np.testing.assert_allclose(one, 0, atol=1e-5)
            np.testing.assert_allclose(other, 0, atol=1e-5)


def exact_kl(module, q, p):
    """The same in 60 digits."""
    means, covariances = [], []
    for mean, log_sigma, more in (q, p):
        sigma = [mpmath.exp(value) for value in log_sigma]
        if module is low_rank:
            factor = mpmath.matrix(more)
            covariance = factor.T * factor + mpmath.diag([value**2 for value in sigma])
        else:
            root = mpmath.diag(sigma)
            for i in range(len(sigma)):
                for j in range(i):
                    root[i, j] = more[i][j]
            covariance = root * root.T
        means.append(mpmath.matrix(mean))
        covariances.append(covariance)
    inverse = covariances[1] ** -1
    distance = means[0] - means[1]
    product = inverse * covariances[0]
    trace = sum(product[i, i] for i in range(product.rows))
    log_ratio = mpmath.log(mpmath.det(covariances[1]) / mpmath.det(covariances[0]))
    return (trace + (distance.T * inverse * distance)[0] - len(distance) + log_ratio) / 2


@pytest.mark.parametrize("module", [low_rank, full_covariance])
@pytest.mark.parametrize("log_sigma", [-12.0, 0.0, 8.0])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e3])
def test_narrow_and_wide_weights_with_small_and_large_correlations(module, log_sigma, size):
    """Value and gradient at the ends of the range, relative to the largest term."""
    rng = np.random.default_rng(2)
    count = 3
    shape = (1, count) if module is low_rank else (count, count)
    q = [rng.normal(size=count), log_sigma + rng.normal(size=count) / 9]
    q.append(np.exp(log_sigma) * size * rng.normal(size=shape))
    p = [rng.normal(size=count), rng.normal(size=count) / 9, rng.normal(size=shape)]
    value, cache = module.kl(*q, *p)
    slopes = module.kl_vjp(1.0, cache)
    with mpmath.workdps(60):

        def exact(place=None, step=0):
            sides = [[[mpf(float(v)) for v in part] for part in side[:2]] for side in (q, p)]
            for side, values in zip(sides, (q, p), strict=True):
                side.append([[mpf(float(v)) for v in row] for row in values[2]])
            if place is not None:
                sides[0][place][0] += step
            return exact_kl(module, *sides)

        scale = 1 + abs(exact())
        assert abs(value - exact()) < 1e-9 * scale
        step = mpf(10) ** -20
        for place in (0, 1):
            slope = (exact(place, step) - exact(place, -step)) / (2 * step)
            assert abs(slopes[place][0] - slope) < 1e-9 * (1 + abs(slope) + scale)


def test_samples_have_the_covariance():
    rng = np.random.default_rng(3)
    draws = 200_000
    mean, log_sigma, factor = low_rank_side(rng, 2)
    independent, _ = gaussian.sample(rng.normal(size=(draws, SIZE)), mean, log_sigma)
    common, _ = low_rank.sample(rng.normal(size=(draws, 2)), factor)
    covariance = covariance_of_low_rank(log_sigma, factor)
    q = full_side(rng)
    whole, _ = full_covariance.sample(rng.normal(size=(draws, SIZE)), *q)
    for found, exact in (
        (independent + common, covariance),
        (whole, covariance_of_full(*q[1:])),
    ):
        variance = np.diag(exact)
        error = np.sqrt((variance[:, None] * variance + exact**2) / draws)
        assert (np.abs(np.cov(found.T) - exact) < 5 * error).all()
    # the control: without the common parts the covariance is another
    assert np.abs(np.cov(independent.T) - covariance).max() > 0.1


@pytest.mark.parametrize("part", range(3))
def test_a_wrong_sign_in_any_gradient_is_seen(part):
    """The control of the gradient checks: the slope along a step is that of the gradient."""
    rng = np.random.default_rng(4)
    for module, side in ((low_rank, lambda: low_rank_side(rng, 2)), (full_covariance, None)):
        q, p = (side() if side else full_side(rng) for _ in range(2))
        value, cache = module.kl(*q, *p)
        gradient = module.kl_vjp(1.0, cache)[part]
        moved = list(q)
        moved[part] = q[part] + 1e-6 * gradient / np.linalg.norm(gradient)
        change = (module.kl(*moved, *p)[0] - value) / 1e-6
        assert change == pytest.approx(np.linalg.norm(gradient), rel=1e-3)
