"""Expectations of one variable: by quadrature, exact to many digits, and by Monte Carlo, from the sampler itself."""

from itertools import pairwise

import numpy as np


def quadrature(function, support, points=None):
    r"""Integrate a scalar function over an interval that may be infinite: (value, error estimate).

    The interval is cut at ``points``, and otherwise where an infinite one has its middle, because adaptive
    quadrature may miss a narrow peak.

    Raises
    ------
    ValueError
        If the support is not an interval.

    Examples
    --------
    >>> value, error = quadrature(lambda x: np.exp(-x * x / 2), (-np.inf, np.inf))
    >>> round(value, 10) == round(float(np.sqrt(2 * np.pi)), 10)
    True
    """
    low, high = map(float, support)
    if not low < high:
        raise ValueError(f"quadrature: support must be an interval (low, high), got ({low}, {high})")
    if points is None:
        points = [0.0] if low < 0 < high and np.isinf(low) and np.isinf(high) else []
        points += [0.5 * (low + high)] if np.isfinite(low) and np.isfinite(high) else []
    cuts = [low, *sorted(p for p in points if low < p < high), high]
    from scipy.integrate import quad  # slow to import
    value = error = 0.0
    for a, b in pairwise(cuts):
        result = quad(lambda x: float(function(x)), a, b, limit=400, epsabs=1e-13, epsrel=1e-11,
                                full_output=1)      # full_output: doubts come back as values, not as warnings
        value, error = value + result[0], error + result[1]
    return value, error


def monte_carlo(integrand, sample, seed, size):
    """Return the mean of ``integrand`` over draws and its standard error."""
    values = np.ravel(integrand(sample(np.random.default_rng(seed), size)))
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(values.size))
