"""Find the one operation of a wrong gradient function whose change makes the gradient right.

The function is run again and again on recording arrays (:mod:`ibpcl.verify.trace`), each time with one small
change: a sign turned, an operand left out, another axis summed, two operands exchanged, a slice shifted, a constant
altered.  A change that yields the true gradient in every trial names the mistake and the line it stands on.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ibpcl.verify.evidence import close
from ibpcl.verify.problem import as_tuple, shaped_like
from ibpcl.verify.trace import Recorder, wrap
from ibpcl.verify.witness import refusals

FAILURES = (ArithmeticError, AttributeError, IndexError, KeyError, AssertionError)     # a changed run may break
MOST_STEPS = 250
MOST_RUNS = 6000
_TWINS = {"sin": "cos", "cos": "sin", "exp": "expm1", "expm1": "exp", "log": "log1p", "log1p": "log",
          "greater": "less", "less": "greater", "greater_equal": "greater", "less_equal": "less",
          "maximum": "minimum", "minimum": "maximum", "cosh": "sinh", "sinh": "cosh"}


class Edit(NamedTuple):
    """A change of one operation; of several that work, the one of smallest ``rank`` is the simplest."""

    rank: int
    step: object
    change: Callable
    kind: str
    words: str


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


def edits_of(step, recorder):
    """Yield the simple changes of one recorded operation."""
    name, operands = step.name, step.operands

    def edit(rank, change, kind, words):
        return Edit(rank, step, change, kind, words)

    yield edit(0, lambda go, x, o, r: -go(*x, **o), "sign", f"the sign of `{step.label}` is wrong")
    if name in ("add", "subtract"):
        other = np.subtract if name == "add" else np.add
        yield edit(1, lambda go, x, o, r: other(*x), "sign",
                   f"`{step.label}` must be a {'difference' if name == 'add' else 'sum'}")
        for i in (0, 1):
            yield edit(3, lambda go, x, o, r, i=i: np.broadcast_to(x[1 - i], np.shape(go(*x))).copy(),
                       "missing_term", f"a term too many: `{step.labels[i]}` in `{step.label}`")
    if name in ("multiply", "divide"):
        yield from _factor_edits(step, edit)
    if name in ("matmul", "dot"):
        yield from _product_edits(step, edit)
    if name in ("sum", "mean", "add.reduce", "cumsum"):
        yield from _sum_edits(step, edit)
    if name == "getitem":
        yield from _index_edits(step, edit)
    if name in ("transpose",):
        yield edit(3, lambda go, x, o, r: x[0], "transposed", f"`{step.label}` must not be transposed")
    if name == "where":
        yield edit(3, lambda go, x, o, r: np.where(x[0], x[2], x[1]), "elementwise_factor",
                   f"the two branches of `{step.label}` are exchanged")
    if name in ("subtract", "divide", "power"):
        yield edit(2, lambda go, x, o, r: go(x[1], x[0]), "sign" if name == "subtract" else "elementwise_factor",
                   f"the operands of `{step.label}` are exchanged")
    if len(operands) == 1 and name not in ("negative",) and isinstance(step.result, (np.ndarray, np.generic)) \
            and np.shape(step.result) == np.shape(operands[0]):
        yield edit(5, lambda go, x, o, r: x[0], "elementwise_factor", f"`{name}` in `{step.label}` is too much")
    if name in _TWINS:
        yield edit(5, lambda go, x, o, r: getattr(np, _TWINS[name])(*x), "elementwise_factor",
                   f"`{step.label}` must use {_TWINS[name]}")
    yield from _operand_edits(step, edit, recorder)


def _factor_edits(step, edit):
    for i in (0, 1):
        if step.name == "divide" and i == 0:
            continue
        constant = np.ndim(step.operands[i]) == 0
        yield edit(2, lambda go, x, o, r, i=i: np.broadcast_to(x[1 - i], np.shape(go(*x))).copy(),
                   "constant_factor" if constant and not step.labels[i].isidentifier() else "elementwise_factor",
                   f"a factor too many: `{step.labels[i]}` in `{step.label}`")
    if step.name == "multiply":
        yield edit(3, lambda go, x, o, r: np.divide(*x), "elementwise_factor", f"`{step.label}` must be a quotient")
        yield edit(3, lambda go, x, o, r: np.divide(x[1], x[0]), "elementwise_factor",
                   f"`{step.label}` must be a quotient")
    else:
        yield edit(3, lambda go, x, o, r: np.multiply(*x), "elementwise_factor", f"`{step.label}` must be a product")


def _product_edits(step, edit):
    swap = np.swapaxes
    ways = {"the operands are exchanged": lambda a, b: (b, a),
            "the first operand must be transposed": lambda a, b: (swap(a, -1, -2), b),
            "the second operand must be transposed": lambda a, b: (a, swap(b, -1, -2)),
            "both operands must be transposed": lambda a, b: (swap(a, -1, -2), swap(b, -1, -2))}
    for words, way in ways.items():
        yield edit(3, lambda go, x, o, r, way=way: go(*way(*x), **o), "transposed", f"`{step.label}`: {words}")
    yield edit(3, lambda go, x, o, r: swap(go(*x, **o), -1, -2), "transposed",
               f"the result of `{step.label}` must be transposed")


def _sum_edits(step, edit):
    array, axis = step.operands[0], step.options.get("axis")
    if axis is None and len(step.operands) > 1:
        axis = step.operands[1]
    cumulative = step.name == "cumsum"
    axes = [*range(np.ndim(array)), *([] if cumulative else [None])]
    total = np.cumsum if cumulative else (np.mean if step.name == "mean" else np.sum)
    keep = {} if cumulative else {"keepdims": bool(step.options.get("keepdims", False))}
    if step.name == "mean":
        yield edit(1, lambda go, x, o, r: np.sum(x[0], axis=axis, **keep), "mean",
                   f"`{step.label}` must be a sum, not a mean")
    if step.name in ("sum", "add.reduce"):
        yield edit(2, lambda go, x, o, r: np.mean(x[0], axis=axis, **keep), "constant_factor",
                   f"`{step.label}` must be a mean, not a sum")
        yield edit(4, lambda go, x, o, r: x[0], "summed", f"`{step.label}` sums where nothing must be summed")
    for other in axes:
        if other != axis and not (isinstance(axis, int) and other == axis % np.ndim(array)):
            yield edit(1, lambda go, x, o, r, other=other: total(x[0], axis=other, **keep), "summed",
                       f"`{step.label}` sums over axis {axis}, but axis {other} belongs there")
    if cumulative:
        yield edit(2, lambda go, x, o, r: np.flip(np.cumsum(np.flip(x[0], axis), axis), axis), "summed",
                   f"`{step.label}` must run from the end to the beginning")


def _index_edits(step, edit):
    array, index = step.operands
    parts = index if isinstance(index, tuple) else (index,)
    for i, part in enumerate(parts):
        for moved in _shifted(part):
            new = (*parts[:i], moved, *parts[i + 1:])
            yield edit(2, lambda go, x, o, r, new=new: x[0][new], "shifted",
                       f"off by one in the index of `{step.label}`: {_index_text(new)}, not {_index_text(parts)}")


def _shifted(part):
    if isinstance(part, slice):
        a, b = part.start, part.stop
        for start, stop in ((1, None), (None, -1), (None, None), ((a or 0) + 1, b), ((a or 0) - 1 if a else a, b),
                            (a, b - 1 if b is not None else -1), (a, b + 1 if b not in (None, -1) else None)):
            if (start, stop) != (a, b):
                yield slice(start, stop, part.step)
        if part.step in (None, -1):
            yield slice(None, None, None if part.step == -1 else -1)
    elif isinstance(part, (int, np.integer)) and not isinstance(part, bool):
        yield from (part + 1, part - 1)


def _index_text(parts):
    def one(part):
        if not isinstance(part, slice):
            return "..." if part is Ellipsis else str(part)
        ends = ["" if part.start is None else str(part.start), "" if part.stop is None else str(part.stop)]
        return ":".join(ends + ([str(part.step)] if part.step is not None else []))
    return "[" + ", ".join(one(part) for part in parts) + "]"


def _operand_edits(step, edit, recorder):
    """Yield changes of single operands: negated, a constant altered, another array in its place."""
    if step.name == "getitem" or step.name.endswith(("reduce", "accumulate")):
        return
    additive = step.name in ("add", "subtract")
    for i, operand in enumerate(step.operands):
        number = isinstance(operand, (int, float)) and not isinstance(operand, bool)
        if number:
            for value in dict.fromkeys((operand - 1, operand + 1, 0.5 * operand, 2 * operand, -operand, 1, 2, 0.5, 3)):
                if value != operand:
                    yield edit(2, lambda go, x, o, r, i=i, value=value: go(*_put(x, i, value), **o),
                               "elementwise_factor" if step.name == "power" else "constant_factor",
                               f"the constant {operand:g} in `{step.label}` should be {value:g}")
        elif isinstance(operand, np.ndarray) and operand.dtype.kind == "f":
            if step.name not in ("multiply", "divide", "matmul"):
                yield edit(1, lambda go, x, o, r, i=i: go(*_put(x, i, -x[i]), **o), "sign",
                           f"the sign of `{step.labels[i]}` in `{step.label}` is wrong")
            for label, other in recorder.roots.items():
                if other.shape == operand.shape and label != step.labels[i]:
                    yield edit(4, lambda go, x, o, r, i=i, label=label: go(*_put(x, i, r.roots[label]), **o),
                               "missing_term" if additive else "elementwise_factor",
                               f"`{step.labels[i]}` stands where `{label}` belongs, in `{step.label}`")
            for earlier in recorder.steps[:step.index]:
                if np.shape(earlier.result) == operand.shape and earlier.label != step.labels[i] \
                        and earlier.index < step.index:
                    yield edit(6, lambda go, x, o, r, i=i, at=earlier.index: go(*_put(x, i, r.results[at]), **o),
                               "missing_term" if additive else "elementwise_factor",
                               f"`{step.labels[i]}` stands where `{earlier.label}` belongs, in `{step.label}`")


def _put(operands, i, value):
    return [*operands[:i], value, *operands[i + 1:]]


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
