"""Mistakes planted into the gradient functions of a file, and their effect on the numbers.

The program runs in a child process (:mod:`ibpcl.sandbox`).  It loads a file of the copied project,
finds the gradient functions as ``ibpcl check`` does, and gets inputs for them: those that the file
declares, those with which the project's own tests call the forward, or a guess.  Each mistake of
:func:`ibpcl.codeview.planting.planted` is then judged by its numbers:

- a mistake that gives the same gradients at every point is *equivalent* and is left out;
- mistakes that give the same wrong gradients at every point are one mistake, since no test of the
  numbers tells them apart;
- a mistake that raises an exception at every point is left out, since every test that calls the
  function sees it.  Some points have square matrices, at which a missing transpose raises nothing.
"""

import ast
import inspect
import textwrap
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ibpcl.audit import compiled
from ibpcl.audit.comparing import compared, key_of
from ibpcl.audit.pasting import small, to_paste, wrong_in
from ibpcl.audit.points import families_of
from ibpcl.codeview.planting import SENTENCES
from ibpcl.codeview.rewrite import Edit
from ibpcl.codeview.syntax import text_of
from ibpcl.errors import UserError
from ibpcl.verify.adapters import discovery, loading
from ibpcl.verify.check import check_pair
from ibpcl.verify.derivative.clock import TimeUp
from ibpcl.verify.running.checking import first_lines
from ibpcl.verify.running.trap import Trap, limit

CHECKING = 20.0  # seconds to check the gradient without a mistake
COMPILING = compiled.COMPILING  # seconds for each statement of a file, which may compile a function


class Program:
    """The requests to the child process.

    Attributes
    ----------
    file : str
        Empty: an error of the program names no line.
    """

    file = ""

    def functions(self, path):
        """Return the names of the forward functions of a file, and the lines of all functions.

        Parameters
        ----------
        path : str
            The file, in the copy of the project.

        Returns
        -------
        dict
            ``targets``, names; ``forwards``, names of functions whose arguments are inputs;
            ``failures``, sentences about statements that raise.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loaded = loading.load(path, COMPILING)
            targets = discovery.targets_in(loaded.module)
        forwards = [_called(target, path) for target in targets.values()]
        return {
            "targets": list(targets),
            "forwards": [name for name in forwards if name],
            "failures": [str(failure) for failure in loaded.failures],
        }

    def plant(self, path, names, calls, seed, timeout, trying=0, without=()):
        """Plant mistakes into the gradient functions of a file, one function after another.

        Parameters
        ----------
        path : str
            The file, in the copy of the project.
        names : list of str
            The functions; all that have a gradient if empty.
        calls : dict of str to list of dict
            Arguments with which the project's tests call a function, by its name.
        seed : int
            Seed of the cotangents and of further points.
        timeout : float
            Seconds for each function.
        trying : int
            The number of mistakes that will be tried in each function; 0 for all.
        without : list of int
            Numbers of changes of the first function, if it is compiled, that end the process.

        Yields
        ------
        dict
            :meth:`Planted.to_dict` for each function, or ``state`` "left out" with a reason.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loaded = loading.load(path, COMPILING)
            targets = discovery.targets_in(loaded.module)
        for name in names or list(targets):
            target = discovery.find(targets, name)
            if target is None:
                yield {"name": name, "state": "left out", "words": "there is no such function"}
                continue
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                yield _of_target(loaded.module, target, path, calls, seed, timeout, trying, without)
            without = ()


def _called(target, path):
    """Return the qualified name of the function that takes the inputs of a target."""
    function = target.forward
    if target.kind is not None:
        function = getattr(target.kind, target.method)
    function = inspect.unwrap(getattr(function, "py_func", function))
    code = getattr(function, "__code__", None)
    own = code is not None and Path(code.co_filename).resolve() == Path(path).resolve()
    return code.co_qualname if own else ""


def _of_target(module, target, path, calls, seed, timeout, trying, without):
    """Return the message about one gradient function."""
    try:
        with Trap() as trap, limit(timeout), first_lines():
            given = calls.get(target.name, [])
            code = _in_file(module, target, path)
            families = None
            if code is None or not code.is_compiled:
                try:
                    families = families_of(module, target, given, seed)
                except (UserError, TypeError, ValueError, AttributeError):
                    if code is None:
                        raise
            if families is None:
                found = compiled.plant(
                    code, module, target, given, seed, trying, replaced, _of_edit, without
                )
                return {"name": target.name, "state": "planted", "note": "", **found}
            note = _note(families[0].points[0].problem)
            return {"name": target.name, "state": "planted", "note": note, **plant(families, path)}
    except TimeUp as up:
        return {"name": target.name, "state": "left out", "words": f"not judged: {up}"}
    reason = getattr(trap.error, "reason", None) or str(trap.error) or type(trap.error).__name__
    words = reason if isinstance(trap.error, UserError) else f"not judged: {reason}"
    return {"name": target.name, "state": "left out", "words": " ".join(words.split())}


def _in_file(module, target, path):
    """Return the functions of a pair that is changed in its file as a whole, else None.

    Numba compiles one of them, or a decorator has put another function around the gradient.
    """
    if target.gradient is None or target.kind is not None:
        return None
    code = compiled.Compiled(module, target, path)
    is_needed = code.is_compiled or code.is_wrapped
    return code if is_needed and code.name in code.own else None


def _of_edit(code, name, edit, replacements, results):
    """Return a mistake in a compiled function as a dict."""
    return _mutant(code, name, Planted(edit, replacements, results))


def _note(problem):
    """Return a remark if the gradient is wrong before any change."""
    with Trap():
        report = check_pair(
            problem.f,
            problem.f_vjp,
            problem.point,
            [problem.names[j] for j in problem.wrt],
            names=problem.names,
            timeout=CHECKING,
        )
        if report.verdict == "wrong":
            return "`ibpcl check` calls the gradient wrong at these inputs, before any change"
    return ""


def plant(families, path):
    """Return the mistakes in a gradient function, with their effects.

    Parameters
    ----------
    families : list of Family
        The points of comparison.
    path : str
        The file into which mistakes are planted.

    Returns
    -------
    dict
        ``planted``, ``equivalent``, ``repeated``, ``raising`` and ``forward``, numbers of mistakes;
        ``mutants``, one dict for each mistake that is left; ``line``, where the gradient function
        begins.

    Raises
    ------
    UserError
        If the source cannot be read.
    """
    code = families[0].backward
    if code is None:
        raise UserError("its source cannot be read as Python")
    names = [name for name in code.trees if name in _own(code, path)]
    if code.name not in names:
        raise UserError("its source is in another file")
    counts = dict.fromkeys(("planted", "equivalent", "repeated", "raising", "forward"), 0)
    seen = {}
    text = Path(path).read_text(encoding="utf-8")
    for name in names:
        if name in families[0].shared and name != code.name:
            continue  # a helper of the forward: a mistake in it changes the forward as well
        for n, (edit, _) in enumerate(families[0].edits(name)):
            verdict, results = compared(families, name, n)
            key = key_of(results)
            if verdict == "wrong" and key not in seen:
                replacements = code.repair(edit)
                if not replacements or not _is_faithful(code.trees[name], edit, replacements, text):
                    continue
                seen[key] = _mutant(code, name, Planted(edit, replacements, results))
            else:
                counts["repeated" if verdict == "wrong" else verdict] += 1
            counts["planted"] += 1
    return {
        **counts,
        "line": code.location(code.trees[code.name]).line,
        "mutants": list(seen.values()),
    }


def _own(code, path):
    """Return the functions of a source that are in a file."""
    file = Path(path).resolve()
    return {
        name
        for name, tree in code.trees.items()
        if Path(getattr(tree, "file", code.file)).resolve() == file
    }


def _is_faithful(tree, edit, replacements, text):
    """Return whether the changed text of the file is the changed function."""
    lines = replaced(text, replacements).splitlines(keepends=True)
    undo = edit.swap()
    try:
        wanted = [ast.dump(part) for part in tree.body]
    finally:
        undo.swap()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            part = "".join(lines[tree.lineno - 1 : tree.end_lineno])
            (made,) = ast.parse(textwrap.dedent(part)).body
    except (SyntaxError, ValueError):
        return False
    return [ast.dump(part) for part in made.body[-len(wanted) :]] == wanted


def replaced(text, replacements):
    """Return the text of a file with some parts replaced.

    Parameters
    ----------
    text : str
        The text.
    replacements : sequence of Replacement or dict
        Parts of the text, as places, and what stands there instead.

    Returns
    -------
    str
    """
    lines = text.splitlines(keepends=True)
    starts = np.concatenate([[0], np.cumsum([len(line) for line in lines])]).astype(int)
    parts = []
    for part in replacements:
        where = part.where
        begin = starts[where.line - 1] + where.column - 1
        end = starts[where.end_line - 1] + where.end_column - 1
        parts.append((int(begin), int(end), part.text))
    for begin, end, new in sorted(parts, reverse=True):
        text = text[:begin] + new + text[end:]
    return text


class Planted(NamedTuple):
    """A mistake whose gradients are wrong.

    Attributes
    ----------
    edit : Edit
        The change of the syntax tree.
    replacements : tuple of Replacement
        The change of the file.
    results : list of Result
        The gradients at each point.
    """

    edit: Edit
    replacements: tuple
    results: list


def _mutant(code, name, mistake):
    """Return a planted mistake as a dict, with a point at which it shows."""
    edit = mistake.edit
    far = max(result.far for result in mistake.results)
    best = min(
        mistake.results,
        key=lambda result: (
            result.far < far / 10,
            sum(map(np.size, result.point.problem.point)),
            -result.far,
        ),
    )
    shown = small(best)
    where = code.location(edit.node)
    parent, field, index, _ = edit.puts[0]
    old = getattr(parent, field) if index is None else getattr(parent, field)[index]
    new = edit.puts[0][3]
    return {
        "kind": edit.kind,
        "sentence": SENTENCES[edit.kind],
        "function": where.function,
        "line": where.line,
        "end_line": where.end_line,
        "statement": _statement(code.trees[name], edit.node.lineno),
        "old": text_of(old),
        "new": text_of(new),
        "places": len(edit.puts),
        "replacements": [
            {
                "line": part.where.line,
                "column": part.where.column,
                "end_line": part.where.end_line,
                "end_column": part.where.end_column,
                "text": part.text,
            }
            for part in mistake.replacements
        ],
        "off": _finite(far),
        "wrt": [name for name, _, _ in wrong_in(shown)],
        "paste": to_paste(shown),
    }


def _statement(tree, line):
    """Return the first and last line of the smallest statement with a line."""
    around = [
        (node.end_lineno - node.lineno, node.lineno, node.end_lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= node.end_lineno
    ]
    return list(min(around)[1:]) if around else [line, line]


def _finite(number):
    return float(number) if np.isfinite(number) else None
