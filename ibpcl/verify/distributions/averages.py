r"""Means over noise: integrals of functions that may jump, with an estimate of their error.

Noise is a quantile of a uniform level, so a mean is an integral over levels in (0, 1).  It is cut
into panels by :func:`ibpcl.verify.distributions.quadrature.refined`.  With two noise variables, the
mean over the second one is a function of the first one, which is integrated in the same way.
"""

from typing import NamedTuple

import numpy as np

from ibpcl.verify.distributions.calls import CallError, one_by_one, quiet, real
from ibpcl.verify.distributions.noise import LEVELS, quantile_of
from ibpcl.verify.distributions.quadrature import refined

REACH = 36.0  # of the log-odds of a level; beyond it there is no mass
BATCH = 50  # integrals over the second variable at once, whose tables fit into memory
LOST = 1e-9  # mass in which a function may be non-finite


class Rule(NamedTuple):
    """Fineness of an integral over one noise variable.

    Attributes
    ----------
    bulk : int
        Number of the first panels of the level.
    tail : float
        Width of the first panels of the log-odds near both ends.
    settled, most
        As in :func:`ibpcl.verify.distributions.quadrature.refined`.
    """

    bulk: int
    tail: float
    settled: float
    most: int


# By the number of noise variables, and whether the function takes arrays.
RULES = {
    (1, True): Rule(64, 1.5, 1e-12, 400),
    (1, False): Rule(64, 1.5, 1e-12, 100),
    (2, True): Rule(16, 3.0, 1e-8, 20),
    (2, False): Rule(8, 6.0, 1e-7, 10),
}


class Average(NamedTuple):
    """Mean of a function over its noise.

    Attributes
    ----------
    mean : ndarray, shape (K,)
        Mean of each output; NaN if the output is not finite in a part that has mass.
    error : ndarray, shape (K,)
        Estimate of the absolute error of each mean.
    variance : ndarray, shape (K,)
        Variance of each output.
    size : ndarray, shape (K,)
        Mean of the absolute value of each output, to a few digits.
    """

    mean: np.ndarray
    error: np.ndarray
    variance: np.ndarray
    size: np.ndarray


class Rows:
    """Outputs of a function for many values of its noise.

    The function is called with arrays if it returns the same outputs as for single numbers.

    Parameters
    ----------
    function : callable
        Takes its noise by name.
    kinds : dict of str to str
        Distribution of each noise argument.

    Raises
    ------
    CallError
        If the function raises or does not return numbers.
    """

    def __init__(self, function, kinds):
        self.function = function
        self.kinds = kinds
        # several noise variables get different levels
        probes = np.stack([np.roll(LEVELS, 2 * i) for i in range(len(kinds))])
        alone = self._alone(probes)
        self.outputs = alone.shape[1]
        self.takes_arrays = True
        try:
            together = self._together(probes)
            self.takes_arrays = np.allclose(together, alone, rtol=1e-9, atol=0, equal_nan=True)
        except CallError:
            self.takes_arrays = False

    def __call__(self, levels):
        """Return the outputs (M, K) for levels (d, M) of d noise variables."""
        return self._together(levels) if self.takes_arrays else self._alone(levels)

    def _noise(self, levels):
        with np.errstate(all="ignore"):
            pairs = zip(self.kinds.items(), levels, strict=True)
            return {name: quantile_of(kind, level) for (name, kind), level in pairs}

    def _alone(self, levels):
        noise = self._noise(levels)
        names = list(noise)
        calls = list(zip(*(values.tolist() for values in noise.values()), strict=True))

        def call(i):
            return self.function(**dict(zip(names, calls[i], strict=True)))

        results = one_by_one(call, len(calls))
        try:
            return real(results).reshape(len(results), -1)
        except CallError:  # numbers and arrays of one entry, perhaps
            rows = [np.ravel(real(each)) for each in results]
        if len({len(row) for row in rows}) > 1:
            raise CallError("the number of its outputs depends on the noise")
        return np.array(rows)

    def _together(self, levels):
        size = levels.shape[1]
        result = quiet(self.function, **self._noise(levels))
        try:
            parts = [real(part) for part in result] if isinstance(result, (tuple, list)) else None
            table = real(result) if parts is None else np.stack(np.broadcast_arrays(*parts))
        except ValueError as error:
            raise CallError(f"it does not return one row for each value: {error}") from error
        if table.shape == (size,):
            return table[:, None]
        if table.shape == (self.outputs, size):
            return table.T
        if table.shape == (size, self.outputs):
            return table
        raise CallError(f"it returns shape {table.shape} for {size} values of its noise")


def average(function, kinds):
    """Return the mean of a function over one or two noise variables.

    Parameters
    ----------
    function : callable
        Takes its noise by name, and returns one number or several.
    kinds : dict of str to str
        Distribution of each noise argument, a key of the table ``vocabulary.NOISE``.

    Returns
    -------
    average : Average
        With one entry for each output.

    Raises
    ------
    CallError
        If the function raises, does not return numbers, or has more than two noise variables.

    Examples
    --------
    >>> found = average(lambda u: (u < 0.3) * 1.0, {"u": "uniform"})
    >>> round(float(found.mean[0]), 12), bool(found.error[0] < 1e-9)
    (0.3, True)
    """
    if len(kinds) not in (1, 2):
        raise CallError("its mean is known for one or two noise variables only")
    from scipy.special import expit  # the checker in the browser starts without it

    rows = Rows(function, kinds)
    outputs = rows.outputs
    rule = RULES[len(kinds), rows.takes_arrays]

    def integrals(columns, count):
        """Return integrals over levels of functions with some columns, and their errors."""

        def values(index, t):
            level = expit(t)
            # the derivative of the level with respect to its log-odds
            return columns(index, level) * (level * expit(-t))[:, None]

        return refined(values, _edges(rule), count, outputs, rule.settled, rule.most)

    def over_last(before):
        """Return the integrals over the last variable for levels (d - 1, B) of the others.

        The columns are the outputs, their squares, their sizes, the errors, and what is lost.
        """

        def columns(index, level):
            table = rows(np.concatenate([before[:, index], level[None]]))
            lost = ~np.isfinite(table)
            table = np.where(lost, 0.0, table)
            parts = [table, table**2, np.abs(table), lost.any(axis=1, keepdims=True)]
            return np.concatenate(parts, axis=1)

        found = integrals(columns, before.shape[1])
        return np.concatenate([found.totals, found.errors], axis=1)

    if len(kinds) == 1:
        total = over_last(np.empty((0, 1)))[0]
    else:

        def over_both(index, level):
            batches = np.split(level[None], range(BATCH, len(level), BATCH), axis=1)
            return np.concatenate(list(map(over_last, batches)))

        found = integrals(over_both, 1)
        total = found.totals[0]
        total[-outputs:] += found.errors[0]
    mean, square, size, error = np.split(np.delete(total, 3 * outputs), 4)
    mean = np.where(total[3 * outputs] > LOST, np.nan, mean)
    with np.errstate(all="ignore"):
        variance = np.maximum(square - mean**2, 0.0)
    return Average(mean, error, variance, size)


def _edges(rule):
    """Return the ends of the first panels: equal shares of the level, then steps into the tails."""
    inside = quantile_of("logistic", np.arange(1, rule.bulk) / rule.bulk)
    steps = int(np.ceil((REACH - inside[-1]) / rule.tail))
    tail = np.linspace(inside[-1], REACH, steps + 1)[1:]
    return np.concatenate([-tail[::-1], inside, tail])
