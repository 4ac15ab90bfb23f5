"""The table of the paper's equations is complete, names only what exists, and takes its verdicts
from the checks.
"""

import pytest

from ibpcl.paper import catalogue, equation, equations, rendering
from ibpcl.paper.checks import Outcome
from ibpcl.paper.equations import EQUATIONS as ROWS
from ibpcl.paper.errata import ERRATA

CHECKS = {str(check) for check in catalogue.checks()}
# First and last source line of every display of the paper: equation, align, align* and \[ \].
DISPLAYS = (
    (129, 131),
    (160, 166),
    (174, 177),
    (193, 195),
    (204, 206),
    (208, 210),
    (214, 217),
    (220, 223),
    (232, 234),
    (247, 249),
    (307, 309),
    (502, 502),
    (504, 507),
    (515, 515),
    (520, 520),
    (522, 526),
    (530, 530),
    (532, 532),
    (535, 538),
    (593, 593),
    (603, 603),
    (606, 606),
    (627, 634),
    (636, 636),
)
# In which display each number is printed; the third display has two.
NUMBERED = {1: 0, 2: 1, 3: 2, 4: 2, 5: 3, 6: 4, 7: 5, 8: 6, 9: 7, 10: 8, 11: 9, 12: 10, 13: 15}


@pytest.mark.parametrize("display", DISPLAYS, ids=lambda lines: f"line {lines[0]}")
def test_every_display_is_in_the_table(display):
    assert any(row.kind == "display" and display[0] <= row.line <= display[1] for row in ROWS)


def test_displays_and_numbers_are_those_of_the_paper():
    for row in ROWS:
        inside = [i for i, (first, last) in enumerate(DISPLAYS) if first <= row.line <= last]
        assert bool(inside) == (row.kind == "display"), row
        if row.number:
            assert inside == [NUMBERED[row.number]]
    assert [row.number for row in ROWS if row.number] == list(range(1, 14))
    assert [row.line for row in ROWS] == sorted(row.line for row in ROWS)
    # one for each line
    assert sum(row.kind == "display" and 627 <= row.line <= 634 for row in ROWS) == 6


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.line} {row.formula[:30]}")
def test_what_a_row_names_exists(row):
    for name in row.functions:
        equation.resolve(name)
    assert set(row.checks) <= CHECKS
    assert row.kind in ("display", "inline", "step", "claim")
    assert row.checks and row.functions
    groups = {name.partition("/")[0] for name in row.checks}
    if row.status == "consistent":
        assert groups & {"samplers", "estimators", "definitions"}
    errata = {name.removeprefix("errata/") for name in row.checks if name.startswith("errata/")}
    kinds = {entry.kind for entry in ERRATA if entry.name in errata}
    assert (row.status == "corrected") == ("wrong" in kinds)
    assert (row.status in ("corrected", "clarified")) == bool(kinds)


def test_every_erratum_belongs_to_an_equation_or_claim():
    named = {name for row in ROWS for name in row.checks}
    assert {f"errata/{entry.name}" for entry in ERRATA} <= named


def test_a_missing_function_is_noticed():
    with pytest.raises(AttributeError):
        equation.resolve("ibpcl.primitives.gaussian.gone")
    with pytest.raises(ModuleNotFoundError):
        equation.resolve("ibpcl.primitives.gone.sample")
    with pytest.raises(AttributeError):
        equation.resolve("ibpcl.models.network.Network.gone")


def test_the_verdict_is_that_of_the_checks():
    row = next(row for row in ROWS if len(row.checks) > 1)
    outcomes = {name: Outcome(True, "1") for name in row.checks}
    assert row.verdict(outcomes) == row.status
    outcomes[row.checks[1]] = Outcome(False, "off by 2")
    assert row.verdict(outcomes) == "FAILED"
    assert f"WRONG {row.checks[1]}: off by 2" in rendering.paper_line(row, outcomes)
    assert row.to_dict(outcomes)["verdict"] == "FAILED"


def test_the_table_can_be_printed_and_read_by_a_person():
    lines = equations.TABLE.strip().splitlines()
    assert max(map(len, lines)) <= 120
    assert sum(not line.startswith(" ") for line in lines) == len(ROWS)
    assert all(
        row.formula in equations.TABLE and name.removeprefix("ibpcl.") in equations.TABLE
        for row in ROWS
        for name in (*row.functions, *row.checks)
    )


def test_formulas_are_typeset_or_in_words():
    for row in ROWS:
        assert row.tex or row.kind in ("claim", "step", "inline")
        assert row.tex.count("{") == row.tex.count("}")
        assert row.tex.count("\\bigl") == row.tex.count("\\bigr")
    assert all(row.tex for row in ROWS if row.kind == "display")


@pytest.mark.parametrize(
    "line", ["3.1   159   inline   perhaps   W = B V", "W = B V", "    = primitives.gaussian.kl"]
)
def test_a_line_that_is_not_a_row_is_refused(line):
    with pytest.raises(ValueError, match=r"equation\.read"):
        equation.read(line)
