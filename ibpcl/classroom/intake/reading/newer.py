"""Explanations of syntax errors that come from another version of Python."""

import re
import sys

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
# Pattern of a line, the first version that accepts it, and how to write it for all versions.
NEWER = (
    (
        re.compile(r"^\s*type\s+[A-Za-z_]\w*\s*(\[.*\])?\s*="),
        (3, 12),
        "`type X = ...`",
        "write X = ...",
    ),
    (
        re.compile(r"^\s*(async\s+)?def\s+\w+\s*\["),
        (3, 12),
        "a type parameter `def f[T]`",
        "leave out the brackets",
    ),
    (
        re.compile(r"^\s*class\s+\w+\s*\["),
        (3, 12),
        "a type parameter `class A[T]`",
        "leave out the brackets",
    ),
    (
        re.compile(r"^\s*except\*?\s+\w[\w.]*(\s*,\s*\w[\w.]*)+\s*:"),
        (3, 14),
        "`except A, B:` without parentheses",
        "write except (A, B):",
    ),
    (
        re.compile(r"(?i)(^|[\s(=,\[{+])(t|rt|tr)(\"|')"),
        (3, 14),
        "a template string t\"...\"",
        "write f\"...\"",
    ),
)
QUOTED = re.compile(r"(?i)(^|[^\w])(f|rf|fr)(\"\"\"|'''|\"|')")


def newer_syntax(source, error):
    """Return an explanation of a syntax error if another version of Python accepts the line.

    Parameters
    ----------
    source : str
        Python text.
    error : SyntaxError
        The error.

    Returns
    -------
    str
        Empty if no other version accepts it.
    """
    lines = source.split("\n")
    number = error.lineno or 0
    line = lines[number - 1] if 0 < number <= len(lines) else ""
    for pattern, since, what, instead in NEWER:
        if sys.version_info < since and pattern.search(line):
            return _words(what, since, instead)
    if (
        sys.version_info < (3, 12)
        and QUOTED.search(line)
        and ("f-string" in (error.msg or "") or _nested(line))
    ):
        return _words(
            "an f-string with the same quotes or a backslash inside its braces",
            (3, 12),
            "use other quotes inside, or name the value first",
        )
    if re.match(r"\s*(print|exec)\s+[^\s(=]", line):
        return f"{error.msg} (Python 2 is read by no Python 3)" if error.msg else ""
    if "unicodeescape" in (error.msg or ""):
        return f"{error.msg}: write r before the quotes of a text with backslashes"
    return ""


def _words(what, since, instead):
    return f"{what} needs Python {since[0]}.{since[1]}, newer than this Python {VERSION}: {instead}"


def _nested(line):
    """Return whether an f-string has its own quotes inside its braces."""
    for match in QUOTED.finditer(line):
        quotes = match[3]
        rest = line[match.end() :]
        opened = rest.find("{")
        closing = rest.find(quotes)
        if 0 <= opened < closing and "}" not in rest[opened:closing]:
            return True
    return False
