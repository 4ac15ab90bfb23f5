"""What must hold for a pair before its gradient can be judged: repeatable, finite, and without side effects.

A gradient function is called in the orders in which programs call it: twice with one cache, after another call of the
forward, and with arrays that still belong to the caller.
"""

import ast
import dataclasses
import types

import numpy as np

from ibpcl.verify.kinds import Finding
from ibpcl.verify.problem import as_tuple, copied, gradients_in_order, is_float, shaped_like
from ibpcl.verify.source import Code

DEPTH = 6               # of nested tuples, lists and dicts in a cache


def inspect_pair(problem, w, near=None):
    """Return a :class:`Finding` for what is wrong with a pair besides its numbers, None if nothing is.

    ``w`` is a cotangent of all outputs, ``near`` the pair at another point, if there is one.
    """
    first, second = problem.call(), problem.call()
    if not all(map(same_bits, first[0], second[0])):
        return Finding("noisy_forward", "your forward draws random numbers: two calls with equal inputs differ")
    if not all(np.all(np.isfinite(part)) for part in first[0] if part.dtype.kind in "fc"):
        return Finding("non_finite_forward", "the forward itself is not finite at these inputs")
    # A gradient that overwrites things is called before any other way that it may go wrong is tried.
    return _overwritten(problem, w, *first) or _overwritten_input(problem, w) or _repeated(problem, w, near)


def _overwritten(problem, w, outputs, several, cache):
    """Return what one call of the gradient function overwrites: the cotangent, the cache, or the output."""
    dout = shaped_like(w, outputs, several)
    kept, cached, values = copied(dout), copied(cache), copied(outputs)
    problem.f_vjp(dout, cache)
    before, after = _arrays(cached), _arrays(cache)
    changed = [name for name, array in before.items() if name not in after or not same_bits(array, after[name])]
    if not all(map(same_bits, as_tuple(kept), as_tuple(dout))):
        return Finding("changes_cotangent", "the gradient function overwrites its argument dout in place",
                       inputs=problem.wrt)
    if changed:
        return Finding("changes_cache", f"the gradient function overwrites what is cached in place "
                       f"({', '.join(changed)}), so a second call with the same cache goes wrong", inputs=problem.wrt)
    if not all(map(same_bits, values, outputs)):
        return Finding("changes_cache", "the gradient function overwrites the output of the forward in place",
                       inputs=problem.wrt)
    return None


def _overwritten_input(problem, w):
    """Return the input that the pair overwrites."""
    point = [np.array(v) if isinstance(v, np.ndarray) else v for v in problem.point]
    _called(problem, w, *problem.forward(point))
    changed = [name for name, a, b in zip(problem.names, problem.point, point, strict=True) if not same_bits(a, b)]
    return Finding("changes_input", f"the pair overwrites its input {', '.join(changed)} in place",
                   inputs=problem.wrt) if changed else None


def _repeated(problem, w, near):
    """Return what makes a gradient function give other results from call to call."""
    a, b, c = (_called(problem, w, *problem.call()) for _ in range(3))
    differing = _differing(problem, a, b) or _differing(problem, b, c)      # two draws may be the same by chance
    if differing:
        series = ([run[problem.wrt.index(j)] for run in (a, b, c)] for j in differing)
        if all(np.allclose(np.asarray(z, float) - y, np.asarray(y, float) - x, rtol=1e-7, atol=0)
               for x, y, z in series if np.shape(x) == np.shape(y) == np.shape(z)):
            return Finding("accumulates", "the gradient grows from call to call: it accumulates in a buffer that "
                           "outlives the call", inputs=differing)
        return Finding("noisy_gradient", "the gradient function draws random numbers: two calls with equal arguments "
                       "differ (a mask drawn again?)", inputs=differing)
    call = problem.call()
    first = _called(problem, w, *call)
    try:
        differing = _differing(problem, first, _called(problem, w, *call))
    except Exception as error:                          # code under check may raise anything
        return Finding("changes_cache", "the gradient function changes what is cached in place: a second call with "
                       f"the same cache raises {type(error).__name__}", inputs=problem.wrt)
    if differing:
        return Finding("stale", "a second call with the same cache gives another result: the gradient function keeps "
                       "something between its calls", inputs=differing)
    call = problem.call()
    if near is not None:
        near.call()
    differing = _differing(problem, first, _called(problem, w, *call))
    return Finding("stale", "after another call of the forward the gradient changes: it uses what the last forward "
                   "left in a global, an attribute or a shared buffer (stale state), not its own cache",
                   inputs=differing) if differing else None


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


def in_native_precision(problem, w):
    """Return in words how far the gradient is from the float64 one where inputs came in a smaller type; else ""."""
    small = [name for name, v in zip(problem.names, problem.native, strict=True)
             if is_float(v) and np.asarray(v).dtype.itemsize < 8]
    if not small:
        return ""
    with np.errstate(all="ignore"):
        outputs, several, cache = problem.at(problem.native).call()
        parts = [np.asarray(part).astype(out.dtype) for part, out in zip(
            as_tuple(shaped_like(w, outputs, several)), outputs, strict=True)]
        coarse = gradients_in_order(problem.f_vjp(tuple(parts) if several else parts[0][()], cache), problem)
        worst = 0.0
        for a, b in zip(map(np.asarray, coarse), map(np.asarray, problem.gradients(w)), strict=False):
            if a.shape == b.shape and b.dtype.kind == "f" and b.size:
                gap = np.max(np.abs(a - b)) / (np.max(np.abs(b)) or 1.0)
                worst = max(worst, float(np.nan_to_num(gap, nan=np.inf)))
    words = f"off by {worst:.1e} of its largest entry" if np.isfinite(worst) else "not finite"
    return f"{', '.join(small)}: promoted to float64 for the check; in its own precision the gradient is {words}"
