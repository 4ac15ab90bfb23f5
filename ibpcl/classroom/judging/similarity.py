"""Similarity of hand-ins, regardless of names, order and noise: a flag for the teacher, never a
verdict.

Functions are compared by their data flow, as :mod:`ibpcl.classroom.judging.dataflow` makes it.
What all students are given is left out, and what many have counts less.  Reading a text is bounded
in time; one that is too long or too deep to be compared is reported as such.
"""

import ast
import csv
import functools
import io
import math
import re
import sys
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from ibpcl.classroom.intake.collected import COLLECTED
from ibpcl.classroom.intake.students import folder_name
from ibpcl.classroom.judging import dataflow
from ibpcl.storage import read_json, read_text, write_bytes, zipped

PRIMITIVES = Path(__file__).parents[2] / "primitives"
SMALLEST = 12  # hand-ins with fewer fingerprints are not compared
ALIKE = 0.6  # share of the weight in common from which on hand-ins look alike
SAME = 0.8  # share of its fingerprints from which on one function looks like another
MOST_CHARACTERS = 300_000  # characters of a text
MOST_NODES = 60_000  # nodes of its syntax tree: forty times as many as in a solution
MOST_FIELDS = 1e9  # characters times braces of a text with f-strings
TOO_LONG = "(too long to be compared)"


class Pair(NamedTuple):
    """Two hand-ins, or a hand-in and published code, that look alike.

    Attributes
    ----------
    first, second : str
        Their names.
    share : float
        Share of the weight of the smaller one's fingerprints that both have.
    functions : tuple of str
        Functions of the first whose data flow the second has as well.
    """

    first: str
    second: str
    share: float
    functions: tuple = ()


class Cluster(NamedTuple):
    """Hand-ins that look alike, directly or by way of others.

    Attributes
    ----------
    names : tuple of str
        Their names, and the names of published code.
    share : float
        The largest share in common.
    functions : tuple of str
        Functions that look alike in some pair.
    """

    names: tuple
    share: float
    functions: tuple


def pairs(sources, at_least=ALIKE, given=frozenset()):
    """Return pairs of hand-ins that look alike, the most similar first.

    A fingerprint that k of n hand-ins have has the weight log(1 + n / k), so what many have counts
    less, and what a large part of the class has copied still counts.

    Parameters
    ----------
    sources : dict of str to str
        Name to Python text.
    at_least : float
        Smallest share of the weight of the smaller hand-in's fingerprints that both have.
    given : frozenset of int
        Fingerprints of the stub, which all students have.

    Returns
    -------
    list of Pair
    """
    prints = {name: fingerprints(text) - given for name, text in sources.items()}
    spread = Counter(each for group in prints.values() for each in group)
    weight = {each: math.log(1 + len(prints) / count) for each, count in spread.items()}
    total = {name: sum(map(weight.__getitem__, group)) for name, group in prints.items()}
    found = []
    for first, second in combinations(sorted(prints), 2):
        if min(len(prints[first]), len(prints[second])) >= SMALLEST:
            common = sum(map(weight.__getitem__, prints[first] & prints[second]))
            share = common / min(total[first], total[second])
            if share >= at_least:
                same = _same_functions(sources[first], prints[second], given)
                found.append(Pair(first, second, share, same))
    return sorted(found, key=lambda pair: -pair.share)


def copied(sources, assignment, at_least=ALIKE):
    """Return hand-ins that look like published code.

    Published code is the reference of the assignment in every variant, and the package's own
    derivations.

    Parameters
    ----------
    sources : dict of str to str
        Name to Python text.
    assignment : Assignment
        The assignment.
    at_least : float
        Smallest share of the hand-in's fingerprints that occur in a published text.

    Returns
    -------
    list of Pair
        The second is the original; a text that cannot be compared has the original
        :data:`TOO_LONG`.
    """
    free = given(assignment)
    public = {
        f"the solution, variant {variant}": fingerprints(assignment.source(variant)) - free
        for variant in assignment.variants
    }
    derivations = [fingerprints(read_text(path)) for path in sorted(PRIMITIVES.glob("*.py"))]
    public["ibpcl.primitives"] = frozenset().union(*derivations) - free
    found = [
        Pair(name, TOO_LONG, 1.0) for name, text in sources.items() if _functions(text) is None
    ]
    for student, text in sources.items():
        own = fingerprints(text) - free
        share, original = max(
            (len(own & prints) / max(1, len(own)), name) for name, prints in public.items()
        )
        if len(own) >= SMALLEST and share >= at_least:
            same = _same_functions(text, public[original], free)
            found.append(Pair(student, original, share, same))
    return sorted(found, key=lambda pair: -pair.share)


def clusters(found):
    """Return the groups that pairs form.

    Parameters
    ----------
    found : iterable of Pair
        The pairs.

    Returns
    -------
    list of Cluster
        The largest first.

    Examples
    --------
    >>> [c.names for c in clusters([Pair("a", "b", 0.9), Pair("c", "d", 0.8), Pair("b", "e", 0.7)])]
    [('a', 'b', 'e'), ('c', 'd')]
    """
    group = {}
    for pair in found:
        joined = group.get(pair.first, {pair.first}) | group.get(pair.second, {pair.second})
        group |= dict.fromkeys(joined, joined)
    members = defaultdict(list)
    for pair in found:
        members[tuple(sorted(group[pair.first]))].append(pair)
    made = [
        Cluster(
            names,
            max(pair.share for pair in inside),
            tuple(sorted({name for pair in inside for name in pair.functions})),
        )
        for names, inside in members.items()
    ]
    return sorted(made, key=lambda each: (-len(each.names), -each.share, each.names))


def of_class(sources, assignment, at_least=ALIKE):
    """Return the pairs of a class: with published code, and of hand-ins.

    Parameters
    ----------
    sources : dict of str to str
        Name to Python text.
    assignment : Assignment
        The assignment.
    at_least : float
        Smallest share in common.

    Returns
    -------
    list of Pair
    """
    return [
        *copied(sources, assignment, at_least),
        *pairs(sources, at_least, given(assignment)),
    ]


def given(assignment):
    """Return the fingerprints of the stub, which all students of an assignment have.

    Parameters
    ----------
    assignment : Assignment
        The assignment.

    Returns
    -------
    frozenset of int
        Those of a referee's pairs; the functions of other stubs are empty.
    """
    is_referee = any(task.kind == "referee" for task in assignment.tasks)
    return fingerprints(assignment.source()) if is_referee else frozenset()


def write_dolos(sources, assignment, path):
    """Write a zip for Dolos, which compares texts and draws their clusters.

    Parameters
    ----------
    sources : dict of str to str
        Name to Python text.
    assignment : Assignment
        The assignment.
    path : path-like
        The zip: a file for each hand-in, and ``info.csv`` with their names.
    """
    table = io.StringIO()
    rows = csv.writer(table)
    rows.writerow(("filename", "full_name", "id", "labels"))
    files = {}
    for number, (name, text) in enumerate(sorted(sources.items()), 1):
        files[f"{number:04}.py"] = text
        rows.writerow((f"{number:04}.py", name, name, assignment.name))
    write_bytes(path, zipped({"info.csv": table.getvalue(), **files}))


def fingerprints(text):
    """Return the fingerprints of all functions of a text.

    Parameters
    ----------
    text : str
        Python text.

    Returns
    -------
    frozenset of int
        Empty if the text is not Python or too long.

    Examples
    --------
    >>> a = "def f(x):\\n    return x * 2 + x ** 3 - (x - 1) / (x + 4) * x"
    >>> fingerprints(a) == fingerprints(a.replace("x", "value")), len(fingerprints(a)) > 3
    (True, True)
    """
    return frozenset().union(*(_functions(text) or {}).values())


def _same_functions(text, prints, given):
    """Return the functions of a text whose fingerprints a hand-in has as well."""
    return tuple(
        name
        for name, own in _functions(text).items()
        if (rest := own - given) and len(rest & prints) >= SAME * len(rest)
    )


@functools.lru_cache(maxsize=1024)
def _functions(text):
    """Return the fingerprints of each function, or None if a text is too long to be compared."""
    try:
        tree = parsed(text)
        return None if tree is None else dataflow.fingerprints(tree)
    except (SyntaxError, RecursionError):
        return {}


def parsed(text):
    """Return the syntax tree of a text, or None if it is too long to be compared.

    Parameters
    ----------
    text : str
        Python text.

    Returns
    -------
    ast.Module or None

    Raises
    ------
    SyntaxError
        If it is not Python.
    """
    # Before Python 3.12, parsing an f-string takes quadratic time in its length.
    formatted = sys.version_info < (3, 12) and re.search(r"[fF][rR]?['\"]", text)
    if len(text) > MOST_CHARACTERS or (formatted and len(text) * text.count("{") > MOST_FIELDS):
        return None
    try:
        tree = ast.parse(text)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(str(error)) from None
    return tree if sum(1 for _ in ast.walk(tree)) <= MOST_NODES else None


def sources(folder):
    """Return the texts that ``ibpcl class grade`` stored.

    Parameters
    ----------
    folder : path-like
        Folder of results.

    Returns
    -------
    dict of str to str
        Student to Python text; of a group, the first member.
    """
    table = read_json(folder / COLLECTED) if (folder / COLLECTED).exists() else {}
    groups = [each.get("group", ()) for each in table.get("students", ())]
    others = {folder_name(student) for group in groups for student in group[1:]}
    return {
        path.parent.name: read_text(path)
        for path in sorted(folder.glob("*/handin.py"))
        if path.parent.name not in others
    }
