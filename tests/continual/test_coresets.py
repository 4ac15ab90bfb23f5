"""Coreset selection: against a plain definition of the traversal, and bad arguments."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibpcl.continual import coresets
from ibpcl.errors import TrainingError


@given(st.integers(0, 1000), st.integers(1, 9))
def test_k_center_is_the_farthest_first_traversal(seed, size):
    x = np.random.default_rng(seed).normal(size=(9, 3))
    rows = coresets.k_center(x, size, np.random.default_rng(seed))
    assert len(set(rows)) == size
    for m in range(1, size):
        distances = [min(np.linalg.norm(point - x[row]) for row in rows[:m]) for point in x]
        assert distances[rows[m]] == pytest.approx(max(distances))


def test_equal_examples_are_still_chosen_once_each():
    rows = coresets.k_center(np.ones((6, 4), np.float32), 6, np.random.default_rng(0))
    assert sorted(rows) == list(range(6))


@pytest.mark.parametrize("select", coresets.SELECTIONS.values())
def test_a_coreset_larger_than_the_task_is_refused(select):
    with pytest.raises(TrainingError, match=r"4 of 3 examples.*coreset_size"):
        select(np.zeros((3, 2)), 4, np.random.default_rng(0))
    with pytest.raises(ValueError, match="size must be at least 1, got 0"):
        select(np.zeros((3, 2)), 0, np.random.default_rng(0))


@given(st.integers(0, 1000))
def test_random_chooses_without_replacement_by_seed(seed):
    x = np.zeros((20, 2))
    first, second = (coresets.random(x, 7, np.random.default_rng(seed)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert len(set(first)) == 7
