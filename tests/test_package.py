"""The package as a whole: what importing it costs, its doctests, and that its floors only look down."""

import ast
import doctest
import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ibpcl
from ibpcl.proofs.pairs import modules

ROOT = Path(ibpcl.__file__).parent
FLOORS = (
    {"numerics", "noise", "storage"}, {"verify", "primitives"}, {"kernels"}, {"models"}, {"inference"},
    {"continual", "data", "evaluation"}, {"methods"}, {"experiments"}, {"proofs"}, {"cli"},
)


def test_importing_the_package_loads_neither_matplotlib_nor_numba():
    code = "import sys, ibpcl; print(sorted({'matplotlib', 'numba'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize("module", [module.__name__ for module in modules()])
def test_doctests(module):
    loaded = importlib.import_module(module)
    with np.errstate(all="warn"):
        assert doctest.testmod(loaded, extraglobs={"np": np}).failed == 0


def test_the_verifier_knows_nothing_of_the_rest():
    for path in (ROOT / "verify").rglob("*.py"):
        imported = {name for name in imports(path) if name.startswith("ibpcl") and not name.startswith("ibpcl.verify")}
        assert not imported, f"{path.name} imports {imported}"


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
