"""Find the one operation of a wrong gradient function whose change makes the gradient right.

The function is run again and again on recording arrays (:mod:`ibpcl.verify.trace`), each time with one small
change: a sign turned, an operand left out, another axis summed, two operands exchanged, a slice shifted, a constant
altered.  A change that yields the true gradient in every trial names the mistake and the line it stands on.
"""

import ast
import inspect
import textwrap

import numpy as np

from ibpcl.verify.evidence import close
from ibpcl.verify.problem import as_tuple, shaped_like
from ibpcl.verify.replay import Program
from ibpcl.verify.trace import Recorder, wrap
from ibpcl.verify.witness import refusals

FAILURES = (ArithmeticError, AttributeError, IndexError, KeyError, AssertionError)     # a changed run may break
MOST_STEPS = 300
MOST_RUNS = 4000
FARTHEST = 1e6          # what makes a result larger than this many times mends nothing, and may take SciPy for ever


class Runner:
    """Runs the gradient function of a problem on recording arrays.

    Parameters
    ----------
    evidence : Evidence
    """

    def __init__(self, evidence):
        self.evidence = evidence
        self.names = cache_names(evidence.problem.f_vjp)
        self.roots, self.cotangents, self.programs, self.bent = {}, [], [], []
        self.followed, self.farthest = frozenset(), []
        self.forward = [problem.call() for problem in evidence.problems]
        self.runs, self.point = 0, 0

    def run(self, t, target=None, change=None, keep=False, more=()):
        """Return the gradients of trial ``t`` as plain arrays, and the recorder; None if the run broke."""
        p, row = self.evidence.trials[t]
        return self.pull_back(p, self.evidence.w[row], target, change, keep, more)

    def pull_back(self, p, w, target=None, change=None, keep=False, more=()):
        """Do the same at point ``p`` with any cotangent; the cache is copied, so no run disturbs another."""
        recorder = Recorder(target, change, keep, more)
        outputs, several, cache = self.forward[p]
        dout = shaped_like(w, outputs, several)
        self.runs, self.point = self.runs + 1, p
        with np.errstate(all="ignore"):
            try:
                dout = tuple(recorder.root(part, f"dout[{i}]") for i, part in enumerate(dout)) \
                    if isinstance(dout, tuple) else recorder.root(dout, "dout")
                result = as_tuple(self.evidence.problem.f_vjp(dout, wrap(cache, recorder, names=self.names)))
                recorder.outputs = result
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
        self.roots = recorder.roots
        self.cotangents = [name for name in recorder.roots if name.startswith("dout")]
        if not same:
            return None
        runs = [recorder] + [self.run(t, keep=True)[1] for t in range(1, len(self.evidence.trials))]
        programs = [Program(run, run.outputs) for run in runs if run.outputs is not None]
        alike = len(programs) == len(runs) and len({tuple(step.name for step in run.steps) for run in runs}) == 1
        self.programs = programs if alike and all(program.valid for program in programs) else []
        self.bent = [self.run(0, step.index, _bent)[0] for step in recorder.steps]
        self.farthest = [FARTHEST * np.max(np.abs(step.result), initial=1.0) if np.asarray(step.result).dtype.kind in
                         "fiu" else FARTHEST for step in recorder.steps]
        if self.programs:
            self.followed = self._followed(recorder)
        return recorder

    def _followed(self, recorder):
        """Return the steps whose results do not leave the record and come back: a repetition shows what they change."""
        same = {n for n, bent in enumerate(self.bent) if _equal(self.repeat(0, {n: _bent}), bent)}
        floats = {step.index for step in recorder.steps if np.asarray(step.result).dtype.kind == "f"}
        return same if len(same) == len(recorder.steps) else same & floats      # others cannot be bent

    def repairs(self, edit, inputs):
        """Return which of ``inputs`` an edit makes right in every trial."""
        fixed, first = list(inputs), edit.step.index
        changes = {n: self._bounded(n, change) for n, change in ((first, edit.change), *edit.more)}
        if self.followed.issuperset(changes):           # cheap; what seems to work is confirmed by the code itself
            fixed = self._fixed(fixed, lambda t: self.repeat(t, changes))
        return fixed and self._fixed(fixed, lambda t: self.run(t, first, changes[first], more=changes)[0])

    def _bounded(self, n, change):
        """Return a change of step ``n`` that breaks the run where its result is beyond all that the step could mean."""
        def bounded(compute, operands, options, recorder):
            result = change(compute, operands, options, recorder)
            if np.asarray(result).dtype.kind == "f" and np.max(np.abs(result), initial=0.0) > self.farthest[n]:
                raise ArithmeticError("too large")
            return result

        return bounded

    def _fixed(self, inputs, gradients):
        for t in range(len(self.evidence.trials)):
            result = gradients(t)
            if result is None or len(result) != len(self.evidence.problem.wrt):
                return []
            inputs = [j for j in inputs if self._right(j, t, result)]
            if not inputs:
                return []
        return inputs

    def repeat(self, t, changes):
        """Return the gradients of trial ``t`` with some steps changed, by repeating the record; None if that broke."""
        self.runs, self.point = self.runs + 1, self.evidence.trials[t][0]
        with np.errstate(all="ignore"):
            try:
                return self.programs[t].run(changes)
            except (*refusals(), *FAILURES):
                return None

    def influence(self, recorder):
        """Return for each step the inputs whose gradients change with it: a mistake there would spoil all of them."""
        plain, wrt = self.evidence.gradients[0], self.evidence.problem.wrt
        reached = {}
        for step in recorder.steps:
            result = self.bent[step.index]
            reached[step.index] = {j for n, j in enumerate(wrt) if result is None or len(result) != len(wrt)
                                   or result[n].shape != plain[n].shape
                                   or not np.allclose(result[n], plain[n], rtol=1e-9, atol=0, equal_nan=True)}
        return reached

    def _right(self, j, t, result):
        value, allowed = self.evidence.expected(j, t)
        array = result[self.evidence.problem.wrt.index(j)]
        return array.shape == value.shape and close(array, value, allowed)


def _bent(compute, operands, options, recorder):
    result = compute(*operands, **options)
    if len(operands) == 3 and result is operands[0]:    # written in place
        return compute(*operands[:2], 1.01 * np.asarray(operands[2]) + 0.003)
    return result * 1.01 + 0.003 if np.asarray(result).dtype.kind == "f" else result


def _equal(first, second):
    if first is None or second is None:
        return first is second
    return len(first) == len(second) and all(map(np.array_equal, first, second))


def suspects(runner, recorder, wrong):
    """Return the steps that touch a wrong gradient and no right one, or all that touch a wrong one if none does."""
    reached = runner.influence(recorder)
    wrong = set(wrong)
    strict = [s for s in recorder.steps if reached[s.index] and reached[s.index] <= wrong]
    return strict or [s for s in recorder.steps if reached[s.index] & wrong]


def find_edit(runner, wrong, edits):
    """Return for each wrong input the simplest edit that makes it right, preferring one that mends all of them.

    Parameters
    ----------
    runner : Runner
    wrong : sequence of int
        Inputs whose gradients are wrong.
    edits : iterable of Edit

    Returns
    -------
    dict of int to Edit
    """
    found, start = {}, runner.runs
    for edit in sorted(edits, key=lambda e: e.rank):            # stable: earlier steps first
        if runner.runs - start > min(MOST_RUNS, max(200, 2e7 // runner.evidence.numbers)):
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
    """Return the names that a gradient function gives to what is in its cache, read from its source.

    Returns
    -------
    list of str, str or None
        Names of the parts if it unpacks them; if it hands the cache on to a function of its module, that one's; else
        the name of the whole.  None if nothing is known.
    """
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
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == cache \
                and isinstance(node.targets[0], ast.Name):
            return node.targets[0].id
    for node in ast.walk(functions[0]):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 2 \
                and isinstance(node.args[1], ast.Name) and node.args[1].id == cache:
            inner = getattr(f_vjp, "__globals__", {}).get(node.func.id)
            if inspect.isfunction(inner) and inner is not f_vjp:
                return cache_names(inner)
    return cache
