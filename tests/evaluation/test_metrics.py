"""Metrics with known values; those that the paper does not define also against plain loops."""

import doctest
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ibpcl.evaluation import metrics

FRACTION = st.floats(0, 1)
MATRICES = st.integers(1, 7).flatmap(lambda T: hnp.arrays(float, (T, T), elements=FRACTION))
ALL = [
    metrics.average_accuracy,
    metrics.average_accuracy_so_far,
    metrics.mean_accuracy_over_pairs,
    metrics.backward_transfer,
    metrics.forward_transfer,
    metrics.accuracy_drop,
    metrics.forgetting,
]


def lower_only(R):
    return np.where(np.tri(len(R), dtype=bool), R, np.nan)


def test_the_examples_in_the_docstrings():
    result = doctest.testmod(metrics)
    assert result.attempted >= 9 and result.failed == 0


@given(st.integers(1, 6), st.integers(1, 9), st.data())
def test_accuracy_counts(C, N, data):
    probabilities = data.draw(hnp.arrays(float, (N, C), elements=FRACTION))
    labels = data.draw(hnp.arrays(np.int64, N, elements=st.integers(0, C - 1)))
    right = sum(max(range(C), key=lambda c: probabilities[n, c]) == labels[n] for n in range(N))
    assert metrics.accuracy(probabilities, labels) == pytest.approx(right / N)


@pytest.mark.parametrize(
    ("probabilities", "labels", "what"),
    [
        (np.ones(3), [0, 0, 0], r"probabilities must have shape \(N, C\)"),
        (np.ones((0, 2)), [], "N and C at least 1"),
        (np.ones((2, 2)), [0], r"labels must have shape \(2,\)"),
        (np.ones((2, 2)), [0.0, 1.0], "labels must be integers"),
        (np.ones((2, 2)), [0, 2], r"labels must lie in 0\.\.1, got 0\.\.2"),
        (np.ones((2, 2)), [-1, 0], r"got -1\.\.0"),
        ([[np.nan, 1.0]], [0], "must not be NaN, got 1 NaN"),
    ],
)
def test_accuracy_refuses(probabilities, labels, what):
    with pytest.raises(ValueError, match=r"metrics\.accuracy: .*" + what):
        metrics.accuracy(probabilities, labels)


@given(MATRICES)
def test_metrics_outside_the_paper_against_loops(R):
    T = len(R)
    lost = [max(R[i, j] for i in range(j, T - 1)) - R[T - 1, j] for j in range(T - 1)]
    assert metrics.forgetting(R) == pytest.approx(
        sum(lost) / len(lost) if lost else math.nan, nan_ok=True
    )
    assert metrics.accuracy_drop(R).tolist() == [R[j, j] - R[T - 1, j] for j in range(T)]
    assert metrics.average_accuracy(R) == pytest.approx(metrics.average_accuracy_so_far(R)[-1])


@given(MATRICES)
def test_only_forward_transfer_looks_above_the_diagonal(R):
    for metric in ALL:
        if metric is not metrics.forward_transfer:
            np.testing.assert_array_equal(metric(lower_only(R)), metric(R))
    assert math.isnan(metrics.forward_transfer(lower_only(R)))
    below_missing = np.where(np.tri(len(R), k=-1, dtype=bool), np.nan, R)
    np.testing.assert_array_equal(
        metrics.forward_transfer(below_missing), metrics.forward_transfer(R)
    )


@given(MATRICES, st.data())
def test_a_missing_entry_is_never_skipped(R, data):
    i = data.draw(st.integers(0, len(R) - 1))
    j = data.draw(st.integers(0, i))
    R[i, j] = np.nan
    assert math.isnan(metrics.mean_accuracy_over_pairs(R))
    assert math.isnan(metrics.average_accuracy_so_far(R)[i])
    assert math.isnan(metrics.average_accuracy(R)) == (i == len(R) - 1)
    # the last diagonal entry does not count
    assert math.isnan(metrics.backward_transfer(R)) or i == j == len(R) - 1
    assert math.isnan(metrics.forgetting(R)) or j == len(R) - 1


@given(st.integers(2, 9), FRACTION)
def test_without_change_nothing_is_transferred_or_forgotten(T, level):
    R = np.tile(np.full(T, level), (T, 1))
    assert metrics.average_accuracy(R) == pytest.approx(level)
    assert metrics.mean_accuracy_over_pairs(R) == pytest.approx(level)
    assert metrics.backward_transfer(R) == 0
    assert metrics.forgetting(R) == 0
    assert not metrics.accuracy_drop(R).any()


def test_the_worst_and_the_best_are_minus_one_and_one():
    R = np.ones((5, 5))
    worst = np.eye(5)  # all is lost at once
    assert metrics.backward_transfer(worst) == -1.0
    assert metrics.forgetting(worst) == 1.0
    assert metrics.forward_transfer(np.triu(R, 1)) == 1.0


def test_forgetting_and_backward_transfer_are_opposite_for_two_tasks_only():
    assert metrics.backward_transfer([[0.75, np.nan], [0.5, 1.0]]) == -metrics.forgetting(
        [[0.75, np.nan], [0.5, 1.0]]
    )
    # task 1 improves, then falls back
    R = [[0.5, np.nan, np.nan], [1.0, 1.0, np.nan], [0.5, 1.0, 1.0]]
    assert metrics.forgetting(R) == 0.25
    assert metrics.backward_transfer(R) == pytest.approx(0.5 / 3)
    assert -metrics.accuracy_drop(R)[:-1].mean() == 0.0  # the last row alone saw nothing


def test_one_task_has_no_transfer():
    assert metrics.average_accuracy([[0.75]]) == metrics.mean_accuracy_over_pairs([[0.75]]) == 0.75
    for metric in (metrics.backward_transfer, metrics.forward_transfer, metrics.forgetting):
        assert math.isnan(metric([[0.75]]))


@pytest.mark.parametrize("metric", ALL)
@pytest.mark.parametrize(
    ("R", "what"),
    [
        ([[1.0, 0.0]], r"R must be square.*got shape \(1, 2\)"),
        ([1.0], r"got shape \(1,\)"),
        (np.ones((0, 0)), "T at least 1"),
        ([[99.8]], r"fractions in 0\.\.1 or NaN, got 99\.8"),
        ([[-0.5]], "got -0.5"),
        ([[np.inf]], "got inf"),
        ([[1.0], [1.0, 1.0]], "square matrix of numbers"),
        ([["a"]], "square matrix of numbers"),
    ],
)
def test_an_invalid_accuracy_matrix_is_refused(metric, R, what):
    with pytest.raises(ValueError, match=rf"metrics\.{metric.__name__}: .*" + what):
        metric(R)


def test_null_from_a_result_file_counts_as_not_evaluated():
    assert metrics.average_accuracy([[1.0, None], [0.5, 1.0]]) == 0.75
    assert math.isnan(metrics.forward_transfer([[1.0, None], [0.5, 1.0]]))


def test_arguments_are_not_changed():
    R = np.eye(3)
    for metric in ALL:
        metric(R)
    np.testing.assert_array_equal(R, np.eye(3))
    assert not np.shares_memory(metrics.as_accuracy_matrix(R), R)


@pytest.mark.slow(reason="a process; tests/test_package.py has one for the package")
def test_numbers_need_neither_matplotlib_nor_numba():
    code = (
        "import sys, ibpcl.evaluation.metrics, ibpcl.evaluation.structure, "
        "ibpcl.evaluation.figures; sys.exit(bool({'matplotlib', 'numba'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=600).returncode == 0
