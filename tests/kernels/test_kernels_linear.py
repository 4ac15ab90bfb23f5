"""The sparse linear layer against the reference, on both sides of the choice by density."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ibpcl.kernels import linear, local_linear, sparse
from ibpcl.primitives import linear as reference

problems = st.fixed_dictionaries(
    {
        "S": st.integers(0, 3),
        "N": st.sampled_from([0, 1, 20, 64, 65, 130]),
        "D": st.sampled_from([0, 1, 40, 64, 129]),
        # Widths around one vector, and around one and two strips of seven vectors.
        "K": st.sampled_from([0, 1, 7, 8, 15, 16, 33, 56, 57, 112, 113, 200]),
        "density": st.sampled_from([0.0, 0.05, 0.2, 0.3, 1.0]),
        "shared": st.booleans(),
        "needs_dx": st.booleans(),
        "seed": st.integers(0, 2**32 - 1),
    }
)


def inputs(S, N, D, K, density, shared, seed):
    rng = np.random.default_rng(seed)
    shape = (N, D) if shared else (S, N, D)
    x = np.where(rng.random(shape) < density, rng.standard_normal(shape), 0)
    return (
        x,
        rng.standard_normal((S, D, K)),
        rng.standard_normal((S, K)),
        rng.standard_normal((S, N, K)),
    )


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-5)])
@given(problems)
@settings(deadline=None, max_examples=80)
def test_values_and_gradients_equal_the_reference(dtype, tolerance, problem):
    needs_dx = problem.pop("needs_dx")
    x, w, b, dh = (array.astype(dtype) for array in inputs(**problem))
    expected, expected_cache = reference.apply(x, w, b)
    found, cache = linear.apply(x, w, b)
    pairs = [
        (found, expected),
        *zip(
            linear.apply_vjp(dh, cache, needs_dx),
            reference.apply_vjp(dh, expected_cache, needs_dx),
            strict=True,
        ),
    ]
    for value, exact in pairs:
        assert (value is None) == (exact is None)
        if exact is not None:
            assert value.dtype == dtype and value.shape == exact.shape
            np.testing.assert_allclose(value, exact, rtol=tolerance, atol=10 * tolerance)


@pytest.mark.parametrize("row", [0, 5, 9])
def test_rows_and_columns_of_zeros(row):
    x, w, b, dh = (array.astype(np.float32) for array in inputs(2, 10, 16, 100, 0.2, True, 1))
    x[row] = 0
    x[:, [0, 7, 15]] = 0
    h, cache = linear.apply(x, w, b)
    assert np.array_equal(h[:, row], b)
    dw = linear.apply_vjp(dh, cache, needs_dx=False)[1]
    assert not dw[:, [0, 7, 15]].any() and dw.any()


@given(
    st.integers(0, 140),
    st.integers(0, 140),
    st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    st.integers(0, 2**32 - 1),
)
@settings(deadline=None, max_examples=60)
def test_every_entry_is_kept_once_and_in_order(R, D, density, seed):
    rng = np.random.default_rng(seed)
    x = np.where(rng.random((R, D)) < density, rng.standard_normal((R, D)), 0).astype(np.float32)
    x[rng.random((R, D)) < 0.01] = np.nan  # NaN is not zero
    compressed = sparse.sparse(x, powers=2)
    for entries, exact in ((compressed, x), (sparse.transposed(compressed, D), x.T)):
        found = np.zeros_like(exact)
        for (block, row), end in np.ndenumerate(entries.ends):
            begin = entries.ends[block, row - 1] if row else len(exact) * block * sparse.BLOCK
            columns = block * sparse.BLOCK + entries.places[begin:end]
            assert (np.diff(columns) > 0).all()  # increasing, so none occurs twice
            found[row, columns] = entries.values[0, begin:end]
            assert np.array_equal(
                entries.values[1, begin:end], entries.values[0, begin:end] ** 2, equal_nan=True
            )
        assert np.array_equal(found, exact, equal_nan=True)


@pytest.mark.parametrize("S", [1, 2])
def test_every_width_is_written_whole(S):
    for K in range(1, 240):
        x, w, b, _ = (array.astype(np.float32) for array in inputs(S, 5, 70, K, 0.5, True, K))
        out = sparse.multiply(sparse.sparse(x), w, b)
        np.testing.assert_allclose(out, reference.apply(x, w, b)[0], rtol=1e-5, atol=1e-4)


def test_density_and_vector_efficiency_choose_the_product():
    for columns, density, is_sparse in (
        (100, 0.1, True),
        (100, 0.5, True),
        (100, 0.8, False),
        (20, 0.05, True),
        (20, 0.3, False),
        (120, 0.5, True),
        (120, 0.8, False),
    ):
        x, w, b, _ = (
            array.astype(np.float32) for array in inputs(2, 200, 60, columns, density, True, 0)
        )
        assert (linear.apply(x, w, b)[1].cache[2] is not None) == is_sparse


def test_fine_tuning_skips_zeros_where_it_pays():
    x = inputs(2, 200, 60, 70, 0.1, True, 0)[0].astype(np.float32)
    for columns, is_sparse in ((100, True), (40, False)):
        w, b, eps = (
            np.ones(shape, np.float32) for shape in ((60, columns), columns, (2, 200, columns))
        )
        back = local_linear.sample(eps, x, w, w, b, b)[1].cache.back
        assert (back.func is local_linear._sparse_products_vjp) == is_sparse


def test_other_types_use_the_reference():
    x, w, b, dh = inputs(2, 10, 16, 20, 0.2, True, 1)
    for given_ in ((x, w, b), (x + 0j, w, b)):
        h, cache = linear.apply(*given_)
        expected, exact_cache = reference.apply(*given_)
        assert np.array_equal(h, expected) and h.dtype == expected.dtype
        for one, other in zip(
            linear.apply_vjp(dh, cache), reference.apply_vjp(dh, exact_cache), strict=True
        ):
            assert np.array_equal(one, other)
