"""The arithmetic and the looks of the tables."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ibpcl.experiments.tables import (
    DIFFERENCE,
    FINE_POINTS,
    PERCENT,
    POINTS,
    PRINTED_PERCENT,
    SHARE,
    Entry,
    Printed,
    Table,
    caption,
    grid,
    markdown,
    text,
)

PAPER = Printed(99.82, 0.1, "table 1")


def test_mean_deviation_and_difference():
    entry = Entry("ours", "MNIST", (1.0, 2.0, 6.0), PERCENT, Printed(2.5, None, "here"))
    assert entry.mean == 3.0
    assert entry.deviation == pytest.approx(math.sqrt((4 + 1 + 9) / 2))  # divided by n - 1
    assert entry.difference == pytest.approx(0.5)


@given(st.lists(st.floats(0, 100), min_size=2, max_size=9), st.floats(-50, 50))
def test_a_shift_moves_the_mean_and_leaves_the_deviation(values, shift):
    entry = Entry("r", "c", tuple(values))
    moved = Entry("r", "c", tuple(value + shift for value in values))
    assert moved.mean - entry.mean == pytest.approx(shift, abs=1e-9)
    assert moved.deviation == pytest.approx(entry.deviation, abs=1e-9)
    assert entry.deviation <= np.ptp(values)


def test_one_seed_has_no_deviation_and_none_has_no_mean():
    assert math.isnan(Entry("r", "c", (3.0,)).deviation) and Entry("r", "c", (3.0,)).mean == 3.0
    assert math.isnan(Entry("r", "c", ()).mean)
    # never the mean of fewer
    assert math.isnan(Entry("r", "c", (1.0, math.nan)).mean)


def test_what_others_report_stands_below():
    table = Table(
        "t",
        (
            Entry("ours", "A", (99.5, 99.7), PERCENT, PAPER),
            Entry("ours", "B", (50.0, 51.0)),
            Entry("other", "A", (99.0, 99.0)),
        ),
        "method",
    )
    header, lines = grid(table)
    assert header == ["method", "A", "B"]
    assert lines == [
        ["NPBCL", "99.60 ± 0.14", "50.50 ± 0.71"],
        ["  paper", "99.82 ± 0.1", ""],
        ["  difference", "-0.22", ""],
        ["other", "99.00 ± 0.00", ""],
    ]


@pytest.mark.parametrize(
    ("unit", "value", "written"),
    [
        (PERCENT, 99.756, "99.76"),
        (SHARE, 15.02, "15.0"),
        (POINTS, 0.514, "+0.51"),
        (POINTS, -0.514, "-0.51"),
        (FINE_POINTS, 0.00133, "+0.001"),
        (PERCENT, math.nan, "-"),
    ],
)
def test_units(unit, value, written):
    _, ((_, cell),) = grid(Table("t", (Entry("r", "c", (value,), unit),)))
    assert cell == written


def test_the_number_of_seeds_is_said():
    two = Entry("r", "a", (1.0, 2.0))
    one = Entry("r", "b", (1.0,))
    assert caption(Table("t", (two,))) == "t (mean ± sd over 2 seeds)"
    assert caption(Table("t", (one,))) == "t (one seed)"
    assert caption(Table("t", (one, two))) == "t (mean ± sd over 1 to 2 seeds)"


def test_both_writings_hold_the_same_cells():
    table = Table(
        "t", (Entry("ours", "A", (99.5,), PERCENT, PAPER), Entry("ours", "B", (98.0,))), "method"
    )
    lines = text(table).splitlines()[2:]
    # aligned to the right
    assert len({len(line) for line in lines if line.endswith(("B", "98.00"))}) == 1
    rows = [
        [cell.strip() for cell in line.strip("| ").split("|")]
        for line in markdown(table).splitlines()[4:]
    ]
    assert rows[0] == ["NPBCL", "99.50", "98.00"] and rows[1][1] == "99.82 ± 0.1"
    assert all(line.count("|") == 4 for line in markdown(table).splitlines()[2:])


def test_json_has_every_seed_and_the_place():
    entry = Entry("ours", "A", (99.5, 99.7), PERCENT, PAPER).to_dict()
    assert entry["values"] == [99.5, 99.7] and entry["seeds"] == 2 and entry["unit"] == "percent"
    assert entry["printed"] == {
        "value": 99.82,
        "deviation": 0.1,
        "place": "table 1",
        "source": "paper",
    }


def test_differences_are_written_with_their_interval():
    table = Table("t", (Entry("VCL", "A", (-0.3, -0.2, -0.4), DIFFERENCE),))
    low, high = stats.ttest_1samp([-0.3, -0.2, -0.4], 0).confidence_interval()
    assert grid(table)[1] == [["VCL", f"-0.30 [{low:+.2f}, {high:+.2f}]"]]
    assert caption(table) == "t (mean [95 % interval], paired over 3 seeds)"
    entry = table.to_dict()["entries"][0]
    assert entry["interval"] == pytest.approx([low, high])
    assert (entry["level"], entry["sign_flip_p"], entry["smallest_p"]) == (0.95, 0.25, 0.25)


def test_a_difference_of_one_seed_has_no_interval():
    table = Table("t", (Entry("VCL", "A", (-0.3,), DIFFERENCE),))
    assert grid(table)[1] == [["VCL", "-0.30"]]
    assert caption(table) == "t (1 seed: no interval)"
    assert all(map(math.isnan, table.to_dict()["entries"][0]["interval"]))


def test_single_entries_with_one_seed_are_marked_where_others_have_more():
    more = Entry("r", "a", (1.0, 2.0))
    one = Entry("r", "b", (1.0,))
    nothing = Entry("r", "c", (math.nan,))
    assert grid(Table("t", (more, one, nothing)))[1] == [["r", "1.50 ± 0.71", "1.00 (1 seed)", "-"]]
    assert grid(Table("t", (one, nothing)))[1] == [["r", "1.00", "-"]]
    assert "1.00 (1 seed)" in markdown(Table("t", (more, one)))


def test_columns_that_do_not_fit_follow_below():
    entries = tuple(Entry("r", f"column {i}", (float(i), i + 1.0)) for i in range(12))
    parts = text(Table("t", entries)).split("\n\n")[1:]
    assert len(parts) > 1 and all(len(line) <= 80 for part in parts for line in part.split("\n"))
    found = [name for part in parts for name in re.findall(r"column \d+", part)]
    assert found == [f"column {i}" for i in range(12)]
    assert all(part.split("\n")[1].startswith("r ") for part in parts)


def test_a_number_of_the_paper_is_no_seed():
    entries = (
        Entry("ours", "3-NN", (1.0, 2.0)),
        Entry("ours", "3-NN paper", (0.37,), PRINTED_PERCENT),
    )
    table = Table("Errors", entries)
    assert grid(table)[1] == [["NPBCL", "1.50 ± 0.71", "0.37"]]
    assert caption(table) == "Errors (mean ± sd over 2 seeds)"
    once = Entry("ours", "3-NN", (1.0,))
    assert caption(Table("Errors", (once, entries[1]))) == caption(Table("Errors", (once,)))
