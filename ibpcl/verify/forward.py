"""What must hold for a pair before its gradient can be judged: repeatable, finite, and pure."""

from typing import NamedTuple

import numpy as np

from ibpcl.verify.problem import as_tuple, is_float, shaped_like


class Problems(NamedTuple):
    """What is wrong with a forward (``problems``) and what is worth knowing (``notes``)."""

    problems: list
    notes: list


def inspect_pair(problem, w):
    """Call the pair twice at its point and report noise, infinities and inputs that were changed.

    Parameters
    ----------
    problem : Problem
    w : ndarray, shape (M,)
        Cotangent of all outputs.

    Returns
    -------
    Problems
        Each problem is a dict with ``kind``, ``words`` and ``hint``.
    """
    problems, notes = [], []
    point = [np.array(v) if isinstance(v, np.ndarray) else v for v in problem.point]
    first, several, cache = problem.at(point).call()
    second, _, cache_again = problem.call()
    if not all(same_bits(a, b) for a, b in zip(first, second, strict=True)):
        problems.append(_problem("noisy_forward", "your forward draws random numbers: two calls with equal inputs "
                                 "differ", "make the noise an argument of the forward, and draw it outside"))
        return Problems(problems, notes)
    if not all(np.all(np.isfinite(part)) for part in first if part.dtype.kind in "fc"):
        problems.append(_problem("non_finite_forward", "the forward itself is not finite at these inputs",
                                 "choose inputs inside the domain, or use a stable form (log1p, expm1, logsumexp)"))
        return Problems(problems, notes)
    dout = shaped_like(w, first, several)
    kept = [np.array(part) for part in as_tuple(dout)]
    gradients = [np.array(g, dtype=object) if g is None else np.array(g) for g in as_tuple(problem.f_vjp(dout, cache))]
    if not all(same_bits(a, b) for a, b in zip(kept, as_tuple(dout), strict=True)):
        problems.append(_problem("changes_cotangent", "the gradient function overwrites its argument dout",
                                 "write into a copy: dout still belongs to the caller"))
    again = as_tuple(problem.f_vjp(shaped_like(w, second, several), cache_again))
    if not all(same_bits(a, b) for a, b in zip(gradients, again, strict=False)):
        problems.append(_problem("noisy_gradient", "the gradient function draws random numbers: two calls with equal "
                                 "arguments differ", "take the noise of the forward from the cache"))
    changed = _changed_inputs(problem, w)
    if changed:
        problems.append(_problem("changes_input", f"the pair overwrites its input {', '.join(changed)}",
                                 "work on a copy, or write the result into a new array"))
    notes += _in_native_precision(problem, w, gradients)
    return Problems(problems, notes)


def same_bits(a, b):
    """Tell whether two arrays are equal bit for bit (NaN equals NaN)."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))


def _problem(kind, words, hint):
    return {"kind": kind, "words": words, "hint": hint}


def _changed_inputs(problem, w):
    """Return the names of the inputs that a forward and a backward call leave changed."""
    point = [np.array(v) if isinstance(v, np.ndarray) else v for v in problem.point]
    result = problem.f(*point)
    out = result[0]
    several = isinstance(out, (tuple, list))
    outputs = tuple(np.asarray(part) for part in (out if several else (out,)))
    problem.f_vjp(shaped_like(w, outputs, several), result[1])
    return [name for name, before, after in zip(problem.names, problem.point, point, strict=True)
            if isinstance(before, np.ndarray) and not same_bits(before, after)]


def _in_native_precision(problem, w, gradients):
    """Say how far the gradient is from the float64 one where inputs came in a smaller type."""
    small = [name for name, v in zip(problem.names, problem.native, strict=True)
             if is_float(v) and np.asarray(v).dtype.itemsize < 8]
    if not small:
        return []
    native = problem.at(problem.native)
    with np.errstate(all="ignore"):
        outputs, several, cache = native.call()
        dout = tuple(part.astype(out.dtype) if out.dtype.kind == "f" else part for part, out in
                     zip(as_tuple(shaped_like(w, outputs, several)), outputs, strict=True))
        coarse = as_tuple(problem.f_vjp(dout if several else dout[0], cache))
    worst = 0.0
    for a, b in zip(coarse, gradients, strict=False):
        a, b = np.asarray(a), np.asarray(b)
        if a.shape == b.shape and b.dtype.kind == "f" and b.size:
            size = np.max(np.abs(b), initial=0.0)
            gap = np.max(np.abs(a - b), initial=0.0) / (size or 1.0)
            worst = max(worst, float(gap)) if np.isfinite(gap) else float("inf")
    words = "not finite" if np.isinf(worst) else f"off by {worst:.1e} of its largest entry"
    return [f"{', '.join(small)}: promoted to float64 for the check; in its own precision the gradient is {words}"]
