"""The worked example of the guide says what the command prints."""

import re
import shutil
from pathlib import Path

import pytest

from ibpcl.cli import main

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "auditing-tests.md"


@pytest.mark.slow(reason="it runs the tests of the example forty times")
@pytest.mark.parametrize("number", [0, 1], ids=["weak", "strong"])
def test_the_page_shows_the_output(tmp_path, monkeypatch, capsys, number):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "audit"
    shutil.copytree(ROOT / "docs" / "examples" / "audit", folder)
    monkeypatch.chdir(folder)
    block = re.findall(r"```text\n\$ ibpcl (audit .*?)```", PAGE.read_text(), re.DOTALL)[number]
    command, *lines = block.splitlines()
    target, tests = re.fullmatch(r'audit (\S+) --tests "(.*)"', command).groups()
    assert main(["audit", target, "--tests", tests]) == (1, 0)[number]
    printed = {timeless(line) for line in capsys.readouterr().out.splitlines()}
    missing = [line for line in lines if line.strip() != "..." and timeless(line) not in printed]
    assert not missing


def timeless(line):
    """Return a line without the time at its end."""
    return re.sub(r"; \d+ s$", "", line)
