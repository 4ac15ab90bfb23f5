"""A class from the key to the export, by the command line: what teachers and students type."""

import csv
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import here
import pytest
from classroom_common import BOX, first
from classroom_schemas import MOODLE, NBGRADER, SCHEMAS, errors
from quick import quick

from ibpcl.classroom import grading
from ibpcl.classroom.assignments import variants
from ibpcl.classroom.assignments.assignment import find, names
from ibpcl.classroom.authoring import packing, selftest
from ibpcl.classroom.authoring.stubs import stub
from ibpcl.classroom.feedback import records
from ibpcl.classroom.intake import collect
from ibpcl.classroom.intake import submission as submissions
from ibpcl.classroom.judging import marking, similarity
from ibpcl.cli import main

MISTAKE = ("return dv.sum(axis=0), (dv * noise)", "return -dv.sum(axis=0), (dv * noise)")


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course with a key and four hand-ins: right, wrong, blank, refused."""
    folder = tmp_path_factory.mktemp("course")
    assert main(["class", "key", str(folder / "course.key")]) == 0
    key = variants.read_key(folder / "course.key")
    hand_ins = folder / "hand-ins"
    hand_ins.mkdir()
    assignment = first()
    for student in ("ada", "ben", "cy", "dee"):
        variant = variants.variant_of(assignment, key, student)
        text = {
            "ada": assignment.source(variant),
            "ben": assignment.source(variant) + "\n\ndef sample_vjp(dv, cache):\n"
            "    return -dv.sum(axis=0), dv.sum(axis=(0, 1))\n",
            "cy": stub(assignment, variant, student),
            "dee": "from ibpcl.primitives import gaussian\n",
        }[student]
        (hand_ins / f"{student}.py").write_text(text)
    out, key_file = str(folder / "out"), str(folder / "course.key")
    with here.judged_here():
        command = ["class", "grade", "1", str(hand_ins), "--out", out, "--key", key_file]
        assert main([*command, "--sandbox", BOX, "--jobs", "2"]) == 1  # one is not graded
    return folder


def scores(folder):
    return {result.student: result.score for result in records.results_of(folder / "out")[0]}


def test_a_class_is_graded(course):
    found = scores(course)
    assert (
        found["ada"] == 90 and found["cy"] == 0 and found["dee"] is None and 80 < found["ben"] < 90
    )
    page = (course / "out" / "class.html").read_text()
    assert "imports ibpcl.primitives; allowed are numpy" in page and 'id="mistakes"' in page
    rows = list(csv.DictReader((course / "out" / "class.csv").read_text("utf-8-sig").splitlines()))
    assert [row["score"] for row in rows if row["student"] == "dee"] == [""]
    assert 'id="pairs"' in page and "the solution, variant" in page


@pytest.mark.slow(reason="grades a class")
def test_a_run_that_was_interrupted_goes_on(course, capsys):
    out = course / "out"
    key = variants.read_key(course / "course.key")
    before = {path: path.stat().st_mtime_ns for path in out.glob("*/result.json")}
    (out / "ben" / "result.json").unlink()
    done = []
    grading.grade(
        first(), course / "hand-ins", out, BOX, key, show=lambda *each: done.append(each[2].student)
    )
    assert done == ["ben"]
    assert all(
        path.stat().st_mtime_ns == time
        for path, time in before.items()
        if path.parent.name in ("ada", "cy")
    )


@pytest.mark.parametrize("system", SCHEMAS)
def test_exports_have_their_formats(course, system):
    assert main(["class", "export", str(course / "out"), "--to", system]) == 0
    folder = course / "out" / f"export-{system}"
    paths = sorted(folder.rglob("*.json"))
    assert len(paths) == 4
    for path in paths:
        table = json.loads(path.read_text(), parse_constant=float)
        assert not errors(table, SCHEMAS[system]), path
        ungraded = "dee" in str(path.relative_to(folder))
        assert ("score" in table) != ungraded


@pytest.mark.parametrize(("system", "columns"), [("csv", NBGRADER), ("moodle", MOODLE)])
def test_tables_have_their_columns(course, system, columns, tmp_path):
    roster = tmp_path / "roster.csv"
    roster.write_text(
        "student_id,last_name,first_name,email,identifier,username\n"
        "ada,Lovelace,Ada,ada@example.org,Participant 7,al\n"
    )
    out = tmp_path / "points.csv"
    command = ["class", "export", str(course / "out"), "--to", system]
    assert main([*command, "--roster", str(roster), "--out", str(out)]) == (system == "moodle")
    rows = list(csv.DictReader(out.read_text("utf-8-sig").splitlines()))
    # Moodle finds a row by its identifier only, so the three students without one are left out.
    assert list(rows[0]) == list(columns) and len(rows) == (4 if system == "csv" else 1)
    for row in rows:
        for name, kind in columns.items():
            assert kind != "number" or not row[name] or 0 <= float(row[name]) <= 100, (name, row)
    assert "Lovelace" in "".join(rows[0].values()) and {"90", "90.0"} & set(rows[0].values())
    assert system == "moodle" or rows[3]["score"] == ""


@pytest.mark.parametrize(
    ("system", "spoil", "told"),
    [
        ("gradescope", {"score": "90"}, "$.score: '90' is no number"),
        ("gradescope", {"visibility": "always"}, "$.visibility: 'always' is none of"),
        ("gradescope", {"tests": [{"score": 2}]}, "$.tests[0]: max_score is missing"),
        ("gradescope", {"tests": []}, "$.tests: is empty"),
    ],
)
def test_the_schemas_refuse_what_the_systems_would(system, spoil, told):
    from ibpcl.classroom.feedback import exports
    from ibpcl.classroom.judging.verdict import Result, Verdict

    right = Verdict("1a", "forward", "Draw a weight", "public", 90.0, 90.0, "right")
    table = getattr(exports, system)(
        Result("01_gaussian_weights", "ada", "base", "0" * 64, verdicts=[right]), first()
    )
    assert errors(table, SCHEMAS[system]) == []
    assert any(each.startswith(told) for each in errors({**table, **spoil}, SCHEMAS[system]))


def test_the_pack_has_the_tables_that_the_judge_reads(tmp_path):
    packing.gradescope(first(), tmp_path / "pack.zip", b"a course key of some length")
    with zipfile.ZipFile(tmp_path / "pack.zip") as archive:
        packed = {name.removeprefix("ibpcl/classroom/") for name in archive.namelist()}
    rooms = Path(packing.__file__).parents[1]
    tables = {
        path.relative_to(rooms).as_posix()
        for path in rooms.rglob("*.toml")
        if "assignments" not in path.parts
    }
    assert "intake/headings.toml" in tables and tables <= packed


@pytest.mark.slow(reason="judges hand-ins in processes of their own")
def test_the_pack_runs_as_on_gradescope(course, tmp_path):
    """Run its own ``run_autograder``; only the paths are others, and the interpreter is this
    one.
    """
    packed = tmp_path / "pack.zip"
    root = tmp_path / "autograder"
    command = [
        "class",
        "pack",
        "1",
        "--for",
        "gradescope",
        "--key",
        str(course / "course.key"),
        "--out",
    ]
    assert main([*command, str(packed)]) == 0 and main([*command, str(tmp_path / "again.zip")]) == 0
    assert packed.read_bytes() == (tmp_path / "again.zip").read_bytes()
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(root / "source")
        for name in ("setup.sh", "run_autograder"):
            assert archive.getinfo(name).external_attr >> 16 & 0o111, f"{name} is not executable"
    subprocess.run(["bash", "-n", str(root / "source" / "setup.sh")], check=True)
    script = (root / "source" / "run_autograder").read_text()
    assert script.count("/autograder/") == 2
    (root / "source" / "run_autograder").write_text(script.replace("/autograder", str(root)))
    python = root / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -P "$@"\n')
    python.chmod(0o755)
    (root / "submission").mkdir()
    (root / "submission_metadata.json").write_text(
        json.dumps({"users": [{"email": "ada", "id": 1, "name": "A"}]})
    )

    def run(text):
        (root / "submission" / "hw.py").write_text(text)
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        subprocess.run(
            ["bash", str(root / "source" / "run_autograder")], check=True, env=clean, cwd=tmp_path
        )
        table = json.loads((root / "results" / "results.json").read_text())
        assert not errors(table, SCHEMAS["gradescope"])
        return table

    graded = run((course / "hand-ins" / "ada.py").read_text())
    judged = [task for task in first().tasks if task.kind != "text"]
    assert graded["score"] == 90 and len(graded["tests"]) == len(judged)
    assert "score" not in run("from ibpcl.primitives import gaussian\n")
    (root / "submission_metadata.json").unlink()
    assert "not graded: FileNotFoundError" in run("x = 1\n")["output"]


@pytest.mark.processes(reason="what is loaded shows in a new process only")
def test_the_judge_on_gradescope_needs_no_templates():
    code = (
        "import sys; sys.modules['jinja2'] = sys.modules['markupsafe'] = None\n"
        "from ibpcl.classroom.assignments import variants\n"
        "from ibpcl.classroom.feedback import exports\n"
        "from ibpcl.classroom.intake import collecting\n"
        "from ibpcl.classroom.judging import judge\n"
        "from ibpcl.classroom.judging.running import client\n"
        "from ibpcl.sandbox import boxes"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow(reason="judges hand-ins")
def test_hand_outs_are_the_same_for_the_same_key_and_student(tmp_path):
    key = b"a course key of some length"
    for name in ("a", "b"):
        from ibpcl.classroom.authoring.handout import new

        new(first(), tmp_path / name, "ada", key)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


def test_notebooks_hold_the_same_code(tmp_path):
    pytest.importorskip("jupytext")
    from ibpcl.classroom.authoring.handout import new
    from ibpcl.classroom.intake import submission as submissions

    new(first(), tmp_path, "ada")
    python, notebook = (
        submissions.read(tmp_path / f"gaussian_weights{suffix}") for suffix in (".py", ".ipynb")
    )
    import ast

    assert ast.dump(ast.parse(python.source)) == ast.dump(ast.parse(notebook.source))
    assert "## Task 1a" in (tmp_path / "gaussian_weights.ipynb").read_text()


@pytest.mark.slow(reason="judges hand-ins")
def test_a_student_checks_and_submits(tmp_path, capsys):
    out = tmp_path / "hw"
    assert main(["class", "new", "1", "--out", str(out), "--student", "ada"]) == 0
    file = out / "gaussian_weights.py"
    assert main(["class", "check", str(file)]) == 1
    assert "1b  The gradient of a drawn weight: not judged" in capsys.readouterr().out
    source = find("1").source().replace(*MISTAKE)
    file.write_text('ASSIGNMENT = "01_gaussian_weights"\nVARIANT = "base"\n' + source)
    assert main(["class", "check", str(file), "--html", str(tmp_path / "page.html")]) == 1
    output = capsys.readouterr().out
    assert "mu: the sign is wrong" in output and "1d  " not in output
    assert "not checked here: 1d" in output
    assert "<svg" in (tmp_path / "page.html").read_text()
    assert main(["class", "submit", str(file)]) == 0 and main(["class", "submit", str(file)]) == 0
    packed = out / "gaussian_weights.zip"
    from ibpcl.classroom.intake import submission as submissions

    assert submissions.read(packed).source == source.join(
        ['ASSIGNMENT = "01_gaussian_weights"\nVARIANT = "base"\n', ""]
    )


def printed(command, capsys):
    """Run an action with ``--json``; return its exit code and what it printed."""
    capsys.readouterr()
    code = main(["class", *command, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_tables_of_students_are_printed_as_json(tmp_path, capsys, monkeypatch):
    code, found = printed(["list"], capsys)
    assert (
        code == 0
        and found[0]["name"] == "01_gaussian_weights"
        and found[0]["points"] == first().points
    )
    file = tmp_path / "mine.py"
    file.write_text(
        'ASSIGNMENT = "01_gaussian_weights"\nVARIANT = "base"\n'
        + find("1").source().replace(*MISTAKE)
    )
    code, found = printed(["check", str(file)], capsys)
    assert code == 1 and "1d" in found["not_checked"] and 0 < found["score"] < found["most"]
    assert {verdict["task"]: verdict["state"] for verdict in found["verdicts"]}["1b"] == "partial"
    monkeypatch.setattr(
        selftest, "run", lambda assignment, box: [selftest.Outcome("stub", False, "it earns 3")]
    )
    code, found = printed(["selftest", "1", "--sandbox", BOX], capsys)
    assert code == 1 and not found["ok"] and found["hand_ins"][0]["words"] == "it earns 3"


@pytest.mark.slow(reason="judges hand-ins")
def test_tables_of_teachers_are_printed_as_json(course, capsys):
    code, found = printed(["report", str(course / "out")], capsys)
    assert code == 1 and {one["student"]: one["score"] for one in found["results"]} == scores(
        course
    )
    assert Path(found["csv"]).is_file()
    code, pairs = printed(["similar", str(course / "out"), "--at-least", "0.5"], capsys)
    assert code == 0 and pairs and all(one["share"] >= 0.5 for one in pairs)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["new", "99", "--out", "x"], "unknown assignment '99'"),
        (["check", "nowhere.py"], "nowhere.py is not a file"),
        (["report", "."], "has no grading.json"),
        (
            ["new", "1", "--out", "x", "--key", "none.key"],
            "`ibpcl class key none.key`",
        ),
    ],
)
def test_mistakes_in_the_command_are_answered(command, told, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["class", *command]) == 2
    assert told in capsys.readouterr().err


def test_renaming_does_not_hide_a_copy():
    import re

    text = first().source()
    renamed = re.sub(
        r"\bnoise\b", "wobble", re.sub(r"\bshift\b", "offset", re.sub(r"#.*", "", text))
    )
    sums = [" + ".join(f"x ** {n + k} / {k + 1}" for k in range(9)) for n in range(9)]
    other = "\n\n".join(f"def f{n}(x):\n    return {each}" for n, each in enumerate(sums))
    found = similarity.pairs({"a": text, "b": renamed, "c": other})
    assert [pair[:2] for pair in found] == [("a", "b")] and found[0].share > 0.95


@pytest.mark.slow(reason="judges hand-ins")
def test_hand_ins_that_are_links_are_not_followed(tmp_path):
    (tmp_path / "secret.py").write_text("x = 1\n")
    folder = tmp_path / "hand-ins"
    folder.mkdir()
    (folder / "eve.py").symlink_to(tmp_path / "secret.py")
    (folder / "ada.py").write_text("x = 1\n")
    (found,) = collect(folder).found
    assert (found.student, found.attempts[-1].submission.path.name) == ("ada", "ada.py")


@pytest.mark.slow(reason="judges a class again")
def test_points_given_by_hand_are_added(course, capsys):
    out = course / "by hand"
    hand_ins = course / "texts"
    hand_ins.mkdir()
    text = first().source() + '\nDERIVATION = """By the chain rule."""\n'
    (hand_ins / "ada.py").write_text(text)
    grade = ["class", "grade", "1", str(hand_ins), "--out", str(out), "--sandbox", BOX]
    assert main(grade) == 0
    assert "10 points" in capsys.readouterr().out
    table = out / "by-hand.csv"
    head = "student,task,most,comment,points"
    assert table.read_text("utf-8-sig").split() == [head, "ada,1j,10,,"]
    table.write_text("student,task,most,points\nada,1j,10,7.5\n")
    assert main(["class", "report", str(out)]) == 0 and main(grade) == 0
    assert records.results_of(out)[0][0].score == 97.5 and "7.5" in table.read_text()
    table.write_text("student,task,most,points\nada,1j,10,11\n")
    assert main(["class", "report", str(out)]) == 1
    assert "points must be in 0..10, got 11" in capsys.readouterr().out
    # kept, so that it can be corrected
    assert "ada,1j,10,,11" in table.read_text("utf-8-sig")


@pytest.mark.slow(reason="judges hand-ins")
def test_pasted_derivations_of_the_package_are_found():
    from ibpcl.storage import read_text

    pasted = (
        read_text(similarity.PRIMITIVES / "gaussian.py")
        .replace("mu", "m")
        .replace("log_sigma", "ls")
    )
    found = similarity.copied({"eve": pasted, "ada": "def f(x):\n    return x\n"}, first())
    assert [pair.first for pair in found] == ["eve"] and found[0].share > 0.9


@pytest.mark.parametrize(
    "name",
    quick(
        ["01_gaussian_weights", "05_the_masked_layer"],
        names(),
        "each judges a solution, and the gate judges all of them",
    ),
)
def test_check_accepts_the_printed_solution(name, tmp_path, capsys):
    variant = list(find(name).variants)[-1]
    assert main(["class", "solution", name, "--variant", variant]) == 0
    path = tmp_path / "solution.py"
    path.write_text(capsys.readouterr().out, encoding="utf-8")
    constants = submissions.literals(path.read_text(encoding="utf-8"))
    assert (constants["ASSIGNMENT"], constants["VARIANT"]) == (name, variant)
    assert main(["class", "check", str(path), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    states = {verdict["kind"]: verdict["state"] for verdict in result["verdicts"]}
    assert states.pop("text") == "by hand" and set(states.values()) <= {"right"}
    assert main(["class", "submit", str(path)]) == 0


@pytest.mark.parametrize(
    ("task", "evidence"),
    [("1a", "right"), ("1b", "named_mistake_in_a_gradient"), ("1j", "DERIVATION")],
)
def test_why_shows_the_path_from_evidence_to_points(task, evidence, course, capsys, monkeypatch):
    monkeypatch.chdir(course / "out")
    for options in ([], ["--in", str(course / "out")]):
        assert main(["class", "why", "BEN", task, *options]) in (None, 0)
        out = capsys.readouterr().out
        assert out.startswith(f"ben, {task} ") and evidence in out
    result = next(each for each in records.load(course / "out").results if each.student == "ben")
    verdict = next(each for each in result.verdicts if each.task == task)
    assert f"{verdict.points:g} of {verdict.most:g}" in out.split("\n")[0]


@pytest.mark.parametrize("asked", [("eve", "1a"), ("ben", "9z"), ("dee", "1a")])
def test_why_refuses_what_it_does_not_know(asked, course, capsys):
    assert main(["class", "why", *asked, "--in", str(course / "out")]) == 2
    assert asked[0] in capsys.readouterr().err or asked[1] in "9z"


def test_the_printed_marking_scheme_can_be_used(tmp_path, capsys):
    assert main(["class", "marking"]) in (None, 0)
    (tmp_path / "marking.toml").write_text(capsys.readouterr().out)
    assert marking.read(tmp_path / "marking.toml") == marking.default()
