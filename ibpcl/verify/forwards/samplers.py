"""Check samplers, distribution functions and quantiles against a density."""

from itertools import combinations

import numpy as np

from ibpcl.verify.forwards import noise as noises
from ibpcl.verify.forwards.calling import CallError
from ibpcl.verify.forwards.mending import fits_of
from ibpcl.verify.forwards.slips import Slip, agree, explain
from ibpcl.verify.forwards.verdicts import ForwardVerdict

EXACT = 1e-6  # between values of a distribution function
STATISTIC = 1e-4  # probability of a false alarm
KNOTS = 400  # of the order statistics at which a distribution function is evaluated
# What a sampler may return in the place of a draw x: how x comes back from it, and what it is.
RESULTS = (
    ("the logarithm of a draw", np.exp, "other_scale"),
    ("the exponential of a draw", np.log, "other_scale"),
    ("the log-odds of a draw", lambda y: 1 / (1 + np.exp(-y)), "other_scale"),
    ("the sigmoid of a draw", lambda y: np.log(y) - np.log1p(-y), "other_scale"),
    ("the reciprocal of a draw", lambda y: 1 / y, "other_scale"),
    ("the square of a draw", np.sqrt, "other_scale"),
    ("the square root of a draw", np.square, "other_scale"),
    ("minus a draw", lambda y: -y, "sign"),
    ("1 minus a draw", lambda y: 1 - y, "complement"),
    ("twice a draw", lambda y: y / 2, "constant_factor"),
    ("half a draw", lambda y: y * 2, "constant_factor"),
)
# What a parameter may be in the place of what it is for the density.
SCALES = (
    ("1 / {0} in place of {0}", lambda v: 1 / v, "parameter_scale"),
    (
        "the square root of {0} in place of {0}: a variance for a deviation",
        np.sqrt,
        "parameter_scale",
    ),
    ("the square of {0} in place of {0}: a deviation for a variance", np.square, "parameter_scale"),
    ("-{0} in place of {0}", lambda v: -v, "sign"),
    ("1 - {0} in place of {0}", lambda v: 1 - v, "complement"),
    ("the exponential of {0} in place of {0}", np.exp, "parameter_scale"),
    ("the logarithm of {0} in place of {0}", np.log, "parameter_scale"),
    ("half of {0} in place of {0}", lambda v: v / 2, "constant_factor"),
    ("twice {0} in place of {0}", lambda v: 2 * v, "constant_factor"),
)


def changed_points(every):
    """Yield (words, kind, points) for parameters that are exchanged, or on another scale."""
    names = [name for name, value in every[0].items() if np.ndim(value) == 0]
    for one, other in combinations(names, 2):
        changed = [{**point, one: point[other], other: point[one]} for point in every]
        yield f"it is right with {one} and {other} exchanged", "exchanged", changed
    for name in names:
        for words, change, kind in SCALES:
            with np.errstate(all="ignore"):
                changed = [{**point, name: float(change(float(point[name])))} for point in every]
            if all(np.isfinite(point[name]) for point in changed):
                yield f"it is right for {words.format(name)}", kind, changed


def check_sampler(family, truths, part):
    """Check a sampler against the distribution functions of a density, exactly where it can be.

    Parameters
    ----------
    family : ibpcl.verify.forwards.families.Family
    truths : list of ibpcl.verify.forwards.truth.Truth
    part : ibpcl.verify.forwards.roles.Part

    Returns
    -------
    verdict : ForwardVerdict
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
    """Return whether draws follow a density at all points."""
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
                return Slip(kind, f"it returns {words}")
    for words, kind, every in changed_points(family.points):
        try:
            # a distribution that was drawn at other parameters has the right values at these
            if all(each.ok for each in fits(every=every)):
                undone = words.replace("it is right for ", "it is right if it gets ")
                return Slip(kind, undone)
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


NAMED = (
    "truncated",
    "sign",
    "complement",
    "exchanged",
    "parameter_scale",
    "constant_factor",
    "other_scale",
)


class _Distance:
    """How far a sampler is from a distribution: ``ok``, ``words``, ``kind`` and a number ``d``."""

    def __init__(self, ok, words, d, kind="sampler"):
        self.ok = ok
        self.words = words
        self.d = d
        self.kind = kind


def _distance(family, part, noise, truth, point, function, change):
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
    if trouble:
        return _Distance(
            False, trouble, np.inf, "outside" if "outside" in trouble else "non_finite"
        )
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
    if trouble:
        return _Distance(
            False, trouble, np.inf, "outside" if "outside" in trouble else "non_finite"
        )
    steps = np.diff(x)
    if not (np.all(steps > 0) or np.all(steps < 0)):
        return None  # not monotone in its noise: by its distribution
    rising = steps[0] > 0
    levels = noises.LEVELS if rising else 1 - noises.LEVELS[::-1]
    got = truth.cdf(x if rising else x[::-1])
    d = float(np.max(np.abs(got - levels)))
    words = f"follows the density to {max(d, 1e-16):.0e}"
    if d > truth.tolerance:
        words = f"a draw has distribution function {got[4]:.4g} where {levels[4]:.4g} belongs"
    return _Distance(d <= truth.tolerance, words, d)


def _outside(draws, truth):
    if not np.all(np.isfinite(draws)):
        return f"{np.sum(~np.isfinite(draws))} of {draws.size} draws are not finite"
    low = truth.support.low
    high = truth.support.high
    astray = (draws < low - 1e-9 * (1 + abs(low))) | (draws > high + 1e-9 * (1 + abs(high)))
    if np.isfinite(low) and np.isfinite(high):
        astray = (draws < low) | (draws > high)
    if truth.support.discrete:
        astray |= draws != np.round(draws)
    if np.any(astray):
        at = draws[np.flatnonzero(astray)[0]]
        return f"a draw {at:.4g} lies outside the support {truth.support}"
    return ""


def _kolmogorov(draws, truth):
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
    return _Distance(p >= STATISTIC, words, d)


def _chi_square(draws, truth):
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
    return _Distance(p >= STATISTIC, words, statistic)


def _by_moments(family, part, noise, truth, point, function, change):
    """Compare means, squares and products of draws with their expectations, in two or three
    dimensions.
    """
    draws = change(noises.draws_of(family, part, noise, point, function))
    d = truth.nodes.x.shape[1]
    if draws.ndim != 2 or draws.shape[1] != d:
        raise CallError(f"it returns shape {draws.shape}, expected draws (N, {d})")
    if not np.all(np.isfinite(draws)):
        return _Distance(False, "some draws are not finite", np.inf, "non_finite")
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
    ok = worst[0] <= 5
    words = f"moments agree within {worst[0]:.1f} standard errors"
    return _Distance(ok, words if ok else worst[1], worst[0])


def _point_words(point):
    shown = [f"{key} = {value:g}" for key, value in point.items() if np.ndim(value) == 0]
    return ", ".join(shown) or "the given parameters"


def check_cdf(family, truths, part):
    """Check a distribution function against the integral of the density."""
    right = []
    given = []
    xs = []
    for truth, point in zip(truths, family.points, strict=True):
        x = quantiles(truth)
        xs.append(x)
        right.append(truth.cdf(x))
        given.append(family.values_at(part, x, point))
    right = np.concatenate(right)
    given = np.concatenate(given)
    numbers = {"largest": float(np.max(np.abs(given - right)))}
    if agree(given, right, atol=truths[0].tolerance):
        return ForwardVerdict(
            part.name,
            "ok",
            f"the integral of the density to {numbers['largest']:.0e}",
            "ok",
            numbers,
        )

    def values(function=None, every=None):
        return np.concatenate(
            [
                family.values_at(part, x, point, function)
                for x, point in zip(xs, every or family.points, strict=False)
            ]
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
    """Check a quantile function: the distribution function of its values must be the levels."""
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
                words = f"it returns {words.replace('a draw', 'the quantile')}"
                return ForwardVerdict(part.name, "wrong", words, kind, numbers)
    return compared(part, got, right, cdf_of, {}, numbers, family.points, "not_the_inverse")


def _discrete_quantile(family, truths, part):
    """Check that a quantile is the smallest integer whose distribution function reaches a level."""
    given = []
    right = []
    for truth, point in zip(truths, family.points, strict=True):
        mass = np.cumsum(truth.p * truth.nodes.weights)
        levels = noises.LEVELS
        at = np.searchsorted(mass, levels)
        right.append(truth.nodes.x[np.minimum(at, len(mass) - 1)])
        given.append(family.values_at(part, levels, point))
    right = np.concatenate(right)
    given = np.concatenate(given)

    def values(function=None, every=None):
        return np.concatenate(
            [
                family.values_at(part, noises.LEVELS, point, function)
                for point in every or family.points
            ]
        )

    if agree(given, right):
        return ForwardVerdict(part.name, "ok", "the inverse of the distribution function")
    return compared(part, given, right, values, {}, {}, family.points, "not_the_inverse")


def quantiles(truth):
    """Return some points with mass, in increasing order."""
    mass = truth.p * truth.nodes.weights
    share = np.cumsum(np.where(np.isfinite(mass), mass, 0.0))
    at = np.searchsorted(share / share[-1], noises.LEVELS)
    return np.unique(truth.nodes.x[np.minimum(at, len(share) - 1)])


def compared(part, given, right, values, others, numbers, every, kind="wrong", terms=None, cost=0):
    """Return the verdict on values that are not right, with a name where there is one.

    Parameters
    ----------
    part : ibpcl.verify.forwards.roles.Part
    given, right : ndarray, shape (N,)
    values : callable
        ``values(function, points)`` returns what a changed function gives, or the same one at
        changed parameters.
    others : dict of Slip to ndarray
        Other quantities that may have been computed.
    numbers : dict
    every : list of dict
        The parameters at the points.
    kind : str
        Of the mistake, if it has no name.
    terms : dict of str to ndarray, optional
        Known terms.
    cost : int
        Of ``values``, in expressions that take as long.
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
    if slip is not None and slip.kind in (
        "sign",
        "constant_factor",
        "missing_term",
        "extra_term",
        "factor",
    ):
        # the place is better than the amount
        edit = _mended(part, values, right, cost)
        words = f"{slip.words}: {edit.words}" if edit else slip.words
        return ForwardVerdict(part.name, "wrong", f"{words} ({plain})", slip.kind, numbers)
    if slip is None:
        for words, named, changed in changed_points(every):
            try:
                with np.errstate(all="ignore"):
                    if agree(values(None, changed), right, atol=EXACT):
                        slip = Slip(
                            named, words.replace("it is right for", "it is right if it gets")
                        )
                        break
            except (CallError, KeyError):
                continue
    slip = slip or _mended(part, values, right, cost)
    if slip is None:
        return ForwardVerdict(part.name, "wrong", plain, kind, numbers)
    return ForwardVerdict(part.name, "wrong", f"{slip.words} ({plain})", slip.kind, numbers)


def _mended(part, values, right, cost):
    """Name the one edit of the source that makes all values right."""
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
