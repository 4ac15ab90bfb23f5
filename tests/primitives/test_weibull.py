"""The Weibull posterior of alpha in the case in which it is also a Gamma distribution."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibpcl.primitives import weibull

SHAPE = st.floats(0.7, 20.0)
SCALE = st.floats(0.2, 60.0)


def one(value):
    return np.array([value])


@given(SCALE)
def test_an_exponential_is_both_a_weibull_and_a_gamma(scale):
    assert weibull.kl_to_gamma(one(1.0), one(scale), 1.0, 1 / scale)[0] == pytest.approx(
        0, abs=1e-12
    )
