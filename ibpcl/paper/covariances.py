r"""Checks of correlated Gaussian weights: their draws, and their divergence.

Both use points with exact moments, so neither has an error of sampling.  The divergence is the mean
of a polynomial of degree two, which three nodes of Gauss and Hermite per weight integrate exactly.
"""

import itertools

import numpy as np

from ibpcl.paper.checks import agrees, verifies
from ibpcl.primitives import full_covariance, low_rank

WEIGHTS = 3
RANK = 2


def _case(name, rng):
    """Return mean, log standard deviations and correlations, as the primitive takes them."""
    mu, log_sigma = 0.5 * rng.standard_normal((2, WEIGHTS))
    shape = (RANK, WEIGHTS) if name == "low_rank" else (WEIGHTS, WEIGHTS)
    return mu, log_sigma, rng.standard_normal(shape)


def _covariance(name, log_sigma, correlations):
    """Return the covariance matrix of the weights."""
    if name == "low_rank":
        return np.diag(np.exp(2 * log_sigma)) + correlations.T @ correlations
    root = np.diag(np.exp(log_sigma)) + np.tril(correlations, -1)
    return root @ root.T


def _log_density(w, mu, covariance):
    """Return the log density of a Gaussian at points of shape (N, M)."""
    shifted = w - mu
    squared = np.sum(shifted * np.linalg.solve(covariance, shifted.T).T, axis=1)
    return -0.5 * (squared + np.linalg.slogdet(covariance)[1] + len(mu) * np.log(2 * np.pi))


@verifies("samplers", "{}.sample", "full_covariance", "low_rank")
def draws(name, seed):
    """Noise with mean zero and covariance one gives weights with their mean and covariance."""
    mu, log_sigma, correlations = _case(name, np.random.default_rng(seed))
    width = RANK if name == "low_rank" else WEIGHTS
    noise = np.array(list(itertools.product((-1.0, 1.0), repeat=width)))
    if name == "low_rank":  # the common parts alone
        mean = np.zeros(WEIGHTS)
        covariance = correlations.T @ correlations
        v, _ = low_rank.sample(noise, correlations)
    else:
        mean = mu
        covariance = _covariance(name, log_sigma, correlations)
        v, _ = full_covariance.sample(noise, mu, log_sigma, correlations)
    found = np.cov(v.T, bias=True)
    return agrees("mean and covariance", [v.mean(axis=0), *found], [mean, *covariance])


@verifies("divergences", "{}.kl", "full_covariance", "low_rank")
def divergence(name, seed):
    """KL[N || N] of correlated weights, as the mean of the log ratio under q."""
    rng = np.random.default_rng(seed)
    q = _case(name, rng)
    p = _case(name, rng)
    covariance = _covariance(name, *q[1:])
    nodes, weights = np.polynomial.hermite_e.hermegauss(3)
    points = np.array(list(itertools.product(nodes, repeat=WEIGHTS)))
    mass = np.array([np.prod(each) for each in itertools.product(weights, repeat=WEIGHTS)])
    w = q[0] + points @ np.linalg.cholesky(covariance).T
    ratio = _log_density(w, q[0], covariance) - _log_density(w, p[0], _covariance(name, *p[1:]))
    primitive = full_covariance if name == "full_covariance" else low_rank
    return agrees("quadrature", primitive.kl(*q, *p)[0], mass @ ratio / mass.sum())
