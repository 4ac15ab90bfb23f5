r"""Means over noise: integrals of functions that may jump, with an estimate of their error.

Noise is a quantile of a uniform level, so a mean is an integral over levels in (0, 1).  A smooth
function is integrated by a double-exponential rule.  Any other is cut into panels.  Where two rules
disagree on a panel, bisection locates the largest jump between two of its nodes, and the panel is
cut there; a panel without a jump is cut in the middle.  The parts between the jumps are smooth.  A
function of the states of a discrete noise is constant between its jumps, so its integral is the
sum over these states.

With two noise variables, the mean over the second one is a function of the first one.  It is
continuous where the function jumps along a curve, and it is integrated in the same way.
"""

from typing import NamedTuple

import numpy as np

from ibpcl.verify.distributions.calls import CallError, one_by_one, quiet, real
from ibpcl.verify.distributions.noise import LEVELS, quantile_of
from ibpcl.verify.distributions.quadrature import Support, interval

SMOOTH = 1e-8  # largest relative gap between two rules for a smooth function
NODES = 16  # intervals between the nodes of a panel; every second node makes the coarse rule
REACH = 36.0  # of the log-odds of a level; beyond it there is no mass
MOST_ROUNDS = 60
# Levels for one integral, by the number of noise variables and whether the function takes arrays.
MOST_LEVELS = {
    (1, True): 500_000,
    (1, False): 100_000,
    (2, True): 4_000_000,
    (2, False): 400_000,
}
JUMP = 1e-3  # share of a difference between two nodes that remains where a function jumps
STEADY = 0.9  # ratio of the values at both ends of the last panel if the integral is infinite
SETTLED_TAIL = 1e-9  # share of the integral at the end of a panel that does not count
LOST = 1e-9  # mass in which a function may be non-finite


class Rule(NamedTuple):
    """Fineness of an integral over one noise variable.

    Attributes
    ----------
    steps : int
        Nodes of the double-exponential rule on either side of the middle.
    bulk : int
        Number of the first panels of the level.
    tail : float
        Width of the first panels of the log-odds near both ends.
    settled : float
        Largest gap between both rules on a panel that is fine enough, relative to the integral.
    bisections : int
        Number of bisections that locate a jump.
    """

    steps: int
    bulk: int
    tail: float
    settled: float
    bisections: int


# By the number of noise variables, and whether the function takes arrays.
RULES = {
    (1, True): Rule(240, 64, 1.5, 1e-11, 52),
    (1, False): Rule(240, 64, 1.5, 1e-11, 52),
    (2, True): Rule(120, 16, 3.0, 1e-8, 36),
    (2, False): Rule(100, 8, 6.0, 1e-7, 30),
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
    levels : int
        Number of levels at which the function was called.
    """

    mean: np.ndarray
    error: np.ndarray
    variance: np.ndarray
    size: np.ndarray
    levels: int


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
        self.count = 0
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

    @property
    def most(self):
        """Number of levels that one integral may use."""
        return MOST_LEVELS[len(self.kinds), self.takes_arrays]

    def __call__(self, levels):
        """Return the outputs (M, K) for levels (d, M) of d noise variables."""
        self.count += levels.shape[1]
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


def average(function, kinds, most=np.inf):
    """Return the mean of a function over one or two noise variables.

    Parameters
    ----------
    function : callable
        Takes its noise by name, and returns one number or several.
    kinds : dict of str to str
        Distribution of each noise argument, a key of the table ``vocabulary.NOISE``.
    most : int
        Number of levels after which no further panels are cut.

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
    >>> round(float(found.mean[0]), 12), bool(found.error[0] < 1e-12)
    (0.3, True)
    """
    if len(kinds) not in (1, 2):
        raise CallError("its mean is known for one or two noise variables only")
    rows = Rows(function, kinds)
    outputs = rows.outputs
    rule = RULES[len(kinds), rows.takes_arrays]

    def may_go_on():
        return rows.count < min(rows.most, most)

    def over_last(before):
        """Return the integrals over the last variable for levels (d - 1, B) of the others."""

        def values(index, levels):
            table = rows(np.concatenate([before[:, index], levels[None]]))
            with np.errstate(all="ignore"):
                further = [table**2, np.abs(table)]
                return np.concatenate([table, *further], axis=1), np.zeros(table.shape)

        return _integrals(values, before.shape[1], outputs, rule, may_go_on)

    if len(kinds) == 1:
        total, error = over_last(np.empty((0, 1)))
    else:
        total, error = _integrals(
            lambda index, levels: over_last(levels[None]), 1, outputs, rule, may_go_on
        )
    mean, square, size = total[0].reshape(3, outputs)
    with np.errstate(all="ignore"):
        variance = np.maximum(square - mean**2, 0.0)
    return Average(mean, error[0], variance, size, rows.count)


def _integrals(values, count, outputs, rule, may_go_on):
    """Return several integrals over levels in (0, 1), and their errors.

    Parameters
    ----------
    values : callable
        ``values(index, levels)`` returns the values (M, L) of the integrands with the numbers
        ``index`` (M,), and the errors (M, outputs) of the first of them.
    count : int
        Number B of integrals.
    outputs : int
        Number of the first columns, which decide whether a panel is fine enough.
    rule : Rule
        Fineness of the integrals.
    may_go_on : callable
        Whether further panels may be cut.

    Returns
    -------
    totals : ndarray, shape (B, L)
        NaN if a value is not finite in a part that has mass.
    errors : ndarray, shape (B, outputs)
        Estimates of the absolute errors.
    """
    totals, errors, smooth = _smoothly(values, count, outputs, rule)
    rest = np.flatnonzero(~smooth)
    if len(rest):
        panels = _Panels(lambda index, levels: values(rest[index], levels), len(rest), outputs)
        panels.run(rule, may_go_on)
        totals[rest] = panels.totals
        errors[rest] = panels.errors
    return totals, errors


def _smoothly(values, count, outputs, rule):
    """Return integrals by the double-exponential rule, their errors, and which ones are smooth."""
    x, weights, half = interval(Support(0.0, 1.0), 0.0, 1.0, rule.steps)
    table, inner = values(np.repeat(np.arange(count), len(x)), np.tile(x, count))
    table = table.reshape(count, len(x), -1)
    inner = inner.reshape(count, len(x), -1)
    weights = weights[:, None]
    with np.errstate(all="ignore"):
        parts = np.where(np.isfinite(table), table, 0.0) * weights
        lost = np.sum(~np.isfinite(table[..., :outputs]) * weights, axis=(1, 2))
        scale = np.sum(np.abs(parts[..., :outputs]), axis=1)
    totals = parts.sum(axis=1)
    gap = np.abs(totals - 2 * parts[:, half].sum(axis=1))[:, :outputs]
    smooth = np.all(gap <= SMOOTH * scale + 1e-300, axis=1) & (lost < LOST * SMOOTH)
    return totals, gap + np.sum(inner * weights, axis=1), smooth


def _clenshaw_curtis(intervals):
    """Return the nodes and weights of the rule of Clenshaw and Curtis on (-1, 1)."""
    k = np.arange(intervals + 1)
    angles = np.pi * k / intervals
    weights = np.ones(intervals + 1)
    for j in range(1, intervals // 2 + 1):
        factor = 1.0 if 2 * j == intervals else 2.0
        weights -= factor * np.cos(2 * j * angles) / (4 * j**2 - 1)
    weights *= 2 / intervals
    weights[[0, -1]] /= 2
    return -np.cos(angles), weights


class _Panels:
    """Panels of the log-odds t of the level, with the integrals over those that are fine enough.

    The integrand has the factor du/dt = u (1 - u), so panels near both ends reach far into the
    tails of the noise.
    """

    def __init__(self, values, count, outputs):
        self.values = values
        self.count = count
        self.outputs = outputs
        self.nodes, self.fine = _clenshaw_curtis(NODES)
        self.coarse = np.zeros(NODES + 1)
        self.coarse[::2] = _clenshaw_curtis(NODES // 2)[1]
        self.totals = 0.0
        self.errors = np.zeros((count, outputs))
        self.lost = np.zeros(count)
        self.scale = np.full((count, outputs), 1e-300)

    def run(self, rule, may_go_on):
        """Cut panels until the two rules agree on each, or no further call is allowed."""
        ends = _edges(rule)
        owner = np.repeat(np.arange(self.count), len(ends) - 1)
        low = np.tile(ends[:-1], self.count)
        high = np.tile(ends[1:], self.count)
        for round_ in range(MOST_ROUNDS + 1):
            panels = _Evaluated(self, owner, low, high)
            if round_ == 0:
                np.add.at(self.scale, owner, panels.sizes)
                self._add_tails(panels, len(ends) - 1)
            done = panels.gaps <= rule.settled
            done |= high - low <= 1e-13 * (1 + np.abs(low))
            last = round_ == MOST_ROUNDS or not may_go_on()
            self._keep(panels, owner, done, last)
            if last or np.all(done):
                break
            owner, low, high = self._cut(panels, owner, low, high, ~done, rule.bisections)
        self.totals[self.lost > LOST, :] = np.nan

    def _add_tails(self, panels, each):
        """Add the mass beyond the first and the last panel to the errors.

        A tail that counts and does not decay makes the error as large as the integral.
        """
        mass = np.abs(panels.table[..., : self.outputs]) * panels.slope[..., None]
        first = mass[::each]
        last = mass[each - 1 :: each]
        for end, inner in ((first[:, 0], first[:, -1]), (last[:, -1], last[:, 0])):
            with np.errstate(all="ignore"):
                ratio = np.where(end > 0, end / inner, 0.0)
                counts = end > SETTLED_TAIL * self.scale
                self.errors += np.where(counts & (ratio > STEADY), self.scale, 10 * end)

    def _keep(self, panels, owner, done, last):
        """Add the integrals over panels that are done, or over all of them in the last round."""
        chosen = done | last
        errors = np.where(done[:, None], panels.errors, panels.spreads)
        self._add(owner[chosen], panels.integrals[chosen], errors[chosen])
        np.add.at(self.lost, owner[chosen], panels.lost[chosen])

    def _add(self, owner, integrals, errors):
        """Add integrals (P, L) and their errors (P, outputs) to those of their owners (P,)."""
        part = np.zeros((self.count, integrals.shape[1]))
        np.add.at(part, owner, integrals)
        self.totals = self.totals + part
        np.add.at(self.errors, owner, errors)

    def _cut(self, panels, owner, low, high, chosen, bisections):
        """Return the owners and ends of panels after a cut at the largest jump, or the middle."""
        owner = owner[chosen]
        low = low[chosen]
        high = high[chosen]
        left, right = self._largest_step(panels, owner, chosen, bisections)
        middle = (low + high) / 2
        jumps = np.isfinite(left)
        left = np.where(jumps, left, middle)
        right = np.where(jumps, right, middle)
        ends = np.stack([low, left, right, high], axis=1).reshape(-1, 2)
        owners = np.repeat(owner, 2)
        wide = ends[:, 1] > ends[:, 0]
        return owners[wide], ends[wide, 0], ends[wide, 1]

    def _largest_step(self, panels, owner, chosen, bisections):
        """Return the ends (P,) of the intervals in which panels jump most; NaN without a jump.

        The intervals are narrow; their integrals are added, with errors.
        """
        table = panels.table[chosen]
        steps = self._size(np.diff(table, axis=1), owner[:, None])
        at = np.argmax(steps, axis=1)
        row = np.arange(len(at))
        left = panels.t[chosen][row, at].copy()
        right = panels.t[chosen][row, at + 1].copy()
        of_left = table[row, at].copy()
        of_right = table[row, at + 1].copy()
        for _ in range(bisections):
            middle = (left + right) / 2
            inside = np.flatnonzero((middle > left) & (middle < right))
            if not len(inside):
                break
            values, _ = self.values(owner[inside], _level(middle[inside]))
            values = np.where(np.isfinite(values), values, 0.0)
            before = self._size(values - of_left[inside], owner[inside])
            after = self._size(of_right[inside] - values, owner[inside])
            goes_left = before >= after
            to_left = inside[goes_left]
            to_right = inside[~goes_left]
            right[to_left] = middle[to_left]
            of_right[to_left] = values[goes_left]
            left[to_right] = middle[to_right]
            of_left[to_right] = values[~goes_left]
        remaining = self._size(of_right - of_left, owner)
        jumps = (remaining > JUMP * steps[row, at]) & (remaining > 0)
        mass = (_level(right) - _level(left))[jumps, None]
        errors = mass * np.abs(of_right - of_left)[jumps, : self.outputs]
        self._add(owner[jumps], mass * (of_left + of_right)[jumps] / 2, errors)
        return np.where(jumps, left, np.nan), np.where(jumps, right, np.nan)

    def _size(self, differences, owner):
        """Return the largest difference of the outputs, relative to the integrals."""
        relative = np.abs(differences[..., : self.outputs]) / self.scale[owner]
        return np.max(relative, axis=-1)


class _Evaluated:
    """Panels (P,) with the values at their nodes, their integrals, and the errors of these.

    ``gaps`` (P,) are the relative gaps between both rules, ``errors`` (P, outputs) the absolute
    ones.  ``spreads`` (P, outputs) bound the error where the rules disagree: the range of the
    values times the mass.
    """

    def __init__(self, owner_panels, owner, low, high):
        self.t = (low + high)[:, None] / 2 + (high - low)[:, None] / 2 * owner_panels.nodes
        self.t[:, 0] = low
        self.t[:, -1] = high
        level = _level(self.t)
        index = np.repeat(owner, self.t.shape[1])
        table, inner = owner_panels.values(index, level.ravel())
        finite = np.isfinite(table).reshape(*self.t.shape, -1)
        self.table = np.where(finite, table.reshape(finite.shape), 0.0)
        outputs = owner_panels.outputs
        self.slope = level * _level(-self.t)
        half = (high - low)[:, None] / 2
        fine = (half * owner_panels.fine * self.slope)[..., None]
        coarse = (half * owner_panels.coarse * self.slope)[..., None]
        with np.errstate(all="ignore"):
            self.integrals = np.sum(self.table * fine, axis=1)
            other = np.sum(self.table * coarse, axis=1)
        values = self.table[..., :outputs]
        inner = np.sum(np.abs(inner.reshape(*self.t.shape, -1)) * fine, axis=1)
        errors = np.abs(self.integrals - other)[:, :outputs]
        self.sizes = np.sum(np.abs(values) * fine, axis=1)
        self.lost = np.sum(~np.all(finite[..., :outputs], axis=2) * fine[..., 0], axis=1)
        if np.any(owner_panels.scale > 1e-300):
            scale = owner_panels.scale[owner]
        else:  # the first panels: their sum is the scale
            sums = np.full(owner_panels.scale.shape, 1e-300)
            np.add.at(sums, owner, self.sizes)
            scale = sums[owner]
        self.gaps = np.max(errors / scale, axis=1)
        self.errors = errors + inner
        mass = np.sum(fine[..., 0], axis=1)
        self.spreads = np.ptp(values, axis=1) * mass[:, None] + self.errors


def _level(t):
    """Return the level of log-odds."""
    return 1 / (1 + np.exp(-t))


def _edges(rule):
    """Return the ends of the first panels: equal shares of the level, then steps into the tails."""
    inside = np.arange(1, rule.bulk) / rule.bulk
    inside = np.log(inside) - np.log1p(-inside)
    steps = int(np.ceil((REACH - inside[-1]) / rule.tail))
    tail = np.linspace(inside[-1], REACH, steps + 1)[1:]
    return np.concatenate([-tail[::-1], inside, tail])
