"""Side effects of a pair, and whether they change numbers in normal use.

In normal use, a program runs one backward pass after each forward pass, again and again, and keeps
using its arrays.  A gradient function may accumulate in its own object, free or overwrite its
cache, or write into ``dout``.  Such a side effect is a note if the numbers stay right in normal
use.  It is a mistake if they do not: in the second training step, or with two forward passes before
the first backward pass.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ibpcl.verify.derivative.problem import (
    Problem,
    as_tuple,
    copied,
    gradients_in_order,
    shaped_like,
)
from ibpcl.verify.reports.kinds import Finding
from ibpcl.verify.restoring import restored

# Rounding differences of sums in another order, as from threads and BLAS, relative to the largest
# number.
ROUNDING = 1e-12
DEPTH = 6  # levels of nested tuples, lists, dicts and objects in a cache
LOOPS = (
    "two forward passes before the first backward pass, as in a recurrent network or a layer "
    "used twice, give wrong gradients"
)
STEPS = "every training step after the first gets a wrong gradient"


class Uses(NamedTuple):
    """The result of calling a pair in several ways.

    Attributes
    ----------
    problem : Problem
        The pair, called in a way in which its numbers can be judged.
    mistakes : list of Finding
        Side effects that change numbers in normal use.
    habits : list of Finding
        Side effects that do not.
    """

    problem: Problem
    mistakes: list
    habits: list


def alike(a, b, room=ROUNDING):
    """Return whether two arrays are equal up to rounding, relative to their largest number.

    Parameters
    ----------
    a, b : array_like
        The arrays.  NaN equals NaN, and two arrays of objects count as equal.
    room : float
        Difference that is allowed, relative to the largest number of ``a``.  For float32 and
        smaller types it is at least four times their machine epsilon.

    Returns
    -------
    bool
        False if the shapes or types differ.

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
    """Call a pair in several ways, as programs do, and report its side effects.

    Parameters
    ----------
    problem : Problem
        The pair at the given point.
    w : ndarray, shape (M,)
        A cotangent of all outputs.
    near : Problem or None
        The pair at another point.  None skips the test with two forward passes.
    state, fresh_state : State
        The state that the pair keeps, as it was before its first call.  The second one includes the
        global random generators.

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
                f"the output of the forward depends on earlier calls ({names}); this state was "
                "restored before each call"
            )
            problem = steady
            habits = [Finding("stale", words)]
        elif _repeats(drawn):
            words = "the forward draws random numbers; it got the same draws in every call"
            problem = drawn
            habits = [Finding("noisy_forward", words)]
        else:
            return Uses(
                problem,
                [
                    Finding(
                        "noisy_forward",
                        "the forward draws random numbers: two calls with equal inputs differ",
                    )
                ],
                [],
            )
    if not all(np.all(np.isfinite(array)) for array in first[0] if array.dtype.kind in "fc"):
        return Uses(
            problem,
            [Finding("non_finite_forward", "the forward itself is not finite at these inputs")],
            [],
        )
    mistakes, new_habits = _overwritten(problem, w)
    habits += new_habits
    if not mistakes:
        problem, mistakes, new_habits = _next_step(problem, w, state)
        habits += new_habits
    if not mistakes:
        habits += _second_backward(problem, w, habits)
        mistakes, new_habits = _two_forwards(problem, w, near)
        habits += new_habits
        problem = replace(problem, renewed=True) if new_habits else problem
    return Uses(problem, mistakes, habits)


def _repeats(problem, outputs=None):
    """Return whether a forward repeats its outputs in two more calls.

    Two calls, because draws of few numbers may agree by chance.
    """
    outputs = problem.call()[0] if outputs is None else outputs
    return all(all(map(alike, outputs, problem.call()[0])) for _ in range(2))


def _names(state):
    """Return the names of the objects that keep state between calls."""
    return (
        ", ".join(dict.fromkeys(holder.name for holder in state.changed()))
        or "something that outlives a call"
    )


def _overwritten(problem, w):
    """Return (mistakes, habits) for the arrays that the pair overwrites in one call."""
    point = [np.array(v) if isinstance(v, np.ndarray) else v for v in problem.point]
    outputs, several, cache = problem.forward(point)
    dout = shaped_like(w, outputs, several)
    dout_before = copied(dout)
    outputs_before = copied(outputs)
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
        if _same_again(problem, w, point, outputs_before, first):
            habits.append(Finding("changes_input", words, inputs=problem.wrt))
        else:
            mistakes.append(
                Finding(
                    "changes_input",
                    f"{words}: the next call with the same arrays gets other numbers",
                    inputs=problem.wrt,
                )
            )
    if not all(map(same_bits, as_tuple(dout_before), as_tuple(dout))):
        habits.append(
            Finding(
                "changes_cotangent",
                "the gradient function overwrites its argument dout in place",
                inputs=problem.wrt,
            )
        )
    if not moved and not all(map(same_bits, outputs_before, outputs)):
        habits.append(
            Finding(
                "changes_cache",
                "the gradient function overwrites the output of the forward in place",
                inputs=problem.wrt,
            )
        )
    return mistakes, habits


def _same_again(problem, w, point, values, first):
    """Return whether a second call with overwritten inputs gives the same numbers."""
    try:
        outputs, several, cache = problem.forward(point)
        repeated = gradients_in_order(
            problem.f_vjp(shaped_like(w, outputs, several), cache), problem
        )
    except Exception:  # code under check may raise anything
        return False
    return all(map(alike, values, outputs)) and all(map(alike, first, repeated))


def _next_step(problem, w, state):
    """Return (problem, mistakes, habits) for differences between calls with a forward each."""
    # two draws may be the same by chance
    runs = [_called(problem, w, *problem.call()) for _ in range(3)]
    differing = _differing(problem, runs[0], runs[1]) or _differing(problem, runs[1], runs[2])
    if not differing:
        return problem, [], []
    grows = _grow(problem, runs, differing)
    names = [holder.name for holder in state.changed()]
    steady = restored(problem, state)
    repeated = [_called(steady, w, *steady.call()) for _ in range(2)]
    if _differing(steady, *repeated):
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
        np.allclose(
            np.asarray(third, float) - second, np.asarray(second, float) - first, rtol=1e-7, atol=0
        )
        for first, second, third in series
        if np.shape(first) == np.shape(second) == np.shape(third)
    )


def _second_backward(problem, w, habits):
    """Return a list of at most one finding about a second backward pass with the same cache."""
    outputs, several, cache = problem.call()
    before = _arrays(copied(cache))
    runs = [_called(problem, w, outputs, several, cache)]
    after = _arrays(cache)
    changed = [
        name
        for name, array in before.items()
        if name not in after or not same_bits(array, after[name])
    ]
    already_noted = any(item.kind == "changes_cache" for item in habits)
    try:
        runs += [_called(problem, w, outputs, several, cache) for _ in range(2)]
    except Exception as error:  # code under check may raise anything
        return [
            Finding(
                "changes_cache",
                "the gradient function uses up its cache: a second call with the same "
                f"cache raises {type(error).__name__}",
                inputs=problem.wrt,
            )
        ]
    differing = _differing(problem, *runs[:2])
    if differing and _grow(problem, runs, differing):
        return [
            Finding(
                "accumulates",
                "the gradient accumulates in the cache: a second backward pass doubles it, unless "
                "a new forward pass comes first or it is set to zero",
                inputs=differing,
            )
        ]
    if differing and changed and not already_noted:
        return [
            Finding(
                "changes_cache",
                "the gradient function overwrites its cache in place "
                f"({', '.join(changed[:4])}), so a second call with the same cache goes wrong",
                inputs=problem.wrt,
            )
        ]
    if differing and not already_noted:
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
    """Return (mistakes, habits) for a second forward before the backward."""
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
        "after another call of the forward the gradient changes: it uses values that the last "
        "forward left in a global, an attribute or a shared buffer (stale state)"
    )
    if promised:
        return [Finding("stale", f"{words}, not its own cache; {LOOPS}", inputs=differing)], []
    return [], [
        Finding(
            "stale",
            f"{words}; one backward pass after each forward pass is right",
            inputs=differing,
        )
    ]


def _called(problem, w, outputs, several, cache):
    """Return copies of the gradients for given outputs and a given cache."""
    return copied(
        gradients_in_order(problem.f_vjp(shaped_like(w, outputs, several), cache), problem)
    )


def _differing(problem, a, b):
    """Return the positions of the inputs whose gradients differ between two calls."""
    return tuple(j for j, x, y in zip(problem.wrt, a, b, strict=False) if not alike(x, y))


def same_bits(a, b):
    """Return whether two arrays are equal bit for bit.

    Parameters
    ----------
    a, b : array_like
        The arrays.  NaN equals NaN, and two arrays of objects count as equal.

    Returns
    -------
    bool
    """
    a = np.asarray(a)
    b = np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype or a.dtype.kind == "O":
        return a.dtype.kind == "O"
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))


def _plain_arrays(cache):
    """Return whether a cache holds arrays in plain containers: a backward should use them."""
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
    """Return the arrays in a cache by their source texts, with those in attributes of objects."""
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
