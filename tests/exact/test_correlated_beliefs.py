"""Correlated beliefs about two weights, and their distance from the exact posterior."""

import numpy as np
import pytest
from test_points import closed_form, tasks_of

from ibpcl.exact import approximations, distances
from ibpcl.exact.tiny import TinyNetwork

LINE = TinyNetwork(1, likelihood="gaussian", prior_sigma=1.3, noise_sigma=0.8)


@pytest.mark.parametrize("name", ["VCL, full", "VCL, rank 1"])
def test_on_two_weights_it_is_exact_for_a_linear_model_at_every_task(name):
    data = tasks_of(LINE)
    for t, belief in enumerate(approximations.carry(approximations.RULES[name], LINE, data), 1):
        mean, covariance = closed_form(LINE, data[:t])
        np.testing.assert_allclose(belief.mean, mean, atol=2e-5)
        np.testing.assert_allclose(belief.covariance, covariance, atol=2e-5)


def test_the_distance_of_the_exact_gaussian_is_zero_and_others_are_further():
    data = tasks_of(LINE)[:1]
    mean, covariance = closed_form(LINE, data)
    exact = approximations.Belief(mean, covariance, {})
    assert abs(distances.distance(LINE, exact, data)) < 1e-6
    shifted = exact._replace(mean=mean + 0.1)
    inverse = np.linalg.inv(covariance)
    expected = 0.005 * inverse.sum()
    assert distances.distance(LINE, shifted, data) == pytest.approx(expected, rel=1e-5)


def test_correlations_bring_vcl_closer_to_the_exact_posterior():
    data = distances.stream()
    last = {
        name: approximations.carry(approximations.RULES[name], distances.NETWORK, data)[-1]
        for name in ("VCL", "VCL, full")
    }
    far = {name: distances.distance(distances.NETWORK, q, data) for name, q in last.items()}
    assert 0 < far["VCL, full"] < 0.2 * far["VCL"]
