"""Listings of the student's functions, with line numbers and marked lines of mistakes."""

import functools
import re
from typing import NamedTuple

LEAST_FOLDED = 2  # further lines of a docstring from which on it is folded
MOST_LINES = 200  # lines of one function that are shown
DEFINITION = re.compile(r"(?:async\s+)?def\s+(\w+)\s*\(")
QUOTES = re.compile("\"\"\"|'''")
PLACE = re.compile(r"\bline (\d{1,6}) of (?!code cell)")


class Line(NamedTuple):
    """A line of a listing.

    Attributes
    ----------
    number : int
        Number of the line in the hand-in.
    text : str
        The line.
    marked : bool
        Whether it is marked as the line of a mistake.
    documents : bool
        Whether it belongs to the docstring, which is folded.
    """

    number: int
    text: str
    marked: bool
    documents: bool = False


class Listing(NamedTuple):
    """A function of the hand-in.

    Attributes
    ----------
    lines : list of Line
        The lines, at most :data:`MOST_LINES`.
    cut : bool
        Whether more lines follow.
    """

    lines: list
    cut: bool


@functools.lru_cache(maxsize=4)
def functions(source):
    """Return the lines of the functions in a text.

    The text is not parsed, because some texts occupy a parser for minutes: a function ends before
    the next line that begins at the margin, outside of long strings.

    Parameters
    ----------
    source : str
        Python text.

    Returns
    -------
    dict of str to (int, int)
        Name to first and last line; of several definitions, the last one counts.

    Examples
    --------
    >>> functions("def f():\\n    return 1\\n\\nx = 2\\n")
    {'f': (1, 2)}
    """
    spans = {}
    name = ""
    first = 0
    last = 0
    quote = ""
    decorated = 0
    for number, line in enumerate(source.splitlines(), start=1):
        head = DEFINITION.match(line) if not quote else None
        at_margin = bool(line) and not quote and not line[0].isspace() and line[0] not in "#)]}"
        if name and at_margin:
            spans[name] = (first, last)
            name = ""
        if head:
            name = head[1]
            first = decorated or number
        if not quote and at_margin:
            decorated = (decorated or number) if line[0] == "@" else 0
        if name and line.strip() and (quote or not line.startswith("#")):
            last = number
        quote = _open_quote(line, quote)
    if name:
        spans[name] = (first, last)
    return spans


def _open_quote(line, quote):
    """Return the long quotation marks that are open after a line, given those open before it."""
    for mark in QUOTES.findall(line):
        if not quote:
            quote = mark
        elif mark == quote:
            quote = ""
    return quote


def marked_lines(sentences):
    """Return the numbers of the lines that sentences of the feedback name.

    Parameters
    ----------
    sentences : iterable of str
        Sentences of the feedback.

    Returns
    -------
    set of int

    Examples
    --------
    >>> sorted(marked_lines(["look at line 12 of ada.py", "raises ValueError in line 3 of ada.py"]))
    [3, 12]
    """
    return {int(number) for sentence in sentences for number in PLACE.findall(sentence)}


def listings(source, names, marked=()):
    """Return the listings of some functions of a hand-in.

    Parameters
    ----------
    source : str
        Text of the hand-in.
    names : sequence of str
        The functions to show, in this order; missing ones are skipped.
    marked : collection of int
        Numbers of the lines to mark.

    Returns
    -------
    list of Listing
    """
    spans = functions(source)
    lines = source.splitlines()
    return [_listing(lines, *spans[name], marked) for name in dict.fromkeys(names) if name in spans]


def _listing(lines, first, last, marked):
    """Return some lines as a listing."""
    end = min(last, first + MOST_LINES - 1)
    docstring = _docstring(lines, first, end)
    shown = [Line(at, lines[at - 1], at in marked, at in docstring) for at in range(first, end + 1)]
    return Listing(shown, cut=end < last)


def _docstring(lines, first, last):
    """Return the numbers of the lines of a long docstring."""
    begin = next(
        (at for at in range(first, last + 1) if lines[at - 1].rstrip().endswith(":")), last
    )
    begin += 1
    mark = QUOTES.search(lines[begin - 1]) if begin <= last else None
    if mark is None or lines[begin - 1].strip().lstrip("rRuUbB").find(mark[0]) != 0:
        return range(0)
    quote = ""
    for at in range(begin, last + 1):
        quote = _open_quote(lines[at - 1], quote)
        if not quote:
            return range(begin, at + 1) if at - begin >= LEAST_FOLDED else range(0)
    return range(0)
