"""Find the first wrong stage of a chain, in the order of the backward pass."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ibpcl.verify.gradcheck import check
from ibpcl.verify.reports.page import page
from ibpcl.verify.reports.report import Judged, Report, worst


class Stage(NamedTuple):
    """One link of a chain: a pair, and what it takes besides the output of the stage before.

    Attributes
    ----------
    name : str
    f, f_vjp : callable
        ``out, cache = f(x, *parameters)``; ``f_vjp`` returns the gradient of ``x`` and of those
        parameters that ``wrt`` names.
    parameters : tuple
    wrt : sequence of int or str, optional
        As in :func:`ibpcl.verify.check`; by default ``x`` and all floating-point parameters.
    """

    name: str
    f: object
    f_vjp: object
    parameters: tuple = ()
    wrt: tuple | None = None


@dataclass
class ChainReport(Judged):
    """Reports on every stage, last stage first, and which of them is the first wrong one."""

    stages: list = field(default_factory=list)

    @property
    def verdict(self):
        """One of "ok" (every stage is proved right), "wrong" (one is not right) and "undecided"."""
        return worst(report.verdict for report in self.stages)

    @property
    def score(self):
        """Mean of the stages' scores, in 0..1."""
        return float(np.mean([report.score for report in self.stages])) if self.stages else 0.0

    @property
    def first_wrong(self):
        """Name of the first wrong stage that the backward pass meets; None if there is none."""
        return self._first("wrong")

    def _first(self, verdict):
        return next((report.title for report in self.stages if report.verdict == verdict), None)

    def text(self):
        """Return the verdict as text: one line for a right stage, the whole report of any other."""
        lines = [
            "chain: ok"
            if self.ok
            else f"chain: {self.verdict.upper()}, first at stage "
            f"{self._first(self.verdict)!r} of the backward pass"
        ]
        for report in self.stages:
            lines.append(
                f"{report.title}: ok, error {report.error:.1e}" if report.ok else report.text()
            )
        return "\n".join(lines)

    def to_dict(self):
        """Return plain values only, ready for ``json.dumps``."""
        return {
            "ok": self.ok,
            "verdict": self.verdict,
            "score": self.score,
            "first_wrong": self.first_wrong,
            "stages": [report.to_dict() for report in self.stages],
        }

    def html(self):
        """Return a page with every stage."""
        return page(self.stages)


def check_chain(stages, x, **options):
    r"""Check every stage of :math:`f_n \circ \dots \circ f_1` at the input it really gets, last
    stage first.

    A wrong stage spoils every gradient that the backward pass computes after it.  Each stage is
    therefore checked on its own, and the first wrong one in the order of the backward pass is the
    one to mend first.

    Parameters
    ----------
    stages : sequence of Stage or of tuple
        Tuples ``(name, f, f_vjp)``, ``(name, f, f_vjp, parameters)`` or ``(name, f, f_vjp,
        parameters, wrt)``.
    x : ndarray
        Input of the first stage.
    **options
        Of :func:`ibpcl.verify.check`, such as ``seed`` and ``rtol``.

    Returns
    -------
    ChainReport

    Raises
    ------
    TypeError
        If a stage has several outputs: a chain passes one array on.

    Examples
    --------
    >>> square = Stage("square", lambda x: (x * x, x), lambda dout, x: 2 * x * dout)
    >>> wrong = Stage("sine", lambda x: (np.sin(x), x), lambda dout, x: -np.cos(x) * dout)
    >>> check_chain([square, wrong], np.array([1.0, 2.0])).first_wrong
    'sine'
    """
    stages = [stage if isinstance(stage, Stage) else Stage(*stage) for stage in stages]
    inputs = []
    value = np.asarray(x)
    for stage in stages:
        inputs.append((value, *stage.parameters))
        value, _ = stage.f(*inputs[-1])
        if isinstance(value, (tuple, list)):
            raise TypeError(
                f"check_chain: stage {stage.name!r} must return one output, got {len(value)}"
            )
    reports = []
    for stage, point in zip(reversed(stages), reversed(inputs), strict=True):
        report: Report = check(stage.f, stage.f_vjp, point, stage.wrt, **options)
        report.title = stage.name
        reports.append(report)
    return ChainReport(reports)
