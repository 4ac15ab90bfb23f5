"""The maps of the checker name files and functions that exist, and the page's example is true."""

import ast
import re
from pathlib import Path

import pytest

import ibpcl

PACKAGE = Path(ibpcl.__file__).parent
ROOT = PACKAGE.parent
ROOMS = ("verify", "codeview", "sandbox")
PAGES = (
    *(PACKAGE / room / "README.md" for room in ROOMS),
    ROOT / "docs" / "architecture.md",
)
FILE = re.compile(r"`((?:[\w.]+/)*\w+\.py)(?:::([\w.]+))?`")
LINK = re.compile(r"\]\(([^)#:]+)\)")
PATHS = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")}


def names_in(path):
    """Return what a module defines at its top level, and the methods of its classes."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        found |= {target.id for target in targets if isinstance(target, ast.Name)}
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = (each.name for each in node.body if isinstance(each, ast.FunctionDef))
            found |= {f"{node.name}.{method}" for method in methods}
    return found


def missing(text, room=""):
    """Return the files and the names in a text that do not exist.

    A path begins at the package, or in the folder of the page.  A bare file name may be that of any
    file of the package.
    """
    found = []
    for path, name in FILE.findall(text):
        bare = [each for each in PATHS if "/" not in path and each.endswith(f"/{path}")]
        places = [each for each in (path, f"{room}/{path}", *bare) if each in PATHS]
        if not places and not (ROOT / path).is_file():
            found.append(path)
        elif name and not any(name in names_in(PACKAGE / place) for place in places):
            found.append(f"{path}::{name}")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_file_and_function_of_a_page_exists(page):
    text = page.read_text(encoding="utf-8")
    assert FILE.search(text)
    assert missing(text, page.parent.name) == []
    for link in LINK.findall(text):
        assert (page.parent / link).exists(), link


@pytest.mark.parametrize(
    "text",
    ["`verify/doors.py`", "`verify/check.py::checked_by`", "`codeview/syntax.py::Code.read_all`"],
)
def test_a_name_that_does_not_exist_is_found(text):
    assert missing(text) == [text.strip("`")]


def test_every_room_of_the_checker_is_on_the_map():
    text = (PACKAGE / "verify" / "README.md").read_text(encoding="utf-8")
    rooms = {path.parent.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("__init__.py")}
    for room in rooms:
        if room.split("/")[0] in ROOMS:
            assert f"`{room}/`" in text, room


@pytest.mark.parametrize("room", ["codeview", "sandbox"])
def test_every_file_of_a_room_is_in_its_readme(room):
    text = (PACKAGE / room / "README.md").read_text(encoding="utf-8")
    for path in (PACKAGE / room).glob("[!_]*.py"):
        assert f"`{path.name}`" in text, path.name
