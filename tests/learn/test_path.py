"""The path from the student's side: the command, bad input, hints, notebooks."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from quick import quick

import ibpcl
from ibpcl.cli import main
from ibpcl.errors import UserError
from ibpcl.learn import checking
from ibpcl.learn.chapters import chapter_of, chapters
from ibpcl.learn.folder import Folder


def entries(path="my_ibpcl"):
    return json.loads((Folder(path).path / "progress.json").read_text())["exercises"]


def replaced(student, stem, old, new):
    text = student.source(stem)
    assert old in text
    student.file(stem).write_text(text.replace(old, new), encoding="utf-8")


def test_the_overview_shows_every_chapter_and_the_next_step(student, capsys):
    assert main(["learn"]) == 0
    out = capsys.readouterr().out
    assert all(chapter.title in out for chapter in chapters())
    assert "next: " in out
    assert main(["learn", "--json"]) == 0
    table = json.loads(capsys.readouterr().out)
    assert [row["number"] for row in table["chapters"]] == [c.number for c in chapters()]


def test_a_second_start_keeps_what_is_there(student, gaussian, capsys):
    student.file("gaussian").write_text(gaussian, encoding="utf-8")
    before = student.source("gaussian")
    assert main(["learn", "start", "2"]) == 0
    assert student.source("gaussian") == before
    assert "kept" in capsys.readouterr().out


def test_a_later_chapter_adds_its_functions_to_an_existing_file(student):
    student.file("chapter_03").write_text("def best_step():\n    return 1.0\n", encoding="utf-8")
    student.start(chapter_of(3))
    text = student.source("chapter_03")
    assert text.startswith("def best_step():\n    return 1.0\n")
    assert "def smooth_abs(" in text and text.count("def best_step") == 1


@pytest.mark.usefixtures("judged_here")
def test_right_functions_are_done_and_a_wrong_one_has_its_verdict(student, gaussian, capsys):
    student.file("gaussian").write_text(
        gaussian.replace("(dv * noise).sum(axis=0)", "2 * (dv * noise).sum(axis=0)"),
        encoding="utf-8",
    )
    assert main(["learn", "check", "2", "--json"]) == 1
    states = {row["exercise"]: row for row in json.loads(capsys.readouterr().out)}
    assert states["2.1"]["state"] == "partial"
    assert any("constant factor 2" in line for line in states["2.1"]["lines"])
    assert states["2.2"]["state"] == states["2.3"]["state"] == "right"
    assert states["2.4"]["state"] == "missing"
    assert entries()["2.2"]["state"] == "right"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not a folder of the path"),
        ('{"schema": "ibpcl/learn/0", "exercises": {}}', "another version"),
        ('{"schema": "ibpcl/learn/1", "exercises": 3}', "exercises must be a table"),
        ("{", "cannot be read"),
    ],
)
def test_a_damaged_folder_is_refused_in_one_line(tmp_path, monkeypatch, capsys, text, says):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "my_ibpcl"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    if text:
        (folder / "progress.json").write_text(text)
    for action in (["learn"], ["learn", "start", "2"], ["learn", "check", "2"]):
        assert main(action) == 2
        error = capsys.readouterr().err.strip()
        assert "\n" not in error and says in error
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        ["notes.txt", *(["progress.json"] if text else [])]
    )


def test_a_folder_inside_a_students_folder_is_refused(student, monkeypatch, capsys):
    folder = student.path.absolute()
    monkeypatch.chdir(folder)
    for action in (["learn", "start", "3"], ["learn", "check", "2"]):
        assert main(action) == 2
        assert "is itself a folder of the path" in capsys.readouterr().err
    assert not (folder / "my_ibpcl").exists()
    (folder / "progress.json").write_text('{"of another program": 1}')  # a control
    assert main(["learn", "start", "3"]) == 0


@pytest.mark.parametrize("name", ["my-ibpcl", "class", "3d"])
def test_a_name_that_is_not_a_package_is_refused(tmp_path, name, capsys):
    assert main(["learn", "start", "2", "--folder", str(tmp_path / name)]) == 2
    assert "Python name" in capsys.readouterr().err
    assert not (tmp_path / name).exists()


@pytest.mark.usefixtures("judged_here")
def test_a_syntax_error_is_shown_with_its_line(student, capsys):
    replaced(student, "gaussian", "def kl(", "def kl((")
    assert main(["learn", "check", "2"]) == 1
    out = capsys.readouterr().out
    assert "kl cannot be read: line" in out and "def kl((" in out


@pytest.mark.parametrize(
    "encoding",
    quick(["utf-16"], ["utf-8-sig", "utf-16", "cp1252"], "all are told apart in one function"),
)
@pytest.mark.usefixtures("judged_here")
def test_files_of_other_editors_are_read_and_kept(student, gaussian, encoding):
    text = "# a weight as a belief: naïve, à la Bayes\r\n" + gaussian.replace("\n", "\r\n")
    student.file("gaussian").write_bytes(text.encode(encoding))
    before = student.file("gaussian").read_bytes()
    checked = {each.exercise: each for each in checking.check_chapter(student, chapter_of(2))}
    assert checked["2.1"].ok and checked["2.3"].ok
    student.start(chapter_of(2))
    assert student.file("gaussian").read_bytes() == before


@pytest.mark.slow(reason="judges a chapter; the judge has this limit in tests of its own")
def test_an_endless_loop_is_ended(student, gaussian, monkeypatch):
    monkeypatch.setattr(checking, "SECONDS_PER_CALL", 1)
    student.file("gaussian").write_text(
        gaussian.replace("    noise = np.exp", "    while True:\n        pass\n    noise = np.exp"),
        encoding="utf-8",
    )
    checked = {each.exercise: each for each in checking.check_chapter(student, chapter_of(2))}
    assert checked["2.1"].state == "raises"
    assert any("no answer within" in line for line in checked["2.1"].lines)
    assert checked["2.3"].ok


@pytest.mark.slow(reason="judges a chapter")
def test_another_signature_is_named(student, gaussian):
    text = gaussian.replace("def sample(eps, mu, log_sigma)", "def sample(mu, log_sigma)")
    student.file("gaussian").write_text(text, encoding="utf-8")
    checked = {each.exercise: each for each in checking.check_chapter(student, chapter_of(2))}
    assert checked["2.1"].state == "raises"
    assert any("TypeError" in line and "3 were given" in line for line in checked["2.1"].lines)


def test_unknown_chapters_and_exercises_are_refused(student, capsys):
    for words in (["start", "99"], ["check", "x"], ["hint", "2.99"], ["hint", "two"]):
        assert main(["learn", *words]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_hints_come_one_after_another(student, capsys):
    hints = chapter_of(2).exercises["2.1"][0].hints
    for at in (0, 1, 2, 2):
        assert main(["learn", "hint", "2.1"]) == 0
        assert " ".join(hints[at].split()) in " ".join(capsys.readouterr().out.split())
    assert entries()["2.1"]["hints"] == 3


@pytest.mark.usefixtures("judged_here")
def test_a_solution_is_shown_after_a_try(student, gaussian, capsys):
    assert main(["learn", "solution", "2.1"]) == 2
    capsys.readouterr()
    wrong = gaussian.replace("return mu + noise, noise", "return mu - noise, noise")
    student.file("gaussian").write_text(wrong, encoding="utf-8")
    main(["learn", "check", "2"])
    capsys.readouterr()
    assert main(["learn", "solution", "2.1"]) == 0
    assert "def sample_vjp(" in capsys.readouterr().out
    assert entries()["2.1"]["solution"] is True


@pytest.mark.usefixtures("judged_here")
def test_a_prediction_is_answered_only_after_it_was_made(student):
    student.start(chapter_of(1))
    (before,) = [c for c in checking.check_chapter(student, chapter_of(1)) if c.exercise == "1.1"]
    assert before.state == "missing"
    assert not any("52" in line for line in before.lines)
    replaced(student, "chapter_01", 'return ""  # a, b, c', 'return "a"')
    (after,) = [c for c in checking.check_chapter(student, chapter_of(1)) if c.exercise == "1.1"]
    assert after.ok
    assert any("you predicted a" in line and "52" in line for line in after.lines)


@pytest.mark.usefixtures("judged_here")
def test_a_counterexample_is_tried(student):
    student.start(chapter_of(3))
    stub = 'raise NotImplementedError("task 3.5: Right almost everywhere")'
    replaced(student, "chapter_03", stub, "return np.array([100.0]), 0.1")
    (far,) = [c for c in checking.check_chapter(student, chapter_of(3)) if c.exercise == "3.5"]
    assert far.state == "wrong"
    replaced(student, "chapter_03", "np.array([100.0]), 0.1", "np.array([0.1]), 1.0")
    (near,) = [c for c in checking.check_chapter(student, chapter_of(3)) if c.exercise == "3.5"]
    assert near.ok


@pytest.mark.slow(reason="judges a chapter")
def test_a_notebook_is_checked_and_its_primitives_are_kept(student, gaussian, capsys):
    pytest.importorskip("jupytext")
    for stem in ("gaussian", "chapter_02"):
        student.file(stem).unlink()
    assert main(["learn", "start", "2", "--notebook"]) == 0
    path = student.path / "chapter_02.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    notebook["cells"].append(
        {
            "cell_type": "code",
            "id": "mine",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": gaussian,
        }
    )
    path.write_text(json.dumps(notebook), encoding="utf-8")
    verdicts = ibpcl.learn.check(2, student.path)
    assert [each.ok for each in verdicts.checked[:3]] == [True, True, True]
    assert "def kl_vjp" in student.source("gaussian")
    html = verdicts._repr_html_()
    assert (html.count("<tr>") == len(verdicts.checked) and "&gt;" in html) or "<td" in html
    assert main(["learn", "start", "2", "--notebook"]) == 2
    assert "exists" in capsys.readouterr().err


def test_the_module_still_learns_streams():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(40, 16)).astype(np.float32)
    stream = ibpcl.tasks_from_arrays(x, np.arange(40) % 2, classes=[(0, 1)], test=0.5)
    learner = ibpcl.learner("naive", epochs=1, backend="numpy")
    (progress,) = ibpcl.learn(learner, stream)
    assert progress.task == 0


@pytest.mark.slow(reason="judges a chapter as a class is judged")
def test_a_chapter_is_homework_too(tmp_path, capsys):
    assert main(["class", "new", "chapter_02", "--out", str(tmp_path / "hw")]) == 0
    source = chapter_of(2).assignment.source()
    file = tmp_path / "solved.py"
    file.write_text(f'ASSIGNMENT = "chapter_02"\nVARIANT = "base"\nSTUDENT = ""\n{source}')
    capsys.readouterr()
    assert main(["class", "check", str(file)]) == 0


def test_a_folder_is_needed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="learn start"):
        ibpcl.learn.check()


@pytest.mark.slow(reason="judges a solution and its mistakes for each chapter")
@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.assignment.name)
def test_every_chapter_passes_the_gate_of_assignments(chapter):
    assert main(["class", "selftest", chapter.assignment.name]) == 0


@pytest.mark.processes(reason="imports show in a new process only")
def test_a_students_file_can_be_imported_before_those_that_it_calls_are_begun(tmp_path):
    student = Folder(tmp_path / "my_own")
    student.start(chapter_of(7))
    there = {**os.environ, "PYTHONPATH": str(Path(ibpcl.__file__).parents[1])}
    code = (
        "from my_own import masked_linear, linear, concrete; import ibpcl.primitives.linear as l;"
        "assert linear is l; assert concrete.__file__.endswith('my_own/concrete.py')"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=there, check=True)
    code = "import my_own, pytest\nwith pytest.raises(ImportError):\n    from my_own import nothing"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=there, check=True)
