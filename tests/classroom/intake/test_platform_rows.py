"""The table of platforms: every row reads its examples, and refuses what is not its own."""

import tomllib
from pathlib import Path

import pytest

from ibpcl.classroom.intake import platforms
from ibpcl.cli.class_collection import PLATFORMS

TABLE = tomllib.loads(
    Path(platforms.__file__).with_name("platforms.toml").read_text(encoding="utf-8")
)["row"]
ROWS = list(zip(TABLE, platforms.rows(), strict=True))
EXAMPLES = [(row, each) for entry, row in ROWS for each in entry["examples"]]
REFUSED = [(row, each) for entry, row in ROWS for each in entry["refused"]]


def place(row, path, beside=""):
    """Return where a row finds its participant, below three more folders."""
    wrapped = [f"dl/Course 1/hw/{each}" for each in (path, beside) if each]
    files = platforms.files_in("/nowhere")._replace(paths=dict.fromkeys(wrapped))
    return row.place(wrapped[0], platforms.marked(row, files))


@pytest.mark.parametrize(("row", "example"), EXAMPLES, ids=lambda each: str(each)[:40])
def test_a_row_reads_its_examples(row, example):
    groups = dict(example)
    found = place(row, groups.pop("path"), groups.pop("beside", ""))
    assert found is not None
    assert found.late == groups.pop("late", False)
    assert {name: found.groups.get(name) for name in groups} == groups
    if "time" in groups:
        assert row.moment(groups["time"]).startswith("20")


@pytest.mark.parametrize(("row", "path"), REFUSED, ids=lambda each: str(each)[:40])
def test_a_row_refuses_other_names(row, path):
    assert place(row, path) is None


def test_every_row_has_examples_and_refused_names():
    assert all(entry["examples"] and entry["refused"] for entry, _ in ROWS)


def test_the_command_knows_the_platforms_of_the_table():
    assert platforms.platforms() == PLATFORMS


def test_the_times_of_a_platform_have_a_zone():
    rows = {row.platform: row for row in platforms.rows()}
    assert rows["sakai"].moment("20261103235900000") == "2026-11-03T23:59:00+00:00"
    assert rows["moodle"].moment("20261103235900000") == ""
    assert rows["blackboard"].moment("2026-13-03-23-59-00") == ""
