"""Mutants: the reference solution with one slip, for comparison with a hand-in's values.

The slips are those of the assignment's own list that have words there, and those of the table of
usual slips.

Mutants run in the judge's process, and nothing of them reaches the hand-in.  A mutant that returns
the same numbers at every point identifies the mistake, and replaces the student's function wherever
that must be computed.
"""

import ast
import copy
import functools
import itertools
import warnings
from typing import NamedTuple

import numpy as np

from ibpcl.classroom.assignments import mistakes
from ibpcl.classroom.assignments.assignment import module as module_of
from ibpcl.codeview.planting import SENTENCES, places_in, planted
from ibpcl.codeview.rewrite import Edit, in_place
from ibpcl.codeview.syntax import name_of

MOST = 900  # mutants of one function: keeps the time below about a second


class Mutant(NamedTuple):
    """The reference with one slip.

    Attributes
    ----------
    kind : str
        Kind of the mistake.
    words : str
        Description for the student, without expressions.
    function : callable
        The function with the slip.
    """

    kind: str
    words: str
    function: object


def listed(assignment, task, variant):
    """Yield the mutants of an assignment's own list that it describes in words.

    Parameters
    ----------
    assignment : ibpcl.classroom.assignments.assignment.Assignment
        The assignment.
    task : ibpcl.classroom.assignments.assignment.Task
        The task whose mistakes are meant.
    variant : str
        Name of the variant.

    Yields
    ------
    Mutant
    """
    for mistake in mistakes.mistakes(assignment):
        here = (mistake.get("task"), mistake.get("variant", "base")) == (task.id, variant)
        if here and "words" in mistake:
            wrong = module_of(mistakes.planted(assignment, mistake), f"{assignment.name}_listed")
            yield Mutant(mistake["kinds"][0], mistake["words"], getattr(wrong, task.function))


def mutants_of(source, function, module, kept=()):
    """Yield the mutants of a function of the reference: slips in its body, then in its helpers.

    Parameters
    ----------
    source : str
        Text of the reference solution.
    function : str
        Name of the function.
    module : module
        The reference solution, whose other names the mutants use.
    kept : iterable of str
        Helpers that stay unchanged.

    Yields
    ------
    Mutant
    """
    try:
        for kind, code in copy.copy(_compiled(source, function, tuple(kept))):
            namespace = dict(vars(module))
            exec(code, namespace)
            yield Mutant(kind, SENTENCES[kind], namespace[function])
    except Exception:
        _compiled.cache_clear()  # an iterator that failed ends: the next hand-in needs a new one
        raise


@functools.lru_cache(maxsize=32)
def _compiled(source, function, kept):
    """Return an iterator over kind and code of each mutant; a copy of it shares what was made.

    Most mistakes are named by one of the first mutants, so each is made when it is first needed.
    """
    return itertools.tee(_codes(source, function, kept), 1)[0]


def _codes(source, function, kept):
    tree = ast.parse(source)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if function not in functions:
        return
    helpers = _helpers(function, functions, kept)
    chain = [functions[name] for name in helpers]
    edits = (
        edit
        for name in helpers
        for edit in (*planted(functions[name]), *_without_choices(functions[name]))
    )
    for edit in itertools.islice(edits, MOST):
        code = _code(chain, edit)
        if code is not None:
            yield edit.kind, code


def _helpers(function, functions, kept):
    """Return the function and the private helpers that it calls; the function comes first."""
    names = []
    waiting = [function]
    while waiting:
        name = waiting.pop(0)
        if name in names or name in kept:
            continue
        names.append(name)
        called = [node.id for node in ast.walk(functions[name]) if isinstance(node, ast.Name)]
        waiting += [each for each in called if each.startswith("_") and each in functions]
    return names


def _without_choices(function):
    """Yield the slip of a weighted mean in place of a choice by a threshold."""
    puts = []
    for slot in places_in(function):
        node = slot.node
        if isinstance(node, ast.Compare) and slot.field == "value":
            puts.append(in_place(slot, node.left))
        elif isinstance(node, ast.Call) and name_of(node.func) == "where" and len(node.args) == 3:
            weight, first, second = map(ast.unparse, node.args)
            mean = ast.parse(f"({weight}) * ({first}) + (1 - ({weight})) * ({second})")
            puts.append(in_place(slot, mean.body[0].value))
    if len(puts) > 1:
        yield Edit(4, "other_function", str, function, tuple(puts))


def _code(chain, edit):
    """Return the code of functions with a slip, or None if it is not valid Python."""
    undo = edit.swap()
    try:
        tree = ast.fix_missing_locations(ast.Module(list(chain), []))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            return compile(tree, "<mutant>", "exec")
    except (SyntaxError, ValueError, TypeError, RecursionError):
        return None
    finally:
        undo.swap()


def called(function, arguments):
    """Return the value of a function in the judge's process, or None if it raises an exception.

    Parameters
    ----------
    function : callable
        Any function, such as a mutant.
    arguments : sequence
        Its arguments.

    Returns
    -------
    object or None
    """
    with np.errstate(all="ignore"):
        try:
            return function(*arguments)
        except Exception:  # a mutant may do anything at all
            return None


def quietly(mutants):
    """Yield mutants while runtime warnings, which mutants often cause, are suppressed.

    Parameters
    ----------
    mutants : iterable of Mutant
        The mutants.

    Yields
    ------
    Mutant
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield from mutants
