"""The page that compares checkers and graders quotes what this package answers now."""

from pathlib import Path

import pytest

import ibpcl
from benchmarks.comparison import course
from benchmarks.comparison.__main__ import PIECES, piece

PAGE = (Path(__file__).parents[1] / "docs" / "comparison.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.splitlines() if "|" in line
]


@pytest.mark.parametrize("path", sorted(PIECES.glob("*.py")), ids=lambda path: path.stem)
def test_the_verdicts_of_the_page_are_those_of_the_checker(path):
    report = ibpcl.check(*piece(path))
    (row,) = (row for row in ROWS if row[0].startswith(f"`{path.stem}`"))
    assert row[1] == ("alarm" if report.verdict == "wrong" else "no alarm")
    if path.stem == "held_constant":
        assert str(report) in PAGE


@pytest.mark.slow(reason="grades three hand-ins")
def test_the_points_of_the_page_are_those_of_the_grader(tmp_path):
    answers = course.ibpcl(tmp_path)
    quoted = PAGE.split("```text\n")[-1].split("```")[0]
    assert quoted in next(text for name, text in answers.items() if "sum_forgotten 9b" in name)
    found = {
        hand_in: sum(
            int(text.split(": ", 1)[1].split()[0])
            for name, text in answers.items()
            if f" {hand_in} " in name
        )
        for hand_in in ("right", "gain_forgotten", "sum_forgotten")
    }
    rows = [int(row[1]) for row in ROWS if row[1].isdigit()]
    assert list(found.values()) == rows
