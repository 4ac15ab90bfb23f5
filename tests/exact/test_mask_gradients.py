"""Gradients of means over masks: the exact one, and exact limits of its estimators."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from ibpcl.exact import mask_gradients as lab
from ibpcl.exact.tiny import TinyNetwork
from ibpcl.numerics import sigmoid

PHI = np.array([0.4, -1.3, 2.0])
NETWORK = TinyNetwork(2, 0, 1)
RNG = np.random.default_rng(0)
W = RNG.normal(size=3)
LOSS = lab.of_network(NETWORK, W, RNG.normal(size=(5, 2)), np.array([0, 1, 1, 0, 1]))
UNBIASED = {
    "reinforce": lab.reinforce,
    "reinforce with a baseline": partial(lab.reinforce, baseline=3.0),
    "arm": lab.arm,
    "disarm": lab.disarm,
}
ORDER = 24  # of the quadrature of smooth estimates
PARTS = 6


def of_one_mask(estimator, phi=0.7, coordinates=1, **options):
    """Return the moments of an estimate for one mask and the loss (z - 0.45)**2."""
    logit_theta = np.array([phi])
    edges = lab.cells(logit_theta, PARTS)
    edges += [np.linspace(0, 1, 9)] * (coordinates - 1)
    return lab.moments(lambda u: estimator(SQUARE, logit_theta, u, **options), edges, ORDER)


SQUARE = lab.Loss(lambda b: (b[:, 0] - 0.45) ** 2, lambda b: 2 * (b - 0.45))


def test_the_gradient_of_one_mask_is_the_difference_of_its_two_values():
    for phi in (-3.0, 0.0, 1.2):
        mean, gradient = lab.exact(SQUARE, np.array([phi]))
        theta = sigmoid(phi)
        assert mean == pytest.approx(theta * 0.55**2 + (1 - theta) * 0.45**2, rel=1e-14)
        slope = theta * (1 - theta) * (0.55**2 - 0.45**2)
        np.testing.assert_allclose(gradient, [slope], rtol=1e-12)


def test_the_exact_gradient_is_the_derivative_of_the_exact_mean():
    step = 1e-6
    for i in range(len(PHI)):
        moved = step * np.eye(len(PHI))[i]
        above, below = (lab.exact(LOSS, PHI + sign * moved)[0] for sign in (1, -1))
        assert (above - below) / (2 * step) == pytest.approx(lab.exact(LOSS, PHI)[1][i], rel=1e-7)


def test_the_slopes_of_a_network_are_those_of_its_loss():
    z = RNG.uniform(size=(4, 3))
    moved = 1e-6 * RNG.normal(size=3)
    change = LOSS.value(z + moved) - LOSS.value(z - moved)
    np.testing.assert_allclose(change / 2, LOSS.slope(z) @ moved, rtol=1e-6)


@pytest.mark.parametrize("name", UNBIASED)
def test_an_unbiased_estimator_has_the_exact_gradient_as_its_mean(name):
    found = lab.moments(lambda u: UNBIASED[name](LOSS, PHI, u), lab.cells(PHI))
    np.testing.assert_allclose(found.mean, lab.exact(LOSS, PHI)[1], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", UNBIASED)
def test_the_moments_are_those_of_draws(name):
    u = RNG.uniform(size=(200_000, 3))
    g = UNBIASED[name](LOSS, PHI, u)
    found = lab.moments(lambda u: UNBIASED[name](LOSS, PHI, u), lab.cells(PHI))
    error = np.sqrt(found.variance / len(u))
    assert np.all(np.abs(g.mean(axis=0) - found.mean) < 5 * error)
    np.testing.assert_allclose(g.var(axis=0), found.variance, rtol=0.05)


def test_disarm_is_the_mean_of_arm_given_the_two_masks():
    # between two edges both masks stay the same, and arm is linear in the noise
    for phi in (-1.3, 0.7):
        logit_theta = np.array([phi])
        for low, high in pairwise(lab.cells(logit_theta)[0]):
            u = np.linspace(low, high, 9)[1:-1, None]
            disarm = lab.disarm(SQUARE, logit_theta, u)
            assert np.ptp(disarm) == 0
            arm = lab.arm(SQUARE, logit_theta, u)
            np.testing.assert_allclose(arm.mean(axis=0), disarm[0], rtol=1e-12, atol=1e-15)


def test_disarm_has_the_smaller_variance():
    moments = {
        name: lab.moments(lambda u, name=name: UNBIASED[name](LOSS, PHI, u), lab.cells(PHI))
        for name in ("arm", "disarm")
    }
    assert np.all(moments["disarm"].variance < moments["arm"].variance)


def test_rebar_without_its_control_variate_is_the_score_function():
    noise = RNG.uniform(size=(50, 6))
    u, _ = np.split(noise, 2, axis=1)
    rebar = lab.rebar(LOSS, PHI, noise, 0.5, eta=0.0)
    np.testing.assert_array_equal(rebar, lab.reinforce(LOSS, PHI, 1 - u))


@pytest.mark.parametrize("tau", [0.5, 1.5])
@pytest.mark.parametrize("eta", [0.5, 1.0])
def test_rebar_is_unbiased_at_every_temperature(tau, eta):
    found = of_one_mask(lab.rebar, coordinates=2, tau=tau, eta=eta)
    np.testing.assert_allclose(found.mean, lab.exact(SQUARE, np.array([0.7]))[1], rtol=1e-6)


def test_the_bias_of_the_relaxation_vanishes_with_the_temperature_and_its_variance_grows():
    exact = lab.exact(SQUARE, np.array([0.7]))[1]
    found = [of_one_mask(lab.relaxed, tau=tau) for tau in (0.3, 0.1, 0.03)]
    biases = [abs(one.mean - exact).item() for one in found]
    assert biases[0] > biases[1] > biases[2] > 0
    variances = [one.variance.item() for one in found]
    assert variances[0] < variances[1] < variances[2]


def test_the_straight_through_estimate_is_right_for_linear_losses_and_biased_for_others():
    linear = lab.Loss(lambda b: b @ W, lambda b: np.broadcast_to(W, b.shape))
    for loss, is_right in ((linear, True), (LOSS, False)):
        found = lab.moments(lambda u, loss=loss: lab.straight_through(loss, PHI, u), lab.cells(PHI))
        exact = lab.exact(loss, PHI)[1]
        assert np.allclose(found.mean, exact, rtol=1e-12) == is_right


def test_what_is_too_large_is_refused():
    with pytest.raises(ValueError, match="12"):
        lab.exact(LOSS, np.zeros(13))
    with pytest.raises(ValueError, match="sample"):
        lab.moments(lambda u: u, [np.linspace(0, 1, 101)] * 4)
