"""Reports and their curves as messages from one process to another, and back.

What is received may be anything: a message from which no report can be made raises whatever comes up.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.verify.curves import Curve
from ibpcl.verify.report import InputVerdict, Report, plain
from ibpcl.verify.trap import Interrupted, Trap, limit


def sent_report(report):
    """Return a report as plain values, by its attributes: properties and methods may have been replaced."""
    return {"report": {
        "problems": plain(report.problems), "notes": list(report.notes), "numbers": plain(report.numbers),
        "inputs": [{"name": item.name, "kind": item.kind, "words": item.words, "hint": item.hint,
                    "error": plain(item.error), "numbers": plain(item.numbers)} for item in report.inputs]}}


def sent_curves(report, timeout):
    """Return the curves of a report as plain values; those that raise or take too long are left out."""
    curves = {}
    try:
        with limit(timeout):
            for name, drawn in report.curves.items():
                with Trap():
                    curves[name] = Drawn.sent(drawn)
    except Interrupted:
        pass
    return curves


def received_report(title, message):
    """Return the report of a message with the curves that came with it.

    Raises
    ------
    Exception
        Of any kind, if a part is missing or is not what it must be.
    """
    sent = message["report"]
    inputs = [InputVerdict(item["name"], item["kind"], item["words"], item["hint"], float(item["error"]),
                           _restored(item["numbers"])) for item in sent["inputs"]]
    if not inputs:
        raise ValueError("a report without inputs")
    report = Report(title, inputs, sent["problems"], sent["notes"], _restored(sent["numbers"]))
    report.curves = {name: Drawn.restored(curves) for name, curves in message.get("curves", {}).items()}
    report.text()                                           # which needs every part
    return report


def _restored(value):
    """Undo :func:`ibpcl.verify.report.plain`: tuples, and what is not finite.

    >>> _restored({"a": ["nan", 1, "x"]})
    {'a': (nan, 1, 'x')}
    """
    if isinstance(value, dict):
        return {key: _restored(item) for key, item in value.items()}
    if isinstance(value, list):
        return tuple(map(_restored, value))
    return float(value) if isinstance(value, str) and value in ("nan", "inf", "-inf") else value


@dataclass
class Drawn:
    """Curves that were computed elsewhere, with what a page needs of :class:`ibpcl.verify.curves.Curves`."""

    curves: dict

    @classmethod
    def sent(cls, curves):
        """Return the curves as plain values."""
        return {"v": plain(list(curves.v_curve())), "truth": plain(list(curves.v_curve_of_truth())),
                "1": plain(list(curves.taylor(1))), "2": plain(list(curves.taylor(2)))}

    @classmethod
    def restored(cls, sent):
        """Return the object from plain values."""
        return cls({key: Curve(*(np.asarray(_restored(part), dtype=float) for part in parts))
                    for key, parts in sent.items()})

    def v_curve(self):
        """Return the curve against the claimed gradient."""
        return self.curves["v"]

    def v_curve_of_truth(self):
        """Return the curve against the extrapolated derivative."""
        return self.curves["truth"]

    def taylor(self, order=1):
        """Return the Taylor remainder."""
        return self.curves[str(order)]
