"""Both sides of a difference come from one kind of processor, and commits do not change a value."""

import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_ext"))
import makers  # noqa: E402

records = makers.records
HEADER = "table,row,column,unit,value,seed,commit,processor,versions"
MARK = "<!-- value: x | {} -->1<!-- end -->"
PAIRED = "<!-- paired: x | {} -->\n<!-- end -->"


@pytest.fixture
def record(tmp_path, monkeypatch):
    """Return a function that writes the lines of the record "x"."""
    (tmp_path / "results").mkdir()
    monkeypatch.setattr(records, "DOCS", tmp_path)

    def write(*lines):
        lines = (
            line if line.count(",") == HEADER.count(",") else f"{line},numpy" for line in lines
        )
        text = "\n".join([HEADER, *lines, ""])
        (tmp_path / "results" / "x.csv").write_text(text)

    return write


def test_both_sides_of_every_difference_come_from_one_processor():
    texts = [page.read_text(encoding="utf-8") for page in makers.PAGES]
    assert sum(1 for text in texts for _ in makers.sides(text)) > 300
    found = makers.joins(texts)
    unclean = {makers.PROCESSOR, makers.KERNELS}
    assert {place for place, words in found.items() if words & unclean} == set()
    for path in (DOCS / "results").glob("*.csv"):
        assert makers.of_two_processors(records.lines_of(path)) == [], path.name


@pytest.mark.parametrize(
    "mark",
    [
        PAIRED.format("A | ours"),
        PAIRED.format("A | ours | c"),
        MARK.format("A | theirs | c | minus ours | interval"),
        MARK.format("A | theirs | c | over ours"),
        MARK.format("A | ours; theirs | c; d | minus ours"),
        MARK.format("A | * | c | minus ours"),
    ],
)
def test_another_commit_or_processor_of_a_seed_is_noticed(record, mark):
    ours = (
        "A,ours,c,percent,1,0,1234,a",
        "A,ours,c,percent,2,1,1234,a",
        "A,ours,d,percent,2,1,1234,a",
    )
    theirs = "A,theirs,c,percent,1,0,1234,a", "A,theirs,d,percent,1,1,1234,a"
    place = ("x", "A", "theirs", "c", "ours")
    record(*ours, *theirs, "A,theirs,c,percent,3,1,1234,a")
    assert makers.joins([mark]) == {}
    record(*ours, *theirs, "A,theirs,c,percent,3,1,5678,a")
    assert makers.joins([mark]) == {place: {"commit"}}
    record(*ours, *theirs, "A,theirs,c,percent,3,1,1234,b")
    assert makers.joins([mark]) == {place: {"processor"}}
    record(*ours, *theirs, "A,theirs,c,percent,3,2,1234,b")  # a seed that only one side has
    assert makers.joins([mark]) == {}


def test_a_number_of_several_tables_has_the_makers_of_each(record):
    lines = [f"{data}: t,{row},c,percent,1,0,1234,a" for data in "AB" for row in ("ours", "theirs")]
    mark = MARK.format("*: t | theirs | c | minus ours | interval")
    record(*lines)
    assert len(list(makers.sides(mark))) == 2 and makers.joins([mark]) == {}
    record(*lines[:3], lines[3].replace("1234", "5678"))
    assert makers.joins([mark]) == {("x", "B: t", "theirs", "c", "ours"): {"commit"}}


def test_other_kernels_are_noticed_where_both_sides_name_them(record):
    mark = PAIRED.format("A | ours")
    ours, theirs = "A,ours,c,percent,1,0,1234,a", "A,theirs,c,percent,1,0,1234,a"
    haswell = "numpy 2.4.6; blas openblas 0.3.30 Haswell and openblas 0.3.31.188.0 Haswell"
    newer = "numpy 2.4.6; blas openblas 0.3.31.188.0 Haswell"
    other = "numpy 2.4.6; blas openblas 0.3.30 SkylakeX"
    place = ("x", "A", "theirs", "c", "ours")
    for first, second, found in (
        (haswell, newer, {}),
        (haswell, other, {place: {"kernel set"}}),
        ("numpy", other, {}),
    ):
        record(f"{ours},{first}", f"{theirs},{second}")
        assert makers.joins([mark]) == found


def test_a_star_and_another_column_are_followed(record):
    record(
        *("A: x,ours,c,percent,1,0,1234,a", "A: x,theirs,c,percent,1,0,1234,b"),
        *("A: y,ours,c,percent,1,0,1234,a", "A: y,theirs,c,percent,1,0,1234,a"),
        "A: y,theirs,d,percent,1,0,1234,b",
    )
    assert len(list(makers.sides(PAIRED.format("A: * | ours | c")))) == 2
    assert list(makers.joins([PAIRED.format("A: * | ours | c")])) == [
        ("x", "A: x", "theirs", "c", "ours")
    ]
    assert list(makers.joins([MARK.format("A: y | theirs | d | minus c")])) == [
        ("x", "A: y", "theirs", "d", "c")
    ]


def test_a_value_of_two_processors_is_noticed(record, tmp_path):
    record("A,r,c,percent,1,0,1234,a", "A,r,d,percent,1,0,1234,a or b")
    lines = records.lines_of(tmp_path / "results" / "x.csv")
    assert [line[2] for line in makers.of_two_processors(lines)] == ["d"]


def version(value, commit, processor="a", unit="percent"):
    """Return a version of a record with one line."""
    keys = HEADER.split(",")
    return "x.csv", [
        dict(zip(keys, ("A", "ours", "c", unit, value, "0", commit, processor, ""), strict=True))
    ]


def test_repeated_measurements_are_counted_by_what_changed():
    first = version("1.0", "1234")
    again, equal = makers.repeats([first, first, version("1.0", "5678"), version("2.0", "9", "b")])
    assert (again, equal) == ({"commit": 1, "processor": 2}, {"commit": 1, "processor": 0})
    again, equal = makers.repeats([first, version("1.0000001", "5678")])
    assert (again["commit"], equal["commit"]) == (1, 0)
    # a line without a commit, seconds, which the load of a machine changes, and another name of
    # the same program
    assert makers.repeats([first, version("1.0", "")])[0] == {}
    slow = version("1", "1234", unit="seconds"), version("2", "5678", unit="seconds")
    assert makers.repeats(slow)[0] == {}
    assert makers.repeats([version("1.0", "5678 or 1234"), first])[0] == {}


def test_the_command_prints_counts_and_names(record, tmp_path, monkeypatch, capsys):
    record("A,ours,c,percent,1,0,1234,a", "A,theirs,c,percent,1,0,5678,a")
    page = tmp_path / "page.md"
    page.write_text(PAIRED.format("A | ours"))
    monkeypatch.setattr(makers, "PAGES", (page,))
    monkeypatch.setattr(makers, "versions", lambda: [version("1", "1234"), version("1", "56")])
    makers.main()
    assert capsys.readouterr().out.splitlines() == [
        "measured again, another commit, same processor: 1 comparisons, 1 equal",
        "measured again, another processor: 0 comparisons, 0 equal",
        "two commits: x | A | theirs | c | ours",
    ]


@pytest.mark.slow(reason="reads all versions of the records")
def test_no_commit_changed_a_value_on_the_same_processor():
    done = subprocess.run(
        ["git", "rev-parse", "--is-shallow-repository"], cwd=DOCS, capture_output=True, text=True
    )
    if done.stdout.strip() != "false":
        pytest.skip("needs a clone with the whole history")
    again, equal = makers.repeats(makers.versions())
    assert again["commit"] > 400
    assert equal["commit"] == again["commit"]
