"""Mutants: the reference solution with one slip, to be compared with what a hand-in returns.

They run on the judge's side; nothing of them reaches the hand-in.  A mutant that returns the same
numbers at every point shows which mistake was made, and stands for the student's function wherever
that must be computed.
"""

import ast
import warnings
from typing import NamedTuple

import numpy as np

from ibpcl.classroom.slips import slips_of

MOST = 900  # mutants of one function: keeps the time below about a second


class Mutant(NamedTuple):
    """The reference with one slip."""

    kind: str  # of the mistake
    words: str  # for the student, without expressions
    function: object  # callable


def mutants_of(source, function, module, kept=()):
    """Yield the mutants of a function of the reference, those of its own body before those of its
    helpers.

    Parameters
    ----------
    source : str
        Text of the reference solution.
    function : str
        Name of the function.
    module : module
        The reference solution, whose other names the mutants use.
    kept : iterable of str
        Functions that stay as they are.
    """
    tree = ast.parse(source)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if function not in functions:
        return
    helpers = _helpers(function, functions, kept)
    chain = [functions[name] for name in helpers]
    count = 0
    for name in helpers:
        for slip in slips_of(functions[name]):
            if count >= MOST:
                return
            count += 1
            made = _made(chain, slip, module, function)
            if made is not None:
                yield Mutant(slip.kind, slip.words, made)


def _helpers(function, functions, kept):
    """Return the function and the private helpers that it calls, itself first."""
    found = []
    waiting = [function]
    while waiting:
        name = waiting.pop(0)
        if name in found or name in kept:
            continue
        found.append(name)
        called = [node.id for node in ast.walk(functions[name]) if isinstance(node, ast.Name)]
        waiting += [each for each in called if each.startswith("_") and each in functions]
    return found


def _made(chain, slip, module, function):
    """Return the function with a slip, or None if that is not valid Python."""
    old = [slot.put(new) for slot, new in zip(slip.slots, slip.new, strict=True)]
    try:
        tree = ast.fix_missing_locations(ast.Module(list(chain), []))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            code = compile(tree, "<mutant>", "exec")
    except (SyntaxError, ValueError, TypeError, RecursionError):
        return None
    finally:
        for slot, node in zip(reversed(slip.slots), reversed(old), strict=True):
            slot.put(node)
    namespace = dict(vars(module))
    exec(code, namespace)
    return namespace[function]


def called(function, arguments):
    """Return what a function of the judge's side returns, or None if it raises or is not a
    value.
    """
    with np.errstate(all="ignore"):
        try:
            return function(*arguments)
        except Exception:  # a mutant may do anything at all
            return None


def quietly(mutants):
    """Yield mutants while NumPy's warnings, which their nonsense causes, are not shown."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield from mutants
