"""A row of the table of the paper's equations, and the reader of such a table."""

import importlib
import re
from typing import NamedTuple

PROVED = "proved"
CORRECTED = "corrected"
ROW = re.compile(
    r"(?P<section>\S+(?: \d)?) +(?P<line>\d+) +(?:Eq\. (?P<number>\d+) +)?"
    r"(?P<kind>display|inline|step|claim) +"
    rf"(?P<status>{PROVED}|{CORRECTED}) +(?P<formula>.+)"
)


class Equation(NamedTuple):
    """One equation, definition, step of the algorithm, or checkable claim.

    Attributes
    ----------
    line : int
        Line of the paper's LaTeX source.
    section : str
        "3.2" in the main text, "D.2" in the supplement, "Algorithm 1".
    number : int or None
        The equation's number, if it has one.
    kind : {"display", "inline", "step", "claim"}
        A displayed equation, a defining formula in the text, a step of the algorithm, or a
        statement.
    formula : str
        In plain text.
    functions : tuple of str
        What of the package computes it, dotted.
    checks : tuple of str
        The checks of the catalogue that prove it, ``group/name``.
    status : {"proved", "corrected"}
        ``corrected``: the printed form is wrong or ambiguous, and the checks show it failing beside
        the right form.
    """

    line: int
    section: str
    number: int | None
    kind: str
    formula: str
    functions: tuple
    checks: tuple
    status: str

    @property
    def place(self):
        """How the equation is called: its number, or the line where it stands."""
        return f"Eq. {self.number}" if self.number else f"line {self.line}"

    def verdict(self, outcomes):
        """Return the status, "FAILED" if one of its checks did, or "UNDECIDED".

        ``outcomes`` maps names of checks to outcomes.
        """
        verdicts = {outcomes[name].verdict for name in self.checks}
        return (
            "FAILED"
            if "wrong" in verdicts
            else "UNDECIDED"
            if "undecided" in verdicts
            else self.status
        )

    def to_dict(self, outcomes):
        """Return plain values only, ready for ``json.dumps``."""
        return {
            **self._asdict(),
            "verdict": self.verdict(outcomes),
            "proof": {name: outcomes[name].words for name in self.checks},
        }


def read(table):
    """Return the rows of a table such as :data:`ibpcl.paper.equations.TABLE`.

    Raises
    ------
    ValueError
        If a line is neither a row nor belongs to one.

    Examples
    --------
    >>> row, = read('''2.2   130  Eq. 1   display  proved     q_t(w) = arg min KL(...)
    ...     = primitives.gaussian.kl  : definitions/recursion''')
    >>> row.place, row.functions, row.checks
    ('Eq. 1', ('ibpcl.primitives.gaussian.kl',), ('definitions/recursion',))
    """
    rows = []
    for text in table.strip().splitlines():
        lists = (
            [part for part in re.split(r"([=:]) ", text.strip()) if part] if text[:1] == " " else []
        )
        for mark, names in zip(lists[::2], lists[1::2], strict=True):
            found = tuple(name for name in re.split(r",? +|,", names) if name)
            rows[-1]["functions" if mark == "=" else "checks"] += (
                tuple(f"ibpcl.{name}" for name in found) if mark == "=" else found
            )
        if lists:
            continue
        if match := ROW.fullmatch(text):
            row = match.groupdict()
            rows.append(
                {
                    **row,
                    "line": int(row["line"]),
                    "number": row["number"] and int(row["number"]),
                    "functions": (),
                    "checks": (),
                }
            )
        else:
            raise ValueError(f"equation.read: {text!r} is no row of the table")
    return tuple(Equation(**row) for row in rows)


def resolve(name):
    """Return the function or class that a dotted name means.

    Raises
    ------
    AttributeError, ModuleNotFoundError
        If it is gone.

    Examples
    --------
    >>> resolve("ibpcl.primitives.gaussian.kl").__name__
    'kl'
    """
    parts = name.split(".")
    # Modules are lower case; a class starts the part that is looked up inside the module.
    depth = next((i for i, part in enumerate(parts) if part[0].isupper()), len(parts) - 1)
    value = importlib.import_module(".".join(parts[:depth]))
    for part in parts[depth:]:
        value = getattr(value, part)
    return value
