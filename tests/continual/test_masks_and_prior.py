"""Hard masks, their storage, and the masked prior of Eq. 11."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import array_shapes, arrays

from ibpcl.continual import masks, prior

MASKS = arrays(bool, array_shapes(min_dims=2, max_dims=2, max_side=20))


@given(MASKS)
def test_a_packed_mask_is_the_same_mask_at_one_bit_a_weight(mask):
    packed = masks.pack(mask)
    np.testing.assert_array_equal(masks.unpack(packed), mask)
    assert packed.bits.nbytes == -(-mask.size // 8)


def test_the_union_is_all_that_any_task_uses():
    a, b = np.array([[1, 0, 0]], bool), np.array([[0, 0, 1]], bool)
    np.testing.assert_array_equal(masks.union([a, b], (1, 3)), [[True, False, True]])
    assert not masks.union([], (2, 2)).any()


def test_the_cut_follows_rho_and_the_sticks():
    rho = np.array([[0.0, 0.0, 0.0], [20.0, 20.0, 20.0], [-20.0, -20.0, -20.0]])
    # Sticks of mean 1/2: pi falls through one half, so without an offset only what lies before that is on.
    u = np.full((4, 3), 0.5)
    probability = masks.posterior_probability(rho, np.full(3, 3.0), np.ones(3), u)
    np.testing.assert_allclose(probability[0], np.cumprod(np.full(3, 0.5 ** (1 / 3))), rtol=1e-9)
    np.testing.assert_array_equal(masks.threshold(probability), [[1, 1, 0], [1, 1, 1], [0, 0, 0]])


@given(MASKS)
def test_the_masked_prior_is_a_choice_between_two(used):
    shape = used.shape
    posterior = {name: np.full(shape if name.startswith("weight") else shape[1], 7.0) for name in prior.GAUSSIAN}
    masked = prior.select(used, posterior, prior.standard(shape, 0.5))
    np.testing.assert_array_equal(masked["weight.mu"], np.where(used, 7.0, 0.0))
    np.testing.assert_allclose(masked["weight.log_sigma"], np.where(used, 7.0, np.log(0.5)), rtol=1e-6)
    np.testing.assert_array_equal(masked["bias.mu"], np.where(used.any(axis=0), 7.0, 0.0))


def test_a_task_of_another_width_is_named():
    from ibpcl.continual.learner import check_inputs
    with pytest.raises(ValueError, match=r"x must have shape \(N, 4\), got \(2, 3\)"):
        check_inputs("f", np.zeros((2, 3)), 4, 0, 1)
    with pytest.raises(ValueError, match=r"unknown task_id 1; 0 \.\.\. 0"):
        check_inputs("f", np.zeros((2, 4)), 4, 1, 1)
