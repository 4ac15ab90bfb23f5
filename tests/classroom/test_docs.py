"""The commands that the pages of the classroom show can be typed."""

import re
import shlex
from pathlib import Path

import pytest

import ibpcl
from ibpcl.cli.parser import parser

DOCS = Path(ibpcl.__file__).parents[1] / "docs"
COMMANDS = [
    line
    for name in ("teachers", "authoring", "students", "collecting")
    for block in re.findall(
        r"```sh\n(.*?)```", (DOCS / f"classroom-{name}.md").read_text(), re.DOTALL
    )
    for line in block.splitlines()
    if line.startswith("ibpcl ")
]


@pytest.mark.parametrize("command", COMMANDS)
def test_command(command):
    options = parser().parse_args(shlex.split(command.partition(" > ")[0])[1:])
    assert options.command in ("classroom", "check")


def test_the_pages_show_the_marking_scheme_as_it_is():
    from ibpcl.classroom.judging import marking

    text = (DOCS / "classroom-teachers.md").read_text()
    for row in marking.default().rows.values():
        assert f"{row.share:g}" in text
