"""What must hold for a pair before its gradient can be judged: repeatable, finite, and without side effects.

A gradient function is called in the orders in which programs call it: twice with one cache, after another call of the
forward, and with arrays that still belong to the caller.
"""

import ast
import dataclasses
import types
from typing import NamedTuple

import numpy as np

from ibpcl.verify.problem import as_tuple, copied, gradients_in_order, is_float, shaped_like
from ibpcl.verify.source import Code


class Problem(NamedTuple):
    """Something that is wrong with a pair besides its numbers.

    Attributes
    ----------
    kind, words, hint : str
    inputs : tuple of int
        Those whose gradients it spoils; all if it is the pair's.
    """

    kind: str
    words: str
    hint: str
    inputs: tuple = ()

    def to_dict(self):
        """Return kind, words and hint."""
        return {"kind": self.kind, "words": self.words, "hint": self.hint}


DEPTH = 6               # of nested tuples, lists and dicts in a cache
FATAL = ("noisy_forward", "non_finite_forward")
HINTS = {
    "noisy_forward": "make the noise an argument of the forward, and draw it outside",
    "non_finite_forward": "choose inputs inside the domain, or use a stable form (log1p, expm1, logsumexp)",
    "changes_cotangent": "write into a copy: dout still belongs to the caller",
    "changes_cache": "write into a copy (p = p.copy()): whoever calls the gradient again gets another result",
    "changes_input": "work on a copy, or write the result into a new array",
    "noisy_gradient": "take the noise of the forward from the cache",
    "accumulates": "start from zeros in every call: a buffer outside the function, or a default argument, is kept",
    "stale": "take everything from the cache that the gradient is called with, not from a global or an attribute",
}


def inspect_pair(problem, w, near=None):
    """Return what is wrong with a pair besides its numbers, and what is worth knowing.

    Parameters
    ----------
    problem : ibpcl.verify.problem.Problem
    w : ndarray, shape (M,)
        Cotangent of all outputs.
    near : ibpcl.verify.problem.Problem, optional
        The pair at another point.

    Returns
    -------
    tuple of (list of Problem, list of str)
    """
    first, several, cache = problem.call()
    second, _, _ = problem.call()
    if not all(map(same_bits, first, second)):
        return [_problem("noisy_forward", "your forward draws random numbers: two calls with equal inputs differ")], []
    if not all(np.all(np.isfinite(part)) for part in first if part.dtype.kind in "fc"):
        return [_problem("non_finite_forward", "the forward itself is not finite at these inputs")], []
    found = _side_effects(problem, w, first, several, cache)
    repeated = _repeated(problem, w, near)
    return found + ([repeated] if repeated and not found else []), _in_native_precision(problem, w)


def _side_effects(problem, w, outputs, several, cache):
    """Return what one call of the gradient function overwrites: the cotangent, the cache, the inputs."""
    found, everything = [], problem.wrt
    dout = shaped_like(w, outputs, several)
    kept, cached, values = copied(dout), copied(cache), copied(outputs)
    problem.f_vjp(dout, cache)
    if not _same(kept, dout):
        found.append(_problem("changes_cotangent", "the gradient function overwrites its argument dout in place",
                              everything))
    before, after = _arrays(cached), _arrays(cache)
    changed = [name for name, array in before.items() if name not in after or not same_bits(array, after[name])]
    if changed and not found:
        found.append(_problem("changes_cache", f"the gradient function overwrites what is cached in place "
                              f"({', '.join(changed)}), so a second call with the same cache goes wrong", everything))
    elif not _same(values, outputs) and not found:
        found.append(_problem("changes_cache", "the gradient function overwrites the output of the forward in place",
                              everything))
    point = [np.array(v) if isinstance(v, np.ndarray) else v for v in problem.point]
    outputs, several, cache = problem.forward(point)
    problem.f_vjp(shaped_like(w, outputs, several), cache)
    changed = [name for name, a, b in zip(problem.names, problem.point, point, strict=True)
               if isinstance(a, np.ndarray) and not same_bits(a, b)]
    if changed and not found:
        found.append(_problem("changes_input", f"the pair overwrites its input {', '.join(changed)} in place",
                              everything))
    return found


def _repeated(problem, w, near):
    """Return the problem of a gradient function that gives other results from call to call, or None."""
    runs = []
    for _ in range(3):
        outputs, several, cache = problem.call()
        runs.append(_called(problem, w, outputs, several, cache))
    differing = _differing(problem, runs[0], runs[1])
    if differing:
        series = ([run[problem.wrt.index(j)] for run in runs] for j in differing)
        if all(np.allclose(np.asarray(c, float) - b, np.asarray(b, float) - a, rtol=1e-7, atol=0)
               for a, b, c in series if np.shape(a) == np.shape(b) == np.shape(c)):
            return _problem("accumulates", "the gradient grows from call to call: it accumulates in a buffer that "
                            "outlives the call", differing)
        return _problem("noisy_gradient", "the gradient function draws random numbers: two calls with equal arguments "
                        "differ (a mask drawn again?)", differing)
    outputs, several, cache = problem.call()
    first = _called(problem, w, outputs, several, cache)
    try:
        differing = _differing(problem, first, _called(problem, w, outputs, several, cache))
    except Exception as error:                          # somebody else's code, called as it must allow
        return _problem("changes_cache", "the gradient function changes what is cached in place: a second call with "
                        f"the same cache raises {type(error).__name__}", problem.wrt)
    if differing:
        return _problem("stale", "a second call with the same cache gives another result: the gradient function keeps "
                        "something between its calls", differing)
    if near is not None:
        outputs, several, cache = problem.call()
        near.call()
        differing = _differing(problem, first, _called(problem, w, outputs, several, cache))
        if differing:
            return _problem("stale", "after another call of the forward the gradient changes: it uses what the last "
                            "forward left in a global, an attribute or a shared buffer (stale state), not its own "
                            "cache", differing)
    return None


def _called(problem, w, outputs, several, cache):
    return copied(gradients_in_order(problem.f_vjp(shaped_like(w, outputs, several), cache), problem))


def _differing(problem, a, b):
    return tuple(j for j, x, y in zip(problem.wrt, a, b, strict=False) if not same_bits(x, y))


def kept_between_calls(function):
    """Return the names of what a function and its helpers keep between calls: globals written to, mutable defaults.

    Examples
    --------
    >>> def remember(x, seen=[]):
    ...     seen.append(x)
    >>> kept_between_calls(remember)
    ['seen']
    """
    try:
        code = Code(function)
    except (ValueError, SyntaxError):
        return []
    kept = []
    for tree in code.trees.values():
        nodes = list(ast.walk(tree))
        defaults = dict(zip(reversed([a.arg for a in tree.args.args]), reversed(tree.args.defaults), strict=False))
        kept += [name for name, value in defaults.items() if isinstance(value, (ast.List, ast.Dict, ast.Set, ast.Call))]
        kept += [name for node in nodes if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names]
        local = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        local |= {a.arg for a in tree.args.args}
        for node in nodes:
            written = isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store)
            called = isinstance(node, ast.Attribute) and node.attr in ("setdefault", "append", "update", "add")
            if (written or called) and isinstance(node.value, ast.Name) and node.value.id not in local:
                attribute = f".{node.attr}" if isinstance(node, ast.Attribute) and written else ""
                kept.append(f"{node.value.id}{attribute}")
    return list(dict.fromkeys(kept))


def same_bits(a, b):
    """Return whether two arrays are equal bit for bit (NaN equals NaN)."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype or a.dtype.kind == "O":
        return a.dtype.kind == "O"
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))


def _same(a, b):
    return all(map(same_bits, as_tuple(a), as_tuple(b)))


def _arrays(value, name="cache", depth=0):
    """Return the arrays in a cache by their place in it."""
    if isinstance(value, np.ndarray):
        return {name: value}
    if isinstance(value, (tuple, list)):
        items = [(f"{name}[{n}]", item) for n, item in enumerate(value)]
    elif isinstance(value, dict):
        items = [(f"{name}[{key!r}]", item) for key, item in value.items()]
    elif isinstance(value, types.SimpleNamespace) or dataclasses.is_dataclass(value):
        items = [(f"{name}.{key}", item) for key, item in vars(value).items()] if hasattr(value, "__dict__") else []
    else:
        items = []
    return {key: array for inner, item in items if depth < DEPTH
            for key, array in _arrays(item, inner, depth + 1).items()}


def _problem(kind, words, inputs=()):
    return Problem(kind, words, HINTS[kind], tuple(inputs))


def _in_native_precision(problem, w):
    """Return how far the gradient is from the float64 one where inputs came in a smaller type."""
    small = [name for name, v in zip(problem.names, problem.native, strict=True)
             if is_float(v) and np.asarray(v).dtype.itemsize < 8]
    if not small:
        return []
    with np.errstate(all="ignore"):
        outputs, several, cache = problem.at(problem.native).call()
        parts = [part.astype(out.dtype) if out.dtype.kind == "f" else part
                 for part, out in zip(as_tuple(shaped_like(w, outputs, several)), outputs, strict=True)]
        coarse = gradients_in_order(problem.f_vjp(tuple(parts) if several else parts[0], cache), problem)
    worst = 0.0
    for a, b in zip(coarse, problem.gradients(w), strict=False):
        a, b = np.asarray(a), np.asarray(b)
        if a.shape == b.shape and b.dtype.kind == "f" and b.size:
            gap = np.max(np.abs(a - b), initial=0.0) / (np.max(np.abs(b), initial=0.0) or 1.0)
            worst = max(worst, float(gap)) if np.isfinite(gap) else float("inf")
    words = "not finite" if np.isinf(worst) else f"off by {worst:.1e} of its largest entry"
    return [f"{', '.join(small)}: promoted to float64 for the check; in its own precision the gradient is {words}"]
