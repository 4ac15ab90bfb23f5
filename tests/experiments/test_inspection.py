"""Runs at a glance: what is finished, where the others stopped, in what two differ, which command
repeats one.
"""

import json
import os
import warnings
from pathlib import Path

import numpy as np
import pytest

import ibpcl
from ibpcl import storage
from ibpcl.cli import main
from ibpcl.cli.parser import parser
from ibpcl.cli.run import chosen
from ibpcl.experiments import inspection
from ibpcl.experiments.config import configure
from ibpcl.experiments.folder import LOCK, begin
from ibpcl.experiments.run import run

pytestmark = pytest.mark.usefixtures("no_figures")

TINY = {"hidden": "6", "tasks": "3", "backend": "numpy", "batch": "20", "epochs": "2"}
SET = [f"--set={key}={text}" for key, text in TINY.items()]


@pytest.fixture(autouse=True)
def workplace(tmp_path, monkeypatch, small_images):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def typed(capsys, *arguments):
    code = main([*map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def made(capsys, *arguments):
    """Make a run under runs/."""
    assert typed(capsys, "run", "--quiet", *SET, *arguments)[0] == 0


def at(folder, seconds):
    """Let a run have been finished at a time."""
    os.utime(Path(folder, "result.json"), (seconds, seconds))


def test_runs_are_listed_with_what_became_of_them(capsys, interrupted):
    made(capsys, "--method", "naive")
    made(capsys, "--method", "ewc", "--seed", "4")
    with interrupted(3):
        typed(capsys, "run", "--method", "imm", *SET)
    at("runs/split-glyphs-naive-seed0", 1_000_000_000)
    at("runs/split-glyphs-ewc-seed4", 1_100_000_000)
    # a configuration and nothing else, in the folder itself
    begin(Path("runs"), configure(method="hat"))
    Path("runs/notes").mkdir()
    code, out, err = typed(capsys, "runs")
    lines = out.splitlines()
    average = storage.read_json("runs/split-glyphs-ewc-seed4/result.json")["average_accuracy"]
    assert (code, err, len(lines)) == (0, "", 5)
    assert [line.split()[0] for line in lines[1:4]] == [
        "split-glyphs-naive-seed0",
        "split-glyphs-ewc-seed4",
        # the oldest first
        "split-glyphs-imm-seed0",
    ]
    assert lines[1].split()[1:4] == ["split-glyphs", "naive", "0"] and " 2001-09-09 " in lines[1]
    assert f" {100 * average:.2f} %" in lines[2] and lines[2].endswith("  finished")
    assert lines[3].endswith("stopped in task 2 of 3 (imm, epoch 1)") and " -  " in lines[3]
    assert lines[4].endswith("stopped before its first epoch")
    _, out, _ = typed(capsys, "runs", "--json")
    rows = json.loads(out)
    assert [row["finished"] for row in rows] == [True, True, False, False]
    assert rows[1]["result"] == average and rows[1]["seed"] == 4 and rows[2]["result"] is None
    assert rows[0]["date"].startswith("2001-09-09T")


def test_the_runs_of_a_comparison_are_its_cells(capsys):
    main(["compare", "split-glyphs", "--methods=naive", "--seeds=2", *SET])
    capsys.readouterr()
    _, out, _ = typed(capsys, "runs", "comparison")
    assert sorted(line.split()[3] for line in out.splitlines()[1:]) == ["0", "1"]


def test_a_run_that_is_at_work_or_damaged_says_so(capsys, interrupted):
    made(capsys, "--method", "naive")
    folder = Path("runs/split-glyphs-naive-seed0")
    text = (folder / "result.json").read_text(encoding="utf-8")
    (folder / "result.json").write_text(text.replace('"seed": 0', '"seed": 1'), encoding="utf-8")
    assert "damaged: " in typed(capsys, "runs")[1] and "sealed" in typed(capsys, "runs")[1]
    with interrupted(3):
        typed(capsys, "run", "--method", "naive", "--out", "runs/other", *SET)
    with storage.locked(Path("runs/other", LOCK)):
        assert "running in task 2 of 3 (naive, epoch 1)" in typed(capsys, "runs")[1]
    assert "running" not in typed(capsys, "runs")[1]


def test_no_runs_and_no_folder(capsys, workplace):
    code, _, err = typed(capsys, "runs")
    assert code == 2 and err.startswith("ibpcl: runs: ") and err.count("\n") == 1
    (workplace / "runs").mkdir()
    code, out, err = typed(capsys, "runs")
    assert (code, err) == (0, "") and out.startswith("runs: ") and out.count("\n") == 1
    assert typed(capsys, "runs", "--json")[1] == "[]\n"
    assert "is not the folder of a run" in typed(capsys, "runs", "--compare", "runs", "runs")[2]


def test_what_differs_between_two_runs_is_told(capsys):
    made(capsys, "--method", "naive")
    made(capsys, "--method", "ewc", "--set", "epochs=3", "--set", "rate=0.01")
    names = "split-glyphs-naive-seed0", "split-glyphs-ewc-seed0"
    code, out, err = typed(capsys, "runs", "--compare", *names)
    words = {
        line.split("  ")[1]: line.split()[-2:] for line in out.splitlines() if line.startswith("  ")
    }
    first, second = (storage.read_json(f"runs/{name}/result.json") for name in names)
    assert (code, err) == (0, "")
    assert (
        words["method"] == ["naive", "ewc"]
        and words["rate"] == ["0.001", "0.01"]
        and "hidden" not in words
    )
    assert words["average_accuracy"] == [
        f"{one['average_accuracy']:.6g}" for one in (first, second)
    ]
    assert f"only {names[1]} has:" in out and "fisher" in out.split("has:")[1]
    for i, task in enumerate(first["tasks"]):
        pair = [one["accuracy_matrix"][-1][i] for one in (first, second)]
        assert (f"accuracy of {task}" in out) == (pair[0] != pair[1])
    _, out, _ = typed(capsys, "runs", "--compare", f"runs/{names[0]}", names[1], "--json")
    found = json.loads(out)
    assert found["settings"]["epochs"] == [2, 3] and found["settings"]["fisher"] == [None, "exact"]
    assert found["results"]["average_accuracy"] == [
        first["average_accuracy"],
        second["average_accuracy"],
    ]


def test_the_same_run_again_has_the_same_settings_and_results(capsys):
    for folder in ("a", "b"):
        made(capsys, "--out", folder, "--method", "naive")
    _, out, _ = typed(capsys, "runs", "--compare", "a", "b")
    assert "the same settings\nthe same results" in out and "results:" not in out
    first, second = map(inspection.read, ("a", "b"))
    found = inspection.differences(first, second)
    assert found["settings"] == found["results"] == {} and found["other_results"] == []
    assert found["circumstances"].keys() <= {
        "seconds.train",
        "seconds.test",
        "seconds.total",
        "peak_memory_mb",
    }
    # two quick runs may take the same milliseconds
    assert all(key in out for key in found["circumstances"])
    slower = second._replace(result=second.result | {"seconds": {"total": 1e6}})
    assert inspection.differences(first, slower)["circumstances"]["seconds.total"][1] == 1e6


def test_an_unfinished_run_is_compared_as_far_as_it_came(capsys, interrupted):
    made(capsys, "--out", "a", "--method", "naive")
    with interrupted(5):
        typed(capsys, "run", "--out", "b", "--method", "naive", *SET)
    found = inspection.differences(inspection.read("a"), inspection.read("b"))
    assert found["settings"] == {} and found["results"]["accuracy of E/F"][1] is None
    assert inspection.read("b").result["tasks"] == ["A/B", "C/D"]
    done = np.array(storage.read_json("a/result.json")["accuracy_matrix"], float)[:2, :2]
    np.testing.assert_array_equal(inspection.read("b").matrix, done)


def test_orders_to_the_terminal_in_a_name_are_not_printed(capsys, workplace):
    made(capsys, "--out", "runs/a", "--method", "naive")
    path = workplace / "runs/a/config.toml"
    path.write_text(
        path.read_text(encoding="utf-8").replace('"split-glyphs"', '"\\u001b[31mred"'),
        encoding="utf-8",
    )
    _, out, _ = typed(capsys, "runs")
    assert "\x1b" not in out and "?[31mred" in out
    path.write_text(
        path.read_text(encoding="utf-8").replace('method = "naive"', "method = 5"), encoding="utf-8"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert "config.toml: method must be text" in typed(capsys, "runs")[2]


# The command that repeats a run.


def repeated(folder):
    """Return the configuration that the command of a folder's run asks for."""
    options = parser().parse_args(inspection.command(inspection.read(folder))[1:])
    return chosen(options)[0].table


@pytest.mark.parametrize(
    "target, keys",
    [
        ("split-glyphs", {}),
        (
            "split-glyphs",
            {"method": "ewc", "seed": 3, "hidden": (7, 5), "single_head": True, "train_limit": 30},
        ),
        ("split-glyphs", {"preset": "paper", "alpha": 20.0}),
        ("split-mnist", {"method": "ewc", "preset": "tuned", "data_dir": "some folder"}),
        ("domain-glyphs", {"method": "naive"}),
        ("terrain", {"epochs": 3, "tasks": 2}),
        ("vae-glyphs", {"latent": 4, "final_samples": 7}),
        ("vae-mnist", {"method": "vae_ewc", "weight": 2.0}),
    ],
    ids=str,
)
def test_the_command_makes_the_same_run(target, keys, tmp_path):
    config = configure(target, **keys)
    (tmp_path / "folder").mkdir()
    begin(tmp_path / "folder", config)
    assert repeated(tmp_path / "folder") == config.table


def test_defaults_make_a_short_command(tmp_path):
    (tmp_path / "folder").mkdir()
    begin(tmp_path / "folder", configure("vae-glyphs", seed=2))
    assert inspection.command(inspection.read(tmp_path / "folder")) == [
        "ibpcl",
        "run",
        "vae-glyphs",
        "--seed",
        "2",
    ]


def test_a_file_with_an_experiment_of_ones_own_is_repeated_without_the_file(workplace):
    (workplace / "mine.toml").write_text(
        'dataset = "glyphs"\nstream = "permuted"\nmethod = "naive"\nhidden = 9\n'
    )
    config = configure("mine.toml")
    (workplace / "folder").mkdir()
    begin(workplace / "folder", config)
    (workplace / "mine.toml").unlink()
    assert config.experiment == "mine" and repeated("folder") == config.table


def own(path):
    """Write own data."""
    labels = np.arange(80) % 4
    inputs = np.random.default_rng(0).random((80, 9), np.float32)
    np.savez(path, x_train=inputs, y_train=labels, x_test=inputs, y_test=labels)
    return inputs, labels


def test_own_data_are_named(workplace):
    for name in ("mine.npz", "my data.npz"):
        own(name)
        options = parser().parse_args(
            ["run", "--data", name, "--set", "classes=[[0,1],[2,3]]", "--method", "naive"]
        )
        config, _ = chosen(options)
        (workplace / config.experiment).mkdir()
        begin(workplace / config.experiment, config)
        words = inspection.command(inspection.read(config.experiment))
        assert (
            words[2:4] == ["--data", str(workplace / name)]
            and repeated(config.experiment) == config.table
        )
        # a name that is not the file's
        assert ("experiment=my-data" in words) == (name == "my data.npz")


def test_tasks_from_python_have_no_command(workplace):
    inputs, labels = own("x.npz")
    ibpcl.run(
        ibpcl.tasks_from_arrays(inputs, labels),
        "folder",
        method="naive",
        hidden=5,
        epochs=1,
        backend="numpy",
    )
    assert inspection.command(inspection.read("folder")) == []


def test_a_method_that_is_not_at_hand_is_repeated_from_the_file_and_not_imported(workplace, capsys):
    run(
        configure(
            method="naive", **{key: int(text) for key, text in TINY.items() if text.isdigit()}
        ),
        "folder",
    )
    path = workplace / "folder/config.toml"
    path.write_text(
        path.read_text(encoding="utf-8").replace('"naive"', '"nowhere_at_all:Mine"'),
        encoding="utf-8",
    )
    (workplace / "nowhere_at_all.py").write_text("raise SystemExit('imported')", encoding="utf-8")
    found = inspection.read("folder")
    assert inspection.command(found) == ["ibpcl", "run", "folder/config.toml"]
    assert "hidden" in inspection.changed(found.table) and "tasks" in inspection.changed(
        found.table
    )
    assert typed(capsys, "report", "folder")[0] == 0
    assert "Method nowhere_at_all:Mine." in Path("folder/report.html").read_text(encoding="utf-8")
