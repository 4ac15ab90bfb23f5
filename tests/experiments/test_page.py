"""The report as a file: it says what the run's folder says, needs nothing from outside, and runs no
one's script.
"""

import base64
import hashlib
import html
import json
import os
import re
import shlex
import shutil
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from drawing import without_figures
from quick import quick

import ibpcl
from ibpcl import storage
from ibpcl.cli import main
from ibpcl.errors import UserError
from ibpcl.evaluation.figures.training import weighted
from ibpcl.experiments import inspection, page, sections
from ibpcl.experiments.blocks import Table
from ibpcl.experiments.captions import OF_RUNS, of_table
from ibpcl.experiments.config import configure
from ibpcl.experiments.generative import learn_stages
from ibpcl.experiments.run import run

TINY = {"hidden": "6", "tasks": "3", "backend": "numpy", "batch": "20", "epochs": "2"}
SET = [f"--set={key}={text}" for key, text in TINY.items()]
VAE = {
    "hidden": (8,),
    "latent": 3,
    "epochs": 2,
    "finetune_epochs": 1,
    "batch": 50,
    "tasks": 2,
    "train_limit": 60,
    "test_limit": 30,
    "backend": "numpy",
    "likelihood_samples": 4,
    "final_samples": 12,
    "likelihood_images": 6,
    "final_images": 5,
    "code_images": 20,
    "code_test_images": 12,
    "inference_samples": 3,
}
HOSTILE = (
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    "</style></main>'&amp;$body",
)
VOID = ("meta", "img")


class Read(HTMLParser):
    """A page as its elements: what each holds, what it loads, what is still open in the end."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.html = Path(path).read_text(encoding="utf-8")
        self.elements = []
        self.open = []
        self.rows = []
        self.text = ""
        self.feed(self.html)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.open += [tag] if tag not in VOID else []
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
        if self.open and {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def finished(drawn_once, tmp_path_factory):
    settings = {**TINY, "samples": "1", "prediction_samples": "2", "finetune_epochs": "1"}
    return run(configure("split-glyphs", settings), tmp_path_factory.mktemp("page") / "run")


@pytest.fixture(scope="module")
def generative(drawn_once, tmp_path_factory):
    return run(configure("vae-glyphs", **VAE), tmp_path_factory.mktemp("page") / "vae")


@pytest.fixture(scope="module")
def regression(tmp_path_factory):
    settings = {
        "hidden": (8,),
        "samples": 1,
        "prediction_samples": 3,
        "epochs": 2,
        "finetune_epochs": 1,
        "tasks": 2,
        "train_limit": 60,
        "test_limit": 30,
        "backend": "numpy",
    }
    return run(configure("terrain", **settings), tmp_path_factory.mktemp("page") / "terrain")


@pytest.fixture(scope="module")
def compared(drawn_once, tmp_path_factory):
    folder = tmp_path_factory.mktemp("page") / "compared"
    words = ["compare", "split-glyphs", "--methods=naive,ewc", "--seeds=2", "--out", str(folder)]
    with without_figures():
        assert main([*words, *SET]) == 0
    return folder


def self_contained(read):
    """Hold that a page asks for nothing, and that only the template's script may run."""
    assert {attributes["src"][:22] for attributes in read.all("img")} <= {"data:image/png;base64,"}
    assert not any(
        read.all(tag)
        for tag in ("link", "iframe", "object", "base", "form", "audio", "video", "source")
    )
    assert all(attributes["href"].startswith("#") for attributes in read.all("a"))
    assert not any(
        name.startswith("on") or (name == "src" and tag != "img")
        for tag, given in read.elements
        for name in given
    )
    assert len(read.all("script")) == len(read.all("style")) == 1
    (policy,) = [given["content"] for given in read.all("meta") if "http-equiv" in given]
    script = re.search("<script>(.*?)</script>", read.html, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy == (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src "
        f"'sha256-{digest}'"
    )
    assert len(read.html.encode()) <= page.MOST


@pytest.mark.parametrize(
    "kind",
    quick(
        ["finished", "compared"],
        ["finished", "generative", "regression", "compared"],
        "runs share one page",
    ),
)
def test_a_report_is_one_file_that_needs_no_other(kind, request):
    folder = request.getfixturevalue(kind)
    folder = folder / "split-glyphs" if kind == "compared" else folder.folder
    read = Read(folder / "report.html")
    self_contained(read)
    assert read.all("img") and all(len(given["alt"]) > 40 for given in read.all("img"))
    embedded = {base64.b64decode(given["src"].partition(",")[2]) for given in read.all("img")}
    there = {
        path.read_bytes() for path in folder.glob("*.png") if not path.stem.endswith("_matrix")
    }
    assert embedded == there
    boxes = [given for given in read.all("div") if given.get("class") == "wide"]
    assert all(
        given["role"] == "region" and given["tabindex"] == "0" and given["aria-label"]
        for given in boxes
    )
    for place in (given["href"][1:] for given in read.all("a")):
        assert place in {given.get("id") for given in read.all("section")}


def test_a_run_has_all_its_parts(finished):
    read = Read(finished.folder / "report.html")
    values = finished.result
    for words in (
        "Method and command",
        "ibpcl run split-glyphs --set tasks=3",
        "Summary",
        "Accuracy after each task",
        "The objective by phases",
        "Settings",
        "Times",
        "Versions",
        f"numpy {np.__version__}",
        "Use this model",
        "Written by ibpcl",
        f"{100 * values['average_accuracy']:.2f}\N{NO-BREAK SPACE}%",
    ):
        assert words in read.text, words
    R = 100 * np.array(values["accuracy_matrix"], float)
    for t, name in enumerate(values["tasks"]):
        row = next(row for row in read.rows if row[0] == f"after {name}")
        assert row[1:-1] == [f"{value:.2f}" if j <= t else "" for j, value in enumerate(R[t])]
        assert row[-1] == f"{np.nanmean(R[t]):.2f}"
    worst = int(np.argmax(values["accuracy_drop"]))
    drop = values["accuracy_drop"][worst]
    assert (f" {values['tasks'][worst]}: {-100 * drop:+.2f}" in read.text) == (drop > 0)


def test_colours_follow_the_values(finished):
    styles = [
        given["style"]
        for given in Read(finished.folder / "report.html").all("td")
        if "style" in given
    ]
    R = np.array(finished.result["accuracy_matrix"])
    depths = [
        (float(style.split()[1][:-1]), value)
        for style, value in zip(styles, R[~np.isnan(R)], strict=True)
    ]
    assert max(depths)[0] == 100 and min(depths)[0] >= sections.PALEST
    assert [value for _, value in sorted(depths)] == sorted(value for _, value in depths)


def test_the_objective_is_told_by_phases(finished):
    read = Read(finished.folder / "report.html")
    history = inspection.read(finished.folder).history
    trained, _ = weighted(history, {"mask_kl_weight": finished.config.settings.mask_kl_weight})
    for t, name in enumerate(finished.result["tasks"]):
        rows = [row for row in read.rows if row[:1] == [name] and len(row) > 5]
        assert [row[1] for row in rows] == ["masked", "finetune"]
        for row in rows:
            at = np.flatnonzero((history["task"] == t) & (history["phase"] == row[1]))
            assert row[2:6] == [
                str(len(at)),
                *(
                    f"{value:.1f}"
                    for value in (
                        trained[at[0]],
                        trained[at[-1]],
                        history["log_likelihood"][at[-1]],
                    )
                ),
            ]
            assert row[-1] == f"{history['elbo'][at[-1]]:.1f}"


def test_settings_that_differ_come_first(finished):
    known = inspection.known_keys("npbcl")
    rows = [
        row
        for row in Read(finished.folder / "report.html").rows
        if len(row) == 4 and row[0] in known
    ]
    names = [row[0] for row in rows]
    first = [row for row in rows if row[1] != row[2]]
    assert rows[: len(first)] == first and {row[0] for row in first} == {
        "tasks",
        "hidden",
        "backend",
        "batch",
        "epochs",
        "samples",
        "prediction_samples",
        "finetune_epochs",
    }
    assert sorted(names) == sorted(storage.read_toml(finished.folder / "config.toml"))
    assert ["hidden", "[6]", "[200]"] in [row[:3] for row in rows]


def lines(folder):
    """Return the two lines of a report that use its model."""
    (pre,) = re.findall(
        r"<pre>(import ibpcl.*?)</pre>",
        Path(folder, "report.html").read_text(encoding="utf-8"),
        re.DOTALL,
    )
    return html.unescape(pre).splitlines()


@pytest.mark.parametrize(
    "kind, name",
    quick(
        ["finished"],
        [("finished", "p"), ("regression", "mean"), ("generative", "images")],
        "the three lines differ in one name",
        name=lambda case: case[0],
    ),
)
def test_the_two_lines_use_the_model(kind, name, request):
    found = request.getfixturevalue(kind)
    x = np.random.default_rng(0).random((3, found.learner.inputs), np.float32)
    two = lines(found.folder)
    place = {"x": x}
    exec("\n".join(two), place)
    assert len(two) == 2
    np.testing.assert_array_equal(place[name], found.learner.predict(x, 0))


def own_tasks(names=("a", "b")):
    """Return tasks with given names of classes."""
    labels = np.arange(80) % 4
    inputs = np.random.default_rng(0).random((80, 9), np.float32)
    inputs[np.arange(80), labels] += 1
    return ibpcl.tasks_from_arrays(
        inputs, labels, classes=[(0, 1), (2, 3)], class_names=[*names, "c", "d"]
    )


def test_hostile_names_are_text(tmp_path):
    stream = own_tasks(("<script>", "\"'</style>&amp;"))
    folder = tmp_path / "\"a<b> & '$x"
    ibpcl.run(stream, folder, method="naive", hidden=6, epochs=1, backend="numpy")
    path = folder / "config.toml"
    table = storage.read_toml(path)
    result = storage.read_sealed_json(folder / "result.json")
    del result["configuration"]
    for key, text in (
        ("experiment", HOSTILE[2]),
        ("method", HOSTILE[0]),
        ("preset", HOSTILE[1]),
        (HOSTILE[0], "x"),
    ):
        storage.write_toml(path, table | {key: text})
        identity = {name: value for name, value in (table | {key: text}).items() if name in result}
        storage.write_sealed_json(
            folder / "result.json", result | identity | {"tasks": result["tasks"]}
        )
        read = Read(page.write(folder))
        self_contained(read)
        assert text in read.text and len(read.all("img")) == 2
        assert (
            "<script>alert" not in read.html
            and "<img src=x" not in read.html
            and "</main>'" not in read.html
        )
        assert stream[0].name in read.text and str(folder) in read.text
    storage.write_toml(path, table)
    exec("\n".join(lines(folder)), {"x": stream[0].x_test}) if page.write(folder) else None


@pytest.mark.skipif(os.name != "posix", reason="elsewhere names are Unicode")
@pytest.mark.usefixtures("no_figures")
def test_a_folder_whose_name_is_not_unicode_gets_its_report(tmp_path):
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    ibpcl.run(own_tasks(), folder, method="naive", hidden=6, epochs=1, backend="numpy")
    self_contained(Read(folder / "report.html"))


@pytest.mark.usefixtures("no_figures")
def test_a_run_of_one_task_has_a_report(tmp_path):
    ibpcl.run(
        own_tasks()[:1], tmp_path / "one", method="naive", hidden=6, epochs=1, backend="numpy"
    )
    read = Read(tmp_path / "one" / "report.html")
    assert (
        f"After {own_tasks()[0].name}, the network classifies" in read.text
        and "ackward" not in read.text
    )
    page.write(tmp_path)
    assert [row[3:5] for row in Read(tmp_path / "report.html").rows[1:]] == [["-", "-"]]


def test_a_hostile_table_is_text(compared, tmp_path):
    (tmp_path / "table").mkdir()
    table = storage.read_json(compared / "split-glyphs" / "table.json")
    hostile = iter(HOSTILE * 20)

    def spoiled(value):
        if isinstance(value, dict):
            return {key: spoiled(entry) for key, entry in value.items()}
        if isinstance(value, list):
            return [spoiled(entry) for entry in value]
        return next(hostile, value) if isinstance(value, str) and "/" not in value else value

    for key in ("tables", "notes", "versions", "experiment", "command"):
        storage.write_json(
            tmp_path / "table" / "table.json",
            table
            | {key: spoiled(table.get(key, ["x"]))}
            | {"failures": [{"cell": HOSTILE[0], "reason": HOSTILE[1]}]},
        )
        read = Read(page.write(tmp_path / "table"))
        self_contained(read)
        assert f"{HOSTILE[0]}: {HOSTILE[1]}" in read.text and "<script>alert" not in read.html


@pytest.mark.usefixtures("no_figures")
def test_an_interrupted_run_leaves_its_report_and_a_finished_one_replaces_it(
    tmp_path, small_images, interrupted, capsys
):
    folder = tmp_path / "a run"
    words = ["run", "--method=ewc", "--out", str(folder), *SET]
    with interrupted(5):
        assert main(words) == 130
    read = Read(folder / "report.html")
    self_contained(read)
    for told in (
        "not finished",
        "in task 3 of 3 (ewc, epoch 1)",
        "2 of 3",
        "After the first 2 tasks",
        f"ibpcl run --resume {shlex.quote(str(folder))}",
    ):
        assert told in read.text, told
    assert [row[0] for row in read.rows if row[0].startswith("after")] == ["after A/B", "after C/D"]
    assert "Use this model" not in read.text and [
        row[1] for row in read.rows if row[:1] == ["task 3"]
    ] == ["ewc"]
    assert main(["run", "--resume", str(folder), "--quiet"]) == 0
    read = Read(folder / "report.html")
    assert "not finished" not in read.text and "Use this model" in read.text


def test_a_generative_run_that_is_interrupted_has_its_likelihoods(
    tmp_path, small_images, monkeypatch
):
    def cut(*arguments):
        for done in learn_stages(*arguments):
            yield done
            raise KeyboardInterrupt

    monkeypatch.setattr("ibpcl.experiments.generative.learn_stages", cut)
    with pytest.raises(KeyboardInterrupt):
        run(configure("vae-glyphs", **VAE), tmp_path / "run")
    read = Read(tmp_path / "run" / "report.html")
    (row,) = [row for row in read.rows if row[0] == "after A"]
    assert "Log-likelihood after each task" in read.text and float(row[1]) < 0


def test_a_run_that_fails_keeps_its_own_reason(tmp_path, small_images, monkeypatch, interrupted):
    monkeypatch.setattr(
        page, "write", lambda folder: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    with interrupted(1), pytest.raises(KeyboardInterrupt):
        run(configure(method="naive", hidden=(6,), backend="numpy"), tmp_path / "run")


def test_a_run_without_figures_has_no_report(tmp_path, small_images):
    run(
        configure(method="naive", hidden=(6,), epochs=1, backend="numpy"),
        tmp_path / "run",
        figures=False,
    )
    assert not (tmp_path / "run" / "report.html").exists()
    page.write(tmp_path / "run")
    assert not Read(tmp_path / "run" / "report.html").all("img")


def test_a_comparison_shows_its_table_and_its_runs(compared):
    read = Read(compared / "split-glyphs" / "report.html")
    table = storage.read_json(compared / "split-glyphs" / "table.json")
    for line in table["tables"][0]["lines"]:
        assert line in read.rows
    for cell in table["cells"]:
        result = storage.read_json(compared / "split-glyphs" / cell["folder"] / "result.json")
        (row,) = [row for row in read.rows if row[-1] == Path(cell["folder"]).name]
        assert row[:5] == [
            cell["row"],
            str(cell["seed"]),
            f"{100 * result['average_accuracy']:.2f}\N{NO-BREAK SPACE}%",
            f"{100 * result['backward_transfer']:+.2f}",
            f"{0 - 100 * max(0, *result['accuracy_drop']):+.2f}",
        ]
    assert "tasks = 3, backend = numpy, hidden = [6], epochs = 2, batch = 20" in read.text
    texts = [word for key, text in table["settings"].items() for word in ("--set", f"{key}={text}")]
    command = re.search(r"<pre>(.*?)</pre>", read.html)[1]
    assert shlex.split(re.sub("<.*?>", "", command)) == [
        "ibpcl",
        "compare",
        "split-glyphs",
        "--seeds",
        "2",
        "--methods",
        "naive,ewc",
        *texts,
        "--out",
        str(compared),
    ]


def test_the_command_of_a_comparison_finds_the_same_runs_done(
    compared, capsys, drawn_once, monkeypatch
):
    monkeypatch.setattr("ibpcl.methods.ewc.EWC.learn", None)
    words = storage.read_json(compared / "split-glyphs" / "table.json")["command"]
    assert main([*words[1:], "--dry-run"]) == 0
    assert "4 runs (2 methods, 2 seeds), 4 of them finished" in capsys.readouterr().out


def test_a_table_shows_no_file_of_another_folder(compared, tmp_path):
    table = storage.read_json(compared / "split-glyphs" / "table.json")
    for name in ("secret.png", "inside.png"):
        (tmp_path / name).write_bytes(b"secret")
    (tmp_path / "table").mkdir()
    storage.write_json(
        tmp_path / "table" / "table.json",
        table | {"pictures": ["../secret.png", str(tmp_path / "inside.png")]},
    )
    assert not Read(page.write(tmp_path / "table")).all("img")


@pytest.mark.usefixtures("no_figures")
def test_a_comparison_under_way_shows_the_runs_that_are_there(
    tmp_path, small_images, interrupted, capsys
):
    words = [
        "compare",
        "split-glyphs",
        "--methods=naive,ewc",
        "--seeds=1",
        "--out",
        str(tmp_path),
        *SET,
    ]
    with interrupted(8):
        assert main(words) == 130
    capsys.readouterr()
    assert main(["report", str(tmp_path)]) == 0
    read = Read(tmp_path / "report.html")
    self_contained(read)
    assert "2 runs, 1 finished" in read.text
    assert [row[-2] for row in read.rows[1:]] == [
        "finished",
        "stopped in task 1 of 3 (ewc, epoch 2)",
    ]


def test_rows_below_a_row_go_with_it():
    rows = [["ours", "1"], ["  paper", "2"], ["  difference", "-1"], ["theirs", "3"]]
    groups = Table("x", ["", "n"], rows, sortable=True).groups
    names = [[(below, name.strip()) for below, name, _ in group] for group in groups]
    assert names == [
        [(False, "ours"), (True, "paper"), (True, "difference")],
        [(False, "theirs")],
    ]


@pytest.mark.slow(reason="compresses large pictures")
def test_figures_that_are_too_large_lose_colours_and_then_their_place(
    finished, tmp_path, drawn_once
):
    from PIL import Image

    folder = shutil.copytree(finished.folder, tmp_path / "run")
    ramp = np.linspace(0, 255, 700 * 700).reshape(700, 700, 1)
    noise = np.random.default_rng(0).integers(0, 4, (700, 700, 3))
    Image.fromarray((ramp * 0.9 + noise).astype(np.uint8)).save(folder / "masks.png")
    assert (folder / "masks.png").stat().st_size > 500_000
    read = Read(page.write(folder))
    self_contained(read)
    assert len(read.all("img")) == len(list(folder.glob("*.png"))) - 1  # all but the matrix
    Image.fromarray(
        np.random.default_rng(0).integers(0, 256, (1200, 1200, 3), dtype=np.uint8)
    ).save(folder / "masks.png")
    read = Read(page.write(folder))
    self_contained(read)
    assert "masks.png is too large for this page" in read.text and len(read.all("img")) == 4


def test_a_matrix_of_many_tasks_is_a_picture(finished, tmp_path, monkeypatch, drawn_once):
    monkeypatch.setattr(sections, "MOST_TASKS", 2)
    read = Read(page.write(finished.folder, tmp_path / "many.html"))
    assert not [row for row in read.rows if row[0].startswith("after")]
    assert len(read.all("img")) == len(list(finished.folder.glob("*.png")))


def test_of_very_many_runs_the_newest_are_shown(compared, monkeypatch, tmp_path):
    monkeypatch.setattr(sections, "MOST_RUNS", 3)
    read = Read(page.write(compared, tmp_path / "few.html"))
    assert "1 older runs are left out" in read.text and len(read.rows) == 4


def test_what_is_damaged_is_told(finished, tmp_path, capsys):
    folder = shutil.copytree(finished.folder, tmp_path / "run")
    text = (folder / "result.json").read_text(encoding="utf-8")
    (folder / "result.json").write_text(text.replace('"seed": 0', '"seed": 1'), encoding="utf-8")
    assert main(["report", str(folder)]) == 0
    read = Read(folder / "report.html")
    assert (
        "Damaged" in read.text
        and "result.json is damaged" in read.text
        and "not finished" in read.text
    )
    capsys.readouterr()
    values = storage.read_sealed_json(finished.folder / "result.json")
    del values["measure"], values["average_accuracy"]
    storage.write_sealed_json(folder / "result.json", values)
    assert main(["report", str(folder)]) == 0
    read = Read(folder / "report.html")
    assert "Damaged" in read.text and "has no average_accuracy; another version" in read.text


def test_the_command_says_where_the_page_is(finished, tmp_path, capsys):
    out = tmp_path / "mine.html"
    assert main(["report", str(finished.folder), "--out", str(out)]) == 0
    assert capsys.readouterr().out.startswith(f"{out}: ")
    assert main(["report", str(finished.folder), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"report": str(finished.folder / "report.html"), "bytes": out.stat().st_size}


@pytest.mark.parametrize(
    "place, words", [("nowhere", "this folder does not exist"), ("", "no run and no table")]
)
def test_nothing_to_report_on_is_a_line(place, words, tmp_path):
    with pytest.raises(UserError, match=words):
        page.write(tmp_path / place)
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("no_figures")
def test_an_own_class_is_imported_by_name_and_one_of_a_script_is_handed_over(tmp_path):
    from ibpcl.methods.ewc import EWC

    for module, told in (
        ("my.methods", ["import ibpcl, my.methods", "{}).predict(x, 0)"]),
        ("__main__", ["import ibpcl", "{}, Mine).predict(x, 0)"]),
    ):
        mine = type("Mine", (EWC,), {"__module__": module})
        folder = tmp_path / module
        ibpcl.run(own_tasks(), folder, method=mine, hidden=6, epochs=1, backend="numpy")
        assert lines(folder) == [
            told[0],
            f"p = ibpcl.load({told[1].format(json.dumps(str(folder)))}",
        ]


def test_figures_of_tables_have_words_those_of_runs_among_them():
    assert of_table("few_labels").alt == OF_RUNS["few_labels"].alt != of_table("labels_few").alt
    assert of_table("accuracy_split-mnist").title == "Accuracy split-mnist"
