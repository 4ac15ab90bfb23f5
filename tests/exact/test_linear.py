"""Bayesian linear regression: sequential equals joint in any order, with the evidence of a grid and
of a Gaussian, and other rules do not.
"""

import itertools

import numpy as np
import pytest

from ibpcl.exact import linear
from ibpcl.verify.distributions.statistics import quadrature

SIZES = (30, 7, 1, 50)


@pytest.fixture(scope="module")
def tasks():
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(6, 3))
    found = []
    for examples in SIZES:
        phi = rng.normal(size=(examples, 6))
        found.append((phi, phi @ weights + 0.4 * rng.normal(size=(examples, 3))))
    return found


def in_sequence(tasks, update=linear.update):
    belief = linear.prior(6, 3, prior_sigma=1.5, noise_sigma=0.4)
    evidences = []
    for phi, y in tasks:
        after = update(belief, phi, y)
        evidences.append(linear.log_evidence(belief, after, y))
        belief = after
    return belief, sum(evidences)


def together(tasks):
    return in_sequence([[np.concatenate(arrays) for arrays in zip(*tasks, strict=True)]])


def test_any_order_of_the_tasks_gives_the_joint_posterior(tasks):
    joint, evidence = together(tasks)
    for order in itertools.permutations(range(len(SIZES))):
        belief, summed = in_sequence([tasks[t] for t in order])
        np.testing.assert_allclose(belief.precision, joint.precision, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(linear.mean(belief), linear.mean(joint), rtol=1e-10, atol=1e-10)
        assert summed == pytest.approx(evidence, rel=1e-10)


def test_one_example_at_a_time_gives_it_as_well(tasks):
    single = [(phi[i : i + 1], y[i : i + 1]) for phi, y in tasks for i in range(len(phi))]
    belief, evidence = in_sequence(single)
    joint, whole = together(tasks)
    np.testing.assert_allclose(linear.mean(belief), linear.mean(joint), rtol=1e-10, atol=1e-10)
    assert evidence == pytest.approx(whole, rel=1e-10)


def test_the_diagonal_of_the_precision_alone_depends_on_the_order(tasks):
    """The wrong twin: a mean-field posterior is not the joint one, and orders differ."""

    def diagonal(belief, phi, y):
        before = linear.mean(belief)
        after = linear.update(belief, phi, y)
        precision = np.diag(np.diag(after.precision))
        mean = linear.mean(after)
        assert np.isfinite(before).all()
        return after._replace(precision=precision, shift=precision @ mean)

    one = linear.mean(in_sequence(tasks, diagonal)[0])
    other = linear.mean(in_sequence(tasks[::-1], diagonal)[0])
    joint = linear.mean(together(tasks)[0])
    assert np.abs(one - other).max() > 1e-3 and np.abs(one - joint).max() > 1e-3


def test_the_posterior_is_ridge_regression(tasks):
    phi, y = (np.concatenate(arrays) for arrays in zip(*tasks, strict=True))
    ridge = 0.4**2 / 1.5**2
    extended = np.concatenate([phi, np.sqrt(ridge) * np.eye(6)])
    targets = np.concatenate([y, np.zeros((6, 3))])
    expected = np.linalg.lstsq(extended, targets, rcond=None)[0]
    np.testing.assert_allclose(linear.mean(together(tasks)[0]), expected, atol=1e-12)


def test_the_evidence_is_that_of_the_marginal_gaussian(tasks):
    phi, y = tasks[0]
    before = linear.prior(6, 3, 1.5, 0.4)
    covariance = 0.4**2 * np.eye(len(phi)) + 1.5**2 * phi @ phi.T
    log_determinant = np.linalg.slogdet(2 * np.pi * covariance)[1]
    quadratic = (y * np.linalg.solve(covariance, y)).sum()
    expected = -(3 * log_determinant + quadratic) / 2
    found = linear.log_evidence(before, linear.update(before, phi, y), y)
    assert found == pytest.approx(expected, rel=1e-11)


def test_the_posterior_density_is_that_of_bayes_rule_by_integration():
    before = linear.prior(1, 1, 0.8, 0.5)
    phi = np.array([[0.7], [-1.2], [2.0]])
    y = np.array([[0.3], [-1.0], [0.8]])
    after = linear.update(before, phi, y)

    def joint(w):
        residual = (y - phi * w) / 0.5
        likelihood = np.exp(-(residual**2).sum() / 2) / (0.5 * np.sqrt(2 * np.pi)) ** 3
        return likelihood * np.exp(-((w / 0.8) ** 2) / 2) / (0.8 * np.sqrt(2 * np.pi))

    evidence = quadrature(joint, (-6, 6), [0.4])[0]
    mean = quadrature(lambda w: w * joint(w), (-6, 6), [0.4])[0] / evidence
    variance = quadrature(lambda w: (w - mean) ** 2 * joint(w), (-6, 6), [0.4])[0] / evidence
    assert linear.mean(after).item() == pytest.approx(mean, abs=1e-10)
    assert 1 / after.precision.item() == pytest.approx(variance, abs=1e-10)
    assert linear.log_evidence(before, after, y) == pytest.approx(np.log(evidence), abs=1e-9)


def test_the_predictive_density_is_the_evidence_of_a_new_example(tasks):
    belief, _ = together(tasks)
    rng = np.random.default_rng(1)
    phi = rng.normal(size=(4, 6))
    y = rng.normal(size=(4, 3))
    mean, variance = linear.predictive(belief, phi)
    log_p = -(np.log(2 * np.pi * variance)[:, None] + (y - mean) ** 2 / variance[:, None]) / 2
    for i in range(4):
        rows = slice(i, i + 1)
        after = linear.update(belief, phi[rows], y[rows])
        found = linear.log_evidence(belief, after, y[rows])
        assert found == pytest.approx(log_p[i].sum(), abs=1e-9)


def test_the_variance_of_the_weights_never_grows(tasks):
    belief = linear.prior(6, 3)
    for phi, y in tasks:
        after = linear.update(belief, phi, y)
        difference = np.linalg.inv(belief.precision) - np.linalg.inv(after.precision)
        assert np.linalg.eigvalsh(difference).min() > -1e-12
        belief = after


@pytest.mark.parametrize("sigmas", [{"prior_sigma": 0.0}, {"noise_sigma": -1.0}])
def test_a_standard_deviation_must_be_positive(sigmas):
    with pytest.raises(ValueError, match=next(iter(sigmas))):
        linear.prior(2, 1, **sigmas)


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="phi must have shape"):
        linear.update(linear.prior(2, 1), np.ones((3, 3)), np.ones((3, 1)))
    with pytest.raises(ValueError, match="phi must have shape"):
        linear.update(linear.prior(2, 1), np.ones((3, 2)), np.ones((4, 1)))
