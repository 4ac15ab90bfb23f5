"""Densities as numbers: their integrals, expectations and distribution functions.

The density defines the distribution.  All other functions are compared with its integrals.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ibpcl.verify.derivative.differences import richardson
from ibpcl.verify.distributions.measures import Nodes, Support, adapted, interval, nodes_of

TAIL = 1e-9  # share of the mass in which a density may be non-finite
FEW_TERMS = 150  # terms of an infinite sum at first
MANY_TERMS = 2000  # terms of an infinite sum whose last terms are not negligible
NEGLIGIBLE = -45.0  # difference of a negligible log term from the largest
ROUNDS = 4  # attempts to locate the mass
PANEL = 40  # steps of an integral between two points
# A relative error of the integral between these two indicates a kink.
SMOOTH = 1e-8
ROUGH = 1.0
# Largest step, relative to the width of a level, and one tableau of three differences.
DIFFERENCES = {"h": 1e-3, "levels": 3, "restarts": 1, "noise": 0.0}
QUANTILE_STEPS = 120  # of the levels of a quantile function, on either side of the middle
REACH = 36.0  # of the log-odds of a level
BISECTIONS = 60
TRUSTED = 1e-6  # relative error of an expectation that counts as converged
TRUSTED_ON_GRIDS = 1e-3  # the same in two or three dimensions, where half of an axis is coarse


class Truth(NamedTuple):
    """A density at one set of parameters.

    Attributes
    ----------
    log_density : callable
        Maps points (M,) or (M, d) to values (M,), not normalized.
    support : Support
        Support of the density.
    nodes : Nodes
        Points and weights of integrals.
    log_p : ndarray, shape (M,)
        Log density at the nodes; minus infinity where it is NaN outside the mass.
    raw : ndarray, shape (M,)
        Log density at the nodes, as the function returns it.
    total : float
        Integral of the density.
    error : float
        Error estimate of the integral.
    center, scale : float
        Location and width of the mass.
    known_cdf : callable or None
        Distribution function, if the density was derived from it.
    """

    log_density: object
    support: Support
    nodes: Nodes
    log_p: np.ndarray
    raw: np.ndarray
    total: float
    error: float
    center: float
    scale: float
    known_cdf: object = None

    @property
    def tolerance(self):
        """Largest error that counts as right for values of the distribution function."""
        return 1e-5 if self.is_rough else 1e-6

    @property
    def is_rough(self):
        """True if the density has kinks or jumps, so that its integrals are less exact."""
        return not self.support.discrete and bool(self.nodes.half.all())

    @property
    def holes(self):
        """Share of the nodes at which the density is NaN.

        In a sum, only terms with mass count, because factorials overflow far out.
        """
        values = self.log_p if self.support.discrete else self.raw
        return float(np.mean(np.isnan(values)))

    @property
    def p(self):
        """Normalized density at the nodes, shape (M,)."""
        with np.errstate(all="ignore"):
            return np.exp(self.log_p) / self.total

    def expect(self, values):
        """Return the expectation of a function that is given by its values.

        Parameters
        ----------
        values : array_like, shape (M,)
            Values at the nodes; those without mass are left out.

        Returns
        -------
        expectation, error : float
            The expectation, and an estimate of its absolute error.
        """
        p = self.p
        with np.errstate(all="ignore"):
            parts = np.where(p == 0, 0.0, np.asarray(values, float) * p)
        heavy = p * self.nodes.weights
        parts = np.where(~np.isfinite(parts) & (np.abs(heavy) < TAIL * np.max(heavy)), 0.0, parts)
        return self.nodes.integral(parts)

    def expect_function(self, function):
        """Return the expectation of a function.

        Parameters
        ----------
        function : callable
            Maps the nodes to values (M,).

        Returns
        -------
        expectation, error : float
            The expectation, and an estimate of its absolute error.
        """
        with np.errstate(all="ignore"):
            return self.expect(function(self.nodes.x))

    def settles(self, value, error):
        """Return whether an expectation converges.

        Parameters
        ----------
        value, error : float
            As :meth:`expect` returns them.

        Returns
        -------
        settles : bool
            Whether the error is small enough.
        """
        trusted = TRUSTED if self.nodes.x.ndim == 1 else TRUSTED_ON_GRIDS
        return np.isfinite(value) and error <= trusted * (1 + abs(value))

    def moment(self, function):
        """Return an expectation, or NaN if it does not exist.

        If a heavy tail has no such moment, the integrand is largest at the last nodes.

        Parameters
        ----------
        function : callable
            Maps the nodes to values (M,).

        Returns
        -------
        expectation : float
            The expectation.
        """
        with np.errstate(all="ignore"):
            parts = np.abs(np.where(self.p == 0, 0.0, function(self.nodes.x) * self.p))
            parts = parts * self.nodes.weights
        parts = np.where(np.isfinite(parts), parts, 0.0)
        value, error = self.expect_function(function)
        if not self.settles(value, error):
            return np.nan
        ends = max(parts[0], parts[-1]) if self.nodes.x.ndim == 1 else 0.0
        unbounded = not np.isfinite(self.support.low) or not np.isfinite(self.support.high)
        if unbounded and not self.support.discrete and ends > 1e-9 * (np.sum(parts) + 1e-300):
            return np.nan
        return value

    def cdf(self, x):
        """Return the distribution function.

        Parameters
        ----------
        x : array_like, shape (K,)
            Points in increasing order.

        Returns
        -------
        probabilities : ndarray, shape (K,)
            Probability of a value up to each point.
        """
        x = np.asarray(x, float)
        if self.known_cdf is not None:
            return self.known_cdf(x)
        if self.support.discrete:
            mass = self.p * self.nodes.weights
            return np.array([np.sum(mass[self.nodes.x <= each + 1e-9]) for each in x])
        low = self.support.low
        high = self.support.high
        ends = np.concatenate([[low], np.clip(x, low, high)])
        parts = [self._between(a, b) for a, b in pairwise(ends)]
        return np.cumsum(parts)

    def rough_cdf(self, x):
        """Return the distribution function to about 1e-4, without further calls of the density.

        Parameters
        ----------
        x : array_like, shape (K,)
            Points.

        Returns
        -------
        probabilities : ndarray, shape (K,)
            Probability of a value up to each point.
        """
        mass = self.p * self.nodes.weights
        mass = np.where(np.isfinite(mass), mass, 0.0)
        order = np.argsort(self.nodes.x)
        share = np.cumsum(mass[order]) - mass[order] / 2
        return np.interp(x, self.nodes.x[order], share, left=0.0, right=1.0)

    def points_at(self, levels):
        """Return nodes at given levels of the distribution function.

        Parameters
        ----------
        levels : array_like, shape (K,)
            Probabilities in increasing order.

        Returns
        -------
        x : ndarray, shape (at most K,) or (at most K, d)
            Distinct nodes, in increasing order in one dimension.
        """
        x = self.nodes.x
        order = np.argsort(x) if x.ndim == 1 else np.arange(len(x))
        mass = (self.p * self.nodes.weights)[order]
        share = np.cumsum(np.where(np.isfinite(mass), mass, 0.0))
        at = np.searchsorted(share / share[-1], levels)
        return x[order][np.unique(np.minimum(at, len(share) - 1))]

    def _between(self, a, b):
        """Return the mass between two points."""
        if not b > a:
            return 0.0
        part = Support(a, b)
        steps = 240 if not np.isfinite(a) else PANEL
        x, weights, half = interval(part, self.center, self.scale, steps)
        with np.errstate(all="ignore"):
            values = np.exp(self.log_density(x)) * weights
        total = float(np.nansum(values))
        coarse = 2 * float(np.nansum(values[half]))
        if abs(total - coarse) > SMOOTH * total:

            def density(x):
                return np.exp(self.log_density(x))

            nodes, _ = adapted(density, part, self.center, self.scale)
            total = float(np.nansum(density(nodes.x) * nodes.weights))
        return total / self.total


def truth_of(log_density, support, dimension=1, adapt=True, hints=()):
    """Integrate a density over a support.

    Parameters
    ----------
    log_density : callable
        Maps points (M,) or (M, d) to values (M,).
    support : Support
        Support of the density.
    dimension : int
        1, 2 or 3.
    adapt : bool
        Whether to integrate a density with kinks, jumps or far modes panel by panel.
    hints : sequence of float
        Possible locations of the mass, such as a location parameter.

    Returns
    -------
    truth : Truth
        Its ``total`` is NaN where the density is not finite at places that have mass.

    Examples
    --------
    >>> found = truth_of(lambda x: -x, Support(0, np.inf))
    >>> round(found.total, 9), round(found.moment(np.square), 9)
    (1.0, 2.0)
    """
    scale = 1.0
    nodes = log_p = None
    infinite = not (np.isfinite(support.low) and np.isfinite(support.high))
    center = _start(log_density, support, hints) if infinite and dimension == 1 else 0.0
    terms = FEW_TERMS
    for _ in range(ROUNDS if infinite else 1):
        nodes = nodes_of(support, center, scale, dimension, terms)
        with np.errstate(all="ignore"):
            log_p = np.asarray(log_density(nodes.x), float)
        if not infinite:
            break
        found = _where(nodes, log_p)
        if support.discrete and terms == FEW_TERMS and _has_tail(log_p):
            terms = MANY_TERMS
            continue
        if found is None or np.allclose(found, (center, scale), rtol=0.05, atol=0.05 * found[1]):
            break
        center, scale = found
    raw = log_p
    log_p = _without_tails(nodes, raw)
    with np.errstate(all="ignore"):
        total, error = nodes.integral(np.exp(log_p))
    rough = SMOOTH * total < error < ROUGH * total
    if adapt and rough and dimension == 1 and not support.discrete:
        nodes, error = adapted(lambda x: np.exp(log_density(x)), support, center, scale)
        with np.errstate(all="ignore"):
            raw = np.asarray(log_density(nodes.x), float)
            log_p = _without_tails(nodes, raw)
            total, _ = nodes.integral(np.exp(log_p))
    return Truth(log_density, support, nodes, log_p, raw, total, error, center, scale)


def truth_of_quantile(quantile):
    """Return the distribution of a quantile function.

    Parameters
    ----------
    quantile : callable
        Maps levels (M,) to values (M,), which increase.

    Returns
    -------
    truth : Truth
        Its density at the quantile of a level is one over the slope there.
    """

    def slope(levels):
        width = levels * (1 - levels)
        with np.errstate(all="ignore"):
            return richardson(quantile, levels, width, **DIFFERENCES).value / width

    def cdf(x):
        """Return the largest level whose quantile is not above x, by bisection of the log-odds."""
        x = np.asarray(x, float)
        low = np.full(x.shape, -REACH)
        high = np.full(x.shape, REACH)
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            with np.errstate(all="ignore"):
                below = quantile(1 / (1 + np.exp(-middle))) <= x
            low = np.where(below, middle, low)
            high = np.where(below, high, middle)
        return 1 / (1 + np.exp(-(low + high) / 2))

    def log_density(x):
        with np.errstate(all="ignore"):
            return -np.log(slope(cdf(x)))

    levels, shares, half = interval(Support(0.0, 1.0), 0.0, 1.0, QUANTILE_STEPS)
    with np.errstate(all="ignore"):
        x = quantile(levels)
        slopes = slope(levels)
        log_p = -np.log(slopes)
        ends = quantile(np.array([0.0, 1.0]))
    good = np.isfinite(x) & np.isfinite(log_p)
    low, high = (e if np.isfinite(e) else s * np.inf for e, s in zip(ends, (-1, 1), strict=True))
    nodes = Nodes(x[good], (shares * slopes)[good], half[good])
    lost = float(np.sum(shares[~good]))
    middle, width = np.interp((0.5, 0.84), levels[good], x[good])
    return Truth(
        log_density,
        Support(float(low), float(high)),
        nodes,
        log_p[good],
        log_p[good],
        1.0,
        lost,
        float(middle),
        float(width - middle),
        cdf,
    )


def truth_of_masses(x, masses):
    """Return the distribution of integers with known probabilities.

    Parameters
    ----------
    x : array_like, shape (M,)
        The integers, in increasing order.
    masses : array_like, shape (M,)
        Their probabilities.

    Returns
    -------
    truth : Truth
        With the probabilities at the integers, and 0 elsewhere.
    """
    x = np.asarray(x, float)
    masses = np.asarray(masses, float)
    total = float(np.sum(masses))
    with np.errstate(all="ignore"):
        log_p = np.log(masses)

    def log_density(values):
        at = np.minimum(np.searchsorted(x, values), len(x) - 1)
        return np.where(x[at] == values, log_p[at], -np.inf)

    nodes = Nodes(x, np.ones(len(x)), np.ones(len(x), bool))
    support = Support(float(x[0]), float(x[-1]), True)
    mean = float(np.sum(x * masses) / total)
    scale = float(np.sqrt(np.sum((x - mean) ** 2 * masses) / total))
    return Truth(log_density, support, nodes, log_p, log_p, total, abs(total - 1), mean, scale)


def _has_tail(log_p):
    """Return whether the last terms of a sum still count."""
    last = log_p[-10:][np.isfinite(log_p[-10:])]
    finite = log_p[np.isfinite(log_p)]
    return len(last) > 0 and bool(np.max(last) > np.max(finite) + NEGLIGIBLE)


def _start(log_density, support, hints):
    """Return the hint at which a density is largest, or 0."""
    tried = np.array([0.0, *(float(h) for h in hints if support.low < h < support.high)])
    if len(tried) == 1:
        return 0.0
    with np.errstate(all="ignore"):
        values = np.nan_to_num(np.asarray(log_density(tried), float), nan=-np.inf)
    return float(tried[np.argmax(values)])


def _where(nodes, log_p):
    """Return the median and the half width of the central 68 % of a density; None if unknown."""
    if np.all(np.isnan(log_p)):
        return None
    with np.errstate(all="ignore"):
        mass = np.exp(log_p - np.nanmax(log_p)) * nodes.weights
    mass = np.where(np.isfinite(mass), mass, 0.0)
    if not np.any(mass > 0):
        return None
    first = nodes.x if nodes.x.ndim == 1 else nodes.x[:, 0]
    order = np.argsort(first)
    share = np.cumsum(mass[order])
    share = share / share[-1]
    low, middle, high = np.interp((0.16, 0.5, 0.84), share, first[order])
    return float(middle), max(float(high - low) / 2, 1e-6 * (1 + abs(middle)))


def _without_tails(nodes, log_p):
    """Return log values with minus infinity for NaN outside the mass, where formulas overflow."""
    if np.all(np.isfinite(log_p)) or nodes.x.ndim > 1:
        return np.where(np.isnan(log_p), -np.inf, log_p) if nodes.x.ndim > 1 else log_p
    with np.errstate(all="ignore"):
        mass = np.exp(log_p) * nodes.weights
    good = np.isfinite(mass)
    total = np.sum(mass[good])
    if not total > 0:
        return log_p
    heavy = np.flatnonzero(good & (mass > TAIL * total))
    outside = np.ones(len(log_p), bool)
    if len(heavy):
        outside[heavy[0] : heavy[-1] + 1] = False
    return np.where(outside & np.isnan(log_p), -np.inf, log_p)
