"""Names for the mistake in a gradient function that raises.

The same changes of the source are tried as for a wrong gradient (:mod:`ibpcl.codeview.slips`), and
those that make other shapes meet (:mod:`ibpcl.codeview.fitting`).  A change counts if the
function then runs and a gradient that depends on the change is right in every trial.  The verdict
does not depend on the search: a gradient function that raises is wrong.
"""

import ast
import traceback
import warnings
from typing import NamedTuple

import numpy as np

from ibpcl.codeview.edits import Everything, edits_of
from ibpcl.codeview.search import search
from ibpcl.codeview.slips import LATE, SHAPES
from ibpcl.codeview.syntax import Code, Recording, executed_by, names_in, parsed
from ibpcl.verify.adapters.refusals import place_of, raised
from ibpcl.verify.explain.evidence import Evidence
from ibpcl.verify.explain.rewrites import Bench, repaired
from ibpcl.verify.reports.kinds import HINTS, Finding
from ibpcl.verify.reports.report import InputVerdict

MOST_RUNS = 600  # largest number of runs of changed functions
FAR = 2  # a change this far from the raising line is unlikely
NOT_REACHED = "not reached: the gradient function raises before"


class Repair(NamedTuple):
    """A change after which a gradient function runs, and gradients are right.

    Attributes
    ----------
    finding : Finding
        The mistake, its place, and the text that makes the change in the user's file.
    f_vjp : callable
        The changed gradient function.
    right : list of int
        Positions of the inputs whose gradients are right after the change.
    affected : list of int
        Positions of the inputs whose gradients depend on the change.
    """

    finding: Finding
    f_vjp: object
    right: list
    affected: list


def verdict_on_raising(name, error, repair=None, j=None, other=None):
    """Return the verdict on one input of a gradient function that raises.

    Parameters
    ----------
    name : str
        Name of the input.
    error : BaseException
        What the gradient function raises.
    repair : Repair, optional
        The change that mends the function.
    j : int, optional
        Position of the input, if there is a repair.
    other : InputVerdict, optional
        The verdict on the input after a repair that leaves gradients wrong.

    Returns
    -------
    InputVerdict
        It is wrong.
    """
    line = place_of(error)
    what = raised(error, "").strip()
    if repair is None:
        return InputVerdict(name, "raises", what, HINTS["raises"], where=line)
    kind, words, where, *_ = repair.finding
    texts = repair.finding.repair
    still = other is not None and other.verdict == "wrong"
    more = f"; with this repaired: {other.words}" if still else ""
    if j in repair.affected:
        words = f"{what}: {words}{more}"
        return InputVerdict(name, kind, words, HINTS[kind], where=where, repair=texts)
    if still:
        words = f"{NOT_REACHED}{more}"
        return InputVerdict(name, other.kind, words, other.hint, where=other.where)
    # one mistake, which keeps this gradient from being computed
    return InputVerdict(name, kind, NOT_REACHED, HINTS[kind], where=line)


def repair_of(problem, error, terms):
    """Return the simplest change that mends a gradient function that raises, or None.

    Parameters
    ----------
    problem : Problem
        The pair, whose gradient function raises.
    error : BaseException
        What it raises.
    terms : ibpcl.verify.agreement.Terms
        How pairs are compared.

    Returns
    -------
    Repair or None
        A change after which all gradients are right, or else most of them.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        shapes = [problem.shape(j) for j in problem.wrt]
        zeros = problem.with_gradient(lambda dout, cache: tuple(map(np.zeros, shapes)))
        evidence = Evidence(zeros, {}, terms)
        try:
            code = Code(problem.f_vjp, executed_by(lambda: problem.gradients(terms.w[0])))
            return _Search(problem, Bench(evidence), code, error).run()
        except (ValueError, SyntaxError, NameError, RecursionError):  # the source cannot be read
            return None


class _Search:
    """The search for a change that mends a function that raises."""

    def __init__(self, problem, bench, code, error):
        self.problem = problem
        self.bench = bench
        self.code = code
        self.recording = Recording(code, lambda f_vjp: bench.gradients(f_vjp, 0))
        self.raising = _statements(error, code)
        self.near = _definitions(self.raising, code)

    def run(self):
        """Return the simplest repair, or None."""
        if not self.raising or self.bench.gradients(self.code.compile(), 0) is not None:
            return None
        inputs = list(self.problem.wrt)
        best = None
        near = [*self.raising, *self.near]
        edits = edits_of(self.code, self.recording, Everything(), tuple(SHAPES), near)
        edits.sort(key=lambda edit: (self._distance(edit), edit.rank, _length(edit)))

        def reached(edit, function):
            nonlocal best
            right = self.bench.mended(function, inputs)
            if not right or (best is not None and len(right) <= len(best[1])):
                return False
            affected = self._affected(edit)
            if len(right) == len(inputs):
                best = edit, right, affected or inputs
            elif set(right) & set(affected):
                best = edit, right, affected
            return len(right) == len(inputs)

        search(self.code, edits, reached, lambda edit: self.bench.runs > MOST_RUNS)
        if best is None:
            return None
        edit, right, affected = best
        return Repair(repaired(self.code, edit), self.code.version(edit.puts), right, affected)

    def _distance(self, edit):
        """Return how far an edit is from the statement that raises; late edits are farther."""
        inside = [
            distance
            for distance, statements in ((0, self.raising[:1]), (1, [*self.raising, *self.near]))
            if any(_covers(statement, edit.node.lineno) for statement in statements)
        ]
        return min(inside, default=FAR) + (FAR if edit.rank >= LATE else 0)

    def _affected(self, edit):
        """Return the inputs whose gradients change with the values that an edit puts in.

        The list is empty if these values cannot be moved.
        """
        moved = [_moved(*item) for item in edit.puts]
        if None in moved:
            return []
        plain, other = (
            self.bench.gradients(self.code.version(puts), 0)
            for puts in (edit.puts, (*edit.puts, *moved))
        )
        return self.bench.differing(plain, other) or []


def _moved(parent, field, index, new):
    """Return the replacement that moves the value of a new node, or None."""
    if isinstance(parent, ast.Assign) and field == "targets":
        old = parent.targets[index].elts
        places = [n for n, (a, b) in enumerate(zip(old, new.elts, strict=True)) if a is not b]
        value = parsed(f"[e * 1.01 if n in {places} else e for n, e in enumerate(values)]")
        value.generators[0].iter.args = [parent.value]
        return parent, "value", None, ast.copy_location(value, parent.value)
    if not isinstance(new, ast.expr):
        return None
    product = ast.BinOp(new, ast.Mult(), ast.Constant(1.01))
    return parent, field, index, ast.copy_location(product, new)


def _length(edit):
    """Return the number of nodes that an edit puts in: `a` is simpler than `a.T.T`."""
    return sum(1 for item in edit.puts for _ in ast.walk(item[-1]))


def _covers(statement, line):
    return statement.lineno <= line <= statement.end_lineno


def _statements(error, code):
    """Return the statements that an exception passed through, the innermost first."""
    found = []
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        around = [
            place.statement
            for place in code.places
            if getattr(place.node, "file", code.file) == frame.filename
            and _covers(place.statement, frame.lineno)
        ]
        if around:
            found.append(min(around, key=lambda node: node.end_lineno - node.lineno))
    return list(dict.fromkeys(found))


def _definitions(statements, code):
    """Return the statements that assign a variable that some statements read."""
    names = {name for statement in statements for name in names_in(statement)}
    return [
        node
        for tree in code.trees.values()
        for node in ast.walk(tree)
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign))
        and names & names_in(node, ast.Store)
    ]
