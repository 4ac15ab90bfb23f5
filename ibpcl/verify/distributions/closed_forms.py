"""Checks of closed forms against quadrature: moments, entropies, divergences, expectations."""

import re

import numpy as np

from ibpcl.verify.distributions import points
from ibpcl.verify.distributions.calling import CallError, quiet, real
from ibpcl.verify.distributions.samplers import compared
from ibpcl.verify.distributions.slips import Slip, agree
from ibpcl.verify.distributions.verdicts import ForwardVerdict

EXACT = 1e-6  # error that counts as right
LOOSE = 1e-4  # the same for a density with kinks or jumps
# Endings of parameters of q and of p.
FIRST = r"_?(q|post|posterior|1|a|new)"
SECOND = r"_?(p|prior|0|b|2|old)"


def _log(x):
    with np.errstate(all="ignore"):
        return np.log(x)


def entropy_of(truth):
    """Return the entropy of a density.

    Parameters
    ----------
    truth : ibpcl.verify.distributions.truth.Truth
        The density at one set of parameters.

    Returns
    -------
    entropy : float
        In nats; NaN if its integral does not converge.
    """
    log_p = truth.log_p - np.log(truth.total)
    value, error = truth.expect(np.where(np.isfinite(log_p), log_p, 0.0))
    return -value if truth.settles(value, error) else np.nan


def moments_of(truth):
    """Return moments and related quantities of a density.

    Parameters
    ----------
    truth : ibpcl.verify.distributions.truth.Truth
        In one dimension.

    Returns
    -------
    moments : dict of str to float
        NaN for moments that do not exist.
    """
    mean = truth.moment(lambda x: x)
    second = truth.moment(np.square)
    variance = truth.moment(lambda x: (x - mean) ** 2) if np.isfinite(second) else np.nan
    deviation = np.sqrt(variance)
    third = truth.moment(lambda x: ((x - mean) / deviation) ** 3)
    fourth = truth.moment(lambda x: ((x - mean) / deviation) ** 4)
    return {
        "mean": mean,
        "second": second,
        "variance": variance,
        "std": deviation,
        "skewness": third,
        "excess_kurtosis": fourth - 3,
        "entropy": entropy_of(truth),
        "log": truth.moment(_log) if truth.support.low >= 0 and truth.nodes.x.min() > 0 else np.nan,
        "inverse": truth.moment(lambda x: 1 / x) if truth.support.low >= 0 else np.nan,
        "mode": float(truth.nodes.x[np.argmax(truth.log_p)]),
    }


def _others(role, known):
    """Return quantities that are often computed in place of a given one, by slip."""
    with np.errstate(all="ignore"):
        every = {
            "mean": {
                "the second moment E[x^2]": known["second"],
                "the mean of log x": known["log"],
                "the exponential of the mean of log x": np.exp(known["log"]),
                "the mean of 1 / x": known["inverse"],
                "the mode": known["mode"],
                "the variance": known["variance"],
            },
            "variance": {
                "the standard deviation, not the variance": known["std"],
                "the second moment E[x^2]: the square of the mean is not subtracted": known[
                    "second"
                ],
                "one over the variance: the precision": 1 / known["variance"],
            },
            "std": {
                "the variance, not the standard deviation": known["variance"],
                "the root of the second moment": np.sqrt(known["second"]),
            },
            "entropy": {
                "the entropy of log x: the mean of log x is missing": known["entropy"]
                - known["log"],
                "the exponential of the entropy": np.exp(known["entropy"]),
            },
        }
    return {
        Slip("other_quantity", words): values
        for words, values in every.get(role, {}).items()
        if np.all(np.isfinite(values))
    }


def check_moment(family, truths, part):
    """Check a mean, a variance, a standard deviation or an entropy.

    Parameters
    ----------
    family : ibpcl.verify.distributions.families.Family
        The functions of one distribution, with sets of parameters.
    truths : list of ibpcl.verify.distributions.truth.Truth
        The density at each point.
    part : ibpcl.verify.distributions.roles.Part
        The closed form.

    Returns
    -------
    verdict : ibpcl.verify.distributions.verdicts.ForwardVerdict
        The verdict with its reason.
    """
    if truths[0].nodes.x.ndim > 1:
        return _in_dimensions(family, truths, part)
    known = [moments_of(truth) for truth in truths]
    columns = {key: np.array([each[key] for each in known]) for key in known[0]}
    right = columns[part.role]
    there = np.isfinite(right)
    given = family.numbers(part)
    if not np.any(there):
        if np.all(~np.isfinite(given)):
            return ForwardVerdict(
                part.name, "ok", f"the {part.role} does not exist, and it says so"
            )
        words = f"the {part.role} does not exist, or its integral does not converge"
        return ForwardVerdict(part.name, "undecided", words, "undecided")
    every = [point for point, keep in zip(family.points, there, strict=True) if keep]
    columns = {key: values[there] for key, values in columns.items()}

    def values(function=None, points_=None):
        return family.numbers(part, function, points_ or every)

    others = _others(part.role, columns)
    loose = any(truth.is_rough or truth.error > 1e-8 for truth in truths)
    return judged(part, every, right[there], values, others, "quadrature", loose)


def judged(part, every, right, values, others, witness, loose=False):
    """Return the verdict on a closed form whose right values are known.

    Parameters
    ----------
    part : ibpcl.verify.distributions.roles.Part
        The closed form.
    every : list of dict
        The N points.
    right : ndarray, shape (N,)
        The right values.
    values : callable
        ``values(function, points)`` returns the values of a changed closed form, or of the same
        one at changed points.
    others : dict of Slip to ndarray, shape (N,)
        Other quantities that the closed form may have computed.
    witness : str
        Method by which the right values were found.
    loose : bool
        Whether the right values are known to four digits only.

    Returns
    -------
    verdict : ibpcl.verify.distributions.verdicts.ForwardVerdict
        The verdict with its reason.
    """
    given = values()
    numbers = {"given": given, "right": right}
    exact = agree(given, right, atol=EXACT * 1e-2)
    if exact or (loose and agree(given, right, LOOSE, LOOSE)):
        worst = float(np.max(np.abs(given - right) / (1e-9 + np.abs(right))))
        sets = "" if len(right) == 1 else f" at {len(right)} sets of parameters"
        words = f"agrees with {witness} to {max(worst, 1e-16):.0e}{sets}"
        return ForwardVerdict(part.name, "ok", words, "ok", numbers)
    return compared(
        part, given, right, values, others, numbers, every, terms=points.terms_of(every)
    )


def _in_dimensions(family, truths, part):
    """Check a mean or a covariance in two or three dimensions."""
    right = []

    def of_point(point, function=None):
        options = family.matched(part, part.names, point)
        return real(quiet(family.bound(part, point, function), **options))

    def values(function=None, every=None):
        return np.concatenate([of_point(p, function).ravel() for p in every or family.points])

    for truth, point in zip(truths, family.points, strict=True):
        x = truth.nodes.x
        mean = np.array([truth.expect(x[:, i])[0] for i in range(x.shape[1])])
        value = of_point(point)
        if part.role == "mean":
            expected = mean
        elif part.role == "entropy":
            log_p = truth.log_p - np.log(truth.total)
            expected = np.array(-truth.expect(np.where(np.isfinite(log_p), log_p, 0.0))[0])
        else:
            c = x - mean
            expected = np.array(
                [
                    [truth.expect(c[:, i] * c[:, j])[0] for j in range(len(mean))]
                    for i in range(len(mean))
                ]
            )
            if value.ndim < 2:
                expected = np.diag(expected)
            if part.role == "std":
                expected = np.sqrt(expected)
        if value.shape != expected.shape:
            words = f"it returns shape {value.shape}, expected {expected.shape}"
            return ForwardVerdict(part.name, "wrong", words, "wrong")
        right.append(expected.ravel())
    given = values()
    right = np.concatenate(right)
    if agree(given, right, 1e-5, EXACT):
        return ForwardVerdict(part.name, "ok", "agrees with quadrature")
    return compared(part, given, right, values, {}, {}, family.points)


def check_expectation(family, truths, part, integrand):
    """Check a closed form of the expectation of an integrand.

    Parameters
    ----------
    family : ibpcl.verify.distributions.families.Family
        The functions of one distribution, with sets of parameters.
    truths : list of ibpcl.verify.distributions.truth.Truth
        The density at each point.
    part, integrand : ibpcl.verify.distributions.roles.Part
        The closed form and the integrand.

    Returns
    -------
    verdict : ibpcl.verify.distributions.verdicts.ForwardVerdict
        The verdict with its reason.
    """
    right = []
    for truth, point in zip(truths, family.points, strict=True):
        values = family.values_at(integrand, truth.nodes.x, point)
        value, error = truth.expect(values)
        right.append(value if truth.settles(value, error) else np.nan)
    right = np.array(right)
    there = np.isfinite(right)
    if not np.any(there):
        words = f"the integral of {integrand.name} against the density does not converge"
        return ForwardVerdict(part.name, "undecided", words, "undecided")
    every = [point for point, keep in zip(family.points, there, strict=True) if keep]

    def values(function=None, points_=None):
        return family.numbers(part, function, points_ or every)

    return judged(part, every, right[there], values, {}, "quadrature")


def sides_of(names, parameters):
    """Return the arguments of a divergence that are parameters of q, and those of p.

    Parameters
    ----------
    names : sequence of str
        Arguments of the divergence.
    parameters : sequence of str
        Parameters of the density.

    Returns
    -------
    q, p : dict of str to str
        Arguments by parameter; ``p`` is empty if the divergence has parameters of q only.

    Raises
    ------
    CallError
        If the names are ambiguous.

    Examples
    --------
    >>> sides_of(["mu", "sigma", "mu0", "sigma0"], ["mu", "sigma"])
    ({'mu': 'mu', 'sigma': 'sigma'}, {'mu': 'mu0', 'sigma': 'sigma0'})
    >>> sides_of(["mu_p", "mu_q"], ["mu"])
    ({'mu': 'mu_q'}, {'mu': 'mu_p'})
    """
    q = {}
    p = {}
    for parameter in parameters:
        bare = re.sub(r"_?\d$", "", parameter)
        own = [name for name in names if name in (parameter, bare)]
        second = [n for n in names if re.fullmatch(re.escape(bare) + SECOND, n) and n not in own]
        second += [n for n in names if re.fullmatch(r"(p|prior|old)_" + re.escape(bare), n)]
        first = [
            n for n in names if re.fullmatch(re.escape(bare) + FIRST, n) and n not in second + own
        ]
        first += [n for n in names if re.fullmatch(r"(q|post|posterior|new)_" + re.escape(bare), n)]
        if first + own and second:
            q[parameter] = (first + own)[0]
            p[parameter] = second[0]
        elif len(first + own) == 2:
            q[parameter], p[parameter] = first + own
        elif first + own:
            q[parameter] = (first + own)[0]
    rest = [name for name in names if name not in (*q.values(), *p.values())]
    k = len(parameters)
    if rest and len(names) == 2 * k:
        return (
            dict(zip(parameters, names[:k], strict=True)),
            dict(zip(parameters, names[k:], strict=True)),
        )
    if rest or len(q) < k or (p and len(p) < k):
        raise CallError(
            f"which of its arguments ({', '.join(names)}) are parameters of q and which of p is "
            f"not known: call them {', '.join(f'{n}_q, {n}_p' for n in parameters)}"
        )
    return q, p


def standard(names):
    """Return the parameters of the standard member of a family, such as N(0, 1).

    Parameters
    ----------
    names : sequence of str
        Names of the parameters.

    Returns
    -------
    point : dict of str to float
        One value for each parameter.
    """
    values = {"real": 0.0, "share": 0.5, "positive": 1.0, "count": 1}
    return {name: values[points.domain(name)] for name in names}


def check_kl(family, truth_at, part):
    """Check a divergence between two members of a family by quadrature.

    Parameters
    ----------
    family : ibpcl.verify.distributions.families.Family
        The functions of one distribution, with sets of parameters.
    truth_at : callable
        ``truth_at(point)`` returns the density at a point.
    part : ibpcl.verify.distributions.roles.Part
        The divergence, in nats.

    Returns
    -------
    verdict : ibpcl.verify.distributions.verdicts.ForwardVerdict
        The verdict with its reason.

    Raises
    ------
    CallError
        If its arguments are ambiguous, or arrays that are not given.
    """
    q, p = sides_of(part.names, family.parameters)
    names = [*q.values(), *p.values()]
    every = points.draw(names, ordered=True, like={v: k for s in (q, p) for k, v in s.items()})
    if set(names) <= set(family.points[0]):
        every = family.points
    elif any(np.ndim(value) for value in family.points[0].values()):
        missing = [name for name in names if name not in family.points[0]]
        raise CallError(f"its parameters are arrays: give `{missing[0]}` in parameters")
    if not p:
        family.notes.append(
            f"{part.name} has no parameters of p; p was taken to be at "
            + ", ".join(f"{n} = {v:g}" for n, v in standard(family.parameters).items())
        )
    pairs = []
    for point in every:
        at_q = {name: point[argument] for name, argument in q.items()}
        at_p = {name: point[argument] for name, argument in p.items()}
        pairs.append((truth_at(at_q), truth_at(at_p or standard(family.parameters))))
    verdict = _by_pairs(family, part, every, pairs)
    if not p and verdict.verdict == "wrong" and verdict.kind in ("wrong", "edit"):
        verdict.verdict = "undecided"
        verdict.kind = "undecided"
        verdict.words += "; give p as arguments"
    return verdict


def _by_pairs(family, part, every, pairs):
    """Return the verdict on a divergence, given both densities (q, p) at each point."""
    right = np.array([_kl(q, p) for q, p in pairs])
    reversed_ = np.array([_kl(p, q) for q, p in pairs])
    cross = right + np.array([entropy_of(q) for q, _ in pairs])
    there = np.isfinite(right)
    if not np.any(there):
        words = "the divergence is infinite, or its integral does not converge, at these parameters"
        return ForwardVerdict(part.name, "undecided", words, "undecided")
    every = [point for point, keep in zip(every, there, strict=True) if keep]
    right = right[there]
    reversed_ = reversed_[there]

    def values(function=None, changed=None):
        return np.array(
            [
                family.value(part, {n: point[n] for n in part.names if n in point}, function)
                for point in changed or every
            ]
        )

    others = {
        Slip("reversed_divergence", "the reversed divergence, KL[p || q]"): reversed_,
        Slip("reversed_divergence", "minus the reversed divergence"): -reversed_,
        Slip("other_quantity", "the cross entropy: the entropy of q is not subtracted"): cross[
            there
        ],
        Slip("other_quantity", "the sum of both divergences"): right + reversed_,
        Slip("other_quantity", "the mean of both divergences"): (right + reversed_) / 2,
    }
    others = {slip: value for slip, value in others.items() if np.all(np.isfinite(value))}
    q = pairs[-1][0]
    loose = q.nodes.x.ndim > 1 or q.is_rough
    return judged(part, every, right, values, others, "quadrature", loose)


def _kl(first, second):
    """Return KL[first || second] in nats; NaN if its integral does not converge."""
    x = first.nodes.x
    with np.errstate(all="ignore"):
        log_q = first.log_p - np.log(first.total)
        log_p = np.asarray(second.log_density(x), float) - np.log(second.total)
        gap = log_q - log_p
    mass = first.p * first.nodes.weights
    if np.all(np.isnan(mass)):
        return np.nan
    heavy = mass > 1e-12 * np.nanmax(mass)
    if np.any(heavy & ~np.isfinite(gap)):
        return np.nan
    value, error = first.expect(np.where(np.isfinite(gap), gap, 0.0))
    return value if first.settles(value, error) else np.nan


def check_kl_between(family, q, p, part):
    """Check a divergence between two densities of different families.

    Parameters
    ----------
    family : ibpcl.verify.distributions.families.Family
        With the densities ``log_q`` and ``log_p`` as parts.
    q, p : callable
        ``q(point)`` returns the density at a point.
    part : ibpcl.verify.distributions.roles.Part
        The divergence, in nats.

    Returns
    -------
    verdict : ibpcl.verify.distributions.verdicts.ForwardVerdict
        The verdict with its reason.
    """
    pairs = [(q(point), p(point)) for point in family.points]
    return _by_pairs(family, part, family.points, pairs)
