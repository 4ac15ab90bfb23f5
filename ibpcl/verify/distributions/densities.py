"""Checks of densities: the integral over the support, non-finite values, and names for slips."""

from typing import NamedTuple

import numpy as np

from ibpcl.verify.distributions import points, supports
from ibpcl.verify.distributions.calling import CallError, number
from ibpcl.verify.distributions.mending import alike, fits_of
from ibpcl.verify.distributions.slips import shift
from ibpcl.verify.distributions.supports import at, is_one
from ibpcl.verify.distributions.truth import truth_of
from ibpcl.verify.distributions.verdicts import ForwardVerdict

PROBES = np.linspace(0.03, 0.97, 41)  # levels at which densities are compared
MOST_SUPPORTS = 3  # supports over which a change of the source is searched
MOST_FITS = 6  # changes of the source that are compared with each other
MOST_HOLES = 0.25  # share of a support in which a density may be NaN
# Kinds of edits that a verdict keeps; all others become "edit".
KINDS = ("sign", "constant_factor", "missing_term", "exchanged", "parameter_scale", "other_scale")
# Costs of one integral, in expressions that take as long.
COST = 350
COST_OF_PANELS = 3_000
COST_OF_GRIDS = 20_000


class Known(NamedTuple):
    """Result of the check of a density.

    Attributes
    ----------
    truths : list of ibpcl.verify.distributions.truth.Truth
        The density at each point, after a change of the source if one was found.
    verdict : ibpcl.verify.distributions.verdicts.ForwardVerdict or None
        The verdict on the density; None if it was not checked.
    sure : bool
        True if other functions can be compared with the density.
    function : callable or None
        The changed density; None if the user's density is compared.
    """

    truths: list
    verdict: ForwardVerdict | None
    sure: bool
    function: object = None


class Check:
    """Check of the density of a family.

    Parameters
    ----------
    family : ibpcl.verify.distributions.families.Family
        The functions of one distribution, with sets of parameters.
    dimension : int
        Dimension of the random variable.
    is_consistent : callable
        ``is_consistent(truths)`` returns how many other functions of the family agree with a
        density.  It decides between changes that would all make the integral 1.
    """

    def __init__(self, family, dimension, is_consistent):
        self.family = family
        self.dimension = dimension
        self.is_consistent = is_consistent
        self.part = family.density
        self.is_rough = False

    def truths_of(self, support, adapt=True, function=None, every=None):
        """Return the density over a support at all points.

        Parameters
        ----------
        support : Support or callable
            The support, or a function from a point to a support.
        adapt : bool
            Whether the user's density may have kinks and jumps.
        function : callable, optional
            Changed version of the density.
        every : list of dict, optional
            The points; by default all of the family.

        Returns
        -------
        truths : list of ibpcl.verify.distributions.truth.Truth
            One density for each point.
        """
        return [
            truth_of(
                self.family.log_density(self.part, point, function),
                at(support, point),
                self.dimension,
                adapt if function is None else self.is_rough,
                [value for value in point.values() if np.ndim(value) == 0],
            )
            for point in every or self.family.points
        ]

    def run(self):
        """Return the result of the check, a :class:`Known`."""
        family = self.family
        tried, given = supports.supports_of(family, self.part.role)
        self.support, self.truths, self.plausible = supports.choose(
            tried,
            self.truths_of,
            lambda support, truths: given or supports.is_supported(family, support, truths),
        )
        self.words = supports.words_of(self.support, family.points)
        if not given:
            note = f"the support {self.words} was guessed; give support = (low, high)"
            family.notes.append(note)
        self.totals = np.array([truth.total for truth in self.truths])
        self.how = "sums" if self.truths[0].support.discrete else "integrates"
        if is_one(self.totals):
            trouble = _not_finite(self.truths, family)
            if trouble:
                return Known(self.truths, self._verdict("wrong", trouble, "non_finite"), True)
            number = len(self.totals)
            sets = "" if number == 1 else f" for {number} sets of parameters"
            words = f"{self.how} to 1 over {self.words}{sets}"
            return Known(self.truths, self._verdict("ok", words, "ok"), True)
        return self._wrong(given)

    def _verdict(self, verdict, words, kind):
        numbers = {"integral": self.totals, "support": self.words}
        return ForwardVerdict(self.part.name, verdict, words, kind, numbers)

    def _ends_by_itself(self):
        """Return whether a density is NaN or 0 outside of its guessed support."""
        for truth, point in zip(self.truths, self.family.points, strict=True):
            low = truth.support.low
            high = truth.support.high
            gaps = (1.0, 1.0) if truth.support.discrete else 0.7 * (1 + np.abs((low, high)))
            outside = [low - gaps[0]] if np.isfinite(low) else []
            outside += [high + gaps[1]] if np.isfinite(high) else []
            if not outside:
                continue
            with np.errstate(all="ignore"):
                values = self.family.log_density(self.part, point)(np.array(outside))
            if np.any(np.isfinite(values)):
                return False
        return True

    def _wrong(self, given):
        """Return the result for a density whose integral is not 1."""
        if max(truth.holes for truth in self.truths) > MOST_HOLES:
            return self._unmeasured()
        self.may_be_rough = any(truth.is_rough for truth in self.truths)
        finite = bool(np.all(np.isfinite(self.totals)))
        sure = finite and all(truth.error < 1e-4 * truth.total for truth in self.truths)
        shown = _shown(self.totals, self.family)
        plain = f"{self.how} to {shown} over {self.words}, not to 1"
        if sure and not self.truths[0].support.discrete and self.dimension == 1:
            other = _of_another_variable(self.truths)
            if other is not None:
                verdict = self._verdict("wrong", f"{plain}: {other[1]}", "of_another_variable")
                return Known(other[0], verdict, True)
        constant = shift(np.log(self.totals), points.terms_of(self.family.points)) if sure else None
        over = [self.support] if constant is not None else self._supports_to_try()
        known_support = (
            given or self._ends_by_itself() or supports.is_known_otherwise(self.family, self.truths)
        )
        passes = [(support, False) for support in over]
        passes += [(support, True) for support in over if self.may_be_rough]
        for support, self.is_rough in passes:
            found = self._mended(support, constant, sure)
            if found is not None:
                fit, truths = found
                where = plain if support is self.support and sure else self._elsewhere(support)
                kind = fit.kind if fit.kind in KINDS else "edit"
                amount = f"the log density is {constant.words}: " if constant else ""
                words = f"{where}: {amount}{fit.words}"
                if not known_support and support is self.support:
                    return self._if_supported(words)
                return Known(truths, self._verdict("wrong", words, kind), True, fit.function)
        if constant is not None:
            words = f"{plain}: the log density is {constant.words}, a normalizing constant"
            if not known_support:
                return self._if_supported(words)
            return Known(self.truths, self._verdict("wrong", words, "missing_term"), True)
        if not finite:
            return self._unmeasured()
        if not sure:
            words = f"its integral over {self.words} does not converge (about {shown})"
            words += ": give support, or look for a sign that makes it grow"
            return Known(self.truths, self._verdict("undecided", words, "undecided"), False)
        if not known_support:
            words = f"{plain}, nor over another support that was tried: give support = (low, high)"
            return Known(self.truths, self._verdict("undecided", words, "undecided"), False)
        return Known(self.truths, self._verdict("wrong", plain, "not_normalized"), False)

    def _unmeasured(self):
        """Return the undecided result for a density whose integral is not finite."""
        family = self.family
        for truth, point in zip(self.truths, family.points, strict=True):
            if np.isfinite(truth.total) and not np.any(np.isnan(truth.raw)):
                continue
            shown = ", ".join(f"{key} = {value}" for key, value in point.items())
            with np.errstate(all="ignore"):
                bad = np.flatnonzero(~np.isfinite(np.exp(truth.raw)))
            where = f"at {truth.nodes.x[bad[0]]} for {shown}" if len(bad) else f"for {shown}"
            if np.all(np.isnan(truth.raw)):
                words = f"it is NaN everywhere in {self.words} for {shown}"
                try:
                    bound = family.bound(self.part, point)
                    x = truth.nodes.x[len(truth.nodes.x) // 2]
                    number(bound, x, **family.arguments(self.part, point))
                except CallError as error:
                    words = f"{error}, for {shown}"
            elif np.any(np.isposinf(truth.log_p)):
                words = f"it is infinite {where}: a point mass, or a sign that is wrong"
            elif np.any(np.isnan(truth.raw)):
                words = f"it is NaN {where}, inside {self.words}"
            else:
                words = f"its integral over {self.words} is infinite {where}: look for a sign"
            return Known(self.truths, self._verdict("undecided", words, "undecided"), False)
        return Known(self.truths, None, False)

    def _if_supported(self, words):
        """Return the undecided result for a support without evidence."""
        words = f"if its support is {self.words}, it is wrong: {words}; give support"
        return Known(self.truths, self._verdict("undecided", words, "undecided"), False)

    def _supports_to_try(self):
        """Return the supports over which a change of the source is searched, the widest first."""
        found = [each for each in self.plausible if each is not self.support]
        wider = [each for each in found if _is_wider(each, self.support, self.family.points[0])]
        return [*wider, self.support][:MOST_SUPPORTS]

    def _elsewhere(self, support):
        words = supports.words_of(support, self.family.points)
        return f"does not {self.how.removesuffix('s')} to 1 over {words}"

    def _mended(self, support, constant, sure):
        """Return the edit that makes the integral 1, and its truths; None if it is not unique."""
        family = self.family

        def is_right(function):
            first = self.truths_of(support, function=function, every=family.points[:1])
            if not is_one(np.array([truth.total for truth in first])):
                return False
            every = self.truths_of(support, function=function)
            totals = np.array([truth.total for truth in every])
            return is_one(totals) and self._uses_all(function, every[0])

        fits = fits_of(
            self.part.function,
            lambda function: self.truths_of(support, function=function, every=family.points[:1]),
            is_right,
            most=MOST_FITS,
            cost=self._cost(),
        )
        if not fits:
            return None
        mended = [(fit, self.truths_of(support, function=fit.function)) for fit in fits]
        groups = _by_values(mended, mended[0][1][0].points_at(PROBES))
        same = support is self.support
        counts = [self.is_consistent(group[0][1]) for group in groups]
        before = self.is_consistent(self.truths) if same and sure else 0
        best = [group for group, count in zip(groups, counts, strict=True) if count == max(counts)]
        shifts = [group for group in best if same and sure and self._is_shift(group[0][1])]
        if max(counts) > before and len(best) == 1:
            return best[0][0]
        if len(shifts) == 1 and max(counts) >= before:
            return shifts[0][0]
        if constant is None and len(best) == 1 and max(counts) >= before:
            return best[0][0]
        return None

    def _cost(self):
        """Return the cost of one try of a changed density, in expressions."""
        if self.dimension > 1:
            return COST_OF_GRIDS
        if self.is_rough:
            return COST_OF_PANELS
        # two passes are made over a density with kinks
        return 2 * COST if self.may_be_rough else COST

    def _uses_all(self, function, truth):
        """Return whether a changed density depends on each of its parameters."""
        family = self.family
        if len(family.points) < 2:
            return True
        probes = truth.points_at(PROBES)
        plain = truth.log_density(probes)
        for name in family.parameters:
            if np.ndim(family.points[0].get(name, 0.0)) or name not in self.part.names:
                continue
            other = {**family.points[0], name: family.points[1][name]}
            if alike([plain, family.log_density(self.part, other, function)(probes)]):
                return False
        return True

    def _is_shift(self, mended):
        """Return whether a mended density differs from the user's by a constant only."""
        probes = self.truths[0].points_at(PROBES)
        gap = mended[0].log_density(probes) - self.truths[0].log_density(probes)
        gap = gap[np.isfinite(gap)]
        return len(gap) > 0 and bool(np.ptp(gap) < 1e-7)


def check_density(family, dimension, is_consistent):
    """Check the density of a family.

    Parameters
    ----------
    family : ibpcl.verify.distributions.families.Family
        The functions of one distribution, with sets of parameters.
    dimension : int
        Dimension of the random variable.
    is_consistent : callable
        ``is_consistent(truths)`` returns how many other functions of the family agree with a
        density.

    Returns
    -------
    known : Known
        The density, with a verdict if it was checked.
    """
    return Check(family, dimension, is_consistent).run()


def _is_wider(support, other, point):
    a = at(support, point)
    b = at(other, point)
    return a.discrete == b.discrete and a.low <= b.low and a.high >= b.high and a != b


def _by_values(mended, probes):
    """Return (fit, truths) in groups of the same mended density."""
    groups = []
    for fit, truths in mended:
        values = truths[0].log_density(probes)
        for group in groups:
            if alike([group[0][1][0].log_density(probes), values]):
                group.append((fit, truths))
                break
        else:
            groups.append([(fit, truths)])
    return groups


# Transformed variables whose density is often given for that of x: name, cure, log of the
# derivative, and the range of x.
CHANGES = (
    ("log x", "subtract log x", lambda x: -np.log(x), (0.0, np.inf)),
    (
        "log(x / (1 - x))",
        "subtract log x and log(1 - x)",
        lambda x: -np.log(x) - np.log1p(-x),
        (0.0, 1.0),
    ),
)


def _of_another_variable(truths):
    """Return the densities of x and a sentence if the given ones are of log x or its log-odds."""
    for of, cure, log_slope, (low, high) in CHANGES:
        if truths[0].support.low < low or truths[0].support.high > high:
            continue
        found = []
        for truth in truths:

            def log_density(x, given=truth.log_density, log_slope=log_slope):
                return given(x) + log_slope(x)

            found.append(truth_of(log_density, truth.support, adapt=False))
        if is_one(np.array([truth.total for truth in found])):
            return found, f"it is the density of {of}, so {cure}"
    return None


def _shown(totals, family):
    if np.ptp(totals) <= 1e-6 * np.abs(totals).max():
        return f"{totals[0]:.6g}"
    point = ", ".join(
        f"{name} = {value:g}" for name, value in family.points[0].items() if np.ndim(value) == 0
    )
    return f"{totals[0]:.6g} at {point}" if point else f"{totals[0]:.6g}"


def _not_finite(truths, family):
    """Return a sentence about NaN inside the mass of a density; empty without NaN."""
    for truth, point in zip(truths, family.points, strict=True):
        probes = truth.points_at(PROBES)
        values = truth.log_density(probes)
        if np.any(np.isnan(values)):
            at = probes[np.flatnonzero(np.isnan(values))[0]]
            shown = ", ".join(f"{key} = {value}" for key, value in point.items())
            return f"it is NaN at {at} for {shown}, where the distribution has mass"
    return ""
