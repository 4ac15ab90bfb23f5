r"""Integrals and sums over the support of a density, on a fixed set of nodes.

A continuous support is mapped to the real line by a double-exponential transformation (Takahasi and
Mori, 1974), whose trapezoidal sum converges quickly also where the density has poles at the ends of
its support.  An integral is trusted as far as half of the nodes give the same value.

SciPy's integrators return one integral and not its nodes.  Here the same nodes serve the density,
its moments, its entropy and its divergences, so a density is evaluated once.
"""

from typing import NamedTuple

import numpy as np

STEPS = 240  # of the transformed variable, on either side of 0
REACH = 3.6  # of the transformed variable; beyond it weights underflow
MOST_TERMS = 5_000  # of a sum
ORDER = 10  # of Gauss-Legendre nodes in a panel
PANELS = 80
MOST_PANELS = 24  # that are halved at once
MOST_HALVINGS = 34
MOST_ON_AXIS = {2: 60, 3: 16}  # of a sum in two or three dimensions
COARSE = {1: STEPS, 2: 48, 3: 16}  # by dimension


class Support(NamedTuple):
    """Interval or set of integers outside of which a density is zero.

    Attributes
    ----------
    low, high : float
        Ends of the interval in each dimension; may be infinite.
    discrete : bool
        True if only integers have mass.
    """

    low: float
    high: float
    discrete: bool = False

    def __str__(self):
        ends = f"{self.low:g}, {self.high:g}"
        if self.discrete and self.high == self.low + 1:
            return f"{{{ends}}}"
        return f"{{{ends.replace(', ', ', ..., ')}}}" if self.discrete else f"({ends})"


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
    """

    x: np.ndarray
    weights: np.ndarray
    half: np.ndarray

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
            Difference from the integral over half of the nodes.
        """
        values = np.asarray(values, float)
        with np.errstate(all="ignore"):
            parts = np.where(self.weights == 0, 0.0, values * self.weights)
        total = float(np.sum(parts))
        if self.half.all():
            return total, abs(total) * 1e-13
        coarse = float(np.sum(parts[self.half])) * 2 ** (1 if self.x.ndim == 1 else self.x.shape[1])
        return total, abs(total - coarse) + abs(total) * 1e-13


def nodes_of(support, center=0.0, scale=1.0, dimension=1, terms=2000):
    """Return the nodes of an integral over a support.

    Parameters
    ----------
    support : Support
        The support.
    center, scale : float
        Where an infinite support has its mass.
    dimension : int
        1, 2 or 3; all dimensions have the same support.
    terms : int
        Number of terms of an infinite sum beside those within 60 scales.

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
    if support.discrete:
        x, weights, half = _integers(
            support, center, scale, MOST_ON_AXIS.get(dimension, MOST_TERMS), terms
        )
    else:
        x, weights, half = interval(support, center, scale, COARSE[dimension])
    if dimension > 1 and not support.discrete and support.low == -np.inf and support.high == np.inf:
        x, weights, half = _line(center, scale, COARSE[dimension])
    if dimension == 1:
        return Nodes(x, weights, half)
    return Nodes(
        _grid(x, dimension),
        _grid(weights, dimension).prod(axis=1),
        _grid(half, dimension).all(axis=1),
    )


def _grid(axis, dimension):
    """Return all combinations of the entries of an axis, shape (M, dimension)."""
    axes = np.meshgrid(*[axis] * dimension, indexing="ij")
    return np.stack(axes, axis=-1).reshape(-1, dimension)


def _line(center, scale, steps):
    """Return few nodes of the whole line, for grids: dense near the middle, 27 scales wide."""
    t = np.linspace(-3.2, 3.2, 2 * steps + 1)
    x = center + 2.2 * scale * np.sinh(t)
    weights = 2.2 * scale * np.cosh(t) * (t[1] - t[0])
    return x, weights, np.arange(len(t)) % 2 == steps % 2


def _integers(support, center, scale, most, terms):
    low = support.low
    high = support.high
    reach = int(min(most, terms + 60 * scale))
    if not np.isfinite(low):
        low = np.floor(center) - reach
    if not np.isfinite(high):
        high = max(low, np.floor(center)) + reach
    x = np.arange(low, min(high, low + most) + 1)
    return x, np.ones(len(x)), np.ones(len(x), bool)


def interval(support, center, scale, steps):
    """Return the nodes of the double-exponential rule on an interval.

    Parameters
    ----------
    support : Support
        A continuous support.
    center, scale : float
        Where an infinite support has its mass.
    steps : int
        Number of nodes on either side of the middle.

    Returns
    -------
    x, weights : ndarray, shape (M,)
        Points and weights of the integral.
    half : ndarray of bool, shape (M,)
        Marks every second node.
    """
    t = np.linspace(-REACH, REACH, 2 * steps + 1)
    h = t[1] - t[0]
    half = np.arange(len(t)) % 2 == (steps % 2)
    inner = np.pi / 2 * np.sinh(t)
    slope = np.pi / 2 * np.cosh(t)
    low = support.low
    high = support.high
    with np.errstate(over="ignore"):
        if np.isfinite(low) and np.isfinite(high):
            # a node may not fall on an end by rounding
            below = 1 / (1 + np.exp(-2 * inner))
            x = np.where(inner < 0, low + (high - low) * below, high - (high - low) * (1 - below))
            weights = (high - low) * 0.5 * slope / np.cosh(inner) ** 2
        elif np.isfinite(low) or np.isfinite(high):
            step = scale * np.exp(inner)
            x = low + step if np.isfinite(low) else high - step
            weights = step * slope
        else:
            x = center + scale * np.sinh(inner)
            weights = scale * np.cosh(inner) * slope
    good = np.isfinite(x) & np.isfinite(weights) & (x > low) & (x < high)
    return x[good], (weights * h)[good], half[good]


def adapted(function, support, center=0.0, scale=1.0):
    """Return nodes for a function with kinks, jumps, or several modes far apart.

    The transformed line is cut into panels.  A panel is halved until Gauss-Legendre nodes on it and
    on its halves agree.

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
    inner, shares = np.polynomial.legendre.leggauss(ORDER)
    low, high = _panels_of(support)
    pending = np.linspace(low, high, PANELS + 1)
    pending = np.stack([pending[:-1], pending[1:]], axis=1)
    kept = []
    error = 0.0
    size = 0.0
    for depth in range(MOST_HALVINGS + 1):
        middle = pending.mean(axis=1)
        halves = np.stack(
            [
                np.stack([pending[:, 0], middle], axis=1),
                np.stack([middle, pending[:, 1]], axis=1),
            ],
            axis=1,
        ).reshape(-1, 2)
        whole = _sums(function, support, center, scale, pending, inner, shares)
        parts = _sums(function, support, center, scale, halves, inner, shares)
        gap = np.abs(whole - parts.reshape(-1, 2).sum(axis=1))
        size = max(size, float(np.sum(np.abs(parts))))
        done = gap <= 1e-12 * (size + 1e-300)
        if depth == 0:  # a kink may lie where neither has a node
            done &= np.abs(whole) <= 1e-4 * size
        done |= depth == MOST_HALVINGS
        if np.sum(~done) > MOST_PANELS:
            done = gap <= np.sort(gap)[-MOST_PANELS]
        kept.append(halves.reshape(-1, 2, 2)[done].reshape(-1, 2))
        error += float(np.sum(gap[done]))
        pending = halves.reshape(-1, 2, 2)[~done].reshape(-1, 2)
        if not len(pending):
            break
    panels = np.concatenate([*kept, pending])
    panels = panels[np.argsort(panels[:, 0])]
    x, weights = _points(support, center, scale, panels, inner, shares)
    good = np.isfinite(x) & np.isfinite(weights) & (x > support.low) & (x < support.high)
    return Nodes(x[good], weights[good], np.ones(int(good.sum()), bool)), error


def _panels_of(support):
    """Return the ends of the transformed variable; 0, where kinks often are, is inside a panel."""
    finite = np.isfinite(support.low) and np.isfinite(support.high)
    return (-36.0, 37.3) if finite else (-40.0, 41.3)


def _points(support, center, scale, panels, inner, shares):
    """Return points and weights of panels (K, 2) of the transformed variable."""
    half = (panels[:, 1] - panels[:, 0]) / 2
    t = (panels.mean(axis=1)[:, None] + half[:, None] * inner).ravel()
    weights = (half[:, None] * shares).ravel()
    low = support.low
    high = support.high
    with np.errstate(all="ignore"):
        if np.isfinite(low) and np.isfinite(high):
            below = 1 / (1 + np.exp(-t))
            x = np.where(t < 0, low + (high - low) * below, high - (high - low) / (1 + np.exp(t)))
            return x, weights * (high - low) * below / (1 + np.exp(t))
        if np.isfinite(low) or np.isfinite(high):
            step = scale * np.exp(t)
            return (low + step if np.isfinite(low) else high - step), weights * step
        return center + scale * np.sinh(t), weights * scale * np.cosh(t)


def _sums(function, support, center, scale, panels, inner, shares):
    """Return the integral over each panel."""
    x, weights = _points(support, center, scale, panels, inner, shares)
    with np.errstate(all="ignore"):
        values = np.asarray(function(x), float) * weights
    values = np.where(np.isfinite(values) & (x > support.low) & (x < support.high), values, 0.0)
    return values.reshape(len(panels), -1).sum(axis=1)
