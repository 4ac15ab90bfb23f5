"""Hard masks, their storage, and the masked prior of Eq. 11."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from ibpcl.continual import masks, prior
from ibpcl.inference.backend import backend
from ibpcl.models.likelihoods import Softmax
from ibpcl.models.masked import Masked, sticks
from ibpcl.models.network import classifier
from ibpcl.noise import Key, uniform
from ibpcl.numerics import softplus
from ibpcl.paper.networks import network

MASKS = arrays(bool, array_shapes(min_dims=2, max_dims=2, max_side=20))


@given(MASKS)
def test_a_packed_mask_unpacks_to_the_same_mask(mask):
    packed = np.packbits(mask)
    np.testing.assert_array_equal(masks.unpack(packed, mask.shape), mask)
    assert packed.nbytes == -(-mask.size // 8)


@given(
    inputs=st.integers(1, 6),
    units=st.integers(1, 9),
    sharing=st.integers(1, 9),
    seed=st.integers(0, 99),
    broken=st.booleans(),
)
def test_a_mask_that_weights_share_is_stored_once_and_comes_back(
    inputs, units, sharing, seed, broken
):
    layer = Masked("conv0", inputs * sharing, units, sharing=sharing)
    rng = np.random.default_rng(seed)
    mask = layer.expand(rng.random(layer.mask_shape) < 0.5).copy()
    if broken:
        mask[0, 0] = not mask[0, 0]
    packed = masks.pack_layer(mask, layer)
    np.testing.assert_array_equal(masks.unpack_layer(packed, layer), mask)
    stored = mask.size if broken and sharing > 1 else inputs * units
    assert packed.nbytes == -(-stored // 8)


def test_the_union_contains_the_weights_of_all_tasks():
    a = np.array([[1, 0, 0]], bool)
    b = np.array([[0, 0, 1]], bool)
    np.testing.assert_array_equal(masks.union([a, b], (1, 3)), [[True, False, True]])
    assert not masks.union([], (2, 2)).any()


def test_the_cut_follows_rho_and_the_sticks():
    rho = np.array([[0.0, 0.0, 0.0], [20.0, 20.0, 20.0], [-20.0, -20.0, -20.0]])
    # Sticks with mean 1/2: pi decreases below one half, so without an offset only the columns
    # before that are on.
    u = np.full((4, 3), 0.5)
    probability = masks.posterior_probability(rho, np.full(3, 3.0), np.ones(3), u)
    np.testing.assert_allclose(probability[0], np.cumprod(np.full(3, 0.5 ** (1 / 3))), rtol=1e-9)
    np.testing.assert_array_equal(probability > 0.5, [[1, 1, 0], [1, 1, 1], [0, 0, 0]])


@given(MASKS)
def test_the_masked_prior_is_a_choice_between_two(used):
    shape = used.shape
    posterior = {
        name: np.full(shape if name.startswith("weight") else shape[1], 7.0)
        for name in prior.GAUSSIAN
    }
    initial = {
        name: np.full_like(value, np.log(0.5) if "sigma" in name else 0.0)
        for name, value in posterior.items()
    }
    masked = prior.select(used, posterior, initial)
    np.testing.assert_array_equal(masked["weight.mu"], np.where(used, 7.0, 0.0))
    np.testing.assert_allclose(
        masked["weight.log_sigma"], np.where(used, 7.0, np.log(0.5)), rtol=1e-6
    )
    np.testing.assert_array_equal(masked["bias.mu"], np.where(used.any(axis=0), 7.0, 0.0))


@given(MASKS, st.integers(0, 3), st.integers(0, 3))
def test_a_smaller_posterior_is_in_the_corner_of_the_prior(used, down, right):
    small = used.shape
    large = (used.shape[0] + down, used.shape[1] + right)
    posterior, initial = (
        {
            name: np.full(shape if name.startswith("weight") else shape[1], value)
            for name in prior.GAUSSIAN
        }
        for shape, value in ((small, 7.0), (large, 2.0))
    )
    # names that it lacks come from the other
    del posterior["weight.log_sigma"]
    masked = prior.select(masks.union([used], large), posterior, initial)
    np.testing.assert_array_equal(
        masked["weight.mu"][: small[0], : small[1]], np.where(used, 7.0, 2.0)
    )
    assert (masked["weight.mu"] == 7).sum() == used.sum() and (
        masked["weight.log_sigma"] == 2
    ).all()
    np.testing.assert_array_equal(
        masked["bias.mu"], [*np.where(used.any(axis=0), 7.0, 2.0), *[2.0] * right]
    )


def test_the_cut_is_at_probability_one_half():
    model, vector, _, _, _, _ = network()
    found = masks.probable(model, vector, 5, Key(0, 0, 0, 0), backend("numpy"))
    for i, name in enumerate(model.masked):
        own = model.layout.layers(vector)[name]
        u = uniform(Key(0, 0, 0, i), (5, *model.masked[name].shape[1:]))
        a = softplus(own["raw_a"])
        b = softplus(own["raw_b"])
        np.testing.assert_array_equal(
            found[name], masks.posterior_probability(own["rho"], a, b, u) > 0.5
        )
        assert found[name].any() and not found[name].all()


def test_inputs_of_another_width_are_refused():
    from ibpcl.continual.learner import check_inputs

    with pytest.raises(ValueError, match=r"x must have shape \(N, 4\), got \(2, 3\)"):
        check_inputs("f", np.zeros((2, 3)), 4, 0, 1)
    with pytest.raises(ValueError, match="task_id 1"):
        check_inputs("f", np.zeros((2, 4)), 4, 1, 1)


def test_sampled_masks_are_on_as_often_as_their_probability():
    model = classifier(3, (4,), Softmax(), 2, Masked)
    vector = np.random.default_rng(0).normal(0, 0.5, model.layout.size).astype(np.float32)
    draws = 600
    drawn = [
        masks.sampled(model, vector, Key(0, 0, step, 0), backend("numpy"))["hidden0"]
        for step in range(draws)
    ]
    own = model.layout.layers(vector)["hidden0"]
    (a, b), _ = sticks(own["raw_a"], own["raw_b"])
    u = np.random.default_rng(1).uniform(size=(20000, 4))
    probability = masks.posterior_probability(own["rho"], a, b, u)
    assert drawn[0].dtype == bool
    # four standard errors of both means; a Bernoulli variable has a deviation of at most 1/2
    tolerance = 4 * 0.5 * (draws**-0.5 + 20000**-0.5)
    np.testing.assert_allclose(np.mean(drawn, axis=0), probability, atol=tolerance)
    # rows of equal probability differ, because every entry has its own noise
    vector[model.layout.block("rho")] = 0
    for_rows = [
        masks.sampled(model, vector, Key(0, 0, step, 0), backend("numpy"))["hidden0"]
        for step in range(20)
    ]
    assert any((mask != mask[0]).any() for mask in for_rows)
