r"""Densities as numbers: their integrals, expectations and distribution functions.

A continuous support is mapped to the real line by a double-exponential transformation (Takahasi and
Mori, 1974), whose trapezoidal sum converges quickly also where the density has poles at the ends of
its support.  An integral is trusted as far as half of the nodes give the same value.

SciPy's integrators return one integral and not its nodes.  Here the same nodes serve the density,
its moments, its entropy and its divergences, so a density is evaluated once.
"""

from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

REACH = 3.6  # of the transformed variable, which maps to 1e-25 or 1e12 of the scale
WIDE = 4.4  # the same for heavy tails and for poles: 1e-28 to 1e28 of the scale
WIDE_STEPS = 300
END = 1e-11  # share of the mass at one of the last nodes that shows a heavy tail or a pole
STEPS = {1: 240, 2: 48, 3: 16}  # of the transformed variable, on either side of 0, by dimension
MOST_TERMS = 5_000  # of a sum
FEW_TERMS = 150  # terms of an infinite sum at first
MANY_TERMS = 2000  # terms of an infinite sum whose last terms are not negligible
NEGLIGIBLE = -45.0  # difference of a negligible log term from the largest
NODES = 16  # intervals between the nodes of a panel; every second node makes the coarse rule
PANELS = 120  # the first ones
MOST_PANELS = 100  # that are cut at once
MOST_HALVINGS = 40
STEADY = 0.9  # ratio of the integrals over the last two panels if the integral is infinite
UNSETTLED = 10.0  # error of a panel that is not fine enough, in gaps between the rules
SETTLED = 1e-12  # relative gap between two rules on a panel that is fine enough
TAIL = 1e-9  # share of the mass in which a density may be non-finite
ROUNDS = 4  # attempts to locate the mass
PANEL = 40  # steps of an integral between two points
# A relative error of the integral between these two indicates a kink.
SMOOTH = 1e-8
ROUGH = 1.0
FAR_OFF = 20.0  # errors by which an integral clearly differs from another value
# Largest step, relative to the width of a point, and one tableau of three differences.
DIFFERENCES = {"h": 1e-3, "levels": 3, "restarts": 1, "noise": 0.0}
TRUSTED = 1e-6  # relative error of an expectation that counts as converged
# The same in several dimensions: half of an axis is coarse, and the error about the square of this.
TRUSTED_ON_GRIDS = 0.02
SCANS = (4_001, 80_001)  # points of the plain rule that repeats an integral
SCANNED = 36.0  # reach of its transformed variable


class Support(NamedTuple):
    """Interval or set of integers outside of which a density is zero.

    Attributes
    ----------
    low, high : float
        Ends of the interval in each dimension; may be infinite.
    discrete : bool
        True if only integers have mass.
    simplex : bool
        True if the coordinates are shares that sum to 1.
    axes : tuple of (float, float)
        Ends in each dimension, if they differ.
    """

    low: float
    high: float
    discrete: bool = False
    simplex: bool = False
    axes: tuple = ()

    def __str__(self):
        if self.axes:
            return " x ".join(str(Support(*ends)) for ends in self.axes)
        ends = f"{self.low:g}, {self.high:g}"
        if self.simplex:
            return "the simplex"
        if self.discrete and self.high == self.low + 1:
            return f"{{{ends}}}"
        return f"{{{ends.replace(', ', ', ..., ')}}}" if self.discrete else f"({ends})"

    @property
    def is_bounded(self):
        """True if both ends are finite."""
        return bool(np.isfinite(self.low) and np.isfinite(self.high))


class Nodes(NamedTuple):
    """Points and weights of an integral.

    Attributes
    ----------
    x : ndarray, shape (M,) or (M, d)
        The points.
    weights : ndarray, shape (M,)
        The weights.
    half : ndarray of bool, shape (M,)
        Marks every second node; with doubled weights they give a coarser integral.  In a sum, all
        nodes are marked.
    axes : int
        Number of free coordinates.
    is_cut : bool
        Whether the nodes are the first terms of an infinite sum.
    """

    x: np.ndarray
    weights: np.ndarray
    half: np.ndarray
    axes: int = 1
    is_cut: bool = False

    def integral(self, values):
        """Integrate a function that is given by its values.

        Parameters
        ----------
        values : array_like, shape (M,)
            A value that is not finite counts as zero where the weight is zero.

        Returns
        -------
        integral : float
            The weighted sum of the values.
        error : float
            Difference from the integral over half of the nodes, or what is left of a sum.
        """
        values = np.asarray(values, float)
        with np.errstate(all="ignore"):
            parts = np.where(self.weights == 0, 0.0, values * self.weights)
        total = float(np.sum(parts))
        rounding = abs(total) * 1e-13
        if self.is_cut:
            return total, rounding + self._rest(parts)
        if self.half.all():
            return total, rounding
        coarse = float(np.sum(parts[self.half])) * 2**self.axes
        return total, abs(total - coarse) + rounding

    def _rest(self, parts):
        """Return the rest of a sum whose terms decay like a power."""
        last = abs(parts[-1])
        before = abs(parts[len(parts) // 2])
        if not last > 0 or len(parts) < 4:
            return 0.0
        power = np.log(before / last) / np.log(2) if before > 0 else 0.0
        return last * len(parts) / (power - 1) if power > 1 else np.inf


def nodes_of(support, center=0.0, scale=1.0, dimension=1, terms=MANY_TERMS, is_wide=False):
    """Return the nodes of an integral over a support.

    Parameters
    ----------
    support : Support
        The support.
    center, scale : float
        Where an infinite support has its mass.
    dimension : int
        1, 2 or 3; all dimensions have the same support.  On the simplex, the number of shares.
    terms : int
        Number of terms of an infinite sum beside those within 60 scales.
    is_wide : bool
        Whether the nodes of an interval reach far into tails and poles.

    Returns
    -------
    nodes : Nodes
        Points and weights.

    Examples
    --------
    >>> nodes = nodes_of(Support(0, 1))
    >>> round(nodes.integral(3 * nodes.x**2)[0], 12)
    1.0
    """
    axes = dimension - 1 if support.simplex else dimension
    sides = [Support(*ends) for ends in support.axes] or [support] * axes
    rules = [_of_axis(side, center, scale, axes, terms, is_wide) for side in sides]
    # all combinations of the entries of the axes
    x, weights, half = (
        np.stack(np.meshgrid(*columns, indexing="ij"), axis=-1).reshape(-1, axes)
        for columns in zip(*rules, strict=True)
    )
    weights = weights.prod(axis=1)
    half = half.all(axis=1)
    if support.simplex:
        # stick breaking: each coordinate is a share of what the earlier ones have left
        left = np.cumprod(1 - x, axis=1)
        before = np.concatenate([np.ones((len(x), 1)), left[:, :-1]], axis=1)
        x = np.concatenate([x * before, left[:, -1:]], axis=1)
        weights = weights * before.prod(axis=1)
    is_cut = support.discrete and support.high == np.inf
    return Nodes(x if dimension > 1 else x[:, 0], weights, half, axes, is_cut)


def _of_axis(support, center, scale, axes, terms, is_wide):
    """Return the nodes of one of several axes, their weights, and which half is a coarser rule."""
    if support.discrete:
        x = _integers(support, center, int(min(MOST_TERMS, terms + 60 * scale)))
        return x, np.ones(len(x)), np.ones(len(x), bool)
    if axes > 1 and support.low == -np.inf and support.high == np.inf:
        # few nodes: dense near the middle, 27 scales wide
        t = np.linspace(-3.2, 3.2, 2 * STEPS[axes] + 1)
        weights = 2.2 * scale * np.cosh(t) * (t[1] - t[0])
        return center + 2.2 * scale * np.sinh(t), weights, np.arange(len(t)) % 2 == 0
    steps, reach = (WIDE_STEPS, WIDE) if is_wide else (STEPS[axes], REACH)
    return interval(support, center, scale, steps, reach)


def _integers(support, center, reach):
    low = support.low
    high = support.high
    if not np.isfinite(low):
        low = np.floor(center) - reach
    if not np.isfinite(high):
        high = max(low, np.floor(center)) + reach
    return np.arange(low, min(high, low + MOST_TERMS) + 1)


def interval(support, center, scale, steps, reach=REACH):
    """Return the nodes of the double-exponential rule on an interval.

    Parameters
    ----------
    support : Support
        A continuous support.
    center, scale : float
        Where an infinite support has its mass.
    steps : int
        Number of nodes on either side of the middle.
    reach : float
        Largest value of the transformed variable.

    Returns
    -------
    x, weights : ndarray, shape (M,)
        Points and weights of the integral.
    half : ndarray of bool, shape (M,)
        Marks every second node.
    """
    t = np.linspace(-reach, reach, 2 * steps + 1)
    half = np.arange(len(t)) % 2 == (steps % 2)
    x, slope = _mapped(support, center, scale, np.pi * np.sinh(t))
    with np.errstate(all="ignore"):
        weights = slope * np.pi * np.cosh(t) * (t[1] - t[0])
    good = np.isfinite(x) & np.isfinite(weights) & (x > support.low) & (x < support.high)
    return x[good], weights[good], half[good]


def _mapped(support, center, scale, t):
    """Return the points of a support for points of the real line, and the derivatives there."""
    low = support.low
    high = support.high
    with np.errstate(all="ignore"):
        if support.is_bounded:
            width = high - low
            below = 1 / (1 + np.exp(-t))
            above = 1 / (1 + np.exp(t))
            # a point may not fall on an end by rounding
            return np.where(t < 0, low + width * below, high - width * above), width * below * above
        step = scale * np.exp(t / 2)
        if np.isfinite(low):
            return low + step, step / 2
        if np.isfinite(high):
            return high - step, step / 2
        return center + scale * np.sinh(t / 2), scale * np.cosh(t / 2) / 2


class Refined(NamedTuple):
    """Several integrals over panels that are fine enough.

    Attributes
    ----------
    totals : ndarray, shape (B, L)
        The integrals.
    errors : ndarray, shape (B, K)
        Estimates of the absolute errors of the first K integrands.
    panels : ndarray, shape (P, 2)
        Ends of all panels.
    """

    totals: np.ndarray
    errors: np.ndarray
    panels: np.ndarray


def refined(values, ends, count, outputs, settled, most):
    """Integrate functions with kinks and jumps: cut panels in half until two rules agree on each.

    Both rules of Clenshaw and Curtis have the ends of a panel among their nodes, so they see a jump
    wherever it is.

    Parameters
    ----------
    values : callable
        ``values(index, t)`` returns the values (M, L) of the integrands with the numbers ``index``
        (M,) at the points t (M,).
    ends : ndarray
        Ends of the first panels.
    count : int
        Number B of integrals.
    outputs : int
        Number K of the first columns, which decide whether a panel is fine enough.
    settled : float
        Largest gap between both rules on a panel that is fine enough, relative to the integral.
    most : int
        Panels for each integral that may be cut at once; more of them stay as they are.

    Returns
    -------
    found : Refined
        The error is as large as the integral if a tail does not decay.
    """
    panels = np.tile(np.stack([ends[:-1], ends[1:]], axis=1), (count, 1))
    owner = np.repeat(np.arange(count), len(ends) - 1)
    totals = 0.0
    kept = []
    for depth in range(MOST_HALVINGS + 1):
        parts, gaps, sizes = _by_two_rules(values, owner, panels, outputs)
        if depth == 0:
            sizes = sizes.reshape(count, -1, outputs)
            scale = sizes.sum(axis=1) + 1e-300
            ends = sizes[:, [0, -1]]
            # a tail that counts and does not decay has no end
            steady = ends > np.maximum(STEADY * sizes[:, [1, -2]], TAIL * scale[:, None])
            errors = np.where(steady, scale[:, None], 10 * ends).sum(axis=1)
        done = np.all(gaps <= settled * scale[owner], axis=1)
        is_last = depth == MOST_HALVINGS or np.sum(~done) > most * count
        gaps = np.where(done[:, None], gaps, UNSETTLED * gaps)
        chosen = done | is_last
        totals = totals + _summed(parts[chosen], owner[chosen], count)
        errors = errors + _summed(gaps[chosen], owner[chosen], count)
        kept.append(panels[chosen])
        if np.all(chosen):
            break
        low, high = panels[~done].T
        middle = (low + high) / 2
        panels = np.stack([low, middle, middle, high], axis=1).reshape(-1, 2)
        owner = np.repeat(owner[~done], 2)
    return Refined(totals, errors, np.concatenate(kept))


def _by_two_rules(values, owner, panels, outputs):
    """Return integrals (P, L) over panels; gaps between two rules, and sizes, of the first ones."""
    nodes, fine = _closed_rule(NODES)
    coarse = np.zeros(NODES + 1)
    coarse[::2] = _closed_rule(NODES // 2)[1]
    half = (panels[:, 1:] - panels[:, :1]) / 2
    t = panels.mean(axis=1, keepdims=True) + half * nodes
    table = values(np.repeat(owner, NODES + 1), t.ravel()).reshape(*t.shape, -1)
    deciding = table[..., :outputs]
    parts = half * np.tensordot(table, fine, (1, 0))
    gaps = np.abs(parts[:, :outputs] - half * np.tensordot(deciding, coarse, (1, 0)))
    sizes = half * np.tensordot(np.abs(deciding), fine, (1, 0))
    return parts, gaps, sizes


def _summed(parts, owner, count):
    """Return the sums (count, L) of the rows (P, L) of each owner (P,)."""
    sums = np.zeros((count, parts.shape[1]))
    np.add.at(sums, owner, parts)
    return sums


@cache
def _closed_rule(intervals):
    """Return the nodes and weights of the rule of Clenshaw and Curtis on (-1, 1)."""
    k = np.arange(intervals + 1)
    nodes = -np.cos(np.pi * k / intervals)
    # the integrals of the Chebyshev polynomials; those of odd order are 0
    integrals = np.zeros(intervals + 1)
    integrals[::2] = 2 / (1 - k[::2] ** 2)
    weights = np.linalg.solve(np.polynomial.chebyshev.chebvander(nodes, intervals).T, integrals)
    return nodes, weights


def adapted(function, support, center=0.0, scale=1.0):
    """Return nodes for a function with kinks, jumps, or several modes far apart.

    Parameters
    ----------
    function : callable
        Maps points (M,) to values (M,).
    support : Support
        A continuous support.
    center, scale : float
        Where an infinite support has its mass.

    Returns
    -------
    nodes : Nodes
        Every node is marked in ``half``, so :meth:`Nodes.integral` estimates only rounding errors.
    error : float
        Error estimate of the integral of the function.

    Examples
    --------
    >>> nodes, error = adapted(lambda x: np.exp(-np.abs(x - 0.3)), Support(-np.inf, np.inf))
    >>> round(nodes.integral(np.exp(-np.abs(nodes.x - 0.3)))[0], 9)
    2.0
    """

    def points(t):
        x, slope = _mapped(support, center, scale, t)
        good = np.isfinite(x) & np.isfinite(slope) & (x > support.low) & (x < support.high)
        return x, slope, good

    def values(index, t):
        x, slope, good = points(t)
        with np.errstate(all="ignore"):
            found = np.asarray(function(x), float) * slope
        return np.where(good & np.isfinite(found), found, 0.0)[:, None]

    # 0, where kinks often are, is inside a panel
    reach = (-36.0, 37.3) if support.is_bounded else (-80.0, 82.6)
    found = refined(values, np.linspace(*reach, PANELS + 1), 1, 1, SETTLED, MOST_PANELS)
    panels = found.panels[np.argsort(found.panels[:, 0])]
    nodes, shares = _closed_rule(NODES)
    half = (panels[:, 1:] - panels[:, :1]) / 2
    x, slope, good = points((panels.mean(axis=1, keepdims=True) + half * nodes).ravel())
    weights = (half * shares).ravel() * slope
    return Nodes(x[good], weights[good], np.ones(int(good.sum()), bool)), float(found.errors[0, 0])


class Density(NamedTuple):
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
    def dimension(self):
        """Number of coordinates of the random variable."""
        return 1 if self.nodes.x.ndim == 1 else self.nodes.x.shape[1]

    @property
    def tolerance(self):
        """Largest error that counts as right for values of the distribution function."""
        return 1e-5 if self.is_rough else 1e-6

    @property
    def is_rough(self):
        """True if the density has kinks or jumps, so that its integrals are less exact."""
        return not self.support.discrete and bool(self.nodes.half.all())

    @property
    def is_sharp(self):
        """True if the integral is finite, and its error is small."""
        return bool(np.isfinite(self.total) and self.error < 1e-4 * self.total)

    @property
    def is_one(self):
        """True if the integral is 1."""
        error = self.error if self.nodes.axes == 1 else self.error**2
        return bool(abs(self.total - 1) <= TRUSTED and error < 10 * TRUSTED)

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

    @property
    def normalized(self):
        """Normalized log density at the nodes, shape (M,); 0 where it is not finite."""
        log_p = self.log_p - np.log(self.total)
        return np.where(np.isfinite(log_p), log_p, 0.0)

    def log_at(self, x):
        """Return the normalized log density at given points.

        Parameters
        ----------
        x : array_like, shape (M,) or (M, d)
            The points.

        Returns
        -------
        values : ndarray, shape (M,)
            Minus infinity outside of the support, if the function says so.
        """
        with np.errstate(all="ignore"):
            return np.asarray(self.log_density(x), float) - np.log(self.total)

    def expect(self, values):
        """Return the expectation of a function, or NaN if it does not exist.

        If a heavy tail has no such moment, the integrand is largest at the last nodes.

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
        value, error = self.nodes.integral(parts)
        trusted = TRUSTED if self.nodes.axes == 1 else TRUSTED_ON_GRIDS
        if not np.isfinite(value) or error > trusted * (1 + abs(value)):
            return np.nan, np.inf
        if self.nodes.axes == 1 and not self.support.discrete and not self.support.is_bounded:
            sizes = np.abs(parts) * self.nodes.weights
            if max(sizes[0], sizes[-1]) > TAIL * (np.sum(sizes) + 1e-300):
                return np.nan, np.inf
        return value, error

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
        ends = [self.support.low, *np.clip(x, self.support.low, self.support.high)]
        return np.cumsum([self._between(a, b) for a, b in pairwise(ends)])

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
        share = np.cumsum(np.nan_to_num((self.p * self.nodes.weights)[order], posinf=0.0))
        at = np.searchsorted(share / share[-1], levels)
        return x[order][np.unique(np.minimum(at, len(share) - 1))]

    def outside(self, gap):
        """Return a point beyond each finite end of the support.

        Parameters
        ----------
        gap : float
            Distance from the end, relative to 1 + the absolute value of the end.

        Returns
        -------
        x : ndarray, shape (at most 2,)
            The next integers of a discrete support.
        """
        ends = ((self.support.low, -1), (self.support.high, 1))
        step = 0.0 if self.support.discrete else gap
        far = 1.0 if self.support.discrete else gap
        return np.array(
            [end + sign * (far + step * abs(end)) for end, sign in ends if np.isfinite(end)]
        )

    def _between(self, a, b):
        """Return the mass between two points."""
        if not b > a:
            return 0.0
        part = Support(a, b)

        def density(x):
            with np.errstate(all="ignore"):
                return np.exp(self.log_density(x))

        rule = (PANEL, REACH) if np.isfinite(a) else (WIDE_STEPS, WIDE)
        x, weights, half = interval(part, self.center, self.scale, *rule)
        values = density(x) * weights
        total = float(np.nansum(values))
        if abs(total - 2 * float(np.nansum(values[half]))) > SMOOTH * total:
            nodes, _ = adapted(density, part, self.center, self.scale)
            total = float(np.nansum(density(nodes.x) * nodes.weights))
        return total / self.total

    def repeated(self, tolerance):
        """Return the integral by another rule, which sees modes that the first one may miss.

        The rule is a plain sum over many points of the mapped line, and over more of them if it
        does not agree with the first one.

        Parameters
        ----------
        tolerance : float
            Absolute difference that counts as agreement.

        Returns
        -------
        total : float
            The same integral in several dimensions and for sums, which have no second rule.
        """
        if self.nodes.x.ndim > 1 or self.support.discrete or self.known_cdf is not None:
            return self.total
        for count in SCANS:
            t = np.linspace(-SCANNED, SCANNED, count) + 0.3 * SCANNED / count
            x, slope = _mapped(self.support, self.center, self.scale, 2 * t)
            with np.errstate(all="ignore"):
                values = np.exp(np.asarray(self.log_density(x), float)) * slope * 2
            total = float(np.sum(values[np.isfinite(values)]) * (t[1] - t[0]))
            if abs(total - self.total) <= tolerance:
                break
        return total


def integrated(log_density, support, dimension=1, adapt=True, hints=(), target=None):
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
    target : float, optional
        An integral that clearly differs from it is left as it is.

    Returns
    -------
    density : Density
        Its ``total`` is NaN where the density is not finite at places that have mass.

    Examples
    --------
    >>> found = integrated(lambda x: -x, Support(0, np.inf))
    >>> round(found.total, 9), round(found.expect(found.nodes.x**2)[0], 9)
    (1.0, 2.0)
    """

    def values(x):
        with np.errstate(all="ignore"):
            return np.asarray(log_density(x), float)

    nodes, raw, center, scale = _located(values, support, dimension, hints)
    if dimension == 1 and not support.discrete and _has_ends(nodes, raw):
        nodes = nodes_of(support, center, scale, is_wide=True)
        raw = values(nodes.x)
    log_p, total, error = _total(nodes, raw)
    rough = SMOOTH * total < error < ROUGH * total
    rough &= target is None or abs(total - target) < FAR_OFF * error
    if adapt and rough and dimension == 1 and not support.discrete:
        nodes, error = adapted(lambda x: np.exp(values(x)), support, center, scale)
        raw = values(nodes.x)
        log_p, total, _ = _total(nodes, raw)
    return Density(log_density, support, nodes, log_p, raw, total, error, center, scale)


def _located(values, support, dimension, hints):
    """Return nodes where a density has its mass, its values there, and the center and scale."""
    center = 0.0
    scale = 1.0
    if not support.is_bounded and dimension == 1:
        tried = np.array([0.0, *(float(h) for h in hints if support.low < h < support.high)])
        center = float(tried[np.argmax(np.nan_to_num(values(tried), nan=-np.inf))])
    terms = FEW_TERMS
    for _ in range(1 if support.is_bounded else ROUNDS):
        nodes = nodes_of(support, center, scale, dimension, terms)
        raw = values(nodes.x)
        if support.discrete and terms == FEW_TERMS and _has_tail(raw):
            terms = MANY_TERMS
            continue
        found = None if support.is_bounded else _where(nodes, raw)
        if found is None or np.allclose(found, (center, scale), rtol=0.05, atol=0.05 * found[1]):
            break
        center, scale = found
    return nodes, raw, center, scale


def _total(nodes, raw):
    """Return log values without NaN in the tails, their integral, and its error."""
    log_p = _without_tails(nodes, raw)
    with np.errstate(all="ignore"):
        return log_p, *nodes.integral(np.exp(log_p))


def _has_ends(nodes, log_p):
    """Return whether the first or the last node of an integral has mass."""
    with np.errstate(all="ignore"):
        mass = np.exp(log_p) * nodes.weights
    return bool(max(mass[0], mass[-1]) > END * np.nansum(mass))


def _has_tail(log_p):
    """Return whether the last terms of a sum still count."""
    last = log_p[-10:][np.isfinite(log_p[-10:])]
    finite = log_p[np.isfinite(log_p)]
    return len(last) > 0 and bool(np.max(last) > np.max(finite) + NEGLIGIBLE)


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
    low, middle, high = np.interp((0.16, 0.5, 0.84), share / share[-1], first[order])
    return float(middle), max(float(high - low) / 2, 1e-6 * (1 + abs(middle)))


def _without_tails(nodes, log_p):
    """Return log values with minus infinity for NaN outside the mass, where formulas overflow."""
    if nodes.x.ndim > 1:
        return np.where(np.isnan(log_p), -np.inf, log_p)
    with np.errstate(all="ignore"):
        mass = np.exp(log_p) * nodes.weights
    good = np.isfinite(mass)
    heavy = np.flatnonzero(good & (mass > TAIL * np.sum(mass[good])))
    if not len(heavy) or not np.any(np.isnan(log_p)):
        return log_p
    outside = np.ones(len(log_p), bool)
    outside[heavy[0] : heavy[-1] + 1] = False
    return np.where(outside & np.isnan(log_p), -np.inf, log_p)
