"""Notebooks: the checker and the classroom read the same code from them."""

import ast
import json

import pytest

from ibpcl.classroom.intake.reading import notebooks
from ibpcl.codeview import notebook
from ibpcl.errors import UserError

CELLS = [
    "pip install numpy\nx = 1",
    ">>> y = 2\n>>> z = y",
    "%%timeit\nhidden = 3",
    "%%capture\nshown = 4",
    "%%bash\nls",
    "files = !ls\nhelp?",
    "broken = (",
]
DEFINED = {"x", "y", "z", "shown", "files"}


def written(tmp_path, cells):
    path = tmp_path / "mine.ipynb"
    listed = [{"cell_type": "code", "source": cell} for cell in cells]
    path.write_text(json.dumps({"cells": listed}), encoding="utf-8")
    return path


def stored(source):
    return {
        node.id
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def test_checker_and_classroom_read_the_same_names(tmp_path):
    path = written(tmp_path, CELLS)
    assert stored(notebook.read(path)) == DEFINED
    assert stored(notebooks.source_of(path.read_text(encoding="utf-8"))) == DEFINED


def test_lines_keep_their_cells(tmp_path):
    path = written(tmp_path, CELLS)
    lines = notebook.read(path).split("\n")
    at = lines.index("z = y") + 1
    assert notebook.place(path, at) == "cell 2, line 2"
    assert notebook.place("other.py", 3) == "line 3"


def test_a_file_that_is_not_a_notebook_is_refused(tmp_path):
    path = tmp_path / "mine.ipynb"
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(UserError):
        notebook.read(path)


def test_only_the_checker_imports_what_is_run():
    assert notebook.as_python("%run 'a/tools.py'")[0] == "from tools import *"
    assert stored(notebook.as_python("%run tools.py", imports=False)[0]) == set()


def test_a_program_below_a_copied_prompt_is_kept_and_printed_lines_are_not():
    program = ">>> import numpy as np\ndef f(x):\n    return x\n"
    assert notebook.as_python(program)[0] == program.removeprefix(">>> ")
    session = ">>> def f(x):\n...     return x\n>>> f(3)\n3"
    assert notebook.as_python(session)[0].split("\n") == [
        "def f(x):",
        "    return x",
        "f(3)",
        "# 3",
    ]
