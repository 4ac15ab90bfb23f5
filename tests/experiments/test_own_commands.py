"""The command line with one's own data and methods, its JSON, its predictions, and what it answers
to slips.
"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from quick import quick

import ibpcl
from ibpcl import storage
from ibpcl.cli import main
from ibpcl.experiments.presets import PRESETS

TINY = ["--set", "hidden=6", "--set", "epochs=2", "--set", "batch=20", "--set", "backend=numpy"]
CLASSES = ["--set", "classes=[[0,1],[2,3]]"]
MINE = '''
from ibpcl.methods.ewc import EWC

class Mine(EWC):
    """EWC of my own."""

    def predict(self, x, task_id):
        p = super().predict(x, task_id) ** 2
        return p / p.sum(axis=1, keepdims=True)
'''


@pytest.fixture(autouse=True)
def workplace(tmp_path, monkeypatch):
    """A folder with data and a method of one's own."""
    monkeypatch.chdir(tmp_path)
    labels = np.arange(120) % 4
    inputs = np.random.default_rng(0).random((120, 9), np.float32)
    inputs[np.arange(120), labels] += 1
    np.savez(
        "mine.npz", x_train=inputs[:80], y_train=labels[:80], x_test=inputs[80:], y_test=labels[80:]
    )
    np.save("x.npy", inputs[:5])
    (tmp_path / "my_methods.py").write_text(MINE, encoding="utf-8")
    monkeypatch.setattr(sys, "path", [*sys.path])
    sys.modules.pop("my_methods", None)
    return tmp_path


def typed(capsys, *arguments):
    code = main([*map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def test_own_data_and_an_own_method_make_a_run(workplace, capsys):
    arguments = ["run", "--data", "mine.npz", *CLASSES, "--method", "my_methods:Mine", *TINY]
    code, out, err = typed(capsys, *arguments)
    assert (code, err) == (0, "") and "mine: 2 tasks, method my_methods:Mine" in out
    folder = workplace / "runs" / "mine-Mine-seed0"
    table = storage.read_toml(folder / "config.toml")
    assert table["data"] == str(workplace / "mine.npz") and table["classes"] == [[0, 1], [2, 3]]
    assert (folder / "accuracy_curves.png").exists()
    for again in (arguments, ["run", "--resume", folder]):
        code, told, err = typed(capsys, *again)
        assert (code, told) == (
            0,
            out.replace("runs/mine", f"{folder.parent}/mine") if again != arguments else out,
        )
        assert "nothing was trained" in err


@pytest.mark.usefixtures("no_figures")
def test_a_file_says_the_same_as_the_command_line(workplace, capsys):
    (workplace / "own.toml").write_text(
        'data = "mine.npz"\nclasses = [[0, 1], [2, 3]]\nmethod = "naive"\nhidden = 6\n'
    )
    assert typed(capsys, "run", "own.toml", "--quiet")[0] == 0
    table = storage.read_toml(workplace / "runs" / "own-naive-seed0" / "config.toml")
    assert (table["dataset"], table["tasks"], table["hidden"]) == ("own", 2, [6])


@pytest.mark.usefixtures("no_figures")
def test_a_run_on_other_data_than_it_was_made_with_is_refused(workplace, capsys, interrupted):
    arguments = ["run", "--data", "mine.npz", *CLASSES, "--method", "naive", *TINY, "--quiet"]
    with interrupted(3):
        assert typed(capsys, *arguments)[0] == 130
    arrays = dict(np.load("mine.npz"))
    np.savez("mine.npz", **arrays | {"x_train": arrays["x_train"] + 1e-3})
    code, _, err = typed(capsys, "run", "--resume", "runs/mine-naive-seed0", "--quiet")
    assert (
        code == 2
        and "mine.npz differs from the data of the run" in err
        and len(err.splitlines()) == 1
    )
    np.savez("mine.npz", **arrays)
    assert typed(capsys, "run", "--resume", "runs/mine-naive-seed0", "--quiet")[0] == 0


@pytest.mark.usefixtures("no_figures")
def test_predictions_are_those_of_the_learner(workplace, capsys):
    typed(capsys, "run", "--data", "mine.npz", *CLASSES, "--method", "my_methods:Mine", *TINY)
    folder = "runs/mine-Mine-seed0"
    method = ("--method", "my_methods:Mine")
    code, out, err = typed(
        capsys, "predict", folder, "x.npy", "--task", "1", "--out", "p.npy", *method
    )
    assert (code, out, err) == (0, "p.npy: 5 rows of 2 probabilities\n", "")
    p = np.load("p.npy")
    np.testing.assert_array_equal(p, ibpcl.load(folder).predict(np.load("x.npy"), 1))
    code, out, _ = typed(capsys, "predict", folder, "x.npy", "--task", "1", *method)
    np.testing.assert_allclose(np.loadtxt(out.splitlines()), p, rtol=1e-5)


@pytest.mark.usefixtures("no_figures")
def test_methods_are_compared_and_tuned_on_own_data(capsys):
    arguments = ["--data", "mine.npz", *CLASSES, *TINY[2:]]
    methods = ["--methods", "ewc,my_methods:Mine", "--seeds", "2"]
    code, out, err = typed(capsys, "compare", *arguments, *methods, "--dry-run")
    assert (code, err) == (0, "") and out.startswith(
        "4 runs (2 methods, 2 seeds), 0 of them finished"
    )
    code, out, err = typed(capsys, "compare", *arguments, *methods, "--json")
    table = json.loads(out)["tables"][0]
    assert (code, err) == (0, "") and {entry["row"] for entry in table["entries"]} == {
        "ewc",
        "Mine",
    }
    code, out, _ = typed(capsys, "compare", *arguments, *methods, "--dry-run")
    assert "4 of them finished; the others take about 0 min 0 s" in out
    code, out, err = typed(
        capsys, "tune", *arguments, "--method", "my_methods:Mine", "--trials", "2", "--json"
    )
    found = json.loads(out)
    assert (code, err) == (0, "") and [trial["number"] for trial in found["trials"]] == [0, 1]
    assert (
        found["use"].startswith("ibpcl run --data ")
        and "--set 'classes=[[0, 1], [2, 3]]'" in found["use"]
    )


def test_a_subclass_is_searched_where_its_base_is(capsys):
    from ibpcl.experiments.search import space_of
    from ibpcl.experiments.search_spaces import SPACES

    assert space_of("my_methods:Mine") == SPACES["ewc"]


@pytest.mark.parametrize(
    "arguments",
    quick(
        ["settings ewc"],
        [["settings", "ewc"], ["methods"], ["data", "list"]],
        "all tables are printed by one function",
        name=" ".join,
    ),
)
def test_tables_are_there_as_json(capsys, arguments):
    code, out, err = typed(capsys, *arguments, "--json")
    assert (code, err) == (0, "") and json.loads(out)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rnu"], ["'rnu'", "did you mean 'run'"]),
        (["data", "lst"], ["did you mean 'list'"]),
        (["run", "--preset", "papr"], ["'papr'", "did you mean 'paper'"]),
        (
            ["run", "split-mnist", "--data", "mine.npz"],
            ["EXPERIMENT or --data, not both", "split-mnist"],
        ),
        (["compare", "--methods", "ewc"], ["name an EXPERIMENT", "--data"]),
        (["run", "--data", "nowhere.npz"], ["--data: nowhere.npz: there is no such file"]),
        (["run", "--data", "x.npy"], ["x.npy", ".npz file"]),
        (
            ["run", "--data", "mine.npz", "--set", "classes=[[0,9],[1,2,3]]"],
            ["mine.npz", "no examples of 9"],
        ),
        (
            ["run", "--data", "mine.npz", "--set", "classes=[[0,1"],
            ["classes must be a list of lists of whole numbers"],
        ),
        (["run", "--method", "my_methods:Yours"], ["my_methods has no class Yours"]),
        (["run", "--method", "no_such_module:Mine"], ["no_such_module cannot be imported"]),
        (
            ["run", "--method", "ibpcl.errors:UserError"],
            ["has no learn, predict, state, load_state"],
        ),
        (
            ["predict", "nowhere", "x.npy", "--task", "0"],
            ["load: nowhere: there is no such file or folder"],
        ),
        (["predict", "mine.npz", "x.npy", "--task", "0"], ["mine.npz is damaged"]),
    ],
)
def test_a_slip_is_one_line(capsys, arguments, words):
    code, out, err = typed(capsys, *arguments)
    assert (code, out, len(err.splitlines())) == (2, "", 1), err
    assert all(word in err for word in words), err
    assert not os.path.exists("runs")


@pytest.mark.parametrize(
    ("inputs", "task", "words"),
    [
        (np.zeros((2, 8)), 0, "x must have shape (N, 9)"),
        (np.full((2, 9), np.nan), 0, "must be finite"),
        (np.zeros((2, 9)), 2, "unknown task_id 2; 0 ... 1"),
        (np.zeros(9), 0, "shape (N, D)"),
        (np.array([[{}]]), 0, "not an array of numbers"),
        (np.array([["a"] * 9]), 0, "real numbers"),
    ],
    ids=str,
)
@pytest.mark.usefixtures("no_figures")
def test_inputs_that_cannot_be_predicted(capsys, inputs, task, words):
    typed(capsys, "run", "--data", "mine.npz", *CLASSES, "--method", "naive", *TINY)
    np.save("bad.npy", inputs, allow_pickle=True)
    code, out, err = typed(capsys, "predict", "runs/mine-naive-seed0", "bad.npy", "--task", task)
    assert (code, out, len(err.splitlines())) == (2, "", 1) and "bad.npy" in err and words in err, (
        err
    )


@pytest.mark.processes(reason="a shell starts a process for each completion")
def test_a_shell_completes_commands_and_experiments():
    def completed(line):
        code = "import sys; from ibpcl.cli import main; sys.exit(main())"
        variables = {
            "_ARGCOMPLETE": "1",
            "COMP_LINE": line,
            "COMP_POINT": str(len(line)),
            "_ARGCOMPLETE_IFS": "\n",
            "_ARGCOMPLETE_STDOUT_FILENAME": "found.txt",
        }
        subprocess.run(
            [sys.executable, "-c", code], env=os.environ | variables, capture_output=True
        )
        with open("found.txt", encoding="utf-8") as file:
            return [word.strip() for word in file.read().splitlines()]

    pytest.importorskip("argcomplete")
    assert completed("ibpcl comp") == ["compare"]
    assert set(PRESETS) <= set(completed("ibpcl run "))
    assert "hat" in completed("ibpcl run --method h")
