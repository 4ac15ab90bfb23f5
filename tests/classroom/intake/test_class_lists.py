"""Lists of students and tables as spreadsheets write them, and the one spelling of an id."""

import unicodedata

import pytest

from ibpcl.classroom.assignments import variants
from ibpcl.classroom.assignments.assignment import find
from ibpcl.classroom.assignments.ids import folded
from ibpcl.classroom.intake.spreadsheet import number, read_rows, read_table
from ibpcl.classroom.intake.students import Roster, Student, folder_name, read_students
from ibpcl.errors import UserError

LISTS = {
    "plain": b"ada\nm\xc3\xbcller\n",
    "mark": b"\xef\xbb\xbfada\nm\xc3\xbcller\n",
    "quotes": '"ada"\n"müller"\n'.encode(),
    "code page": "ada\nmüller\n".encode("cp1252"),
    "utf-16": "ada\nmüller\n".encode("utf-16"),
    "utf-16 without mark": "ada\nmüller\n".encode("utf-16-le"),
    "semicolon": "ada;Byron\nmüller;Dora\n".encode(),
    "tab": "ada\tByron\nmüller\tDora\n".encode(),
    "header": "student_id,last_name\nada,Byron\nmüller,Dora\n".encode(),
    "Excel's hint": "sep=;\r\nStudent ID;Last name\r\nada;Byron\r\nmüller;Dora\r\n".encode(),
    "old Mac": "ada\rmüller\r".encode(),
    "spaces": " ada \n\n  müller\n# a comment\n".encode(),
    "other columns first": (
        "First name;ID number;Email address\nAda;ada;a@x.org\nDora;müller;\n"
    ).encode(),
    "canvas": 'Student,ID,SIS User ID,SIS Login ID\n    Points Possible,,,\n"Byron, Ada",77,ada,a\n'
    '"M, D",78,müller,d\n'.encode(),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_students_are_read_in_every_encoding(name, tmp_path):
    path = tmp_path / "students.csv"
    path.write_bytes(LISTS[name])
    roster, notes = read_students(path)
    assert [student.id for student in roster.students] == ["ada", "müller"] and not notes


@pytest.mark.parametrize("heading", ["Group", "Groups", "Gruppen", "Groupes", "Grupos", "小组"])
def test_groups_of_a_list_of_participants_are_read(heading, tmp_path):
    path = tmp_path / "participants.csv"
    path.write_text(f'ID number,{heading}\nada,"Team 1, Room A"\n', encoding="utf-8")
    roster, _ = read_students(path)
    assert roster.students[0].group == "Team 1, Room A"
    assert [each.id for each in roster.find("Team 1").students] == ["ada"]
    assert not roster.find("Team 11").students


def test_a_student_who_stands_twice_is_a_note(tmp_path):
    path = tmp_path / "students.txt"
    path.write_text("ada\nben\nADA\n")
    roster, notes = read_students(path)
    assert len(roster) == 2 and len(notes) == 1 and "row 3" in notes[0]


@pytest.mark.parametrize(
    "data", [b"PK\x03\x04 workbook", b"", b"\n\n", b"\x00\x01\x02\x03\xff\x00"]
)
def test_a_list_that_is_none_is_refused(data, tmp_path):
    path = tmp_path / "students.csv"
    path.write_bytes(data)
    with pytest.raises(UserError, match=r"students\.csv"):
        read_students(path)


def test_a_missing_list_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"nowhere\.csv"):
        read_rows(tmp_path / "nowhere.csv")


def test_tables_give_their_columns_and_name_a_missing_one(tmp_path):
    path = tmp_path / "points.csv"
    path.write_bytes("Student;Task;Points\n'@ada;1j;7,5\nben;1j\n".encode("utf-16"))
    rows = read_table(path, ["student", "points"])
    assert rows[0] == {"student": "@ada", "Task": "1j", "points": "7,5"} and rows[1]["points"] == ""
    assert number(rows[0]["points"]) == 7.5
    with pytest.raises(UserError, match="most"):
        read_table(path, ["most"])


@pytest.mark.parametrize(
    "spelled", ["Zoë  Byron", unicodedata.normalize("NFD", "zoë byron"), " ZOË BYRON "]
)
def test_one_student_has_one_variant_in_every_spelling(spelled):
    assert folded(spelled) == folded("zoë byron")
    key = b"a course key of some length"
    assignment = find("1")
    assert variants.variant_of(assignment, key, spelled) == variants.variant_of(
        assignment, key, "zoë byron"
    )
    inputs = [variants.generator(key, each, "1a").random() for each in (spelled, "zoë byron")]
    assert inputs[0] == inputs[1]


def test_what_a_file_system_replaces_does_not_change_the_variant():
    for written in ("o_brien", "O'Brien", "o brien", "o:brien"):
        assert variants.digest(b"key", written) == variants.digest(b"key", "o'brien"), written
    assert variants.digest(b"key", "o'brien") != variants.digest(b"key", "obrien")


def test_each_student_has_a_folder_of_their_own():
    ids = [
        "ada",
        "con",
        "NUL.x",
        "grading.json",
        "class.html",
        "by-hand.csv",
        "o'brien",
        "o_brien",
        "a/b",
        "a_b",
        "..",
        ".",
        "-x",
        ".git",
        "a:b",
        "export-csv",
        "x" * 300,
        "x" * 301,
        "ada.byron@uni.edu",
        "a ",
        "\ud800",
    ]
    names = [folder_name(each) for each in ids]
    assert len({folded(name) for name in names}) == len(ids)
    for name in names:
        assert (
            0 < len(name.encode()) <= 130
            and not set('/\\:*?"<>|') & set(name)
            and name[0] not in ".-"
        ), name
    assert not {"grading.json", "class.html", "by-hand.csv", "con"} & set(names)
    assert folder_name("ada.byron@uni.edu") == "ada.byron@uni.edu"


def test_students_are_found_by_whatever_their_row_says():
    ada = Student("ada", "Byron", "Ada", cells=("ada", "1000"))
    other = Student("ben", "Byron", "Ben", cells=("ben", "1000"))
    roster = Roster([ada, other])
    assert roster.match("ADA") is ada and roster.match("", "Byron, Ada") is ada
    assert roster.match("1000") is None and roster.match("eve") is None


def test_ids_that_differ_in_a_sharp_s_are_two_students(tmp_path):
    (tmp_path / "class.csv").write_text("id,name\nweiß,Jo Weiß\nweiss,Al Weiss\n")
    roster, notes = read_students(tmp_path / "class.csv")
    assert [each.id for each in roster.students] == ["weiß", "weiss"] and not notes
    assert roster.find("Weiss, Jo").students == (roster.students[0],)
    assert folder_name("weiß") != folder_name("weiss")


@pytest.mark.parametrize(
    "head",
    [
        "Matrikelnummer;Nachname;Vorname;E-Mail-Adresse",
        "Numéro d'étudiant;Nom;Prénom;Adresse e-mail",
        "ID de estudiante;Apellidos;Nombre;Correo electrónico",
        "学号;姓;名;电子邮件",
    ],
)
def test_a_class_list_is_read_in_each_language(head, tmp_path):
    path = tmp_path / "list.csv"
    path.write_text(f"{head}\n1815;Byron;Ada;ada@x.org\n", encoding="utf-8-sig")
    (student,) = read_students(path)[0].students
    assert (student.id, student.last_name, student.first_name, student.email) == (
        "1815",
        "Byron",
        "Ada",
        "ada@x.org",
    )
