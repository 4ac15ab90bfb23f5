"""Places in a user's source, and the text that repairs them."""

import ast
import inspect
import linecache
from pathlib import Path
from typing import NamedTuple

from ibpcl.codeview import notebook

# Operations, and the expressions in which an operation needs parentheses.
OPERATIONS = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Lambda)
AROUND = (*OPERATIONS, ast.Attribute, ast.Subscript)


class Location(NamedTuple):
    """A place in a user's file or notebook.  An unknown place is false.

    Attributes
    ----------
    file : str
        The file.
    line : int
        Line in the file, from 1; in a notebook, in the cell.
    column : int
        Number of the first character in its line, from 1; 0 if only the line is known.
    end_line : int
        Last line.
    end_column : int
        Number of the character behind the last one; 0 if only the lines are known.
    function : str
        Name of the function.
    cell : int
        In a notebook, the number of the code cell, from 1; otherwise 0.
    text : str
        The source line.
    foreign : bool
        Whether the file is named in sentences.

    Examples
    --------
    >>> str(Location("a.py", 12, text="dw = x.T @ dout"))
    'line 12: dw = x.T @ dout'
    >>> Location("b.ipynb", 3, cell=2, foreign=True).position, bool(Location())
    ('cell 2, line 3 of b.ipynb', False)
    """

    file: str = ""
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    function: str = ""
    cell: int = 0
    text: str = ""
    foreign: bool = False

    def __bool__(self):
        """Return whether the place is known."""
        return bool(self.file)

    @property
    def position(self):
        """The line in words, without its text: "line 12" or "cell 3, line 2 of b.ipynb"."""
        if not self:
            return ""
        cell = f"cell {self.cell}, " if self.cell else ""
        return f"{cell}line {self.line}" + (f" of {Path(self.file).name}" if self.foreign else "")

    def __str__(self):
        """Return the position with the text of the line."""
        return f"{self.position}: {self.text}" if self.text else self.position


NOWHERE = Location()


class Replacement(NamedTuple):
    """A part of the source, and the text that belongs there.

    Attributes
    ----------
    where : Location
        The part to replace.  Its columns are known.
    text : str
        The new text.
    """

    where: Location
    text: str


class Span(NamedTuple):
    """Position of a node of a syntax tree in its file.

    Attributes
    ----------
    line, end_line : int
        First and last line, from 1.
    start, end : int
        First byte in the first line, and the byte behind the last one; -1 if unknown.
    """

    line: int
    end_line: int
    start: int = -1
    end: int = -1


def keep_spans(tree, indent=0):
    """Give every node of a tree its span in the file, which later changes of the tree leave alone.

    Parameters
    ----------
    tree : ast.AST
        The tree, with the line numbers of the file.
    indent : int
        Characters that were removed from the beginning of every line.
    """
    for node in ast.walk(tree):
        if hasattr(node, "end_lineno"):
            start = node.col_offset + indent
            node.span = Span(node.lineno, node.end_lineno, start, node.end_col_offset + indent)


def span_of(node):
    """Return the span of a node.

    Parameters
    ----------
    node : ast.AST
        A node with a line.

    Returns
    -------
    Span
        The line alone for a node that is not in the file.
    """
    return getattr(node, "span", None) or Span(node.lineno, node.lineno)


def located(file, span, **fields):
    """Return a place in a file or notebook.

    Parameters
    ----------
    file : str
        The file, whose lines are those that Python has compiled.
    span : Span
        The place in these lines.
    **fields
        Further attributes of the :class:`Location`.

    Returns
    -------
    Location
    """
    cell, line = notebook.position(file, span.line)
    first, last = (linecache.getline(file, n) for n in (span.line, span.end_line))
    known = span.start >= 0
    return Location(
        file,
        line,
        _character(first, span.start) if known else 0,
        line + span.end_line - span.line,
        _character(last, span.end) if known else 0,
        cell=cell,
        text=first.strip(),
        **fields,
    )


def _character(line, byte):
    """Return the number of the character at a byte of a line."""
    return len(line.encode()[:byte].decode(errors="replace")) + 1


def defined(function):
    """Return where a function is defined.

    Parameters
    ----------
    function : callable
        A function, a method, or an adapter with the function as ``source``.

    Returns
    -------
    Location
        Unknown for a built-in function and for one without source.
    """
    while hasattr(function, "source"):
        function = function.source
    function = inspect.unwrap(function)
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :] if code else ()
    for number, line in enumerate(lines, code.co_firstlineno if code else 0):
        if not line.lstrip().startswith("@"):
            return located(code.co_filename, Span(number, number), function=code.co_qualname)
    return NOWHERE


def replacements(puts, locate, text_of):
    """Return the texts that make some replacements of nodes in a user's file.

    Parameters
    ----------
    puts : sequence of tuple
        (parent, field, index, new node) for each node that is replaced; the index is None if the
        field is not a list.
    locate : callable
        ``locate(node)`` returns the :class:`Location` of an old node.
    text_of : callable
        ``text_of(node)`` returns the text of a new node.

    Returns
    -------
    tuple of Replacement
        Empty if a place is unknown, or a text has several lines, whose indentation is unknown.
    """
    made = []
    for parent, field, index, new in puts:
        old = getattr(parent, field) if index is None else getattr(parent, field)[index]
        where = locate(old)
        bare = isinstance(parent, AROUND) and not _is_enclosed(where, span_of(old))
        text = text_of(new)
        text = f"({text})" if bare and isinstance(new, OPERATIONS) else text
        made.append(Replacement(where, text))
    known = all(part.where.column and "\n" not in part.text for part in made)
    return tuple(made) if known else ()


def _is_enclosed(where, span):
    """Return whether a place is between parentheses in the file."""
    first = linecache.getline(where.file, span.line)[: where.column - 1]
    last = linecache.getline(where.file, span.end_line)[where.end_column - 1 :]
    return first.endswith("(") and last.startswith(")")
