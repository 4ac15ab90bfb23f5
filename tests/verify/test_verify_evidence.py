"""Second points stay in the domain, and large inputs are sampled within bounds."""

import tracemalloc

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ibpcl.verify import check
from ibpcl.verify.derivative.problem import make_problem
from ibpcl.verify.derivative.second_point import neighbour
from ibpcl.verify.explain.evidence import close
from ibpcl.verify.large_inputs import MOST_ENTRIES, entries_to_look_at


def problem_of(f, *inputs, wrt=None):
    return make_problem(f, lambda d, c: tuple(np.zeros(np.shape(v)) for v in inputs), inputs, wrt)


@given(st.integers(0, 50))
def test_neighbour_keeps_probabilities_signs_masks_and_integers(seed):
    rng = np.random.default_rng(seed)
    mask = rng.integers(0, 2, 5).astype(float)
    start = problem_of(
        lambda *v: (sum(np.sum(x) for x in v), None),
        rng.uniform(0, 1, 5),
        -rng.uniform(0, 3, 5),
        mask,
        np.arange(3),
        0.7,
        wrt=(0, 1, 4),
    )
    near = neighbour(start, rng)
    probability, negative, kept, integers, tau = near.point
    assert np.all((probability > 0) & (probability < 1))
    assert np.all(negative < 0)
    assert not np.any(probability == start.point[0])
    assert np.array_equal(kept, mask)
    assert np.array_equal(integers, np.arange(3))
    assert 0 < tau < 1
    assert tau != 0.7


def test_forward_that_works_nowhere_else_has_no_neighbour():
    def picky(x):
        if not np.array_equal(np.real(x), [2.0, 3.0]):
            raise ValueError("only 2 and 3")
        return x * 1.0, x

    assert neighbour(problem_of(picky, np.array([2.0, 3.0])), np.random.default_rng(0)) is None


def test_close_needs_measured_entries():
    assert not close(np.ones(2), np.full(2, np.nan), np.ones(2))
    assert close(np.array([1.0, 5.0]), np.array([1.0, np.nan]), np.full(2, 1e-12))


@given(st.lists(st.integers(1, 60), min_size=1, max_size=3), st.integers(0, 9))
def test_sampled_entries_include_suspects_and_corners(shape, seed):
    size = int(np.prod(shape))
    suspect = size // 2
    entries = entries_to_look_at(tuple(shape), 10, np.random.default_rng(seed), [suspect])
    assert suspect in entries
    assert {0, size - 1} <= set(entries.tolist())
    assert (
        len(set(entries.tolist()))
        == len(entries)
        <= max(size if size <= MOST_ENTRIES else 0, MOST_ENTRIES)
    )
    assert np.array_equal(entries, np.sort(entries))


def test_the_search_for_a_name_keeps_no_large_arrays():
    size = 600

    def softmax(x):
        e = np.exp(x - x.max())
        p = e / e.sum()
        return p, p

    def softmax_vjp(dout, p):
        many = np.resize(p, size)
        jacobian = np.diagflat(many)
        jacobian = jacobian - np.outer(many, many)
        dx = jacobian[: p.size, : p.size] @ dout
        return dx + jacobian[-1, -1] * dout**2

    tracemalloc.start()
    try:
        report = check(softmax, softmax_vjp, (np.array([0.3, -0.2, 0.5, 1.1]),))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert report.verdict == "wrong"
    assert peak < 15 * size**2 * 8  # the gradient itself needs four such arrays
