"""Check of a chain of functions, stage by stage, in the order of the backward pass."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from ibpcl.verify.check import check
from ibpcl.verify.reports.page import page
from ibpcl.verify.reports.report import Judged, worst


class Stage(NamedTuple):
    """One stage of a chain: a forward and gradient pair with its parameters.

    Attributes
    ----------
    name : str
        Name of the stage in the report.
    f : callable
        Forward function, ``out, cache = f(x, *parameters)``.
    f_vjp : callable
        Gradient function; it returns the gradients of ``x`` and of the parameters.
    parameters : tuple
        Arguments of ``f`` besides the output of the previous stage.
    wrt : sequence of int or str, optional
        The inputs whose gradients ``f_vjp`` returns, in its order.  By default, ``x`` and all
        floating-point parameters.
    """

    name: str
    f: object
    f_vjp: object
    parameters: tuple = ()
    wrt: tuple | None = None


@dataclass
class ChainReport(Judged):
    """Reports on all stages of a chain, last stage first.

    Attributes
    ----------
    stages : list of Report
        One report for each stage; its ``title`` is the name of the stage.
    """

    stages: list = field(default_factory=list)

    @property
    def verdict(self):
        """ "ok" if every stage is right, "wrong" if one is wrong, else "undecided"."""
        return worst(report.verdict for report in self.stages)

    @property
    def score(self):
        """Mean of the stages' scores, in [0, 1]."""
        return float(np.mean([report.score for report in self.stages])) if self.stages else 0.0

    @property
    def first_wrong(self):
        """Name of the first wrong stage in the order of the backward pass, or None."""
        return self._first("wrong")

    def _first(self, verdict):
        return next((report.title for report in self.stages if report.verdict == verdict), None)

    def text(self):
        """Return the verdict as text: one line for a right stage, the full report for any other."""
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
        """Return the report as a dict that ``json.dumps`` accepts."""
        return {
            "ok": self.ok,
            "verdict": self.verdict,
            "score": self.score,
            "first_wrong": self.first_wrong,
            "stages": [report.to_dict() for report in self.stages],
        }

    def html(self):
        """Return an HTML page with the report of every stage."""
        return page(self.stages)


def check_chain(stages, x, **options):
    r"""Check every stage of :math:`f_n \circ \dots \circ f_1`, last stage first.

    Each stage is checked by itself, at the input that it gets in the chain.  A wrong stage spoils
    every gradient that the backward pass computes after it, so correct the first wrong stage first.

    Parameters
    ----------
    stages : sequence of Stage or of tuple
        The stages in the order of the forward pass.  A tuple is ``(name, f, f_vjp)``,
        ``(name, f, f_vjp, parameters)`` or ``(name, f, f_vjp, parameters, wrt)``.
    x : ndarray
        Input of the first stage.
    **options
        Further arguments of :func:`ibpcl.verify.check`, such as ``seed`` and ``rtol``.

    Returns
    -------
    ChainReport
        The reports of all stages.

    Raises
    ------
    TypeError
        If a stage has several outputs.

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
        report = check(stage.f, stage.f_vjp, point, stage.wrt, **options)
        reports.append(replace(report, title=stage.name))
    return ChainReport(reports)
