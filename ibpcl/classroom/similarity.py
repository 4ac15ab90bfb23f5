"""Which hand-ins look alike, whatever their names, comments and layout: a flag for the teacher,
never a verdict.

Functions are compared as sequences of words, as :mod:`ibpcl.classroom.normalizing` makes them:
without names, and without operations that change nothing.  What every hand-in shares with the stub
is left out.  Reading a text is bounded in time; one that is too long or too deep to be compared is
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

from ibpcl.classroom.normalizing import normalized
from ibpcl.storage import read_text

PRIMITIVES = Path(__file__).parents[1] / "primitives"
LENGTH = 12  # nodes in a fingerprint: shorter ones recur by chance
SMALLEST = 40  # fingerprints in a hand-in to be compared at all
MOST_CHARACTERS = 300_000  # of a text
MOST_NODES = 60_000  # of its syntax tree: forty times as many as a solution has
MOST_FIELDS = 1e9  # characters times braces of a text with f-strings
TOO_LONG = "(too long to be compared)"
# a fingerprint in this share of hand-ins is common to all, from ten hand-ins on
COMMON = 0.3


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
    prints = {
        name: {each for each in found if spread[each] <= limit} for name, found in prints.items()
    }
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

    Returns
    -------
    list of (str, str, float)
        A text that cannot be compared is there with the original :data:`TOO_LONG`.
    """
    # its solution is mended exhibits
    handed_out = any(task.kind == "referee" for task in assignment.tasks)
    public = {
        f"the solution, form {form}": fingerprints(assignment.source(form))
        for form in assignment.forms
        if not handed_out
    }
    derivations = [fingerprints(read_text(path)) for path in sorted(PRIMITIVES.glob("*.py"))]
    public["ibpcl.primitives"] = set().union(*derivations)
    found = []
    for student, own in ((name, fingerprints(text)) for name, text in sources.items()):
        share, original = max(
            (len(own & prints) / max(1, len(own)), name) for name, prints in public.items()
        )
        if len(own) >= SMALLEST and share >= at_least:
            found.append((student, original, share))
    found += [
        (name, TOO_LONG, 1.0) for name, text in sources.items() if _fingerprints(text) is None
    ]
    return sorted(found, key=lambda item: -item[2])


def fingerprints(text):
    """Return the set of word sequences of the functions of a text; empty if it is not Python or too
    long.

    >>> a = "def f(x):\\n    return x * 2 + x ** 3 - (x - 1) / (x + 4) * x"
    >>> fingerprints(a) == fingerprints(a.replace("x", "value")), len(fingerprints(a)) > 5
    (True, True)
    """
    return _fingerprints(text) or frozenset()


@functools.lru_cache(maxsize=1024)
def _fingerprints(text):
    """Return the fingerprints of a text, None if it is too long to be compared."""
    try:
        tree = parsed(text)
    except SyntaxError:
        return frozenset()
    if tree is None:
        return None
    return frozenset(each for words in normalized(tree).values() for each in prints(words))


def prints(words):
    """Return the fingerprints of one function, given its words."""
    return {
        zlib.crc32("\0".join(words[at : at + LENGTH]).encode("utf-8", "replace"))
        for at in range(len(words) - LENGTH + 1)
    }


def parsed(text):
    """Return the syntax tree of a text, None if it is too long to be compared.

    Raises
    ------
    SyntaxError
        If it is not Python.
    """
    # Before Python 3.12, f-strings take a time that grows with the square of their length.
    formatted = sys.version_info < (3, 12) and re.search(r"[fF][rR]?['\"]", text)
    if len(text) > MOST_CHARACTERS or (formatted and len(text) * text.count("{") > MOST_FIELDS):
        return None
    try:
        tree = ast.parse(text)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(str(error)) from None
    return tree if sum(1 for _ in ast.walk(tree)) <= MOST_NODES else None


def sources(folder):
    """Return the texts that ``ibpcl class grade`` kept, by student."""
    return {path.parent.name: read_text(path) for path in sorted(folder.glob("*/handin.py"))}
