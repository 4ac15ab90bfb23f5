"""The Gaussian's divergence: its sign, its zero and its digits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibpcl.primitives import gaussian

REAL = st.floats(-3, 3)
SCALE = st.floats(-1.5, 1.5)


@given(REAL, SCALE, REAL, SCALE)
def test_the_divergence_is_never_negative_and_zero_for_equals(
    mu, log_sigma, prior_mu, prior_log_sigma
):
    mu, log_sigma, prior_mu, prior_log_sigma = (
        np.array([v]) for v in (mu, log_sigma, prior_mu, prior_log_sigma)
    )
    assert gaussian.kl(mu, log_sigma, prior_mu, prior_log_sigma)[0] >= 0
    assert gaussian.kl(mu, log_sigma, mu, log_sigma)[0] == 0


def test_nearly_equal_scales_keep_their_digits():
    # KL = d^2 for a small log ratio d of the scales, far below the last place of 1.
    divergence, _ = gaussian.kl(np.zeros(1), np.array([1e-7]), np.zeros(1), np.zeros(1))
    assert divergence == pytest.approx(1e-14, rel=1e-2)
