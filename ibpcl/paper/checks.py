"""The types of the package's checks: a check, its outcome, and helpers to make them."""

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
        Whether the check passed.
    words : str
        One line with the number that decides.
    numbers : dict
        The numbers behind the verdict, by name.
    text : str
        The full result, in lines of at most 80 columns.
    report : ibpcl.verify.Report, optional
        The report of a gradient check, from which V-curves and Taylor plots can be drawn. None for
        other checks.
    """

    ok: bool
    words: str
    numbers: dict = field(default_factory=dict)
    text: str = ""
    report: Report | None = None

    @property
    def verdict(self):
        """The verdict: "ok", "wrong", or "undecided" (by the report, or after a timeout)."""
        if self.ok:
            return "ok"
        undecided = self.report.undecided if self.report is not None else "timeout" in self.numbers
        return "undecided" if undecided else "wrong"

    def to_dict(self):
        """Return "ok", "words" and "numbers" as plain values for ``json.dumps``."""
        numbers = self.report.to_dict() if self.report else plain(self.numbers)
        return {"ok": bool(self.ok), "words": self.words, "numbers": numbers}


class Check(NamedTuple):
    """One check of the package.

    Attributes
    ----------
    group : str
        A key of :data:`ibpcl.paper.catalogue.GROUPS`.
    name : str
        The function or definition that is checked, unique in its group.
    run : callable
        ``run(seed)`` returns an :class:`Outcome`.
    """

    group: str
    name: str
    run: Callable

    def __str__(self):
        return f"{self.group}/{self.name}"


def verifies(group, name, *choices):
    """Turn the decorated function into checks.

    Parameters
    ----------
    group : str
        A key of :data:`ibpcl.paper.catalogue.GROUPS`.
    name : str
        The name of the function that is checked, or of a definition of the paper.
    *choices : str
        Without choices, the function takes a seed, and there is one check. Otherwise it takes a
        choice and a seed, and there is one check per choice, which replaces ``{}`` in the name.

    Returns
    -------
    decorator : callable
        It turns the function into a tuple of :class:`Check`.

    Examples
    --------
    >>> @verifies("divergences", "gaussian.kl.{}", "narrow", "wide")
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
    """Return the checks of modules, in the order of their definition.

    Parameters
    ----------
    *modules : module
        Their checks are the tuples of :class:`Check` among their values.

    Returns
    -------
    checks : list of Check
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
    """Join reports of :mod:`ibpcl.verify.distributions.statistics` into one outcome.

    Parameters
    ----------
    reports : sequence of ibpcl.verify.distributions.statistics.Report
        One per set of parameters.
    words : str
        The line of results if all reports are ok; otherwise that of the first wrong report is used.

    Returns
    -------
    outcome : Outcome
    """
    wrong = [report for report in reports if not report.ok]
    return Outcome(
        not wrong,
        wrong[0].words if wrong else words,
        {report.name: report.numbers for report in reports},
        "\n".join(map(str, reports)),
    )


def agrees(what, got, exact, tolerance=1e-10):
    """Compare a value with an independent computation of it.

    Parameters
    ----------
    what : str
        The name of the comparison, for the line of results.
    got, exact : array_like
        The package's value and the independent one, of the same shape.
    tolerance : float
        Largest absolute difference, divided by max(1, the largest absolute exact value).

    Returns
    -------
    outcome : Outcome
        With the number "gap".
    """
    got = np.asarray(got, float)
    exact = np.asarray(exact, float)
    gap = float(
        np.max(np.abs(got - exact), initial=0.0) / max(1.0, np.max(np.abs(exact), initial=0.0))
    )
    words = f"{what}: gap {gap:.0e}" if gap else f"{what}: equal"
    return Outcome(got.shape == exact.shape and gap <= tolerance, words, {"gap": gap})
