r"""Two curves that show whether a gradient is right: V-curve and Taylor remainder.

The error of a central difference falls as :math:`h^2` until the rounding error
:math:`\epsilon / h` dominates. On logarithmic axes this is a V. If the gradient under test is
wrong, the curve levels off at the gradient's error instead.

The Taylor remainder

.. math:: R_1(h) = |\varphi(x + h d) - \varphi(x) - h \langle g, d \rangle|

falls with slope 2 if ``g`` is right and with slope 1 if it is wrong. If the second-order term
:math:`\tfrac{1}{2} h^2 d^\top H d` is subtracted as well, the remainder :math:`R_2` has slope 3.
"""

from typing import NamedTuple

import numpy as np

from ibpcl.verify.derivative.differences import (
    central,
    first_step,
    random_direction,
    reach,
    richardson,
)


class Curve(NamedTuple):
    """A quantity at a sequence of step sizes.

    Attributes
    ----------
    steps : ndarray, shape (P,)
        Step sizes, all > 0, largest first.
    values : ndarray, shape (P,)
        The quantity, >= 0, or NaN where it could not be computed.
    slope : float
        Slope on logarithmic axes.  It is infinite if all values are rounding errors, and NaN if it
        was not fitted.
    """

    steps: np.ndarray
    values: np.ndarray
    slope: float


def v_curve(func, x, direction, derivative, points=21):
    """Return the relative error of central differences at a sequence of steps.

    Parameters
    ----------
    func : callable
        Function from an array to a number.
    x : ndarray
        The point.
    direction : ndarray
        The direction, of the shape of ``x``.
    derivative : float
        Claimed derivative along ``direction``, with which the differences are compared.
    points : int
        Number of steps.  They cover ten decades, downwards from :func:`first_step`.

    Returns
    -------
    Curve
        Without a slope.

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
        values.append(abs(central(func, x, direction, h) - derivative) / scale)
    return Curve(steps, np.array(values, dtype=float), float("nan"))


def taylor_remainders(func, x, direction, derivative, curvature=None, points=12):
    """Return the Taylor remainder of a function with a claimed derivative.

    Each step is half of the previous one, and the slope is fitted where the remainder is above the
    rounding error.  If the remainder is nowhere above it (the function is linear along the
    direction, or quadratic and ``curvature`` is given), the slope is infinite.

    Parameters
    ----------
    func : callable
        Function from an array to a number.
    x : ndarray
        The point.
    direction : ndarray
        The direction, of the shape of ``x``.
    derivative : float
        Claimed first derivative along ``direction``.
    curvature : float, optional
        Claimed second derivative along ``direction``.  With it, the remainder is of second order.
    points : int
        Number of steps, downwards from :func:`first_step`.

    Returns
    -------
    Curve
        Its slope is about 2 if the derivative is right and 1 if it is wrong; 3 if ``curvature`` is
        given and right as well.  NaN if fewer than three values are above the rounding error.

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
    # the smallest steps whose remainder is above the rounding error
    last = np.flatnonzero(clear)[-6:]
    slope = np.polyfit(np.log(steps[last]), np.log(remainder[last]), 1)[0]
    return Curve(steps, remainder, float(slope))


def taylor_slope(func, x, direction, derivative, curvature=None):
    """Return the slope of the Taylor remainder: about 2 if the derivative is right, 1 if wrong.

    Parameters
    ----------
    func : callable
        Function from an array to a number.
    x : ndarray
        The point.
    direction : ndarray
        The direction, of the shape of ``x``.
    derivative : float
        Claimed first derivative along ``direction``.
    curvature : float, optional
        Claimed second derivative along ``direction``.  If both are right, the slope is 3.

    Returns
    -------
    slope : float
        Infinite if the remainder is rounding error only, NaN if too few values are above it.
    """
    return taylor_remainders(func, x, direction, derivative, curvature).slope


class Curves:
    r"""V-curve and Taylor remainders for the gradient of one input, computed on request.

    The function is :math:`\varphi(x) = w^\top f(x)`, along one random direction.

    Parameters
    ----------
    problem : Problem
        The pair and the point.
    j : int
        Position of the input.
    w : ndarray, shape (M,)
        Cotangent of all outputs.
    rng : numpy.random.Generator
        Draws the direction.
    comparable : bool
        Whether the gradient is a finite array in the shape of the input.  Otherwise only
        :meth:`v_curve_of_truth` has a value.

    Attributes
    ----------
    x : ndarray
        Value of the input.
    direction : ndarray
        The direction, of the shape of ``x``.
    func : callable
        The function :math:`\varphi`.
    """

    def __init__(self, problem, j, w, rng, comparable=True):
        self.comparable = comparable
        self.problem = problem
        self.j = j
        self.w = w
        outputs, self.x = problem.restricted(j)
        self.direction = random_direction(self.x.shape, rng)
        self.func = lambda value: float(w @ outputs(value))

    def claimed(self, x=None):
        """Return the derivative along the direction according to the gradient under test.

        Parameters
        ----------
        x : ndarray, optional
            Value of the input.  By default, that of the point.

        Returns
        -------
        float
            The claimed derivative.
        """
        point = self.problem.with_input(self.j, self.x if x is None else x)
        gradient = self.problem.gradients(self.w, point)[self.problem.wrt.index(self.j)]
        return float(np.sum(gradient * self.direction))

    def taylor(self, order=1):
        """Return the Taylor remainder for the claimed gradient.

        Parameters
        ----------
        order : {1, 2}
            With 2, the second derivative is taken from differences of the claimed gradient.

        Returns
        -------
        Curve
            The remainder and its slope.
        """
        curvature = None
        if order == 2:
            h = 1e-4 * reach(self.x, self.direction)
            ahead, behind = (self.claimed(self.x + sign * h * self.direction) for sign in (1, -1))
            curvature = (ahead - behind) / (2 * h)
        return taylor_remainders(self.func, self.x, self.direction, self.claimed(), curvature)

    def v_curve(self):
        """Return the error of central differences relative to the claimed gradient.

        The curve is a V if the gradient is right, and levels off at its error otherwise.
        """
        return v_curve(self.func, self.x, self.direction, self.claimed())

    def v_curve_of_truth(self):
        """Return the error of central differences relative to the extrapolated derivative.

        This curve is a V for a right and for a wrong gradient.
        """
        return v_curve(
            self.func,
            self.x,
            self.direction,
            float(richardson(self.func, self.x, self.direction).value),
        )
