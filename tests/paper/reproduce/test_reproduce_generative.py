"""The targets about generative models, from the command line to their files."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from quick import quick

from ibpcl.cli import main
from ibpcl.evaluation import codes
from ibpcl.experiments import cells as planning
from ibpcl.experiments.benchmarks import BENCHMARKS
from ibpcl.experiments.choice import Choice
from ibpcl.experiments.config import configure
from ibpcl.experiments.tables import Printed
from ibpcl.methods import GENERATIVE
from ibpcl.methods.npbcl_settings import ImageSettings
from ibpcl.paper import numbers as paper
from ibpcl.paper.reproduce import GENERATIVE_TARGETS, generative
from ibpcl.paper.reproduce.generative import PRINTED_ROWS
from ibpcl.paper.reproduce.rows import GENERATIVE_ROWS
from ibpcl.paper.reproduce.target import KINDS

pytestmark = pytest.mark.usefixtures("no_figures")

SMALL = {
    "hidden": "8",
    "latent": "2",
    "epochs": "1",
    "finetune_epochs": "1",
    "batch": "50",
    "backend": "numpy",
    "tasks": "2",
    "vcl.hidden": "8,8",
    "vcl.latent": "2",
    "vcl.epochs": "1",
    "train_limit": "60",
    "alpha": "200",
    "latent_alpha": "200",
}
# The keys of SMALL that a run of VCL alone has.
ONLY_VCL = ("backend", "tasks", "vcl.hidden", "vcl.latent", "vcl.epochs", "train_limit")
# What is added to K for an invented printed error, and the ends of the names of the columns.
SHIFT = {"vcl": 0.5, "npbcl": 0.25}
ENDS = ("", " paper")


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    """A folder in which all targets find each other's runs."""
    return tmp_path_factory.mktemp("reproduction")


def typed(capsys, out, target, *arguments):
    texts = [f"--set={key}={text}" for key, text in SMALL.items()]
    code = main(
        [
            "reproduce",
            target,
            "--out",
            str(out),
            "--quick",
            "--datasets",
            "glyphs",
            "--methods",
            "vcl,npbcl",
            *texts,
            *arguments,
        ]
    )
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize(
    "target",
    quick(
        ["samples"],
        GENERATIVE_TARGETS,
        "a target trains for seconds, and writes its files as all others do",
    ),
)
def test_a_quick_look_from_beginning_to_end(target, cells, capsys, monkeypatch):
    if target == "tsne":  # its own test is in tests/evaluation
        monkeypatch.setattr(codes, "require_tsne", lambda: None)
        monkeypatch.setattr(codes, "tsne", lambda points, seed: np.asarray(points)[:, :2])
    code, out, err = typed(capsys, cells, target)
    assert code == 0
    # all targets but the first find their runs finished
    assert err == "" or (err.count("\n") == 1 and "nothing was trained" in err)
    folder = cells / f"{target}-quick"
    table = json.loads((folder / "table.json").read_text(encoding="utf-8"))
    assert max(len(line) for line in out.splitlines() if not line.startswith("written to")) <= 80
    assert {path.name for path in folder.iterdir()} == {
        "report.html",
        "table.md",
        "table.json",
        "values.csv",
        *table["pictures"],
    }
    page = (folder / "report.html").read_text(encoding="utf-8")
    # each has its own words
    assert page.count("<img ") == len(table["pictures"]) and "A figure: " not in page
    for picture in table["pictures"]:
        assert (folder / picture).read_bytes().startswith(b"\x89PNG")
    assert {cell["row"] for cell in table["cells"]} == {"vcl", "npbcl"} and "QUICK RUN" in out
    results = {
        cell["row"]: json.loads(
            (folder / cell["folder"] / "result.json").read_text(encoding="utf-8")
        )
        for cell in table["cells"]
    }
    entries = {
        (one["title"], entry["row"], entry["column"]): entry["mean"]
        for one in table["tables"]
        for entry in one["entries"]
    }
    if target == "likelihood":
        title = table["tables"][0]["title"]
        for row, label in (("vcl", "VCL"), ("npbcl", "ours")):
            assert entries[title, label, "log p(x)"] == pytest.approx(
                results[row]["average_log_likelihood"]
            )
            assert entries[title, label, "change"] == pytest.approx(
                results[row]["backward_transfer"]
            )
            R = results[row]["log_likelihood_matrix"]
            of_tasks = f"{title.split(':')[0]}, {label}: log p(x), nats per image"
            for j, name in enumerate(results[row]["tasks"]):
                assert entries[of_tasks, name, "after its task"] == R[j][j]
                assert entries[of_tasks, name, "in the end"] == R[-1][j]
    if target == "letters":
        title = "glyphs: 3-NN error, mean codes, percent"
        for row, label in (("vcl", "VCL"), ("npbcl", "ours")):
            assert [entries[title, label, way] for way in codes.WAYS] == pytest.approx(
                [
                    100 * results[row]["knn"][way]["means"][codes.NEIGHBOURS.index(3)]
                    for way in codes.WAYS
                ]
            )
    if target in ("letters", "generative"):
        title = "glyphs: test images in the end"
        for row, label in (("vcl", "VCL"), ("npbcl", "ours")):
            assert entries[title, label, "log p(x)"] == pytest.approx(
                results[row]["average_log_likelihood"]
            )
        shares = results["npbcl"]["sharing"]
        assert entries[title, "ours", "shared"] == pytest.approx(100 * shares[1][0])
        assert 0 < entries[title, "ours", "used"] <= 100 * results["npbcl"]["share_used"][-1]
        assert (title, "VCL", "used") not in entries
    if target == "generative":
        assert [
            entries[
                "glyphs: k-NN error, inferred, sampled codes, percent", "ours, inferred", f"{k}-NN"
            ]
            for k in codes.NEIGHBOURS
        ] == pytest.approx(
            [100 * error for error in results["npbcl"]["knn"]["inferred"]["samples"]]
        )
    if target == "knn":
        sampled = table["tables"][1]["title"]
        for way in codes.WAYS:
            told = results["npbcl"]["knn"][way]["samples"]
            assert [
                entries[sampled, f"ours, {way}", f"{k}-NN"] for k in codes.NEIGHBOURS
            ] == pytest.approx([100 * error for error in told])
    if target in ("knn", "generative"):
        title = "glyphs: k-NN error as in the paper's table, percent"
        told = results["npbcl"]["knn"]["oracle"]["samples"]
        assert [entries[title, "ours", f"{k}-NN"] for k in (3, 5, 10)] == pytest.approx(
            [100 * told[codes.NEIGHBOURS.index(k)] for k in (3, 5, 10)]
        )
        assert (title, "ours", "1-NN") not in entries
    assert len(list((cells / "cells").iterdir())) == 2  # all targets look at the same runs


def test_the_papers_errors_stand_beside_ours_in_one_table(cells, capsys, monkeypatch):
    monkeypatch.setattr(
        paper, "knn", lambda row, benchmark, k: Printed(k + SHIFT[row], None, "a table")
    )
    typed(capsys, cells, "knn")
    table = json.loads((cells / "knn-quick" / "table.json").read_text(encoding="utf-8"))
    (beside,) = [one for one in table["tables"] if "as in the paper's table" in one["title"]]
    assert beside["header"] == ["method", *(f"{k}-NN{end}" for k in (3, 5, 10) for end in ENDS)]
    values = {(entry["row"], entry["column"]): entry["values"] for entry in beside["entries"]}
    for row, shift in (("VCL", SHIFT["vcl"]), ("ours", SHIFT["npbcl"])):
        assert [values[row, f"{k}-NN paper"] for k in (3, 5, 10)] == [
            [k + shift] for k in (3, 5, 10)
        ]


def test_all_rows_of_ours_have_the_papers_number_of_ours():
    rows = [row for row in PRINTED_ROWS if row.key in ("npbcl", "paper", "paper-50")]
    printed = [generative._printed_error(row, BENCHMARKS["vae-mnist"], 3).value for row in rows]
    assert printed == [0.37, 0.37, 0.37]
    changed = next(row for row in PRINTED_ROWS if row.key == "vcl-0.001")
    assert generative._printed_error(changed, BENCHMARKS["vae-mnist"], 3) is None


def test_the_generative_targets_share_their_rows(monkeypatch):
    monkeypatch.setattr(codes, "require_tsne", lambda: None)
    keys = ["naive", "ewc", "vcl", "npbcl", "paper", "paper-50"]
    for target in set(GENERATIVE_TARGETS) - {"letters"}:
        rows = KINDS[target].rows(False)
        offered = [row.key for row in rows]
        assert set(keys) <= set(offered) if target == "generative" else keys == offered
        # a hundred epochs are no quick look
        assert [row.key for row in KINDS[target].rows(True)] == [
            key for key in offered if key != "paper-50"
        ]
        assert all(row in PRINTED_ROWS for row in rows)
    assert KINDS["tsne"].shown == ("vcl", "npbcl")


def test_letters_are_learned_by_every_method_and_with_the_networks_of_the_digits():
    rows = {row.key: row for row in KINDS["letters"].rows(False)}
    assert {row.method for row in rows.values()} == set(GENERATIVE)
    digits = configure("vae-mnist", preset="paper").settings
    (letters,) = planning.plan((rows["paper-large"],), (BENCHMARKS["vae-glyphs"],), Choice(seeds=1))
    assert letters.config.settings == digits


def test_a_target_runs_the_rows_that_it_shows_unless_others_are_named(cells, capsys, monkeypatch):
    monkeypatch.setattr(codes, "require_tsne", lambda: None)
    monkeypatch.setitem(KINDS, "tsne", KINDS["tsne"]._replace(shown=("vcl",)))
    monkeypatch.setattr(codes, "tsne", lambda points, seed: np.asarray(points)[:, :2])
    texts = [f"--set={key}={text}" for key, text in SMALL.items() if key in ONLY_VCL]
    arguments = ["--out", str(cells), "--quick", "--datasets", "glyphs", *texts]
    assert main(["reproduce", "tsne", *arguments]) == 0
    table = json.loads((cells / "tsne-quick" / "table.json").read_text(encoding="utf-8"))
    assert {cell["row"] for cell in table["cells"]} == {"vcl"}
    capsys.readouterr()


def test_a_single_task_has_no_change(tmp_path, capsys):
    code, _, err = typed(capsys, tmp_path, "likelihood", "--set=tasks=1")
    assert (code, err) == (0, "")
    table = json.loads((tmp_path / "likelihood-quick" / "table.json").read_text(encoding="utf-8"))[
        "tables"
    ][0]
    assert {entry["column"]: entry["mean"] is None for entry in table["entries"]} == {
        "log p(x)": False,
        "change": True,
        "worth": False,
        "reconstruction": False,
    }


def test_too_few_images_to_tell_encoders_apart_leave_that_column_out(tmp_path, capsys):
    code, out, err = typed(capsys, tmp_path, "knn", "--set=code_test_images=4")
    assert (code, err) == (0, "") and "class not inferred" in out and "3-NN" in out
    tables = json.loads((tmp_path / "knn-quick" / "table.json").read_text(encoding="utf-8"))[
        "tables"
    ]
    assert {entry["column"] for entry in tables[-1]["entries"]} == {"class not inferred"}


def test_without_scikit_learn_the_maps_are_refused_before_anything_is_trained(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setitem(sys.modules, "sklearn.manifold", None)
    code, _, err = typed(capsys, tmp_path, "tsne")
    assert code == 2 and "scikit-learn" in err and not list(tmp_path.iterdir())


def test_settings_go_to_whom_they_are_for():
    choice = Choice(
        1,
        assignments={"beta": "0.5", "vcl.epochs": "7", "final_samples": "9", "vae_ewc.weight": "3"},
        ours="vae_npbcl",
        preset="default",
    )
    assert choice.texts("vae_npbcl") == {"beta": "0.5", "final_samples": "9", "preset": "default"}
    assert choice.texts("vae_vcl") == {"epochs": "7", "final_samples": "9"}
    assert choice.texts("vae_ewc") == {"weight": "3", "final_samples": "9"}
    assert {row.method for row in GENERATIVE_ROWS} == {
        f"vae_{name}" for name in ("naive", "ewc", "vcl", "npbcl")
    }


def test_what_lies_between_the_printed_settings_and_ours_is_a_row_of_its_own():
    benchmark = BENCHMARKS["vae-mnist"]
    choice = Choice(1, ours="vae_npbcl")
    settings = {row.key: choice.config(row, benchmark, 0).settings for row in PRINTED_ROWS}
    assert (
        settings["paper"] == ImageSettings.preset("paper") and settings["npbcl"] == ImageSettings()
    )
    assert settings["unweighted"] == ImageSettings.preset("unweighted")
    assert settings["weights-1"] == replace(
        settings["npbcl"], weight_kl_weight=settings["paper"].weight_kl_weight
    )
    assert settings["not-held"] == replace(settings["npbcl"], hold_used=settings["paper"].hold_used)
    ours = settings["npbcl"]
    vcl = settings["vcl-schedule"]
    assert (vcl.epochs, vcl.rate, vcl.rate_end, vcl.warm_up, vcl.batch, vcl.weight_kl_weight) == (
        ours.epochs + ours.finetune_epochs,
        ours.finetune_rate,
        ours.rate_end,
        ours.warm_up,
        ours.batch,
        ours.weight_kl_weight,
    )
    longer = settings["paper-50"]
    assert longer == replace(settings["paper"], epochs=50, finetune_epochs=50)
    assert settings["vcl-0.001"] == replace(settings["vcl"], weight_kl_weight=ours.weight_kl_weight)


@pytest.mark.parametrize("quick", [False, True])
def test_all_methods_have_as_many_epochs(quick):
    choice = Choice(1, quick=quick, ours="vae_npbcl")
    benchmark = BENCHMARKS["vae-glyphs"]
    rows = [row for row in PRINTED_ROWS if row.key != "paper-50"]
    settings = [choice.config(row, benchmark, 0).settings for row in rows]
    assert len({s.epochs + getattr(s, "finetune_epochs", 0) for s in settings}) == 1


@pytest.mark.parametrize(
    ("row", "benchmark", "k", "value"),
    [
        ("npbcl", "vae-mnist", 3, 0.37),
        ("npbcl", "vae-notmnist", 10, 0.21),
        ("naive", "vae-notmnist", 5, 24.87),
        ("ewc", "vae-mnist", 5, 19.48),
        ("vcl", "vae-mnist", 10, 30.2),
        ("vcl", "vae-notmnist", 3, 12.3),
    ],
)
def test_the_papers_table_of_neighbours(row, benchmark, k, value):
    printed = paper.knn(row, benchmark, k)
    assert printed.value == value and "K-nearest neighbour" in printed.place
    assert paper.knn(row, "vae-glyphs", k) is None and paper.knn("hat", benchmark, k) is None


def test_rules_for_alpha_of_images(tmp_path, capsys):
    images = {key: text for key, text in SMALL.items() if not key.startswith("vcl.")}
    images |= {"alpha": "5", "latent_alpha": "3", "final_samples": "5", "code_images": "20"}
    rows = "vae_npbcl-increment-5,vae_npbcl-learned"
    runs = ("tasks", "train_limit", "backend")
    texts = [
        f"--set={key}={text}" if key in runs else f"--set=vae_npbcl.{key}={text}"
        for key, text in images.items()
    ]
    names = ["--quick", "--datasets", "glyphs", "--methods", rows]
    assert main(["reproduce", "alpha", "--out", str(tmp_path), *names, *texts]) == 0
    capsys.readouterr()
    table = json.loads((tmp_path / "alpha-quick" / "table.json").read_text(encoding="utf-8"))
    entries = {
        (entry["row"], entry["column"]): entry["mean"]
        for one in table["tables"]
        for entry in one["entries"]
    }
    # two tasks, each with an increment of 5
    assert entries["images, +5 per task", "alpha"] == 15
    assert entries["images, +5 per task", "alpha of codes"] == 13
    assert entries["images, learned", "alpha"] not in (5, 15)
    for row in ("images, +5 per task", "images, learned"):
        first, last, every = (
            entries[row, name] for name in ("first task", "last task", "all tasks")
        )
        new = entries[row, "new in last"] / 100
        assert every == pytest.approx(first + new * last, abs=0.01)
        assert np.isfinite(entries[row, "log p(x)"])
