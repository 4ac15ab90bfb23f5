"""Find the one operation of a wrong gradient function whose change makes the gradient right.

The function is run again and again on recording arrays (:mod:`ibpcl.verify.trace`), each time with one small
change: a sign turned, an operand left out, another axis summed, two operands exchanged, a slice shifted, a constant
altered.  A change that yields the true gradient in every trial names the mistake and the line it stands on.
"""

import ast
import inspect
import textwrap

import numpy as np

from ibpcl.verify.edits import edits_of
from ibpcl.verify.evidence import close
from ibpcl.verify.problem import as_tuple, shaped_like
from ibpcl.verify.trace import Recorder, wrap
from ibpcl.verify.witness import refusals

FAILURES = (ArithmeticError, AttributeError, IndexError, KeyError, AssertionError)     # a changed run may break
MOST_STEPS = 250
MOST_RUNS = 6000


class Runner:
    """Runs the gradient function of a problem on recording arrays.

    Parameters
    ----------
    evidence : Evidence
    """

    def __init__(self, evidence):
        self.evidence = evidence
        self.names = cache_names(evidence.problem.f_vjp)
        self.prepared = []
        for p, row in evidence.trials:
            outputs, several, cache = evidence.problems[p].call()
            self.prepared.append((shaped_like(evidence.w[row], outputs, several), cache))
        self.runs, self.point = 0, 0

    def run(self, t, target=None, change=None, keep=False):
        """Return the gradients of trial ``t`` as plain arrays, and the recorder; None if the run broke."""
        recorder = Recorder(target, change, keep)
        dout, cache = self.prepared[t]
        self.runs, self.point = self.runs + 1, self.evidence.trials[t][0]
        with np.errstate(all="ignore"):
            try:
                dout = tuple(recorder.root(part, f"dout[{i}]") for i, part in enumerate(dout)) \
                    if isinstance(dout, tuple) else recorder.root(dout, "dout")
                result = as_tuple(self.evidence.problem.f_vjp(dout, wrap(cache, recorder, names=self.names)))
                return tuple(np.array(np.asarray(g)) for g in result), recorder
            except (*refusals(), *FAILURES):
                return None, recorder

    def record(self, t=0):
        """Return the recorder of an unchanged run, or None if recording does not reproduce the gradient."""
        result, recorder = self.run(t, keep=True)
        plain = self.evidence.gradients[t]
        if result is None or len(result) != len(plain) or len(recorder.steps) > MOST_STEPS:
            return None
        same = all(b is not None and a.shape == b.shape and np.allclose(a, b, rtol=1e-10, atol=0, equal_nan=True)
                   for a, b in zip(result, plain, strict=True))
        return recorder if same else None

    def repairs(self, edit, inputs):
        """Return which of ``inputs`` an edit makes right in every trial."""
        fixed = list(inputs)
        for t in range(len(self.prepared)):
            result, _ = self.run(t, edit.step.index, edit.change)
            if result is None or len(result) != len(self.evidence.problem.wrt):
                return []
            fixed = [j for j in fixed if self._right(j, t, result)]
            if not fixed:
                return []
        return fixed

    def _right(self, j, t, result):
        value, allowed = self.evidence.expected(j, t)
        array = result[self.evidence.problem.wrt.index(j)]
        return array.shape == value.shape and close(array, value, allowed)


def find_edit(runner, recorder, wrong, edits=None):
    """Return for each wrong input the simplest edit that makes it right, preferring one that mends all of them.

    Parameters
    ----------
    runner : Runner
    recorder : Recorder
        Of an unchanged run.
    wrong : sequence of int
        Inputs whose gradients are wrong.
    edits : iterable of Edit, optional
        By default all simple edits of every step.

    Returns
    -------
    dict of int to Edit
    """
    edits = [edit for step in recorder.steps for edit in edits_of(step, recorder)] if edits is None else edits
    found = {}
    for edit in sorted(edits, key=lambda e: e.rank):            # stable: earlier steps first
        if runner.runs > MOST_RUNS:
            break
        for j in runner.repairs(edit, wrong):
            found.setdefault(j, []).append(edit)
        if all(len(found.get(j, ())) for j in wrong) and any(
                all(e in found[j] for j in wrong) for e in found[wrong[0]]):
            break
    best = {}
    for j, works in found.items():
        shared = [e for e in works if all(e in found.get(i, ()) for i in wrong)]
        best[j] = (shared or works)[0]
    return best


def cache_names(f_vjp):
    """Return the names to which a gradient function unpacks its cache, read from its source; None if unknown."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(f_vjp)))
    except (OSError, TypeError, SyntaxError, IndentationError):
        return None
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    if not functions or len(functions[0].args.args) < 2:
        return None
    cache = functions[0].args.args[1].arg
    for node in ast.walk(functions[0]):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == cache \
                and isinstance(node.targets[0], ast.Tuple):
            names = [item.id if isinstance(item, ast.Name) else "" for item in node.targets[0].elts]
            return [name if name != "_" else f"cache[{i}]" for i, name in enumerate(names)] if all(names) else None
    return None
