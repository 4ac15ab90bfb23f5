"""The distance of a sampler from a distribution: exact if it takes its noise, else by tests.

A draw that is a monotone function of one noise variable is compared without statistics: the
distribution function of the draw must equal that of the noise.
"""

from typing import NamedTuple

import numpy as np

from ibpcl.verify.distributions import noise as noises
from ibpcl.verify.distributions.averages import average
from ibpcl.verify.distributions.calls import CallError, real
from ibpcl.verify.distributions.quadrature import STANDARD_ERRORS

MANY = 1_200_000  # draws over all sets of parameters, of a sampler that returns many at once
ENOUGH = 600_000  # draws that show a shift or a scale that is off by one per cent
SCREENED = 2_000  # draws that reject most of the changed samplers
STATISTIC = 1e-5  # probability of a false alarm of one test
STEPS = (0.05, 0.2, 0.4, 0.6, 0.8, 0.95)  # levels of the steps whose means are compared
STATES = 30  # most likely integers whose probabilities are compared
POLYNOMIALS = 4
KNOTS = 400  # order statistics at which a distribution function is evaluated
PROJECTIONS = 6  # random directions of a vector whose moments are compared


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


def distance(model, part, noise, density, values, function=None, change=None, size=0):
    """Return the distance of a sampler, or of a function of its draws, from a density.

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
    change : callable, optional
        Function of the draws.
    size : int
        With a size, only so many draws are tested first, and a distance that they show is final.

    Returns
    -------
    distance : Distance
        Exact where the noise is an argument.
    """
    change = change or (lambda y: y)
    many = max(size or MANY // len(model.sets), noises.DRAWS)

    def tested(count):
        draws = change(noises.draws_of(model, part, noise, values, function, size=count))
        if density.dimension > 1:
            return _by_moments(draws, density)
        if draws.ndim > 1:
            raise CallError(f"it returns shape {draws.shape}, expected draws (N,)")
        trouble = _outside(draws, density)
        if trouble is not None:
            return trouble
        return (
            _chi_square(draws, density) if density.support.discrete else _kolmogorov(draws, density)
        )

    if density.dimension > 1:
        exact = _affine(model, part, noise, density, values, function, change)
        return tested(many) if exact is None else exact
    if noise.is_single and not density.support.discrete:
        exact = _exactly(model, part, noise, density, values, function, change)
        if exact is not None:
            return exact
    if noise.is_integrable:
        few = tested(SCREENED)
        if not few.ok and (size or few.kind != "sampler"):
            return few
        exact = _by_averages(model, part, noise, density, values, function, change)
        if exact is not None:
            return exact
    return tested(many)


def _by_averages(model, part, noise, density, values, function, change):
    """Compare means over the noise, exactly; None if the integrals are not exact enough.

    Of a mass function, these are the probabilities of the likely integers; of a density, the means
    of smooth steps.
    """
    if density.support.discrete:
        mass = density.p * density.nodes.weights
        likely = np.sort(np.argsort(mass)[-STATES:])
        states = density.nodes.x[likely]
        right = mass[likely]

        def of_draws(x):
            return np.stack([(x == state) * 1.0 for state in states])
    else:
        states = density.points_at(STEPS)
        width = (states[-1] - states[0]) / (2 * len(STEPS))

        def of_draws(x):
            with np.errstate(all="ignore"):
                return np.stack([1 / (1 + np.exp((x - state) / width)) for state in states])

        right = np.array([density.expect(row)[0] for row in of_draws(density.nodes.x)])
    sampler = model.of_noise(part, values, function)

    def of_noise(**given):
        return of_draws(change(real(sampler(**given))))

    found = average(of_noise, noise.kinds)
    if np.any(found.error > density.tolerance):
        return None
    gap = np.abs(found.mean - right)
    at = int(np.argmax(gap))
    d = float(gap[at])
    if d <= density.tolerance + 3 * float(found.error[at]):
        return Distance(True, f"follows the density to {max(d, 1e-16):.0e}", d)
    has = "has the probability" if density.support.discrete else "bounds draws with about"
    words = f"{states[at]:.4g} {has} {found.mean[at]:.6g} where {right[at]:.6g} belongs"
    return Distance(False, words, d)


def _exactly(model, part, noise, density, values, function, change):
    """Compare the distribution function at draws from fixed noise with the levels of the noise."""
    name, kind = next(iter(noise.kinds.items()))
    given = noises.quantile_of(kind, noises.LEVELS)
    sampler = model.of_noise(part, values, function)
    x = noises.called(sampler, {name: given})
    if x.shape != noises.LEVELS.shape:
        raise CallError(f"it returns shape {x.shape} for noise of shape {given.shape}")
    with np.errstate(all="ignore"):
        x = change(x)
    trouble = _outside(x, density)
    if trouble is not None:
        return trouble
    steps = np.diff(x)
    if not (np.all(steps > 0) or np.all(steps < 0)):
        return None  # not monotone in its noise, so its distribution is tested
    rising = steps[0] > 0
    levels = noises.LEVELS if rising else 1 - noises.LEVELS[::-1]
    got = density.cdf(x if rising else x[::-1])
    d = float(np.max(np.abs(got - levels)))
    if d <= density.tolerance:
        return Distance(True, f"follows the density to {max(d, 1e-16):.0e}", d)
    words = f"a draw has distribution function {got[4]:.4g} where {levels[4]:.4g} belongs"
    return Distance(False, words, d)


def _outside(draws, density):
    """Return the distance of draws that are not finite or outside the support; else None."""
    if not np.all(np.isfinite(draws)):
        words = f"{np.sum(~np.isfinite(draws))} of {draws.size} draws are not finite"
        return Distance(False, words, np.inf, "non_finite")
    support = density.support
    slack = 0.0 if support.is_bounded else 1e-9
    astray = draws < support.low - slack * (1 + abs(support.low))
    astray |= draws > support.high + slack * (1 + abs(support.high))
    if support.discrete:
        astray |= draws != np.round(draws)
    if not np.any(astray):
        return None
    words = f"a draw {draws[np.argmax(astray)]:.4g} lies outside the support {support}"
    return Distance(False, words, np.inf, "outside")


def _kolmogorov(draws, density):
    """Return the distance by the test of Kolmogorov and Smirnov, and a smooth one of Neyman.

    The smooth test compares means of Legendre polynomials of the distribution function.
    ``scipy.stats.kstest`` takes a second to import.
    """
    from scipy.special import chdtrc, eval_legendre, kolmogorov

    size = len(draws)
    ordered = np.sort(draws)
    picked = np.unique(np.linspace(0, size - 1, KNOTS).astype(int))
    found = density.rough_cdf(ordered[picked])
    gaps = (np.abs(found - picked / size), np.abs(found - (picked + 1) / size))
    d = float(np.max(np.maximum(*gaps)))
    p = float(kolmogorov(np.sqrt(size) * d))
    words = f"Kolmogorov-Smirnov D = {d:.4f} over {size} draws, p = {p:.2g}"
    shares = 2 * density.rough_cdf(draws) - 1
    orders = range(1, POLYNOMIALS + 1)
    means = [np.sqrt(2 * k + 1) * np.mean(eval_legendre(k, shares)) for k in orders]
    statistic = float(size * np.sum(np.square(means)))
    smooth = float(chdtrc(POLYNOMIALS, statistic))
    if smooth < p:
        words = f"chi-square {statistic:.4g} with {POLYNOMIALS} polynomials over {size} draws"
        words += f", p = {smooth:.2g}"
    ok = min(p, smooth) >= STATISTIC
    return Distance(ok, words, d, "sampler", size, statistic, POLYNOMIALS)


def _chi_square(draws, density):
    """Return the distance by a chi-square test; ``scipy.stats`` takes a second to import."""
    from scipy.special import chdtrc

    size = len(draws)
    expected = size * density.p * density.nodes.weights
    values, numbers = np.unique(draws, return_counts=True)
    at = np.minimum(np.searchsorted(values, density.nodes.x), len(values) - 1)
    counts = np.where(values[at] == density.nodes.x, numbers[at], 0)
    heavy = expected >= 5
    expected = np.append(expected[heavy], np.sum(expected[~heavy]))
    counts = np.append(counts[heavy], np.sum(counts[~heavy]))
    if expected[-1] < 5:
        expected = np.append(expected[:-2], expected[-2:].sum())
        counts = np.append(counts[:-2], counts[-2:].sum())
    statistic = float(np.sum((counts - expected) ** 2 / expected))
    freedom = max(len(expected) - 1, 1)
    p = float(chdtrc(freedom, statistic))
    words = f"chi-square {statistic:.4g} with {freedom} degrees of freedom over {size} draws"
    ok = p >= STATISTIC
    return Distance(ok, f"{words}, p = {p:.2g}", statistic, "sampler", size, statistic, freedom)


def _affine(model, part, noise, density, values, function, change):
    """Compare vectors mu + A eps of normal noise with the density exactly; None for others."""
    d = density.dimension
    if list(noise.kinds.values()) != ["normal"] or noise.generator or density.support.simplex:
        return None
    probe = np.random.default_rng(0).normal(size=(1, d))
    rows = np.concatenate([np.zeros((1, d)), np.eye(d), probe])
    sampler = model.of_noise(part, values, function)
    found = change(noises.called(sampler, {next(iter(noise.kinds)): rows}))
    if found.shape != rows.shape:
        raise CallError(f"it returns shape {found.shape[1:]} for noise of shape ({d},)")
    mean = found[0]
    steps = found[1 : d + 1] - mean
    if not np.allclose(found[-1], mean + probe[0] @ steps, rtol=1e-9):
        return None
    covariance = steps.T @ steps
    x = density.points_at(np.linspace(0.03, 0.97, 41))
    sign, log_det = np.linalg.slogdet(covariance)
    if sign <= 0:
        return Distance(False, "its draws have a singular covariance", np.inf)
    squares = np.sum((x - mean) * np.linalg.solve(covariance, (x - mean).T).T, axis=1)
    gap = -0.5 * (squares + log_det + d * np.log(2 * np.pi)) - density.log_at(x)
    at = float(np.max(np.abs(gap)))
    if at <= density.tolerance + 10 * density.error:
        return Distance(True, f"follows the density to {max(at, 1e-16):.0e}", at)
    shown = np.array2string(covariance, precision=4).replace("\n", "")
    return Distance(False, f"its draws are normal with the covariance {shown}", at)


def _by_moments(draws, density):
    """Compare means, products, projections and the log density of draws with their expectations."""
    d = density.dimension
    if draws.ndim != 2 or draws.shape[1] != d:
        raise CallError(f"it returns shape {draws.shape}, expected draws (N, {d})")
    if not np.all(np.isfinite(draws)):
        return Distance(False, "some draws are not finite", np.inf, "non_finite")
    functions = {f"x{i + 1}": (lambda x, i=i: x[:, i]) for i in range(d)}
    for i in range(d):
        for j in range(i, d):
            functions[f"x{i + 1} x{j + 1}"] = lambda x, i=i, j=j: x[:, i] * x[:, j]
    rng = np.random.default_rng(0)
    for k in range(PROJECTIONS):
        direction = rng.normal(size=d)
        functions[f"the sine of projection {k}"] = lambda x, v=direction: np.sin(x @ v)
    functions["the log density"] = lambda x: np.asarray(density.log_density(x), float)
    worst = (0.0, "")
    for name, each in functions.items():
        chosen = draws if name != "the log density" else draws[: noises.DRAWS]
        at_nodes = each(density.nodes.x)
        right = density.expect(at_nodes)[0]
        square = density.expect(at_nodes**2)[0]
        if not np.isfinite(right) or not np.isfinite(square):
            continue
        found = float(np.mean(each(chosen)))
        error = float(np.sqrt(max(square - right**2, 0.0) / len(chosen)))
        away = abs(found - right) / max(error, 1e-300)
        if not away <= worst[0]:
            worst = (away, f"the mean of {name} is {found:.4g}, expected {right:.4g}")
    ok = worst[0] <= STANDARD_ERRORS
    words = f"moments agree within {worst[0]:.1f} standard errors"
    return Distance(ok, words if ok else worst[1], worst[0], "sampler", len(draws))
