"""Places of a gradient function that influence every wrong gradient and no right one."""

import ast

import numpy as np

from ibpcl.codeview.syntax import is_array, name_of


class Suspects:
    """The places of a gradient function that can contain a mistake in some of its gradients.

    The value of each place is moved a little.  A place is suspect if that changes all wrong
    gradients and no right one.  If no place does (there are two mistakes, or some input does not
    show the mistake), no place is ruled out.

    Parameters
    ----------
    bench : Bench
        Runs changed versions of the gradient function.
    code : Code
        Source of the gradient function.
    recording : Recording
        The values of its places in the first trial.

    Attributes
    ----------
    tested : set of int
        Numbers of the places that were moved: those with floating-point values that are not
        compared or ranked.
    places : set of int
        Numbers of the suspect places.
    any : bool
        Whether there are suspect places.
    linear : bool
        Whether all wrong gradients are linear in the cotangent.
    innocent : set of ast.stmt
        Statements that cannot be wrong, by measurement.
    likely : set of ast.stmt
        Statements that can be wrong, by measurement.  Empty if nothing was measured.
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
        self.innocent = set()
        self.likely = set()

    def allow(self, edit):
        """Return whether an edit is worth a try.

        Parameters
        ----------
        edit : Edit
            Change of the source.

        Returns
        -------
        bool
            True if the edit changes a suspect place, or another part of the statement of one, and
            not only innocent statements.
        """
        changed = _changed(edit)
        if all(hasattr(node, "place") and self._around(node) in self.innocent for node in changed):
            return False
        return not self.any or any(map(self.suspect, changed))

    def unlikely(self, edit):
        """Return whether an edit lies outside the statements that can be wrong by measurement.

        Parameters
        ----------
        edit : Edit
            Change of the source.

        Returns
        -------
        bool
            False if nothing was measured.
        """
        return bool(self.likely) and not any(
            self._around(node) in self.likely for node in _changed(edit)
        )

    def _around(self, node):
        """Return the statement around an expression; other nodes are returned unchanged."""
        return self.code.places[node.place].statement if hasattr(node, "place") else node

    def suspect(self, node):
        """Return whether an expression or a statement can contain the mistake.

        Parameters
        ----------
        node : ast.AST
            An expression or a statement of the gradient function.

        Returns
        -------
        bool
            For a place that was not tested itself, the tested places of its statement decide.
        """
        number = getattr(node, "place", None)
        if not self.any:
            return True
        if number in self.tested and not isinstance(node, ast.stmt):
            return number in self.places
        statement = self._around(node)
        tested = {getattr(child, "place", None) for child in ast.walk(statement)} & self.tested
        # nothing is known about a statement without tested values
        return not tested or bool(tested & self.places)


def _stepwise(place):
    """Return whether a value is compared, ranked or rounded: a small change may have no effect."""
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
    """Return the nodes that an edit replaces, or the loop whose header or body it changes."""
    return [put[0] if isinstance(put[0], ast.For) else _old(put) for put in edit.puts]


def _old(put):
    """Return the node that an item of ``puts`` replaces."""
    parent, field, index, _ = put
    return getattr(parent, field) if index is None else getattr(parent, field)[index]


def _reached(bench, make, place):
    """Return the inputs whose gradients change when the value of a place is moved.

    All inputs are returned if the moved function raises or returns another number of gradients.
    """

    def hook(number, value, scope):
        return value * 1.01 + 0.003 if number == place and is_array(value) else value

    evidence = bench.evidence
    result = bench.gradients(make(hook), 0)
    plain = evidence.gradients[0]
    inputs = list(evidence.problem.wrt)
    if result is None or len(result) != len(plain):
        return set(inputs)
    return {
        j
        for j, a, b in zip(inputs, result, plain, strict=True)
        if b is None
        or a.shape != b.shape
        or a.dtype.kind not in "fc"
        or not np.allclose(a, b, rtol=1e-9, atol=0, equal_nan=True)
    }
