"""The maps of the checker name what exists, and the examples of its page get their verdicts."""

import ast
import contextlib
import io
import re
from pathlib import Path

import pytest

import ibpcl
from ibpcl.verify.running.checking import results_here
from ibpcl.verify.running.user import Request

PACKAGE = Path(ibpcl.__file__).parent
ROOT = PACKAGE.parent
ROOMS = ("verify", "codeview", "sandbox")
PAGES = (
    *(PACKAGE / room / "README.md" for room in ROOMS),
    PACKAGE / "classroom" / "README.md",
    ROOT / "docs" / "architecture.md",
    ROOT / "docs" / "verification.md",
)
FILE = re.compile(r"`((?:[\w.]+/)*\w+\.py)(?:::([\w.]+))?`")
LINK = re.compile(r"\]\(([^)#:]+)\)")
CODE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
# The examples of the page: the first function, the verdict, and the kinds of the wrong inputs.
EXAMPLES = {
    "tanh": ("undecided", {"undecided"}),
    "relu": ("wrong", {"kink"}),
    "scaled": ("wrong", {"elementwise_factor"}),
    "surprise": ("wrong", {"guard"}),
    "affine": ("wrong", {"elementwise_factor"}),
    "standardize": ("wrong", {"missing_term"}),
    "linear": ("wrong", {"transposed"}),
    "log_density": ("wrong", {"missing_term"}),
}
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


def examples():
    """Return the Python blocks of the page by their first function; "" for the one without."""
    text = (ROOT / "docs" / "verification.md").read_text(encoding="utf-8")
    blocks = CODE.findall(text)
    return {(re.findall(r"^def (\w+)", block, re.MULTILINE) or [""])[0]: block for block in blocks}


def test_every_example_of_the_page_is_tested():
    assert set(examples()) == {"", *EXAMPLES}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_of_the_page_gets_its_verdict(name, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(examples()[name], encoding="utf-8")
    (result,) = results_here(Request(str(file)))
    items = result.report.inputs if result.report else result.forwards.items
    verdict, kinds = EXAMPLES[name]
    assert result.verdict == verdict, str(result)
    assert {item.kind for item in items if not item.ok} == kinds, str(result)


def test_the_worked_example_is_repaired_in_the_line_of_the_page(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(examples()["affine"], encoding="utf-8")
    (result,) = results_here(Request(str(file)))
    for item in result.report.inputs:
        assert (item.where.line, [part.text for part in item.repair]) == (11, ["(y ** 2)"])


def test_the_complex_step_has_the_smallest_error_and_differences_have_a_best_step():
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(examples()[""], {})
    *steps, last = out.getvalue().replace("[", "").replace("]", "").splitlines()
    errors = [float(line.split()[1]) for line in steps]
    richardson, complex_step = map(float, last.split())
    assert errors.index(min(errors)) == 2
    assert complex_step < richardson < min(errors)
