r"""LaTeX in strings that are not raw, where ``"\theta"`` begins with a tab for Python.

The stubs of earlier versions have the derivation in such a string.  A backslash that begins a LaTeX
command there is doubled, so that Python reads the intended text.  Line numbers do not change; a
text that is already escaped stays unchanged.
"""

import re

START = re.compile(
    r"^DERIVATION[ \t]*(?::[ \t]*str[ \t]*)?=[ \t]*\(?\s*(?P<prefix>[A-Za-z]{0,2})"
    r"(?P<quotes>\"\"\"|'''|\"|')",
    re.MULTILINE,
)
# Commands that begin like Python's escapes for a newline and a tab.
COMMANDS = frozenset(
    (
        "nabla",
        "natural",
        "ne",
        "nearrow",
        "neg",
        "neq",
        "newcommand",
        "newline",
        "newpage",
        "nexists",
        "ngeq",
        "ni",
        "nicefrac",
        "nleq",
        "nmid",
        "noindent",
        "nolimits",
        "nonumber",
        "norm",
        "normalsize",
        "not",
        "notag",
        "notin",
        "nparallel",
        "nsubseteq",
        "nu",
        "nwarrow",
        "tag",
        "tan",
        "tanh",
        "tau",
        "tbinom",
        "tcolorbox",
        "text",
        "textbf",
        "textit",
        "textnormal",
        "textrm",
        "textsc",
        "textsf",
        "textstyle",
        "texttt",
        "textup",
        "tfrac",
        "th",
        "therefore",
        "theta",
        "thetaup",
        "thinspace",
        "tilde",
        "times",
        "tiny",
        "title",
        "to",
        "top",
        "tr",
        "trace",
        "triangle",
        "triangleleft",
        "triangleq",
        "triangleright",
    )
)
# Python's escapes for a bell, a backspace and the like, which students never intend
ALWAYS = "abfrv"


def mended(source):
    """Return a program with the LaTeX commands of its derivation escaped.

    Parameters
    ----------
    source : str
        Python text.

    Returns
    -------
    str
    """
    pieces = []
    at = 0
    for match in START.finditer(source):
        if match.start() < at:
            continue
        end = _end(source, match.end(), match["quotes"])
        if end is None or match["prefix"].lower() not in ("", "u"):
            continue
        pieces += [source[at : match.end()], _doubled(source[match.end() : end])]
        at = end
    return "".join([*pieces, source[at:]])


def _end(source, start, quotes):
    """Return the end of a string, or None if it is not closed."""
    at = start
    while at < len(source):
        if source[at] == "\\":
            at += 2
        elif source.startswith(quotes, at):
            return at
        elif source[at] == "\n" and len(quotes) == 1:
            return None
        else:
            at += 1
    return None


def _doubled(body):
    """Return the body of a string with a second backslash before every LaTeX command."""
    return re.sub(r"\\(.|\n)([A-Za-z0-9{]*)", _one, body, flags=re.DOTALL)


def _one(found):
    whole = found[0]
    first = found[1]
    rest = found[2]
    word = re.match(r"[A-Za-z]*", first + rest)[0] if first.isalpha() else ""
    if first in ALWAYS or (first in "nt" and word in COMMANDS):
        return "\\" + whole
    digits = {"x": 2, "u": 4, "U": 8}.get(first)
    if digits is not None:
        hexadecimal = re.match(r"[0-9a-fA-F]*", rest)[0]
        return whole if len(hexadecimal) >= digits else "\\" + whole
    if first == "N":
        return whole if rest.startswith("{") else "\\" + whole
    if first.isalpha() and first not in "nt":
        return "\\" + whole  # Python keeps the backslash, and warns
    return whole
