"""Shares of weights against plain loops over sets, and in cases with known values."""

import doctest
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ibpcl.evaluation import structure

# (T, D, K)
MASKS = hnp.arrays(bool, st.tuples(st.integers(1, 5), st.integers(1, 4), st.integers(1, 4)))


def as_sets(masks):
    return [set(map(tuple, np.argwhere(mask))) for mask in masks]


def ratio(part, whole):
    return part / whole if whole else math.nan


def test_the_examples_in_the_docstrings():
    result = doctest.testmod(structure)
    assert result.attempted >= 10 and result.failed == 0


@given(MASKS)
def test_shares_against_sets(masks):
    sets = as_sets(masks)
    size = masks[0].size
    T = len(sets)
    masks = list(masks)
    assert structure.density(masks) == pytest.approx([len(s) / size for s in sets])
    unions = [set().union(*sets[:t]) for t in range(T + 1)]
    assert structure.capacity_used(masks) == pytest.approx([len(u) / size for u in unions[1:]])
    assert structure.capacity_added(masks) == pytest.approx(
        [len(sets[t] - unions[t]) / size for t in range(T)]
    )
    expected = [ratio(len(sets[t] & unions[t]), len(sets[t])) if t else math.nan for t in range(T)]
    assert structure.sharing_with_earlier(masks) == pytest.approx(expected, nan_ok=True)
    expected = np.array([[ratio(len(a & b), len(a)) for b in sets] for a in sets])
    assert structure.sharing_matrix(masks) == pytest.approx(expected, nan_ok=True)
    chance = structure.chance_sharing(masks)
    assert all(
        chance[i, j] == pytest.approx(1 if i == j else len(sets[j]) / size)
        for i in range(T)
        for j in range(T)
    )


@given(MASKS)
def test_one_layer_against_loops(masks):
    mask = masks[0]
    D, K = mask.shape
    assert structure.input_density(mask) == pytest.approx([sum(mask[d]) / K for d in range(D)])


@given(MASKS, st.data())
def test_layers_count_together(masks, data):
    """Cutting a layer's units into two layers changes nothing, for weights are only counted."""
    cut = data.draw(st.integers(1, max(1, masks.shape[2] - 1)))
    if masks.shape[2] > 1:
        layers = [[mask[:, :cut], mask[:, cut:]] for mask in masks]
        for share in (structure.density, structure.capacity_used, structure.sharing_matrix):
            np.testing.assert_allclose(share(layers), share(list(masks)))


def test_independent_masks_share_as_chance_says():
    rng = np.random.default_rng(0)
    size = 200_000
    densities = (0.1, 0.5, 0.9)
    masks = [rng.random((400, size // 400)) < p for p in densities]
    # standard error for the smallest mask, at most
    error = 0.5 / np.sqrt(0.1 * size)
    np.testing.assert_allclose(
        structure.sharing_matrix(masks), structure.chance_sharing(masks), atol=4 * error
    )


def test_equal_masks_share_all_and_disjoint_ones_nothing():
    one = np.eye(4, dtype=bool)
    assert (structure.sharing_matrix([one, one]) == 1).all() and structure.sharing_with_earlier(
        [one, one]
    )[1] == 1
    np.testing.assert_array_equal(structure.sharing_matrix([one, ~one]), np.eye(2))
    assert structure.capacity_used([one, ~one])[-1] == 1


def test_an_expanded_network_counts_the_weights_that_did_not_exist_as_unused():
    small = np.ones((2, 1), dtype=bool)
    large = np.ones((2, 4), dtype=bool)
    assert structure.density([small, large]).tolist() == [0.25, 1.0]
    assert structure.sharing_matrix([small, large]).tolist() == [[1.0, 1.0], [0.25, 1.0]]
    with pytest.raises(ValueError, match=r"may only grow.*got \(2, 1\) for task 1 after \(2, 4\)"):
        structure.density([large, small])


@pytest.mark.parametrize(
    ("masks", "what"),
    [
        ([], "at least one mask, got none"),
        ([[]], "at least one mask, got none"),
        ([np.full((2, 2), 0.5)], r"hard, True or False, got float64 values in 0\.5"),
        (
            [np.ones((2, 2)), [np.ones((2, 2)), np.ones((2, 2))]],
            "must have 1 layers as the first has, got 2 for task 1",
        ),
        ([np.ones((2, 3)), np.ones((3, 2))], "may only grow"),
        ([np.ones((0, 3))], "at least 1"),
    ],
)
def test_invalid_masks_are_refused(masks, what):
    with pytest.raises(ValueError, match=r"structure\.density: .*" + what):
        structure.density(masks)


def test_dead_and_live_inputs():
    mean_pixel = np.array([0.0, 0.0, 0.05, 0.5, 0.9])
    mask = np.array([[0, 0], [1, 0], [1, 1], [1, 0], [1, 1]])
    assert structure.density_dead_and_live(mask, mean_pixel) == (0.25, 0.75)
    assert structure.density_dead_and_live(mask, mean_pixel, live_above=0.6) == (0.25, 1.0)
    dead, live = structure.density_dead_and_live(mask, np.full(5, 0.05))
    assert math.isnan(dead) and math.isnan(live)


@given(hnp.arrays(bool, (6, 3)), hnp.arrays(float, 6, elements=st.sampled_from([0, 0.25, 0.5, 1])))
def test_pixel_correlation_against_its_formula(mask, mean_pixel):
    x = mask.mean(axis=1)
    y = mean_pixel
    x = x - x.mean()
    y = y - y.mean()
    expected = (
        (x * y).sum() / np.sqrt((x * x).sum() * (y * y).sum())
        if np.ptp(mask.sum(1)) and np.ptp(y)
        else math.nan
    )
    assert structure.pixel_correlation(mask, mean_pixel) == pytest.approx(
        expected, abs=1e-12, nan_ok=True
    )


@pytest.mark.parametrize("function", [structure.density_dead_and_live, structure.pixel_correlation])
def test_pixels_that_do_not_fit_are_refused(function):
    with pytest.raises(ValueError, match=r"mean_pixel must have shape \(2,\)"):
        function(np.eye(2), np.zeros(3))
    with pytest.raises(ValueError, match="mean_pixel must be finite, got 1 NaN"):
        function(np.eye(2), np.array([0.0, np.nan]))
