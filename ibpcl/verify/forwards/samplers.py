"""Checks of samplers, distribution functions and quantiles against a density."""

from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ibpcl.verify.forwards import noise as noises
from ibpcl.verify.forwards.calling import CallError
from ibpcl.verify.forwards.mending import fits_of
from ibpcl.verify.forwards.slips import Slip, agree, explain
from ibpcl.verify.forwards.verdicts import ForwardVerdict

EXACT = 1e-6  # between values of a distribution function
STATISTIC = 1e-4  # probability of a false alarm
KNOTS = 400  # order statistics at which a distribution function is evaluated
SAMPLES = 100_000  # draws that replace a missing density
STANDARD_ERRORS = 5  # largest distance of a mean of draws that counts as right
# Functions of a draw x that samplers often return in its place: a name, how to get x back, and
# the kind of the slip.  SciPy is imported in functions only: the checker in the browser starts
# without it.
RESULTS = (
    ("the logarithm of {}", np.exp, "other_scale"),
    ("the exponential of {}", np.log, "other_scale"),
    ("the log-odds of {}", lambda y: 1 / (1 + np.exp(-y)), "other_scale"),
    ("the sigmoid of {}", lambda y: np.log(y) - np.log1p(-y), "other_scale"),
    ("the reciprocal of {}", np.reciprocal, "other_scale"),
    ("the square of {}", np.sqrt, "other_scale"),
    ("the square root of {}", np.square, "other_scale"),
    ("minus {}", np.negative, "sign"),
    ("1 minus {}", lambda y: 1 - y, "complement"),
    ("twice {}", lambda y: y / 2, "constant_factor"),
    ("half of {}", lambda y: y * 2, "constant_factor"),
)
# Functions of a parameter that are often used in its place.
SCALES = (
    ("1 / {0} in place of {0}", np.reciprocal, "parameter_scale"),
    (
        "the square root of {0} in place of {0}: a variance for a deviation",
        np.sqrt,
        "parameter_scale",
    ),
    ("the square of {0} in place of {0}: a deviation for a variance", np.square, "parameter_scale"),
    ("-{0} in place of {0}", np.negative, "sign"),
    ("1 - {0} in place of {0}", lambda v: 1 - v, "complement"),
    ("the exponential of {0} in place of {0}", np.exp, "parameter_scale"),
    ("the logarithm of {0} in place of {0}", np.log, "parameter_scale"),
    ("half of {0} in place of {0}", lambda v: v / 2, "constant_factor"),
    ("twice {0} in place of {0}", lambda v: 2 * v, "constant_factor"),
)
# Kinds of edits that a verdict keeps; all others become "edit".
NAMED = (
    "truncated",
    "sign",
    "complement",
    "exchanged",
    "parameter_scale",
    "constant_factor",
    "other_scale",
)
# Kinds of slips that state an amount; the place in the source is named as well.
AMOUNTS = ("sign", "constant_factor", "missing_term", "extra_term", "factor")


class Distance(NamedTuple):
    """Distance of a sampler from a distribution at one set of parameters.

    Attributes
    ----------
    ok : bool
        True if it is within the tolerance of the test.
    words : str
        The distance as a sentence.
    d : float
        The test statistic.
    kind : str
        Kind of the verdict if the distance is too large.
    """

    ok: bool
    words: str
    d: float
    kind: str = "sampler"


def changed_points(every):
    """Yield points whose parameters are exchanged or on another scale.

    Parameters
    ----------
    every : list of dict of str to object
        Sets of parameters.

    Yields
    ------
    words : str
        Sentence about a function that is right at these points.
    kind : str
    points : list of dict of str to object
    """
    names = [name for name, value in every[0].items() if np.ndim(value) == 0]
    for one, other in combinations(names, 2):
        changed = [{**point, one: point[other], other: point[one]} for point in every]
        yield f"it is right with {one} and {other} exchanged", "exchanged", changed
    for name in names:
        for words, change, kind in SCALES:
            with np.errstate(all="ignore"):
                changed = [{**point, name: float(change(float(point[name])))} for point in every]
            if all(np.isfinite(point[name]) for point in changed):
                yield f"it is right if it gets {words.format(name)}", kind, changed


def check_sampler(family, truths, part):
    """Check a sampler against a density.

    A draw that is a monotone function of one noise variable is checked without statistics: the
    distribution function of the draw must equal that of the noise.

    Parameters
    ----------
    family : ibpcl.verify.forwards.families.Family
        The functions of one distribution, with sets of parameters.
    truths : list of ibpcl.verify.forwards.truth.Truth
        The density at each point.
    part : ibpcl.verify.forwards.roles.Part
        The sampler.

    Returns
    -------
    verdict : ibpcl.verify.forwards.verdicts.ForwardVerdict
        The verdict with its reason.

    Raises
    ------
    CallError
        If the sampler cannot be called.
    """
    noise = noises.noise_of(part, family.parameters)
    if not noise.kinds and not noise.generator:
        family.notes.append(
            f"{part.name} draws its noise itself; with the noise as an argument, such as "
            f"{part.name}(u, ...), it is checked exactly"
        )

    def fits(function=None, every=None, change=None, among=truths):
        return (
            _distance(family, part, noise, truth, point, function, change)
            for truth, point in zip(among, every or family.points, strict=False)
        )

    found = list(fits())
    bad = [each for each in found if not each.ok]
    if not bad:
        words = (
            found[0].words if len(found) == 1 else f"{found[0].words}, the first of {len(found)}"
        )
        return ForwardVerdict(part.name, "ok", words, "ok", {"distance": [f.d for f in found]})
    at = found.index(bad[0])
    numbers = {"distance": [each.d for each in found]}
    plain = f"{bad[0].words} at {_point_words(family.points[at])}"
    slip = _named_sampler(family, truths, part, noise, fits)
    if slip is None:
        return ForwardVerdict(part.name, "wrong", plain, bad[0].kind, numbers)
    return ForwardVerdict(part.name, "wrong", f"{slip.words} ({plain})", slip.kind, numbers)


def fits_sampler(family, truths, part):
    """Return whether the draws of a sampler follow a density; a wrong one gets no name.

    Parameters
    ----------
    family : ibpcl.verify.forwards.families.Family
        The functions of one distribution, with sets of parameters.
    truths : list of ibpcl.verify.forwards.truth.Truth
        The density at each point.
    part : ibpcl.verify.forwards.roles.Part
        The function with its role.

    Returns
    -------
    fits : bool
        Whether the draws follow the density.
    """
    noise = noises.noise_of(part, family.parameters)
    return all(
        _distance(family, part, noise, truth, point, None, None).ok
        for truth, point in zip(truths, family.points, strict=True)
    )


def _named_sampler(family, truths, part, noise, fits):
    flat = truths[0].nodes.x.ndim == 1
    for words, change, kind in RESULTS if flat else ():
        with np.errstate(all="ignore"):
            if all(each.ok for each in fits(change=change)):
                return Slip(kind, f"it returns {words.format('a draw')}")
    for words, kind, every in changed_points(family.points):
        try:
            if all(each.ok for each in fits(every=every)):
                return Slip(kind, words)
        except CallError:
            continue
    found = fits_of(
        part.function,
        lambda function: list(fits(function, family.points[:1], among=truths[:1])),
        lambda function: all(each.ok for each in fits(function)),
        most=1,
        cost=1_500 if not noise.is_single else 800 if truths[0].is_rough else 150,
    )
    return (
        Slip(found[0].kind if found[0].kind in NAMED else "edit", found[0].words) if found else None
    )


def _distance(family, part, noise, truth, point, function, change):
    """Return the :class:`Distance` of a sampler, or of a function ``change`` of its draws."""
    change = change or (lambda y: y)
    if truth.nodes.x.ndim > 1:
        return _by_moments(family, part, noise, truth, point, function, change)
    if noise.is_single and not truth.support.discrete:
        exact = _exactly(family, part, noise, truth, point, function, change)
        if exact is not None:
            return exact
    draws = change(noises.draws_of(family, part, noise, point, function))
    if draws.ndim > 1:
        raise CallError(f"it returns shape {draws.shape}, expected draws (N,)")
    trouble = _outside(draws, truth)
    if trouble is not None:
        return trouble
    return _chi_square(draws, truth) if truth.support.discrete else _kolmogorov(draws, truth)


def _exactly(family, part, noise, truth, point, function, change):
    """Compare the distribution function at draws from fixed noise with the levels of the noise."""
    name, kind = next(iter(noise.kinds.items()))
    values = noises.quantile_of(kind, noises.LEVELS)
    bound = family.bound(part, point, function)
    options = {key: point[key] for key in part.names if key in point}
    x = noises.called(bound, {name: values}, options)
    if x.shape != noises.LEVELS.shape:
        raise CallError(f"it returns shape {x.shape} for noise of shape {values.shape}")
    with np.errstate(all="ignore"):
        x = change(x)
    trouble = _outside(x, truth)
    if trouble is not None:
        return trouble
    steps = np.diff(x)
    if not (np.all(steps > 0) or np.all(steps < 0)):
        return None  # not monotone in its noise, so its distribution is tested
    rising = steps[0] > 0
    levels = noises.LEVELS if rising else 1 - noises.LEVELS[::-1]
    got = truth.cdf(x if rising else x[::-1])
    d = float(np.max(np.abs(got - levels)))
    words = f"follows the density to {max(d, 1e-16):.0e}"
    if d > truth.tolerance:
        words = f"a draw has distribution function {got[4]:.4g} where {levels[4]:.4g} belongs"
    return Distance(d <= truth.tolerance, words, d)


def _outside(draws, truth):
    """Return the distance of draws that are not finite or outside the support; else None."""
    if not np.all(np.isfinite(draws)):
        words = f"{np.sum(~np.isfinite(draws))} of {draws.size} draws are not finite"
        return Distance(False, words, np.inf, "non_finite")
    low = truth.support.low
    high = truth.support.high
    astray = (draws < low - 1e-9 * (1 + abs(low))) | (draws > high + 1e-9 * (1 + abs(high)))
    if np.isfinite(low) and np.isfinite(high):
        astray = (draws < low) | (draws > high)
    if truth.support.discrete:
        astray |= draws != np.round(draws)
    if np.any(astray):
        at = draws[np.flatnonzero(astray)[0]]
        words = f"a draw {at:.4g} lies outside the support {truth.support}"
        return Distance(False, words, np.inf, "outside")
    return None


def _kolmogorov(draws, truth):
    """Return the distance by the test of Kolmogorov and Smirnov.

    ``scipy.stats.kstest`` takes a second to import.
    """
    from scipy.special import kolmogorov

    size = len(draws)
    ordered = np.sort(draws)
    picked = np.unique(np.linspace(0, size - 1, KNOTS).astype(int))
    values = truth.rough_cdf(ordered[picked])
    d = float(
        np.max(np.maximum(np.abs(values - picked / size), np.abs(values - (picked + 1) / size)))
    )
    p = float(kolmogorov(np.sqrt(size) * d))
    words = f"Kolmogorov-Smirnov D = {d:.4f} over {size} draws, p = {p:.2g}"
    return Distance(p >= STATISTIC, words, d)


def _chi_square(draws, truth):
    """Return the distance by a chi-square test; ``scipy.stats`` takes a second to import."""
    from scipy.special import chdtrc

    size = len(draws)
    mass = truth.p * truth.nodes.weights
    expected = size * mass
    counts = np.array([np.sum(draws == each) for each in truth.nodes.x])
    heavy = expected >= 5
    rest = np.sum(expected[~heavy]), np.sum(counts[~heavy])
    expected = np.append(expected[heavy], rest[0])
    counts = np.append(counts[heavy], rest[1])
    if expected[-1] < 5:
        expected = np.append(expected[:-2], expected[-2:].sum())
        counts = np.append(counts[:-2], counts[-2:].sum())
    statistic = float(np.sum((counts - expected) ** 2 / expected))
    p = float(chdtrc(max(len(expected) - 1, 1), statistic))
    words = (
        f"chi-square {statistic:.4g} with {len(expected) - 1} degrees of freedom over {size} "
        f"draws, p = {p:.2g}"
    )
    return Distance(p >= STATISTIC, words, statistic)


def _by_moments(family, part, noise, truth, point, function, change):
    """Compare means, squares and products of draws with their expectations, in two or three
    dimensions.
    """
    draws = change(noises.draws_of(family, part, noise, point, function))
    d = truth.nodes.x.shape[1]
    if draws.ndim != 2 or draws.shape[1] != d:
        raise CallError(f"it returns shape {draws.shape}, expected draws (N, {d})")
    if not np.all(np.isfinite(draws)):
        return Distance(False, "some draws are not finite", np.inf, "non_finite")
    worst = (0.0, "")
    functions = {f"x{i + 1}": (lambda x, i=i: x[:, i]) for i in range(d)}
    for i in range(d):
        for j in range(i, d):
            functions[f"x{i + 1} x{j + 1}"] = lambda x, i=i, j=j: x[:, i] * x[:, j]
    for name, each in functions.items():
        right, _ = truth.expect(each(truth.nodes.x))
        values = each(draws)
        square, _ = truth.expect(each(truth.nodes.x) ** 2)
        error = float(np.sqrt(max(square - right**2, 0.0) / len(values)))
        away = abs(float(np.mean(values)) - right) / max(error, 1e-300)
        if away > worst[0]:
            worst = (away, f"the mean of {name} is {np.mean(values):.4g}, expected {right:.4g}")
    ok = worst[0] <= STANDARD_ERRORS
    words = f"moments agree within {worst[0]:.1f} standard errors"
    return Distance(ok, words if ok else worst[1], worst[0])


def _point_words(point):
    shown = [f"{key} = {value:g}" for key, value in point.items() if np.ndim(value) == 0]
    return ", ".join(shown) or "the given parameters"


def check_cdf(family, truths, part):
    """Check a distribution function against the integral of the density.

    Parameters
    ----------
    family : ibpcl.verify.forwards.families.Family
        The functions of one distribution, with sets of parameters.
    truths : list of ibpcl.verify.forwards.truth.Truth
        The density at each point.
    part : ibpcl.verify.forwards.roles.Part
        The distribution function.

    Returns
    -------
    verdict : ibpcl.verify.forwards.verdicts.ForwardVerdict
        The verdict with its reason.
    """
    xs = [truth.points_at(noises.LEVELS) for truth in truths]
    right = np.concatenate([truth.cdf(x) for truth, x in zip(truths, xs, strict=True)])
    values = partial(family.values_over, part, xs)
    given = values()
    numbers = {"largest": float(np.max(np.abs(given - right)))}
    if agree(given, right, atol=truths[0].tolerance):
        return ForwardVerdict(
            part.name,
            "ok",
            f"the integral of the density to {numbers['largest']:.0e}",
            "ok",
            numbers,
        )

    densities = np.concatenate(
        [np.exp(truth.log_density(x)) / truth.total for truth, x in zip(truths, xs, strict=True)]
    )
    others = {
        Slip("complement", "1 minus the distribution function: the other tail"): 1 - right,
        Slip("other_quantity", "the density, not the distribution function"): densities,
    }
    return compared(part, given, right, values, others, numbers, family.points)


def check_quantile(family, truths, part):
    """Check a quantile function: the distribution function must map its values to the levels.

    Parameters
    ----------
    family : ibpcl.verify.forwards.families.Family
        The functions of one distribution, with sets of parameters.
    truths : list of ibpcl.verify.forwards.truth.Truth
        The density at each point.
    part : ibpcl.verify.forwards.roles.Part
        The quantile function.

    Returns
    -------
    verdict : ibpcl.verify.forwards.verdicts.ForwardVerdict
        The verdict with its reason.
    """
    levels = noises.LEVELS
    if truths[0].support.discrete:
        return _discrete_quantile(family, truths, part)

    def cdf_of(function=None, every=None, change=None):
        found = []
        for truth, point in zip(truths, every or family.points, strict=False):
            x = family.values_at(part, levels, point, function)
            x = x if change is None else change(x)
            if not np.all(np.isfinite(x)):
                return np.full(1, np.nan)
            order = np.argsort(x)
            back = np.empty(len(x))
            back[order] = truth.cdf(x[order])
            found.append(back)
        return np.concatenate(found)

    got = cdf_of()
    right = np.tile(levels, len(truths))
    numbers = {
        "largest": float(np.max(np.abs(got - right))) if got.shape == right.shape else np.nan
    }
    if agree(got, right, atol=truths[0].tolerance):
        return ForwardVerdict(
            part.name,
            "ok",
            f"the inverse of the distribution function to {numbers['largest']:.0e}",
            "ok",
            numbers,
        )
    if agree(got, 1 - right, atol=EXACT):
        words = "the quantile of 1 - u: the other tail"
        return ForwardVerdict(part.name, "wrong", words, "complement", numbers)
    for words, change, kind in RESULTS:
        with np.errstate(all="ignore"):
            if agree(cdf_of(change=change), right, atol=EXACT):
                words = f"it returns {words.format('the quantile')}"
                return ForwardVerdict(part.name, "wrong", words, kind, numbers)
    return compared(part, got, right, cdf_of, {}, numbers, family.points, "not_the_inverse")


def _discrete_quantile(family, truths, part):
    """Check that each quantile is the smallest integer at which the levels are reached."""
    levels = noises.LEVELS
    right = []
    for truth in truths:
        mass = np.cumsum(truth.p * truth.nodes.weights)
        at = np.searchsorted(mass, levels)
        right.append(truth.nodes.x[np.minimum(at, len(mass) - 1)])
    right = np.concatenate(right)
    values = partial(family.values_over, part, [levels] * len(truths))
    given = values()
    if agree(given, right):
        return ForwardVerdict(part.name, "ok", "the inverse of the distribution function")
    return compared(part, given, right, values, {}, {}, family.points, "not_the_inverse")


def compared(part, given, right, values, others, numbers, every, kind="wrong", terms=None, cost=0):
    """Return the verdict on values that are not right, with a name where there is one.

    Parameters
    ----------
    part : ibpcl.verify.forwards.roles.Part
        The function.
    given, right : ndarray, shape (N,)
        Values of the function, and the right ones.
    values : callable
        ``values(function, points)`` returns the values of a changed function, or of the same
        function at changed points.
    others : dict of Slip to ndarray, shape (N,)
        Other quantities that the function may have computed.
    numbers : dict
        Numbers for the verdict.
    every : list of dict
        The points.
    kind : str
        Kind of the verdict if the mistake has no name.
    terms : dict of str to ndarray, shape (N,), optional
        Known terms.
    cost : int
        Cost of ``values``, in expressions that take as long.

    Returns
    -------
    verdict : ibpcl.verify.forwards.verdicts.ForwardVerdict
        The verdict with its reason.
    """
    if not np.all(np.isfinite(given)):
        at = int(np.flatnonzero(~np.isfinite(given))[0])
        words = f"{given[at]} where {right[min(at, len(right) - 1)]:.6g} belongs"
        slip = _mended(part, values, right, cost)
        if slip is not None:
            return ForwardVerdict(part.name, "wrong", f"{words}: {slip.words}", slip.kind, numbers)
        return ForwardVerdict(part.name, "wrong", words, "non_finite", numbers)
    worst = int(np.argmax(np.abs(given - right)))
    plain = f"{given[worst]:.6g} where {right[worst]:.6g} belongs"
    slip = explain(given, right, terms, others, atol=EXACT * 1e-2)
    if slip is not None and slip.kind in AMOUNTS:
        edit = _mended(part, values, right, cost)
        words = f"{slip.words}: {edit.words}" if edit else slip.words
        return ForwardVerdict(part.name, "wrong", f"{words} ({plain})", slip.kind, numbers)
    if slip is None:
        for words, named, changed in changed_points(every):
            try:
                with np.errstate(all="ignore"):
                    if agree(values(None, changed), right, atol=EXACT):
                        slip = Slip(named, words)
                        break
            except (CallError, KeyError):
                continue
    slip = slip or _mended(part, values, right, cost)
    if slip is None:
        return ForwardVerdict(part.name, "wrong", plain, kind, numbers)
    return ForwardVerdict(part.name, "wrong", f"{slip.words} ({plain})", slip.kind, numbers)


def _mended(part, values, right, cost):
    """Return the slip of the edit that makes all values right; None without one."""
    found = fits_of(
        part.function,
        lambda function: values(function),
        lambda function: agree(values(function), right, atol=EXACT),
        most=1,
        cost=cost,
    )
    if not found:
        return None
    kind = found[0].kind if found[0].kind in NAMED else "edit"
    return Slip(kind, found[0].words)


def check_by_draws(family):
    """Check moments against the draws of a sampler if there is no density.

    Parameters
    ----------
    family : ibpcl.verify.forwards.families.Family
        With a sampler, which is taken as right.

    Returns
    -------
    verdicts : list of ibpcl.verify.forwards.verdicts.ForwardVerdict
        One verdict for each function.
    """
    sampler = family.parts["sample"]
    noise = noises.noise_of(sampler, family.parameters)
    draws = [
        noises.draws_of(family, sampler, noise, point, size=SAMPLES) for point in family.points
    ]
    family.notes.append(f"without a density, {sampler.name} was taken as right")
    return [
        _by_draws(family, family.parts[role], role, draws)
        for role in ("mean", "variance", "std")
        if role in family
    ]


def _by_draws(family, part, role, draws):
    """Return the verdict on a moment by the draws at each point."""
    given = family.numbers(part)
    worst = (0.0, 0.0, 0.0)
    for value, x in zip(given, draws, strict=True):
        mean = float(np.mean(x))
        deviations = (x - mean) ** 2
        right = {"mean": mean, "variance": np.mean(deviations), "std": np.std(x)}[role]
        error = np.std(x) if role == "mean" else np.std(deviations)
        error = float(error / np.sqrt(len(x)))
        if role == "std":
            error = error / (2 * right)
        away = abs(value - right) / max(error, 1e-300)
        if not away <= worst[0]:
            worst = (away, value, right)
    if worst[0] <= STANDARD_ERRORS:
        words = f"agrees with the draws within {worst[0]:.1f} standard errors"
        return ForwardVerdict(part.name, "ok", words)
    words = f"{worst[1]:.5g} where the draws have {worst[2]:.5g}"
    return ForwardVerdict(part.name, "wrong", words, "wrong")
