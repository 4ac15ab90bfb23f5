"""A hand-in: its text, who handed it in, and what can be said of it without running it."""

import ast
import hashlib
import io
import json
import re
import zipfile
from pathlib import Path
from typing import NamedTuple

from ibpcl.classroom import escapes
from ibpcl.errors import UserError

MOST_BYTES = 1 << 20
SUFFIXES = (".py", ".ipynb", ".zip")
NAMES = ("ASSIGNMENT", "FORM", "STUDENT", "DERIVATION", "ANSWERS")


class HandIn(NamedTuple):
    """A hand-in as text.

    Attributes
    ----------
    student : str
    path : pathlib.Path
        The file.
    file : str
        Name of the Python file, for messages.
    source : str
    sha256 : str
        Of the source.
    """

    student: str
    path: Path
    file: str
    source: str
    sha256: str


class Refusal(NamedTuple):
    """Why a hand-in is not run: the line, and in words."""

    line: int
    words: str


def read(path, student=""):
    """Read a hand-in from a ``.py``, a notebook, or the zip that ``ibpcl class submit`` makes.

    Raises
    ------
    UserError
        If it is none of these, is too long, or is not text.
    """
    path = Path(path)
    if not path.is_file() or path.suffix not in SUFFIXES:
        raise UserError(f"class: {path} is not a file that can be handed in ({', '.join(SUFFIXES)})")
    if path.stat().st_size > MOST_BYTES:
        raise UserError(f"class: {path} has more than {MOST_BYTES >> 20} MB")
    file, data = path.name, path.read_bytes()
    if path.suffix == ".zip":
        file, data = _from_zip(path, data)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"class: {path}: byte {error.start} is not UTF-8; save the file as UTF-8") from None
    source = notebook_source(text, path) if file.endswith(".ipynb") else text
    source = source.replace("\r\n", "\n")
    file = re.sub(r"[^\w.-]", "_", Path(file).name).removesuffix(".ipynb").removesuffix(".py") + ".py"
    named = literals(source).get("STUDENT")
    student = student or (named if isinstance(named, str) else "") or path.stem
    return HandIn(student, path, file, source, hashlib.sha256(source.encode()).hexdigest())


def _from_zip(path, data):
    """Return name and bytes of the one Python file or notebook in a zip."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            inside = [item for item in archive.infolist() if item.filename.endswith((".py", ".ipynb"))]
            python = [item for item in inside if item.filename.endswith(".py")] or inside
            if len(python) != 1:
                raise UserError(f"class: {path} must contain one Python file, it contains {len(python)}")
            if python[0].file_size > MOST_BYTES:
                raise UserError(f"class: {path}: the file inside has more than {MOST_BYTES >> 20} MB")
            with archive.open(python[0]) as file:
                return python[0].filename, file.read(MOST_BYTES)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, OSError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"class: {path} is not a zip that can be read: {error}") from None


def notebook_source(text, path):
    """Return the code cells of a notebook as one Python text; lines of IPython's own become comments."""
    try:
        cells = json.loads(text)["cells"]
        codes = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UserError(f"class: {path} is not a notebook of format 4") from None
    return "\n\n".join(re.sub(r"^(\s*)[%!]", r"\1# %", code, flags=re.MULTILINE) for code in codes) + "\n"


def literals(source):
    """Return the module-level constants that the kit knows: literals only, so nothing is run to read them.

    >>> literals("STUDENT = 'ada'\\nFORM = f()")
    {'STUDENT': 'ada'}
    """
    found = {}
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return found
    for node in body:
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        if isinstance(target, ast.Name) and target.id in NAMES:
            try:
                found[target.id] = ast.literal_eval(node.value)
            except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
                continue
    return found


def refuse(source, allowed):
    """Return why a hand-in is not run, or None: it does not compile, or imports what is not allowed.

    Parameters
    ----------
    source : str
    allowed : sequence of str
        Packages that may be imported.

    Returns
    -------
    Refusal or None

    Examples
    --------
    >>> refuse("import os", ["numpy"]).words
    'imports os; allowed are numpy'
    """
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        return Refusal(error.lineno or 0, f"is not Python: {error.msg}")
    except (ValueError, RecursionError, MemoryError) as error:
        return Refusal(0, f"is not Python: {error}")
    for node in ast.walk(tree):
        for name in _imported(node):
            if name.split(".")[0] not in allowed:
                words = f"imports {name or 'from its own folder'}; allowed are {', '.join(allowed)}"
                return Refusal(node.lineno, words)
    for line, name in escapes.uses(tree):
        return Refusal(line, f"uses {name}, which is not needed here and could run or import anything")
    return None


def _imported(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return ["" if node.level else node.module or ""]
    return []


def suspicions(source):
    """Return what in a gradient function looks like numerical differentiation, as (line, words): flags, no more."""
    tree = ast.parse(source)
    found = escapes.packed(tree)
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for name, node in functions.items():
        if not name.endswith("_vjp"):
            continue
        forward = name.removesuffix("_vjp")
        for inner in ast.walk(node):
            if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id == forward:
                found.append((inner.lineno, f"{name} calls {forward}"))
            if isinstance(inner, ast.Constant) and isinstance(inner.value, complex):
                found.append((inner.lineno, f"{name} computes with complex numbers"))
    return found
