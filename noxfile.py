#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2024.10"]
# ///
"""The tests on every Python that is supported, and on the oldest versions that ``setup.cfg``
allows: ``nox``.

``nox -s tests-3.13`` runs one of the sessions; ``nox -s oldest -- tests/kernels`` gives pytest its
arguments.  A Python that is not installed is left out.
"""

import nox

nox.needs_version = ">=2024.10"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.error_on_missing_interpreters = False
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# The tests of the package's own dependencies: floors, files, kernels, the checker, the image sets.
MEANINGFUL = (
    "tests/test_cli.py",
    "tests/test_storage.py",
    "tests/kernels",
    "tests/verify/test_verify_gradcheck.py",
    "tests/data",
)


@nox.session(python=PYTHONS)
def tests(session):
    """Run all tests with the newest dependencies."""
    session.install(".[test]")
    session.run("pytest", "--numprocesses", "auto", *session.posargs)


@nox.session(python="3.11", venv_backend="uv")
def oldest(session):
    """Run a part of the tests with the oldest dependencies that ``setup.cfg`` allows."""
    session.install(
        "--resolution",
        "lowest-direct",
        "-e",
        ".",
        "pytest>=8",
        "hypothesis>=6.100",
        "mpmath>=1.3",
        "jupytext>=1.16",
    )
    # Old packages use what newer ones have deprecated, and an old Matplotlib lacks a font: neither
    # is a failure of this package.
    session.run(
        "pytest",
        "-p",
        "no:cacheprovider",
        "-W",
        "ignore::DeprecationWarning",
        "-W",
        "ignore:glyphs:UserWarning",
        *(session.posargs or MEANINGFUL),
    )


if __name__ == "__main__":
    nox.main()
