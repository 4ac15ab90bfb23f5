"""Runs with one softmax over all classes seen so far: from the command line to the files."""

import contextlib
import dataclasses
import itertools

import numpy as np
import pytest
from quick import quick

import ibpcl
from ibpcl import checkpoints, storage
from ibpcl.cli import main
from ibpcl.data.own import own_tasks
from ibpcl.data.tasks import IncrementalStream
from ibpcl.errors import UserError
from ibpcl.experiments.config import able, configure, keys
from ibpcl.experiments.presets import PRESETS
from ibpcl.experiments.run import run
from ibpcl.experiments.streams import make_stream
from ibpcl.methods import ABOUT

pytestmark = pytest.mark.usefixtures("no_figures")

TINY = {
    "hidden": (6,),
    "prediction_samples": 5,
    "epochs": 2,
    "finetune_epochs": 1,
    "batch": 20,
    "tasks": 3,
    "backend": "numpy",
    "alpha": 20.0,
}
NAMES = ("class-glyphs", "class-mnist", "class-fashion-mnist")


def tiny(method, **changes):
    settings = {**TINY, **changes}
    return {"method": method} | {name: settings[name] for name in settings if name in keys(method)}


def same(one, other):
    assert one.keys() == other.keys()
    for name, value in other.items():
        np.testing.assert_array_equal(one[name], value, err_msg=name)


@pytest.mark.parametrize("method", ["ewc", "npbcl"])
def test_one_task_is_the_run_with_a_head_per_task(method, drawn):
    one, other = (
        run(configure(name, **tiny(method, tasks=1)), progress=False)
        for name in ("class-glyphs", "split-glyphs")
    )
    assert one.result["accuracy_matrix"] == other.result["accuracy_matrix"]
    x = make_stream(other.config)[0].x_test
    np.testing.assert_array_equal(one.learner.predict(x, 0), other.learner.predict(x, 0))


@pytest.mark.parametrize(
    ("after", "method"),
    quick(
        ["1-ewc", "5-npbcl"],
        itertools.product([1, 5], ["ewc", "npbcl"]),
        "both moments and both methods are there",
        name=lambda case: f"{case[0]}-{case[1]}",
    ),
)
def test_an_interrupted_run_goes_on_bit_for_bit(method, after, tmp_path, drawn, interrupted):
    config = configure("class-glyphs", **tiny(method))
    whole = run(config, tmp_path / "whole", progress=False)
    with interrupted(after), contextlib.suppress(KeyboardInterrupt):
        run(config, tmp_path / "run", progress=False)
    assert main(["run", "--resume", str(tmp_path / "run"), "--quiet"]) == 0
    arrays = checkpoints.load(tmp_path / "run" / "learner.npz").arrays
    same(arrays, whole.learner.state())
    result = storage.read_json(tmp_path / "run" / "result.json")
    expected = storage.read_json(tmp_path / "whole" / "result.json")
    assert result["accuracy_matrix"] == expected["accuracy_matrix"]
    assert result["stream"] == "incremental" and result["tasks"] == ["A/B", "C/D", "E/F"]


@pytest.mark.parametrize("name", NAMES)
def test_the_experiments_have_a_single_head_and_all_classes(name, drawn):
    stream = make_stream(configure(name, method="naive", validation=0.2, train_limit=30))
    assert isinstance(stream[4].seen, tuple) and stream[4].seen == tuple(range(10))
    assert stream[1].seen == (0, 1, 2, 3) and set(stream[1].y_test.tolist()) == {2, 3}
    assert len(stream[1].y_train) == 30
    assert configure(name).settings.single_head
    assert able(name) == [method for method, about in ABOUT.items() if "domain" in about.can]
    assert PRESETS[name].run["stream"] == "incremental"
    for arguments in ({"method": "hat"}, {"single_head": False}, {"tasks": 6}):
        with pytest.raises(UserError, match=r"hat cannot do|single_head must be true|at most 5"):
            make_stream(configure(name, **arguments))


def test_every_experiment_can_be_made_incremental():
    config = configure("split-mnist", {"stream": "incremental"}, method="ewc")
    assert config.settings.single_head
    assert {**config.table, "experiment": "class-mnist"} == configure(
        "class-mnist", method="ewc"
    ).table


def test_unknown_names_have_a_nearest_one(tmp_path, capsys):
    for arguments, nearest in (
        (["run", "class-mnits"], "class-mnist"),
        (["run", "split-glyphs", "--set", "stream=incremental-split"], "incremental"),
        (["reproduce", "scenario"], "scenarios"),
        (["reproduce", "scenarios", "--datasets", "permuted-mnist-30"], "domain-mnist"),
    ):
        assert main([*arguments, "--out", str(tmp_path / "out")]) == 2
        assert nearest in capsys.readouterr().err


@pytest.fixture
def own_file(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 4
    x = rng.normal(size=(60, 4)) + 3 * np.eye(4)[y]
    path = tmp_path / "mine.npz"
    np.savez(path, x_train=x, y_train=y, x_test=x[:20], y_test=y[:20])
    return path


def test_your_own_data(own_file, tmp_path):
    out = tmp_path / "run"
    texts = {**tiny("naive"), "classes": "[[0,3],[2,1]]", "stream": "own-incremental"}
    del texts["tasks"]
    arguments = [
        f"--set={key}={value if isinstance(value, str) else value[0] if key == 'hidden' else value}"
        for key, value in texts.items()
    ]
    assert main(["run", "--data", str(own_file), *arguments, "--quiet", "--out", str(out)]) == 0
    config = storage.read_toml(out / "config.toml")
    assert config["stream"] == "own-incremental" and config["single_head"] is True
    assert main(["run", "--resume", str(out), "--quiet"]) == 0
    predicted = ibpcl.load(out).predict(np.eye(4), 0)
    assert predicted.shape == (4, 4) and (predicted > 0).all()


def test_your_own_tasks_in_python():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 4
    tasks = ibpcl.tasks_from_arrays(rng.normal(size=(60, 4)), y, [(0, 1), (2, 3)])
    settings = {**tiny("naive"), "seed": 3}
    del settings["tasks"]
    one = ibpcl.run(tasks, stream="own-incremental", **settings)
    incremental = IncrementalStream(tasks)
    other = ibpcl.run(incremental, single_head=True, **settings)
    same(one.learner.state(), other.learner.state())
    assert one.learner.state()["seen"].tolist() == [0, 1, 2, 3]
    # a resumed run is refused if other classes have been seen
    without = [dataclasses.replace(task, seen=None) for task in incremental]
    assert own_tasks(without).sha256 != other.config.data_sha256
    with pytest.raises(UserError, match="own or own-incremental with your own data"):
        configure("split-glyphs", stream="own-incremental")
    with pytest.raises(UserError, match="own or own-incremental with your own data"):
        ibpcl.run(tasks, stream="incremental", **settings)
