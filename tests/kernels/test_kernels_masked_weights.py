"""The fused masked weights against the reference, in value and in gradient."""

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import expit

from ibpcl.kernels import masked_weights
from ibpcl.primitives import bernoulli
from ibpcl.primitives import masked_weights as reference

NAMES = ("w", "activity", "divergence", "dmu", "dlog_sigma", "drho", "dlogit_pi")
KL = ("bernoulli", "concrete")
# Rows around one and two blocks of 64; columns around one strip of 512.
problems = st.fixed_dictionaries(
    {
        "S": st.integers(0, 3),
        "D": st.sampled_from([0, 1, 2, 5, 63, 64, 65, 130]),
        "K": st.sampled_from([0, 1, 3, 8, 17, 50, 255, 513]),
        "mask_kl": st.sampled_from(KL),
        "tau": st.sampled_from([0.1, 0.5, 1.0, 5.0]),
        "spread": st.sampled_from([0.01, 1.0, 10.0]),
        "seed": st.integers(0, 2**32 - 1),
    }
)


def inputs(S, D, K, tau, spread, seed, mask_kl):
    rng = np.random.default_rng(seed)
    point = (
        rng.standard_normal((S, D, K)),
        rng.logistic(size=(S, D, K)),
        rng.standard_normal((D, K)),
        rng.normal(-2, 1, (D, K)),
        rng.normal(0, spread, (D, K)),
        rng.normal(-1, spread, (S, K)),
        tau,
        mask_kl,
    )
    dout = (rng.standard_normal((S, D, K)), rng.standard_normal((S, K)), rng.standard_normal(S))
    if D > 1:
        # The largest mask of a column gets the gradient of its activity: where rounding to float32
        # makes two of them equal, single and double precision may choose different ones.
        z = expit((point[1] + point[4] + point[5][:, None]) / tau)
        second, first = np.partition(z, [D - 2, D - 1], axis=1)[:, D - 2 :].swapaxes(0, 1)
        dout[1][first - second < 1e-6] = 0
    return point, dout


def run(module, point, dout, dtype):
    point = [value.astype(dtype) if isinstance(value, np.ndarray) else value for value in point]
    out, cache = module.sample(*point)
    return (*out, *module.sample_vjp(tuple(d.astype(dtype) for d in dout), cache))


@given(problems)
@example(
    {
        "S": 2,
        "D": 63,
        "K": 513,
        "mask_kl": "bernoulli",
        "tau": 0.5,
        "spread": 1.0,
        "seed": 235,
    }
)
@settings(deadline=None, max_examples=60)
def test_values_and_gradients_equal_the_reference(problem):
    (point, dout), dtype, tolerance = inputs(**problem), np.float32, 3e-5
    # The reference receives the rounded inputs, in float64.
    rounded = [value.astype(dtype) if isinstance(value, np.ndarray) else value for value in point]
    expected = run(reference, rounded, [d.astype(dtype) for d in dout], np.float64)
    for name, value, exact in zip(
        NAMES, run(masked_weights, point, dout, dtype), expected, strict=True
    ):
        assert value.dtype == dtype and value.shape == exact.shape, name
        scale = np.abs(exact).max(initial=1.0)
        np.testing.assert_allclose(
            value, exact, rtol=tolerance, atol=tolerance * scale, err_msg=name
        )


def test_a_small_sigma_costs_digits_of_its_own_gradient_only():
    point, dout = inputs(3, 40, 20, 1.0, 1.0, 5, "bernoulli")
    for log_sigma in (-3.0, -9.0):
        small = (*point[:3], np.full((40, 20), log_sigma), *point[4:])
        exact = run(reference, small, dout, np.float64)
        found = run(masked_weights, small, dout, np.float32)
        for name, value, right in zip(NAMES, found, exact, strict=True):
            scale = np.abs(right).max()
            # dlog_sigma may lose the digits that mean / sigma costs; all other results may not.
            allowed = 1e-6 * max(1, 1 / (np.exp(log_sigma))) if name == "dlog_sigma" else 1e-5
            assert np.abs(value - right).max() <= allowed * scale, name


@pytest.mark.parametrize("mask_kl", KL)
def test_equal_posterior_and_prior_have_no_divergence(mask_kl, dtype=np.float32):
    point, _ = inputs(2, 70, 30, 1.0, 0.0, 1, mask_kl)
    out, _ = masked_weights.sample(
        *(v.astype(dtype) if isinstance(v, np.ndarray) else v for v in point)
    )
    assert np.array_equal(out[2], np.zeros(2, dtype))


@pytest.mark.parametrize("rows", [1, 4, 9])
def test_saturated_odds_give_the_right_limits(rows):
    zero = np.zeros((1, rows, 4), np.float32)
    rho = np.tile(np.array([300.0, -300.0, 300.0, -300.0], np.float32), (rows, 1))
    logit_pi = np.array([[2.0, 2.0, -80.0, 80.0]], np.float32)
    (w, activity, divergence), cache = masked_weights.sample(
        zero, zero, zero[0] + 1, zero[0], rho, logit_pi, 1.0
    )
    assert w.ravel().tolist() == pytest.approx([1, 0, 1, 0] * rows)
    # A mask that is certainly on costs -log pi; one that is certainly off, -log(1 - pi).
    assert divergence[0] == pytest.approx(
        rows * (np.log1p(np.exp(-2)) + np.log1p(np.exp(2)) + 80 + 80)
    )
    assert all(
        np.isfinite(part).all()
        for part in masked_weights.sample_vjp((w, activity, divergence), cache)
    )


@pytest.mark.parametrize("odds", [90.0, 100.0, 300.0])
def test_nearly_cancelling_extreme_odds_are_right(odds):
    """Where 1 - pi is smaller than all normal numbers nothing becomes 0 / 0, and the divergence is
    the reference's.
    """
    zero = np.zeros((1, 4, 2), np.float32)
    signs = np.array([[1.0, -1.0]], np.float32)
    for near in (-12.0, 0.0, 12.0):
        rho = np.tile(signs * np.float32(odds + near), (4, 1))
        out, cache = masked_weights.sample(zero, zero, zero[0], zero[0], rho, -odds * signs, 1.0)
        assert all(
            np.isfinite(part).all() for part in (*out, *masked_weights.sample_vjp(out, cache))
        )
        exact, _ = bernoulli.kl(
            (rho + -odds * signs)[None].astype(float), (-odds * signs).astype(float)
        )
        assert out[2][0] == pytest.approx(exact[0], rel=1e-5)


def test_nan_is_propagated():
    for spoiled in range(6):
        point, dout = inputs(2, 3, 4, 1.0, 1.0, 0, "bernoulli")
        point[spoiled].ravel()[0] = np.nan
        results = run(masked_weights, point, dout, np.float32)
        assert any(np.isnan(part).any() for part in results)


# Rows 5 and 100 are in different blocks.
@pytest.mark.parametrize(
    "equal", [(5, 6), (5, 10), (6, 10), (5, 100), (0, 64), (0, 5, 63, 64, 128)]
)
def test_the_first_of_equal_masks_gets_the_gradient(equal):
    logistic = np.full((1, 130, 100), -4.0, np.float32)
    logistic[:, equal] = 2.0
    zero = np.zeros((1, 130, 100), np.float32)
    _, cache = masked_weights.sample(
        zero, logistic, zero[0], zero[0], zero[0], zero[:, 0], 1.0, "concrete"
    )
    drho = masked_weights.sample_vjp(
        (zero, np.ones((1, 100), np.float32), np.zeros(1, np.float32)), cache
    )[2]
    assert (np.flatnonzero(drho.any(axis=1)) == [equal[0]]).all() and drho[equal[0]].all()


def test_arguments_are_neither_changed_nor_required_to_be_contiguous():
    point, dout = inputs(2, 66, 9, 0.5, 1.0, 3, "bernoulli")
    point, dout = (
        [value.astype(np.float32) if isinstance(value, np.ndarray) else value for value in values]
        for values in (point, dout)
    )
    before = [np.copy(value) for value in (*point[:6], *dout)]
    expected = run(masked_weights, point, dout, np.float32)
    strided = [
        np.repeat(v, 2, axis=-1)[..., ::2] if isinstance(v, np.ndarray) else v for v in point
    ]
    out, cache = masked_weights.sample(*strided)
    found = (
        *out,
        *masked_weights.sample_vjp(tuple(np.repeat(d, 2, axis=-1)[..., ::2] for d in dout), cache),
    )
    assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
    assert all(np.array_equal(a, b) for a, b in zip((*point[:6], *dout), before, strict=True))


def test_impossible_arguments_are_refused():
    point, _ = inputs(1, 2, 3, 1.0, 1.0, 0, "bernoulli")
    with pytest.raises(ValueError, match=r"masked_weights\.sample: mask_kl must be"):
        masked_weights.sample(*(np.float32(value) for value in point[:-1]), "gaussian")


def exact_divergence(rho, logit_pi):
    """Return the divergence of two Bernoulli variables to fifty digits."""
    with mpmath.workdps(120):
        rho = mpmath.mpf(float(rho))
        prior = mpmath.mpf(float(logit_pi))
        theta, pi = (1 / (1 + mpmath.exp(-x)) for x in (rho + prior, prior))
        return theta * mpmath.log(theta / pi) + (1 - theta) * mpmath.log((1 - theta) / (1 - pi))


@pytest.mark.parametrize("logit_pi", [-86.0, -40.0, -9.0, -1.0, 0.0, 0.5, 3.0, 20.0, 86.0])
@pytest.mark.parametrize("sign", [-1, 1])
def test_the_divergence_is_right_from_equal_masks_to_certain_ones(logit_pi, sign):
    for size in (0.0, 1e-6, 1e-3, 0.05, 0.3, 0.49, 0.51, 1.0, 3.0, 10.0, 30.0, 79.0, 86.0):
        zero = np.zeros((1, 1, 1), np.float32)
        rho = np.full((1, 1), sign * size, np.float32)
        prior = np.full((1, 1), logit_pi, np.float32)
        found = masked_weights.sample(zero, zero, rho, rho, rho, prior, 1.0)[0][2][0]
        exact = exact_divergence(rho[0, 0], prior[0, 0])
        assert abs(found - exact) <= 3e-6 * exact + 1e-37, (size, float(found), float(exact))


def test_many_nearly_equal_masks_have_a_small_right_divergence():
    rng = np.random.default_rng(0)
    rho = (1e-5 * rng.standard_normal((200, 200))).astype(np.float32)
    prior = np.zeros((1, 200), np.float32)
    zero = np.zeros((1, 200, 200), np.float32)
    found = masked_weights.sample(zero, zero, rho, rho, rho, prior, 1.0)[0][2][0]
    # pi (1 - pi) rho^2 / 2, up to the fourth order
    exact = (rho.astype(float) ** 2 / 8).sum()
    assert found == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize("logit", [-60.0, -30.0, -5.0, 0.0, 5.0, 17.0, 30.0, 60.0])
def test_a_mask_that_rounds_to_one_or_zero_keeps_its_gradient(logit):
    one = np.ones((1, 1, 1), np.float32)
    zero = np.zeros((1, 1), np.float32)
    (_, activity, divergence), cache = masked_weights.sample(
        0 * one, logit * one, zero + 2, zero, zero, zero, 1.0
    )
    drho = masked_weights.sample_vjp((one, 0 * activity, 0 * divergence), cache)[2][0, 0]
    assert drho == pytest.approx(
        2 * float(mpmath.exp(-abs(logit)) / (1 + mpmath.exp(-abs(logit))) ** 2), rel=1e-5
    )


def test_other_types_use_the_reference():
    point, dout = inputs(2, 5, 6, 0.5, 1.0, 3, "bernoulli")
    for one, other in zip(
        run(masked_weights, point, dout, np.float64),
        run(reference, point, dout, np.float64),
        strict=True,
    ):
        assert one.dtype == np.float64 and np.array_equal(one, other)
