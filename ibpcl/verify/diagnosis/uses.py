"""Habits of a pair: what it does besides computing numbers, and whether that changes numbers in
normal use.

Normal use is one backward per forward, again and again, with arrays that the caller keeps using.  A
gradient function that adds up in its own object, frees or overwrites its cache, or writes into
``dout`` still returns right numbers there; that is a note.  It is a mistake where a use of this
kind gets other numbers: the second training step, or two forwards before the first backward.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ibpcl.verify.reports.kinds import Finding
from ibpcl.verify.running.restoring import restored
from ibpcl.verify.witnesses.problem import (
    Problem,
    as_tuple,
    copied,
    gradients_in_order,
    shaped_like,
)

# of the largest number: sums in another order, as threads and BLAS leave them
ROUNDING = 1e-12
DEPTH = 6  # of nested tuples, lists, dicts and objects in a cache
LOOPS = (
    "two forwards before the first backward, as in a recurrent net or a layer used twice, get "
    "wrong gradients"
)
STEPS = "every training step after the first gets a wrong gradient"


class Uses(NamedTuple):
    """What was seen when a pair was called in several ways."""

    problem: Problem  # called in the way in which its numbers can be judged
    mistakes: list  # findings that change numbers in normal use
    habits: list  # findings that do not


def alike(a, b, room=ROUNDING):
    """Return whether two arrays are equal up to rounding of their largest number (NaN equals NaN).

    Examples
    --------
    >>> alike(np.array([1.0, 1e-14]), np.array([1.0, 0.0])), alike(np.ones(2), np.ones(2) + 1e-9)
    (True, False)
    """
    a = np.asarray(a)
    b = np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype or a.dtype.kind == "O":
        return a.dtype.kind == b.dtype.kind == "O"
    if a.dtype.kind not in "fc":
        return bool(np.array_equal(a, b))
    eps = max(room, 4 * float(np.finfo(a.dtype).eps)) if a.dtype.itemsize < 8 else room
    finite = np.abs(a[np.isfinite(a)])
    return bool(np.allclose(a, b, rtol=0, atol=eps * np.max(finite, initial=0.0), equal_nan=True))


def inspect_uses(problem, w, near, state, fresh_state):
    """Call a pair in the ways in which programs call it.

    Parameters
    ----------
    problem : Problem
    w : ndarray
        A cotangent of all outputs.
    near : Problem or None
        The pair at another point.
    state, fresh_state : State
        What the pair keeps, as it was before its first call; the second one with the global random
        generators.

    Returns
    -------
    Uses
    """
    habits = []
    first = problem.call()
    if not _repeats(problem, first[0]):
        steady = restored(problem, state)
        drawn = restored(problem, fresh_state)
        if _repeats(steady):
            names = _names(state)
            words = (
                f"the output of the forward depends on earlier calls ({names}); it was put back "
                "before each call"
            )
            problem = steady
            habits = [Finding("stale", words)]
        elif _repeats(drawn):
            words = "the forward draws random numbers; it was given the same draws in every call"
            problem = drawn
            habits = [Finding("noisy_forward", words)]
        else:
            return Uses(
                problem,
                [
                    Finding(
                        "noisy_forward",
                        "your forward draws random numbers: two calls with equal inputs differ",
                    )
                ],
                [],
            )
    if not all(np.all(np.isfinite(part)) for part in first[0] if part.dtype.kind in "fc"):
        return Uses(
            problem,
            [Finding("non_finite_forward", "the forward itself is not finite at these inputs")],
            [],
        )
    mistakes, more = _overwritten(problem, w)
    habits += more
    if not mistakes:
        problem, mistakes, more = _next_step(problem, w, state)
        habits += more
    if not mistakes:
        habits += _second_backward(problem, w, habits)
        mistakes, more = _two_forwards(problem, w, near)
        habits += more
        problem = replace(problem, renewed=True) if more else problem
    return Uses(problem, mistakes, habits)


def _repeats(problem, outputs=None):
    """Return whether a forward gives the same outputs again; draws of few numbers may agree by
    chance.
    """
    outputs = problem.call()[0] if outputs is None else outputs
    return all(all(map(alike, outputs, problem.call()[0])) for _ in range(2))


def _names(state):
    return (
        ", ".join(dict.fromkeys(holder.name for holder in state.changed()))
        or "something that outlives a call"
    )


def _overwritten(problem, w):
    """Return (mistakes, habits): what the pair overwrites in one call."""
    point = [np.array(v) if isinstance(v, np.ndarray) else v for v in problem.point]
    outputs, several, cache = problem.forward(point)
    dout = shaped_like(w, outputs, several)
    kept = copied(dout)
    values = copied(outputs)
    first = copied(gradients_in_order(problem.f_vjp(dout, cache), problem))
    mistakes = []
    habits = []
    moved = [
        name
        for name, a, b in zip(problem.names, problem.point, point, strict=True)
        if not same_bits(a, b)
    ]
    if moved:
        words = f"the pair overwrites its input {', '.join(moved)} in place"
        if _same_again(problem, w, point, values, first):
            habits.append(Finding("changes_input", words, inputs=problem.wrt))
        else:
            mistakes.append(
                Finding(
                    "changes_input",
                    f"{words}: the next call with the same arrays gets other numbers",
                    inputs=problem.wrt,
                )
            )
    if not all(map(same_bits, as_tuple(kept), as_tuple(dout))):
        habits.append(
            Finding(
                "changes_cotangent",
                "the gradient function overwrites its argument dout in place",
                inputs=problem.wrt,
            )
        )
    if not moved and not all(map(same_bits, values, outputs)):
        habits.append(
            Finding(
                "changes_cache",
                "the gradient function overwrites the output of the forward in place",
                inputs=problem.wrt,
            )
        )
    return mistakes, habits


def _same_again(problem, w, point, values, first):
    """Return whether a second call with inputs that the first one has overwritten gives the same
    numbers.
    """
    try:
        outputs, several, cache = problem.forward(point)
        again = gradients_in_order(problem.f_vjp(shaped_like(w, outputs, several), cache), problem)
    except Exception:  # code under check may raise anything
        return False
    return all(map(alike, values, outputs)) and all(map(alike, first, again))


def _next_step(problem, w, state):
    """Return (problem, mistakes, habits): what later calls, each with a forward of its own, do
    differently.
    """
    # two draws may be the same by chance
    runs = [_called(problem, w, *problem.call()) for _ in range(3)]
    differing = _differing(problem, runs[0], runs[1]) or _differing(problem, runs[1], runs[2])
    if not differing:
        return problem, [], []
    grows = _grow(problem, runs, differing)
    names = [holder.name for holder in state.changed()]
    steady = restored(problem, state)
    again = [_called(steady, w, *steady.call()) for _ in range(2)]
    if _differing(steady, *again):
        if grows:
            return (
                problem,
                [
                    Finding(
                        "accumulates",
                        "the gradient grows from call to call: it accumulates in a buffer "
                        f"that outlives the call; {STEPS}",
                        inputs=differing,
                    )
                ],
                [],
            )
        return (
            problem,
            [
                Finding(
                    "noisy_gradient",
                    "the gradient function draws random numbers: two calls with equal "
                    "arguments differ (a mask drawn again?)",
                    inputs=differing,
                )
            ],
            [],
        )
    where = f" ({', '.join(dict.fromkeys(names))})" if names else ""
    owned = all(holder.owned for holder in state.changed())
    if grows:
        words = (
            "the gradient grows from call to call: it accumulates in a buffer that outlives the "
            f"call{where}"
        )
        finding = Finding("accumulates", words if owned else f"{words}; {STEPS}", inputs=differing)
    else:
        words = (
            f"the gradient depends on earlier calls: the pair keeps something between them{where}"
        )
        finding = Finding("stale", words if owned else f"{words}; {STEPS}", inputs=differing)
    return (steady, [], [finding]) if owned else (problem, [finding], [])


def _grow(problem, runs, inputs):
    """Return whether gradients grow by the same amount from run to run."""
    series = ([run[problem.wrt.index(j)] for run in runs] for j in inputs)
    return all(
        np.allclose(np.asarray(z, float) - y, np.asarray(y, float) - x, rtol=1e-7, atol=0)
        for x, y, z in series
        if np.shape(x) == np.shape(y) == np.shape(z)
    )


def _second_backward(problem, w, habits):
    """Return what a second backward with the same cache shows, as a list of no or one finding."""
    outputs, several, cache = problem.call()
    before = _arrays(copied(cache))
    runs = [_called(problem, w, outputs, several, cache)]
    after = _arrays(cache)
    changed = [
        name
        for name, array in before.items()
        if name not in after or not same_bits(array, after[name])
    ]
    known = any(item.kind == "changes_cache" for item in habits)
    try:
        runs += [_called(problem, w, outputs, several, cache) for _ in range(2)]
    except Exception as error:  # code under check may raise anything
        return [
            Finding(
                "changes_cache",
                "the gradient function uses up what is cached: a second call with the same "
                f"cache raises {type(error).__name__}",
                inputs=problem.wrt,
            )
        ]
    differing = _differing(problem, *runs[:2])
    if differing and _grow(problem, runs, differing):
        return [
            Finding(
                "accumulates",
                "the gradient is added to what the same cache held before: a second backward "
                "without a new forward, or without setting it to zero, doubles it",
                inputs=differing,
            )
        ]
    if differing and changed and not known:
        return [
            Finding(
                "changes_cache",
                "the gradient function overwrites what is cached in place "
                f"({', '.join(changed[:4])}), so a second call with the same cache goes wrong",
                inputs=problem.wrt,
            )
        ]
    if differing and not known:
        return [
            Finding(
                "stale",
                "a second call with the same cache gives another result: the gradient function "
                "keeps something between its calls",
                inputs=differing,
            )
        ]
    return []


def _two_forwards(problem, w, near):
    """Return (mistakes, habits): what a second forward before the backward changes."""
    if near is None:
        return [], []
    first = _called(problem, w, *problem.call())
    outputs, several, cache = problem.call()
    near.call()
    try:
        differing = _differing(problem, first, _called(problem, w, outputs, several, cache))
    except Exception:  # code under check may raise anything
        differing = problem.wrt
    if not differing:
        return [], []
    promised = _plain_arrays(cache)
    words = (
        "after another call of the forward the gradient changes: it uses what the last forward "
        "left in a global, an attribute or a shared buffer (stale state)"
    )
    if promised:
        return [Finding("stale", f"{words}, not its own cache; {LOOPS}", inputs=differing)], []
    return [], [
        Finding("stale", f"{words}; one backward after each forward is right", inputs=differing)
    ]


def _called(problem, w, outputs, several, cache):
    return copied(
        gradients_in_order(problem.f_vjp(shaped_like(w, outputs, several), cache), problem)
    )


def _differing(problem, a, b):
    return tuple(j for j, x, y in zip(problem.wrt, a, b, strict=False) if not alike(x, y))


def same_bits(a, b):
    """Return whether two arrays are equal bit for bit (NaN equals NaN)."""
    a = np.asarray(a)
    b = np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype or a.dtype.kind == "O":
        return a.dtype.kind == "O"
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))


def _plain_arrays(cache):
    """Return whether a cache holds arrays in plain containers, so that it is what a backward should
    use.
    """
    if isinstance(cache, np.ndarray):
        return cache.size > 0
    items = (
        cache.values()
        if isinstance(cache, dict)
        else cache
        if isinstance(cache, (tuple, list))
        else ()
    )
    return any(map(_plain_arrays, items))


def _arrays(value, name="cache", depth=0):
    """Return the arrays in a cache by their place in it, those in attributes of objects
    included.
    """
    if isinstance(value, np.ndarray):
        return {name: value}
    if isinstance(value, (tuple, list)):
        items = [(f"{name}[{n}]", item) for n, item in enumerate(value)]
    elif isinstance(value, dict):
        items = [(f"{name}[{key!r}]", item) for key, item in value.items()]
    else:
        items = [
            (f"{name}.{key}", item)
            for key, item in getattr(value, "__dict__", {}).items()
            if not isinstance(value, type)
        ]
    return {
        key: array
        for inner, item in items
        if depth < DEPTH
        for key, array in _arrays(item, inner, depth + 1).items()
    }
