"""A second point near the given inputs, at which other mistakes show."""

import numpy as np

from ibpcl.verify.derivative.reference import refusals
from ibpcl.verify.derivative.symmetric import mirrored


def neighbour(problem, rng):
    """Return the problem at a second point nearby.

    Inputs move by a tenth of their size, and by a hundredth if that fails.  If the forward refuses
    the point, only the differentiated inputs move.  Numbers between 0 and 1 stay there, positive
    and negative numbers keep their sign, and others get normal noise.  Integers do not move, nor do
    masks and one-hot labels (zeros and ones) that are not differentiated.  Symmetric matrices that
    are not differentiated stay symmetric, and probabilities still sum to one.

    Parameters
    ----------
    problem : Problem
        The pair at the given point.
    rng : numpy.random.Generator
        Source of the changes.

    Returns
    -------
    Problem or None
        None if the forward works at no point that was tried.
    """
    outputs = problem.value.shape
    for strength, chosen in ((0.1, None), (0.1, problem.wrt), (0.01, None), (0.01, problem.wrt)):
        near = problem.at(
            [
                _moved(value, strength, rng, j in problem.wrt)
                if chosen is None or j in chosen
                else value
                for j, value in enumerate(problem.point)
            ]
        )
        with np.errstate(all="ignore"):
            try:
                value = near.value
                near.gradients(np.ones(outputs))
            except (*refusals(), ArithmeticError, LookupError):
                continue
        if value.shape == outputs and np.all(np.isfinite(value)):
            return near
    return None


def _moved(value, strength, rng, differentiated):
    """Return an input moved at random by a share of its size, within its range."""
    array = np.asarray(value)
    if array.dtype.kind != "f" or array.size == 0:
        return value
    if not differentiated and array.size > 1 and np.all((array == 0) | (array == 1)):
        return value
    factor = 1 + strength * rng.uniform(0.3, 1.0, array.shape) * rng.choice(
        [-1.0, 1.0], array.shape
    )
    if np.all((array > 0) & (array < 1)):
        moved = array**factor
    elif np.all(array > 0) or np.all(array < 0) or not differentiated:
        moved = array * factor
    else:
        moved = array + strength * (np.sqrt(np.mean(array**2)) or 1.0) * rng.standard_normal(
            array.shape
        )
    if (
        not differentiated
        and array.ndim == 2
        and array.shape == array.T.shape
        and np.array_equal(array, array.T)
    ):
        moved = mirrored(moved, "lower")  # a covariance stays symmetric
    if not differentiated and np.all((array >= 0) & (array <= 1)):
        for axis in range(array.ndim):
            if array.shape[axis] > 1 and np.allclose(array.sum(axis=axis), 1):
                moved = moved / moved.sum(axis=axis, keepdims=True)  # probabilities sum to one
                break
    return moved if isinstance(value, np.ndarray) else moved[()]
