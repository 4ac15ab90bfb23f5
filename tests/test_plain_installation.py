"""A plain installation, ``pip install .``: its commands need no package of an extra.

The tests run in an environment that has such packages.  So each command runs in a process that
finds only the packages that ``install_requires`` names, and those that these need.
"""

import ast
import configparser
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from quick import quick

import ibpcl

ROOT = Path(ibpcl.__file__).parent
SETUP = ROOT.parent / "setup.cfg"
pytestmark = pytest.mark.skipif(not SETUP.exists(), reason="needs the source tree")

# No finder finds the other modules.  Their names are not put into sys.modules with the value None,
# because SciPy takes Sphinx for loaded if its name is there.
HIDE = """
import sys
hidden = set(sys.argv.pop(1).split(",")) - sys.modules.keys()
class Partial:
    def __init__(self, finder):
        self.finder = finder
    def __getattr__(self, name):
        return getattr(self.finder, name)
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in hidden:
            return self.finder.find_spec(name, path, target)
sys.meta_path[:] = map(Partial, sys.meta_path)
"""
COMMAND = "import ibpcl.cli; sys.exit(ibpcl.cli.main(sys.argv[1:]))"
EVERY_MODULE = """
import importlib, pkgutil, ibpcl
for module in pkgutil.walk_packages(ibpcl.__path__, "ibpcl."):
    if not module.name.endswith("__main__") and module.name != "ibpcl.pytest_plugin":
        importlib.import_module(module.name)
"""
PAIR = """
def cube(x):
    return x**3, x


def cube_vjp(dout, x):
    return dout * {factor} * x**2
"""
IMPORTED = re.compile(r"^\s*(?:import|from) (\w+)", re.MULTILINE)
# These modules import an optional package without asking whether it is installed.
UNGUARDED = {
    "pytest_plugin.py",  # pytest loads it
    "audit/agent.py",  # it runs inside pytest
}


@pytest.fixture(scope="module")
def names():
    """Give two sets: the modules that a plain installation has, and all others that are here."""
    setup = configparser.ConfigParser()
    setup.read(SETUP, encoding="utf-8")
    waiting = setup["options"]["install_requires"].strip().splitlines()
    plain = {"ibpcl"}
    while waiting:
        requirement = Requirement(waiting.pop())
        name = canonicalize_name(requirement.name)
        wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if wanted and name not in plain:
            plain.add(name)
            waiting += metadata.requires(name) or []
    owners = metadata.packages_distributions()
    there = {name for name in owners if plain & set(map(canonicalize_name, owners[name]))}
    return there, set(owners) - there


@pytest.fixture(scope="module")
def python(names):
    """Run code in a process that finds the modules of a plain installation only."""

    def run(code, *arguments):
        return subprocess.run(
            [sys.executable, "-c", HIDE + code, ",".join(names[1]), *arguments],
            cwd=ROOT.parent,
            capture_output=True,
            text=True,
        )

    return run


def test_the_extra_all_has_every_other_extra():
    setup = configparser.ConfigParser()
    setup.read(SETUP, encoding="utf-8")
    extras = dict(setup["options.extras_require"])
    (requirement,) = map(Requirement, extras.pop("all").strip().splitlines())
    assert requirement.name == "ibpcl" and requirement.extras == set(extras)


@pytest.mark.processes(reason="a plain installation is a process without other packages")
def test_a_process_finds_no_other_package(python):
    assert python("import numpy, numpy.linalg").returncode == 0
    done = python("import pytest")
    assert done.returncode == 1 and "ModuleNotFoundError" in done.stderr


@pytest.mark.processes(reason="a plain installation is a process without other packages")
def test_every_module_can_be_imported(python):
    done = python(EVERY_MODULE)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow(reason="a process; a file is checked below, and every module imported above")
@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "--list"),
        ("check", "gaussian.kl"),
        ("class", "list"),
    ],
    ids=" ".join,
)
def test_a_command_works(python, arguments):
    done = python(COMMAND, *arguments)
    assert done.returncode == 0 and done.stdout, done.stderr


@pytest.mark.starts(reason="a plain installation is a process without other packages")
@pytest.mark.parametrize(
    ("factor", "code"),
    quick(["(2, 1)"], [(3, 0), (2, 1)], "each starts a process, which starts another"),
)
def test_a_file_has_its_verdict(python, tmp_path, factor, code):
    path = tmp_path / "mine.py"
    path.write_text(PAIR.format(factor=factor), encoding="utf-8")
    done = python(COMMAND, "check", str(path))
    assert done.returncode == code and "cube" in done.stdout, done.stderr


def unguarded(tree, plain):
    """Yield the modules that a tree imports, that a plain installation lacks, and whose absence
    nothing in the tree expects.
    """
    handled = []
    if isinstance(tree, ast.Try):
        handled = [handler.type for handler in tree.handlers]
    elif isinstance(tree, ast.With):  # with contextlib.suppress(ImportError)
        calls = [item.context_expr for item in tree.items]
        handled = [name for call in calls if isinstance(call, ast.Call) for name in call.args]
    if {"ImportError", "ModuleNotFoundError"} & {getattr(name, "id", "") for name in handled}:
        return
    modules = []
    if isinstance(tree, ast.Import):
        modules = [alias.name for alias in tree.names]
    elif isinstance(tree, ast.ImportFrom) and not tree.level:
        modules = [tree.module]
    yield from (name for name in modules if name.partition(".")[0] not in plain)
    for child in ast.iter_child_nodes(tree):
        yield from unguarded(child, plain)


def test_an_optional_package_may_be_missing_wherever_it_is_imported(names):
    plain = names[0] | sys.stdlib_module_names
    found = {}
    for path in ROOT.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if set(IMPORTED.findall(text)) - plain:
            found[path.relative_to(ROOT).as_posix()] = list(unguarded(ast.parse(text), plain))
    assert {path for path, modules in found.items() if modules} == UNGUARDED, found
    assert found["cli/execution.py"] == found["experiments/cluster.py"] == []
