"""One change of the source that makes a wrong gradient right.

Changed gradient functions are compiled, run and compared with the true gradients.  Only places that
influence every wrong gradient and no right one are changed.
"""

import ast

import numpy as np

from ibpcl.codeview.search import search
from ibpcl.codeview.syntax import Code, executed_by, is_array, name_of
from ibpcl.verify.derivative.problem import copied, gradients_in_order, shaped_like
from ibpcl.verify.reports.kinds import Finding

# seconds that each search may take, estimated with these numbers
EDITING = 0.9
FILLING = 0.4


class Bench:
    """A test bench for changed gradient functions, with the cotangents and caches of all trials.

    Parameters
    ----------
    evidence : Evidence
        Measurements on the pair.

    Attributes
    ----------
    runs : int
        Number of calls of gradient functions so far.
    forward : list of tuple
        The result of :meth:`ibpcl.verify.derivative.problem.Problem.call` at each point.
    """

    def __init__(self, evidence):
        self.evidence = evidence
        self.runs = 0
        self.forward = [problem.call() for problem in evidence.problems]

    def gradients(self, f_vjp, trial):
        """Return the gradients of a function in one trial.

        Parameters
        ----------
        f_vjp : callable
            Gradient function ``f_vjp(dout, cache)``.  It gets copies.
        trial : int
            Number of the trial.

        Returns
        -------
        tuple of ndarray or None
            One array for each differentiated input, None if the function raises.
        """
        point, row = self.evidence.trials[trial]
        self.runs += 1
        with np.errstate(all="ignore"):
            try:
                problem = self.evidence.problems[point]
                outputs, several, cache = problem.call() if problem.renewed else self.forward[point]
                result = f_vjp(shaped_like(self.evidence.w[row], outputs, several), copied(cache))
                return tuple(
                    np.asarray(g) for g in gradients_in_order(result, self.evidence.problem)
                )
            except (Exception, SystemExit):  # a changed function may do anything at all
                return None

    def mended(self, f_vjp, inputs):
        """Return the inputs whose gradients a changed function makes right in every trial.

        Parameters
        ----------
        f_vjp : callable
            Changed gradient function.
        inputs : list of int
            Positions of the inputs to judge.

        Returns
        -------
        list of int
        """
        order = self.evidence.problem.wrt
        for trial in range(len(self.evidence.trials)):
            result = self.gradients(f_vjp, trial)
            if result is None or len(result) != len(order):
                return []
            inputs = [j for j in inputs if self.evidence.agrees(j, trial, result[order.index(j)])]
            if not inputs:
                return []
        return inputs

    def differing(self, a, b):
        """Return the inputs whose gradients differ between two runs.

        Parameters
        ----------
        a, b : tuple of ndarray, or None
            The gradients; see :meth:`gradients`.

        Returns
        -------
        list of int or None
            Positions of the inputs.  None if a run has raised, or one has more gradients.
        """
        if a is None or b is None or len(a) != len(b):
            return None
        return [
            j
            for j, x, y in zip(self.evidence.problem.wrt, a, b, strict=True)
            if y is None
            or x.shape != y.shape
            or x.dtype.kind not in "fc"
            or not np.allclose(x, y, rtol=1e-9, atol=0, equal_nan=True)
        ]

    def code(self):
        """Return the source of the gradient function.

        Returns
        -------
        Code or None
            None if the source cannot be read or, compiled again, does not repeat the gradient.
        """
        plain = self.evidence.gradients[0]
        problem = self.evidence.problem
        try:
            executed = executed_by(lambda: problem.gradients(self.evidence.w[0]))
            code = Code(problem.f_vjp, executed)
            repeated = self.gradients(code.compile(), 0)
        except (ValueError, SyntaxError, NameError, RecursionError):
            return None
        unreadable = any(gradient is None for gradient in plain)
        return None if unreadable or self.differing(plain, repeated) != [] else code


def find_edits(bench, code, edits, wrong, needed, most):
    """Find the simplest edit that makes each wrong gradient right.

    An edit that mends all wrong gradients and spoils no right one is preferred.  The search ends
    with such an edit, or with much simpler edits for all needed inputs.

    Parameters
    ----------
    bench : Bench
        Runs the changed functions.
    code : Code
        Source of the gradient function.
    edits : list of Edit
        The edits to try, in this order.
    wrong : list of int
        Inputs to mend.
    needed : list of int
        Inputs among them that have no name yet.
    most : int
        Largest number of runs.

    Returns
    -------
    dict of int to Edit
        The best edit for each input that an edit mends.
    """
    end = bench.runs + most
    right = [j for j in bench.evidence.problem.wrt if j not in bench.evidence.wrong]
    found = {}  # (cost, edit)

    def stop(edit):
        # a much simpler edit is known for each of them
        known = all(j in found and found[j][1].rank < edit.rank - 2 for j in needed)
        return known or bench.runs > end

    def reached(edit, function):
        mends = bench.mended(function, wrong)
        spoils = mends and right and len(bench.mended(function, right)) < len(right)
        cost = 2 * bool(spoils) + bool(spoils or len(mends) < len(wrong))
        found.update((j, (cost, edit)) for j in mends if j not in found or cost < found[j][0])
        return cost == 0

    search(code, edits, reached, stop)
    return {j: edit for j, (_, edit) in found.items()}


def repaired(code, edit, more=""):
    """Return the finding on a mistake that an edit repairs.

    Parameters
    ----------
    code : Code
        Source of the function.
    edit : Edit
        The edit, which is not made in the trees at present.
    more : str
        Beginning of the sentence.

    Returns
    -------
    Finding
    """
    where = code.location(edit.node)
    return Finding(edit.kind, more + edit.words(), where, repair=code.repair(edit))


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

    def allow(self, edit):
        """Return whether an edit is worth a try.

        Parameters
        ----------
        edit : Edit
            Change of the source.

        Returns
        -------
        bool
            True if the edit changes a suspect place, or another part of the statement of one.
        """
        return any(map(self.suspect, _changed(edit)))

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
        if number in self.tested:
            return number in self.places
        statement = node if number is None else self.code.places[number].statement
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

    moved = bench.differing(bench.gradients(make(hook), 0), bench.evidence.gradients[0])
    return set(bench.evidence.problem.wrt if moved is None else moved)
