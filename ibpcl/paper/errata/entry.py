"""An erratum: what is printed and what is right, each evaluated and held against a third,
independent number.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ibpcl.paper.checks import Outcome


@dataclass(frozen=True)
class Finding:
    """The printed form, the right form and the truth, as numbers, and whether the one fails and the
    other holds.

    Attributes
    ----------
    printed, right, truth : float
        At the first of the points that were tried.
    relation : {"=", "<", ">"}
        What a form has to be to the truth.
    printed_fails, right_holds : bool
        At all of the points.
    points : int
        How many there were.
    """

    printed: float
    right: float
    truth: float
    relation: str
    printed_fails: bool
    right_holds: bool
    points: int = 1


def _first(value):
    return float(np.ravel(value)[0])


def equal(printed, right, truth, tolerance):
    """Compare both forms with a truth that they have to equal within ``tolerance``; a NaN or
    infinity fails.

    >>> finding = equal(printed=[1.5, 2.0], right=[1.0, 1.0], truth=1.0, tolerance=1e-9)
    >>> finding.printed_fails, finding.right_holds, finding.points
    (True, True, 2)
    """
    printed, right, truth = np.broadcast_arrays(
        np.asarray(printed, float), np.asarray(right, float), np.asarray(truth, float)
    )
    with np.errstate(invalid="ignore"):
        accepted = np.abs(printed - truth) <= tolerance
        holds = np.abs(right - truth) <= tolerance
    return Finding(
        _first(printed),
        _first(right),
        _first(truth),
        "=",
        not accepted.any(),
        bool(holds.all()),
        printed.size,
    )


def above(printed, right, bound):
    """Compare both forms with a number that they have to exceed."""
    return Finding(
        _first(printed), _first(right), _first(bound), ">", not printed > bound, bool(right > bound)
    )


def below(printed, right, bound):
    """Compare both forms with a number that they must not exceed."""
    return Finding(
        _first(printed),
        _first(right),
        _first(bound),
        "<",
        not printed <= bound,
        bool(right <= bound),
    )


class Erratum(NamedTuple):
    """One thing that is wrong or ambiguous in the paper.

    Attributes
    ----------
    name : str
    where : str
        Section and equation, as the paper numbers them.
    line : int
        Line of the paper's LaTeX source.
    printed, right : str
        Both forms in plain text.
    find : callable
        ``find(seed)`` evaluates them and returns a :class:`Finding`.
    """

    name: str
    where: str
    line: int
    printed: str
    right: str
    find: Callable

    def run(self, seed=0):
        """Evaluate both forms and return an :class:`ibpcl.paper.outcome.Outcome`: ok if one fails
        and one holds.
        """
        found = self.find(seed)
        ok = found.printed_fails and found.right_holds
        words = (
            f"{short(found.printed):>12} {short(found.right):>11} {found.relation} "
            f"{short(found.truth):>10}"
        )
        text = (
            f"{self.where} (source line {self.line})\n  printed: {self.printed}\n  right:   "
            f"{self.right}\n  printed {short(found.printed)}, right {short(found.right)}, must be "
            f"{found.relation} {short(found.truth)}; {found.points} "
            f"point{'s' * (found.points > 1)}: the printed form "
            f"{'fails' if found.printed_fails else 'HOLDS'}, the right one "
            f"{'holds' if found.right_holds else 'FAILS'}"
        )
        return Outcome(ok, words, {**vars(found), "where": self.where, "line": self.line}, text)


def short(value):
    """Write a number with six digits at most; rounding errors are 0.

    >>> short(0.1 + 0.2), short(-1e-15), short(float("inf"))
    ('0.3', '0', 'inf')
    """
    return f"{0.0 if abs(value) < 1e-12 else value:.6g}"


def erratum(name, where, line, printed, right):
    """Make an :class:`Erratum` of the function below, whose docstring says what is evaluated."""
    return lambda find: Erratum(name, where, line, printed, right, find)


class Note(NamedTuple):
    """An editorial remark on the paper: there is nothing to compute.  ``head`` is it in a few
    words.
    """

    name: str
    where: str
    line: int
    head: str
    words: str
