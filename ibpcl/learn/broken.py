"""Files with statements that are not Python: the other statements are still checked."""

import ast
import re
from typing import NamedTuple

STARTS = re.compile(r"(def |class |@|import |from |[A-Za-z_]\w*\s*=)")


class Runnable(NamedTuple):
    """A text without the statements that are not Python.

    Attributes
    ----------
    source : str
        The text; left out lines are blank, so the numbers of lines are kept.
    reasons : dict of str to str
        Reason for leaving a function out, by its name.  The name "" means the lines above the first
        function.
    """

    source: str
    reasons: dict


def runnable(source):
    """Leave out the statements of a text that are not Python.

    Parameters
    ----------
    source : str

    Returns
    -------
    runnable : Runnable

    Examples
    --------
    >>> found = runnable("def f(x):\\n    return (x\\n\\n\\ndef g(x):\\n    return x\\n")
    >>> found.reasons
    {'f': "line 2: '(' was never closed: return (x"}
    >>> found.source
    '\\n\\n\\n\\ndef g(x):\\n    return x\\n'
    """
    if _error_in(source) is None:
        return Runnable(source, {})
    reasons = {}
    kept = []
    name = ""
    for block in _blocks(source.splitlines(keepends=True)):
        text = "".join(block)
        function = re.search(r"^def +(\w+)", text, re.M)
        name = function[1] if function else name
        error = _error_in(text)
        if error is not None:
            line = (error.text or "").strip()
            at = sum(map(len, kept)) + (error.lineno or 1)
            reasons[name] = f"line {at}: {error.msg}" + (f": {line}" if line else "")
            block = ["\n"] * len(block)
        kept.append(block)
    text = "".join(line for block in kept for line in block)
    error = _error_in(text)
    if error is not None:
        return Runnable("", {"": f"line {error.lineno}: {error.msg}"})
    return Runnable(text, reasons)


def _error_in(text):
    """Return the exception if a text is not Python, or None."""
    try:
        ast.parse(text)
    except SyntaxError as error:
        return error
    except ValueError as error:  # a null byte
        return SyntaxError(str(error), ("", 1, 1, ""))
    return None


def _blocks(lines):
    """Return the lines of each top-level statement, as far as a broken text shows them."""
    blocks = [[]]
    for line in lines:
        decorated = blocks[-1] and blocks[-1][-1].startswith("@")
        if STARTS.match(line) and not decorated:
            blocks.append([])
        blocks[-1].append(line)
    return [block for block in blocks if block]


def definitions(source):
    """Return the definitions of each function at the top level of a text.

    Parameters
    ----------
    source : str
        Python.

    Returns
    -------
    nodes : dict of str to list of ast.FunctionDef
    """
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).append(node)
    return found


def misfit(task, source, reference):
    """Return why a function of a text cannot take the place of the reference's, "" if it can.

    Parameters
    ----------
    task : ibpcl.classroom.assignments.assignment.Task
    source : str
        Text of the student's functions.
    reference : ast.FunctionDef
        The function that the task asks for.

    Returns
    -------
    reason : str
    """
    own = definitions(source).get(task.function, [])
    if len(own) > 1:
        lines = ", ".join(str(node.lineno) for node in own)
        return (
            f"{task.function} is defined {len(own)} times, in the lines {lines}: Python keeps the "
            "last one only; delete the others"
        )
    if not own or own[0].args.vararg or own[0].args.kwarg:
        return ""
    taken = {each.arg for each in (*own[0].args.args, *own[0].args.kwonlyargs)}
    optional = reference.args.args[len(reference.args.args) - len(reference.args.defaults) :]
    missing = [each.arg for each in optional if each.arg not in taken]
    if not missing:
        return ""
    names = ", ".join(missing)
    return (
        f"{task.function} must take {names}, as in the stub: later the method calls it with that "
        "argument"
    )
