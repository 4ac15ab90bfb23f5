"""Every target from the command line to its files, on small images."""

import dataclasses
import html
import json
import re

import numpy as np
import pytest
from quick import quick
from scipy import stats

from ibpcl import storage
from ibpcl.cli import main
from ibpcl.cli.making_runs import assignments, listed
from ibpcl.data import registry
from ibpcl.data.overlap import blank, duplicates_of_training
from ibpcl.data.terrain import TerrainStream
from ibpcl.errors import TrainingError, UserError
from ibpcl.evaluation import linear_probe, metrics, structure
from ibpcl.experiments import cells, findings
from ibpcl.experiments.benchmarks import BENCHMARKS
from ibpcl.experiments.choice import Choice
from ibpcl.experiments.streams import make_stream
from ibpcl.experiments.tables import shown
from ibpcl.experiments.tuned import TUNED
from ibpcl.methods import ABOUT, METHODS, rcl
from ibpcl.methods.npbcl import NPBCL
from ibpcl.noise import Key, generator
from ibpcl.paper import numbers as paper_numbers
from ibpcl.paper.reproduce import GENERATIVE_TARGETS, TARGETS, claims, ladder, measures
from ibpcl.paper.reproduce.rows import OURS, REFERENCE, method_rows
from ibpcl.paper.reproduce.target import KINDS

pytestmark = pytest.mark.usefixtures("no_figures")


def typed(capsys, out, tiny, target, *arguments):
    """Run the command; return its exit code, standard output, and the lines of standard error."""
    # A target that is about a key sets it itself.
    rows = KINDS[target].rows(True) if target in KINDS else ()
    about = {key for row in rows for key in row.settings}
    chosen = (
        arguments[arguments.index("--methods") + 1].split(",") if "--methods" in arguments else ()
    )
    named = chosen or [row.key for row in rows]
    texts = [
        f"--set={key}={text}"
        for key, text in tiny.items()
        if key not in about and key.rpartition(".")[0] in ("", *named)
    ]
    code = main(["reproduce", target, "--out", str(out), *texts, *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err.splitlines()


def test_the_names_are_the_targets():
    assert list(TARGETS) == list(KINDS)


ROWS = {
    "accuracy": "npbcl,npbcl-coreset,independent",
    "metrics": "npbcl,independent",
    "curves": "npbcl,independent",
    "forgetting": "npbcl,npbcl-coreset,independent",
    "domain": "npbcl,naive,ewc",
    "linear-probe": "npbcl,naive,den,rcl,hat,pruning,independent",
    "probe-over-tasks": "npbcl,naive",
    "orders": "npbcl,naive",
    "alpha": "npbcl-fixed,npbcl-increment-5",
    "coresets": "npbcl,npbcl-random-reselected,npbcl-k-center,npbcl-earlier",
    "scenarios": "npbcl,independent",
    "convolutions": "npbcl-dense,npbcl-conv",
}
DATA = {
    "probe-over-tasks": "glyphs,glyphs-1",
    "metrics": "permuted_glyphs",
    "sharing": "glyphs,permuted_glyphs",
    "structure": "tiny-glyphs",
    "domain": "domain-glyphs",
    "regression": "terrain",
}

# The targets without a row of NPBCL, whose settings a key without a method sets.
WITHOUT_NPBCL = ("few-labels",)

# The targets with a table of differences that follows from another table.
COMPARED = (
    "accuracy",
    "metrics",
    "domain",
    "ladder",
    "expansion",
    "over-training",
    "shared-mask",
    "mask-gradients",
)


@pytest.mark.parametrize(
    "target",
    quick(
        ["accuracy"],
        [target for target in TARGETS if target not in GENERATIVE_TARGETS],
        "a target trains for seconds, and writes its files as all others do",
    ),
)
def test_a_quick_look_from_beginning_to_end(target, tmp_path, tiny, capsys):
    rows = ["--methods", ROWS[target]] if target in ROWS else []
    data = DATA.get(target, "glyphs")
    steps = {"batch": "200", "independent.batch": "200"}  # one an epoch
    keys = {"tasks": tiny["tasks"]} if target in WITHOUT_NPBCL else tiny | steps
    code, out, err = typed(capsys, tmp_path, keys, target, "--quick", "--datasets", data, *rows)
    assert (code, err) == (0, [])
    folder = tmp_path / f"{target}-quick"
    table = json.loads((folder / "table.json").read_text(encoding="utf-8"))
    if rows:
        assert {cell["row"] for cell in table["cells"]} == set(ROWS[target].split(","))
    assert table["quick"] and table["target"] == target and table["preset"] == "default"
    markdown = (folder / "table.md").read_text(encoding="utf-8")
    assert "QUICK RUN" in out and markdown.startswith("# QUICK RUN")
    assert max(len(line) for line in out.splitlines() if not line.startswith("written to")) <= 80
    for picture in table["pictures"]:
        assert (folder / picture).read_bytes().startswith(b"\x89PNG")
        assert picture in markdown
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
    for cell in table["cells"]:
        assert (folder / cell["folder"] / "result.json").is_file()
        assert cell["seconds"] >= 0 and cell["settings"]["seed"] == cell["seed"] == 0
    seconds = {cell["folder"]: cell["seconds"] for cell in table["cells"]}
    minutes, rest = divmod(round(sum(seconds.values())), 60)
    assert f"{len(seconds)} runs, {minutes} min {rest} s in all" in markdown
    lines = storage.read_csv(folder / "values.csv")
    values = [
        value
        for one in table["tables"]
        if not one["derived"]
        for entry in one["entries"]
        for value in entry["values"]
    ]
    # None, what there is none of, is NaN
    np.testing.assert_array_equal(lines["value"], np.array(values, float))
    assert set(lines["seed"].tolist()) == {0}
    makers = {cell["versions"]["commit"] or "unknown" for cell in table["cells"]}
    assert {str(commit) for commit in lines["commit"]} == makers
    assert set(lines["processor"]) == {cell["processor"] for cell in table["cells"]}
    assert all(f"numpy {np.__version__}" in versions for versions in lines["versions"])
    for entry in (entry for one in table["tables"] for entry in one["entries"]):
        assert entry["seeds"] == 1 and entry["standard_deviation"] is None
        assert shown(entry["row"]) in out
    assert not any("ours" in note for note in table["notes"] if note.startswith("Epochs"))
    assert "one seed are preliminary" in table["notes"][-1] and table["notes"][-1] in markdown
    differences = [one for one in table["tables"] if one["derived"]]
    assert bool(differences) == (target in COMPARED)
    for one in differences:
        assert one["caption"].endswith("(1 seed: no interval)") and one["caption"] in markdown
        assert all(entry["interval"] == [None, None] for entry in one["entries"])


@pytest.mark.slow(reason="trainings of a whole target")
def test_every_value_names_the_program_of_its_own_runs(tmp_path, tiny, capsys):
    arguments = ["accuracy", "--seeds", "2", "--datasets", "glyphs,permuted-glyphs"]
    arguments += ["--methods", "npbcl,npbcl-coreset"]
    assert typed(capsys, tmp_path, tiny, *arguments)[0] == 0
    table = json.loads((tmp_path / "accuracy" / "table.json").read_text(encoding="utf-8"))
    labels = {"split-glyphs": "glyphs", "permuted-glyphs": "Permuted glyphs"}
    commits = {}
    for cell in table["cells"]:
        path = tmp_path / "accuracy" / cell["folder"] / "result.json"
        result = storage.read_sealed_json(path)
        commit = f"{len(commits)}a"
        result["versions"]["commit"] = commit
        storage.write_sealed_json(path, {k: v for k, v in result.items() if k != "seal"})
        commits[labels[cell["settings"]["experiment"]], cell["row"], cell["seed"]] = commit
    assert typed(capsys, tmp_path, tiny, *arguments)[0] == 0
    lines = storage.read_csv(tmp_path / "accuracy" / "values.csv")
    rows = {"ours": "npbcl", "ours, coreset": "npbcl-coreset"}
    for place, row, column, seed, commit in zip(
        *(lines[name].tolist() for name in ("table", "row", "column", "seed", "commit")),
        strict=True,
    ):
        label = "Permuted glyphs" if "Permuted glyphs" in place + column else "glyphs"
        assert commit == commits[label, rows[row], seed]
    assert len(set(lines["commit"].tolist())) == 8


@pytest.mark.slow(reason="trainings of a whole target")
def test_intervals_by_height_add_up_to_those_of_all_test_cells(tmp_path, tiny, capsys):
    code, _, _ = typed(capsys, tmp_path, tiny, "regression", "--seeds", "2")
    assert code == 0
    table = json.loads((tmp_path / "regression" / "table.json").read_text(encoding="utf-8"))
    strips, heights = (
        {(entry["row"], entry["column"]): np.array(entry["values"]) for entry in one["entries"]}
        for one in table["tables"]
    )
    cells = {row: values for (row, column), values in heights.items() if column == "cells"}
    stream = TerrainStream(3)
    sizes = np.array([len(stream[t].y_test) for t in range(3)])
    np.testing.assert_array_equal(sum(cells.values()), [sizes.sum()] * 2)
    for level in (0.5, 0.9):
        predicted, scaled = (
            sum(
                values * heights[row, f"{100 * level:.0f} % interval, {kind}"] / 100
                for row, values in cells.items()
            )
            for kind in ("as predicted", "recalibrated")
        )
        share = strips[f"{100 * level:.0f} % interval holds, as predicted", "all"]
        np.testing.assert_allclose(100 * predicted / sizes.sum(), share)
        # A strip's scale is its k-th smallest error, k = ceil(p (N + 1)), so k intervals hold.
        np.testing.assert_allclose(scaled, np.ceil(level * (sizes + 1)).sum())


def test_with_one_head_are_compared_who_can(tmp_path, tiny, capsys):
    rows = KINDS["domain"].rows(False)
    assert {row.method for row in rows} == {name for name in METHODS if "domain" in ABOUT[name].can}
    assert {"npbcl", "naive", "ewc", "vcl"} <= {row.method for row in rows}
    code, out, _ = typed(
        capsys,
        tmp_path,
        tiny,
        "domain",
        "--seeds",
        "1",
        "--datasets",
        "domain-glyphs",
        "--methods",
        "npbcl,naive",
    )
    assert code == 0 and "one mask per task: NPBCL." in " ".join(out.split())
    table = json.loads((tmp_path / "domain" / "table.json").read_text(encoding="utf-8"))
    assert all(cell["settings"]["single_head"] for cell in table["cells"])
    one, difference = table["tables"]
    assert {entry["column"] for entry in one["entries"]} == {"Glyph pairs", "Glyph pairs BWT"}
    assert {entry["row"] for entry in difference["entries"]} == {"naive"}
    values = {
        entry["row"]: entry["values"][0]
        for entry in one["entries"]
        if entry["column"] == "Glyph pairs BWT"
    }
    for cell in table["cells"]:
        result = json.loads(
            (tmp_path / "domain" / cell["folder"] / "result.json").read_text(encoding="utf-8")
        )
        label = {"npbcl": "ours, mask known"}.get(cell["row"], cell["row"])
        assert values[label] == pytest.approx(100 * result["backward_transfer"])


def test_a_quick_look_at_accuracies_has_the_rows_of_the_paper_and_one_reference():
    quick, whole = (KINDS["accuracy"].rows(short) for short in (True, False))
    assert {row.key for row in quick} == set(paper_numbers.ACCURACY) | {"independent"}
    assert {row.key for row in quick} < {row.key for row in whole}


def test_vcl_and_ours_forget_with_and_without_both_coresets(tmp_path, tiny, capsys):
    keys = [
        f"{method}{end}" for method in ("vcl", "npbcl") for end in ("", "-coreset", "-k-center")
    ]
    rows = {row.key: row for row in KINDS["forgetting"].rows(False)}
    assert list(rows) == [*keys, "independent"]
    small = {"vcl.hidden": "6", "vcl.epochs": "1", "vcl.coreset_epochs": "1", "vcl.batch": "20"}
    code, out, _ = typed(
        capsys,
        tmp_path,
        tiny | small,
        "forgetting",
        "--seeds",
        "1",
        "--datasets",
        "glyphs",
        "--methods",
        "npbcl,vcl,vcl-coreset,vcl-k-center",
        "--set=vcl.coreset_size=7",
    )
    assert code == 0 and "VCL, coreset 7; VCL, k-center coreset 7." in " ".join(out.split())
    table = json.loads((tmp_path / "forgetting" / "table.json").read_text(encoding="utf-8"))
    assert {cell["row"]: cell["settings"]["coreset"] for cell in table["cells"]} == {
        "npbcl": "none",
        "vcl": "none",
        "vcl-coreset": "random",
        "vcl-k-center": "k_center",
    }


def test_vcl_stores_as_many_examples_as_its_authors(tmp_path):
    """Their programs have 40 examples per task on Split MNIST and 200 on Permuted MNIST."""
    choices = (Choice(1, out=tmp_path), Choice(1, out=tmp_path, tuned=True))
    for row in KINDS["forgetting"].rows(False)[1:3]:
        for choice in choices:
            sizes = {
                name: choice.config(row, BENCHMARKS[name], 0).settings.coreset_size
                for name in ("split-mnist", "permuted-mnist", "permuted-mnist-30")
            }
            assert sizes == {"split-mnist": 40, "permuted-mnist": 200, "permuted-mnist-30": 200}
    ours = next(row for row in KINDS["forgetting"].rows(False) if row.key == "npbcl-coreset")
    assert choices[0].config(ours, BENCHMARKS["permuted-mnist"], 0).settings.coreset_size == 50


def test_den_and_rcl_also_have_the_papers_two_layers_and_its_numbers(tmp_path, tiny):
    quick, whole = ({row.key: row for row in KINDS["accuracy"].rows(short)} for short in (1, 0))
    for key in ("den", "rcl"):
        row = whole[f"{key}-256-128"]
        assert row.key not in quick
        config = Choice(1, out=tmp_path, tuned=True).config(row, BENCHMARKS["split-mnist"], 0)
        assert config.settings.hidden == (256, 128) and config.preset == "tuned"
        assert config.settings.epochs == TUNED["split-mnist"][key]["epochs"]
        for benchmark in paper_numbers.COLUMNS:
            printed = paper_numbers.accuracy(key, benchmark)
            assert paper_numbers.accuracy(row.key, benchmark) == printed is not None
    m = measured(tmp_path, whole["den-256-128"], "split-glyphs", tiny | {"den.epochs": "1"})
    # it starts with these widths and only grows
    widths = [values for name, values in findings.learner(m).state().items() if "widths" in name]
    assert widths and all((np.array(each) >= (256, 128)).all() for each in widths)


def test_the_re_split_takes_the_rows_and_the_tuned_settings_of_fashion_mnist(tmp_path):
    split, again = (BENCHMARKS[name] for name in ("split-fashion-mnist", "fashion-resplit"))
    rows = {row.key: row for row in KINDS["accuracy"].rows(False)}
    for tuned in (False, True):
        choice = Choice(1, out=tmp_path, tuned=tuned)
        for key in paper_numbers.ACCURACY:
            one, other = (choice.config(rows[key], b, 0) for b in (split, again))
            assert one.settings == other.settings and one.preset == other.preset
            assert (other.stream, other.dataset) == ("resplit", "fashion_mnist")
            assert paper_numbers.accuracy(key, again.name) is not None


def test_tuned_rows_have_the_settings_of_the_search(tmp_path, monkeypatch):
    monkeypatch.setitem(TUNED, "split-glyphs", {"naive": {"rate": 0.02}})
    naive, ewc = (next(row for row in method_rows() if row.key == key) for key in ("naive", "ewc"))
    one = {
        row.key: cells.plan(
            (row,), (BENCHMARKS["split-glyphs"],), Choice(1, out=tmp_path, tuned=True)
        )[0].config
        for row in (naive, ewc, OURS)
    }
    assert (one["naive"].preset, one["naive"].settings.rate) == ("tuned", 0.02)
    assert one["ewc"].preset == one["npbcl"].preset == "default"
    set_too = Choice(1, out=tmp_path, tuned=True, assignments={"naive.rate": "0.5"})
    assert set_too.config(naive, BENCHMARKS["split-glyphs"], 0).settings.rate == 0.5


@pytest.mark.slow(reason="trainings of several rows")
def test_ours_is_never_tuned_but_in_the_row_of_the_search_that_all_methods_had(
    tmp_path, tiny, capsys, monkeypatch
):
    monkeypatch.setitem(TUNED, "split-glyphs", {"npbcl": {"alpha": 20.0}, "naive": {"rate": 0.02}})
    arguments = [
        "--seeds",
        "1",
        "--datasets",
        "glyphs",
        "--methods",
        "npbcl,npbcl-coreset,npbcl-searched,naive",
    ]
    code, _, _ = typed(capsys, tmp_path, tiny, "accuracy", "--tuned", *arguments)
    table = json.loads((tmp_path / "accuracy" / "table.json").read_text(encoding="utf-8"))
    assert code == 0 and [entry["row"] for entry in table["tables"][0]["entries"]] == [
        "naive",
        "ours",
        "ours, coreset",
        "ours, same search",
    ]
    presets = {cell["row"]: cell["settings"]["preset"] for cell in table["cells"]}
    assert presets == {
        "naive": "tuned",
        "npbcl": "default",
        "npbcl-coreset": "default",
        "npbcl-searched": "tuned",
    }
    assert len({cell["folder"] for cell in table["cells"]}) == 4
    # not there without --tuned
    code, _, err = typed(capsys, tmp_path, tiny, "accuracy", *arguments)
    assert code == 2 and "'npbcl-searched'" in err[0]
    # nor where it was not searched
    monkeypatch.delitem(TUNED["split-glyphs"], "npbcl")
    typed(capsys, tmp_path, tiny, "accuracy", "--tuned", *arguments)
    table = json.loads((tmp_path / "accuracy" / "table.json").read_text(encoding="utf-8"))
    assert [cell["row"] for cell in table["cells"]] == ["naive", "npbcl", "npbcl-coreset"]


def test_what_an_accuracy_took_stands_beside_it(tmp_path, tiny, capsys):
    """Each of three tasks has 40 examples in four minibatches."""
    sizes = {
        "batch": "10",
        "epochs": "2",
        "finetune_epochs": "3",
        "independent.batch": "10",
        "independent.epochs": "4",
    }
    code, _, _ = typed(
        capsys,
        tmp_path,
        tiny | sizes,
        "accuracy",
        "--seeds",
        "1",
        "--datasets",
        "glyphs",
        "--methods",
        "npbcl,independent",
    )
    table = json.loads((tmp_path / "accuracy" / "table.json").read_text(encoding="utf-8"))
    took = {
        (entry["row"], entry["column"]): entry["values"][0]
        for entry in table["tables"][2]["entries"]
    }
    assert (
        code == 0 and table["tables"][2]["title"] == "glyphs: accuracy, percent, and what it took"
    )
    for cell in table["cells"]:
        folder = tmp_path / "accuracy" / cell["folder"]
        label = {"npbcl": "ours"}.get(cell["row"], cell["row"])
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        assert took[label, "transfer"] == pytest.approx(100 * result["backward_transfer"])
        epochs = 5 if label == "ours" else 4
        with np.load(folder / "learner.npz") as arrays:
            stored = sum(
                arrays[name].nbytes for name in arrays if arrays[name].ndim and name != "meta"
            )
        assert took[label, "accuracy"] == pytest.approx(100 * result["average_accuracy"])
        assert (took[label, "epochs a task"], took[label, "steps"]) == (epochs, epochs * 3 * 4)
        assert took[label, "seconds"] == pytest.approx(
            3 * sorted(result["seconds"]["train_per_task"])[1]
        )
        assert stored > 0 and took[label, "stored, MB"] == pytest.approx(stored / 1e6)


def test_the_steps_of_all_networks_that_rcl_tries_count(tmp_path, tiny, monkeypatch):
    row = next(row for row in method_rows() if row.method == "rcl")
    fits = []
    grow = rcl.grow
    monkeypatch.setattr(rcl, "grow", lambda *arguments: fits.append(grow(*arguments)) or fits[-1])
    m = measured(
        tmp_path,
        row,
        "split-glyphs",
        tiny | {"rcl.hidden": "6", "rcl.trials": "4", "rcl.epochs": "3"},
    )
    first = storage.read_csv(m.cell.folder / "history.csv")["steps"][:3]
    records = [*first, *(record.steps for *_, history in fits for record in history)]
    assert len(fits) > 2 and (measures.steps(m), 3 * measures.epochs(m)) == (
        sum(records),
        len(records),
    )


def test_means_over_seeds_are_those_of_the_runs(tmp_path, tiny, capsys):
    code, out, _ = typed(
        capsys,
        tmp_path,
        tiny,
        "accuracy",
        "--seeds",
        "3",
        "--datasets",
        "mnist",
        "--methods",
        "npbcl,independent",
    )
    assert code == 0 and "QUICK" not in out and "mean ± sd over 3 seeds" in out
    table = json.loads((tmp_path / "accuracy" / "table.json").read_text(encoding="utf-8"))
    runs = [100 * cell["accuracy"] for cell in table["cells"] if cell["row"] == "npbcl"]
    assert len(set(runs)) > 1
    entry = table["tables"][0]["entries"][0]
    assert entry["values"] == pytest.approx(runs)
    assert entry["mean"] == pytest.approx(np.mean(runs))
    assert entry["standard_deviation"] == pytest.approx(np.std(runs, ddof=1))
    assert entry["printed"]["value"] == 99.819
    assert entry["difference"] == pytest.approx(np.mean(runs) - 99.819)
    assert (
        re.search(r"paper +99\.82 ± 0\.1", out)
        and f"{np.mean(runs):.2f} ± {np.std(runs, ddof=1):.2f}" in out
    )


def test_a_second_target_takes_the_runs_of_the_first(tmp_path, tiny, capsys):
    arguments = ["--seeds", "1", "--datasets", "glyphs", "--methods", "npbcl,independent"]
    _, first, _ = typed(capsys, tmp_path, tiny, "accuracy", *arguments)
    _, second, _ = typed(capsys, tmp_path, tiny, "curves", *arguments)
    assert "split-glyphs, npbcl, seed 0:" in first and "seed 0:" not in second
    assert len(list((tmp_path / "cells").iterdir())) == 2


def measured(folder, row, benchmark, tiny):
    planned = cells.plan((row,), (BENCHMARKS[benchmark],), Choice(1, assignments=tiny, out=folder))
    return cells.measure(planned, False)[0][0]


def test_accuracy_without_repeats_leaves_them_out(tmp_path, tiny):
    m = measured(tmp_path, REFERENCE, "split-notmnist", tiny | {"independent.epochs": "1"})
    images = registry.load("notmnist")
    out = duplicates_of_training(images) | blank(images)
    assert out.sum() == 2 and measures.count_repeats(m.cell.config) == (1, 1)
    learned = findings.learner(m)
    accuracies = []
    for t in range(3):
        of_task = np.isin(images.test_labels, (2 * t, 2 * t + 1)) & ~out
        x = images.test_images[of_task].reshape(-1, 16).astype(np.float32) / np.float32(255)
        accuracies.append(
            metrics.accuracy(learned.predict(x, t), images.test_labels[of_task].astype(int) - 2 * t)
        )
    measures._repeated_images.cache_clear()
    assert measures.accuracy_without_repeats(m) == pytest.approx(100 * np.mean(accuracies))
    measures._repeated_images.cache_clear()


def test_an_untrained_head_guesses(tmp_path, tiny):
    tiny |= {"independent.hidden": "30", "independent.rate": "0.05"}
    # 300 guesses among ten classes
    for row, link in ((OURS, "logit"), (OURS, "log"), (REFERENCE, "logit")):
        m = measured(tmp_path, row, "permuted-glyphs", tiny | {"mask_link": link, "mask_rate": "2"})
        assert abs(measures.untrained_accuracy(m) - 10) < 4 * 100 * np.sqrt(0.1 * 0.9 / 300)
    # the reference learns in so many epochs
    assert findings.final_accuracy(m) > 30
    assert np.isnan(measures.untrained_accuracy(measured(tmp_path, OURS, "split-glyphs", tiny)))


def test_an_untrained_head_is_not_the_best_of_several(tmp_path, tiny, monkeypatch):
    """RCL tries several networks for a task and keeps the one that labelled examples reward
    most.
    """
    row = next(row for row in method_rows() if row.method == "rcl")
    tried = []
    search = rcl.search

    def watched(context, task):
        found = search(context, task)
        tried.append(len(found[1]))
        return found

    m = measured(tmp_path, row, "permuted-glyphs", tiny | {"rcl.hidden": "6", "rcl.trials": "3"})
    monkeypatch.setattr(rcl, "search", watched)
    assert 0 <= measures.untrained_accuracy(m) < 30
    assert tried == [1] * measures.FURTHER


@pytest.mark.parametrize("benchmark", ["split-glyphs", "permuted-glyphs"])
def test_a_linear_classifier_on_further_tasks(benchmark, tmp_path, tiny):
    m = measured(tmp_path, OURS, benchmark, tiny)
    learned, untrained, same_masks, pixels = measures.probe_accuracy(m, 30)
    further = 2 if benchmark == "split-glyphs" else measures.FURTHER
    # the run learns three tasks; three permutations are met after five
    first = 3 if benchmark == "split-glyphs" else 5
    stream = make_stream(dataclasses.replace(m.cell.config, tasks=first + further))
    exact = []
    on_pixels = []
    for t in range(first, first + further):
        task = stream[t]
        rows = generator(Key(0, t, 0, 0)).permutation(len(task.x_train))[:30]
        h, test_h = (
            linear_probe.representation(findings.learner(m), x)
            for x in (task.x_train[rows], task.x_test)
        )
        labels = task.y_train[rows]
        exact.append(linear_probe.accuracy(h, labels, test_h, task.y_test, task.classes))
        on_pixels.append(
            linear_probe.accuracy(
                task.x_train[rows], labels, task.x_test, task.y_test, task.classes
            )
        )
    assert learned == pytest.approx(100 * np.mean(exact))
    assert pixels == pytest.approx(100 * np.mean(on_pixels))
    assert 0 <= untrained <= 100 and untrained != learned
    masks = linear_probe.open_weights(findings.learner(m))
    assert same_masks == untrained or not all(mask.all() for mask in masks.values())
    # the learner of the run is untouched, and so is the answer
    assert measures.probe_accuracy(m, 30) == (learned, untrained, same_masks, pixels)


def test_without_masks_the_untrained_network_is_the_same_in_both_columns(tmp_path, tiny):
    row = next(row for row in method_rows() if row.key == "naive")
    m = measured(tmp_path, row, "split-glyphs", tiny)
    _, untrained, same_masks, _ = measures.probe_accuracy(m, 30)
    assert untrained == same_masks


def test_without_further_tasks_there_is_no_linear_classifier(tmp_path, tiny):
    m = measured(tmp_path, OURS, "split-glyphs", tiny | {"tasks": "5"})
    assert all(np.isnan(value) for value in measures.probe_accuracy(m, 30))


def test_numbers_of_the_masks(tmp_path, tiny):
    m = measured(tmp_path, OURS, "split-glyphs", tiny | {"alpha": "4"})
    masks = [layers[0] for layers in measures.masks(m)]
    used = np.stack([mask.ravel() for mask in masks])
    # the masks differ in size
    assert len({int(count) for count in used.sum(axis=1)}) == 3
    pairs = [(i, j) for i in range(3) for j in range(i)]
    assert measures.pairwise_sharing(m) == pytest.approx(
        100 * np.mean([(used[i] & used[j]).sum() / used[i].sum() for i, j in pairs])
    )
    assert measures.pairwise_chance(m) == pytest.approx(
        100 * np.mean([used[j].mean() for _, j in pairs])
    )
    assert measures.filled(m)[-1] == pytest.approx(100 * used.any(axis=0).mean())
    union = [used[:t].any(axis=0) for t in (1, 2)]
    assert measures.sharing_with_earlier(m) == pytest.approx(
        100 * np.mean([(used[t] & union[t - 1]).sum() / used[t].sum() for t in (1, 2)])
    )
    assert measures.chance_with_earlier(m) == pytest.approx(
        100 * np.mean([part.mean() for part in union])
    )
    assert measures.units(m) == (6, int(np.any([mask.any(axis=0) for mask in masks], axis=0).sum()))
    _, live, _ = measures.on_pixels(m)
    pixels = measures.mean_pixels(m)
    assert live == pytest.approx(
        100
        * np.mean(
            [
                structure.input_density(mask)[mean > 0.1].mean()
                for mask, mean in zip(masks, pixels, strict=True)
            ]
        )
    )


def test_a_target_without_some_of_its_runs_is_written_and_fails(
    tmp_path, tiny, capsys, monkeypatch
):
    learn = NPBCL.learn

    def failing(self, task, *arguments, **options):
        if self.settings.mask_link == "log":
            raise TrainingError("no weight is left")
        return learn(self, task, *arguments, **options)

    monkeypatch.setattr(NPBCL, "learn", failing)
    code, out, err = typed(capsys, tmp_path, tiny, "mask-kl", "--quick", "--datasets", "glyphs")
    assert code == 1 and len(err) == 1 and "2 runs failed" in err[0]
    assert "Not trained: split-glyphs, npbcl-log-1, seed 0: no weight is left" in " ".join(
        out.split()
    )
    table = json.loads((tmp_path / "mask-kl-quick" / "table.json").read_text(encoding="utf-8"))
    assert len(table["failures"]) == 2
    assert {entry["column"] for entry in table["tables"][0]["entries"]} == {
        "logit, 1",
        "logit, 1/784",
    }


def test_what_would_keep_too_much_is_left_out_unless_it_is_named(
    tmp_path, tiny, capsys, monkeypatch
):
    two = [row for row in method_rows() if row.key in ("naive", "joint")]
    monkeypatch.setitem(KINDS, "domain", KINDS["domain"]._replace(rows=lambda quick: two))
    monkeypatch.setattr(cells, "TOO_MANY_BYTES", 0)
    few = {"tasks": "3"}
    arguments = ["--quick", "--datasets", "domain-glyphs", "--set=joint.epochs=1"]
    _, out, _ = typed(capsys, tmp_path, few, "domain", *arguments, "--set=naive.epochs=1")
    assert "joint, seed" not in out and "joint, Glyph pairs: not run" in out
    _, out, _ = typed(capsys, tmp_path, few, "domain", *arguments, "--methods", "joint")
    assert "domain-glyphs, joint, seed 0:" in out and "not run" not in out


def test_if_nothing_can_be_trained_the_first_reason_is_told(tmp_path, tiny, capsys, monkeypatch):
    def failing(self, *arguments, **options):
        raise TrainingError("no weight is left")

    monkeypatch.setattr(NPBCL, "learn", failing)
    code, _, err = typed(capsys, tmp_path, tiny, "masks", "--quick", "--datasets", "glyphs")
    assert code == 1 and len(err) == 1 and "no weight is left" in err[0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["accuracies"], ["unknown target 'accuracies'", "did you mean 'accuracy'"]),
        (["accuracy", "--datasets", "cifar"], ["'cifar'", "known: split-mnist"]),
        (["accuracy", "--datasets", "glyphs", "--methods", "nobody"], ["'nobody'", "known: "]),
        (["accuracy", "--preset", "best"], ["preset must be one of", "'best'"]),
        (["accuracy", "--seeds", "0"], ["seeds must be in 1 .. 1000"]),
        (["accuracy", "--seeds", "two"], ["--seeds", "'two'"]),
        (["accuracy", "--set", "epochs"], ["--set takes KEY=VALUE"]),
        (["over-training", "--set", "epochs=3"], ["epochs", "npbcl-5", "--methods"]),
        (["masks", "--set", "epochs=many"], ["epochs must be", "'many'"]),
        (["accuracy", "--methods", "naive", "--set", "alpha=3"], ["alpha applies to no row"]),
        (
            ["accuracy", "--methods", "naive", "--set", "ewc.weight=3"],
            ["ewc.weight applies to no row"],
        ),
        (["accuracy", "--methods", "naive", "--preset", "paper"], ["--preset applies to npbcl"]),
        (
            ["domain", "--datasets", "permuted-mnist-30"],
            ["'permuted-mnist-30'", "domain-mnist"],
        ),
        (
            ["accuracy", "--datasets", "vae-glyphs"],
            ["'vae-glyphs'", "split-glyphs"],
        ),
        (
            ["likelihood", "--datasets", "split-mnist"],
            ["'split-mnist'", "vae-mnist"],
        ),
    ],
)
def test_a_slip_is_one_line(arguments, words, tmp_path, capsys):
    code = main(["reproduce", *arguments, "--out", str(tmp_path / "out")])
    out, err = capsys.readouterr()
    assert code == 2 and out == "" and len(err.splitlines()) == 1
    assert all(word in err for word in words), err
    assert not (tmp_path / "out").exists()


def test_missing_data_are_one_line(tmp_path, capsys, monkeypatch):
    monkeypatch.undo()  # the real registry
    monkeypatch.delenv("IBPCL_DATA", raising=False)
    code = main(
        [
            "reproduce",
            "accuracy",
            "--datasets",
            "mnist",
            "--data-dir",
            str(tmp_path / "nowhere"),
            "--out",
            str(tmp_path / "out"),
        ]
    )
    err = capsys.readouterr().err.splitlines()
    assert code == 2 and len(err) == 1 and "missing" in err[0] and "--data-dir" in err[0]


def test_an_interrupt_is_one_line_and_the_next_time_goes_on(tmp_path, tiny, capsys, monkeypatch):
    arguments = ["--seeds", "1", "--datasets", "glyphs", "--methods", "npbcl,independent"]
    learn = NPBCL.learn

    def interrupted(self, task, *rest, **options):
        if self.learned == 1:
            raise KeyboardInterrupt
        return learn(self, task, *rest, **options)

    with monkeypatch.context() as patched:
        patched.setattr(NPBCL, "learn", interrupted)
        code, _, err = typed(capsys, tmp_path, tiny, "curves", *arguments)
        assert (
            code == 130
            and len(err) == 1
            and err[0].startswith("ibpcl: interrupted; to continue: ibpcl reproduce")
        )
    calls = []
    monkeypatch.setattr(
        NPBCL,
        "learn",
        lambda self, task, *rest, **options: (
            calls.append(task.name) or learn(self, task, *rest, **options)
        ),
    )
    code, _, _ = typed(capsys, tmp_path, tiny, "curves", *arguments)
    assert code == 0 and calls == ["C/D", "E/F"]  # the first task was done


def test_what_the_command_line_gives():
    assert assignments(["a=1", " b =x=y"]) == {"a": "1", "b": "x=y"}
    with pytest.raises(UserError):
        assignments(["a"])
    assert listed("a, b,") == ("a", "b") and listed(None) is None


def test_every_claim_but_that_of_equal_epochs_changes_one_setting_of_the_default():
    default = NPBCL.settings_type()
    for claim in claims.CLAIMS:
        if claim.key == "no-fine-tuning-equal":
            continue
        ((name, value),) = claim.settings.items()
        assert (
            getattr(default, name) != value
            and getattr(NPBCL.settings_type(**claim.settings), name) == value
        )


def test_without_fine_tuning_a_row_has_as_many_epochs_in_all_as_the_default():
    default = NPBCL.settings_type()
    changes = {claim.key: claim.settings for claim in claims.CLAIMS}
    equal = NPBCL.settings_type(**changes["no-fine-tuning-equal"])
    fewer = NPBCL.settings_type(**changes["no-fine-tuning"])
    # training examples of a task on Split MNIST and on Permuted MNIST
    for examples, epochs in ((12_000, 50), (60_000, 15)):
        assert equal.epochs_for(examples) == (epochs, 0)
        assert sum(default.epochs_for(examples)) == epochs > sum(fewer.epochs_for(examples))


@pytest.mark.slow(reason="trainings of a whole target")
def test_the_claims_are_measured_on_all_four_sets_with_the_epochs_of_every_row(
    tmp_path, tiny, capsys
):
    assert "split-fashion-mnist" in KINDS["claims"].benchmarks
    rows = "npbcl,flat-prior,no-fine-tuning,no-fine-tuning-equal"
    arguments = ["--seeds", "1", "--datasets", "glyphs", "--methods", rows]
    code, _, _ = typed(capsys, tmp_path, tiny | {"max_steps": "40"}, "claims", *arguments)
    table = json.loads((tmp_path / "claims" / "table.json").read_text(encoding="utf-8"))
    epochs = {
        entry["row"]: entry["values"][0]
        for entry in table["tables"][1]["entries"]
        if entry["column"] == "epochs"
    }
    # 40 steps of two minibatches: 20 epochs in all, but 10 are enough for masked training alone
    assert code == 0 and epochs == {
        "nothing": 20,
        "flat initial prior": 20,
        "no fine-tuning": 10,
        "no fine-tuning, equal epochs": 20,
    }
    changed = {entry["row"] for entry in table["tables"][0]["entries"]}
    assert changed == epochs.keys() - {"nothing"}
    chosen = {cell["row"]: cell["settings"]["unused_prior"] for cell in table["cells"]}
    assert chosen["flat-prior"] == "flat" and chosen["npbcl"] == "none"


def test_columns_are_counted_by_their_definition(monkeypatch):
    mask = np.zeros((3, 20), bool)
    mask[:, 0] = True
    mask[0, [1, 5, 9]] = True
    empty = np.zeros((3, 20), bool)
    monkeypatch.setattr(measures, "masks", lambda m: [(mask,), (empty,)])
    np.testing.assert_allclose(measures.columns_used(None), [20, 0])
    np.testing.assert_allclose(measures.first_columns(None), [100 * 4 / 6, 0])
    # A tenth of fifteen columns is rounded up.
    monkeypatch.setattr(measures, "masks", lambda m: [(mask[:, :15],)])
    np.testing.assert_allclose(measures.first_columns(None), [100 * 4 / 6])


@pytest.mark.slow(reason="trainings of a whole target")
def test_one_mask_costs_what_it_is_below_separate_masks_seed_by_seed(tmp_path, tiny, capsys):
    arguments = ["--seeds", "2", "--datasets", "glyphs"]
    code, _, _ = typed(capsys, tmp_path, tiny, "shared-mask", *arguments)
    table = json.loads((tmp_path / "shared-mask" / "table.json").read_text(encoding="utf-8"))
    final = table["tables"][0]
    costs = next(each for each in table["tables"] if each["title"].startswith("What one mask"))
    values = {entry["row"]: np.array(entry["values"]) for entry in final["entries"]}
    assert code == 0 and list(values) == [
        "own mask",
        "one mask: the first task's",
        "one mask, learned jointly",
        "all ones",
        "independent",
    ]
    changes = {entry["row"]: entry["values"] for entry in costs["entries"]}
    assert len(changes) == 6
    for label in list(values)[1:4]:
        expected = values[label] - values["own mask"]
        np.testing.assert_allclose(changes[f"{label}, at the end"], expected)
    ways = {
        cell["row"]: cell["settings"]["shared_mask"]
        for cell in table["cells"]
        if cell["row"] != "independent"
    }
    assert list(ways.values()) == [False, True, "joint", "ones"]


@pytest.mark.slow(reason="trainings of a whole target")
def test_the_figure_of_longer_training_shows_the_means_and_deviations_of_its_tables(tmp_path, tiny):
    tiny = {key: text for key, text in tiny.items() if "epochs" not in key and "." not in key}
    few = {"vcl.hidden": "6", "vcl.likelihood_epochs": "0"}
    choice = Choice(2, quick=True, assignments=tiny | few | {"tasks": "2"}, out=tmp_path)
    rows = [row for row in KINDS["over-training"].rows(True) if row != REFERENCE]
    benchmarks = [BENCHMARKS["split-glyphs"]]
    # A run that is missing leaves the others of its row.
    planned = [
        cell
        for cell in cells.plan(rows, benchmarks, choice)
        if (cell.row.key, cell.seed) != ("vcl-4", 1)
    ]
    results = findings.gather(planned, choice, rows, benchmarks, False)
    summary = KINDS["over-training"].summarize(results)
    measured = [table for table in summary.tables if not table.derived]
    tables = {table.title.partition(",")[0]: table.entries for table in measured}
    (ax,) = summary.pictures["over_training"]
    drawn = {line.get_label(): line.get_ydata() for line in ax.lines}
    assert len(drawn) == len(ax.collections) == 4
    for label in ("ours", "VCL"):
        for when, title in (
            ("at the end", "Final mean accuracy"),
            ("as learned", "Accuracy as learned"),
        ):
            entries = [entry for entry in tables[title] if entry.row.startswith(label)]
            means = [entry.mean for entry in entries]
            np.testing.assert_allclose(drawn[f"{shown(label)}, {when}"], means)
            assert [len(entry.values) for entry in entries] == [2, 2, 1 + (label == "ours"), 2]
    band = ax.collections[list(drawn).index("VCL, as learned")].get_paths()[0].vertices
    entry = tables["Accuracy as learned"][-4]
    top = band[band[:, 0] == 1][:, 1].max()
    assert top == pytest.approx(min(entry.mean + entry.deviation, 100))


def test_the_ladder_leads_from_the_printed_settings_to_the_default_with_a_change_at_every_step():
    rows = ladder.rungs()
    settings = [NPBCL.settings_type(**row.settings) for row in rows[: len(ladder.STEPS) + 1]]
    assert settings[0] == NPBCL.settings_type.preset("paper")
    assert settings[-1] == NPBCL.settings_type()
    for before, after, (_, _, changed) in zip(
        settings[:-1], settings[1:], ladder.STEPS, strict=True
    ):
        differ = {name for name, value in vars(after).items() if value != getattr(before, name)}
        # no step that changes nothing, or something else too
        assert differ == set(changed)


def test_differences_from_ours_are_paired_over_seeds(tmp_path, tiny, capsys):
    rows = "npbcl,independent"
    arguments = ["--seeds", "3", "--datasets", "glyphs", "--methods", rows]
    code, out, _ = typed(capsys, tmp_path, tiny, "accuracy", *arguments)
    table = json.loads((tmp_path / "accuracy" / "table.json").read_text(encoding="utf-8"))
    at = {(cell["row"], cell["seed"]): 100 * cell["accuracy"] for cell in table["cells"]}
    d = [at["independent", seed] - at["npbcl", seed] for seed in range(3)]
    (entry,) = table["tables"][1]["entries"]
    assert code == 0 and entry["values"] == pytest.approx(d)
    half = stats.t.ppf(0.975, df=2) * np.std(d, ddof=1) / np.sqrt(3)
    low, high = np.mean(d) - half, np.mean(d) + half
    assert entry["interval"] == pytest.approx([low, high])
    assert entry["smallest_p"] == 0.25 and entry["sign_flip_p"] >= 0.25
    written = f"{np.mean(d):+.2f} [{low:+.2f}, {high:+.2f}]"
    folder = tmp_path / "accuracy"
    assert written in out
    for name in ("table.md", "report.html"):
        text = (folder / name).read_text(encoding="utf-8")
        assert written in html.unescape(text) and "paired over 3 seeds" in text
    # the values of the differences follow from the others
    titles = set(storage.read_csv(folder / "values.csv")["table"].tolist())
    assert table["tables"][1]["title"] not in titles and table["tables"][0]["title"] in titles


def test_the_ladder_compares_each_step_with_the_row_above_it():
    compared = ladder._compared()
    labels = [row.label for row in ladder.rungs()]
    assert compared["+ start"] == "paper" and compared["+ default"] == "+ reset"
    assert compared["authors"] == compared["unweighted"] == "+ default"
    assert compared.keys() == set(labels) - {"paper"}
