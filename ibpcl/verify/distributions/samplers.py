"""Checks of samplers, distribution functions and quantiles against a density."""

from functools import partial
from itertools import combinations, islice
from typing import NamedTuple

import numpy as np

from ibpcl.codeview.search import affordable
from ibpcl.verify.distributions import noise as noises
from ibpcl.verify.distributions.averages import average
from ibpcl.verify.distributions.calling import CallError, real
from ibpcl.verify.distributions.mending import SECONDS, fits_of
from ibpcl.verify.distributions.slips import Slip, agree, explain
from ibpcl.verify.distributions.verdicts import ForwardVerdict

EXACT = 1e-6  # between values of a distribution function
STATISTIC = 1e-5  # probability of a false alarm of one test
MANY = 1_200_000  # draws over all sets of parameters, of a sampler that returns many at once
ENOUGH = 600_000  # draws that show a shift or a scale that is off by one per cent
SCREENED = 2_000  # draws that reject most of the changed samplers
STEPS = (0.05, 0.2, 0.4, 0.6, 0.8, 0.95)  # levels of the steps whose means are compared
STATES = 30  # most likely integers whose probabilities are compared
POLYNOMIALS = 4
# Levels of a discrete quantile function: beside those of the distribution function, and not in
# either tail.
BESIDE = 1e-6
EDGE = 1e-3
KNOTS = 400  # order statistics at which a distribution function is evaluated
SAMPLES = 1_000_000  # draws that replace a missing density
VISIBLE = 0.01  # largest error of a right moment of draws, relative to the deviation
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
    draws : int
        Number of draws that were tested; 0 if the distance is exact.
    statistic : float
        Chi-square statistic of the draws.
    freedom : int
        Its degrees of freedom.
    """

    ok: bool
    words: str
    d: float
    kind: str = "sampler"
    draws: int = 0
    statistic: float = 0.0
    freedom: int = 0


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
    family : ibpcl.verify.distributions.families.Family
        The functions of one distribution, with sets of parameters.
    truths : list of ibpcl.verify.distributions.truth.Truth
        The density at each point.
    part : ibpcl.verify.distributions.roles.Part
        The sampler.

    Returns
    -------
    verdict : ibpcl.verify.distributions.verdicts.ForwardVerdict
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
            _distance(family, part, noise, truth, point, function, change, SCREENED)
            for truth, point in zip(among, every or family.points, strict=False)
        )

    found = [
        _distance(family, part, noise, truth, point)
        for truth, point in zip(truths, family.points, strict=True)
    ]
    bad = [each for each in found if not each.ok]
    numbers = {"distance": [each.d for each in found]}
    draws = sum(each.draws for each in found)
    if not bad and draws:
        from scipy.special import chdtrc

        freedom = sum(each.freedom for each in found)
        p = float(chdtrc(freedom, sum(each.statistic for each in found))) if freedom else 1.0
        if p < STATISTIC:
            words = (
                f"{draws} draws at {len(found)} sets of parameters do not follow it, p = {p:.1g}"
            )
            return ForwardVerdict(part.name, "wrong", words, "sampler", numbers)
    if not bad:
        words = (
            found[0].words if len(found) == 1 else f"{found[0].words}, the first of {len(found)}"
        )
        if 0 < draws < ENOUGH:
            words += (
                f"; {draws} draws do not show an error below {np.sqrt(ENOUGH / draws) / 100:.0%}: "
                "take the noise, such as u or eps, as an argument, or a generator and a size"
            )
            return ForwardVerdict(part.name, "undecided", words, "undecided", numbers)
        return ForwardVerdict(part.name, "ok", words, "ok", numbers)
    at = found.index(bad[0])
    plain = f"{bad[0].words} at {_point_words(family.points[at])}"
    # a change that a few draws do not reject is a name only if they reject the sampler itself
    nameable = not draws or not all(each.ok for each in fits())
    slip = _named_sampler(family, truths, part, noise, fits) if nameable else None
    if slip is None:
        return ForwardVerdict(part.name, "wrong", plain, bad[0].kind, numbers)
    return ForwardVerdict(part.name, "wrong", f"{slip.words} ({plain})", slip.kind, numbers)


def fits_sampler(family, truths, part):
    """Return whether the draws of a sampler follow a density; a wrong one gets no name.

    Parameters
    ----------
    family : ibpcl.verify.distributions.families.Family
        The functions of one distribution, with sets of parameters.
    truths : list of ibpcl.verify.distributions.truth.Truth
        The density at each point.
    part : ibpcl.verify.distributions.roles.Part
        The function with its role.

    Returns
    -------
    fits : bool
        Whether the draws follow the density.
    """
    noise = noises.noise_of(part, family.parameters)
    return all(
        _distance(family, part, noise, truth, point, size=noises.DRAWS).ok
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
    point = family.points[0]
    found = fits_of(
        part.function,
        # most changes are rejected by few draws
        lambda function: noises.draws_of(family, part, noise, point, function, size=SCREENED),
        lambda function: all(each.ok for each in fits(function)),
        most=1,
        cost=_cost(noise, truths[0]),
    )
    return (
        Slip(found[0].kind if found[0].kind in NAMED else "edit", found[0].words) if found else None
    )


def _cost(noise, truth):
    """Return the cost of one try of a changed sampler, in expressions."""
    if not noise.is_single:
        return 1_500
    if truth.support.discrete:
        return 600
    return 800 if truth.is_rough else 150


def _distance(family, part, noise, truth, point, function=None, change=None, size=0):
    """Return the :class:`Distance` of a sampler, or of a function ``change`` of its draws.

    With a ``size``, only so many draws are tested first, and a distance that they show is final.
    """
    change = change or (lambda y: y)
    size_of_test = max(size or MANY // len(family.points), noises.DRAWS)
    if truth.nodes.x.ndim > 1:
        return _by_moments(family, part, noise, truth, point, function, change, size_of_test)
    if noise.is_single and not truth.support.discrete:
        exact = _exactly(family, part, noise, truth, point, function, change)
        if exact is not None:
            return exact
    if noise.is_integrable:
        tested = _by_test(family, part, noise, truth, point, function, change, SCREENED)
        if not tested.ok and (size or tested.kind != "sampler"):
            return tested
        exact = _by_averages(family, part, noise, truth, point, function, change)
        if exact is not None:
            return exact
    return _by_test(family, part, noise, truth, point, function, change, size_of_test)


def _by_test(family, part, noise, truth, point, function, change, size):
    """Return the distance of draws by a test."""
    draws = change(noises.draws_of(family, part, noise, point, function, size=size))
    if draws.ndim > 1:
        raise CallError(f"it returns shape {draws.shape}, expected draws (N,)")
    trouble = _outside(draws, truth)
    if trouble is not None:
        return trouble
    return _chi_square(draws, truth) if truth.support.discrete else _kolmogorov(draws, truth)


def _by_averages(family, part, noise, truth, point, function, change):
    """Compare means over the noise, exactly; None if the integrals are not exact enough.

    Of a mass function, these are the probabilities of the likely integers; of a density, the means
    of smooth steps.
    """
    if truth.support.discrete:
        mass = truth.p * truth.nodes.weights
        likely = np.sort(np.argsort(mass)[-STATES:])
        states = truth.nodes.x[likely]
        right = mass[likely]

        def of_draws(x):
            return np.stack([(x == state) * 1.0 for state in states])
    else:
        places = truth.points_at(STEPS)
        width = (places[-1] - places[0]) / (2 * len(STEPS))

        def of_draws(x):
            with np.errstate(all="ignore"):
                return np.stack([1 / (1 + np.exp((x - place) / width)) for place in places])

        right = np.array([truth.expect(row)[0] for row in of_draws(truth.nodes.x)])
        states = places
    bound = family.bound(part, point, function)
    options = {key: point[key] for key in part.names if key in point}

    def of_noise(**values):
        return of_draws(change(real(bound(**values))))

    found = average(of_noise, noise.kinds, options)
    if np.any(found.error > truth.tolerance):
        return None
    gap = np.abs(found.mean - right)
    at = int(np.argmax(gap))
    d = float(gap[at])
    words = f"follows the density to {max(d, 1e-16):.0e}"
    ok = d <= truth.tolerance + 3 * float(found.error[at])
    if not ok:
        below = "has the probability" if truth.support.discrete else "bounds draws with about"
        words = f"{states[at]:.4g} {below} {found.mean[at]:.6g} where {right[at]:.6g} belongs"
    return Distance(ok, words, d)


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
    """Return the distance by the test of Kolmogorov and Smirnov, and a smooth one of Neyman.

    The smooth test compares means of Legendre polynomials of the distribution function.
    ``scipy.stats.kstest`` takes a second to import.
    """
    from scipy.special import chdtrc, eval_legendre, kolmogorov

    size = len(draws)
    ordered = np.sort(draws)
    picked = np.unique(np.linspace(0, size - 1, KNOTS).astype(int))
    values = truth.rough_cdf(ordered[picked])
    d = float(
        np.max(np.maximum(np.abs(values - picked / size), np.abs(values - (picked + 1) / size)))
    )
    p = float(kolmogorov(np.sqrt(size) * d))
    words = f"Kolmogorov-Smirnov D = {d:.4f} over {size} draws, p = {p:.2g}"
    shares = 2 * truth.rough_cdf(draws) - 1
    means = [
        np.sqrt(2 * k + 1) * np.mean(eval_legendre(k, shares)) for k in range(1, POLYNOMIALS + 1)
    ]
    statistic = float(size * np.sum(np.square(means)))
    smooth = float(chdtrc(POLYNOMIALS, statistic))
    if smooth < p:
        words = f"chi-square {statistic:.4g} with {POLYNOMIALS} polynomials over {size} draws"
        words += f", p = {smooth:.2g}"
    ok = min(p, smooth) >= STATISTIC
    return Distance(ok, words, d, draws=size, statistic=statistic, freedom=POLYNOMIALS)


def _chi_square(draws, truth):
    """Return the distance by a chi-square test; ``scipy.stats`` takes a second to import."""
    from scipy.special import chdtrc

    size = len(draws)
    mass = truth.p * truth.nodes.weights
    expected = size * mass
    values, numbers = np.unique(draws, return_counts=True)
    at = np.searchsorted(values, truth.nodes.x)
    at = np.minimum(at, len(values) - 1)
    counts = np.where(values[at] == truth.nodes.x, numbers[at], 0)
    heavy = expected >= 5
    rest = np.sum(expected[~heavy]), np.sum(counts[~heavy])
    expected = np.append(expected[heavy], rest[0])
    counts = np.append(counts[heavy], rest[1])
    if expected[-1] < 5:
        expected = np.append(expected[:-2], expected[-2:].sum())
        counts = np.append(counts[:-2], counts[-2:].sum())
    statistic = float(np.sum((counts - expected) ** 2 / expected))
    freedom = max(len(expected) - 1, 1)
    p = float(chdtrc(freedom, statistic))
    words = (
        f"chi-square {statistic:.4g} with {freedom} degrees of freedom over {size} "
        f"draws, p = {p:.2g}"
    )
    ok = p >= STATISTIC
    return Distance(ok, words, statistic, draws=size, statistic=statistic, freedom=freedom)


def _by_moments(family, part, noise, truth, point, function, change, size):
    """Compare means, squares, products and the log density of draws with their expectations, in two
    or three dimensions.
    """
    draws = change(noises.draws_of(family, part, noise, point, function, size=size))
    d = truth.nodes.x.shape[1]
    if draws.ndim != 2 or draws.shape[1] != d:
        raise CallError(f"it returns shape {draws.shape}, expected draws (N, {d})")
    if not np.all(np.isfinite(draws)):
        return Distance(False, "some draws are not finite", np.inf, "non_finite")
    functions = {f"x{i + 1}": (lambda x, i=i: x[:, i]) for i in range(d)}
    for i in range(d):
        for j in range(i, d):
            functions[f"x{i + 1} x{j + 1}"] = lambda x, i=i, j=j: x[:, i] * x[:, j]
    functions["the log density"] = lambda x: np.asarray(truth.log_density(x), float)
    worst = (0.0, "")
    for name, each in functions.items():
        chosen = draws if name != "the log density" else draws[: noises.DRAWS]
        right, _ = truth.expect(each(truth.nodes.x))
        values = each(chosen)
        square, _ = truth.expect(each(truth.nodes.x) ** 2)
        error = float(np.sqrt(max(square - right**2, 0.0) / len(values)))
        away = abs(float(np.mean(values)) - right) / max(error, 1e-300)
        if not away <= worst[0]:
            worst = (away, f"the mean of {name} is {np.mean(values):.4g}, expected {right:.4g}")
    ok = worst[0] <= STANDARD_ERRORS
    words = f"moments agree within {worst[0]:.1f} standard errors"
    return Distance(ok, words if ok else worst[1], worst[0], draws=len(draws))


def _point_words(point):
    shown = [f"{key} = {value:g}" for key, value in point.items() if np.ndim(value) == 0]
    return ", ".join(shown) or "the given parameters"


class OfCdf(NamedTuple):
    """A function of the distribution function F.

    Attributes
    ----------
    of : callable
        Maps values of F to those of the function.
    slope : callable
        Maps values of F to the size of the derivative of ``of``.
    words : str
        Name of the function.
    """

    of: object
    slope: object
    words: str


# Functions of the distribution function by their role.
OF_CDF = {
    "cdf": OfCdf(lambda f: f, np.ones_like, "the integral of the density"),
    "survival": OfCdf(lambda f: 1 - f, np.ones_like, "1 minus the integral of the density"),
    "log_cdf": OfCdf(np.log, np.reciprocal, "the logarithm of the distribution function"),
    "log_survival": OfCdf(
        lambda f: np.log1p(-f), lambda f: 1 / (1 - f), "the logarithm of the survival function"
    ),
}


def check_cdf(family, truths, part):
    """Check a distribution function, or a function of it, against the integral of the density.

    Parameters
    ----------
    family : ibpcl.verify.distributions.families.Family
        The functions of one distribution, with sets of parameters.
    truths : list of ibpcl.verify.distributions.truth.Truth
        The density at each point.
    part : ibpcl.verify.distributions.roles.Part
        A function with a role of :data:`OF_CDF`.

    Returns
    -------
    verdict : ibpcl.verify.distributions.verdicts.ForwardVerdict
        The verdict with its reason.
    """
    form = OF_CDF[part.role]
    xs = [truth.points_at(noises.LEVELS) for truth in truths]
    shares = np.concatenate([truth.cdf(x) for truth, x in zip(truths, xs, strict=True)])
    with np.errstate(all="ignore"):
        right = form.of(shares)
        allowed = truths[0].tolerance * form.slope(shares)
    # the last integer of a finite support has no mass above it
    there = np.isfinite(right) & (np.isfinite(allowed))
    right = right[there]

    def values(function=None, every=None):
        return family.values_over(part, xs, function, every)[there]

    given = values()
    numbers = {"largest": float(np.max(np.abs(given - right)))}
    if agree(given, right, atol=allowed[there]):
        words = f"{form.words} to {numbers['largest']:.0e}"
        return ForwardVerdict(part.name, "ok", words, "ok", numbers)
    densities = np.concatenate(
        [np.exp(truth.log_density(x)) / truth.total for truth, x in zip(truths, xs, strict=True)]
    )
    with np.errstate(all="ignore"):
        others = {
            Slip("complement", "1 minus the distribution function: the other tail"): form.of(
                1 - shares
            ),
            Slip("other_quantity", "the density, not the distribution function"): densities,
        }
    others = {slip: each[there] for slip, each in others.items() if np.all(np.isfinite(each))}
    return compared(part, given, right, values, others, numbers, family.points)


def check_density_values(family, truths, part):
    """Check a density against another one, such as the derivative of a distribution function.

    Parameters
    ----------
    family : ibpcl.verify.distributions.families.Family
        The functions of one distribution, with sets of parameters.
    truths : list of ibpcl.verify.distributions.truth.Truth
        The right density at each point.
    part : ibpcl.verify.distributions.roles.Part
        A density or a log density.

    Returns
    -------
    verdict : ibpcl.verify.distributions.verdicts.ForwardVerdict
        The verdict with its reason.
    """
    xs = [truth.points_at(noises.LEVELS) for truth in truths]
    pairs = zip(truths, xs, strict=True)
    logs = [np.asarray(truth.log_density(x), float) - np.log(truth.total) for truth, x in pairs]
    right = np.concatenate(logs)
    if not part.role.startswith("log"):
        right = np.exp(right)
    values = partial(family.values_over, part, xs)
    given = values()
    numbers = {"largest": float(np.max(np.abs(given - right)))}
    if agree(given, right, atol=truths[0].tolerance):
        words = f"the density of the other functions to {numbers['largest']:.0e}"
        return ForwardVerdict(part.name, "ok", words, "ok", numbers)
    return compared(part, given, right, values, {}, numbers, family.points)


def check_quantile(family, truths, part):
    """Check a quantile function: the distribution function must map its values to the levels.

    An inverse of the survival function is the quantile function at 1 minus the level.

    Parameters
    ----------
    family : ibpcl.verify.distributions.families.Family
        The functions of one distribution, with sets of parameters.
    truths : list of ibpcl.verify.distributions.truth.Truth
        The density at each point.
    part : ibpcl.verify.distributions.roles.Part
        The quantile function.

    Returns
    -------
    verdict : ibpcl.verify.distributions.verdicts.ForwardVerdict
        The verdict with its reason.
    """
    levels = noises.LEVELS
    if truths[0].support.discrete:
        return _discrete_quantile(family, truths, part)
    wanted = 1 - levels if part.role == "inverse_survival" else levels

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
    right = np.tile(wanted, len(truths))
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
    """Check that each quantile is the smallest integer at which the level is reached.

    The levels lie a little below and above each value of the distribution function.
    """
    right = []
    grids = []
    for truth in truths:
        mass = np.cumsum(truth.p * truth.nodes.weights)
        steps = mass[(mass > EDGE) & (mass < 1 - EDGE)]
        levels = np.sort(np.concatenate([noises.LEVELS, steps - BESIDE, steps + BESIDE]))
        at = np.searchsorted(mass, levels)
        right.append(truth.nodes.x[np.minimum(at, len(mass) - 1)])
        grids.append(1 - levels if part.role == "inverse_survival" else levels)
    right = np.concatenate(right)
    values = partial(family.values_over, part, grids)
    given = values()
    if agree(given, right):
        return ForwardVerdict(part.name, "ok", "the inverse of the distribution function")
    return compared(part, given, right, values, {}, {}, family.points, "not_the_inverse")


def compared(part, given, right, values, others, numbers, every, kind="wrong", terms=None, cost=0):
    """Return the verdict on values that are not right, with a name where there is one.

    Parameters
    ----------
    part : ibpcl.verify.distributions.roles.Part
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
    verdict : ibpcl.verify.distributions.verdicts.ForwardVerdict
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
        for words, named, changed in islice(changed_points(every), affordable(SECONDS, cost)):
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
    """Check moments against the mean of a sampler over its noise if there is no density.

    Parameters
    ----------
    family : ibpcl.verify.distributions.families.Family
        With a sampler, which is taken as right.

    Returns
    -------
    verdicts : list of ibpcl.verify.distributions.verdicts.ForwardVerdict
        One verdict for each function.
    """
    sampler = family.parts["sample"]
    noise = noises.noise_of(sampler, family.parameters)
    moments = [_moments(family, sampler, noise, point) for point in family.points]
    family.notes.append(f"without a density, {sampler.name} was taken as right")
    return [
        _by_draws(family.parts[role], role, family.numbers(family.parts[role]), moments)
        for role in ("mean", "variance", "std")
        if role in family
    ]


def _moments(family, sampler, noise, point):
    """Return mean, variance and deviation of draws with their errors: {role: (value, error)}."""
    options = {key: point[key] for key in sampler.names if key in point}
    if noise.is_integrable:
        bound = family.bound(sampler, point)

        def powers(**values):
            x = real(bound(**values))
            return np.stack([x, x**2])

        found = average(powers, noise.kinds, options)
        mean, square = found.mean
        errors = found.error
        exact = True
    else:
        x = noises.draws_of(family, sampler, noise, point, size=SAMPLES)
        mean = float(np.mean(x))
        square = float(np.mean(x**2))
        spreads = np.array([np.std(x), np.std((x - mean) ** 2)])
        errors = STANDARD_ERRORS * spreads / np.sqrt(len(x))
        exact = False
    variance = square - mean**2
    deviation = np.sqrt(max(variance, 0.0))
    # the variance of exact moments has both errors; that of draws its own
    of_variance = errors[1] + 2 * abs(mean) * errors[0] if exact else errors[1]
    return {
        "mean": (mean, errors[0], deviation),
        "variance": (variance, of_variance, variance),
        "std": (deviation, of_variance / (2 * deviation) if deviation > 0 else np.inf, deviation),
    }


def _by_draws(part, role, given, moments):
    """Return the verdict on a moment by those of the draws at each point."""
    right, errors, scales = np.array([each[role] for each in moments]).T
    gaps = np.abs(given - right)
    numbers = {"given": given, "right": right, "error": errors}
    worst = int(np.argmax(np.where(np.isfinite(gaps), gaps - errors, np.inf)))
    if not np.all(gaps <= EXACT * np.abs(right) + errors):
        words = f"{given[worst]:.6g} where the draws have {right[worst]:.6g} +- {errors[worst]:.0e}"
        return ForwardVerdict(part.name, "wrong", words, "wrong", numbers)
    blind = float(np.max(errors / np.maximum(scales, 1e-300)))
    words = f"that of the draws to {float(np.max(errors)):.0e}"
    if not blind <= VISIBLE:
        words += f", which does not show an error below {blind:.0%} of the deviation: give a "
        words += "density, or let the sampler take its noise, such as u"
        return ForwardVerdict(part.name, "undecided", words, "undecided", numbers)
    return ForwardVerdict(part.name, "ok", words, "ok", numbers)
