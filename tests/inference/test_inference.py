"""The optimizer, the schedule and the loop."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibpcl import adam
from ibpcl.errors import NonFiniteError
from ibpcl.inference import loop
from ibpcl.inference.backend import backend
from ibpcl.inference.loop import geometric
from ibpcl.models.elbo import Elbo
from ibpcl.noise import Key


def test_the_first_step_is_the_learning_rate_against_the_sign():
    x = np.array([1.0, 2.0, 3.0])
    moved, state = adam.update(x, np.array([4.0, -1e-3, 0.0]), adam.start(x), np.full(3, 0.1))
    np.testing.assert_allclose(moved, [0.9, 2.1, 3.0], atol=1e-5)
    assert state.step == 1


def test_adam_finds_the_minimum_of_a_quadratic_and_a_rate_of_zero_stays():
    x = np.zeros(3)
    target = np.array([1.0, -2.0, 3.0])
    state = adam.start(x)
    for _ in range(2000):
        x, state = adam.update(x, 2 * (x - target), state, np.array([0.02, 0.02, 0.0]))
    np.testing.assert_allclose(x, [1.0, -2.0, 0.0], atol=1e-3)


@given(st.floats(0.1, 100), st.floats(0.1, 100), st.integers(2, 50))
def test_the_temperature_decreases_by_equal_factors(start, end, steps):
    taus = np.array([geometric(start, end, i, steps) for i in range(steps)])
    assert taus[0] == pytest.approx(start)
    assert taus[-1] == pytest.approx(end)
    np.testing.assert_allclose(taus[1:] / taus[:-1], taus[1] / taus[0], rtol=1e-9)
    assert geometric(start, end, 0, 1) == end


@given(st.integers(1, 300), st.integers(1, 64))
def test_minibatches_are_a_partition_of_nearly_equal_parts(examples, batch):
    parts = loop.minibatches(examples, batch, Key(0, 0, 0, 0))
    assert sorted(np.concatenate(parts)) == list(range(examples))
    sizes = {len(part) for part in parts}
    assert max(sizes) <= batch
    assert max(sizes) - min(sizes) <= 1


HOW = loop.Fit("masked", 3, 4, 1, Key(0, 0, 0, 0), backend("numpy"), False)


def fit(objective, adapt=None, **changes):
    return loop.fit(np.zeros(2), objective, np.full(2, 0.1), 10, HOW._replace(**changes), adapt)


def test_the_history_has_one_row_of_means_per_epoch():
    seen = []

    def objective(vector, rows, step, steps):
        seen.append((step, steps))
        return loop.Step(Elbo(-float(step), 1.0, 2.0, 3.0), np.ones(2), 0.5, penalty=2.0 * step)

    vector, history = fit(objective)
    assert seen == [(i, 9) for i in range(9)]
    assert [row.log_likelihood for row in history] == [-1.0, -4.0, -7.0]
    assert [row.elbo for row in history] == [-7.0, -10.0, -13.0]
    assert [row.penalty for row in history] == [2.0, 8.0, 14.0]
    assert (vector < 0).all()


def wandering(vector, rows, step, steps):
    """The gradient towards a target that jumps from step to step."""
    return loop.Step(Elbo(0.0), vector - np.cos(np.arange(2) + step), 0.5)


@pytest.mark.parametrize(("average", "count"), [(0.0, 1), (0.05, 1), (0.5, 4), (0.8, 7), (1.0, 9)])
def test_the_last_steps_are_averaged(average, count):
    path = []

    def watch(step, vector, state, rates):
        path.append(vector.copy())
        return vector, state, rates

    found, _ = fit(wandering, average=average, adapt=watch)
    assert len(path) == 9
    np.testing.assert_allclose(found, np.mean(path[-count:], axis=0), rtol=1e-12)


@pytest.mark.parametrize("name", ["numpy", "numba"])
def test_a_watch_sees_every_epoch_and_changes_nothing(name):
    seen = []
    start = np.zeros(2)
    watch = loop.Watch(False, lambda record, vector: seen.append((record, vector.copy())))
    alone, watched = (
        loop.fit(
            start, wandering, np.full(2, 0.1), 10, HOW._replace(progress=who, backend=backend(name))
        )
        for who in (False, watch)
    )
    assert watched[0].tobytes() == alone[0].tobytes() and watched[1] == alone[1] == [
        record for record, _ in seen
    ]
    # the initial vector belongs to the caller
    assert seen[-1][1].tobytes() == alone[0].tobytes() and not start.any()


@pytest.mark.parametrize(
    ("step", "culprit"),
    [
        (loop.Step(Elbo(float("nan"), 1.0, 2.0, 3.0), np.ones(2)), "the ELBO is not finite"),
        (loop.Step(Elbo(1.0, float("inf"), 2.0, 3.0), np.ones(2)), "the ELBO is not finite"),
        (loop.Step(Elbo(1.0), np.ones(2), penalty=float("inf")), "the ELBO is not finite"),
        (
            loop.Step(Elbo(1.0, 1.0, 2.0, 3.0), np.array([1.0, np.nan])),
            "the gradient is not finite",
        ),
    ],
)
def test_a_non_finite_objective_stops_and_names_the_step(step, culprit):
    with pytest.raises(NonFiniteError, match=f"masked, epoch 1, step 0: {culprit}.*kl_weights"):
        fit(lambda *_: step)


@pytest.mark.parametrize(
    ("task", "named"), [("", "task 1, masked"), ("task 2 of 5", "task 2 of 5, masked")]
)
def test_the_progress_bar_shows_task_phase_and_objective(monkeypatch, task, named):
    def objective(vector, rows, step, steps):
        return loop.Step(Elbo(-20.0, 30.0), np.ones(2), 0.5, penalty=2.0, objective=-25.0)

    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    _, history = fit(objective, progress=loop.Watch(True, None, task))
    shown = stream.getvalue()
    assert named in shown
    # ten examples: the objective is shown per example, not the ELBO of -50
    assert f"{-25.0 / 10:.4f}" in shown and f"{history[-1].elbo / 10:.4f}" not in shown


def test_the_progress_bar_is_silent_unless_asked_or_on_a_terminal(monkeypatch):
    def objective(vector, rows, step, steps):
        return loop.Step(Elbo(0.0), np.ones(2), 0.5)

    cases = ((None, False, False), (None, True, True), (True, False, True), (False, True, False))
    for progress, terminal, shown in cases:
        stream = io.StringIO()
        stream.isatty = lambda terminal=terminal: terminal
        monkeypatch.setattr("sys.stderr", stream)
        fit(objective, progress=progress)
        assert bool(stream.getvalue()) == shown
