"""A run that is killed within a task learns the task again and ends with the same result."""

from typing import NamedTuple

import numpy as np
import pytest
from quick import quick

from ibpcl.continual.loop import learn_task
from ibpcl.experiments.journal import RunJournal
from ibpcl.inference.loop import Watch
from ibpcl.methods import GENERATIVE, METHODS, method

SMALL = {
    "hidden": (8, 7),
    "epochs": 3,
    "batch": 20,
    "samples": 1,
    "prediction_samples": 2,
    "finetune_epochs": 2,
    "head_epochs": 1,
    "alpha": 20.0,
    "latent_alpha": 20.0,
    "mask_link": "logit",
    "latent": 3,
    "trials": 3,
    "loss_threshold": 0.0,
    "buffer_size": 10,
    "expand": True,
    "empty_units": 2,
    "expand_every": 3,
}


def learner_of(name):
    found = method(name)
    known = {
        key: value for key, value in SMALL.items() if key in found.settings.__dataclass_fields__
    }
    known |= {"likelihood": "gaussian"} if name == "m2" else {}  # inputs are any numbers
    return found.learner(found.settings(**known), 4, "numpy")


class Killed(RunJournal):
    """A journal whose process dies after two epochs of the second task."""

    epochs = 2

    def watch(self, bar):
        inner = super().watch(bar)

        def on_epoch(record, vector):
            inner.on_epoch(record, vector)
            self.epochs -= len(self.done)
            if not self.epochs:
                raise KeyboardInterrupt

        return Watch(bar, on_epoch)


class Done(NamedTuple):
    task: int
    name: str
    history: list
    train_seconds: float
    test_seconds: float
    MATRICES = ()


def go_on(learner, stream, journal):
    """Learn the remaining tasks of a stream, as the loop does."""
    for t in range(len(journal.done), len(stream)):
        history, seconds = learn_task(learner, stream[t], False, journal)
        journal.finish_task(learner, Done(t, stream[t].name, history, seconds, 0.0))


@pytest.mark.parametrize(
    "name",
    quick(
        ["npbcl", "joint", "gem", "vcl", "ibp_vcl", "pruning", "vae_ewc", "vae_npbcl"],
        [*METHODS, *GENERATIVE],
        "each kind of state is there: weights, posteriors, masks, examples, generators",
    ),
)
def test_a_killed_run_learns_its_task_again_bit_for_bit(name, make_task, make_images, tmp_path):
    stream = [(make_images if name in GENERATIVE else make_task)(t) for t in range(2)]
    whole, first, again = (learner_of(name) for _ in range(3))
    one = tmp_path / "whole"
    other = tmp_path / "run"
    one.mkdir(), other.mkdir()
    uninterrupted = RunJournal(one, {"tasks": 2}, Done)
    go_on(whole, stream, uninterrupted)
    with pytest.raises(KeyboardInterrupt):
        go_on(first, stream, Killed(other, {"tasks": 2}, Done))
    journal = RunJournal(other, {"tasks": 2}, Done)
    journal.restore(again)
    assert len(journal.done) == 1
    go_on(again, stream, journal)
    assert again.state().keys() == whole.state().keys()
    for key, value in whole.state().items():
        np.testing.assert_array_equal(again.state()[key], value, err_msg=key)
    assert [done.history for done in journal.done] == [done.history for done in uninterrupted.done]
    # it shows all trials, and keeps the history of the best
    if name != "rcl":
        assert (other / "history.csv").read_bytes() == (one / "history.csv").read_bytes()
