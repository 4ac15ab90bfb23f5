"""Points, comments and days that a teacher gives: read as spreadsheets write them, and never
lost.
"""

import csv
import io

import pytest
from classroom_common import first

from ibpcl.classroom.feedback import by_hand, records
from ibpcl.classroom.intake import late
from ibpcl.classroom.judging.verdict import Result, Verdict
from ibpcl.cli import main
from ibpcl.errors import UserError
from ibpcl.storage import write_json

TEXT = "$x^2$ is **right**, and x < 1"


@pytest.fixture
def graded(tmp_path):
    """A folder of results without a judge: two graded, one refused."""
    assignment = first()
    write_json(
        tmp_path / "grading.json",
        {
            "assignment": assignment.name,
            "level": "kind",
            "sandbox": "none",
            "folder": str(assignment.folder),
        },
    )
    for student in ("00123", "Ada", "zoë"):
        right = Verdict("1a", "forward", "Draw a weight", "public", 5.0, 2.0, "partial", ["wrong"])
        text = Verdict(
            "1j", "text", "The derivation", "public", 10.0, 0.0, "by hand", details=[TEXT]
        )
        result = Result(assignment.name, student, "base", "0" * 64, verdicts=[right, text])
        if student == "zoë":
            result = Result(assignment.name, student, "base", "", "not graded", "is not Python")
        (tmp_path / student).mkdir()
        write_json(tmp_path / student / "result.json", result.to_dict())
    return tmp_path


def put(folder, text, encoding="utf-8"):
    (folder / by_hand.FILE).write_bytes(text.encode(encoding))


def rows(folder):
    text = (folder / by_hand.FILE).read_text("utf-8-sig")
    return list(csv.reader(io.StringIO(text), delimiter=";" if ";" in text.split("\n")[0] else ","))


def found(folder):
    return {result.student: result for result in records.load(folder).results}


@pytest.mark.parametrize(("delimiter", "points"), [(",", "7.5"), (";", "7,5"), ("\t", "7,5")])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_points_are_read_as_spreadsheets_write_them(graded, delimiter, points, encoding):
    lines = (
        ("Student", "Task", "Most", "Points", "Comment"),
        ("ada", '"1j"', "10", points, "gut: ü"),
        ("123", "1J", "10", points, ""),
    )
    put(graded, "\r\n".join(delimiter.join(line) for line in lines), encoding)
    results = found(graded)
    assert results["Ada"].score == results["00123"].score == 9.5
    assert results["Ada"].verdicts[1].comment == "gut: ü" and not results["Ada"].pending


def test_points_of_the_judge_are_replaced_and_come_back(graded):
    put(graded, "student,task,points,comment\nAda,1a,4,typo only\n")
    verdict = found(graded)["Ada"].verdicts[0]
    assert (verdict.points, verdict.judged, verdict.comment) == (4.0, 2.0, "typo only")
    put(graded, "student,task,points,comment\nAda,1a,,\n")
    assert found(graded)["Ada"].verdicts[0].points == 2.0


def test_a_refused_hand_in_can_be_graded_by_hand(graded):
    put(graded, "student,task,points,comment\nzoë,all,55,from paper\n")
    result = found(graded)["zoë"]
    assert (result.status, result.score, result.comment) == ("graded", 55.0, "from paper")


def test_rows_that_cannot_be_used_are_told_and_kept(graded, capsys):
    put(
        graded,
        "student,task,most,points,comment,grader\nada,1j,10,8,,Eve\nnobody,1j,10,7,,\n"
        "00123,1x,10,6,,\n00123,1j,10,sixteen,,Bob\nAda,1j,10,9,,\n",
    )
    assert main(["class", "report", str(graded)]) == 1
    told = capsys.readouterr().out
    for word in ("'nobody'", "'1x'", "'sixteen'", "row 2"):
        assert word in told
    kept = rows(graded)
    assert kept[0][-1] == "grader" and ["Ada", "1j", "10", "", "8", "Eve"] in kept
    assert ["00123", "1j", "10", "", "sixteen", "Bob"] in kept
    assert {("nobody", "1j", "7"), ("00123", "1x", "6"), ("Ada", "1j", "9")} <= {
        (row[0], row[1], row[4]) for row in kept
    }
    before = (graded / by_hand.FILE).read_bytes()
    assert main(["class", "report", str(graded)]) == 1
    assert (graded / by_hand.FILE).read_bytes() == before  # writing again changes nothing


def test_a_row_is_written_for_each_text_and_keeps_the_spreadsheet_s_signs(graded):
    put(graded, "student;task;most;points;comment\r\nAda;1j;10;7,5;\r\n", "cp1252")
    main(["class", "report", str(graded)])
    assert rows(graded)[1:] == [["00123", "1j", "10", "", ""], ["Ada", "1j", "10", "", "7,5"]]


def test_an_unclear_id_is_not_guessed(graded):
    find = by_hand.finder(["0123", "00123"])
    assert find("123") == "" and find("0123") == "0123"


@pytest.mark.parametrize("data", [b"PK\x03\x04abc", b"name,mark\nada,3\n", b"%PDF-1.4"])
def test_a_file_that_is_no_such_table_is_left_alone(graded, data, capsys):
    (graded / by_hand.FILE).write_bytes(data)
    assert main(["class", "report", str(graded)]) == 2
    assert (graded / by_hand.FILE).read_bytes() == data
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_pages_and_tables_are_written_again(graded):
    put(graded, "student,task,points,comment\nAda,1j,8,A nice proof <3\n00123,1a,5,\n")
    main(["class", "report", str(graded)])
    page = (graded / "Ada" / "feedback.html").read_text()
    assert "A nice proof &lt;3" in page and "will be given by" not in page
    table = {
        row["student"]: row
        for row in csv.DictReader(io.StringIO((graded / "class.csv").read_text("utf-8-sig")))
    }
    assert (table["Ada"]["score"], table["Ada"]["1j"], table["Ada"]["most"]) == (
        "10.0",
        "8.0",
        "100",
    )
    assert (table["00123"]["score"], table["00123"]["pending"]) == ("5.0", "10.0")


def with_times(folder, **times):
    students = [
        {
            "student": student,
            "ignored": [],
            "attempts": [{"file": "a.py", "late": False, "sha256": "0" * 64, "time": time}],
        }
        for student, time in times.items()
    ]
    write_json(folder / "collection.json", {"students": students, "missing": [], "ignored": []})


def test_late_days_cost_points_and_extensions_do_not(graded):
    with_times(graded, Ada="2026-11-22T01:00:00+00:00")
    put(graded, "student,task,points\nAda,1j,10\nAda,1a,5\n00123,1j,10\n00123,1a,5\n00123,late,1\n")
    assert (
        main(
            [
                "class",
                "report",
                str(graded),
                "--due",
                "2026-11-20T12:00+00:00",
                "--late-penalty",
                "5",
            ]
        )
        == 1
    )
    results = found(graded)
    assert (results["Ada"].late_days, results["Ada"].score) == (2, 5.0)
    assert (results["00123"].late_days, results["00123"].score) == (1, 10.0)
    put(graded, "student,task,points\nAda,1j,10\nAda,1a,5\nAda,extension,1\n")
    assert found(graded)["Ada"].score == 10.0  # one day of two is excused
    main(["class", "report", str(graded), "--late-at-most", "3"])
    assert found(graded)["Ada"].score == 12.0
    main(["class", "report", str(graded), "--due", "none"])
    assert found(graded)["Ada"].score == 15.0


@pytest.mark.parametrize(
    ("moment", "days"),
    [
        ("2026-11-20T23:59", 0),
        ("2026-11-21T00:03", 0),
        ("2026-11-21T00:30", 1),
        ("2026-11-22T00:30", 2),
        ("2026-11-19", 0),
    ],
)
def test_days_are_counted_from_the_end_of_the_due_date(moment, days):
    assert late.days_late(moment, "2026-11-20") == days


def test_bad_dates_and_percentages_are_refused(graded):
    for options in (["--due", "tomorrow"], ["--late-penalty", "120"]):
        assert main(["class", "report", str(graded), *options]) == 2
    with pytest.raises(UserError, match="2026-11-20"):
        late.parsed("20/11")


def test_codes_of_an_anonymous_page_are_read(graded):
    put(graded, f"student,task,points\n{by_hand.code('Ada')},1j,9\n")
    assert found(graded)["Ada"].score == 11.0


def test_points_for_the_whole_are_changed_by_no_rule_in_silence(graded):
    with_times(graded, Ada="2026-11-22T01:00:00+00:00")
    put(graded, "student,task,points,comment\nAda,all,40,from paper\n00123,1j,10,\n00123,late,1,\n")
    late.keep(graded, "2026-11-20T12:00+00:00", 100.0)
    made = records.load(graded)
    results = {result.student: result for result in made.results}
    assert (results["Ada"].score, results["Ada"].late_days) == (40.0, 2)
    assert any("Ada" in note and "gave" in note for note in made.notes)
    assert results["00123"].score == 0 and results["00123"].deduction > 0
