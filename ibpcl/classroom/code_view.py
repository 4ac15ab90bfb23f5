"""The student's functions beside the verdict, with line numbers and the lines of mistakes marked."""

import ast
import re
from html import escape

MOST_LINES = 200            # of one function; what is longer is cut
PLACE = re.compile(r"\bline (\d{1,6}) of (?!code cell)")


def functions(source):
    """Return {name: (first line, last line)} of the functions of a text; the last definition counts.

    >>> functions("def f():\\n    return 1\\n")
    {'f': (1, 2)}
    """
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    return {node.name: (min([node.lineno, *(each.lineno for each in node.decorator_list)]),
                        node.end_lineno)
            for node in body if isinstance(node, ast.FunctionDef)}


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
    return "".join(_listing(lines, *spans[name], marked) for name in dict.fromkeys(names)
                   if name in spans)


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
