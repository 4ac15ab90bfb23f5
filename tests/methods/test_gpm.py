"""GPM: naive training without a basis, outputs that never change with a full one."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibpcl.continual.loop import learn_stream
from ibpcl.methods.gpm import GPM, Settings, extended, inputs_of_layers, projection
from ibpcl.methods.naive import Naive
from ibpcl.methods.naive import Settings as NaiveSettings
from ibpcl.models import plain

COMMON = {"hidden": (8,), "epochs": 4, "batch": 20, "rate": 0.02}
SMALL = Settings(**COMMON)


def learner_of(seed=1, **changes):
    return GPM(dataclasses.replace(SMALL, **changes), seed, "numpy")


@pytest.mark.parametrize("single_head", [False, True])
def test_without_a_basis_it_is_naive_training_bit_for_bit(make_task, single_head):
    keys = COMMON | {"single_head": single_head}
    ours = GPM(Settings(**keys, threshold=0.0), 1, "numpy")
    theirs = Naive(NaiveSettings(**keys), 1, "numpy")
    for t in range(3):
        for learner in (ours, theirs):
            learner.learn(make_task(t), progress=False)
    for t in range(3):
        np.testing.assert_array_equal(ours.assemble(t)[1], theirs.assemble(t)[1])
    basis = ours.knowledge.memory["basis.hidden0"]
    assert basis.shape == (7, 0)


@pytest.mark.parametrize("single_head", [False, True])
@pytest.mark.parametrize("hidden", [(8,), (9, 7)])
def test_with_a_full_basis_the_outputs_for_kept_examples_never_change(
    make_task, single_head, hidden
):
    """Few examples in many dimensions, so that there is room for the next task."""
    first, second = (make_task(t, examples=n, inputs=30) for t, n in ((0, 10), (1, 120)))
    changes = {}
    for threshold in (1.0, 0.0):
        keys = {"threshold": threshold, "single_head": single_head, "hidden": hidden}
        learner = learner_of(epochs=10, **keys)
        learner.learn(first, progress=False)
        before = learner.predict(first.x_train, 0)
        shared = learner.knowledge.shared.copy()
        learner.learn(second, progress=False)
        changes[threshold] = np.abs(learner.predict(first.x_train, 0) - before).max()
        assert np.abs(learner.knowledge.shared - shared).max() > 1e-2  # what is free does move
    assert changes[1.0] < 1e-5 < 1e-2 < changes[0.0]


def test_a_layer_whose_whole_input_space_is_kept_does_not_move(make_task):
    learner = learner_of(threshold=1.0)
    learner.learn(make_task(0), progress=False)
    assert learner.knowledge.memory["basis.hidden0"].shape == (7, 7)
    shared = learner.knowledge.shared.copy()
    learner.learn(make_task(1), progress=False)
    np.testing.assert_allclose(learner.knowledge.shared, shared, atol=1e-5)


@given(st.integers(0, 2**32 - 1), st.floats(0, 1), st.integers(0, 4))
def test_the_basis_covers_the_share_with_the_fewest_columns(seed, threshold, size):
    rng = np.random.default_rng(seed)
    before = np.linalg.qr(rng.normal(size=(6, size)))[0]
    inputs = rng.normal(size=(9, 6)) * np.exp(rng.normal(size=6))
    basis = extended(before, inputs, threshold)
    np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-10)
    # the old columns are still covered
    np.testing.assert_allclose(basis @ (basis.T @ before), before, atol=1e-10)
    whole = np.sum(inputs**2)
    covered = np.sum((inputs @ basis) ** 2)
    assert covered >= threshold * whole * (1 - 1e-9)
    if basis.shape[1] > size:  # the best basis with one column less covers too little
        rest = inputs - inputs @ before @ before.T
        singular = np.linalg.svd(rest, compute_uv=False)[: basis.shape[1] - size - 1]
        fewer = np.sum((inputs @ before) ** 2) + np.sum(singular**2)
        assert fewer < threshold * whole * (1 + 1e-9)


def test_inputs_without_size_add_nothing():
    assert extended(np.zeros((3, 0)), np.zeros((4, 3)), 1.0).shape == (3, 0)


def test_a_projected_step_is_orthogonal_to_the_inputs_and_keeps_the_rest():
    rng = np.random.default_rng(0)
    network = plain.network(5, (4,), 3)
    vector = network.start(rng).astype(float)
    x = rng.normal(size=(3, 5))
    (inputs, _) = inputs_of_layers(network, vector, x)
    basis = extended(np.zeros((6, 0)), inputs, 1.0)
    step = rng.normal(size=vector.size)
    moved, state, rates = projection(network, {"hidden0": basis}, vector)(0, vector + step, 1, 2)
    assert (state, rates) == (1, 2)
    (before, offset), head = network.weights(vector)
    (after, moved_offset), moved_head = network.weights(moved)
    np.testing.assert_allclose(x @ after + moved_offset, x @ before + offset, atol=1e-12)
    assert np.abs(after - before).max() > 0.1
    for one, other, free in zip(moved_head, head, network.weights(step)[1], strict=True):
        np.testing.assert_allclose(one - other, free)


@pytest.mark.parametrize("changes", [{}, {"hidden": (10, 9)}, {"single_head": True}])
def test_it_learns(make_task, changes):
    *_, last = learn_stream(
        learner_of(epochs=15, threshold=0.7, **changes),
        [make_task(t) for t in range(2)],
        progress=False,
    )
    assert np.diagonal(last.accuracy).min() > 0.8
    assert {record.phase for record in last.history} == {"gpm"}
