"""One row of the paper map: an equation, where it stands, what computes it, and what proves it."""

from typing import NamedTuple

PROVED, CORRECTED, MISSING = "proved", "corrected", "not yet implemented"


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
        A displayed equation, a defining formula in the text, a step of the algorithm, or a statement.
    formula : str
        In plain text.
    functions : tuple of str
        What of the package computes it, dotted.
    checks : tuple of str
        The checks of the catalogue that prove it, ``group/name``.
    status : {"proved", "corrected", "not yet implemented"}
        ``corrected``: the printed form is wrong or ambiguous, and the checks show it failing beside the right form.
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
        """Return the status, or "FAILED" if one of its checks did; ``outcomes`` maps names of checks to outcomes."""
        return self.status if all(outcomes[name].ok for name in self.checks) else "FAILED"

    def to_dict(self, outcomes):
        """Return plain values only, ready for ``json.dumps``."""
        return {**self._asdict(), "verdict": self.verdict(outcomes),
                "proof": {name: outcomes[name].words for name in self.checks}}
