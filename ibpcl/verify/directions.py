"""Derivatives along random directions: for inputs with too many entries to look at each."""

from typing import NamedTuple

import numpy as np

from ibpcl.verify.differences import complex_step, random_direction, richardson
from ibpcl.verify.witness import (
    COMPLEX_RTOL,
    DIFFERENCE_RTOL,
    NORMWISE,
    VAGUE,
    blurred,
    conditioning,
    confirmed,
    refusals,
)


class Directional(NamedTuple):
    """Derivatives of all outputs along random directions of one input, with the interface of :class:`Truth`.

    Attributes
    ----------
    directions : list of ndarray
    jacobian, error : ndarray, shape (M, n)
        The derivatives along n directions.
    method, rtol, agreement
        As in :class:`Truth`.
    trusted : bool
        False where the two witnesses disagree: then entries must be looked at one by one.
    """

    directions: list
    jacobian: np.ndarray
    error: np.ndarray
    method: str
    rtol: float
    agreement: float
    trusted: bool
    usable = True

    def compare(self, w, gradient):
        r"""Return :math:`\langle g, d \rangle`, :math:`w^\top D_d f`, the scale, and the error allowed."""
        got = np.array([np.sum(gradient * direction) for direction in self.directions])
        scale = np.abs(w) @ np.abs(self.jacobian)
        scale = scale + [np.linalg.norm(gradient * direction) for direction in self.directions]
        return got, w @ self.jacobian, scale, self.rtol * scale + 10 * (np.abs(w) @ self.error)

    def direction(self, n, shape):
        """Return the direction of number ``n``."""
        return self.directions[n]


def along_directions(problem, j, rng, rtol=None, count=5, mask=1.0, method="complex step", given=None):
    """Differentiate along ``count`` random directions of input ``j`` (or those given); ``mask`` restricts them.

    The first of them is confirmed by differences (all of them are differences if the forward refuses complex
    numbers).
    """
    func, x, blur = problem.function_of(j), np.asarray(problem.point[j]), blurred(problem, j)
    directions, values, errors = [], [], []
    agreement, trusted, allowed = np.nan, True, max(rtol or COMPLEX_RTOL, conditioning(problem, j, rng))
    for trial in range(count):
        direction = given[trial] if given is not None else mask * random_direction(x.shape, rng)
        try:
            value, error = slope(func, x, direction, method)
        except refusals():
            method = "Richardson differences"
            value, error = slope(func, x, direction, method)
        if method != "complex step":
            allowed, agreement = rtol or DIFFERENCE_RTOL, np.nan
            size = np.abs(value) + NORMWISE * np.max(np.abs(value), initial=0.0)
            trusted &= bool(np.sum(error) <= np.sum(VAGUE * size + blur))
        elif trial == 0:
            agreement, trusted = confirmed(problem, j, direction, value, np.abs(value))
        directions.append(direction)
        values.append(value)
        errors.append(error)
    return Directional(directions, np.stack(values, 1), np.stack(errors, 1), method, allowed, agreement, trusted)


def slope(func, x, direction, method, **options):
    """Differentiate along one direction by a method, differences with options: (values, errors), of shape (M,)."""
    if method == "complex step":
        value = complex_step(func, x, direction)
        return value, np.zeros(value.shape)
    return richardson(func, x, direction, goal=DIFFERENCE_RTOL, **options)[:2]
