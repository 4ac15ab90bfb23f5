"""Whose submission it is: the platform before the class list before the file, and no conflict in
silence.
"""

import os
import zipfile

import pytest

from ibpcl.classroom.assignments import find, variant_of
from ibpcl.classroom.intake import Roster, Student, collect
from ibpcl.cli import main

KEY = b"the key of a course with a class"
A = find("1")
VARIANTS = {
    name: variant_of(A, KEY, name) for name in ("ada", "bea", "cy", *map("s{}".format, range(9)))
}
OTHER = next(name for name, variant in VARIANTS.items() if variant != VARIANTS["ada"])
CLASS = Roster(
    [
        Student("js1", "Smith", "Joe", email="js1@x.org"),
        Student("js2", "Smith", "John", email="js2@x.org"),
        Student("ada", "Byron", "Ada", email="ada@x.org", username="ada_b"),
        Student("bea", "Bee", "Bea", email="bea@x.org"),
    ]
)
TWINS = Roster([Student("t1", "Smith", "John"), Student("t2", "Smith", "John")])


def right(student, header=True, owner=None):
    variant = VARIANTS.get(owner or student) or variant_of(A, KEY, owner or student)
    head = (
        f'ASSIGNMENT = "{A.name}"\nVARIANT = "{variant}"\nSTUDENT = "{student}"\n' if header else ""
    )
    return f"{head}# by {owner or student}\n{A.source(variant)}"


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def read(folder, roster=None, **options):
    return collect(folder, A, KEY, roster=roster, **options)


def owners(collection):
    """Return {student: writer of the file that counts}."""
    return {
        each.student: each.attempts[-1].submission.source.partition("# by ")[2].split("\n")[0]
        for each in collection.found
        if each.attempts
    }


def notes(collection, student):
    return next(each.notes for each in collection.found if each.student == student)


NAMES = [
    "Smith, John(js2)/hw.py",
    "Smith, John - js2/hw.py",
    "js2 - John Smith/hw.py",
    "js2@x.org_1_hw.py",
    "js2 hw.py",
    "John Smith - hw.py",
    "smithjohn_47_11_hw.py",
    "Smith_John_js2_47/20261101120000_hw.py",
    "Takeout/Drive/Classroom/ML/Homework/John Smith - hw.py",
]


@pytest.mark.parametrize("name", NAMES)
def test_the_class_list_finds_a_login_or_a_name_in_a_name(name, tmp_path):
    put(tmp_path / name, right("js2", header=False))
    collection = read(tmp_path, CLASS)
    assert owners(collection) == {"js2": "js2"} and not notes(collection, "js2")


@pytest.mark.parametrize(
    "name", ["Smith, Jon/hw.py", "xjs2/hw.py", "js22 hw.py", "smithjo_4_1_h.py"]
)
def test_a_name_that_is_nearly_one_of_the_list_is_nobody_on_it(name, tmp_path):
    put(tmp_path / name, right("js2", header=False))
    collection = read(tmp_path, CLASS)
    assert len(collection.unknown) == 1
    assert len(collection.missing) == len(CLASS)


def test_a_name_with_the_login_of_another_student_is_decided_by_the_whole_name(tmp_path):
    roster = Roster([*CLASS.students, Student("smith", "Zed", "Zoe")])
    put(tmp_path / "Smith, John - js2" / "hw.py", right("js2", header=False))
    assert owners(read(tmp_path, roster)) == {"js2": "js2"}


def test_a_login_beside_the_name_of_another_student_is_shown(tmp_path):
    put(tmp_path / "Bea Bee - js2" / "hw.py", right("js2", header=False))
    collection = read(tmp_path, CLASS)
    assert owners(collection) == {"js2": "js2"} and notes(collection, "js2")


def test_a_name_that_two_have_is_decided_by_the_file_and_else_by_nobody(tmp_path):
    put(tmp_path / "John Smith_7_assignsubmission_file" / "hw.py", right("t2"))
    put(tmp_path / "John Smith_8_assignsubmission_file" / "hw.py", right("t1", header=False))
    collection = read(tmp_path, TWINS)
    assert owners(collection) == {"t2": "t2", "John Smith 8": "t1"}
    assert any("t1" in note and "t2" in note for note in notes(collection, "John Smith 8"))


def test_the_platform_is_believed_before_the_file_and_the_conflict_is_shown(tmp_path):
    put(tmp_path / "js2@x.org_1_hw.py", right("bea", owner="js2"))
    put(tmp_path / "bea@x.org_1_hw.py", right("bea"))
    collection = read(tmp_path, CLASS)
    assert owners(collection) == {"js2": "js2", "bea": "bea"}
    assert any("'bea'" in note for note in notes(collection, "js2"))
    assert notes(collection, "bea") == []


def test_anonymous_participants_are_different_people(tmp_path):
    for number, text in enumerate(
        (right("ada"), right("bea", header=False), right("cy", header=False))
    ):
        put(tmp_path / f"Participant_{700 + number}_assignsubmission_file_hw.py", text)
    found = owners(read(tmp_path))
    assert found == {"ada": "ada", "Participant 701": "bea", "Participant 702": "cy"}


@pytest.mark.parametrize("first", ["ada", OTHER])
def test_a_claim_of_two_stays_with_the_file_whose_form_fits(first, tmp_path):
    second = OTHER if first == "ada" else "ada"
    for number, owner in ((700, first), (701, second)):
        put(
            tmp_path / f"Participant_{number}_assignsubmission_file_hw.py",
            right("ada", owner=owner),
        )
    collection = read(tmp_path)
    assert owners(collection)["ada"] == "ada"
    loser = f"Participant {700 if first == OTHER else 701}"
    assert owners(collection)[loser] == OTHER
    assert any("'ada'" in note for note in notes(collection, loser))
    assert notes(collection, "ada") == []


def test_a_claim_that_the_forms_cannot_decide_is_shown_to_both(tmp_path):
    for number in (700, 701):
        put(tmp_path / f"Participant_{number}_assignsubmission_file_hw.py", right("ada"))
    collection = read(tmp_path)
    assert notes(collection, "ada") and notes(collection, "Participant 701")


def test_two_participants_are_never_one_student_of_the_list(tmp_path):
    for number in (700, 701):
        put(tmp_path / f"Bea Bee_{number}_assignsubmission_file_hw.py", right("bea", header=False))
    collection = read(tmp_path, CLASS)
    assert set(owners(collection)) == {"bea", "Bea Bee 701"}
    assert any("700" in note for note in notes(collection, "Bea Bee 701"))


def test_the_number_of_a_participant_is_not_the_id_of_another_student(tmp_path):
    put(tmp_path / "Bea Bee_700_assignsubmission_file_hw.py", right("bea", header=False))
    roster = Roster([*CLASS.students, Student("700", "Zed", "Zoe")])
    assert set(owners(read(tmp_path, roster))) == {"bea"}
    listed = Roster([Student("bea", identifier="Participant 700"), Student("cy")])
    assert set(owners(read(tmp_path, listed))) == {"bea"}


GROUPS = {
    "metadata": ("submission_7/hw.py", CLASS),
    "logins": ("hw1-ada-bea/hw.py", CLASS),
    "list": (
        "Team 1_9_assignsubmission_file_hw.py",
        Roster([Student("ada", group="Team 1"), Student("bea", group="Team 1"), Student("cy")]),
    ),
    "list with several groups": (
        "Team 1_9_assignsubmission_file_hw.py",
        Roster(
            [
                Student("ada", group="Team 1, Room A"),
                Student("bea", group="Room A; Team 1"),
                Student("cy", group="Room A, Team 10"),
            ]
        ),
    ),
}


@pytest.mark.parametrize("way", GROUPS)
def test_every_member_of_a_group_has_its_submission(way, tmp_path):
    path, roster = GROUPS[way]
    put(tmp_path / path, right("ada"))
    if way == "metadata":
        put(
            tmp_path / "submission_metadata.yml",
            "---\nsubmission_7:\n  :submitters:\n  - :name: Ada\n    :sid: ada\n"
            "  - :name: Bea Bee\n    :email: bea@x.org\n  :history:\n  - :submitters:\n"
            "    - :sid: js1\n",
        )
    collection = read(tmp_path, roster)
    assert owners(collection) == {"ada": "ada", "bea": "ada"}
    assert all(each.group == ("ada", "bea") for each in collection.found)
    assert {each.attempts[0].submission.student for each in collection.found} == {"ada"}


@pytest.mark.parametrize(
    ("ada", "bea", "is_problem"),
    [
        ("Team A", "Team B", True),
        ("Participant", "Participant", False),
        ("Byron, Ada", "Bee, Bea", False),
    ],
)
def test_groups_that_nothing_lists_are_a_problem(ada, bea, is_problem, tmp_path):
    put(tmp_path / f"{ada}_7_assignsubmission_file/hw.py", right("ada"))
    put(tmp_path / f"{bea}_8_assignsubmission_file/hw.py", right("bea"))
    collection = read(tmp_path, CLASS)
    assert owners(collection) == {"ada": "ada", "bea": "bea"}
    assert any("group" in problem for problem in collection.problems) is is_problem


WRAPPERS = ["a", "a/b/c/d/e", "Takeout/x", "Exercise 1/Submissions", "2026/hw"]


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize(
    "entry", ["{0}/hw.py", "{0}.py", "N{0}_V_{0}_10{1}/2026110312000{1}_hw.py"]
)
def test_any_number_of_folders_may_lie_around_a_class(wrapper, entry, tmp_path):
    for number, student in enumerate(("ada", "bea", "cy")):
        put(tmp_path / wrapper / entry.format(student, number), right(student))
    put(tmp_path / "readme.html", "x")
    assert owners(read(tmp_path)) == {"ada": "ada", "bea": "bea", "cy": "cy"}


@pytest.mark.parametrize("inner", ["part1", "src", "old"])
def test_the_folders_of_one_student_are_no_class(inner, tmp_path):
    put(tmp_path / "ada" / "hw1" / "hw.py", right("ada"))
    put(tmp_path / "ada" / inner / "hw.py", right("bea"))
    put(tmp_path / "ada" / "data" / "x.py", "x = 1\n")
    collection = read(tmp_path)
    assert list(owners(collection)) == ["ada"]
    assert len(collection.problems) == 1  # two students are named inside


def test_files_with_the_mark_of_a_copy_are_of_different_students_if_they_say_so(tmp_path):
    put(tmp_path / "hw.py", right("ada"))
    put(tmp_path / "hw (1).py", right("bea"))
    assert owners(read(tmp_path)) == {"ada": "ada", "bea": "bea"}


@pytest.mark.parametrize("newer", ["hw (2).py", "hw-1.py", "hw_2.py"])
def test_a_higher_number_in_the_name_is_newer(newer, tmp_path):
    put(tmp_path / "ada" / newer, right("ada").replace("# by ada", "# by ada again"))
    put(tmp_path / "ada" / "hw.py", right("ada"))
    for name in (newer, "hw.py"):
        os.utime(tmp_path / "ada" / name, (1.7e9, 1.7e9))
    assert owners(read(tmp_path)) == {"ada": "ada again"}
    os.utime(tmp_path / "ada" / "hw.py", (1.7e9 + 86400,) * 2)
    assert owners(read(tmp_path)) == {"ada": "ada"}


def run(folder, *more):
    (folder / "k.key").write_bytes(KEY)
    command = ["class", "collect", str(folder / "dl"), "--key", str(folder / "k.key")]
    return main([*command, "--assignment", "1", *more])


def test_a_class_that_is_mostly_missing_is_not_a_success(tmp_path, capsys):
    (tmp_path / "r.csv").write_text("id\nada\nbea\ncy\ndan\n")
    put(tmp_path / "dl" / "ada.py", right("ada"))
    put(tmp_path / "dl" / "bea.py", right("bea"))
    assert run(tmp_path, "--roster", str(tmp_path / "r.csv")) == 0  # half of it
    capsys.readouterr()
    (tmp_path / "dl" / "bea.py").unlink()
    assert run(tmp_path, "--roster", str(tmp_path / "r.csv")) == 1
    first = capsys.readouterr().out.splitlines()[0]
    assert all(name in first for name in ("bea", "cy", "dan"))


def test_several_students_in_one_are_not_a_success(tmp_path, capsys):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for student in ("ada", "bea"):
            archive.writestr(f"{student}/hw.py", right(student))
    put(tmp_path / "dl" / "cy.py", right("cy"))
    (tmp_path / "all.zip").rename(tmp_path / "dl" / "all.zip")
    assert run(tmp_path) == 1
    first = capsys.readouterr().out.splitlines()[0]
    assert all(name in first for name in ("ada", "bea"))


def test_a_flood_of_attempts_is_cut_and_the_rest_is_listed(tmp_path):
    with zipfile.ZipFile(tmp_path / "ada.zip", "w") as archive:
        for number in range(14):
            archive.writestr(f"attempt{number}/hw.py", right("ada") + f"# {number}\n")
    (found,) = read(tmp_path).found
    assert [each.label for each in found.attempts] == [f"attempt{n}" for n in range(4, 14)]
    assert len([reason for _, reason in found.ignored if "attempt" in reason]) == 4


def handed_in(collection):
    return {each.student: each.attempts[-1].time[:10] for each in collection.found}


def test_the_time_is_that_of_the_outer_file_and_never_one_from_a_students_zip(tmp_path):
    path = tmp_path / "Mal Ory_7_assignsubmission_file" / "hw.zip"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo("hw.py", (2020, 1, 1, 0, 0, 0)), right("mal"))
    os.utime(path, (1.7e9, 1.7e9))
    assert handed_in(read(tmp_path)) == {"mal": "2023-11-14"}


def test_the_time_of_the_platform_is_believed_before_that_of_the_file(tmp_path):
    put(tmp_path / "Homework 1_ada_attempt_2024-11-01-12-00-00_hw.py", right("ada"))
    assert handed_in(read(tmp_path)) == {"ada": "2024-11-01"}
    put(tmp_path / "sakai" / "Byron, Ada(ada)" / "Submission attachment(s)" / "hw.py", right("ada"))
    put(tmp_path / "sakai" / "Byron, Ada(ada)" / "timestamp.txt", "20251103120000000")
    assert handed_in(read(tmp_path / "sakai")) == {"ada": "2025-11-03"}


def test_the_time_in_the_zip_of_a_class_is_the_platforms(tmp_path):
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
        for day, student in enumerate(("ada", "bea", "cy"), start=1):
            item = zipfile.ZipInfo(f"{student}/hw.py", (2025, 11, day, 12, 0, 0))
            archive.writestr(item, right(student))
    times = handed_in(read(tmp_path / "class.zip"))
    assert times == {"ada": "2025-11-01", "bea": "2025-11-02", "cy": "2025-11-03"}


def test_one_time_for_all_files_is_that_of_unpacking_and_says_nothing(tmp_path):
    for student in ("ada", "bea", "cy"):
        put(tmp_path / f"{student}.py", right(student))
        os.utime(tmp_path / f"{student}.py", (1.7e9, 1.7e9))
    assert set(handed_in(read(tmp_path)).values()) == {""}
    os.utime(tmp_path / "cy.py", (1.7e9 + 3600,) * 2)
    assert set(handed_in(read(tmp_path)).values()) == {"2023-11-14"}


def test_two_submissions_with_one_login_are_attempts_of_one_student(tmp_path):
    for number in (7, 8):
        put(tmp_path / f"submission_{number}" / "hw.py", right("ada") + f"# {number}\n")
    put(
        tmp_path / "submission_metadata.yml",
        "".join(f"submission_{n}:\n  :submitters:\n  - :sid: ada\n" for n in (7, 8)),
    )
    (found,) = read(tmp_path, CLASS).found
    assert (found.student, len(found.attempts)) == ("ada", 2)
