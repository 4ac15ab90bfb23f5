"""Partial credit for wrong gradients: a named mistake earns points only if the rest has substance.

A gradient earns nothing if it could be written down without the mathematics
(:mod:`ibpcl.classroom.judging.knowledge`) or does not depend on the cotangent, whatever its mistake
is called.  Otherwise it earns the share of a named mistake in three cases: it is the right gradient
with one slip; it is a rearrangement of the right gradient; or its mistake has a name and it
explains at least half of the right gradient beyond all trivial answers.
"""

from itertools import chain, combinations
from typing import NamedTuple

import numpy as np

from ibpcl.classroom.judging.comparing import HINTS, as_tuple, is_real, is_same
from ibpcl.classroom.judging.examples import cotangent_like
from ibpcl.classroom.judging.knowledge import Columns, gain, is_trivial
from ibpcl.classroom.judging.marking import UNNAMED
from ibpcl.classroom.judging.naming.mutants import called, listed, mutants_of, quietly
from ibpcl.classroom.judging.own_parts import gradients_with_own_parts
from ibpcl.classroom.judging.running.client import SubmissionError
from ibpcl.verify.explain.known_arrays import FUNCTIONS

ROWS = 60  # entries of each gradient that are compared
MOST_POINTS = 30
LEAST_POINTS = 3
EXPLAINED = 0.5  # gain from which on a named mistake earns its full share
SAME = 1e-7
IDLE = 0.9  # a gradient that keeps this share for a zero cotangent does not depend on it
# functions of an input that may be a missing factor
FACTORS = (lambda x: x, *FUNCTIONS.values())
# rows of the marking scheme
NAMED = "named_mistake_in_a_gradient"
NOTHING = "no_substance"
WHOLE = ("sign", "constant_factor", "mean", "precision")
RESIDUES = {
    "changes_cotangent",
    "changes_cache",
    "changes_input",
    "noisy_gradient",
    "accumulates",
    "stale",
}


class Pulled(NamedTuple):
    """The answer of a gradient function at one point.

    Attributes
    ----------
    inputs : dict of str to ndarray or number
        Inputs of the forward by name.
    dout : ndarray, number or tuple of these
        The cotangent.
    own : tuple
        The hand-in's gradients.
    idle : tuple
        The hand-in's gradients for a cotangent of zeros.
    truth : tuple of ndarray
        The right gradients.
    """

    inputs: dict
    dout: object
    own: tuple
    idle: tuple
    truth: tuple


def weigh(task, parts, case):
    """Set the shares of wrong gradients, and name those with a single slip.

    Parameters
    ----------
    task : ibpcl.classroom.assignments.assignment.Task
        A task of kind ``vjp``.
    parts : dict of str to ibpcl.classroom.judging.verdict.Part
        Input to part, for the wrong gradients; changed in place.
    case : ibpcl.classroom.judging.judge.Case
        The hand-in.
    """
    left = {
        name: part
        for name, part in parts.items()
        if not part.follows and part.kind not in ("missing", "zero", *RESIDUES)
    }
    if not left:
        return
    points = _pulled(task, case, max(1, MOST_POINTS))
    several = bool(points) and isinstance(points[0].dout, tuple)
    own_list = list(quietly(listed(case.assignment, task, case.variant)))
    if several:
        _slips(task, left, case, points, own_list)
    if several or not points:
        for part in left.values():
            case.marking.earn(part, NOTHING)
        return
    _with_own_parts(task, left, case, points)
    left = {name: part for name, part in left.items() if part.kind != "ok"}
    source = case.assignment.source(case.variant)
    usual = quietly(mutants_of(source, task.function, case.reference))
    mended = _slips(task, left, case, points, own_list, usual)
    _factors(task, left, points)
    for name, part in left.items():
        evidence = _evidence(task, parts, name, part, case, points, name in mended)
        if evidence == NAMED:
            case.marking.raise_to(part, evidence)
        elif evidence == NOTHING:
            case.marking.earn(part, evidence)
        else:
            case.marking.limit(part, evidence)


def _pulled(task, case, most):
    """Return the answers at several points of usual shapes, enough for the smallest gradient."""
    points = []
    entries = 0
    for at in range(most):
        if at >= LEAST_POINTS and entries >= ROWS:
            break
        inputs = case.inputs(task, "small", f"weighed {at}")
        with np.errstate(all="ignore"):
            out, cache = getattr(case.reference, task.forward)(*inputs.values())
        rng = case.rng(task, "weighed cotangent", at)
        dout = cotangent_like(out, rng.standard_normal)
        if isinstance(out, tuple) and at >= LEAST_POINTS:
            break
        with np.errstate(all="ignore"):
            truth = as_tuple(getattr(case.reference, task.function)(dout, cache))
        try:
            number = case.session.forward(task.forward, inputs.values())[1]
            own, idle = (
                as_tuple(
                    case.session.pull(task.function, task.forward, inputs.values(), each, number)[0]
                )
                for each in (dout, cotangent_like(out, np.zeros))
            )
        except SubmissionError:
            break
        points.append(Pulled(inputs, dout, own, idle, truth))
        entries += min(np.size(each) for each in truth)
    return points


def _own(points, place):
    """Return one gradient of the hand-in at all points as a vector; None if a shape is wrong."""
    if any(
        place >= len(each.own)
        or not is_real(each.own[place])
        or np.shape(each.own[place]) != np.shape(each.truth[place])
        for each in points
    ):
        return None
    values = np.concatenate([np.ravel(np.asarray(each.own[place], dtype=float)) for each in points])
    return values if np.all(np.isfinite(values)) else None


def _differs(points, place):
    """Return whether a gradient is wrong at usual points: else any slip could be its name."""
    own = _own(points, place)
    return own is not None and not is_same(own, _truth(points, place), SAME)


def _truth(points, place):
    return np.concatenate([np.ravel(each.truth[place]) for each in points])


def _columns(points, place):
    return [
        Columns(each.inputs, np.shape(each.truth[place]), np.asarray(each.dout)) for each in points
    ]


def _is_idle(points, place):
    """Return whether a gradient hardly depends on the cotangent."""
    for each in points:
        if (
            place < len(each.idle)
            and is_real(each.idle[place])
            and is_real(each.own[place])
            and np.shape(each.idle[place]) == np.shape(each.own[place])
        ):
            own = np.asarray(each.own[place], dtype=float)
            idle = np.asarray(each.idle[place], dtype=float)
            if np.linalg.norm(idle) >= IDLE * np.linalg.norm(own):
                return True
    return False


def _with_own_parts(task, left, case, points):
    """Turn gradients that are wrong only because of the functions they call into right ones."""
    for each in points[:LEAST_POINTS]:
        gradients, words = gradients_with_own_parts(task, case, each.inputs, each.dout)
        if gradients is None:
            return
        expected = as_tuple(gradients)
        for name in list(left):
            place = task.wrt.index(name)
            if (
                place >= len(expected)
                or place >= len(each.own)
                or not is_same(each.own[place], expected[place], max(task.rtol, 1e-6))
            ):
                del left[name]
    for part in left.values():
        part.kind = "ok"
        part.words = words
        part.hint = ""
        case.marking.earn(part, "right_with_own_parts")


def _slips(task, left, case, points, own_list, usual=()):
    """Return the inputs whose gradients are the right ones with one slip, and name them after it.

    A slip of the table names gradients without a name only; one of the assignment's own list says
    more than any other name.
    """
    names = dict.fromkeys(left)
    usable = [name for name in names if _differs(points, task.wrt.index(name))]
    slipped = set()
    caches = []
    for each in points[:LEAST_POINTS]:
        with np.errstate(all="ignore"):
            caches.append(getattr(case.reference, task.forward)(*each.inputs.values())[1])
    for mutant in chain(own_list, usual):
        waiting = [name for name in usable if name not in slipped]
        if not waiting:
            break
        for each, cache in zip(points[:LEAST_POINTS], caches, strict=True):
            gradients = called(mutant.function, (each.dout, _copied(cache)))
            gradients = as_tuple(gradients) if gradients is not None else ()
            waiting = [
                name
                for name in waiting
                if task.wrt.index(name) < len(gradients)
                and is_same(each.own[task.wrt.index(name)], gradients[task.wrt.index(name)], SAME)
            ]
            if not waiting:
                break
            if mutant.kind == "swapped" and not is_same(tuple(each.own), tuple(gradients), SAME):
                waiting = []  # one of two exchanged gradients is not right
                break
        for name in waiting:
            slipped.add(name)
            if left[name].kind in UNNAMED or mutant in own_list:
                left[name].kind = mutant.kind
                left[name].words = mutant.words
                left[name].hint = HINTS.get(mutant.kind, "")
    return slipped


def _factors(task, left, points):
    """Name gradients without a name in which a function of one input is missing, or is too much."""
    for name, part in left.items():
        own = _own(points, task.wrt.index(name))
        if part.kind not in UNNAMED or not _differs(points, task.wrt.index(name)):
            continue
        truth = _truth(points, task.wrt.index(name))
        for other in points[0].inputs:
            values = _spread(points, task.wrt.index(name), other)
            if values is None:
                continue
            with np.errstate(all="ignore"):
                factors = [np.asarray(each(values), dtype=float) for each in FACTORS]
            if any(_is_factor(own, truth, factor) for factor in factors):
                part.kind = "elementwise_factor"
                part.words = f"off by a factor that depends on {other} alone"
                part.hint = HINTS.get(part.kind, "")
                break


def _spread(points, place, name):
    """Return an input at the entries of a gradient, at all points as a vector; None if it does not
    broadcast to the gradient.
    """
    values = []
    for each in points:
        value = np.asarray(each.inputs[name])
        try:
            values.append(np.broadcast_to(value, np.shape(each.truth[place])).ravel())
        except ValueError:
            return None
    return np.concatenate(values) if values[0].dtype.kind == "f" else None


def _is_factor(own, truth, factor):
    """Return whether a gradient differs from the right one by a factor and a constant."""
    if not np.all(np.isfinite(factor)) or np.ptp(factor) == 0:
        return False
    return any(
        np.linalg.norm(a - b * (a @ b) / (b @ b)) <= SAME * np.linalg.norm(a)
        for a, b in ((truth, own * factor), (own, truth * factor))
        if b @ b
    )


def _copied(cache):
    if isinstance(cache, tuple):
        return tuple(map(_copied, cache))
    return cache.copy() if isinstance(cache, np.ndarray) else cache


def _evidence(task, parts, name, part, case, points, slipped):
    """Return the row of the marking scheme for one wrong gradient."""
    place = task.wrt.index(name)
    if _is_idle(points, place):
        return NOTHING
    known = task.forward not in case.wrong or case.wrong[task.forward].recognized
    named = part.kind not in UNNAMED
    truth = _truth(points, place)
    columns = _columns(points, place)
    easy = is_trivial(truth, columns)
    if easy and not known:
        return NOTHING
    if part.kind == "swapped":
        return NAMED if _exchanged(task, parts, place, points) else NOTHING
    rearranged = all(
        place < len(each.own) and is_rearranged(each.own[place], each.truth[place])
        for each in points
    )
    own = _own(points, place)
    # of another shape: only the name is known
    if own is None:
        return NAMED if named and rearranged else NOTHING
    if is_trivial(own, columns):
        return NAMED if easy and (rearranged or part.kind in WHOLE) else NOTHING
    if (slipped and known) or (rearranged and named):
        return NAMED
    if gain(own, truth, columns) < EXPLAINED:
        return "gradient_of_little_substance"
    return NAMED if named else part.evidence


def is_rearranged(own, truth):
    """Return whether an array is a rearrangement of another one.

    Rearrangements are transposes, reorderings, sums and means over axes, and arrays that are not
    yet summed.

    Parameters
    ----------
    own : ndarray
        The hand-in's array.
    truth : ndarray
        The right array.

    Returns
    -------
    bool

    Examples
    --------
    >>> is_rearranged(np.array([2.0, 1.0]), np.array([1.0, 2.0]))
    True
    """
    if not is_real(own) or not np.all(np.isfinite(own)):
        return False
    own = np.asarray(own, dtype=float)
    truth = np.asarray(truth, dtype=float)
    if own.size == truth.size:
        limit = SAME * np.max(np.abs(truth), initial=0.0)
        if np.all(np.abs(np.sort(own, axis=None) - np.sort(truth, axis=None)) <= limit):
            return True
    for count in range(1, max(own.ndim, truth.ndim) + 1):
        for reduce in (np.sum, np.mean):
            for axes in combinations(range(truth.ndim), count):
                reduced = reduce(truth, axis=axes, keepdims=True)
                if own.size == reduced.size and is_same(own.reshape(reduced.shape), reduced, SAME):
                    return True
                if own.shape == truth.shape and is_same(
                    own, np.broadcast_to(reduced, own.shape), SAME
                ):
                    return True
            for axes in combinations(range(own.ndim), count):
                reduced = reduce(own, axis=axes)
                if (
                    reduced.size == truth.size
                    and own.size > truth.size
                    and is_same(reduced.reshape(truth.shape), truth, SAME)
                ):
                    return True
    return False


def _exchanged(task, parts, place, points):
    """Return whether a gradient was exchanged with that of another input."""
    for other, name in enumerate(task.wrt):
        if other == place or name not in parts:
            continue
        taken = [
            n
            for n in range(len(task.wrt))
            if all(
                n < len(each.own) and is_same(each.own[n], each.truth[other], SAME)
                for each in points
            )
        ]
        if taken == [place]:
            return True
    return False


def trivial_truths(task, case, names):
    """Return the inputs whose right gradient could be guessed from names and shapes alone.

    Parameters
    ----------
    task : ibpcl.classroom.assignments.assignment.Task
        A task of kind ``vjp``.
    case : ibpcl.classroom.judging.judge.Case
        The hand-in.
    names : sequence of str
        Inputs to look at.

    Returns
    -------
    list of str
        Those of ``names`` with such a gradient.
    """
    first = case.inputs(task, "small", "weighed 0")
    with np.errstate(all="ignore"):
        outputs = as_tuple(getattr(case.reference, task.forward)(*first.values())[0])
    trivial = set(names)
    for place in range(len(outputs)):
        points = _right_points(task, case, place)
        for name in sorted(trivial):
            truth = _truth(points, task.wrt.index(name))
            columns = _columns(points, task.wrt.index(name))
            if np.any(truth) and not is_trivial(truth, columns):
                trivial.remove(name)
    return [name for name in names if name in trivial]


def _right_points(task, case, place):
    """Return the right gradients at several points, for a cotangent of one output alone.

    A gradient is the sum of those of the outputs, so it is trivial if each of these is.
    """
    points = []
    for at in range(MOST_POINTS):
        inputs = case.inputs(task, "small", f"weighed {at}")
        rng = case.rng(task, "weighed cotangent", at)
        with np.errstate(all="ignore"):
            out, cache = getattr(case.reference, task.forward)(*inputs.values())
            dout = whole = cotangent_like(out, rng.standard_normal)
            if isinstance(out, tuple):
                dout = whole[place]
                whole = tuple(part * (n == place) for n, part in enumerate(whole))
            truth = as_tuple(getattr(case.reference, task.function)(whole, cache))
        points.append(Pulled(inputs, dout, truth, truth, truth))
    return points
