"""Listings of the student's functions, with line numbers and marked lines of mistakes."""

import functools
import re
from html import escape

MOST_LINES = 200  # lines of one function that are shown
DEFINITION = re.compile(r"(?:async\s+)?def\s+(\w+)\s*\(")
QUOTES = re.compile("\"\"\"|'''")
PLACE = re.compile(r"\bline (\d{1,6}) of (?!code cell)")


@functools.lru_cache(maxsize=4)
def functions(source):
    """Return {name: (first line, last line)} of the functions of a text; the last definition
    counts.

    The text is not parsed, since there are texts that keep a parser busy for minutes: a function
    reaches to the next line that begins at the margin, outside of long strings.

    >>> functions("def f():\\n    return 1\\n\\nx = 2\\n")
    {'f': (1, 2)}
    """
    found = {}
    name = ""
    first = 0
    last = 0
    quote = ""
    decorated = 0
    for number, line in enumerate(source.splitlines(), start=1):
        head = DEFINITION.match(line) if not quote else None
        at_margin = bool(line) and not quote and not line[0].isspace() and line[0] not in "#)]}"
        if name and at_margin:
            found[name] = (first, last)
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
        found[name] = (first, last)
    return found


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

    >>> sorted(marked_lines(["look at line 12 of ada.py", "raises ValueError in line 3 of ada.py"]))
    [3, 12]
    """
    return {int(number) for sentence in sentences for number in PLACE.findall(sentence)}


def shown(source, names, marked=()):
    """Return functions of a hand-in as HTML; an empty string where it has none of them.

    Parameters
    ----------
    source : str
    names : sequence of str
        The functions that are shown, in this order.
    marked : collection of int
        Lines that are marked.
    """
    spans = functions(source)
    lines = source.splitlines()
    return "".join(
        _listing(lines, *spans[name], marked) for name in dict.fromkeys(names) if name in spans
    )


def _listing(lines, first, last, marked):
    """Return some lines as a list with their numbers."""
    rows = []
    for number in range(first, min(last, first + MOST_LINES - 1) + 1):
        kind = ' class="marked"' if number in marked else ""
        label = " <span class='sr'>(marked)</span>" if number in marked else ""
        rows.append(f'<span{kind}><i>{number}</i>{escape(lines[number - 1])}{label}</span>')
    if last - first >= MOST_LINES:
        rows.append("<span><i></i>...</span>")
    return f'<pre class="listing">{"".join(rows)}</pre>'
