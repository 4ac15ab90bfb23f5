r"""Two pictures of a gradient: the V-curve of differences and the slope of the Taylor remainder.

The error of a central difference falls as :math:`h^2` until rounding, :math:`\epsilon / h`, takes
over: a V on logarithmic axes.  If the gradient under test is wrong, the curve stays flat at its
error instead.  The remainder

.. math:: R_1(h) = |\varphi(x + h d) - \varphi(x) - h \langle g, d \rangle|

falls with slope 2 if ``g`` is right and with slope 1 if it is not; with the second-order term
:math:`\tfrac{1}{2} h^2 d^\top H d` taken off as well, :math:`R_2` has slope 3.
"""

from typing import NamedTuple

import numpy as np

from ibpcl.verify.witnesses.differences import first_step, random_direction, richardson


class Curve(NamedTuple):
    """A quantity against step sizes (both positive, largest step first) and its slope on
    logarithmic axes.
    """

    steps: np.ndarray
    values: np.ndarray
    slope: float


def v_curve(func, x, direction, derivative, points=21):
    """Return the relative error of central differences of a scalar ``func`` against the step.

    Parameters
    ----------
    func : callable
        Array to number.
    x, direction : ndarray
    derivative : float
        The derivative along ``direction`` that the differences are held against.
    points : int
        Steps, from a twentieth of the size of ``x`` down over ten decades.

    Returns
    -------
    Curve

    Examples
    --------
    >>> curve = v_curve(lambda x: np.exp(x).sum(), np.ones(2), np.ones(2), 2 * np.e)
    >>> bool(curve.values.min() < 1e-8 < curve.values[0])
    True
    """
    steps = first_step(x, direction) * np.logspace(0, -10, points)
    scale = abs(derivative) or 1.0
    values = []
    for h in steps:
        with np.errstate(all="ignore"):
            values.append(
                abs((func(x + h * direction) - func(x - h * direction)) / (2 * h) - derivative)
                / scale
            )
    return Curve(steps, np.array(values, dtype=float), float("nan"))


def taylor_remainders(func, x, direction, derivative, curvature=None, points=12):
    """Return the :class:`Curve` of the Taylor remainder of a scalar ``func`` with a claimed
    directional derivative.

    With the claimed second derivative ``curvature`` the remainder is of second order.  Steps are
    halved from one to the next.  The slope is fitted above the rounding error; it is infinite if
    nothing is left above it (the function is linear, or quadratic with curvature, along the
    direction).

    Examples
    --------
    >>> sine = lambda x: float(np.sin(x).sum())
    >>> slopes = [taylor_remainders(sine, np.ones(1), np.ones(1), d).slope for d in (np.cos(1),
    ...     0.5)]
    >>> [round(slope) for slope in slopes]
    [2, 1]
    """
    steps = first_step(x, direction) * 0.5 ** np.arange(points)
    with np.errstate(all="ignore"):
        middle = func(x)
        ahead = np.array([func(x + h * direction) for h in steps], dtype=float)
        remainder = np.abs(
            ahead - middle - steps * derivative - 0.5 * steps**2 * (curvature or 0.0)
        )
    rounding = 20 * np.finfo(float).eps * (np.abs(ahead) + abs(middle) + np.abs(steps * derivative))
    clear = np.isfinite(remainder) & (remainder > 5 * rounding)
    if clear.sum() < 3:
        return Curve(steps, remainder, float("inf") if not np.any(clear) else float("nan"))
    # smallest steps that are still above rounding
    last = np.flatnonzero(clear)[-6:]
    slope = np.polyfit(np.log(steps[last]), np.log(remainder[last]), 1)[0]
    return Curve(steps, remainder, float(slope))


def taylor_slope(func, x, direction, derivative, curvature=None):
    """Return only the slope of :func:`taylor_remainders`: about 2 if right, 1 if wrong (3 with
    curvature).
    """
    return taylor_remainders(func, x, direction, derivative, curvature).slope


class Curves:
    """The curves of input ``j`` for the cotangent ``w`` along a random direction, computed when
    asked for.
    """

    def __init__(self, problem, j, w, rng):
        self.problem = problem
        self.j = j
        self.w = w
        self.x = np.asarray(problem.point[j])
        self.direction = random_direction(self.x.shape, rng)
        outputs = problem.function_of(j)
        self.func = lambda value: float(w @ outputs(value))

    def claimed(self, x=None):
        """Return the derivative along the direction that the gradient under test claims."""
        point = self.problem.with_input(self.j, self.x if x is None else x)
        gradient = self.problem.gradients(self.w, point)[self.problem.wrt.index(self.j)]
        return float(np.sum(gradient * self.direction))

    def taylor(self, order=1):
        """Return the Taylor remainder of first or second order with the claimed gradient."""
        curvature = None
        if order == 2:
            h = 1e-4 * first_step(self.x, self.direction) / 0.05
            ahead, behind = (self.claimed(self.x + sign * h * self.direction) for sign in (1, -1))
            curvature = (ahead - behind) / (2 * h)
        return taylor_remainders(self.func, self.x, self.direction, self.claimed(), curvature)

    def v_curve(self):
        """Return the error of central differences against the claimed gradient: a V if it is right,
        else flat.
        """
        return v_curve(self.func, self.x, self.direction, self.claimed())

    def v_curve_of_truth(self):
        """Return the same against the extrapolated derivative, which is a V always."""
        return v_curve(
            self.func,
            self.x,
            self.direction,
            float(richardson(self.func, self.x, self.direction).value),
        )
