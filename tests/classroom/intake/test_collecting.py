"""The right file of the right student, from the folders that learning platforms hand out."""

import json
import os
import shutil
import unicodedata
import zipfile

import pytest

from ibpcl.classroom.assignments import variants
from ibpcl.classroom.assignments.assignment import find
from ibpcl.classroom.authoring.stubs import stub
from ibpcl.classroom.intake import collecting, platforms
from ibpcl.classroom.intake.students import Roster, Student, read_students
from ibpcl.cli import main
from ibpcl.errors import UserError

KEY = b"the key of a course with a class"
NAMES = {
    "ada": "Ada Lovelace",
    "ben": "Ben Bitdiddle",
    "emil": "Emil O'Brien",
    "jl": "Jean-Luc Müller-Lüdenscheidt",
}


@pytest.fixture(scope="module")
def assignment():
    return find("1")


def right(assignment, student, **other):
    """Return the solution in a student's variant, as the student hands it in."""
    said = {
        "ASSIGNMENT": assignment.name,
        "VARIANT": variants.variant_of(assignment, KEY, student),
        "STUDENT": student,
    }
    head = "".join(f"{name} = {value!r}\n" for name, value in {**said, **other}.items())
    return head + assignment.source(said["VARIANT"])


def notebook(*cells):
    code = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in cells]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": code})


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def chosen(collection):
    """Return {student: name of the file that counts, "" if there is none}."""
    return {
        each.student: each.attempts[-1].name if each.attempts else "" for each in collection.found
    }


def collected(folder, assignment, **options):
    return collecting.collect(folder, assignment, KEY, **options)


# Platform to the path of each student's file, from id, full name and number.
LAYOUTS = {
    "moodle": "{name}_{n}_assignsubmission_file/hw.py",
    "moodle: older": "{name}_{n}_assignsubmission_file_/hw.py",
    "moodle: flat": "{name}_{n}_assignsubmission_file_hw.py",
    "moodle: anonymous": "Participant_{n}_assignsubmission_file/hw.py",
    "moodle: anonymous in German": "Teilnehmer_in_{n}_assignsubmission_file/hw.py",
    "moodle: groups": "Group A-{name}_{n}_assignsubmission_file/hw.py",
    "moodle: no number": "{name}_assignsubmission_file/hw.py",
    "canvas": "{last}{id}_{n}_9{n}_hw.py",
    "canvas: again": "{last}{id}_{n}_9{n}_hw-2.py",
    "canvas: late": "{last}{id}_LATE_{n}_9{n}_hw.py",
    "canvas: anonymous": "anonymous_a{n}_9{n}_hw.py",
    "blackboard": "Homework 1_{id}_attempt_2024-11-01-23-59-10_hw.py",
    "brightspace": "{n}-5{n} - {name} - Nov 3, 2024 1159 PM/hw.py",
    "brightspace: flat": "{n}-5{n} - {name} - 3 November 2024 23.59 - hw.py",
    "gradescope": "submission_{n}/hw.py",
    "github": "hw1-{id}/hw.py",
    "nbgrader": "{id}/hw1/hw.py",
    "nbgrader: exchange": "{id}+hw1+2024-11-01 12:00:00.000000 UTC+xYz/hw.py",
    "folder": "{id}/hw.py",
    "folder: files": "{id}.py",
    "folder: capital suffix": "{id}.PY",
    "folder: attempts": "{id}/attempt 1/hw.py",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_layout_gives_each_student_their_file(layout, assignment, tmp_path):
    for number, (student, name) in enumerate(NAMES.items(), start=1000):
        last = name.split()[-1].lower().replace("'", "").replace("-", "")
        path = LAYOUTS[layout].format(id=student, name=name, n=number, last=last)
        put(tmp_path / path, right(assignment, student))
        if layout == "nbgrader":
            put(tmp_path / student / "hw1" / "timestamp.txt", "2024")
            put(
                tmp_path / student / "hw2" / "sticks.py",
                'ASSIGNMENT = "02_sticks"\n' + find("2").source(),
            )
        if layout == "github":
            put(tmp_path / f"hw1-{student}" / ".git" / "HEAD", "ref")
            put(tmp_path / f"hw1-{student}" / "setup.py", "x = 1\n")
    collection = collected(tmp_path, assignment)
    assert collection.platform == layout.split(":")[0]
    assert set(chosen(collection)) == set(NAMES) and all(each.attempts for each in collection.found)


def test_a_class_is_read_from_the_zip_that_a_platform_makes(assignment, tmp_path):
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
        for number, (student, name) in enumerate(NAMES.items()):
            archive.writestr(
                f"{name}_{number}_assignsubmission_file/hw.py", right(assignment, student)
            )
        archive.writestr("../../outside.py", "x = 1\n")
    collection = collected(tmp_path / "class.zip", assignment)
    assert set(NAMES) <= set(chosen(collection)) and not (tmp_path.parent / "outside.py").exists()


@pytest.mark.parametrize("pattern", ["{1}_{2}_assignsubmission_file/hw.py", "{0}/hw.py"])
def test_the_zip_of_a_class_may_lie_in_a_folder(pattern, assignment, tmp_path):
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
        for number, (student, name) in enumerate(NAMES.items()):
            text = right(assignment, student)
            archive.writestr(pattern.format(student, name, number), text)
    put(tmp_path / ".DS_Store", "x")
    assert set(chosen(collected(tmp_path, assignment))) == set(NAMES)


def test_the_zip_of_one_student_in_a_folder_stays_one_student(assignment, tmp_path):
    with zipfile.ZipFile(tmp_path / "ada.zip", "w") as archive:
        archive.writestr("first/hw.py", right(assignment, "ada", STUDENT=""))
        archive.writestr("second/.git/HEAD", "ref")
        archive.writestr("second/hw.py", right(assignment, "ada", STUDENT="") + "\n")
    assert set(chosen(collected(tmp_path, assignment))) == {"ada"}


@pytest.mark.parametrize("wrapper", ["submitted", "assignment_77_export", "hw1-submissions"])
def test_a_folder_around_the_class_is_opened(wrapper, assignment, tmp_path):
    for student in NAMES:
        put(tmp_path / wrapper / student / "hw.py", right(assignment, student))
    assert set(chosen(collected(tmp_path, assignment))) == set(NAMES)


def test_a_folder_with_two_students_is_a_class_and_not_one_of_them(assignment, tmp_path):
    for student in ("ada", "ben"):
        put(tmp_path / "anything" / student / "hw.py", right(assignment, student))
    assert set(chosen(collected(tmp_path, assignment))) == {"ada", "ben"}


def test_gradescope_names_students_who_name_nobody(assignment, tmp_path):
    put(tmp_path / "submission_7" / "hw.py", right(assignment, "ada", STUDENT=""))
    put(tmp_path / "submission_8" / "hw.py", right(assignment, "ben", STUDENT=""))
    put(
        tmp_path / "submission_metadata.yml",
        "---\nsubmission_7:\n  :submitters:\n  - :name: Ada\n    :sid: 'ada'\n    :email: "
        "a@x.org\n  :history:\n  - :submitters:\n    - :sid: 'zoe'\nsubmission_8:\n  "
        ":submitters:\n  - :name: Ben\n    :sid: ben\n",
    )
    assert set(chosen(collected(tmp_path, assignment))) == {"ada", "ben"}


# What lies beside the hand-in of a student; none of it may be taken for it.
BESIDE = {
    "setup.py": "x = 1\n",
    "zz_plots.py": "import matplotlib\n",
    "test_gaussian_weights.py": "def test(): pass\n",
    "__MACOSX/hw.py": "x = 1\n",
    "._hw.py": b"\0\5\x16\7",
    ".ipynb_checkpoints/hw-checkpoint.py": "@old",
    "venv/lib/python3.12/site-packages/six.py": "@old",
    ".git/hooks/zz.py": "@old",
    "old.zip": b"x",
    "hw_old.py": "@old",
    "blank.py": "@blank",
    "blank.ipynb": "@blank notebook",
    "sticks.py": "@other",
    "__pycache__/hw.py": "@old",
    "notes.pdf": b"%PDF",
    "backup/hw.py": "@half",
}


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("archive", [False, True], ids=["folder", "zip"])
def test_the_file_is_chosen_by_its_content(beside, archive, assignment, tmp_path):
    variant = variants.variant_of(assignment, KEY, "ada")
    half = right(assignment, "ada").partition("def log_density(")[0]
    texts = {
        "@old": right(assignment, "ada").replace("return", "return 2 *", 1),
        "@half": half,
        "@blank": stub(assignment, variant, "ada"),
        "@blank notebook": notebook(stub(assignment, variant, "ada")),
        "@other": 'ASSIGNMENT = "02_sticks"\n' + find("2").source(),
    }
    content = BESIDE[beside]
    root = tmp_path / "raw" / "ada" if archive else tmp_path / "class" / "ada"
    put(root / "hw.py", right(assignment, "ada"))
    put(root / beside, texts.get(content, content))
    for path in root.rglob("*"):
        os.utime(path, (1.7e9, 1.7e9))
    if archive:
        (tmp_path / "class").mkdir()
        shutil.make_archive(str(tmp_path / "class" / "ada"), "zip", root)
    collection = collected(tmp_path / "class", assignment)
    (attempt,) = collection.found[0].attempts
    assert attempt.submission.source == right(assignment, "ada"), attempt.name


def test_a_solved_notebook_counts_beside_the_blank_file(assignment, tmp_path):
    variant = variants.variant_of(assignment, KEY, "ada")
    put(tmp_path / "ada" / "gaussian_weights.py", stub(assignment, variant, "ada"))
    put(tmp_path / "ada" / "gaussian_weights.ipynb", notebook(right(assignment, "ada")))
    assert chosen(collected(tmp_path, assignment)) == {"ada": "ada/gaussian_weights.ipynb"}


def test_all_attempts_are_kept_and_the_last_is_known(assignment, tmp_path):
    for time in ("2024-11-02-10-00-00", "2024-11-10-10-00-00", "2024-11-01-10-00-00"):
        put(
            tmp_path / f"Homework 1_ada_attempt_{time}_hw.py",
            right(assignment, "ada") + f"# {time}\n",
        )
    (found,) = collected(tmp_path, assignment).found
    assert [each.label[:10] for each in found.attempts] == [
        "2024-11-01",
        "2024-11-02",
        "2024-11-10",
    ]


def test_late_hand_ins_are_known(assignment, tmp_path):
    put(tmp_path / "adalovelace_LATE_1_2_hw.py", right(assignment, "ada"))
    assert collected(tmp_path, assignment).found[0].attempts[0].late


def test_everything_that_was_not_looked_at_is_listed(assignment, tmp_path):
    put(tmp_path / "ada.py", right(assignment, "ada"))
    put(tmp_path / "_cy.py", right(assignment, "_cy"))
    for name in ("dan.docx", "eve.rar", "fay.tar.gz", ".hidden.py"):
        put(tmp_path / name, "x")
    (tmp_path / "gil.py").symlink_to(tmp_path / "ada.py")
    put(tmp_path / "hal" / "report.pdf", "x")
    collection = collected(tmp_path, assignment)
    assert {name for name, _ in collection.ignored} == {
        "dan.docx",
        "eve.rar",
        "fay.tar.gz",
        ".hidden.py",
        "gil.py",
    }
    assert chosen(collection) == {"_cy": "_cy.py", "ada": "ada.py", "hal": ""}
    assert "report.pdf" in next(each.reason for each in collection.found if each.student == "hal")


def test_who_did_not_hand_in_is_listed(assignment, tmp_path):
    put(tmp_path / "class" / "ADA.py", right(assignment, "ada"))
    put(tmp_path / "class" / "zoe.py", right(assignment, "zoe"))
    roster = Roster([Student("ada"), Student("ben", first_name="Ben")])
    collection = collected(tmp_path / "class", assignment, roster=roster)
    assert [each.id for each in collection.missing] == ["ben"] and collection.unknown == ["zoe"]
    assert "ada" in chosen(collection)


def test_a_roster_knows_students_by_name_and_address(assignment, tmp_path):
    (tmp_path / "roster.csv").write_bytes(
        "Student ID;Last name;First name;Email\n007;Lovelace;Ada;ada@uni.edu\n"
        "008;O'Brien;Emil;eob@uni.edu\n".encode("cp1252")
    )
    roster, _ = read_students(tmp_path / "roster.csv")
    put(
        tmp_path / "class" / "Ada Lovelace_1_assignsubmission_file" / "hw.py",
        right(assignment, "007", STUDENT=""),
    )
    put(
        tmp_path / "class" / "Emil OBrien_2_assignsubmission_file" / "hw.py",
        right(assignment, "008", STUDENT=""),
    )
    assert set(chosen(collected(tmp_path / "class", assignment, roster=roster))) == {"007", "008"}
    put(
        tmp_path / "other" / "submission_1" / "hw.py",
        right(assignment, "007", STUDENT="Ada@uni.edu"),
    )
    assert set(
        chosen(collected(tmp_path / "other", assignment, roster=roster, platform="gradescope"))
    ) == {"007"}


def test_a_copied_file_does_not_become_its_authors(assignment, tmp_path):
    put(tmp_path / "ada.py", right(assignment, "ada"))
    put(tmp_path / "ben.py", right(assignment, "ada"))
    collection = collected(tmp_path, assignment)
    assert chosen(collection) == {"ada": "ada.py", "ben": "ben.py"}
    assert (
        any("copy" in note for note in collection.found[1].notes) and not collection.found[0].notes
    )


def test_platform_names_decide_between_two_who_claim_one_id(assignment, tmp_path):
    for name in ("Ada Lovelace_1", "Ben Bitdiddle_2"):
        put(tmp_path / f"{name}_assignsubmission_file" / "hw.py", right(assignment, "ada"))
    collection = collected(tmp_path, assignment)
    assert set(chosen(collection)) == {"ada", "Ben Bitdiddle"}


def test_a_class_that_contradicts_the_key_is_refused(assignment, tmp_path):
    others = [
        name
        for name in map("s{}".format, range(99))
        if variants.variant_of(assignment, KEY, name) != variants.variant_of(assignment, KEY, "ada")
    ][:4]
    for student in others:
        put(
            tmp_path / f"{student}.py",
            right(assignment, student, VARIANT=variants.variant_of(assignment, KEY, "ada")),
        )
    with pytest.raises(UserError, match="key"):
        collected(tmp_path, assignment)
    assert len(collected(tmp_path, assignment, any_variant=True).found) == 4
    put(tmp_path / "ada.py", right(assignment, "ada"))
    for student in others[1:]:
        put(tmp_path / f"{student}.py", right(assignment, student))
    assert len(collected(tmp_path, assignment).found) == 5  # one of five is a matter for a flag


def test_a_forgotten_key_is_an_error(assignment, tmp_path):
    for student in map("s{}".format, range(12)):
        put(tmp_path / f"{student}.py", right(assignment, student))
    with pytest.raises(UserError, match="`key`"):
        collecting.collect(tmp_path, assignment)


def test_ids_of_the_hand_out_are_those_of_the_grading(assignment, tmp_path, monkeypatch, capsys):
    """Folders as `new` writes them keep their variant, also in the spelling of macOS."""
    ids = [
        "ada byron",
        "o'neil",
        "zoë",
        "Ada",
        "zoë🎓",
        "a&b",
        "a#b",
        "a:b",
        "[x]",
        "con",
        "grading.json",
        "00123",
        "@ed",
    ]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "course.key").write_bytes(KEY)
    (tmp_path / "students.txt").write_text("\n".join(ids))
    new = [
        "class",
        "new",
        "1",
        "--students",
        "students.txt",
        "--out",
        "handed",
        "--key",
        "course.key",
    ]
    assert main(new) == 0
    for folder in (tmp_path / "handed").iterdir():
        back = tmp_path / "class" / unicodedata.normalize("NFD", folder.name)
        said = {}
        exec((folder / "gaussian_weights.py").read_text().partition("\ndef ")[0], said)
        variant = said["VARIANT"]
        head = f'ASSIGNMENT = "{assignment.name}"\nVARIANT = "{variant}"\nSTUDENT = ""\n'
        put(back / "hw.py", head + assignment.source(variant))
    roster, _ = read_students(tmp_path / "course.students.csv")
    collection = collected(tmp_path / "class", assignment, roster=roster)
    assert {each.student for each in collection.found} == set(ids) and not collection.missing
    for found in collection.found:
        assert found.said["VARIANT"] == variants.variant_of(assignment, KEY, found.student), (
            found.student
        )
    (tmp_path / "students.txt").write_text("\n".join([*ids, "late one"]))
    mine = tmp_path / "handed" / "Ada" / "gaussian_weights.py"
    mine.write_text("mine")
    assert (
        main(new) == 0
        and (tmp_path / "handed" / "late one").is_dir()
        and mine.read_text() == "mine"
    )


def test_a_collected_class_is_the_same_class(assignment, tmp_path, capsys):
    (tmp_path / "course.key").write_bytes(KEY)
    for number, (student, name) in enumerate(NAMES.items(), start=1000):
        put(
            tmp_path / "in" / f"{name}_{number}_assignsubmission_file" / "hw.ipynb",
            notebook("import numpy as np", right(assignment, student), "undefined_name"),
        )
    command = [
        "class",
        "collect",
        str(tmp_path / "in"),
        "--key",
        str(tmp_path / "course.key"),
        "--json",
    ]
    assert main([*command, "--out", str(tmp_path / "out")]) == 0
    table = json.loads(capsys.readouterr().out)
    assert {each["student"] for each in table["students"]} == set(NAMES) and table[
        "platform"
    ] == "moodle"
    again = collected(tmp_path / "out", assignment)
    assert {each.student: each.attempts[0].submission.sha256 for each in again.found} == {
        each["student"]: each["attempts"][0]["sha256"] for each in table["students"]
    }
    assert main([*command, "--out", str(tmp_path / "out")]) == 2  # never over something else


def test_results_do_not_go_among_the_hand_ins(assignment, tmp_path, capsys, monkeypatch):
    put(tmp_path / "ada.py", right(assignment, "ada"))
    monkeypatch.chdir(tmp_path)
    for out in (".", "grades"):
        assert main(["class", "grade", "1", ".", "--out", out]) == 2
        assert "--out" in capsys.readouterr().err
    assert not (tmp_path / "grades").exists()


def test_a_file_that_somebody_adds_by_hand_is_read(assignment, tmp_path):
    for number, (student, name) in enumerate(NAMES.items()):
        put(
            tmp_path / f"{name}_{number}_assignsubmission_file" / "hw.py",
            right(assignment, student),
        )
    put(tmp_path / "by mail" / "hw.py", right(assignment, "zoe"))
    put(tmp_path / "papers" / "report.pdf", "x")
    collection = collected(tmp_path, assignment)
    assert set(chosen(collection)) == {*NAMES, "zoe"} and collection.platform == "moodle"
    assert [name for name, _ in collection.ignored] == ["papers"]


def test_platforms_are_guessed_only_from_most_of_the_names(tmp_path):
    for name in ("ada.py", "ben.py", "x_1_2_y.py"):
        (tmp_path / name).write_text("")
    assert platforms.separated(tmp_path).platform == "folder"
