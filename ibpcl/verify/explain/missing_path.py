r"""The path that a gradient leaves out, found by holding single values of the forward constant.

Some gradients miss a path: a mean was taken as a constant, or the second use of a shared parameter
or the state of earlier steps was ignored.  Such a gradient :math:`g` is the right gradient of
*another* forward, in which some value does not move with the input.  The forward is therefore run
with its values watched (:mod:`ibpcl.codeview.syntax`), and the value of one place is held
at its recorded value.  The path was lost at this place if

.. math::

    \langle g - \bar x, v \rangle = c \, \bigl(\langle \bar x, v \rangle
        - D_v f_{\text{held}}\bigr),
          \qquad c = -1,

for two directions :math:`v` in every trial, where :math:`\bar x` is the true gradient.  With
:math:`c = -2` the path has the wrong sign, and with :math:`c = 1` it is counted twice.
"""

import ast
import inspect
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ibpcl.codeview.search import affordable
from ibpcl.codeview.syntax import Code, Recording, executed_by, is_array, putting, text_of
from ibpcl.verify.derivative.differences import central, complex_step, first_step, random_direction
from ibpcl.verify.reports.kinds import Finding
from ibpcl.verify.reports.words import constant_name

MOST_PLACES = 150  # largest number of places that are held
MOST_CLASSES = 24  # largest number of different paths that are tried in pairs
SECONDS = 0.6  # approximate duration of the search
MOST_WHOLE = 20  # larger factors of a single number explain nothing
TIGHT = 3e-6  # relative agreement: differences give about eight digits
EXACT = 1e-8  # relative agreement of a factor without a name, with the complex step
VISIBLE = 0.1  # a path explains an error only if the slack is below this share of the error
WORDS = {  # kind and sentence by the constant c of the equation above
    -1: (
        "missing_term",
        "a term is missing, one path of several: {path} was held constant, so nothing flows back "
        "through it",
    ),
    -2: ("sign", "one term has the wrong sign: the gradient that flows back through {path}"),
    1: (
        "missing_term",
        "a term too many: the gradient that flows back through {path} is counted twice",
    ),
}

# The same for a forward whose source is not shown.
UNSHOWN = {
    -1: "a term is missing: of several paths from this input to the result, one is left out",
    -2: "one term has the wrong sign: that of one path of several",
    1: "a term too many: one path of several is counted twice",
}


class Forward:
    """The forward with its values watched, at both points.

    Parameters
    ----------
    evidence : Evidence
        Measurements on the pair.

    Attributes
    ----------
    code : Code
        Source of the forward.
    shown : bool
        Whether findings may quote that source: it is the user's own.
    recordings : list of Recording
        The values of its places at each point.
    left : int
        Number of runs that are left.
    places : list of int
        Numbers of the places that can be held.

    Raises
    ------
    ValueError
        If the source cannot be read, or if running it again does not repeat the forward.
    """

    def __init__(self, evidence):
        self.evidence = evidence
        self.code = Code(inspect.unwrap(evidence.problem.f), executed_by(evidence.problem.call))
        self.shown = not getattr(evidence.problem.f, "hides_source", False)
        self.recordings = []
        for problem in evidence.problems:
            repeated = []
            self.recordings.append(
                Recording(
                    self.code,
                    lambda f, problem=problem, repeated=repeated: repeated.append(
                        problem.with_forward(f).vector()
                    ),
                )
            )
            if not np.allclose(repeated, problem.vector(), rtol=1e-12, atol=0, equal_nan=True):
                raise ValueError("Forward: the compiled source does not repeat the forward")
        self.left = affordable(SECONDS, self.recordings[0].executed, 0.0)
        self.make = self.code.watched()
        self.places = [
            number
            for number, place in enumerate(self.code.places)
            if place.watched
            and place.inside == "formula"
            and any(
                is_array(value) and np.size(value)
                for value in self.recordings[0].series.get(number, ())
            )
        ]
        del self.places[MOST_PLACES:]

    def derivative(self, trial, j, v, holding):
        """Return a directional derivative of the forward while some places are held constant.

        Parameters
        ----------
        trial : int
            Number of the trial.
        j : int
            Position of the input.
        v : ndarray, shape of the input
            Direction.
        holding : tuple of int
            Numbers of the places to hold.

        Returns
        -------
        float or None
            The derivative of the outputs, weighted with the cotangent of the trial.  None if the
            forward raises or the derivative is not finite.
        """
        point, row = self.evidence.trials[trial]
        self.left -= 1
        series = self.recordings[point].series
        held = {place: series.get(place, ()) for place in holding}
        problem = self.evidence.problems[point]

        def func(value):
            f = self.make(putting(held))
            return problem.with_forward(f).vector(problem.with_input(j, value))

        x = np.asarray(problem.point[j])
        try:
            if self.evidence.reference(j).method == "complex step":
                slopes = complex_step(func, x, v)
            else:
                slopes = central(func, x, v, 1e-4 * first_step(x, v))
        except Exception:  # a forward with held values may do anything at all
            return None
        slope = float(self.evidence.w[row] @ slopes)
        return slope if np.isfinite(slope) else None


def watched_forward(evidence):
    """Return the forward with its values watched.

    Parameters
    ----------
    evidence : Evidence
        Measurements on the pair.

    Returns
    -------
    Forward or None
        None if the source cannot be read, or if running it again does not repeat the forward.
    """
    try:
        return Forward(evidence)
    except (
        ValueError,
        SyntaxError,
        NameError,
        TypeError,
        LookupError,
        ArithmeticError,
        RecursionError,
    ):
        return None


def forgotten_path(forward, wrong):
    """Return findings on gradients that miss a path, count it twice or give it the wrong sign.

    Parameters
    ----------
    forward : Forward
        The watched forward.  Its number of runs is limited.
    wrong : sequence of int
        Positions of the inputs to explain.

    Returns
    -------
    dict
        A ``Finding`` for each input that is explained, by its position.
    """
    explained = {}
    for done, j in enumerate(wrong):
        rows = _rows(forward.evidence, j)
        classes = []
        fits = []
        # runs for the inputs after this one
        reserve = forward.left - forward.left // (len(wrong) - done)
        for number in forward.places:
            if forward.left < reserve:
                break
            constant, paths = _share(forward, rows, j, (number,))
            if constant is not None:
                fits.append(((number,), constant))
            elif paths and not any(np.allclose(paths, other, rtol=1e-6) for _, other in classes):
                classes.append((number, paths))
        fits = fits or _pair(forward, rows, j, classes)
        if fits:
            explained[j] = fits
    # prefer what explains all of them
    sets = [{(numbers, round(c, 4)) for numbers, c in fits} for fits in explained.values()]
    common = set.intersection(*sets) if sets else ()
    return {
        j: _finding(forward, [fit for fit in fits if (fit[0], round(fit[1], 4)) in common] or fits)
        for j, fits in explained.items()
    }


class Row(NamedTuple):
    """The comparison of a gradient with the true one along a direction, in one trial.

    Attributes
    ----------
    trial : int
        Number of the trial.
    direction : ndarray
        The direction; zero at entries that were not measured.
    right : float
        The true derivative along the direction.
    lacking : float
        The claimed derivative minus the true one.
    size : float
        Sum of the absolute terms of the true derivative.
    """

    trial: int
    direction: np.ndarray
    right: float
    lacking: float
    size: float


def _rows(evidence, j):
    """Return the comparison along two directions in every trial."""
    rng = np.random.default_rng(5)
    rows = []
    for trial in range(len(evidence.trials)):
        value, _ = evidence.expected(j, trial)
        measured = ~np.isnan(value)
        for _ in range(2):
            v = np.where(measured, random_direction(value.shape, rng), 0.0)
            right, claimed = (
                array[measured] * v[measured] for array in (value, evidence.got(j, trial))
            )
            lacking = float(claimed.sum() - right.sum())
            rows.append(Row(trial, v, float(right.sum()), lacking, float(np.abs(right).sum())))
    return rows


def _share(forward, rows, j, holding):
    """Return (c, paths) for places that are held.

    ``c`` is None if the places do not explain the gradient, and ``paths`` is empty if holding them
    changes nothing.
    """
    constant = None
    paths = []
    constants = []
    for row in rows:
        held = forward.derivative(row.trial, j, row.direction, holding)
        if held is None:
            return None, ()
        path = row.right - held
        slack = TIGHT * (row.size + abs(row.lacking) + abs(path))
        paths.append(path)
        if constant is None:
            if abs(path) <= slack:
                return None, ()
            constant = row.lacking / path
        elif abs(row.lacking - constant * path) > slack * max(1.0, abs(constant)):
            return None, paths[:2]
        if slack * max(1.0, abs(constant)) > VISIBLE * abs(row.lacking):
            return None, paths[:2]
        constants.append(row.lacking / path if path else np.inf)
    # A single number is always some multiple of the path, and a slowly varying factor is nearly
    # constant: only a plain multiple, or one that is exactly constant, explains the gradient.
    exact = forward.evidence.reference(j).method == "complex step"
    alone = rows[0].direction.size == 1 or (exact and np.ptp(constants) > EXACT * abs(constant))
    if abs(constant) < 1e-5 or (alone and not _is_plain(1 + constant)):
        return None, paths[:2]
    return constant, paths[:2]


def _is_plain(factor):
    """Return whether a factor is a small whole number or has a short name."""
    whole = abs(factor - round(factor)) < 1e-4 and abs(factor) <= MOST_WHOLE
    return whole or (bool(constant_name(factor)) and 1 / MOST_WHOLE <= abs(factor) <= MOST_WHOLE)


def _pair(forward, rows, j, classes):
    """Return two places that together explain the gradient, as a list of at most one fit."""
    lacking = np.array([row.lacking for row in rows[:2]])
    for (first, first_paths), (second, second_paths) in combinations(
        [(number, paths) for number, paths in classes if len(paths) == 2][:MOST_CLASSES], 2
    ):
        # if the paths are separate, holding both places removes their sum
        apart = np.max(np.abs(lacking + np.add(first_paths, second_paths)))
        if forward.left >= 0 and apart <= 0.5 * np.max(np.abs(lacking)):
            constant, _ = _share(forward, rows, j, (first, second))
            if constant is not None and abs(constant + 1) < 1e-4:
                return [((first, second), -1.0)]
    return []


def _finding(forward, fits):
    """Return the finding for one input: the plainest of its explanations."""

    def plainness(fit):
        numbers, constant = fit
        place = forward.code.places[numbers[0]]
        nearest = _nearest(constant)
        is_name = isinstance(place.node, ast.Name)
        return nearest != -1, nearest not in WORDS, not is_name, len(place.text), numbers

    numbers, constant = min(fits, key=plainness)
    places = [forward.code.places[number] for number in numbers]
    path = " and ".join(
        f"`{place.text}` in `{_shown(place)}` ({forward.code.location(place.node).position} of the "
        "forward)"
        for place in places
    )
    other = (
        "constant_factor",
        f"one term is off by the constant factor {1 + constant:.6g}{constant_name(1 + constant)}: "
        "the gradient that flows back through {path}",
    )
    kind, words = WORDS.get(_nearest(constant), other)
    if not forward.shown:
        plain = words.partition(": ")[0] + ": that of one path of several"
        return Finding(kind, UNSHOWN.get(_nearest(constant), plain))
    where = forward.code.location(places[0].node)
    return Finding(kind, words.format(path=path), where)


def _nearest(constant):
    """Return a constant as an integer if it is one up to rounding, 0 otherwise."""
    return round(constant) if abs(constant - round(constant)) < 1e-4 else 0


def _shown(place):
    """Return the statement of a place as text, or its parent if the statement is unclear."""
    whole = text_of(place.statement)
    alike = sum(ast.dump(node) == ast.dump(place.node) for node in ast.walk(place.statement))
    return text_of(place.parent) if alike > 1 or "\n" in whole or len(whole) > 90 else whole
