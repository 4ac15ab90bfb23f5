"""Independent proofs: while a proof runs, the functions that it must not use raise an exception.

The hand-in's text is changed before it is loaded for the proof: the body of each such function
becomes an exception. So all other references to the function raise it, too: aliases, default
arguments, closures, partial functions, copies of its code.  A copy of its text under another name
still runs; :func:`copies` flags it.
"""

import ast
from typing import NamedTuple

from ibpcl.classroom.judging import dataflow, similarity

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
ALIKE = 0.6  # share of a function's fingerprints that the proof has as well
SMALLEST = 5  # fingerprints of a function that can be compared
WRAPPERS = ("partial", "vectorize", "wraps", "staticmethod", "cache", "lru_cache", "frompyfunc")


class Change(NamedTuple):
    """A replacement of a range of bytes, which keeps the line ends in the range.

    Attributes
    ----------
    start, end : int
        The range.
    opening, closing : str
        Text before and after the line ends.
    """

    start: int
    end: int
    opening: str
    closing: str


def without(source, names, proof):
    """Return a text in which some functions raise an exception.

    Parameters
    ----------
    source : str
        Python text.
    names : sequence of str
        Functions that the proof must not use, directly or under another name.
    proof : str
        Name of the proof, for the message.

    Returns
    -------
    str
        Python text with the same line numbers.

    Examples
    --------
    >>> print(without("def kl(x):\\n    return x\\n_same = kl", ["kl"],
    ...     "proof"))  # doctest: +ELLIPSIS
    def kl(*_, **__): raise RuntimeError('proof must not use kl: ...')
    <BLANKLINE>
    _same = kl
    """
    tree = ast.parse(source)
    forbidden = implementers(tree, names)
    message = f"{proof} must not use {' or '.join(names)}: it is a second, independent way"
    lines = source.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    changes = []
    for node in module_level(tree):
        name = getattr(node, "name", "")
        if isinstance(node, DEFINITIONS) and name in forbidden:
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            start = starts[first - 1] + _indentation(lines[first - 1])
            text = f"def {name}(*_, **__): raise RuntimeError({message!r})"
            changes.append(Change(start, _end(node, starts), text, ""))
        for target, value in assignments(node):
            if target in forbidden and not isinstance(value, ast.Name):
                start = starts[value.lineno - 1] + value.col_offset
                text = f"(lambda *_, **__: (_ for _ in ()).throw(RuntimeError({message!r}))"
                changes.append(Change(start, _end(value, starts), text, ")"))
    return _changed(source.encode(), changes).decode()


def copies(source, names, proof):
    """Return the forbidden functions whose text a proof repeats under other names.

    Parameters
    ----------
    source : str
        Python text.
    names : sequence of str
        Functions that the proof must not use.
    proof : str
        Name of the proof.

    Returns
    -------
    list of str
        Those of ``names`` that the proof, or a function that it calls, repeats.
    """
    tree = similarity.parsed(source)
    if tree is None:
        return []
    prints = dataflow.fingerprints(tree)
    used = reachable(bindings(tree), proof) - set(names)
    own = frozenset().union(*(prints.get(name, ()) for name in used))
    repeated = [
        name
        for name in names
        if len(theirs := prints.get(name, ())) >= SMALLEST
        and len(theirs & own) >= ALIKE * len(theirs)
    ]
    return repeated


def bindings(tree):
    """Return the names that a module defines, with the function, class or value bound last.

    Parameters
    ----------
    tree : ast.Module
        Syntax tree of the text.

    Returns
    -------
    dict of str to ast.AST

    Examples
    --------
    >>> {name: type(node).__name__ for name, node in bindings(ast.parse("f = g = h(1)")).items()}
    {'f': 'Call', 'g': 'Call'}
    """
    bound = {}
    nodes = sorted(module_level(tree), key=lambda node: getattr(node, "lineno", 0))
    for node in nodes:
        if isinstance(node, (*DEFINITIONS, ast.ClassDef)):
            bound[node.name] = node
        if isinstance(node, ast.Assign):
            targets = [each for target in node.targets for each in ast.walk(target)]
            bound |= {each.id: node.value for each in targets if isinstance(each, ast.Name)}
        bound |= dict(assignments(node))
    return bound


def reachable(bound, start, without=()):
    """Return the names of a module that one of them uses, directly or indirectly, and itself.

    Parameters
    ----------
    bound : dict of str to ast.AST
        As :func:`bindings` returns it.
    start : str
        The name.
    without : collection of str
        Names whose definitions are not followed.

    Returns
    -------
    set of str
    """
    met = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name in bound and name not in met:
            met.add(name)
            if name == start or name not in without:
                waiting += [each.id for each in ast.walk(bound[name]) if isinstance(each, ast.Name)]
    return met


def implementers(tree, names):
    """Return the names, and those of the functions that they alias or wrap.

    Parameters
    ----------
    tree : ast.Module
        Syntax tree of the text.
    names : sequence of str
        Functions.

    Returns
    -------
    set of str
    """
    functions = {node.name: node for node in module_level(tree) if isinstance(node, DEFINITIONS)}
    values = {}
    for node in module_level(tree):
        for target, value in assignments(node):
            values.setdefault(target, []).append(value)
    implementers = set(names)
    new = list(names)
    while new:
        name = new.pop()
        behind = [each for value in values.get(name, ()) for each in _behind(value)]
        if name in functions:
            behind += _wrapped(functions[name])
        fresh = {each for each in behind if each in functions or each in values} - implementers
        implementers |= fresh
        new += fresh
    return implementers


def _wrapped(function):
    """Return the functions that a function of one statement merely calls."""
    body = (
        function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    )
    only = body[0] if len(body) == 1 else None
    return _behind(only.value) if isinstance(only, ast.Return) and only.value is not None else []


def _behind(value):
    """Return the names of the functions behind a name, a call or a wrapper."""
    if isinstance(value, ast.Name):
        return [value.id]
    if isinstance(value, ast.Lambda):
        return _behind(value.body)
    if isinstance(value, (ast.Subscript, ast.Starred)):
        return _behind(value.value)
    if isinstance(value, ast.Tuple):
        return [name for each in value.elts if isinstance(each, ast.Call) for name in _behind(each)]
    if isinstance(value, ast.Call):
        function = value.func
        last = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        wrapped = value.args[:1] if last in WRAPPERS else []
        return _behind(function) + [name for each in wrapped for name in _behind(each)]
    return []


def module_level(tree):
    """Yield the statements that run when the module is loaded: also those under ``if``, ``try`` and
    in classes.

    Parameters
    ----------
    tree : ast.Module
        Syntax tree of the text.

    Yields
    ------
    ast.AST
    """
    waiting = list(tree.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, DEFINITIONS):
            waiting += [
                each
                for each in ast.iter_child_nodes(node)
                if isinstance(each, (ast.stmt, ast.ExceptHandler, ast.match_case))
            ]


def assignments(node):
    """Return the names to which a statement assigns.

    Parameters
    ----------
    node : ast.AST
        The statement.

    Returns
    -------
    list of (str, ast.AST)
        Name and value.
    """
    if isinstance(node, ast.Assign):
        pairs = [pair for target in node.targets for pair in _pairs(target, node.value)]
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        pairs = _pairs(node.target, node.value)
    else:
        pairs = []
    walrus = (
        [(each.target.id, each.value) for each in ast.walk(node) if isinstance(each, ast.NamedExpr)]
        if isinstance(node, (ast.Expr, ast.Assign))
        else []
    )
    return pairs + walrus


def _pairs(target, value):
    if isinstance(target, ast.Name):
        return [(target.id, value)]
    if (
        isinstance(target, ast.Tuple)
        and isinstance(value, ast.Tuple)
        and len(target.elts) == len(value.elts)
    ):
        return [pair for a, b in zip(target.elts, value.elts, strict=True) for pair in _pairs(a, b)]
    return []


def _indentation(line):
    return len(line) - len(line.lstrip())


def _end(node, starts):
    return starts[node.end_lineno - 1] + node.end_col_offset


def _changed(text, changes):
    """Return the bytes with the ranges replaced; ranges inside other ranges are skipped."""
    pieces = []
    reached = 0
    for change in sorted(changes, key=lambda each: (each.start, -each.end)):
        if change.start >= reached:
            ends = b"\n" * text.count(b"\n", change.start, change.end)
            pieces += [
                text[reached : change.start],
                change.opening.encode(),
                ends,
                change.closing.encode(),
            ]
            reached = change.end
    return b"".join([*pieces, text[reached:]])
