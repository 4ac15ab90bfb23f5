"""What must hold for a pair before its gradient can be judged: its form, repeatable, finite, without side effects.

A gradient function is called in the orders in which programs call it: twice with one cache, after another call of the
forward, and with arrays that still belong to the caller.
"""

import ast
import dataclasses
import types

import numpy as np

from ibpcl.verify.kinds import Finding
from ibpcl.verify.problem import as_tuple, copied, gradients_in_order, is_float, shaped_like, tuple_of
from ibpcl.verify.source import Code

DEPTH = 6               # of nested tuples, lists and dicts in a cache


def refuse_outputs(outputs):
    """Raise ``TypeError`` for outputs without a gradient of this kind: complex ones, or no floating-point one."""
    kinds = ", ".join(sorted({str(out.dtype) for out in outputs}))
    if outputs and not any(out.dtype.kind in "fc" for out in outputs):
        raise TypeError(f"check: f returns {kinds} alone, which has no derivative; return floats")
    if any(out.dtype.kind == "c" for out in outputs):
        raise TypeError(f"check: f returns {kinds}; a complex output has no gradient of this kind: return its real and "
                        "imaginary parts as two outputs (out.real, out.imag)")


def require_gradients(problem, w, wrt):
    """Call ``f_vjp`` once and refuse what can't be judged.

    Raises ``ValueError`` if the number of gradients does not fit the inputs, ``TypeError`` if the arguments are taken
    in the wrong order, or something else than arrays is returned.
    """
    outputs, several, cache = problem.call()
    dout = shaped_like(w, outputs, several)
    try:
        gradients = gradients_in_order(problem.f_vjp(dout, cache), problem)
    except Exception as error:
        if _works_exchanged(problem, dout, cache):
            raise TypeError("check: the arguments of f_vjp are in the wrong order: it takes (cache, dout), but is "
                            "called as f_vjp(dout, cache)") from error
        raise
    chosen, count = [problem.names[j] for j in problem.wrt], sum(g is not None for g in gradients)
    stacked = _stacked(problem, gradients)
    if len(gradients) == len(chosen) and not stacked:
        return
    words = f"f_vjp returned {count} gradient{'s' * (count != 1)}"
    hint = f"; it returned one array of shape {gradients[0].shape}, in which gradients are stacked: return a tuple " \
        f"{tuple_of(chosen)}" if stacked else ""
    if wrt is not None:
        raise ValueError(f"check: wrt names {len(chosen)} inputs ({', '.join(chosen)}), but {words}{hint}")
    hint = hint or "; pass wrt=(...) with the names of those that f_vjp differentiates, in its order"
    raise ValueError(f"check: {words}, but f has {len(chosen)} floating-point inputs ({', '.join(chosen)}){hint}")


def _stacked(problem, gradients):
    """Return whether the only array returned has an axis along which there is a gradient for each of several inputs."""
    first, *others = gradients or (None,)
    return isinstance(first, np.ndarray) and first.ndim > 0 and len(first) == len(problem.wrt) > 1 \
        and all(g is None for g in others) and {first.shape[1:]} == {problem.shape(j) for j in problem.wrt}


def _works_exchanged(problem, dout, cache):
    try:
        gradients = gradients_in_order(problem.f_vjp(cache, dout), problem)
        return len(gradients) == len(problem.wrt) and all(
            np.shape(g) == problem.shape(j) for g, j in zip(gradients, problem.wrt, strict=True))
    except Exception:                                   # code under check may raise anything
        return False


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
    return _overwritten(problem, w) or _repeated(problem, w, near)


def _overwritten(problem, w):
    """Return what the pair overwrites in one call: the cotangent, the cache, the output, an input."""
    point = [np.array(v) if isinstance(v, np.ndarray) else v for v in problem.point]
    outputs, several, cache = problem.forward(point)
    dout = shaped_like(w, outputs, several)
    kept, cached, values = copied(dout), _arrays(copied(cache)), copied(outputs)
    problem.f_vjp(dout, cache)
    after = _arrays(cache)
    changed = [name for name, array in cached.items() if name not in after or not same_bits(array, after[name])]
    moved = [name for name, a, b in zip(problem.names, problem.point, point, strict=True) if not same_bits(a, b)]
    for happened, kind, words in (
            (not all(map(same_bits, as_tuple(kept), as_tuple(dout))), "changes_cotangent",
             "the gradient function overwrites its argument dout in place"),
            (changed, "changes_cache", "the gradient function overwrites what is cached in place "
             f"({', '.join(changed)}), so a second call with the same cache goes wrong"),
            (not all(map(same_bits, values, outputs)), "changes_cache",
             "the gradient function overwrites the output of the forward in place"),
            (moved, "changes_input", f"the pair overwrites its input {', '.join(moved)} in place")):
        if happened:
            return Finding(kind, words, inputs=problem.wrt)
    return None


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
