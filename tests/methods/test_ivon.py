"""IVON: exact for quadratic losses, VCL's optimum elsewhere, positive precisions."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibpcl.continual.loop import learn_stream
from ibpcl.exact import approximations
from ibpcl.exact.tiny import TinyNetwork
from ibpcl.methods import ivon
from ibpcl.methods.ivon import IVON, RULES, Settings, next_precision, update
from ibpcl.models.elbo import Prior

COMMON = {
    "hidden": (8,),
    "epochs": 4,
    "batch": 20,
    "rate": 0.2,
    "curvature_rate": 0.1,
    "prediction_samples": 10,
}
SMALL = Settings(**COMMON)


def learner_of(seed=1, **changes):
    return IVON(dataclasses.replace(SMALL, **changes), seed, "numpy")


def quadratic(seed=0, size=4):
    """A loss (w - c)' A (w - c) / 2 with its expected gradients at mu and log sigma, a prior, and
    the exact mean-field posterior: that with the diagonal of the precision.
    """
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, size))
    hessian = root @ root.T + 0.1 * np.eye(size)
    center = rng.normal(size=size)
    prior = Prior(rng.normal(size=size), rng.normal(scale=0.3, size=size), {})

    def slopes(mu, log_sigma):
        return hessian @ (mu - center), np.exp(2 * log_sigma) * np.diag(hessian)

    precision = hessian + np.diag(np.exp(-2 * prior.log_sigma))
    mean = np.linalg.solve(precision, hessian @ center + np.exp(-2 * prior.log_sigma) * prior.mu)
    return slopes, prior, mean, np.diag(precision)


@pytest.mark.parametrize("rule", RULES)
def test_on_a_quadratic_loss_it_finds_the_exact_mean_field_posterior(rule):
    slopes, prior, mean, precision = quadratic()
    mu, log_sigma = np.zeros(4), np.full(4, -2.0)
    for _ in range(3000):
        mu, log_sigma = update(mu, log_sigma, *slopes(mu, log_sigma), prior, 0.1, 0.1, rule)
    np.testing.assert_allclose(mu, mean, rtol=1e-9)
    np.testing.assert_allclose(np.exp(-2 * log_sigma), precision, rtol=1e-9)


def test_one_newton_step_is_exact_if_the_hessian_is_diagonal():
    rng = np.random.default_rng(1)
    curvature, center = np.exp(rng.normal(size=5)), rng.normal(size=5)
    prior = Prior(rng.normal(size=5), rng.normal(size=5), {})
    mu, log_sigma = rng.normal(size=5), rng.normal(size=5)
    dmu, dlog_sigma = curvature * (mu - center), np.exp(2 * log_sigma) * curvature
    mu, log_sigma = update(mu, log_sigma, dmu, dlog_sigma, prior, 1.0, 1.0, "von")
    precision = curvature + np.exp(-2 * prior.log_sigma)
    mean = (curvature * center + np.exp(-2 * prior.log_sigma) * prior.mu) / precision
    np.testing.assert_allclose(np.exp(-2 * log_sigma), precision)
    np.testing.assert_allclose(mu, mean)


@pytest.mark.parametrize("wrong", [(-1, 1, 0), (1, -1, 0), (1, 1, 1)])
def test_with_a_wrong_sign_or_without_the_prior_it_does_not(wrong):
    """The control: minus the gradient, minus the Hessian, or a flat prior."""
    slopes, prior, mean, precision = quadratic()
    by_mean, by_hessian, flat = wrong
    if flat:
        prior = prior._replace(log_sigma=prior.log_sigma + 20)
    mu, log_sigma = np.zeros(4), np.full(4, -2.0)
    with np.errstate(all="ignore"):
        for _ in range(500):
            dmu, dlog_sigma = slopes(mu, log_sigma)
            mu, log_sigma = update(
                mu, log_sigma, by_mean * dmu, by_hessian * dlog_sigma, prior, 0.1, 0.1
            )
    assert not np.allclose(mu, mean, rtol=1e-2) or not np.allclose(
        np.exp(-2 * log_sigma), precision, rtol=1e-2
    )


def test_elsewhere_its_fixed_point_is_the_optimum_of_vcl():
    """Both expectations by quadrature, for two tasks of a logistic regression."""
    rng = np.random.default_rng(3)
    network = TinyNetwork(1, prior_sigma=1.5)
    tasks = [(rng.normal(t, 1, (30, 1)), rng.integers(0, 2, 30)) for t in range(2)]
    found = [
        approximations.carry(approximations.RULES[name], network, tasks) for name in ("IVON", "VCL")
    ]
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one.mean, other.mean, atol=1e-6)
        np.testing.assert_allclose(one.covariance, other.covariance, atol=1e-6)


def test_the_gradient_at_log_sigma_is_the_expected_hessian_times_the_variance():
    rng = np.random.default_rng(4)
    network = TinyNetwork(1)
    x, y = rng.normal(size=(20, 1)), rng.integers(0, 2, 20)
    mu, log_sigma = np.array([0.3, -0.2]), np.array([-0.5, 0.1])

    def slope(mu):
        return approximations.expected_loss(network, mu, log_sigma, x, y)[1]

    step = 1e-5
    hessian = [
        (slope(mu + e) - slope(mu - e))[i] / (2 * step) for i, e in enumerate(step * np.eye(2))
    ]
    dlog_sigma = approximations.expected_loss(network, mu, log_sigma, x, y)[2]
    np.testing.assert_allclose(np.exp(-2 * log_sigma) * dlog_sigma, hessian, rtol=1e-7)


@given(st.floats(1e-3, 1e6), st.floats(-1e6, 1e6), st.floats(0, 1))
def test_a_precision_is_at_most_halved_in_a_step(precision, target, rate):
    found = next_precision(np.array([precision]), np.array([target]), rate)[0]
    assert found >= 0.5 * precision * (1 - 1e-12)
    assert next_precision(np.array([precision]), np.array([target]), rate, "von", 0.3)[0] >= 0.3


@given(st.floats(1e-3, 1e3), st.floats(0, 1))
def test_a_precision_at_its_target_stays(precision, rate):
    at = np.array([precision])
    for rule in RULES:
        np.testing.assert_allclose(next_precision(at, at, rate, rule, 0.0), at)


def test_the_running_mean_of_equal_gradients_is_the_gradient():
    """Its start is corrected, so momentum changes nothing if the gradient does not change."""
    prior = Prior(np.zeros(3), np.zeros(3), {})
    gradient = np.array([1.0, -2.0, 0.5, 0.1, 0.2, 0.3])
    vector = np.concatenate([np.ones(3), np.zeros(3)])
    ends = []
    for momentum in (0.0, 0.9):
        move = ivon.step_rule(dataclasses.replace(SMALL, momentum=momentum), prior, 10)
        state = ivon.State(np.zeros(6), np.zeros(6), 0)
        moved = vector
        for _ in range(3):
            moved, state = move(moved, gradient, state, 0.1, 1.0)
        ends.append(moved)
    np.testing.assert_allclose(*ends)
    assert np.abs(ends[0] - vector).min() > 1e-3


def test_weights_without_information_keep_their_prior(make_task):
    """An input that is always 0: the means return to the prior, and so do the deviations."""
    task = make_task(0)
    x = task.x_train.copy()
    x[:, 3] = 0
    learner = learner_of(epochs=60, prior_sigma=0.7, start_sigma=0.3)
    learner.learn(dataclasses.replace(task, x_train=x), progress=False)
    network, vector = learner.assemble(0)
    layer = network.layout.layers(vector)["hidden0"]
    np.testing.assert_allclose(np.exp(layer["weight.log_sigma"][3]), 0.7, rtol=1e-3)
    np.testing.assert_allclose(layer["weight.mu"][3], 0, atol=1e-3)
    assert np.exp(layer["weight.log_sigma"]).min() < 0.5


@pytest.mark.parametrize("changes", [{}, {"local": False, "samples": 2}, {"hidden": (10, 9)}])
def test_it_learns_and_keeps(make_task, changes):
    *_, last = learn_stream(
        learner_of(epochs=15, **changes), [make_task(t) for t in range(2)], progress=False
    )
    assert last.accuracy[1].min() > 0.85
    assert {record.phase for record in last.history} == {"ivon"}
