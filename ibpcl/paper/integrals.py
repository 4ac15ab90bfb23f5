"""Integrals of functions of arrays, which the checks of the package take by the hundred."""

from itertools import pairwise

import numpy as np

from ibpcl.verify.distributions.quadrature import Support, interval

# Nodes on either side of the middle of a piece, for errors below 1e-10 of usual integrands.
STEPS = 120


def integral(function, support, points=(), steps=STEPS):
    """Integrate a function over an interval, which may be infinite, by the double-exponential rule.

    The rule allows for poles at the ends of each piece, and needs one call of the function for
    each.  Where poles are so strong that the last digits of a number near one matter, use
    :func:`ibpcl.verify.distributions.statistics.quadrature`.

    Parameters
    ----------
    function : callable
        The integrand, from array to array.
    support : (float, float)
        Lower and upper limit; either may be infinite.
    points : sequence of float
        Points at which to split the interval, such as a peak.
    steps : int
        Number of nodes on either side of the middle of a piece.

    Returns
    -------
    value : float
        The integral.
    error : float
        Estimate of its absolute error: the difference from the integral over half of the nodes.

    Examples
    --------
    >>> value, error = integral(lambda x: np.exp(-x * x / 2), (-np.inf, np.inf), [0.0])
    >>> bool(abs(value - np.sqrt(2 * np.pi)) < 1e-12), error < 1e-9
    (True, True)
    """
    low, high = map(float, support)
    cuts = [low, *sorted(point for point in points if low < point < high), high]
    total = coarse = 0.0
    for piece in pairwise(cuts):
        x, weights, half = interval(Support(*piece), 0.0, 1.0, steps)
        parts = np.asarray(function(x)) * weights
        total += float(np.sum(parts))
        coarse += 2 * float(np.sum(parts[half]))
    return total, abs(total - coarse)
