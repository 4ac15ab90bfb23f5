"""The sparse linear layer against the reference, on both sides of the choice by density."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ibpcl.kernels import linear, local_linear, sparse_matrix
from ibpcl.primitives import linear as reference

problems = st.fixed_dictionaries({
    "S": st.integers(0, 3), "N": st.sampled_from([0, 1, 20, 64, 65, 130]), "D": st.sampled_from([0, 1, 40, 64, 129]),
    # Around one vector, one strip of seven, and strips of different lengths, in float64 and in float32.
    "K": st.sampled_from([0, 1, 7, 8, 15, 16, 33, 56, 57, 112, 113, 200]),
    "density": st.sampled_from([0.0, 0.05, 0.2, 0.3, 1.0]), "shared": st.booleans(), "needs_dx": st.booleans(),
    "seed": st.integers(0, 2**32 - 1),
})


def inputs(S, N, D, K, density, shared, seed):
    rng = np.random.default_rng(seed)
    shape = (N, D) if shared else (S, N, D)
    x = np.where(rng.random(shape) < density, rng.standard_normal(shape), 0)
    return x, rng.standard_normal((S, D, K)), rng.standard_normal((S, K)), rng.standard_normal((S, N, K))


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@given(problems)
@settings(deadline=None, max_examples=80)
def test_values_and_gradients_equal_the_reference(dtype, tolerance, problem):
    needs_dx = problem.pop("needs_dx")
    x, w, b, dh = (array.astype(dtype) for array in inputs(**problem))
    expected, expected_cache = reference.apply(x, w, b)
    found, cache = linear.apply(x, w, b)
    pairs = [(found, expected), *zip(
        linear.apply_vjp(dh, cache, needs_dx), reference.apply_vjp(dh, expected_cache, needs_dx), strict=True)]
    for value, exact in pairs:
        assert (value is None) == (exact is None)
        if exact is not None:
            assert value.dtype == dtype and value.shape == exact.shape
            np.testing.assert_allclose(value, exact, rtol=tolerance, atol=10 * tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(st.integers(0, 140), st.integers(0, 140), st.floats(0, 1), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_every_entry_is_kept_once_and_the_transpose_has_the_same(dtype, N, D, density, seed):
    rng = np.random.default_rng(seed)
    x = np.where(rng.random((N, D)) < density, rng.standard_normal((N, D)), 0).astype(dtype)
    sparse = sparse_matrix.sparse(x, 1.0)
    for matrix, expected in ((sparse, x), (sparse_matrix.transposed(sparse, D), x.T)):
        found = np.zeros_like(expected)
        for (block, row), start in np.ndenumerate(matrix.starts):
            entries = slice(start, matrix.ends[block, row])
            columns = block * sparse_matrix.BLOCK + matrix.places[entries]
            assert (np.diff(columns.astype(int)) > 0).all()  # in order, and so none twice
            found[row, columns] = matrix.values[entries]
        assert np.array_equal(found, expected)
    for some, factor in ((x, sparse_matrix.FAR), (x[::sparse_matrix.EVERY], 1)):
        if np.count_nonzero(some):
            assert sparse_matrix.sparse(x, 0.999 * np.count_nonzero(some) / some.size / factor) is None
    x[:] = np.nan                                            # is not zero
    sparse = sparse_matrix.sparse(x, 1.0)
    assert (sparse.ends - sparse.starts).sum() == x.size


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_every_width_of_the_last_vector_is_stored_whole(dtype, tolerance, monkeypatch):
    monkeypatch.setattr(linear, "_densest", lambda columns: 1.0)
    for K in range(1, 130):
        x, w, b, _ = (array.astype(dtype) for array in inputs(1, 5, 10, K, 0.5, True, K))
        np.testing.assert_allclose(linear.apply(x, w, b)[0], reference.apply(x, w, b)[0], rtol=tolerance,
                                   atol=10 * tolerance)


def test_the_choice_goes_by_density():
    cases = ((70, 0.1, True), (70, 0.5, True), (70, 0.8, False), (20, 0.1, True), (20, 0.5, False))
    for columns, density, sparse in cases:
        x, w, b, _ = inputs(2, 50, 60, columns, density, True, 0)
        assert (linear.apply(x, w, b)[1][2] is not None) == sparse


def test_fine_tuning_looks_for_zeros_where_they_can_pay():
    x = inputs(2, 50, 60, 70, 0.1, True, 0)[0]
    for columns, sparse in ((70, True), (40, False)):
        w, b, eps = np.ones((60, columns)), np.ones(columns), np.ones((2, 50, columns))
        assert (local_linear.sample(eps, x, w, w, b, b)[1].sparse is not None) == sparse


def test_rows_that_are_not_like_the_others_do_not_mislead():
    x = np.ones((64, 10), np.float32)
    x[::sparse_matrix.EVERY] = 0                             # the only ones that are looked at first
    assert sparse_matrix.sparse(x, 0.5) is None
    assert sparse_matrix.sparse(1 - x, 0.5) is None          # taken for dense, which costs time, nothing else


@pytest.mark.parametrize("row", [0, 5, 9])
def test_rows_and_columns_of_zeros(row):
    x, w, b, dh = inputs(2, 10, 16, 20, 0.2, True, 1)
    x[row], x[:, [0, 7, 15]] = 0, 0
    h, cache = linear.apply(x, w, b)
    assert np.array_equal(h[:, row], b)
    dw = linear.apply_vjp(dh, cache, needs_dx=False)[1]
    assert not dw[:, [0, 7, 15]].any() and dw.any()


def test_complex_inputs_are_refused():
    with pytest.raises(TypeError, match=r"linear\.apply: arrays must be float32 or float64"):
        linear.apply(np.zeros((2, 3), complex), np.zeros((1, 3, 2)), np.zeros((1, 2)))
