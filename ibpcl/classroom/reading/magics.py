"""Conversion of IPython syntax in a code cell to Python, by IPython's rules.

A line counts as IPython's only where a statement begins: not inside brackets or a string, and not
after a backslash.  Line numbers and indentation do not change.

===========================  =======================================
in the cell                  becomes
===========================  =======================================
``%time statement``          the statement
``%name ...``, ``!command``  ``pass``, and the line as a comment
``x = !ls``, ``x = %pwd``    ``x = None``, and the line as a comment
``name?``, ``?name``         ``pass``, and the line as a comment
``pip install x``, ``ls``    ``pass``, and the line as a comment
``>>> line``, ``In [1]: ``   the line
``%%time`` and the like      the rest of the cell
``%%bash`` and others        comments: the cell is not Python
===========================  =======================================
"""

import re

# Cell magics whose cell is Python that defines names.
PYTHON_CELLS = (
    "time",
    "capture",
    "prun",
    "python",
    "python3",
    "pypy",
    "px",
    "mypy",
    "nb_black",
    "snakeviz",
    "memit",
    "mprun",
    "lprun",
    "heat",
    "scalene",
    "script_magic",
    "local",
)
FILE_CELLS = re.compile(r"%%(writefile|file)\b.*\.py\s*$")
LINE_MAGIC = re.compile(r"\s*(%[A-Za-z_]|!|\?\??\s*[%A-Za-z_])")
ASSIGNED = re.compile(r"(\s*[A-Za-z_][\w.,\[\]'\" ]*=\s*)(!|%[A-Za-z_])(?!=)")
HELP = re.compile(r"\s*%{0,2}[A-Za-z_][\w.]*(\[\d+\])?\s*\?\??\s*(#.*)?$")
# Magics that work without "%", as students type them.
BARE = re.compile(
    r"\s*((pip3?|conda|mamba)\s+(install|uninstall|list|show)\b"
    r"|(cd|ls|pwd|whos?|clear)(\s+[\w./~-]+)*\s*$"
    r"|(load_ext|reload_ext|autoreload|matplotlib)\s+\w+\s*$)"
)
TIMED = re.compile(r"(\s*)%time\s+(?=\S)")
PROMPT = re.compile(r"(In \[\d*\]: ?|\s*\.{3,}: ?|>>> ?|\.\.\. ?)")
OPENING = "([{"
CLOSING = ")]}"


def as_python(cell):
    """Return a code cell as Python, and the reason if it must be skipped.

    Parameters
    ----------
    cell : str
        The cell.

    Returns
    -------
    text : str
        Python text with the same lines.
    reason : str
        Empty if the cell is not skipped.

    Examples
    --------
    >>> print(as_python("%matplotlib inline\\nx = (7\\n    % 4)")[0])
    pass  # %matplotlib inline
    x = (7
        % 4)
    """
    lines = cell.split("\n")
    first = next((at for at, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return cell, ""
    if lines[first].startswith("%%"):
        name = re.match(r"%%\s*(\w*)", lines[first])[1]
        if name not in PYTHON_CELLS and not FILE_CELLS.match(lines[first]):
            return "\n".join(f"# {line}" for line in lines), f"%%{name} is not Python"
        lines[first] = f"# {lines[first]}"
    return "\n".join(_converted(_without_indent(_without_prompts(lines)))), ""


def _without_indent(lines):
    """Return the lines without the indentation that the first of them has."""
    first = next((line for line in lines if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip(" \t"))]
    return [line.removeprefix(indent) for line in lines] if indent else lines


def _without_prompts(lines):
    """Return the lines without the prompts of a console, if the first line has one."""
    first = next((line for line in lines if line.strip() and not line.lstrip().startswith("#")), "")
    if not re.match(r"(In \[\d*\]:|>>>)", first):
        return lines
    return [PROMPT.sub("", line, count=1) if PROMPT.match(line) else f"# {line}" for line in lines]


def _converted(lines):
    """Yield the lines with IPython's own replaced."""
    state = Scanner()
    at = 0
    while at < len(lines):
        line = lines[at]
        end = at
        if state.at_statement and _is_own(line):
            while lines[end].endswith("\\") and end + 1 < len(lines):
                end += 1
            yield _replaced(line)
            yield from (f"# {rest}" for rest in lines[at + 1 : end + 1])
        else:
            state.read(line)
            yield line
        at = end + 1


def _is_own(line):
    if line.lstrip().startswith(("%%",)):
        return True
    return any(each.match(line) for each in (LINE_MAGIC, ASSIGNED, HELP, BARE))


def _replaced(line):
    if TIMED.match(line):
        return TIMED.sub(r"\1", line)
    assigned = ASSIGNED.match(line)
    if assigned:
        return f"{assigned[1]}None  # {line[assigned.end(1) :]}"
    indent = line[: len(line) - len(line.lstrip())]
    return f"{indent}pass  # {line.strip()}"


class Scanner:
    """The state of a Python scanner at the end of a line.

    Attributes
    ----------
    depth : int
        Number of open brackets.
    quotes : str
        The quotes of the string that is open at the end of the line; "" if none is.
    continued : bool
        Whether the line ends in a backslash.
    """

    def __init__(self):
        self.depth = 0
        self.quotes = ""
        self.continued = False

    @property
    def at_statement(self):
        """True if the next line begins a statement."""
        return not (self.depth or self.quotes or self.continued)

    def read(self, line):
        """Process one more line.

        Parameters
        ----------
        line : str
            The line.
        """
        at = 0
        self.continued = False
        while at < len(line):
            at = self._in_string(line, at) if self.quotes else self._in_code(line, at)
        if len(self.quotes) == 1 and not self.continued:
            # an unclosed string is an error in this line only
            self.quotes = ""

    def _in_code(self, line, at):
        """Return the position after one piece of code."""
        each = line[at]
        if each == "#":
            return len(line)
        if each in "\"'":
            self.quotes = each * 3 if line.startswith(each * 3, at) else each
            return at + len(self.quotes)
        if each in OPENING:
            self.depth += 1
        elif each in CLOSING:
            self.depth = max(0, self.depth - 1)
        elif each == "\\" and at == len(line) - 1:
            self.continued = True
        return at + 1

    def _in_string(self, line, at):
        """Return the position after one piece of a string."""
        if line[at] == "\\":
            self.continued = at == len(line) - 1
            return at + 2
        if line.startswith(self.quotes, at):
            at += len(self.quotes)
            self.quotes = ""
            return at
        return at + 1
