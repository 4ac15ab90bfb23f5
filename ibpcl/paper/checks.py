"""What a check of the package is, and what its verdict is made of."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from ibpcl.verify import Report
from ibpcl.verify.reports.plain import plain


@dataclass(frozen=True)
class Outcome:
    """The verdict of one check.

    Attributes
    ----------
    ok : bool
    words : str
        One line with the number that proves it.
    numbers : dict
        What the verdict rests on.
    text : str
        Everything there is to say, as lines of at most 80 columns.
    report : ibpcl.verify.Report, optional
        Of a gradient: its V-curves and Taylor plots can be drawn.
    """

    ok: bool
    words: str
    numbers: dict = field(default_factory=dict)
    text: str = ""
    report: Report | None = None

    @property
    def verdict(self):
        """One of "ok", "wrong" and "undecided": by the report, or because its time had passed."""
        if self.ok:
            return "ok"
        undecided = self.report.undecided if self.report is not None else "timeout" in self.numbers
        return "undecided" if undecided else "wrong"

    def to_dict(self):
        """Return plain values only, ready for ``json.dumps``."""
        numbers = self.report.to_dict() if self.report else plain(self.numbers)
        return {"ok": bool(self.ok), "words": self.words, "numbers": numbers}


class Check(NamedTuple):
    """One thing that the package proves about itself: ``run(seed)`` returns an :class:`Outcome`."""

    group: str
    name: str
    run: Callable

    def __str__(self):
        return f"{self.group}/{self.name}"


def proves(group, name, *choices):
    """Turn the function below into checks; its docstring says what is proved.

    Parameters
    ----------
    group, name : str
        The name is that of the function that is proved, or of a definition of the paper.
    *choices : str
        Without any, the function takes a seed, and there is one check.  Otherwise it takes a choice
        and a seed, and there is a check for each choice, which replaces ``{}`` in the name.

    Examples
    --------
    >>> @proves("divergences", "gaussian.kl.{}", "narrow", "wide")
    ... def gaussian_kl(which, seed):
    ...     '''The closed form against quadrature.'''
    ...     return Outcome(True, f"{which}, 0 nats off")
    >>> for check in gaussian_kl:
    ...     print(f"{check}: {check.run(0).words}")
    divergences/gaussian.kl.narrow: narrow, 0 nats off
    divergences/gaussian.kl.wide: wide, 0 nats off
    """

    def checks_of(run):
        if not choices:
            return (Check(group, name, run),)
        return tuple(Check(group, name.format(choice), partial(run, choice)) for choice in choices)

    return checks_of


def checks_in(*modules):
    """Return the checks that modules hold, each function's or constant's where it stands.

    A module's checks are the tuples of :class:`Check` among its values.
    """
    return [
        check
        for module in modules
        for value in vars(module).values()
        if isinstance(value, tuple)
        for check in value
        if isinstance(check, Check)
    ]


def from_reports(reports, words):
    """Join reports of :mod:`ibpcl.verify.distributions`, one for each choice of parameters, into
    one outcome.
    """
    wrong = [report for report in reports if not report.ok]
    return Outcome(
        not wrong,
        wrong[0].words if wrong else words,
        {report.name: report.numbers for report in reports},
        "\n".join(map(str, reports)),
    )


def agrees(what, got, exact, tolerance=1e-10):
    """Compare a value with another way to compute it, relative to the larger of one and its
    size.
    """
    got = np.asarray(got, float)
    exact = np.asarray(exact, float)
    gap = float(
        np.max(np.abs(got - exact), initial=0.0) / max(1.0, np.max(np.abs(exact), initial=0.0))
    )
    words = f"{what}: gap {gap:.0e}" if gap else f"{what}: equal"
    return Outcome(got.shape == exact.shape and gap <= tolerance, words, {"gap": gap})
