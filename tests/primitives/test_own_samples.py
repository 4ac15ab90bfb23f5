"""Densities at their own samples, divergences near equality, and compiled functions at extremes.

Everything is compared with mpmath, in both types, to the precision of the type.
"""

import mpmath
import numpy as np
import pytest
from mpmath import exp, expm1, log, log1p, mpf

from ibpcl import noise
from ibpcl.inference.backend import backend
from ibpcl.primitives import concrete, kumaraswamy, likelihoods, weibull

TYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
SAMPLES = 2000


@pytest.fixture(autouse=True)
def digits():
    with mpmath.workdps(200):
        yield


def uniform(dtype):
    return noise.uniform(noise.Key(2, 0, 0, 0), (SAMPLES, 1)).astype(dtype)


def logistic(dtype):
    return noise.logistic(noise.Key(2, 0, 0, 0), (SAMPLES, 1, 1)).astype(dtype)


def close(found, exact, dtype, digits=40):
    """Compare within ``digits`` units in the last place of the type."""
    found = mpf(np.asarray(found).item())
    assert abs(found - exact) <= digits * mpf(float(np.finfo(dtype).eps)) * abs(exact), (
        float(found),
        float(exact),
    )


@TYPES
@pytest.mark.parametrize("tau", [0.01, 0.05, 0.5, 1.0, 5.0])
@pytest.mark.parametrize("logit_theta", [-200.0, -5.0, 0.0, 30.0])
def test_the_density_of_relaxed_masks_is_finite_at_its_samples(tau, logit_theta, dtype):
    z, _ = concrete.sample(logistic(dtype), np.full((SAMPLES, 1, 1), logit_theta, dtype), tau)
    log_q, cache = concrete.log_density(z, np.full_like(z, logit_theta), tau)
    assert np.isfinite(log_q).all()
    assert all(
        np.isfinite(part).all() for part in concrete.log_density_vjp(np.ones_like(log_q), cache)
    )


@TYPES
@pytest.mark.parametrize("z", [0.0, 1.0])
def test_a_mask_at_an_end_is_replaced_by_the_next_number(z, dtype):
    log_q, _ = concrete.log_density(np.full(1, z, dtype), np.full(1, -1, dtype), 0.5)
    inside = mpf(float(np.nextafter(dtype(1), dtype(0)))) if z else mpf(float(np.finfo(dtype).tiny))
    y = log(inside) - log1p(-inside)
    r = -1 - y / 2
    close(log_q, log(mpf(0.5)) + r - 2 * log1p(exp(r)) - log(inside) - log1p(-inside), dtype)


@TYPES
@pytest.mark.parametrize("a", [0.01, 0.2, 1.0, 50.0])
@pytest.mark.parametrize("b", [0.001, 0.05, 1.0, 50.0])
def test_the_density_of_sticks_is_finite_at_their_samples(a, b, dtype):
    a = np.array([a], dtype)
    b = np.array([b], dtype)
    log_v, _ = kumaraswamy.sample(uniform(dtype), a, b)
    assert (log_v < 0).all()
    log_p, cache = kumaraswamy.log_density(log_v, a, b)
    assert np.isfinite(log_p).all()
    assert all(
        np.isfinite(part).all() for part in kumaraswamy.log_density_vjp(np.ones_like(log_p), cache)
    )


@TYPES
@pytest.mark.parametrize("k", [1e-3, 0.05, 1.0, 1e4])
def test_the_density_of_a_concentration_is_finite_at_its_samples(k, dtype):
    k = np.array([k], dtype)
    scale = np.array([30], dtype)
    alpha, _ = weibull.sample(uniform(dtype), k, scale)
    assert ((alpha > 0) & np.isfinite(alpha)).all()
    log_p, _ = weibull.log_density(alpha, k, scale)
    assert np.isfinite(log_p).all()


@TYPES
@pytest.mark.parametrize("k", [10.0, 1e4])
@pytest.mark.parametrize("steps", [1, 5, 1000])
def test_the_density_of_a_concentration_keeps_its_digits_near_the_scale(k, steps, dtype):
    scale = dtype(30.0)
    alpha = dtype(30.0) * (1 + steps * np.finfo(dtype).eps)
    _, cache = weibull.log_density(
        np.array([[alpha]], dtype), np.array([k], dtype), np.array([scale])
    )
    _, _, dscale = weibull.log_density_vjp(np.ones((1, 1), dtype), cache)
    excess = expm1(mpf(k) * log(mpf(float(alpha)) / mpf(30)))
    close(dscale, mpf(k) * excess / 30, dtype)


@TYPES
@pytest.mark.parametrize("k", [10.0, 1e4, 1e8])
def test_the_slope_of_a_concentration_keeps_its_digits_near_its_root(k, dtype):
    """At E[alpha] = g / h the slope at the scale is 0, up to the rounding of the mean."""
    scale = dtype(3.0 * (1 + 1e-4))
    _, cache = weibull.kl_to_gamma(np.array([k], dtype), np.array([scale]), 3.0, 1.0)
    _, dscale = weibull.kl_to_gamma_vjp(dtype(1), cache)
    mean = mpf(float(scale)) * mpmath.gamma(1 + 1 / mpf(float(dtype(k))))
    exact = (mean - 3) / mpf(float(scale))
    assert abs(mpf(dscale.item()) - exact) <= 4 * mpf(float(np.finfo(dtype).eps))


@TYPES
@pytest.mark.parametrize("a", [1e-3, 1.0, 30.0, 1e4])
@pytest.mark.parametrize("near", [0.0, 1e-6, -1e-4, 0.03, -0.3])
@pytest.mark.parametrize("b", [0.3, 0.999, 1.0, 1.0001, 1.2, 40.0])
def test_the_divergence_of_sticks_keeps_its_digits_near_equality(a, near, b, dtype):
    a, b, alpha = dtype(a), dtype(b), dtype(a * (1 + near))
    found, _ = kumaraswamy.kl_to_beta(np.array([a]), np.array([b]), alpha)
    a, b, alpha = (mpf(float(number)) for number in (a, b, alpha))
    exact = (
        (1 - alpha / a) * -(mpmath.digamma(b + 1) + mpmath.euler) + log(a * b / alpha) - 1 + 1 / b
    )
    assert found >= 0
    close(found, exact, dtype)


@TYPES
def test_the_slope_of_a_stick_near_one_keeps_its_digits(dtype):
    log_v = dtype(-1e-30)
    a = dtype(2)
    b = dtype(3)
    _, cache = kumaraswamy.log_density(np.array([[log_v]]), np.array([a]), np.array([b]))
    _, da, _ = kumaraswamy.log_density_vjp(np.ones((1, 1), dtype), cache)
    v = mpf(float(log_v))
    close(da, mpf(1) / 2 + v - 2 * v * exp(2 * v) / -expm1(2 * v), dtype)


@TYPES
def test_the_estimated_divergence_has_the_slope_of_its_prior_only(dtype):
    """The two paths through the posterior cancel exactly, however cold the prior is."""
    tau = 10.0
    prior_tau = 1e-3
    ell = dtype(1.7)
    theta = dtype(0.4)
    pi = dtype(-0.6)
    _, cache = concrete.kl_monte_carlo(
        np.full((1, 1, 1), ell), np.full((1, 1, 1), theta), np.full((1, 1), pi), tau, prior_tau
    )
    slope, _ = concrete.kl_monte_carlo_vjp(np.ones(1, dtype), cache)
    ell, theta, pi = (mpf(float(number)) for number in (ell, theta, pi))
    r = pi - mpf(prior_tau) * (theta + ell) / mpf(tau)
    close(slope, -mpmath.tanh(r / 2) * mpf(prior_tau) / mpf(tau), dtype)


NUMBA = pytest.mark.skipif(backend("numba").name != "numba", reason="needs Numba")


@NUMBA
@pytest.mark.parametrize("gap", [0.5, 10.0, 17.0, 40.0])
def test_compiled_likelihoods_keep_digits_of_confident_outputs(gap):
    compiled = backend("numba").likelihoods
    logits = np.float32([[[gap, 0, -1]]])
    one = np.ones((1, 1), np.float32)
    for label in range(3):
        value, cache = compiled.categorical(logits, np.array([label]))
        exact, exact_cache = likelihoods.categorical(logits.astype(float), np.array([label]))
        np.testing.assert_allclose(value, exact, rtol=2e-6)
        np.testing.assert_allclose(
            compiled.categorical_vjp(one, cache),
            likelihoods.categorical_vjp(one, exact_cache),
            rtol=2e-6,
        )
    targets = np.array([[1, 0, 0.25]])
    _, cache = compiled.bernoulli_logistic(logits, targets.astype(np.float32))
    _, exact_cache = likelihoods.bernoulli_logistic(logits.astype(float), targets)
    np.testing.assert_allclose(
        compiled.bernoulli_logistic_vjp(one, cache),
        likelihoods.bernoulli_logistic_vjp(one, exact_cache),
        rtol=2e-6,
    )


@NUMBA
@pytest.mark.parametrize(
    ("theta", "pi"),
    [
        (-40, -120),
        (-40, -150),
        (0, -100),
        (2, -86),
        (40, -80),
        (1000, -80),
        (90, 170),
        (0, 95),
        (-60, 60),
        (-39, 39),
        (3, -38),
    ],
)
def test_the_compiled_divergence_of_masks_is_right_far_out(theta, pi):
    """The other column and row have ordinary masks, which must be right beside the extreme ones."""
    zero = np.zeros((2, 2, 2), np.float32)
    kernel = backend("numba").masked_weights
    logit_pi = np.array([[pi, 0.5], [pi, -0.5]], np.float32)
    rho = np.array([[theta - pi, 0.25], [0.25, -0.75]], np.float32)
    (w, activity, divergence), cache = kernel.sample(
        zero, zero, zero[0], zero[0], rho, logit_pi, 1.0
    )
    slopes = kernel.sample_vjp((0 * w, 0 * activity, np.ones_like(divergence)), cache)

    def parts(s, d, k):
        t = mpf(float(rho[d, k])) + mpf(float(logit_pi[s, k]))
        p = mpf(float(logit_pi[s, k]))
        on = 1 / (1 + exp(-t))
        off = 1 / (1 + exp(t))
        kl = on * (log1p(exp(-p)) - log1p(exp(-t))) + off * (log1p(exp(p)) - log1p(exp(t)))
        return kl, on * off * (t - p), on * off * (t - p) + 1 / (1 + exp(-p)) - on

    places = [(s, d, k) for s in range(2) for d in range(2) for k in range(2)]
    for s in range(2):
        close(divergence[s], sum(parts(*place)[0] for place in places if place[0] == s), np.float32)
    for d, k in ((0, 0), (1, 1)):
        exact = parts(0, d, k)[1] + parts(1, d, k)[1]
        assert abs(mpf(slopes[2][d, k].item()) - exact) <= 1e-5 * abs(exact) + mpf(10) ** -37
    for s, k in ((0, 0), (1, 1)):
        exact = [parts(s, d, k)[2] for d in range(2)]
        assert (
            abs(mpf(slopes[3][s, k].item()) - sum(exact))
            <= 1e-5 * sum(map(abs, exact)) + mpf(10) ** -37
        )


@NUMBA
def test_the_gradient_of_a_scalar_is_a_scalar():
    raw = np.float32([1.0, 2.0])
    kernel = backend("numba").sticks
    _, cache = kernel.divergence(raw, raw, np.float32(3))
    for one in (np.float32(2), np.array(2, np.float32)):
        assert [np.shape(part) for part in kernel.divergence_vjp(one, cache)] == [(2,), (2,), ()]
