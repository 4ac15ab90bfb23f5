"""Similarity of hand-ins, regardless of names, comments and layout: a flag for the teacher, never a
verdict.

Functions are compared as sequences of words, as :mod:`ibpcl.classroom.judging.normalizing` makes
them: without names, and without operations that change nothing.  Code that most hand-ins share is
left out.  Reading a text is bounded in time; one that is too long or too deep to be compared is
reported as such.
"""

import ast
import functools
import re
import sys
import zlib
from collections import Counter
from itertools import combinations
from pathlib import Path

from ibpcl.classroom.intake.collected import COLLECTED
from ibpcl.classroom.intake.students import folder_name
from ibpcl.classroom.judging.normalizing import normalized
from ibpcl.storage import read_json, read_text

PRIMITIVES = Path(__file__).parents[2] / "primitives"
LENGTH = 12  # words in a fingerprint: shorter ones recur by chance
SMALLEST = 40  # hand-ins with fewer fingerprints are not compared
MOST_CHARACTERS = 300_000  # characters of a text
MOST_NODES = 60_000  # nodes of its syntax tree: forty times as many as in a solution
MOST_FIELDS = 1e9  # characters times braces of a text with f-strings
TOO_LONG = "(too long to be compared)"
# In classes of ten or more, fingerprints in more than this share of hand-ins are ignored.
COMMON = 0.3


def pairs(sources, at_least=0.6):
    """Return pairs of hand-ins that look alike, the most similar first.

    Parameters
    ----------
    sources : dict of str to str
        Name to Python text.
    at_least : float
        Smallest share of the shorter hand-in's fingerprints that occur in the other one.

    Returns
    -------
    list of (str, str, float)
        Two names and the share.
    """
    prints = {name: fingerprints(text) for name, text in sources.items()}
    spread = Counter(each for group in prints.values() for each in group)
    limit = max(3, COMMON * len(prints)) if len(prints) >= 10 else len(prints) + 1
    prints = {
        name: {each for each in group if spread[each] <= limit} for name, group in prints.items()
    }
    similar = []
    for a, b in combinations(sorted(prints), 2):
        smaller = min(len(prints[a]), len(prints[b]))
        if smaller >= SMALLEST:
            share = len(prints[a] & prints[b]) / smaller
            if share >= at_least:
                similar.append((a, b, share))
    return sorted(similar, key=lambda item: -item[2])


def copied(sources, assignment, at_least=0.6):
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
    list of (str, str, float)
        Name, original and share; a text that cannot be compared has the original :data:`TOO_LONG`.
    """
    # its solution is mended exhibits
    handed_out = any(task.kind == "referee" for task in assignment.tasks)
    public = {
        f"the solution, variant {variant}": fingerprints(assignment.source(variant))
        for variant in assignment.variants
        if not handed_out
    }
    derivations = [fingerprints(read_text(path)) for path in sorted(PRIMITIVES.glob("*.py"))]
    public["ibpcl.primitives"] = set().union(*derivations)
    copies = []
    for student, own in ((name, fingerprints(text)) for name, text in sources.items()):
        share, original = max(
            (len(own & prints) / max(1, len(own)), name) for name, prints in public.items()
        )
        if len(own) >= SMALLEST and share >= at_least:
            copies.append((student, original, share))
    copies += [
        (name, TOO_LONG, 1.0) for name, text in sources.items() if _fingerprints(text) is None
    ]
    return sorted(copies, key=lambda item: -item[2])


def fingerprints(text):
    """Return the set of word sequences in the functions of a text.

    Parameters
    ----------
    text : str
        Python text.

    Returns
    -------
    set
        Empty if the text is not Python or too long.

    Examples
    --------
    >>> a = "def f(x):\\n    return x * 2 + x ** 3 - (x - 1) / (x + 4) * x"
    >>> fingerprints(a) == fingerprints(a.replace("x", "value")), len(fingerprints(a)) > 5
    (True, True)
    """
    return _fingerprints(text) or frozenset()


@functools.lru_cache(maxsize=1024)
def _fingerprints(text):
    """Return the fingerprints of a text, or None if it is too long to be compared."""
    try:
        tree = parsed(text)
    except SyntaxError:
        return frozenset()
    if tree is None:
        return None
    return frozenset(each for words in normalized(tree).values() for each in prints(words))


def prints(words):
    """Return the fingerprints of one function.

    Parameters
    ----------
    words : list of str
        The words of the function.

    Returns
    -------
    set of int
    """
    return {
        zlib.crc32("\0".join(words[at : at + LENGTH]).encode("utf-8", "replace"))
        for at in range(len(words) - LENGTH + 1)
    }


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
