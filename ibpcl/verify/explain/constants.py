"""Inexact numbers in the source: rounded constants, and one constant that is mistyped.

The gradient is almost linear in small changes of its constants.  Constants such as 3.14159, 1.4142
or 0.797885 are rounded if changes within their last written digit make the gradient right.  A
constant that must change by more is wrong.
"""

import numpy as np

from ibpcl.verify.derivative.differences import central, complex_step, first_step, random_direction
from ibpcl.verify.explain.details import Details, last_digit

MOST_CONSTANTS = 12  # largest number of constants that are changed
DIRECTIONS = 4  # number of directions for each input along which the error is explained
STEP = 1e-6  # relative change of a constant
# Share of the last digit by which a rounded number may be off: it may be cut off (3.1415), but must
# not be one more in the last digit (1.00001).
INSIDE = 0.98
EXPLAINED = 2e-3  # share of the error that may remain


class Slopes:
    """Derivatives of a forward along fixed random directions, beside those of its gradient.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    w : ndarray, shape (R, M)
        Cotangents; the first two are used.
    exact : dict of int to bool
        The inputs, and whether the complex step is right for them.  For the others, differences
        are taken.
    """

    def __init__(self, problem, w, exact):
        rng = np.random.default_rng(11)
        self.w = w[:2]
        self.exact = exact
        self.directions = [
            (j, random_direction(problem.shape(j), rng)) for j in exact for _ in range(DIRECTIONS)
        ]

    def lack(self, problem):
        """Return what the directional derivatives of a gradient lack.

        Parameters
        ----------
        problem : Problem
            The pair, perhaps changed.

        Returns
        -------
        ndarray
            The true derivatives minus those of the gradient: one number for each input, direction
            and cotangent.
        """
        gradients = [problem.gradients(row) for row in self.w]
        lacks = []
        for j, v in self.directions:
            func, x = problem.restricted(j)
            slope = (
                complex_step(func, x, v)
                if self.exact[j]
                else central(func, x, v, 1e-4 * first_step(x, v))
            )
            for row, returned in zip(self.w, gradients, strict=True):
                gradient = np.asarray(returned[problem.wrt.index(j)], dtype=float)
                lacks.append(row @ slope - np.sum(gradient * v))
        return np.array(lacks, dtype=float)


class Constants:
    """The constants of a pair, and the error of its gradient along random directions.

    Parameters
    ----------
    evidence : Evidence
        Measurements on the pair.
    inputs : list of int
        Positions of the inputs whose gradients are wrong.

    Attributes
    ----------
    found : list of Detail
        Constants with at least three significant digits, those of the gradient function first.
    lack : ndarray
        The true directional derivatives minus those of the gradient under test.  Empty without
        constants.
    floor : float
        The error that differences alone can leave.
    """

    def __init__(self, evidence, inputs):
        self.details = Details(evidence.problem, evidence.w[0])
        self.found = self.details.constants()[:MOST_CONSTANTS]
        exact = {j: evidence.reference(j).method == "complex step" for j in inputs}
        self.slopes = Slopes(evidence.problem, evidence.w, exact)
        self.lack = self.slopes.lack(evidence.problem) if self.found else np.zeros(0)
        size = float(np.max(np.abs(evidence.gradients[0][0]), initial=0.0))
        self.floor = 0.0 if all(exact.values()) else 1e-7 * size

    def lack_with(self, constant, value):
        """Return ``lack`` with another value of one constant.

        Parameters
        ----------
        constant : Detail
            The constant.
        value : float
            Its value.

        Returns
        -------
        ndarray
        """
        return self.slopes.lack(self.details.changed({constant: value}))

    def effect(self, constant, value, lack):
        """Return the derivative of ``lack`` by one constant.

        Parameters
        ----------
        constant : Detail
            The constant.
        value : float
            Its value.
        lack : ndarray
            ``lack`` with this value.

        Returns
        -------
        ndarray
        """
        step = STEP * abs(value)
        return (self.lack_with(constant, value + step) - lack) / step


def rounded(evidence, inputs):
    """Return the constants whose rounding explains the error of the gradient.

    Parameters
    ----------
    evidence : Evidence
        Measurements on the pair.
    inputs : list of int
        Positions of the inputs whose gradients are wrong.

    Returns
    -------
    list of Detail
        The constants that contribute.  Empty if rounding does not explain the error.
    """
    constants = Constants(evidence, inputs)
    lack = constants.lack
    size = np.max(np.abs(lack), initial=0.0)
    if not np.all(np.isfinite(lack)) or size == 0:
        return []
    from scipy.optimize import lsq_linear  # slow to import

    effects = np.array([constants.effect(item, item.value, lack) for item in constants.found]).T
    if not np.all(np.isfinite(effects)):
        return []
    bounds = np.array([INSIDE * last_digit(constant.value) for constant in constants.found])
    fit = lsq_linear(effects * bounds, -lack, bounds=(-1.0, 1.0), tol=1e-12)
    changes = effects * (fit.x * bounds)
    if np.max(np.abs(changes.sum(axis=1) + lack)) > EXPLAINED * size + constants.floor:
        return []
    shares = np.max(np.abs(changes), axis=0)
    return [
        constant for constant, n in zip(constants.found, shares, strict=True) if n > 0.02 * size
    ]


def mistyped(evidence, inputs):
    """Return the constant of the gradient function that explains the error if it is changed.

    Parameters
    ----------
    evidence : Evidence
        Measurements on the pair.
    inputs : list of int
        Positions of the inputs whose gradients are wrong.

    Returns
    -------
    tuple or None
        (constant, its right value), None if no single constant explains the error.
    """
    constants = Constants(evidence, inputs)
    if not np.all(np.isfinite(constants.lack)) or not np.any(constants.lack):
        return None
    allowed = 1e-6 * np.max(np.abs(constants.lack)) + constants.floor
    for constant in constants.found:
        value = constant.value
        lack = constants.lack
        # Newton steps, because the gradient need not be linear in the constant
        for _ in range(4):
            effect = constants.effect(constant, value, lack)
            norm = float(effect @ effect)
            if norm == 0 or not np.isfinite(norm):
                break
            value -= float(effect @ lack) / norm
            lack = constants.lack_with(constant, value)
        right = np.all(np.isfinite(lack)) and np.max(np.abs(lack)) <= allowed
        if right and constant.side == 1:
            return constant, value
    return None
