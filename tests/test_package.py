"""The package as a whole: what importing it costs, its doctests, and that its floors only look
down.
"""

import ast
import doctest
import functools
import importlib
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

import here
import numpy as np
import pytest

import ibpcl
from ibpcl.paper.pairs import modules

ROOT = Path(ibpcl.__file__).parent
# A wing may import its own floor and those before it.
FLOORS = (
    {
        "errors",
        "numerics",
        "noise",
        "storage",
        "checkpoints",
        "adam",
        "blas_threads",
        "console",
        "options",
        "palette",
        "places",
        "plotting",
        "processors",
        "shell",
    },
    {"codeview", "sandbox"},
    {"verify", "primitives"},
    {"kernels"},
    {"models"},
    {"inference"},
    {"continual", "data", "evaluation"},
    {"methods"},
    {"experiments", "exact"},
    {"paper", "bench", "classroom", "audit", "pytest_plugin"},
    {"learn"},
    {"course"},
    {"cli"},
    {"__main__"},
)


@pytest.mark.starts(reason="what is loaded shows in a new process only")
def test_importing_the_package_loads_neither_matplotlib_nor_numba():
    code = "import sys, ibpcl; print(sorted({'matplotlib', 'numba'} & set(sys.modules)))"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )


WITH_DOCTESTS = [
    module.__name__
    for module in modules()
    if ">>>" in Path(module.__file__).read_text(encoding="utf-8")
]


@pytest.mark.parametrize("module", WITH_DOCTESTS)
def test_doctests(module):
    loaded = importlib.import_module(module)
    with here.judged_here():
        assert doctest.testmod(loaded, extraglobs={"np": np}).failed == 0


@pytest.mark.parametrize(
    ("room", "allowed"),
    [
        ("codeview", ("ibpcl.errors", "ibpcl.codeview")),
        ("sandbox", ("ibpcl.errors", "ibpcl.sandbox")),
        (
            "verify",
            ("ibpcl.errors", "ibpcl.palette", "ibpcl.codeview", "ibpcl.sandbox", "ibpcl.verify"),
        ),
    ],
)
def test_the_verifier_knows_nothing_of_the_rest(room, allowed):
    for path in (ROOT / room).rglob("*.py"):
        imported = {
            name
            for name in imports(path)
            if name.startswith("ibpcl") and not name.startswith(allowed)
        }
        assert not imported, f"{path.name} imports {imported}"


class Read(NamedTuple):
    """What the tests ask about the text of a module.

    ``imports`` has the modules that it imports anywhere, ``at_the_top`` the statements that import
    at its top level, and ``packed`` the lines of packed assignments.
    """

    imports: list
    at_the_top: list
    packed: list


@functools.cache  # five tests ask about all modules, which are read once
def read(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    found = []
    for node in nodes:
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "ibpcl":
            # "from ibpcl import storage" imports a wing by its name.
            found += [f"ibpcl.{name.name}" for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append(node.module or "")
    at_the_top = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    return Read(found, at_the_top, [node.lineno for node in packed_assignments(nodes)])


def imports(path):
    return read(path).imports


def test_arrows_point_down():
    floor = {wing: level for level, wings in enumerate(FLOORS) for wing in wings}
    wings = {
        path.stem if path.is_file() else path.name
        for path in ROOT.iterdir()
        if path.suffix in ("", ".py")
    }
    assert wings - {"__init__", "__pycache__"} == set(floor), (
        "a wing without a floor, or a floor without a wing"
    )
    for path in ROOT.rglob("*.py"):
        wing = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if wing == "__init__":
            continue
        for name in imports(path):
            if name.startswith("ibpcl.") and name != "ibpcl.__version__":
                assert floor[name.split(".")[1]] <= floor[wing], (
                    f"{path.relative_to(ROOT)} imports {name} from above"
                )


ROOMS = ("assignments", "intake", "judging", "feedback", "authoring", "grading")


def test_the_rooms_of_the_classroom_look_in_one_direction():
    """The way of a submission: a room imports only from those before it."""
    for path in (ROOT / "classroom").rglob("*.py"):
        room = path.relative_to(ROOT / "classroom").parts[0].removesuffix(".py")
        if room in ROOMS and not re.search(r"assignments/\d", path.as_posix()):
            for name in imports(path):
                other = name.removeprefix("ibpcl.classroom.").split(".")[0]
                if name.startswith("ibpcl.classroom.") and other in ROOMS:
                    assert ROOMS.index(other) <= ROOMS.index(room), f"{path.name} imports {name}"


@pytest.mark.slow(reason="packs the package and starts two processes")
def test_a_package_inside_a_zip_file_refuses_at_once(tmp_path):
    archive = tmp_path / "packages.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in ROOT.rglob("*.py"):
            file.write(path, path.relative_to(ROOT.parent))
    for command in (["-m", "ibpcl", "--version"], ["-c", "import ibpcl"]):
        done = subprocess.run(
            [sys.executable, *command],
            cwd=tmp_path,
            text=True,
            capture_output=True,
            env=os.environ | {"PYTHONPATH": str(archive)},
        )
        last = done.stderr.splitlines()[-1]
        assert done.returncode == 1 and "zip file" in last and "pip" in last


def packed_assignments(nodes):
    """Yield the assignments of several unrelated values in one statement.

    Exchanging names, and values that need each other, are no such thing.
    """
    for node in nodes:
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)):
            continue
        target = node.targets[0]
        if not isinstance(target, ast.Tuple) or len(target.elts) != len(node.value.elts):
            continue
        assigned = {each.id for each in target.elts if isinstance(each, ast.Name)}
        read = {each.id for each in ast.walk(node.value) if isinstance(each, ast.Name)}
        if len(assigned) == len(target.elts) and not assigned & read:
            yield node


def test_a_statement_assigns_one_value():
    for path in ROOT.rglob("*.py"):
        place = path.relative_to(ROOT).as_posix()
        if not re.match(r"classroom/assignments/\d", place):  # students' code
            lines = read(path).packed
            assert not lines, f"{place}: packed assignments in lines {lines}"


def module_graph():
    """Return the modules that each module imports at its top level, by name."""
    paths = {
        ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(
            ".__init__"
        ): path
        for path in ROOT.rglob("*.py")
        if not re.search(r"/(assignments/\d|chapters/)", path.as_posix())
    }
    graph = {}
    for name, path in paths.items():
        found = set()
        for node in read(path).at_the_top:
            if isinstance(node, ast.Import):
                found |= {each.name for each in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                for each in node.names:
                    inner = f"{node.module}.{each.name}"
                    found.add(inner if inner in paths else node.module)
        graph[name] = (found & set(paths)) - {name}
    return graph


def test_no_modules_import_each_other_in_a_circle():
    graph = module_graph()
    done = set()

    def visit(name, path):
        assert name not in path, " -> ".join([*path[path.index(name) :], name])
        if name not in done:
            for other in sorted(graph[name]):
                visit(other, [*path, name])
            done.add(name)

    for name in graph:
        visit(name, [])
    assert len(graph) > 300
