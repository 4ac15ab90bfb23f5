"""The distance of a sampler from a distribution: exact if it takes its noise, else by its draws.

A draw that is a monotone function of one noise variable is compared without statistics: the
distribution function of the draw must equal that of the noise.  All others are compared by the
means of a few bounded functions of a draw.
"""

from typing import NamedTuple

import numpy as np

from ibpcl.verify.distributions import noise as noises
from ibpcl.verify.distributions.averages import average
from ibpcl.verify.distributions.calls import CallError, real
from ibpcl.verify.distributions.comparing import passed, undecided, wrong
from ibpcl.verify.distributions.parameters import shown
from ibpcl.verify.distributions.repair import exchanged, fits_of

MANY = 1_200_000  # draws over all sets of parameters, of a sampler that returns many at once
ENOUGH = 600_000  # draws that show a shift or a scale that is off by one per cent
SCREENED = 2_000  # draws that reject most of the changed samplers
STATISTIC = 1e-5  # probability of a false alarm of one test
STEPS = np.linspace(0.03, 0.97, 16)  # levels of the smooth steps whose means are compared
STATES = 30  # most likely integers whose probabilities are compared
DIRECTIONS = 6  # random directions of a vector along which waves are compared
# Directions of functions whose variance is smaller than this share of the largest are left out.
DISTINCT = {1: 1e-5, 2: 1e-2, 3: 5e-2}


class Distance(NamedTuple):
    """Distance of a sampler from a distribution at one set of parameters.

    Attributes
    ----------
    ok : bool
        True if it is within the tolerance of the test.
    words : str
        The distance as a sentence.
    d : float
        The largest gap.
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


def sampler(model, part):
    """Compare draws with the distribution, exactly if the sampler takes its noise.

    Parameters
    ----------
    model : ibpcl.verify.distributions.model.Model
        With its densities.
    part : ibpcl.verify.distributions.reading.Part
        The sampler.

    Returns
    -------
    outcome : ibpcl.verify.distributions.comparing.Outcome
        Undecided if the draws are too few to show an error of one per cent.
    """
    noise = noises.noise_of(part, model.sets[0])

    def distances(function=None, size=0, sets=model.sets):
        pairs = zip(model.densities, sets, strict=True)
        return (distance(model, part, noise, *pair, function, size) for pair in pairs)

    def is_right(function=None):
        return all(each.ok for each in distances(function, SCREENED))

    found = list(distances())
    bad = [each for each in found if not each.ok]
    if not bad:
        return _passed(part, found)

    def name():
        # a change that a few draws do not reject is a name only if they reject the sampler itself
        if bad[0].draws and is_right():
            return None
        for slip, changed in exchanged(model.sets):
            if all(each.ok for each in distances(sets=changed)):
                return slip
        few = model.having(sets=model.sets[:1])
        fits = fits_of(
            part.function,
            lambda function: noises.draws_of(few, part, noise, few.sets[0], function, SCREENED),
            is_right,
            cost=_cost(noise, model),
        )
        return fits[0].slip if fits else None

    words = f"{bad[0].words} at {shown(model.sets[found.index(bad[0])])}"
    numbers = {"distance": [each.d for each in found]}
    return wrong(part, words, bad[0].kind, numbers, name)


def _passed(part, found):
    """Return the outcome of a sampler that passes the test at each set of parameters."""
    from scipy.special import chdtrc  # the checker in the browser starts without it

    tested = sum(each.draws for each in found)
    numbers = {"distance": [each.d for each in found]}
    freedom = sum(each.freedom for each in found)
    p = float(chdtrc(freedom, sum(each.statistic for each in found))) if freedom else 1.0
    if p < STATISTIC:
        words = f"{tested} draws at {len(found)} sets of parameters do not follow it, p = {p:.1g}"
        return wrong(part, words, "sampler", numbers)
    words = found[0].words if len(found) == 1 else f"{found[0].words}, the first of {len(found)}"
    if not 0 < tested < ENOUGH:
        return passed(part, words, numbers)
    words += (
        f"; {tested} draws do not show an error below {np.sqrt(ENOUGH / tested) / 100:.0%}: take "
        "the noise, such as u or eps, as an argument, or a generator and a size"
    )
    return undecided(part, words, numbers)


def _cost(noise, model):
    """Return the cost of one try of a changed sampler, in expressions."""
    if not noise.is_single:
        return 500
    if model.is_discrete:
        return 600
    return 800 if model.is_rough else 150


def distance(model, part, noise, density, values, function=None, size=0):
    """Return the distance of a sampler from a density.

    Parameters
    ----------
    model : ibpcl.verify.distributions.model.Model
        The distribution.
    part : ibpcl.verify.distributions.reading.Part
        The sampler.
    noise : ibpcl.verify.distributions.noise.Noise
        Its noise.
    density : ibpcl.verify.distributions.quadrature.Density
        The density.
    values : dict of str to object
        Parameters by name.
    function : callable, optional
        Changed version of the sampler.
    size : int
        With a size, only so many draws are tested first, and a distance that they show is final.

    Returns
    -------
    distance : Distance
        Exact where the noise is an argument.
    """
    sampler = model.of_noise(part, values, function)

    def drawn(**given):
        with np.errstate(all="ignore"):
            return noises.called(sampler, given)

    def tested(count):
        draws = noises.draws_of(model, part, noise, values, function, size=count)
        return _astray(draws, density) or _by_draws(draws, density)

    exact = None
    if density.dimension > 1:
        exact = _affine(drawn, noise, density)
    elif noise.is_single and not density.support.discrete:
        exact = _by_levels(drawn, noise, density)
    if exact is None and noise.is_integrable and density.dimension == 1:
        few = tested(SCREENED)
        if not few.ok and (size or few.kind != "sampler"):
            return few
        exact = _by_averages(lambda **given: real(sampler(**given)), noise, density)
    return exact or tested(max(size or MANY // len(model.sets), noises.DRAWS))


def _astray(draws, density):
    """Return the distance of draws that are not finite or outside the support; else None."""
    d = density.dimension
    if draws.shape[1:] != ((d,) if d > 1 else ()):
        expected = f"(N, {d})" if d > 1 else "(N,)"
        raise CallError(f"it returns shape {draws.shape}, expected draws {expected}")
    if not np.all(np.isfinite(draws)):
        words = f"{np.sum(~np.isfinite(draws))} of {draws.size} draws are not finite"
        return Distance(False, words, np.inf, "non_finite")
    support = density.support
    slack = 0.0 if support.is_bounded else 1e-9
    astray = draws < support.low - slack * (1 + abs(support.low))
    astray |= draws > support.high + slack * (1 + abs(support.high))
    if support.discrete:
        astray |= draws != np.round(draws)
    if d > 1 or not np.any(astray):
        return None
    words = f"a draw {draws[np.argmax(astray)]:.4g} lies outside the support {support}"
    return Distance(False, words, np.inf, "outside")


def _by_levels(drawn, noise, density):
    """Compare the distribution function at draws from fixed noise with the levels of the noise."""
    name, kind = next(iter(noise.kinds.items()))
    x = drawn(**{name: noises.quantile_of(kind, noises.LEVELS)})
    trouble = _astray(x, density)
    if trouble is not None:
        return trouble
    steps = np.diff(x)
    if not (np.all(steps > 0) or np.all(steps < 0)):
        return None  # not monotone in its noise
    rising = steps[0] > 0
    levels = noises.LEVELS if rising else 1 - noises.LEVELS[::-1]
    found = density.cdf(x if rising else x[::-1])
    labels = [f"the distribution function of the draw {each:.4g}" for each in np.sort(x)]
    return _exactly(found, levels, density.tolerance, labels)


def _affine(drawn, noise, density):
    """Compare the density of vectors mu + A eps with that of normal noise; None for others."""
    d = density.dimension
    if list(noise.kinds.values()) != ["normal"] or noise.generator or density.support.simplex:
        return None
    eps = np.random.default_rng(0).normal(size=(40, d))
    given = np.concatenate([np.zeros((1, d)), np.eye(d), eps])
    found = drawn(**{next(iter(noise.kinds)): given})
    if found.shape != given.shape:
        raise CallError(f"it returns shape {found.shape[1:]} for noise of shape ({d},)")
    steps = found[1 : d + 1] - found[0]
    x = found[d + 1 :]
    if not np.allclose(x, found[0] + eps @ steps, rtol=1e-9):
        return None
    log_det = np.linalg.slogdet(steps)[1]
    right = -0.5 * (np.sum(eps**2, axis=1) + d * np.log(2 * np.pi)) - log_det
    labels = [f"the log density of a normal draw {np.round(each, 3)}" for each in x]
    tolerance = density.tolerance + 10 * density.error
    return _exactly(density.log_at(x), right, tolerance, labels)


def _by_averages(of_noise, noise, density):
    """Compare means over the noise; None if their integrals are not exact enough."""
    labels, functions = _functions(density)
    right = np.array([density.expect(row)[0] for row in functions(density.nodes.x)])
    found = average(lambda **given: functions(of_noise(**given)), noise.kinds)
    if not np.all(found.error <= density.tolerance):
        return None
    return _exactly(found.mean, right, density.tolerance + 3 * found.error, labels)


def _exactly(found, right, tolerance, labels):
    """Return the distance of numbers from right ones."""
    gap = np.abs(found - right)
    at = int(np.argmax(np.where(np.isfinite(gap), gap, np.inf)))
    d = float(gap[at])
    if np.all(gap <= tolerance):
        return Distance(True, f"follows the density to {max(d, 1e-16):.0e}", d)
    return Distance(False, f"{labels[at]} is {found[at]:.6g}, expected {right[at]:.6g}", d)


def _by_draws(draws, density):
    """Compare means over draws by a chi-square test."""
    from scipy.special import chdtrc  # the checker in the browser starts without it

    labels, functions = _functions(density)
    at_nodes = functions(density.nodes.x)
    right = np.array([density.expect(row)[0] for row in at_nodes])
    mass = np.nan_to_num(density.p * density.nodes.weights, posinf=0.0)
    covariance = (at_nodes * mass) @ at_nodes.T - np.outer(right, right)
    variances, axes = np.linalg.eigh(covariance)
    kept = variances > DISTINCT[density.dimension] * variances[-1]
    found = np.mean(functions(draws), axis=1)
    size = len(draws)
    statistic = float(size * np.sum((axes[:, kept].T @ (found - right)) ** 2 / variances[kept]))
    freedom = int(np.sum(kept))
    p = float(chdtrc(freedom, statistic))
    words = f"chi-square {statistic:.4g} with {freedom} functions of {size} draws, p = {p:.2g}"
    at = int(np.argmax(np.abs(found - right) / np.sqrt(np.diag(covariance) + 1e-300)))
    if p < STATISTIC:
        words = f"{labels[at]} is {found[at]:.4g}, expected {right[at]:.4g}; {words}"
    d = float(np.max(np.abs(found - right)))
    return Distance(p >= STATISTIC, words, d, "sampler", size, statistic, freedom)


def _functions(density):
    """Return bounded functions of a draw, as one function to rows (K, N), and their labels."""
    from scipy.special import expit  # the checker in the browser starts without it

    if density.dimension > 1:
        rng = np.random.default_rng(0)
        random = rng.normal(size=(DIRECTIONS, density.dimension))
        directions = np.concatenate([np.eye(density.dimension), random]) / density.scale

        def waves(x):
            angles = directions @ (x - density.center).T
            return np.concatenate([np.sin(angles), np.cos(angles)])

        return [f"the mean of wave {k + 1}" for k in range(2 * len(directions))], waves
    if density.support.discrete:
        likely = np.sort(np.argsort(density.p * density.nodes.weights)[-STATES:])
        states = density.nodes.x[likely]
        labels = [f"the probability of {state:g}" for state in states]
        return labels, lambda x: (x == states[:, None]) * 1.0
    steps = density.points_at(STEPS)
    width = (steps[-1] - steps[0]) / (2 * len(STEPS))
    labels = [f"the share of draws below about {step:.4g}" for step in steps]
    return labels, lambda x: expit((steps[:, None] - x) / width)
