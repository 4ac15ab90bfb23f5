"""The types of the errata page: an erratum with its two forms and a reference, and a note without
numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ibpcl.paper.checks import Outcome


class Kind(NamedTuple):
    """A kind of erratum.

    Attributes
    ----------
    word : str
        The kind in one or two words, for tables.
    title : str
        The heading above all errata of the kind.
    meaning : str
        What the kind says about the paper, and what the numbers of its errata show.
    labels : tuple of str
        The names of the two forms that are evaluated, unless an erratum names its own.
    """

    word: str
    title: str
    meaning: str
    labels: tuple


KINDS = {
    "wrong": Kind(
        "wrong",
        "Wrong formulas and statements",
        "A formula, a statement or a table entry is wrong. The printed form disagrees with an "
        "independent computation, and the corrected form agrees with it.",
        ("Printed", "Right"),
    ),
    "ambiguity": Kind(
        "ambiguity",
        "Ambiguities",
        "The paper contradicts itself, leaves something open, or can be read in two ways. One "
        "reading disagrees with the reference, and the other agrees. The package implements the "
        "reading that agrees. Where its default takes the other one on purpose, the entry says so.",
        ("As printed", "Clarified"),
    ),
    "choice": Kind(
        "choice",
        "Choices",
        "Nothing is wrong. The paper or its authors' code makes a choice, the package makes "
        "another, and the numbers show the difference.",
        ("Paper or code", "Used here"),
    ),
    "remark": Kind(
        "remark",
        "Remarks",
        "Nothing is corrected. Where there are numbers, they put a printed number into context.",
        ("Printed", "Comment"),
    ),
    "code": Kind(
        "authors' code",
        "Errata of the authors' second program",
        "These concern a program, not the text. The repository npbcl/icml21 (commit fce6591, "
        "February 2021) seems to belong to the version in the proceedings, by its name and date; "
        "its description has the title of the preprint. It adds convolutional layers and a learner "
        "without task boundaries. Lines are those of the named file. The package "
        "contains none of its code.",
        ("The program", "Intended"),
    ),
}


@dataclass(frozen=True)
class Finding:
    """Two forms evaluated, and a reference that was computed independently.

    Attributes
    ----------
    printed, right, truth : float
        The printed form, the right form and the reference, at the first of the points.
    relation : {"=", "<", ">"}
        How a form must compare with the reference: equal to it, at most as large, or larger.
    printed_fails : bool
        Whether the printed form violates the relation at every point.
    right_holds : bool
        Whether the right form satisfies the relation at every point.
    points : int
        The number of points at which both forms were compared.
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
    """Compare two forms with a reference that they must equal.

    Parameters
    ----------
    printed, right, truth : float or array_like
        The printed form, the right form and the reference, at one or more points; the shapes are
        broadcast. A NaN or an infinity does not equal the reference.
    tolerance : float
        Largest absolute difference that counts as equal, >= 0.

    Returns
    -------
    finding : Finding
        With relation "=".

    Examples
    --------
    >>> finding = equal(printed=[1.5, 2.0], right=[1.0, 1.0], truth=1.0, tolerance=1e-9)
    >>> finding.printed_fails, finding.right_holds, finding.points
    (True, True, 2)
    """
    printed, right, truth = np.broadcast_arrays(
        np.asarray(printed, float), np.asarray(right, float), np.asarray(truth, float)
    )
    with np.errstate(invalid="ignore"):
        printed_equals = np.abs(printed - truth) <= tolerance
        right_equals = np.abs(right - truth) <= tolerance
    return Finding(
        _first(printed),
        _first(right),
        _first(truth),
        "=",
        not printed_equals.any(),
        bool(right_equals.all()),
        printed.size,
    )


def above(printed, right, bound):
    """Compare two forms with a number that they must exceed.

    Parameters
    ----------
    printed, right, bound : float
        The printed form, the right form and the number to exceed.

    Returns
    -------
    finding : Finding
        With relation ">".
    """
    return Finding(
        _first(printed), _first(right), _first(bound), ">", not printed > bound, bool(right > bound)
    )


def below(printed, right, bound):
    """Compare two forms with a number that they must not exceed.

    Parameters
    ----------
    printed, right, bound : float
        The printed form, the right form and the largest allowed number.

    Returns
    -------
    finding : Finding
        With relation "<".
    """
    return Finding(
        _first(printed),
        _first(right),
        _first(bound),
        "<",
        not printed <= bound,
        bool(right <= bound),
    )


class Erratum(NamedTuple):
    """One place of the paper, with two forms that are evaluated and compared with a reference.

    Attributes
    ----------
    name : str
        The name for the command line, and the anchor on the errata page.
    kind : str
        A key of :data:`KINDS`.
    title : str
        The heading, in words.
    where : str
        Section and equation, as the paper numbers them.
    line : int
        Line of the paper's LaTeX source.
    printed, right : str
        Both forms in plain text.
    typeset : tuple of str
        Both forms in reStructuredText, with formulas in TeX.
    quantity : str
        The quantity that was evaluated, at the first of the points.
    reference : str
        How the number was obtained that both forms are compared with.
    labels : tuple of str
        The names of the two forms.
    agrees : bool
        Whether the printed form is expected to agree with the reference. True only for a remark.
    find : callable
        ``find(seed)`` evaluates both forms and returns a :class:`Finding`.
    """

    name: str
    kind: str
    title: str
    where: str
    line: int
    printed: str
    right: str
    typeset: tuple
    quantity: str
    reference: str
    labels: tuple
    agrees: bool
    find: Callable

    def run(self, seed=0):
        """Evaluate both forms and compare them with the reference.

        Parameters
        ----------
        seed : int
            Seed of all random inputs.

        Returns
        -------
        outcome : ibpcl.paper.checks.Outcome
            It is ok if the right form satisfies the relation, and the printed form violates it
            (or satisfies it, where ``agrees`` is true).
        """
        finding = self.find(seed)
        ok = finding.right_holds and finding.printed_fails != self.agrees
        first, second = self.labels
        numbers = (
            f"{short(finding.printed):>12} {short(finding.right):>11} {finding.relation} "
            f"{short(finding.truth):>10}"
        )
        forms = KINDS[self.kind].labels
        points = f", and {finding.points - 1} more" if finding.points > 1 else ""
        text = (
            f"{self.title} ({self.kind}; {self.where}, source line {self.line})\n"
            f"  {forms[0]}: {self.printed}\n"
            f"  {forms[1]}: {self.right}\n"
            f"  Evaluated: {self.quantity}{points}\n"
            f"  {first}: {short(finding.printed)} "
            f"({'disagrees' if finding.printed_fails else 'agrees'}). "
            f"{second}: {short(finding.right)} "
            f"({'agrees' if finding.right_holds else 'DISAGREES'}). Reference: "
            f"{finding.relation} {short(finding.truth)} ({self.reference})"
        )
        details = {
            **vars(finding),
            "where": self.where,
            "line": self.line,
            "kind": self.kind,
            "quantity": self.quantity,
            "reference": self.reference,
        }
        return Outcome(ok, numbers, details, text)


def short(value):
    """Return a number as text with at most six digits; rounding errors become 0.

    Parameters
    ----------
    value : float
        Any number; its absolute value counts as 0 below 1e-12.

    Returns
    -------
    text : str
        The number in ``%.6g``.

    Examples
    --------
    >>> short(0.1 + 0.2), short(-1e-15), short(float("inf"))
    ('0.3', '0', 'inf')
    """
    return f"{0.0 if abs(value) < 1e-12 else value:.6g}"


def erratum(name, *, kind, labels=None, agrees=False, **fields):
    """Make an :class:`Erratum` of the decorated function, which evaluates both forms.

    Parameters
    ----------
    name : str
        The name for the command line.
    kind : str
        A key of :data:`KINDS`.
    labels : tuple of str, optional
        The names of the two forms. Default: those of the kind.
    agrees : bool
        Whether the printed form is expected to agree with the reference.
    **fields
        The other fields of :class:`Erratum`, except ``find``.

    Returns
    -------
    decorator : callable
        It turns ``find(seed)`` into an :class:`Erratum`.
    """
    labels = KINDS[kind].labels if labels is None else labels
    return lambda find: Erratum(
        name=name, kind=kind, labels=labels, agrees=agrees, find=find, **fields
    )


class Note(NamedTuple):
    """An entry of the errata page for which nothing is computed.

    Attributes
    ----------
    name : str
        The name on the command line, and the anchor on the errata page.
    kind : str
        A key of :data:`KINDS`.
    where : str
        Section and equation, as the paper numbers them.
    line : int
        Line of the paper's LaTeX source, or of the file that ``where`` names for the kind "code".
    head : str
        The note in a few words.
    words : str
        The note in one or two sentences.
    """

    name: str
    kind: str
    where: str
    line: int
    head: str
    words: str
