"""What a run writes per task: each number once, and enough to continue after a kill between any two
writes.
"""

import numpy as np
import pytest

import ibpcl
from ibpcl import checkpoints, storage
from ibpcl.errors import UserError
from ibpcl.experiments import journal

pytestmark = pytest.mark.usefixtures("no_figures")

SMALL = {"method": "ewc", "epochs": 1, "hidden": (3,), "backend": "numpy"}


def stream(count):
    x = np.random.default_rng(0).random((8, 4), np.float32)
    return [ibpcl.Task(str(t), x + t, np.arange(8) % 2, x, np.arange(8) % 2) for t in range(count)]


def written(monkeypatch, folder, count, **settings):
    """Return how many bytes the checkpoints of a run have, all together."""
    sizes = []
    write = storage.write_temporary

    def counted(path, pieces):
        if "checkpoint" in path.name:
            sizes.append(sum(map(len, pieces)))
        return write(path, pieces)

    with monkeypatch.context() as patch:
        patch.setattr(storage, "write_temporary", counted)
        ibpcl.run(stream(count), folder, **(SMALL | {"method": "naive"} | settings))
    return sum(sizes)


def test_long_streams_write_each_number_once(tmp_path, monkeypatch):
    few, many = (written(monkeypatch, tmp_path / str(count), count) for count in (8, 32))
    assert many < 4 * 3 * few, (
        "four times the tasks; the old form wrote more than sixteen times as much"
    )


@pytest.mark.parametrize("stop", range(1, 7))
def test_a_run_killed_between_two_writes_continues_bit_for_bit(stop, tmp_path, monkeypatch):
    """Each task writes its own file and then the checkpoint: the process ends before one of the six
    writes.
    """
    whole = ibpcl.run(stream(3), tmp_path / "whole", **SMALL)
    save = checkpoints.save
    count = 0

    def killed(path, *arguments, **options):
        nonlocal count
        count += "checkpoint" in path.name
        if count == stop:
            raise KeyboardInterrupt
        save(path, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "save", killed)
        with pytest.raises(KeyboardInterrupt):
            ibpcl.run(stream(3), tmp_path / "run", **SMALL)
    again = ibpcl.run(stream(3), tmp_path / "run", **SMALL)
    np.testing.assert_array_equal(again.result["accuracy_matrix"], whole.result["accuracy_matrix"])
    for name, value in whole.learner.state().items():
        np.testing.assert_array_equal(again.learner.state()[name], value)
    assert (tmp_path / "run/history.csv").read_bytes() == (
        tmp_path / "whole/history.csv"
    ).read_bytes()
    assert not list((tmp_path / "run").glob("checkpoint*"))


def test_a_damaged_file_of_a_task_is_named(tmp_path, monkeypatch):
    finish = journal.RunJournal.finish_task

    def stop(self, learner, progress):
        finish(self, learner, progress)
        if progress.task == 1:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(journal.RunJournal, "finish_task", stop)
        with pytest.raises(KeyboardInterrupt):
            ibpcl.run(stream(3), tmp_path / "run", **SMALL)
    (tmp_path / "run/checkpoint.task0.npz").write_bytes(b"")
    with pytest.raises(UserError, match=r"checkpoint\.task0\.npz.*`fresh`"):
        ibpcl.run(stream(3), tmp_path / "run", **SMALL)
