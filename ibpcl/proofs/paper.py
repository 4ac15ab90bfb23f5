r"""The paper's equations, one by one: where each is, what of the package computes it, and which checks prove it.

The table itself is in :mod:`ibpcl.proofs.equations_main` and :mod:`ibpcl.proofs.equations_supplement`; nothing that the
paper displays or defines is missing from it.  Sections, equation numbers and source lines are those of Kumar,
Chatterjee and Rai, "Bayesian Structure Adaptation for Continual Learning", main text and supplement.
"""

import importlib
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


def equations():
    """Return all rows in the order of the paper."""
    from ibpcl.proofs import equations_main, equations_supplement
    return (*equations_main.EQUATIONS, *equations_supplement.EQUATIONS)


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
