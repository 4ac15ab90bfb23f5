"""What is said of the program and the machine behind a result."""

import os
import platform
import subprocess
import sys

import pytest
import threadpoolctl

import ibpcl
from ibpcl.experiments import program


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with a package of one file, from which the program seems to run."""
    package = tmp_path / "ibpcl"
    package.mkdir()
    (package / "__init__.py").write_text("")
    monkeypatch.setattr(ibpcl, "__file__", str(package / "__init__.py"))
    program.commit.cache_clear()
    yield tmp_path
    program.commit.cache_clear()


def git(folder, *arguments):
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    return subprocess.run(
        ["git", "-C", folder, *identity, *arguments], check=True, capture_output=True, text=True
    ).stdout


def test_commit_is_that_of_the_checkout_and_marks_changes(checkout):
    git(checkout, "init", "-q")
    git(checkout, "add", ".")
    git(checkout, "commit", "-q", "-m", "first")
    head = git(checkout, "rev-parse", "HEAD").strip()
    assert program.commit() == head[: program.DIGITS]
    (checkout / "notes.txt").write_text("not part of the package")
    program.commit.cache_clear()
    assert program.commit() == head[: program.DIGITS]
    (checkout / "ibpcl" / "__init__.py").write_text("x = 1\n")
    program.commit.cache_clear()
    assert program.commit() == head[: program.DIGITS] + "+"


def test_without_a_checkout_there_is_no_commit(checkout):
    assert program.commit() is None


def test_without_git_there_is_no_commit(checkout, monkeypatch):
    (checkout / ".git").mkdir()
    monkeypatch.setenv("PATH", "")
    assert program.commit() is None


def test_a_processor_always_has_a_name(tmp_path, monkeypatch):
    table = tmp_path / "cpuinfo"
    table.write_text("processor\t: 0\nmodel name\t: A  Processor 7\n")
    for path, name in ((table, "A Processor 7"), (tmp_path / "missing", None)):
        monkeypatch.setattr(program, "CPUS", path)
        program.processor.cache_clear()
        assert program.processor() == (name or program.processor())
        assert program.processor()
    program.processor.cache_clear()


def test_an_installed_package_has_a_version_and_another_none():
    assert program.version("numpy") and program.version("no-such-package") is None


@pytest.mark.processes(reason="a library chooses its kernels when it is loaded")
def test_the_kernels_of_blas_are_named():
    code = "import numpy; from ibpcl.experiments import program; print(program.versions()['blas'])"
    blas = threadpoolctl.ThreadpoolController().select(internal_api="openblas").info()
    if not blas or "architecture" not in blas[0] or platform.machine() != "x86_64":
        pytest.skip("needs an OpenBLAS that chooses its kernels when it starts, on x86-64")
    # nothing is computed, so an older processor need not know them
    for kernels in ("Nehalem", "Sandybridge"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "OPENBLAS_CORETYPE": kernels},
            check=True,
            capture_output=True,
            text=True,
        )
        assert done.stdout.startswith("openblas ") and kernels in done.stdout


def test_a_blas_that_threadpoolctl_does_not_know_has_no_name(monkeypatch):
    monkeypatch.setattr(threadpoolctl, "threadpool_info", list)
    assert program.blas() is None
    assert "blas" not in program.described(program.versions())
