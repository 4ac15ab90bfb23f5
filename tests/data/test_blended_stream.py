"""Blended streams: the mixture over time, its limits, and what a learner sees."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ibpcl.continual.task import Task
from ibpcl.data.blended import BlendedStream, begun
from ibpcl.inference.loop import minibatches
from ibpcl.noise import Key


def tasks(count=3, examples=40):
    """Tasks whose inputs and labels name the task and the row."""
    return [
        Task(
            f"t{t}",
            np.stack([np.full(examples + t, t), np.arange(examples + t)], axis=1),
            np.full(examples + t, t),
            [[t, 0]],
            [t],
            count,
        )
        for t in range(count)
    ]


def shares(time, count, width):
    """P(t | s) of every task, from the probabilities that they have begun."""
    f = begun(time, count, width)
    ends = np.ones((len(f), 1)), np.zeros((len(f), 1))
    return -np.diff(np.concatenate([ends[0], f, ends[1]], axis=1), axis=1)


@given(st.integers(1, 6), st.floats(0, 1), st.floats(0, 1))
@example(3, 5e-324, 0.5)
def test_the_mixture_is_one(count, width, fraction):
    mixture = shares([fraction * count], count, width)
    assert (mixture >= 0).all() and mixture.sum() == pytest.approx(1)
    # a task is never far from its own segment
    prevailing = min(int(fraction * count), count - 1)
    assert mixture[0, prevailing] >= 0.5 - 1e-9
    assert np.count_nonzero(mixture) <= 2


def test_the_fade_is_linear_and_has_the_given_width():
    time = np.array([0.0, 0.75, 0.875, 1.0, 1.125, 1.25, 1.5])
    np.testing.assert_allclose(
        shares(time, 2, 0.5)[:, 1], [0, 0, 0.25, 0.5, 0.75, 1, 1], atol=1e-12
    )


def test_without_a_fade_a_segment_has_the_minibatches_of_its_task():
    base = tasks()
    stream = BlendedStream(base, 0.0, seed=3)
    for t in range(3):
        seen = list(stream.minibatches(t, 16, 2))
        rows = [
            rows
            for epoch in range(2)
            for rows in minibatches(len(base[t].x_train), 16, Key(3, t, epoch, 0))
        ]
        assert len(seen) == len(rows)
        for minibatch, expected in zip(seen, rows, strict=True):
            np.testing.assert_array_equal(minibatch.x, base[t].x_train[expected])
            np.testing.assert_array_equal(minibatch.y, base[t].y_train[expected])
            assert (minibatch.tasks == t).all()
        assert [minibatch.last for minibatch in seen] == 2 * [False, False, True]


def test_the_drawn_tasks_follow_the_mixture():
    base = tasks(examples=4000)
    stream = BlendedStream(base, 0.8, seed=0)
    passes = 3
    for t in range(3):
        drawn = np.concatenate([m.tasks for m in stream.minibatches(t, 500, passes)])
        size = len(base[t].x_train) * passes
        expected = shares(t + np.arange(size) / size, 3, 0.8)
        for s in range(3):
            # twelve pieces of the segment
            found = [piece.mean() for piece in np.array_split(drawn == s, 12)]
            wanted = [piece.mean() for piece in np.array_split(expected[:, s], 12)]
            np.testing.assert_allclose(found, wanted, atol=0.06)


def test_inputs_labels_and_tasks_belong_together_and_the_tasks_stay_unchanged():
    base = tasks(examples=200)
    before = [task.x_train.copy() for task in base]
    rows = set()
    for minibatch in BlendedStream(base, 1.0, seed=1).minibatches(1, 50, 2):
        np.testing.assert_array_equal(minibatch.x[:, 0], minibatch.tasks)
        np.testing.assert_array_equal(minibatch.y, minibatch.tasks)
        rows |= set(minibatch.x[minibatch.tasks == 2, 1].tolist())
    assert len(rows) > 30 and max(rows) < 202
    for task, x in zip(base, before, strict=True):
        np.testing.assert_array_equal(task.x_train, x)


def test_the_seed_decides_everything():
    def everything(seed):
        minibatches = BlendedStream(tasks(), 0.5, seed).minibatches(1, 16, 2)
        return np.concatenate([minibatch.x for minibatch in minibatches])

    np.testing.assert_array_equal(everything(1), everything(1))
    assert (everything(1) != everything(2)).any()


def test_the_mean_number_of_examples_and_a_width_out_of_range():
    assert BlendedStream(tasks(), 0.5).examples() == 41
    for width in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match=r"width must be in 0 \.\. 1"):
            BlendedStream(tasks(), width)
