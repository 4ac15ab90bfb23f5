"""Tables of learning platforms are filled in so that their importers store the right points."""

import csv
import io
import zipfile
from pathlib import Path

import pytest
from classroom_common import first
from importers import (
    brightspace_grades,
    canvas_files,
    canvas_grades,
    moodle_feedback,
    moodle_grades,
)

from ibpcl.classroom.feedback import exports, pages_zip, worksheets
from ibpcl.classroom.feedback.by_hand import Table
from ibpcl.classroom.feedback.records import Records
from ibpcl.classroom.intake.late import Policy
from ibpcl.classroom.intake.students import read_students
from ibpcl.classroom.judging.verdict import Result, Verdict
from ibpcl.errors import UserError

SCORES = {"ada": 90.0, "o'brien": 77.5, "00123": 60.0, "dora.müller": None}
EMAILS = {
    "ada": "ada@uni.edu",
    "o'brien": "O'Brien@uni.edu",
    "00123": "cy@uni.edu",
    "dora.müller": "dora.müller@uni.edu",
}
FULL = {
    "ada": "Ada Lovelace",
    "o'brien": "Emil O'Brien",
    "00123": "Cy D. Fect",
    "dora.müller": "Dora Müller",
}
ENGLISH = [
    "Identifier",
    "Full name",
    "ID number",
    "Email address",
    "Status",
    "Grade",
    "Maximum grade",
    "Grade can be changed",
    "Last modified (submission)",
    "Last modified (grade)",
    "Feedback comments",
]
GERMAN = [
    "ID",
    "Vollständiger Name",
    "Matrikelnummer",
    "E-Mail-Adresse",
    "Status",
    "Bewertung",
    "Bestwertung",
    "Bewertung kann geändert werden",
    "Zuletzt geändert (Abgabe)",
    "Zuletzt geändert (Bewertung)",
    "Feedback als Kommentar",
]
UNKNOWN = [f"колонка {n}" for n in range(11)]  # a language without an entry


def results():
    made = []
    for student, score in SCORES.items():
        verdict = Verdict("1a", "forward", "Draw", "public", 100.0, score or 0.0, "partial")
        status = "graded" if score is not None else "not graded"
        made.append(
            Result(
                "01_gaussian_weights",
                student,
                "base",
                "0" * 64,
                status,
                verdicts=[verdict] if score is not None else [],
            )
        )
    return made


def sheet(path, head, rows, delimiter=",", encoding="utf-8"):
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\r\n").writerows([head, *rows])
    path.write_bytes(text.getvalue().encode(encoding))
    return path


def moodle_rows(prefix, highest="100.00", ids=True):
    students = [*SCORES, "nobody"]
    return [
        [
            f"{prefix}{1000 + at}",
            FULL.get(student, "No Body"),
            student if ids else "",
            EMAILS.get(student, "x@uni.edu"),
            "Submitted for grading - ",
            "",
            highest,
            "Yes",
            "Monday, 2 November 2026, 10:00 AM",
            "-",
            "",
        ]
        for at, student in enumerate(students)
    ]


@pytest.mark.parametrize(
    ("head", "prefix", "words"),
    [
        (ENGLISH, "Participant ", ("Participant ", "Identifier", "Grade", "Last modified (grade)")),
        (
            GERMAN,
            "Teilnehmer/in",
            ("Teilnehmer/in", "ID", "Bewertung", "Zuletzt geändert (Bewertung)"),
        ),
        (UNKNOWN, "Учасник ", ("Учасник ", UNKNOWN[0], UNKNOWN[5], UNKNOWN[9])),
    ],
)
@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize(
    ("encoding", "delimiter"), [("utf-8", ","), ("utf-8-sig", ";"), ("utf-16", "\t")]
)
def test_moodle_stores_the_points_of_a_filled_worksheet(
    tmp_path, head, prefix, words, ids, encoding, delimiter
):
    before = moodle_rows(prefix, "100,00" if head is GERMAN else "100.00", ids)
    path = sheet(tmp_path / "sheet.csv", head, before, delimiter, encoding)
    roster = None
    if not ids:  # by names and addresses
        table = [["student_id", "name", "email"], *([s, FULL[s], EMAILS[s]] for s in SCORES)]
        roster, _ = read_students(sheet(tmp_path / "roster.csv", table[0], table[1:]))
    written = exports.write(
        results(), first(), "moodle", tmp_path / "out.csv", roster, worksheet=path
    )
    assert written.complete
    data = written.path.read_bytes()
    stored = moodle_grades(data, {str(1000 + n) for n in range(5)}, words)
    assert stored == {"1000": 90.0, "1001": 77.5, "1002": 60.0}
    rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))
    assert rows[0] == head and len(rows) == 6
    for old, new in zip(before, rows[1:], strict=True):  # nothing else has changed
        assert [*old[:5], *old[6:]] == [*new[:5], *new[6:]]


def test_a_worksheet_of_our_own_is_accepted_by_moodle(tmp_path):
    table = [
        ["student_id", "first_name", "last_name", "identifier"],
        ["ada", "Ada", "Lovelace", "Participant 1000"],
        ["o'brien", "Emil", "O'Brien", "1001"],
    ]
    roster, _ = read_students(sheet(tmp_path / "roster.csv", table[0], table[1:]))
    written = exports.write(results(), first(), "moodle", tmp_path / "out.csv", roster)
    stored = moodle_grades(written.path.read_bytes(), {"1000", "1001"})
    assert stored == {"1000": 90.0, "1001": 77.5}
    assert not written.complete and "00123" in written.notes[0]


@pytest.mark.parametrize(
    ("encoding", "delimiter", "comma"), [("utf-8", ",", False), ("utf-8-sig", ";", True)]
)
def test_canvas_stores_the_points_of_a_filled_gradebook(tmp_path, encoding, delimiter, comma):
    head = [
        "Student",
        "ID",
        "SIS User ID",
        "SIS Login ID",
        "Section",
        "Gaussian weights (8811)",
        "Other homework (8812)",
        "Gaussian weights Current Score",
        "Final Score",
    ]
    number = "100,00" if comma else "100.00"
    rows = [
        ["", "", "", "", "", "Manual Posting", "", "", ""],
        ["    Points Possible", "", "", "", "", number, "20", "(read only)", "(read only)"],
        ["Lovelace, Ada", "11", "S1", "ada", "A", "", "7", "50", "50"],
        ["O'Brien, Emil", "12", "S2", "O'BRIEN", "A", "", "", "", ""],
        ["Fect, Cy", "13", "123", "cy", "A", "", "8", "", ""],
        ["Müller, Dora", "14", "S4", "dora.müller", "A", "12", "9", "", ""],
        ["Student, Test", "15", "", "x", "A", "", "", "", ""],
    ]
    path = sheet(tmp_path / "book.csv", head, rows, delimiter, encoding)
    written = exports.write(results(), first(), "canvas", tmp_path / "out.csv", worksheet=path)
    stored = canvas_grades(
        written.path.read_bytes(), {"11", "12", "13", "14", "15"}, {"8811", "8812"}
    )
    assert stored["11"] == {"8811": "90", "8812": "7"} and stored["12"]["8811"] == "77.5"
    assert stored["13"]["8811"] == "60" and stored["14"] == {"8811": "12", "8812": "9"}
    assert written.complete and any("not graded" in note for note in written.notes)


def test_a_column_that_could_be_several_is_asked_for(tmp_path):
    head = ["Student", "ID", "SIS Login ID", "Section", "Quiz (1)", "Homework (2)"]
    rows = [
        ["    Points Possible", "", "", "", "10", "50"],
        ["Lovelace, Ada", "11", "ada", "A", "", ""],
    ]
    path = sheet(tmp_path / "book.csv", head, rows)
    with pytest.raises(UserError, match="`column`"):
        exports.write(results(), first(), "canvas", tmp_path / "out.csv", worksheet=path)
    written = exports.write(
        results(), first(), "canvas", tmp_path / "out.csv", worksheet=path, column="Homework"
    )
    stored = canvas_grades(written.path.read_bytes(), {"11"}, {"1", "2"})
    assert stored == {"11": {"1": "", "2": "45"}}  # 90 of 100 are 45 of 50
    assert not written.complete  # three students are in no row


def test_brightspace_and_blackboard_are_filled_in(tmp_path):
    head = [
        "OrgDefinedId",
        "Username",
        "Last Name",
        "First Name",
        "Gaussian weights Points Grade <Numeric MaxPoints:100 Weight:10>",
        "End-of-Line Indicator",
    ]
    rows = [["#00123", "#cy", "Fect", "Cy", "", "#"], ["#7", "#ada", "Lovelace", "Ada", "", "#"]]
    path = sheet(tmp_path / "d2l.csv", head, rows)
    written = exports.write(results(), first(), "brightspace", tmp_path / "a.csv", worksheet=path)
    assert brightspace_grades(written.path.read_bytes()) == {"00123": 60.0, "7": 90.0}
    fresh = exports.write(results(), first(), "brightspace", tmp_path / "b.csv")
    assert brightspace_grades(fresh.path.read_bytes())["ada"] == 90.0
    head = [
        "Last Name",
        "First Name",
        "Username",
        "Student ID",
        "Gaussian weights [Total Pts: 100 Score] |526963",
    ]
    rows = [["Lovelace", "Ada", "ada", "7", ""], ["Fect", "Cy", "cy", "123", ""]]
    path = sheet(tmp_path / "bb.xls", head, rows, "\t", "utf-16")
    written = exports.write(results(), first(), "blackboard", tmp_path / "c.xls", worksheet=path)
    table = list(csv.reader(io.StringIO(written.path.read_text("utf-16")), delimiter="\t"))
    assert [row[4] for row in table[1:]] == ["90", "60"]


BLACKBOARD = {
    "German": ("Nachname", "Vorname", "Benutzername", "[Gesamtpunkte: 100 Punktzahl]"),
    "French": ("Nom", "Prénom", "Nom d'utilisateur", "[Total des points : 100 Note]"),
    "Spanish": ("Apellidos", "Nombre", "Nombre de usuario", "[Puntos totales: 100 Puntuación]"),
    "Chinese": ("姓", "名", "用户名", "[总分: 100 分数]"),
}


@pytest.mark.parametrize("language", BLACKBOARD)
def test_blackboard_is_filled_in_in_each_language(language, tmp_path):
    last, first_name, login, points = BLACKBOARD[language]
    head = [last, first_name, login, f"Hausaufgabe 1 {points} |3456"]
    rows = [["Lovelace", "Ada", "ada", ""], ["Fect", "Cy", "123", ""]]
    path = sheet(tmp_path / "bb.xls", head, rows, "\t", "utf-16")
    written = exports.write(results(), first(), "blackboard", tmp_path / "c.xls", worksheet=path)
    table = list(csv.reader(io.StringIO(written.path.read_text("utf-16")), delimiter="\t"))
    assert [row[3] for row in table[1:]] == ["90", "60"]


CANVAS = {
    "German": ("Studierender", "Abschnitt", "Mögliche Punkte"),
    "French": ("Étudiant", "Section", "Points possibles"),
    "Spanish": ("Estudiante", "Sección", "Puntos posibles"),
    "Chinese": ("学生", "班级", "满分"),
}


@pytest.mark.parametrize("language", CANVAS)
def test_canvas_is_filled_in_in_each_language(language, tmp_path):
    student, section, most = CANVAS[language]
    head = [student, "ID", "SIS Login ID", section, "Gaussian weights (77)"]
    rows = [[f"    {most}", "", "", "", "50"], ["Lovelace, Ada", "1", "ada", "A", ""]]
    written = exports.write(
        results(),
        first(),
        "canvas",
        tmp_path / "out.csv",
        worksheet=sheet(tmp_path / "c.csv", head, rows),
    )
    assert "ada,A,45" in written.path.read_text("utf-8-sig")


@pytest.mark.parametrize("system", ["moodle", "canvas", "blackboard", "brightspace"])
@pytest.mark.parametrize("content", [b"a,b\r\n1,2\r\n", b"PK\x03\x04", b"", b"\x00\x01"])
def test_another_table_is_refused_in_one_line(tmp_path, system, content):
    path = tmp_path / "other.csv"
    path.write_bytes(content)
    with pytest.raises(UserError) as error:
        worksheets.fill(path, system, results(), first())
    assert str(path) in str(error.value) and "\n" not in str(error.value)


def test_two_rows_about_one_student_are_not_filled_in(tmp_path):
    rows = moodle_rows("Participant ")
    rows[4][2] = "ADA"
    filled = worksheets.fill(sheet(tmp_path / "s.csv", ENGLISH, rows), "moodle", results(), first())
    assert "ada" not in filled.matches and any("ada" in note for note in filled.notes)


@pytest.fixture
def records(tmp_path):
    found = results()
    folders = {}
    for number, result in enumerate(found):
        folders[result.student] = tmp_path / f"s{number}"
        folders[result.student].mkdir()
        (folders[result.student] / "feedback.html").write_text(f"<p>{result.student}</p>")
    return Records(tmp_path, {"level": "kind"}, first(), found, Table(), Policy(), folders)


def names_in(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_moodle_gives_each_page_of_the_zip_to_its_student(tmp_path, records):
    path = sheet(tmp_path / "sheet.csv", ENGLISH, moodle_rows("Participant "))
    filled = worksheets.fill(path, "moodle", records.results, first())
    assert pages_zip.write(records, "moodle", tmp_path / "f.zip", filled) == []
    files = names_in(tmp_path / "f.zip")
    stored = moodle_feedback(files, {str(1000 + n) for n in range(5)})
    assert stored == {str(1000 + n): "feedback.html" for n in range(4)}
    assert any("_1002_" in name and "00123" in text for name, text in files.items())


def test_canvas_and_brightspace_give_each_page_to_its_student(tmp_path, records):
    downloads = tmp_path / "downloads"
    for name in ("lovelaceada_LATE_11_901_gaussian_weights-1.py", "obrienemil_12_902_gw.py"):
        (downloads / name).parent.mkdir(exist_ok=True)
        (downloads / name).write_text("")
    head = ["Student", "ID", "SIS Login ID", "Section", "Gaussian weights (8811)"]
    rows = [
        ["    Points Possible", "", "", "", "100"],
        ["Lovelace, Ada", "11", "ada", "A", ""],
        ["O'Brien, Emil", "12", "o'brien", "A", ""],
    ]
    filled = worksheets.fill(
        sheet(tmp_path / "b.csv", head, rows), "canvas", records.results, first()
    )
    notes = pages_zip.write(records, "canvas", tmp_path / "c.zip", filled, None, downloads)
    assert "2 students" in notes[0]
    stored = canvas_files(names_in(tmp_path / "c.zip"), {"11": "901", "12": "902"})
    assert set(stored) == {"11", "12"}
    folder = "1000-1005 - Cy Fect - Nov 3, 2026 1159 PM"
    (tmp_path / "d2l" / folder).mkdir(parents=True)
    table = [["student_id", "name"], ["00123", "Cy Fect"]]
    roster, _ = read_students(sheet(tmp_path / "roster.csv", table[0], table[1:]))
    pages_zip.write(records, "brightspace", tmp_path / "d.zip", None, roster, tmp_path / "d2l")
    assert list(names_in(tmp_path / "d.zip")) == [f"{folder}/feedback.html"]
    with pytest.raises(UserError, match="`downloads`"):
        pages_zip.write(records, "canvas", tmp_path / "e.zip", filled)


def test_tables_have_a_mark_and_no_formulas(tmp_path):
    table = [["student_id", "first_name", "last_name"], ["ada", "＝1+1", "=cmd|' /C calc'!A0"]]
    roster, _ = read_students(sheet(tmp_path / "roster.csv", table[0], table[1:]))
    for system in ("csv", "brightspace"):
        data = exports.write(
            results(), first(), system, tmp_path / "o.csv", roster
        ).path.read_bytes()
        assert data.startswith(b"\xef\xbb\xbf")
        cells = [cell for row in csv.reader(io.StringIO(data.decode("utf-8-sig"))) for cell in row]
        assert not [cell for cell in cells if cell[:1] in ("=", "＝", "+", "@")]


def test_the_maximum_is_the_same_for_everybody(tmp_path):
    import json

    made = results()[:2]
    made[1].verdicts.append(Verdict("1j", "text", "Text", "public", 10.0, 0.0, "by hand"))
    table = exports.write(made, first(), "csv", tmp_path / "a.csv").path.read_text("utf-8-sig")
    assert {row["max_score"] for row in csv.DictReader(io.StringIO(table))} == {"100"}
    folder = exports.write(made, first(), "gradescope", tmp_path / "b").path
    tables = [json.loads(path.read_text()) for path in sorted(Path(folder).rglob("*.json"))]
    assert [table["score"] for table in tables] == [result.score for result in made]
