"""A run that is killed at any moment goes on bit for bit."""

import contextlib
import math
import os
import random
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from drawing import without_figures
from quick import quick

from ibpcl import checkpoints, storage
from ibpcl.cli import main
from ibpcl.experiments.config import configure
from ibpcl.experiments.run import run
from ibpcl.methods.den import DEN
from ibpcl.methods.npbcl import NPBCL

pytestmark = pytest.mark.usefixtures("no_figures")

TINY = {
    "hidden": (6,),
    "samples": 1,
    "prediction_samples": 5,
    "epochs": 4,
    "finetune_epochs": 3,
    "batch": 50,
    "tasks": 3,
    "train_limit": 200,
    "test_limit": 40,
    "backend": "numpy",
    "alpha": 10.0,
}
GROWING = {
    **TINY,
    "expand": True,
    "hidden": (3,),
    "empty_units": 2,
    "expand_every": 3,
    "alpha_rule": "learned",
}

CHILD = """
    import sys, warnings
    warnings.simplefilter("ignore")
    from ibpcl.cli import main
    sys.exit(main(sys.argv[1:]))
    """


def start(*arguments):
    command = [sys.executable, "-c", textwrap.dedent(CHILD), *arguments]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def texts(settings):
    return [
        part
        for key, value in settings.items()
        for part in (
            "--set",
            f"{key}={','.join(map(str, value)) if isinstance(value, tuple) else value}",
        )
    ]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    with without_figures():
        return {
            name: run(configure("split-glyphs", **settings), folder / name, progress=False)
            for name, settings in (("plain", TINY), ("growing", GROWING))
        }


def assert_same(folder, whole):
    result = storage.read_json(folder / "result.json")
    assert (
        result["accuracy_matrix"]
        == storage.read_json(whole.folder / "result.json")["accuracy_matrix"]
    )
    arrays = checkpoints.load(folder / "learner.npz").arrays
    expected = whole.learner.state()
    assert arrays.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(arrays[name], value, err_msg=name)
    assert (folder / "history.csv").read_bytes() == (whole.folder / "history.csv").read_bytes()


@pytest.fixture
def stopped(interrupted):
    """Give a function that runs until so many epochs are written, then stops as by Ctrl-C."""

    def stop(folder, after, **settings):
        with interrupted(after), contextlib.suppress(KeyboardInterrupt):
            run(configure("split-glyphs", **settings), folder, progress=False)

    return stop


@pytest.mark.slow(reason="several processes; interrupts after chosen epochs are below")
@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
@pytest.mark.parametrize("name", ["plain", "growing"])
def test_killed_at_random_moments_the_run_goes_on_bit_for_bit(name, uninterrupted, tmp_path):
    """Each life of the process lasts until it has written some epochs, at times a task's, and is
    killed where it is.
    """
    folder = tmp_path / "run"
    moments = random.Random(3)
    lives = 0
    arguments = [
        "run",
        "split-glyphs",
        "--quiet",
        "--out",
        str(folder),
        *texts(TINY if name == "plain" else GROWING),
    ]
    while True:
        process = start(*arguments)
        arguments = ["run", "--resume", str(folder), "--quiet"]
        wait_for_writes(process, folder / "history.csv", moments.randint(4, 10))
        # anywhere: also in the middle of a write
        time.sleep(moments.uniform(0, 0.03))
        process.send_signal(signal.SIGKILL)
        _, errors = process.communicate()
        lives += 1
        if process.returncode != -signal.SIGKILL:
            assert process.returncode == 0, errors.decode()
            break
    assert lives > 3
    assert_same(folder, uninterrupted[name])


def wait_for_writes(process, path, count):
    """Wait until the file has been replaced so many times, or the process has ended."""

    def changed():
        try:
            return path.stat().st_mtime_ns
        except FileNotFoundError:
            return None

    last = changed()
    while process.poll() is None and count > 0:
        time.sleep(0.0005)
        if changed() != last:
            last = changed()
            count = count - 1


@pytest.mark.parametrize(
    "after", quick(["1", "21"], range(1, 22, 5), "the first and the last epoch are there")
)
def test_interrupted_after_any_epoch_the_run_goes_on_bit_for_bit(
    after, uninterrupted, tmp_path, stopped
):
    stopped(tmp_path / "run", after, **TINY)
    assert main(["run", "--resume", str(tmp_path / "run"), "--quiet"]) == 0
    assert_same(tmp_path / "run", uninterrupted["plain"])


def test_the_history_grows_by_a_line_per_epoch(uninterrupted, tmp_path, stopped):
    """Of an interrupted task, nothing stays in it."""
    folder = tmp_path / "run"
    whole = (uninterrupted["plain"].folder / "history.csv").read_bytes().splitlines(True)
    stopped(folder, 10, **TINY)
    assert (folder / "history.csv").read_bytes() == b"".join(whole[:11])
    stopped(folder, 2, **TINY)  # its second task again
    assert (folder / "history.csv").read_bytes() == b"".join(whole[:10])


def test_a_checkpoint_of_an_older_version_is_refused(tmp_path, stopped, capsys):
    folder = tmp_path / "run"
    stopped(folder, 8, **TINY)
    arrays, meta, _ = checkpoints.load(folder / "checkpoint.npz")
    del meta["form"], meta["version"]
    checkpoints.save(folder / "checkpoint.npz", arrays, meta)
    assert main(["run", "--resume", str(folder), "--quiet"]) == 2
    err = capsys.readouterr().err
    assert (
        "checkpoint.npz was written by ibpcl 0.1.0 or older" in err and len(err.splitlines()) == 1
    )


def test_the_data_may_lie_elsewhere_by_now(uninterrupted, tmp_path, stopped):
    folder = tmp_path / "run"
    stopped(folder, 8, **TINY, data_dir="here")
    assert main(["run", "--resume", str(folder), "--quiet", "--data-dir", "there"]) == 0
    assert storage.read_toml(folder / "config.toml")["data_dir"] == "there"
    assert_same(folder, uninterrupted["plain"])


def test_settings_that_are_infinite_are_kept(tmp_path, stopped):
    never = {
        name: TINY[name]
        for name in ("hidden", "batch", "tasks", "train_limit", "test_limit", "backend")
    } | {
        "method": "den",
        "epochs": 2,
        "head_epochs": 1,
        "loss_threshold": math.inf,
        "split_threshold": math.inf,
    }
    whole = run(configure("split-glyphs", **never), tmp_path / "whole", progress=False)
    stopped(tmp_path / "run", 4, **never)
    assert main(["run", "--resume", str(tmp_path / "run"), "--quiet"]) == 0
    assert_same(tmp_path / "run", whole)
    assert DEN.load(tmp_path / "run" / "learner.npz").settings == whole.learner.settings


def test_times_are_those_of_the_finished_tasks_and_of_this_life(uninterrupted, tmp_path, stopped):
    folder = tmp_path / "run"
    stopped(folder, 10, **TINY)  # in the second task
    arrays, meta, _ = checkpoints.load(folder / "checkpoint.npz")
    assert len(meta["done"]) == 1 and meta["seconds"] > sum(meta["done"][0]["seconds"])
    meta["seconds"] += 5000
    meta["done"][0]["seconds"][0] += 1000
    checkpoints.save(folder / "checkpoint.npz", arrays, meta)
    assert main(["run", "--resume", str(folder), "--quiet"]) == 0
    found = storage.read_json(folder / "result.json")["seconds"]
    assert (
        1000 < found["train_per_task"][0] <= found["train"] < 1500 and 5000 < found["total"] < 5500
    )
    assert found["train_per_task"][1] < 500
    assert_same(folder, uninterrupted["plain"])


def test_a_damaged_checkpoint_is_refused_and_the_one_before_is_used(
    uninterrupted, tmp_path, stopped
):
    folder = tmp_path / "run"
    stopped(folder, 16, **TINY)
    path = folder / "checkpoint.npz"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.warns(
        UserWarning, match=r"checkpoint\.npz is damaged: the checksum.*previous, was taken instead"
    ):
        run(configure(folder / "config.toml"), folder, progress=False)
    assert_same(folder, uninterrupted["plain"])


@pytest.mark.filterwarnings("default")
def test_what_the_command_says_of_configurations_and_checkpoints_that_do_not_fit(
    tmp_path, capsys, stopped
):
    folder = tmp_path / "run"
    stopped(folder, 16, **TINY)
    config = folder / "config.toml"
    path = folder / "checkpoint.npz"
    whole = config.read_text(encoding="utf-8")

    def resumed(text):
        config.write_text(text, encoding="utf-8")
        code = main(["run", "--resume", str(folder), "--quiet"])
        return code, capsys.readouterr().err

    code, err = resumed(whole.replace("alpha = ", "alpha = 1"))
    assert code == 2 and "checkpoint.npz" in err and "alpha = " in err
    code, err = resumed("")
    assert code == 2 and "config.toml" in err and len(err.splitlines()) == 1
    path.write_bytes(path.read_bytes()[:-1])
    code, err = resumed(whole)
    damage, resumed_at = err.splitlines()
    assert code == 0 and damage.startswith("ibpcl: ") and "was taken instead" in damage
    assert "continuing after task 1 of 3" in resumed_at


def test_when_every_checkpoint_is_damaged_the_user_is_told_what_to_do(tmp_path, capsys, stopped):
    folder = tmp_path / "run"
    stopped(folder, 16, **TINY)
    for path in folder.glob("checkpoint.npz*"):
        path.write_bytes(path.read_bytes()[:-1])
    assert main(["run", "--resume", str(folder), "--quiet"]) == 2
    assert "start the run again with --fresh" in capsys.readouterr().err
    assert main([*typed(TINY), "--out", str(folder)]) == 2
    assert main([*typed(TINY), "--out", str(folder), "--fresh"]) == 0


def test_a_run_goes_on_in_the_current_folder(uninterrupted, tmp_path, monkeypatch, stopped):
    stopped(tmp_path / "run", 10, **TINY)
    monkeypatch.chdir(tmp_path / "run")
    assert main(["run", "--resume", ".", "--quiet"]) == 0
    assert_same(tmp_path / "run", uninterrupted["plain"])


def typed(settings):
    return ["run", "split-glyphs", "--quiet", *texts(settings)]


def test_an_interrupted_run_that_is_typed_again_goes_on(
    uninterrupted, tmp_path, monkeypatch, interrupted, capsys
):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "runs" / "split-glyphs-npbcl-seed0"
    with interrupted(16):
        assert main([*typed(TINY), "--fresh"]) == 130
    err = capsys.readouterr().err
    assert (
        err.startswith("ibpcl: interrupted; to continue: ibpcl run split-glyphs")
        and "--fresh" not in err
    )
    again = err.strip().rpartition("continue: ibpcl ")[2].split()
    learned = []
    learn = NPBCL.learn
    monkeypatch.setattr(
        NPBCL,
        "learn",
        lambda self, task, *rest: learned.append(task.name) or learn(self, task, *rest),
    )
    assert main(again) == 0
    assert "continuing after task 2 of 3" in capsys.readouterr().err
    assert learned == ["E/F"]  # two of the three tasks were in the checkpoint
    assert_same(folder, uninterrupted["plain"])
    assert not list(folder.glob("checkpoint*"))  # nothing is left to continue


def test_a_new_run_says_nothing_about_continuing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main([*typed(TINY), "--set", "tasks=1"]) == 0
    assert capsys.readouterr().err == ""


def test_a_finished_run_is_kept_and_nothing_is_trained(
    uninterrupted, monkeypatch, tmp_path, capsys
):
    folder = tmp_path / "run"
    run(configure("split-glyphs", **TINY), folder, progress=False)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    learn = NPBCL.learn
    monkeypatch.setattr(NPBCL, "learn", None)
    for arguments in (
        ["run", "--resume", str(folder), "--quiet"],
        [*typed(TINY), "--out", str(folder)],
        [*typed(TINY)[:2], *texts(TINY), "--out", str(folder)],
    ):
        (folder / "checkpoint.npz").write_text("of a run that was killed at its very end")
        assert main(arguments) == 0
        err = capsys.readouterr().err
        assert "nothing was trained" in err and str(folder) in err and "continuing" not in err
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    monkeypatch.setattr(NPBCL, "learn", learn)
    assert main([*typed(TINY), "--out", str(folder), "--fresh"]) == 0
    assert (folder / "result.json").read_bytes() != before["result.json"]  # other times
    assert_same(folder, uninterrupted["plain"])


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    "name",
    quick(
        ["learner.npz"],
        ["result.json", "learner.npz", "history.csv"],
        "two trainings each, and the sums of files are compared in one place",
    ),
)
def test_a_finished_run_with_a_damaged_file_is_made_again(name, uninterrupted, tmp_path, capsys):
    folder = tmp_path / "run"
    run(configure("split-glyphs", **TINY), folder, progress=False)
    path = folder / name
    path.write_bytes(path.read_bytes()[:-20])
    assert main([*typed(TINY), "--out", str(folder)]) == 0
    err = capsys.readouterr().err
    assert (
        f"{name} is damaged" in err
        and "starts again" in err
        and "nothing was trained" not in err
        and len(err.splitlines()) == 1
    )
    assert_same(folder, uninterrupted["plain"])


@pytest.mark.slow(reason="two trainings")
def test_a_learner_in_the_place_of_a_checkpoint_is_not_taken_for_one(
    uninterrupted, tmp_path, stopped, capsys
):
    folder = tmp_path / "run"
    stopped(folder, 16, **TINY)
    run(configure("split-glyphs", **TINY), tmp_path / "whole", progress=False)
    (folder / "checkpoint.npz").write_bytes((tmp_path / "whole" / "learner.npz").read_bytes())
    with pytest.warns(
        UserWarning,
        match=r"it holds no config, seconds, done; the one before it.*was taken instead",
    ):
        run(configure(folder / "config.toml"), folder, progress=False)
    assert_same(folder, uninterrupted["plain"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--resume", "nowhere"], "nowhere is not the folder of a run"),
        (["--resume", "nowhere", "--seed", "3"], "leave out seed"),
    ],
)
def test_what_cannot_be_resumed_is_refused_in_one_line(arguments, message, capsys):
    assert main(["run", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_saved_learner_is_the_learner(uninterrupted, tmp_path):
    learner = uninterrupted["growing"].learner
    learner.save(tmp_path / "learner.npz")
    copy = NPBCL.load(tmp_path / "learner.npz")
    assert copy.settings == learner.settings
    x = np.random.default_rng(0).random((7, 784), np.float32)
    for t in range(3):
        np.testing.assert_array_equal(copy.predict(x, t), learner.predict(x, t))
    from_run = NPBCL.load(uninterrupted["growing"].folder / "learner.npz")
    np.testing.assert_array_equal(from_run.predict(x, 0), learner.predict(x, 0))
