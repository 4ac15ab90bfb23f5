"""Inputs constructed to lie at kinks of a forward: exact zeros, thresholds and ties.

Random inputs never hit a kink, so they cannot reveal a ReLU whose derivative at zero is 5.  Real
data do: images have exact zeros, biases start at zero, pooling windows have ties.
"""

import ast

import numpy as np

from ibpcl.codeview.syntax import name_of, read
from ibpcl.verify.derivative.kinks import kinks
from ibpcl.verify.derivative.onesided import outside

# Functions with kinks or jumps.
SHARP = (
    "maximum",
    "minimum",
    "max",
    "min",
    "amax",
    "amin",
    "clip",
    "abs",
    "absolute",
    "fabs",
    "where",
    "sort",
    "relu",
    "median",
    "partition",
    "norm",
    "fmax",
    "fmin",
    "heaviside",
    "sign",
    "nanmax",
    "piecewise",
    "select",
)
MOST_THRESHOLDS = 3
MOST_ENTRIES = 4  # entries of an input that are examined at one point
# Number of entries of all inputs above which no kinks are constructed.
LARGE = 20_000


def sharp_places(problem):
    """Return the thresholds at which a forward may have kinks.

    Parameters
    ----------
    problem : Problem
        The pair and the point.

    Returns
    -------
    thresholds : list of float or None
        Zero, followed by numbers that occur in comparisons, maxima and similar calls.  None if the
        source has none of these.  Zero alone if the source cannot be read.
    """
    code = read(problem.f, lambda f: problem.with_forward(f).call())
    if code is None:
        return [0.0]
    sharp = False
    numbers = {0.0: None}
    for tree in code.trees.values():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Compare) and not (
                isinstance(node, ast.Call) and name_of(node.func) in SHARP
            ):
                continue
            sharp = True
            for part in ast.walk(node):
                if (
                    isinstance(part, ast.Constant)
                    and isinstance(part.value, (int, float))
                    and abs(part.value) <= 10
                ):
                    numbers[float(part.value)] = None
    return list(numbers)[:MOST_THRESHOLDS] if sharp else None


def points(problem, thresholds, rng):
    """Yield points at which some entries of one input may be at a kink.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    thresholds : sequence of float
        Values that may be kinks.
    rng : numpy.random.Generator
        Chooses entries.

    Yields
    ------
    j : int
        Position of the input.
    entries : ndarray of int
        Flat positions that may be at a kink.
    point : tuple
        All inputs.
    """
    flat = [k for k in problem.wrt if np.ndim(problem.point[k]) == 1]
    for j in problem.wrt:
        x = np.asarray(problem.point[j])
        if x.size == 0:
            continue
        for threshold in thresholds:
            moved = np.array(x)
            some = np.unique([0, int(rng.integers(x.size))])
            moved.flat[some] = threshold
            yield j, some, _with(problem, {j: moved})
        for other in dict.fromkeys((1, x.shape[-1] if x.ndim > 1 else 1)):
            if x.size > other:
                moved = np.array(x)
                moved.flat[[0, other]] = np.max(x) + 0.5
                yield j, np.array([0, other]), _with(problem, {j: moved})
        if x.ndim > 1:
            moved = np.array(x)
            moved[0] = 0.0
            zeros = {k: np.zeros(np.shape(problem.point[k])) for k in flat}
            point = _with(problem, {j: moved, **zeros})
            yield j, np.arange(min(MOST_ENTRIES, x[0].size)), point
            for k in flat:
                yield k, np.arange(min(MOST_ENTRIES, zeros[k].size)), point


def _with(problem, values):
    return tuple(
        values[j][()] if j in values and not isinstance(old, np.ndarray) else values.get(j, old)
        for j, old in enumerate(problem.point)
    )


def at_made_kinks(problem, inputs, w, rng):
    """Judge gradients at kinks that do not occur at the given inputs.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    inputs : sequence of int
        Positions of the inputs whose gradients are right so far.
    w : ndarray, shape (2, M)
        Cotangents.
    rng : numpy.random.Generator
        Chooses entries and draws neighbouring points.

    Returns
    -------
    wrong : dict of int to (Problem, tuple)
        For each input with a wrong gradient at a kink: the problem at that point, and the entry as
        returned by :func:`ibpcl.verify.derivative.onesided.outside`.
    """
    wrong = {}
    if sum(np.size(problem.point[j]) for j in problem.wrt) > LARGE:
        return wrong
    thresholds = sharp_places(problem)
    outputs = problem.value.shape
    for j, entries, point in points(problem, thresholds, rng) if thresholds else ():
        if j in wrong or j not in inputs:
            continue
        made = problem.at(point)
        try:
            with np.errstate(all="ignore"):
                value = made.value
                if value.shape != outputs or not np.all(np.isfinite(value)):
                    continue
                sharp = np.asarray(entries)[kinks(made, j, entries)]
                if not len(sharp):
                    continue
                gradients = [
                    np.asarray(made.gradients(row)[problem.wrt.index(j)], dtype=float) for row in w
                ]
                if gradients[0].shape != problem.shape(j) or not np.all(np.isfinite(gradients)):
                    continue
                bad, _ = outside(made, j, sharp, w, gradients, rng)
        except Exception:  # the point may be outside the domain
            continue
        if bad:
            wrong[j] = made, bad[0]
    return wrong
