"""Methods side by side: from the command line to the table and its files."""

import json
from pathlib import Path

import numpy as np
import pytest

from ibpcl.cli import main
from ibpcl.errors import TrainingError, UserError
from ibpcl.experiments import findings
from ibpcl.experiments import run as run_module
from ibpcl.experiments.choice import Choice
from ibpcl.experiments.compare import compare, spread
from ibpcl.experiments.config import able
from ibpcl.experiments.tuned import TUNED
from ibpcl.methods import ABOUT, METHODS
from ibpcl.methods.ewc import EWC

TINY = {
    "hidden": "6",
    "tasks": "3",
    "backend": "numpy",
    "batch": "20",
    "epochs": "2",
    "rate": "0.05",
}


@pytest.fixture(autouse=True)
def small(drawn, monkeypatch):
    monkeypatch.setattr(run_module.run_figures, "draw", lambda *arguments, **options: None)


def typed(capsys, out, *arguments):
    """Run the command on glyphs; return its exit code, its output, and the lines of standard
    error.
    """
    code = main(
        [
            "compare",
            *arguments,
            "--out",
            str(out),
            *(f"--set={key}={text}" for key, text in TINY.items()),
        ]
    )
    captured = capsys.readouterr()
    return code, captured.out, captured.err.splitlines()


def table_of(folder):
    return json.loads((Path(folder) / "table.json").read_text(encoding="utf-8"))


def test_the_table_has_the_means_of_the_runs(tmp_path, capsys):
    code, out, err = typed(
        capsys, tmp_path, "split-glyphs", "--methods", "ewc,naive", "--seeds", "3"
    )
    assert (code, err) == (0, []) and "mean ± sd over 3 seeds" in out
    assert max(len(line) for line in out.splitlines() if not line.startswith("written to")) <= 80
    table = table_of(tmp_path / "split-glyphs")
    folder = tmp_path / "split-glyphs"
    assert (table["experiment"], table["methods"], table["seeds"]) == (
        "split-glyphs",
        ["ewc", "naive"],
        3,
    )
    entries = {(entry["row"], entry["column"]): entry for entry in table["tables"][0]["entries"]}
    assert len(entries) == 2 * 4
    for method in ("ewc", "naive"):
        found = [
            json.loads((folder / cell["folder"] / "result.json").read_text(encoding="utf-8"))
            for cell in table["cells"]
            if cell["row"] == method
        ]
        assert [one["seed"] for one in found] == [0, 1, 2]
        for column, values in (
            ("accuracy, %", [100 * one["average_accuracy"] for one in found]),
            ("BWT, points", [100 * one["backward_transfer"] for one in found]),
            ("seconds", [one["seconds"]["train"] + one["seconds"]["test"] for one in found]),
        ):
            assert entries[method, column]["mean"] == pytest.approx(np.mean(values))
            assert entries[method, column]["standard_deviation"] == pytest.approx(
                np.std(values, ddof=1)
            )
    # 16 x 6 weights and 6 biases, as weights, anchor and information; three heads; the number of
    # classes of each task.
    assert entries["ewc", "stored, MB"]["mean"] == pytest.approx(
        1e-6 * (3 * 4 * 102 + 3 * 4 * 14 + 3 * 8)
    )
    for name in ("curves.png", "by_task.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")
    markdown = (folder / "table.md").read_text(encoding="utf-8")
    assert "| ewc |" in markdown and "![curves](curves.png)" in markdown


def test_results_appear_in_the_table_as_they_come(tmp_path, capsys, monkeypatch, interrupted):
    monkeypatch.setattr(findings, "PAUSE", 0.0)
    # in the third run: three tasks of two epochs each
    with interrupted(15):
        assert (
            typed(capsys, tmp_path, "split-glyphs", "--methods", "naive,ewc", "--seeds", "2")[0]
            == 130
        )
    table = table_of(tmp_path / "split-glyphs")
    assert {entry["row"] for entry in table["tables"][0]["entries"]} == {"naive"} and len(
        table["cells"]
    ) == 2
    assert table["notes"][0] == "So far: 2 of 4 runs."
    typed(capsys, tmp_path, "split-glyphs", "--methods", "naive,ewc", "--seeds", "2")
    assert not any("So far" in note for note in table_of(tmp_path / "split-glyphs")["notes"])


def test_runs_that_are_there_are_used_again_and_others_added(tmp_path, capsys, monkeypatch):
    typed(capsys, tmp_path, "split-glyphs", "--methods", "naive", "--seeds", "2")
    learned = []
    learn = EWC.learn
    monkeypatch.setattr(
        EWC,
        "learn",
        lambda self, task, *rest, **options: (
            learned.append(self.seed) or learn(self, task, *rest, **options)
        ),
    )
    _, out, _ = typed(capsys, tmp_path, "split-glyphs", "--methods", "naive,ewc", "--seeds", "2")
    assert "naive, seed" not in out and "split-glyphs, ewc, seed 1:" in out
    assert learned == [0, 0, 0, 1, 1, 1]
    _, _, err = typed(capsys, tmp_path, "split-glyphs", "--methods", "naive,ewc", "--seeds", "2")
    assert len(err) == 1 and "nothing was trained" in err[0] and len(learned) == 6


def test_how_long_each_learned_is_told_where_it_differs(tmp_path, capsys):
    _, out, _ = typed(capsys, tmp_path, "split-glyphs", "--methods", "naive,ewc", "--seeds", "1")
    assert "Epochs per task" not in out
    _, out, _ = typed(
        capsys,
        tmp_path,
        "split-glyphs",
        "--methods",
        "naive,ewc",
        "--seeds",
        "1",
        "--set",
        "ewc.epochs=4",
    )
    assert "2: naive; 4: ewc." in " ".join(out.split())


def test_an_interrupted_comparison_goes_on_with_the_task(
    tmp_path, capsys, monkeypatch, interrupted
):
    with interrupted(4):
        assert typed(capsys, tmp_path, "split-glyphs", "--methods", "ewc", "--seeds", "1")[0] == 130
    learned = []
    learn = EWC.learn
    monkeypatch.setattr(
        EWC,
        "learn",
        lambda self, task, *rest, **options: (
            learned.append(task.name) or learn(self, task, *rest, **options)
        ),
    )
    typed(capsys, tmp_path, "split-glyphs", "--methods", "ewc", "--seeds", "1")
    assert learned == ["C/D", "E/F"]  # the first task was done
    typed(capsys, tmp_path / "whole", "split-glyphs", "--methods", "ewc", "--seeds", "1")
    first, second = (
        table_of(folder / "split-glyphs")["cells"][0]["accuracy"]
        for folder in (tmp_path, tmp_path / "whole")
    )
    assert first == second


def test_without_methods_all_take_part_that_can():
    assert set(able("split-glyphs")) == set(METHODS)
    assert set(able("domain-glyphs")) == {name for name in METHODS if "domain" in ABOUT[name].can}
    assert able("terrain") == ["npbcl"]


def test_a_file_is_an_experiment_too(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('dataset = "glyphs"\ntasks = 2\ntrain_limit = 20\n', encoding="utf-8")
    texts = {key: text for key, text in TINY.items() if key != "tasks"}
    done = compare(
        str(path),
        ("naive",),
        Choice(1, assignments=spread(texts, ("naive",)), out=tmp_path / "out"),
        False,
    )
    assert done.folder == tmp_path / "out" / "mine"
    assert table_of(done.folder)["cells"][0]["settings"]["tasks"] == 2


def test_a_file_that_starts_from_a_tuned_experiment_is_tuned_too(tmp_path, monkeypatch):
    monkeypatch.setitem(TUNED, "split-glyphs", {"naive": {"rate": 0.02}})
    path = tmp_path / "mine.toml"
    texts = {key: text for key, text in TINY.items() if key != "rate"}
    path.write_text('experiment = "split-glyphs"\ntrain_limit = 20\n', encoding="utf-8")
    for tuned, rate in ((True, 0.02), (False, 0.001)):
        choice = Choice(
            1, assignments=spread(texts, ("naive", "ewc")), out=tmp_path / str(tuned), tuned=tuned
        )
        done = compare(str(path), ("naive", "ewc"), choice, False)
        rates = {cell["row"]: cell["settings"]["rate"] for cell in table_of(done.folder)["cells"]}
        assert rates == {"naive": rate, "ewc": 0.001}


def test_a_key_goes_to_all_who_have_it():
    assert spread(
        {"seed": "1", "weight": "3", "naive.rate": "0.1", "rate": "0.2"}, ("naive", "ewc")
    ) == {"seed": "1", "ewc.weight": "3", "naive.rate": "0.1", "ewc.rate": "0.2"}
    with pytest.raises(UserError, match=r"'wieght'.*naive, ewc.*did you mean 'weight'"):
        spread({"wieght": "1"}, ("naive", "ewc"))


def test_a_method_that_cannot_be_trained_is_left_out_and_the_command_fails(
    tmp_path, capsys, monkeypatch
):
    def failing(self, *arguments, **options):
        raise TrainingError("the loss is not finite")

    monkeypatch.setattr(EWC, "learn", failing)
    code, out, err = typed(
        capsys, tmp_path, "split-glyphs", "--methods", "naive,ewc", "--seeds", "1"
    )
    assert code == 1 and len(err) == 1 and "1 run failed" in err[0]
    assert {
        entry["row"] for entry in table_of(tmp_path / "split-glyphs")["tables"][0]["entries"]
    } == {"naive"}
    assert "Not trained: split-glyphs, ewc, seed 0: the loss is not finite" in " ".join(out.split())


@pytest.mark.parametrize(
    ("method", "texts", "reason"),
    [
        (
            "vcl",
            {"train_limit": "40", "coreset": "random"},
            "vcl: the coreset takes all 40 examples of task 'A/B'",
        ),
        (
            "vcl",
            {"train_limit": "30", "coreset": "k_center"},
            "cannot choose 40 of 30 examples; make coreset_size smaller",
        ),
        (
            "rcl",
            {"train_limit": "4"},
            "rcl: held_out = 0.1 of the 4 training examples of task 'C/D'",
        ),
    ],
)
def test_a_method_that_has_too_few_examples_is_named(method, texts, reason, tmp_path, capsys):
    code, out, err = typed(
        capsys,
        tmp_path,
        "split-glyphs",
        "--methods",
        f"naive,{method}",
        "--seeds",
        "1",
        *(f"--set={key}={text}" for key, text in texts.items()),
    )
    assert code == 1 and len(err) == 1 and "1 run failed" in err[0]
    assert {
        entry["row"] for entry in table_of(tmp_path / "split-glyphs")["tables"][0]["entries"]
    } == {"naive"}
    assert f"Not trained: split-glyphs, {method}, seed 0:" in " ".join(
        out.split()
    ) and reason in " ".join(out.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nosuch", "--methods", "naive"], ["unknown experiment 'nosuch'", "known:"]),
        (["split-glyphs", "--methods", "naive,nobody"], ["unknown method 'nobody'", "known:"]),
        (["split-glyphs", "--methods", "nive"], ["did you mean 'naive'"]),
        (["split-glyphs", "--methods", ","], ["--methods must name", "npbcl"]),
        (
            ["domain-glyphs", "--methods", "naive,hat"],
            ["hat", "domain", "these can: npbcl", "ibpcl methods"],
        ),
        (["domain-glyphs", "--methods", "independent"], ["independent", "domain"]),
        (["terrain", "--methods", "ewc"], ["ewc", "regression", "these can: npbcl"]),
        (["vae-glyphs"], ["log-likelihood", "accuracies"]),
        (["split-glyphs", "--methods", "naive", "--seeds", "0"], ["seeds must be in 1 .. 1000"]),
        (
            ["split-glyphs", "--methods", "naive", "--seeds", "99999999999"],
            ["seeds must be in 1 .. 1000"],
        ),
        (
            ["split-glyphs", "--methods", "naive", "--set", "ewc.rate=1"],
            ["'ewc.rate'", "not compared", "compared: naive"],
        ),
        (["split-glyphs", "--methods", "naive", "--set", "seed=1"], ["--seeds"]),
        (
            ["split-glyphs", "--methods", "naive", "--set", "preset=paper"],
            ["preset cannot be set", "with --tuned"],
        ),
        (
            ["split-glyphs", "--methods", "npbcl", "--set", "npbcl.preset=paper"],
            ["npbcl.preset cannot be set", "with --tuned"],
        ),
        (
            ["split-glyphs", "--methods", "naive", "--set", "dataset=mnist"],
            ["dataset cannot be set", "another EXPERIMENT"],
        ),
        (["split-glyphs", "--methods", "naive", "--set", "rate"], ["--set takes KEY=VALUE"]),
    ],
)
def test_a_slip_is_one_line(arguments, words, tmp_path, capsys):
    code = main(["compare", *arguments, "--out", str(tmp_path / "out")])
    out, err = capsys.readouterr()
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert all(word in err for word in words), err
    assert not (tmp_path / "out").exists()
