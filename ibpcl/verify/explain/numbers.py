"""Inexact numbers in the source: rounded constants, and one constant that is mistyped.

The gradient is almost linear in small changes of its constants.  Constants such as 3.14159, 1.4142
or 0.797885 are rounded if changes within their last written digit make the gradient right.  A
constant that must change by more is wrong.
"""

import ast
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from ibpcl.codeview.location import Location
from ibpcl.codeview.rewrite import in_place
from ibpcl.codeview.syntax import Code, executed_by, unwrapped
from ibpcl.verify.derivative.differences import central, complex_step, first_step, random_direction

SHORTEST = 3  # smallest number of significant digits of a rounded number
MOST_CONSTANTS = 12  # largest number of constants that are changed
DIRECTIONS = 4  # number of directions for each input along which the error is explained
STEP = 1e-6  # relative change of a constant
# Share of the last digit by which a rounded number may be off: it may be cut off (3.1415), but must
# not be one more in the last digit (1.00001).
INSIDE = 0.98
EXPLAINED = 2e-3  # share of the error that may remain


class Number(NamedTuple):
    """A constant in the source of a pair.

    Attributes
    ----------
    side : int
        0 in the forward, 1 in the gradient function.
    place : Place
        Its place.
    line : Location
        Its line.
    """

    side: int
    place: object
    line: Location

    @property
    def value(self):
        """The constant."""
        return self.place.node.value

    @property
    def written(self):
        """The constant as it is written."""
        return self.place.text


class Numbers:
    """The constants of a pair, and the error of its gradient along random directions.

    Parameters
    ----------
    evidence : Evidence
        Measurements on the pair.
    inputs : list of int
        Positions of the inputs whose gradients are wrong.

    Attributes
    ----------
    found : list of Number
        Constants with at least three significant digits, those of the gradient function first.
    directions : dict
        Random directions for each input.
    exact : set of int
        Inputs for which the complex step is right.
    lack : ndarray or None
        The true directional derivatives minus those of the gradient under test, for two cotangents.
        None without constants.
    """

    def __init__(self, evidence, inputs):
        self.evidence = evidence
        self.inputs = inputs
        problem = evidence.problem
        self.codes = [
            _code_of(problem.f, problem.call),
            _code_of(problem.f_vjp, lambda: problem.gradients(evidence.w[0])),
        ]
        self.found = [number for side in (1, 0) for number in self._numbers(side)][:MOST_CONSTANTS]
        self.directions = directions_of(problem, inputs)
        self.exact = {j for j in inputs if evidence.reference(j).method == "complex step"}
        self.lack = self._difference({}) if self.found else None

    def _numbers(self, side):
        """Return the constants in the source of one function of the pair."""
        code = self.codes[side]
        return [
            Number(side, place, code.location(place.node))
            for place in (code.places if code is not None else ())
            if isinstance(place.node, ast.Constant)
            and isinstance(place.node.value, float)
            and place.inside == "formula"
            and digits(place.node.value) >= SHORTEST
        ]

    def problem_with(self, values):
        """Return the pair with changed constants.

        Parameters
        ----------
        values : dict
            New value of each :class:`Number` to change.

        Returns
        -------
        Problem
        """
        problem = self.evidence.problem
        functions = [problem.f, problem.f_vjp]
        for side in {number.side for number in values}:
            puts = [
                in_place(number.place, ast.Constant(float(value)))
                for number, value in values.items()
                if number.side == side
            ]
            functions[side] = self.codes[side].version(puts)
        return problem.with_forward(functions[0]).with_gradient(functions[1])

    def _difference(self, values):
        """Return the missing part of the directional derivatives with changed constants."""
        return lack(self.problem_with(values), self.evidence.w, self.directions, self.exact)

    def effects(self):
        """Return the derivative of ``lack`` by each constant.

        Returns
        -------
        ndarray, shape (rows, constants)
        """
        columns = []
        for number in self.found:
            step = STEP * abs(number.value)
            columns.append((self._difference({number: number.value + step}) - self.lack) / step)
        return np.array(columns).T


def _code_of(function, call):
    """Return the source of a function, None if it cannot be read."""
    try:
        return Code(unwrapped(function), executed_by(call))
    except (ValueError, SyntaxError):
        return None


def directions_of(problem, inputs):
    """Return fixed directions along which the error of a gradient is explained.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    inputs : list of int
        Positions of inputs.

    Returns
    -------
    dict of int to list of ndarray
    """
    rng = np.random.default_rng(11)
    return {j: [random_direction(problem.shape(j), rng) for _ in range(DIRECTIONS)] for j in inputs}


def lack(problem, w, directions, exact):
    """Return what the directional derivatives of a gradient lack: the difference of the claims.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    w : ndarray, shape (R, M)
        Cotangents; the first two are used.
    directions : dict of int to list of ndarray
        Directions for each input.
    exact : set of int
        Inputs for which the complex step is right.  For the others, differences are taken.

    Returns
    -------
    ndarray
        The true derivatives minus those of the gradient, for each input, direction and cotangent.
    """
    true, got = claims(problem, w, directions, exact)
    return true - got


def claims(problem, w, directions, exact):
    """Return directional derivatives of a forward, and those that its gradient claims.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    w : ndarray, shape (R, M)
        Cotangents; the first two are used.
    directions : dict of int to list of ndarray
        Directions for each input.
    exact : set of int
        Inputs for which the complex step is right.  For the others, differences are taken.

    Returns
    -------
    true, got : ndarray
        One number for each input, direction and cotangent.
    """
    gradients = [problem.gradients(row) for row in w[:2]]
    rows = []
    for j, several in directions.items():
        func = problem.function_of(j)
        x = np.asarray(problem.point[j])
        got = [np.asarray(all_[problem.wrt.index(j)], dtype=float) for all_ in gradients]
        for v in several:
            slope = (
                complex_step(func, x, v)
                if j in exact
                else central(func, x, v, 1e-4 * first_step(x, v))
            )
            rows += [(row @ slope, np.sum(g * v)) for row, g in zip(w, got, strict=False)]
    return np.array(rows, dtype=float).reshape(-1, 2).T


def rounded(numbers):
    """Return the constants whose rounding explains the error of the gradient.

    Parameters
    ----------
    numbers : Numbers
        Constants and errors.

    Returns
    -------
    list of Number
        The constants that contribute.  Empty if rounding does not explain the error.
    """
    if numbers.lack is None or not np.all(np.isfinite(numbers.lack)):
        return []
    from scipy.optimize import lsq_linear  # slow to import

    effects = numbers.effects()
    size = np.max(np.abs(numbers.lack), initial=0.0)
    if not np.all(np.isfinite(effects)) or size == 0:
        return []
    bounds = np.array([INSIDE * last_digit(number.value) for number in numbers.found])
    fit = lsq_linear(effects * bounds, -numbers.lack, bounds=(-1.0, 1.0), tol=1e-12)
    remaining = np.abs(effects @ (fit.x * bounds) + numbers.lack)
    if np.max(remaining) > EXPLAINED * size + _floor(numbers):
        return []
    return [
        number
        for number, effect, x in zip(numbers.found, effects.T, fit.x * bounds, strict=True)
        if np.max(np.abs(effect * x)) > 0.02 * size
    ]


def mistyped(numbers):
    """Return the constant of the gradient function that explains the error if it is changed.

    Parameters
    ----------
    numbers : Numbers
        Constants and errors.

    Returns
    -------
    tuple or None
        (number, its right value), None if no single constant explains the error.
    """
    if numbers.lack is None or not np.all(np.isfinite(numbers.lack)) or not np.any(numbers.lack):
        return None
    for number in numbers.found:
        value = number.value
        lack = numbers.lack
        # Newton steps, because the gradient need not be linear in the constant
        for _ in range(4):
            step = STEP * abs(value)
            effect = (numbers._difference({number: value + step}) - lack) / step
            norm = float(effect @ effect)
            if norm == 0 or not np.isfinite(norm):
                break
            value -= float(effect @ lack) / norm
            lack = numbers._difference({number: value})
        if (
            np.all(np.isfinite(lack))
            and number.side == 1
            and np.max(np.abs(lack)) <= 1e-6 * np.max(np.abs(numbers.lack)) + _floor(numbers)
        ):
            return number, value
    return None


def _floor(numbers):
    """Return the error that differences alone can leave."""
    return (
        0.0
        if len(numbers.exact) == len(numbers.inputs)
        else 1e-7 * float(np.max(np.abs(numbers.evidence.gradients[0][0]), initial=0.0))
    )


def digits(value):
    """Return the number of significant digits with which a number is written.

    Parameters
    ----------
    value : float
        A number.

    Returns
    -------
    int

    Examples
    --------
    >>> digits(3.1416), digits(0.5), digits(1e-8)
    (5, 1, 1)
    """
    return len(Decimal(repr(value)).normalize().as_tuple().digits)


def last_digit(value):
    """Return the size of one unit in the last digit with which a number is written.

    Parameters
    ----------
    value : float
        A number.

    Returns
    -------
    float

    Examples
    --------
    >>> last_digit(3.1416), last_digit(250.0)
    (0.0001, 10.0)
    """
    return float(Decimal(1).scaleb(Decimal(repr(value)).normalize().as_tuple().exponent))
