"""Which hand-ins look alike, whatever their names, comments and layout: a flag for the teacher, never a verdict.

Functions are compared as sequences of the kinds of nodes of their syntax trees, with constants and operators but
without names.  What every hand-in shares with the stub is left out.
"""

import ast
from collections import Counter
from itertools import combinations
from pathlib import Path

from ibpcl.storage import read_text

PRIMITIVES = Path(__file__).parents[1] / "primitives"
LENGTH = 12                 # nodes in a fingerprint: shorter ones recur by chance
SMALLEST = 40               # fingerprints in a hand-in to be compared at all
COMMON = 0.3                # a fingerprint in this share of hand-ins is common to all, from ten hand-ins on


def pairs(sources, at_least=0.6):
    """Return pairs of hand-ins that look alike as (name, name, share), the most alike first.

    Parameters
    ----------
    sources : dict of str to str
        Name to Python text.
    at_least : float
        Share of the shorter hand-in's fingerprints that are in the other one.
    """
    prints = {name: fingerprints(text) for name, text in sources.items()}
    spread = Counter(each for found in prints.values() for each in found)
    limit = max(3, COMMON * len(prints)) if len(prints) >= 10 else len(prints) + 1
    prints = {name: {each for each in found if spread[each] <= limit} for name, found in prints.items()}
    found = []
    for a, b in combinations(sorted(prints), 2):
        smaller = min(len(prints[a]), len(prints[b]))
        if smaller >= SMALLEST:
            share = len(prints[a] & prints[b]) / smaller
            if share >= at_least:
                found.append((a, b, share))
    return sorted(found, key=lambda item: -item[2])


def copied(sources, assignment, at_least=0.6):
    """Return hand-ins that look like what is public: (name, original, share).

    Parameters
    ----------
    sources : dict of str to str
    assignment : Assignment
        Its reference in every form is public, and so are the package's own derivations.
    at_least : float
        Share of the hand-in's fingerprints that are in one of these.
    """
    handed_out = any(task.kind == "referee" for task in assignment.tasks)     # its solution is mended exhibits
    public = {f"the solution, form {form}": fingerprints(assignment.source(form))
              for form in assignment.forms if not handed_out}
    derivations = [fingerprints(read_text(path)) for path in sorted(PRIMITIVES.glob("*.py"))]
    public["ibpcl.primitives"] = set().union(*derivations)
    found = []
    for student, own in ((name, fingerprints(text)) for name, text in sources.items()):
        share, original = max((len(own & prints) / max(1, len(own)), name) for name, prints in public.items())
        if len(own) >= SMALLEST and share >= at_least:
            found.append((student, original, share))
    return sorted(found, key=lambda item: -item[2])


def fingerprints(text):
    """Return the set of node sequences of the functions of a text; empty if it is not Python.

    >>> a = "def f(x):\\n    return x * 2 + x ** 3 - (x - 1) / (x + 4) * x"
    >>> fingerprints(a) == fingerprints(a.replace("x", "value")), len(fingerprints(a)) > 5
    (True, True)
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    found = set()
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            nodes = [_name(node) for line in _body(function) for node in ast.walk(line)]
            found.update(hash(tuple(nodes[at:at + LENGTH])) for at in range(len(nodes) - LENGTH + 1))
    return found


def sources(folder):
    """Return the texts that ``ibpcl class grade`` kept, by student."""
    return {path.parent.name: read_text(path) for path in sorted(folder.glob("*/handin.py"))}


def _body(function):
    return function.body[1:] if ast.get_docstring(function) is not None else function.body


def _name(node):
    if isinstance(node, ast.Constant):
        return repr(node.value)[:20]
    if isinstance(node, ast.Attribute):
        return node.attr
    return type(node).__name__
