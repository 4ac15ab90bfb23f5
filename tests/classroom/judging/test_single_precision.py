"""What is allowed in float32: the change by rounding each input once, and no loss beyond it."""

import numpy as np
import pytest

from ibpcl.classroom.judging import forwards
from ibpcl.classroom.judging.comparing import FLOAT32_RTOL


@pytest.mark.parametrize("seed", range(5))
def test_another_order_of_a_sum_is_right_and_lost_digits_are_not(seed):
    x = np.random.default_rng(seed).standard_normal(50).astype(np.float32)
    x[-1] = np.float32(0.003) - x[:-1].sum(dtype=np.float32)  # the terms cancel
    wide = x.astype(float)
    truth = wide.sum()

    def error(value):
        return abs(float(value) - truth) / abs(truth)

    allowed = forwards._allowed(1e-8, 0.0, error(forwards._rounded_once(wide).sum()))
    assert error(np.cumsum(x[::-1], dtype=np.float32)[-1]) <= allowed
    assert error(x.astype(np.float16).astype(float).sum()) > allowed


def test_where_rounding_costs_nothing_nothing_more_is_allowed():
    assert forwards._allowed(1e-8, 1e-7, 1e-7) == FLOAT32_RTOL
    assert forwards._allowed(1e-8, 0.0, 0.5) == FLOAT32_RTOL  # too few digits: not counted
    assert forwards._allowed(1e-8, 0.0, float("nan")) == FLOAT32_RTOL
    assert forwards._rounded_once(3) == 3
