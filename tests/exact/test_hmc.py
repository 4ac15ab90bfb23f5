"""Hamiltonian Monte Carlo: its integrator, its draws against known posteriors, its diagnostics."""

import numpy as np
import pytest

from ibpcl.exact import hmc, points, tiny
from ibpcl.exact.tiny import TinyNetwork

PRECISION = np.array([[2.0, -1.2], [-1.2, 1.5]])
MEAN = np.array([0.5, -1.0])


def gaussian(w):
    """Log density and gradient of a correlated Gaussian."""
    pull = (w - MEAN) @ PRECISION
    return -((w - MEAN) * pull).sum(axis=1) / 2, -pull


def energy(density, w, r):
    return (r * r).sum(axis=1) / 2 - density(w)[0]


def network_density(seed=0):
    rng = np.random.default_rng(seed)
    network = TinyNetwork(2, hidden=3)
    return tiny.with_gradient(network, [(rng.normal(size=(9, 2)), rng.integers(0, 2, 9))])


def start_of(density, size, seed=1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(5, size)), rng.normal(size=(5, size))


def test_a_trajectory_is_reversible():
    density = network_density()
    w, r = start_of(density, 13)
    scale = np.linspace(0.5, 2, 13)
    ahead, momentum, _ = hmc.leapfrog(density, w, r, 0.1, scale, 20)
    back, returned, _ = hmc.leapfrog(density, ahead, -momentum, 0.1, scale, 20)
    assert np.abs(ahead - w).max() > 0.5
    np.testing.assert_allclose(back, w, atol=1e-12)
    np.testing.assert_allclose(returned, -r, atol=1e-12)


def test_the_energy_error_is_of_second_order():
    density = network_density()
    w, r = start_of(density, 13)
    errors = []
    for steps in (20, 40, 80):  # the same time of 1.0
        end, momentum, _ = hmc.leapfrog(density, w, r, 1 / steps, np.linspace(0.5, 1.5, 13), steps)
        errors.append(np.abs(energy(density, end, momentum) - energy(density, w, r)).mean())
    ratios = np.array(errors[:-1]) / errors[1:]
    assert (np.abs(ratios - 4) < 0.2).all(), errors


def test_a_step_preserves_volume():
    def flow(v):
        w, r, _ = hmc.leapfrog(gaussian, v[None, :2], v[None, 2:], 0.3, np.array([1.0, 0.4]), 3)
        return np.concatenate([w[0], r[0]])

    v = np.array([0.2, -0.4, 1.0, 0.3])
    steps = 1e-6 * np.eye(4)
    jacobian = np.array([(flow(v + h) - flow(v - h)) / 2e-6 for h in steps])
    assert abs(np.linalg.det(jacobian) - 1) < 1e-8


def test_draws_from_a_gaussian_have_its_moments():
    chains = hmc.sample(gaussian, 3 * np.random.default_rng(0).normal(size=(6, 2)), 800, 300, 8)
    draws = chains.draws
    covariance = np.linalg.inv(PRECISION)
    assert (hmc.split_rhat(draws) < 1.01).all() and chains.divergences == 0
    assert (np.abs(draws.mean(axis=(0, 1)) - MEAN) < 4 * hmc.standard_error(draws)).all()
    centred = draws - MEAN
    for i, j in ((0, 0), (0, 1), (1, 1)):
        product = centred[..., i] * centred[..., j]
        error = hmc.standard_error(product)
        assert abs(product.mean() - covariance[i, j]) < 4 * error < 0.2
    assert 0.7 < chains.acceptance < 0.95  # the target is 0.8


def test_draws_agree_with_the_grid():
    rng = np.random.default_rng(3)
    network = TinyNetwork(1, prior_sigma=1.5)
    x = rng.uniform(0.5, 2, (25, 1))
    y = (rng.random(25) < 0.6).astype(int)
    exact, _ = points.update(network, points.grid(network, -7, 7, cells=161), x, y)
    density = tiny.with_gradient(network, [(x, y)])
    chains = hmc.sample(density, 1.5 * rng.normal(size=(16, 2)), 500, 150, 8, seed=5)
    draws = chains.draws
    assert (hmc.split_rhat(draws) < 1.01).all()
    mean = points.mean(exact)
    covariance = points.covariance(exact)
    assert (np.abs(draws.mean(axis=(0, 1)) - mean) < 4 * hmc.standard_error(draws)).all()
    for i, j in ((0, 0), (0, 1), (1, 1)):
        product = (draws[..., i] - mean[i]) * (draws[..., j] - mean[j])
        error = hmc.standard_error(product)
        assert abs(product.mean() - covariance[i, j]) < 4 * error < 0.2 * abs(covariance[i, j])
    new = np.array([[-1.0], [0.0], [3.0]])
    ones = np.ones(3, int)
    probabilities = np.exp(
        points.log_likelihoods(network, points.of_draws(draws), new, ones)
    ).reshape(*draws.shape[:2], 3)
    expected = np.exp(points.log_predictive(network, exact, new, ones))
    error = hmc.standard_error(probabilities)
    assert (np.abs(probabilities.mean(axis=(0, 1)) - expected) < 4 * error).all()
    assert error.max() < 0.01


def test_a_wrong_gradient_costs_acceptance():
    def wrong(w):
        log_p, gradient = gaussian(w)
        return log_p, -gradient

    start = np.random.default_rng(0).normal(size=(4, 2))
    right = hmc.sample(gaussian, start, 50, 60, 8)
    broken = hmc.sample(wrong, start, 50, 60, 8)
    assert broken.step_size < right.step_size / 5


def test_a_seed_determines_the_draws():
    start = np.zeros((3, 2))
    one, same = (hmc.sample(gaussian, start, 20, 20, 5, seed=4).draws for _ in range(2))
    other = hmc.sample(gaussian, start, 20, 20, 5, seed=5).draws
    assert (one == same).all() and not (one == other).any()


def test_divergences_are_reported():
    def cliff(w):
        """A funnel: steps that suit its mouth are far too long for its neck."""
        scale = np.exp(w[:, :1] / 2)
        log_p = -(w[:, 0] ** 2) / 18 - w[:, 0] / 2 - (w[:, 1] / scale[:, 0]) ** 2 / 2
        first = -w[:, 0] / 9 - 0.5 + (w[:, 1] / scale[:, 0]) ** 2 / 2
        return log_p, np.stack([first, -w[:, 1] / scale[:, 0] ** 2], axis=1)

    with pytest.warns(RuntimeWarning, match="trajectories diverged"):
        chains = hmc.sample(cliff, np.random.default_rng(0).normal(size=(8, 2)), 300, 60, 10)
    assert chains.divergences > 0


def test_independent_draws_count_fully_and_correlated_ones_do_not():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(2000, 4))
    assert 0.85 < hmc.effective_size(noise) / noise.size < 1.15
    rho = 0.8
    chain = np.zeros_like(noise)
    for i in range(1, len(noise)):
        chain[i] = rho * chain[i - 1] + noise[i]
    expected = (1 - rho) / (1 + rho)  # of an autoregressive process
    assert 0.8 * expected < hmc.effective_size(chain) / chain.size < 1.2 * expected
    both = hmc.effective_size(np.stack([noise, chain], axis=-1))
    np.testing.assert_allclose(both, [hmc.effective_size(noise), hmc.effective_size(chain)])


def test_rhat_finds_chains_that_disagree_or_drift():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(500, 4))
    assert abs(hmc.split_rhat(noise) - 1) < 0.01
    assert hmc.split_rhat(noise + np.arange(4)) > 1.2
    assert hmc.split_rhat(noise + np.linspace(0, 3, 500)[:, None]) > 1.2
    assert hmc.split_rhat(np.ones((10, 2))) == 1
    assert hmc.split_rhat(np.ones((10, 2)) * [1, 2]) == np.inf


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"start": np.zeros(2)}, "at least 2 chains"),
        ({"start": np.zeros((1, 2))}, "at least 2 chains"),
        ({"draws": 2}, "draws must be at least 4"),
        ({"warm_up": 5}, "warm_up must be at least 20"),
        ({"steps": 0}, "steps must be at least 1"),
        ({"target": 1.0}, "target"),
        ({"start": np.full((2, 2), np.nan)}, "not finite at start"),
    ],
)
def test_bad_arguments_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        hmc.sample(**({"density": gaussian, "start": np.zeros((2, 2))} | changes))
