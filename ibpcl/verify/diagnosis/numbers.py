"""Numbers in the source that are not exact: rounded constants, and one that is mistyped.

The gradient is linear in small changes of its constants.  If changes within the last digit that is
written make it right, the constants are rounded (3.14159, 1.4142, 0.797885).  If one constant must
change by more, it is wrong.
"""

import ast
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from ibpcl.verify.diagnosis.guards import changed, unwrapped
from ibpcl.verify.diagnosis.source import Code, executed_by
from ibpcl.verify.witnesses.differences import central, complex_step, first_step, random_direction
from ibpcl.verify.witnesses.witness import refusals

SHORTEST = 3  # significant digits of a number that may be rounded
MOST_CONSTANTS = 12
DIRECTIONS = 4  # of each input, along which the difference is explained
STEP = 1e-6  # relative, of a constant
INSIDE = 0.98  # of the last digit: cut off (3.1415), but not one more (1.00001)
EXPLAINED = 2e-3  # share of the difference that may be left


class Number(NamedTuple):
    """A constant in the forward (side 0) or the gradient (side 1): its place, value, last digit and
    line.
    """

    side: int
    place: int
    value: float
    last: float
    line: str


class Numbers:
    """The constants of a pair that may be rounded, and what the gradient lacks along random
    directions.

    Parameters
    ----------
    evidence : Evidence
    inputs : list of int
        Positions of the inputs whose gradients are wrong.
    """

    def __init__(self, evidence, inputs):
        self.evidence = evidence
        self.inputs = inputs
        problem = evidence.problem
        self.functions = problem.f, problem.f_vjp
        self.executed = (
            executed_by(problem.call),
            executed_by(lambda: problem.gradients(evidence.w[0])),
        )
        self.found = [number for side in (1, 0) for number in self._numbers(side)][:MOST_CONSTANTS]
        rng = np.random.default_rng(11)
        self.directions = {
            j: [random_direction(problem.shape(j), rng) for _ in range(DIRECTIONS)] for j in inputs
        }
        self.lack = self._difference({}) if self.found else None

    def _numbers(self, side):
        try:
            code = Code(unwrapped(self.functions[side]), self.executed[side])
        except (ValueError, SyntaxError):
            return []
        return [
            Number(side, n, place.node.value, last_digit(place.node.value), code.line(place.node))
            for n, place in enumerate(code.places)
            if isinstance(place.node, ast.Constant)
            and isinstance(place.node.value, float)
            and place.inside == "formula"
            and digits(place.node.value) >= SHORTEST
        ]

    def problem_with(self, values):
        """Return the pair with other values of some constants, given by :class:`Number`."""
        functions = list(self.functions)
        for side in {number.side for number in values}:
            chosen = {
                number.place: value for number, value in values.items() if number.side == side
            }

            def change(code, chosen=chosen):
                for place, value in chosen.items():
                    code.places[place].node.value = float(value)

            functions[side] = changed(self.functions[side], self.executed[side], change)
        return self.evidence.problem.with_forward(functions[0]).with_gradient(functions[1])

    def _difference(self, values):
        """Return what the gradients lack along the directions, for two cotangents, with other
        constants.
        """
        problem = self.problem_with(values)
        rows = []
        for w in self.evidence.w[:2]:
            gradients = problem.gradients(w)
            for j in self.inputs:
                func = problem.function_of(j)
                x = np.asarray(problem.point[j])
                got = np.asarray(gradients[problem.wrt.index(j)], dtype=float)
                for v in self.directions[j]:
                    rows.append(float(w @ _slope(func, x, v)) - float(np.sum(got * v)))
        return np.array(rows)

    def effects(self):
        """Return for each constant what the lack gains if it grows by one, shape (rows,
        constants).
        """
        columns = []
        for number in self.found:
            step = STEP * abs(number.value)
            columns.append((self._difference({number: number.value + step}) - self.lack) / step)
        return np.array(columns).T


def rounded(numbers):
    """Return the constants whose rounding explains what the gradients lack, [] if it does not."""
    if numbers.lack is None or not np.all(np.isfinite(numbers.lack)):
        return []
    from scipy.optimize import lsq_linear  # slow to import

    effects = numbers.effects()
    size = np.max(np.abs(numbers.lack), initial=0.0)
    if not np.all(np.isfinite(effects)) or size == 0:
        return []
    bounds = np.array([INSIDE * number.last for number in numbers.found])
    fit = lsq_linear(effects * bounds, -numbers.lack, bounds=(-1.0, 1.0), tol=1e-12)
    left = np.abs(effects @ (fit.x * bounds) + numbers.lack)
    if np.max(left) > EXPLAINED * size + _floor(numbers):
        return []
    return [
        number
        for number, effect, x in zip(numbers.found, effects.T, fit.x * bounds, strict=True)
        if np.max(np.abs(effect * x)) > 0.02 * size
    ]


def mistyped(numbers):
    """Return (number, its right value) if one constant of the gradient explains what the gradients
    lack, or None.
    """
    if numbers.lack is None or not np.all(np.isfinite(numbers.lack)) or not np.any(numbers.lack):
        return None
    for number in numbers.found:
        value = number.value
        lack = numbers.lack
        # Newton's steps: the gradient need not be linear in it
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
    """Return what differences alone may leave of a difference."""
    exact = all(numbers.evidence.truth(j).method == "complex step" for j in numbers.inputs)
    return (
        0.0
        if exact
        else 1e-7 * float(np.max(np.abs(numbers.evidence.gradients[0][0]), initial=0.0))
    )


def _slope(func, x, v):
    try:
        return complex_step(func, x, v)
    except refusals():
        return central(func, x, v, 1e-4 * first_step(x, v))


def digits(value):
    """Return how many significant digits a number is written with.

    >>> digits(3.1416), digits(0.5), digits(1e-8)
    (5, 1, 1)
    """
    return len(Decimal(repr(value)).normalize().as_tuple().digits)


def last_digit(value):
    """Return the size of one in the last digit that a number is written with.

    >>> last_digit(3.1416), last_digit(250.0)
    (0.0001, 10.0)
    """
    return float(Decimal(1).scaleb(Decimal(repr(value)).normalize().as_tuple().exponent))
