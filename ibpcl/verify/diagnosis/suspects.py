"""Where a single mistake can be: the places that touch every wrong gradient and no right one."""

import ast

import numpy as np

from ibpcl.verify.diagnosis.source import is_array
from ibpcl.verify.edits.edit import name_of


class Suspects:
    """The places of a gradient function that a mistake in some gradients can be in.

    The value of each place is moved a little; a place is suspect if that moves all wrong gradients
    and no right one. If there is no such place (two mistakes, or one that some input does not
    show), none is ruled out.
    """

    def __init__(self, bench, code, recording):
        self.code = code
        wrong = set(bench.evidence.wrong)
        make = code.watched()
        right = set(bench.evidence.problem.wrt) - wrong
        self.tested = {
            n
            for n, value in recording.values.items()
            if is_array(value) and not _stepwise(code.places[n])
        }
        reached = {n: _reached(bench, make, n) for n in self.tested}
        self.places = {n for n, inputs in reached.items() if wrong <= inputs and not inputs & right}
        self.any = bool(self.places)
        self.linear = all(map(bench.evidence.linear, [j for j in wrong if bench.evidence.fits(j)]))
        # statements that can't be wrong, or can be, by measurement
        self.innocent = set()
        self.likely = set()

    def allow(self, edit):
        """Return whether an edit changes a suspect place, or something else in the statement of
        one.
        """
        changed = _changed(edit)
        if all(hasattr(node, "place") and self._around(node) in self.innocent for node in changed):
            return False
        return not self.any or any(map(self.suspect, changed))

    def unlikely(self, edit):
        """Return whether an edit is outside the statements that can be wrong by measurement."""
        return bool(self.likely) and not any(
            self._around(node) in self.likely for node in _changed(edit)
        )

    def _around(self, node):
        return self.code.places[node.place].statement if hasattr(node, "place") else node

    def suspect(self, node):
        """Return whether a mistake can be in a place, or in a statement."""
        number = getattr(node, "place", None)
        if not self.any:
            return True
        if number in self.tested and not isinstance(node, ast.stmt):
            return number in self.places
        around = self._around(node)
        tested = {getattr(part, "place", None) for part in ast.walk(around)} & self.tested
        # nothing is known of a statement without values
        return not tested or bool(tested & self.places)


def _stepwise(place):
    """Return whether a value is compared or ranked, so that a small change of it need not show."""
    parent = place.parent
    ranked = isinstance(parent, ast.Call) and name_of(parent.func) in (
        "sign",
        "argmax",
        "argmin",
        "argsort",
        "floor",
        "ceil",
        "round",
        "digitize",
        "searchsorted",
        "where",
    )
    return isinstance(parent, ast.Compare) or ranked


def _changed(edit):
    return [put[0] if isinstance(put[0], ast.For) else _old(put) for put in edit.puts]


def _old(put):
    parent, field, index, _ = put
    return getattr(parent, field) if index is None else getattr(parent, field)[index]


def _reached(bench, make, place):
    """Return the inputs whose gradients change with the value of a place; all of them if the
    function then breaks.
    """

    def hook(number, value, scope):
        return value * 1.01 + 0.003 if number == place and is_array(value) else value

    evidence = bench.evidence
    result = bench.gradients(make(hook), 0)
    plain = evidence.gradients[0]
    everything = list(evidence.problem.wrt)
    if result is None or len(result) != len(plain):
        return set(everything)
    return {
        j
        for j, a, b in zip(everything, result, plain, strict=True)
        if b is None
        or a.shape != b.shape
        or a.dtype.kind not in "fc"
        or not np.allclose(a, b, rtol=1e-9, atol=0, equal_nan=True)
    }
