"""The comparison of two versions by processor time and memory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.speed import versions

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not hasattr(os, "wait4"), reason="needs the usage of a process")


def used(seconds, mebibytes):
    """Return what a version of the given cost uses, and count the calls."""
    uses = []

    def measure(version):
        uses.append(version)
        return versions.Used(seconds[version], mebibytes[version])

    return measure, uses


def test_versions_alternate_and_the_first_pair_does_not_count():
    measure, uses = used({"a": 2.0, "b": 3.0}, {"a": 100.0, "b": 100.0})
    time, memory = versions.compare("run", measure, "a", "b", 3)
    assert uses == ["a", "b"] * 4
    assert (time.old, time.new, time.ratios) == (2.0, 3.0, (1.5, 1.5, 1.5))
    assert memory.ratios == (1.0, 1.0, 1.0)


def test_only_a_row_above_the_limit_is_lost():
    measure, _ = used({"a": 2.0, "b": 2.1}, {"a": 100.0, "b": 130.0})
    rows = versions.compare("run", measure, "a", "b", 2)
    assert [row.name for row in versions.lost(rows, 1.1)] == ["run, MiB"]


@pytest.mark.slow(reason="a process that starts two")
def test_memory_is_that_of_the_process():
    # In a process of its own: Linux reports at least the memory of the process that starts another.
    program = """
from benchmarks.speed import versions
for size in (300, 360):
    command = ["-S", "-c", f"bytearray(2**20 * {size}).count(0)"]
    print(versions.used(command, ".").mebibytes)
"""
    printed = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    small, large = map(float, printed.stdout.split())
    assert 50 < large - small < 70


@pytest.mark.processes(reason="it measures processes")
def test_a_failing_command_names_its_error(tmp_path):
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        versions.used(["-S", "-c", "1 / 0"], tmp_path)


@pytest.mark.slow(reason="a process for each command")
def test_every_command_imports_the_package_of_its_folder(tmp_path):
    (tmp_path / "ibpcl").mkdir()
    (tmp_path / "ibpcl" / "__init__.py").write_text("raise SystemExit('planted')")
    for arguments in versions.commands(tmp_path / "out").values():
        with pytest.raises(RuntimeError, match="planted"):
            versions.used(arguments, tmp_path)


@pytest.mark.slow(reason="two processes")
def test_a_relative_folder_is_the_one_that_is_measured(tmp_path, monkeypatch):
    package = tmp_path / "old" / "ibpcl"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    monkeypatch.chdir(tmp_path)
    versions.refuse_another_package("old")
    (package / "__init__.py").write_text("raise SystemExit('planted')")
    with pytest.raises(RuntimeError, match="planted"):
        versions.used(["-c", "import ibpcl"], "old")


@pytest.mark.processes(reason="it asks a process")
def test_a_folder_without_the_package_is_refused(tmp_path):
    with pytest.raises(RuntimeError, match="ibpcl"):
        versions.refuse_another_package(tmp_path)
