"""Checks of lower bounds of the evidence, and of estimators of expectations and gradients."""

from functools import partial

import numpy as np

from ibpcl.verify.forwards import noise as noises
from ibpcl.verify.forwards import points, supports
from ibpcl.verify.forwards.calling import CallError, quiet, real
from ibpcl.verify.forwards.closed_forms import judged
from ibpcl.verify.forwards.measures import Support, nodes_of
from ibpcl.verify.forwards.samplers import STANDARD_ERRORS, compared
from ibpcl.verify.forwards.slips import Slip, agree
from ibpcl.verify.forwards.truth import truth_of
from ibpcl.verify.forwards.trying import tried
from ibpcl.verify.forwards.verdicts import ForwardVerdict
from ibpcl.verify.witnesses.differences import richardson

EXACT = 1e-6  # error that counts as right
STEPS = 27_720  # levels of uniform noise; a multiple of every number from 1 to 12
# Largest step, relative to 1 + |parameter|, and one tableau of four differences.
DIFFERENCES = {"h": 1e-3, "levels": 4, "restarts": 1, "noise": 0.0}
# Roles whose functions take a value of the latent variable.
OF_LATENT = ("log_joint", "log_likelihood", "log_prior", "log_q", "log_density")
GRADIENT_ROLES = ("gradient_estimator", "score_function", "reparameterized")


def check_model(family):
    """Check a joint density, the evidence, and the bound below it.

    Parameters
    ----------
    family : ibpcl.verify.forwards.families.Family
        With some of ``log_joint``, ``log_likelihood``, ``log_prior``, ``log_q``, ``log_evidence``
        and ``bound``.

    Returns
    -------
    verdicts : list of ibpcl.verify.forwards.verdicts.ForwardVerdict
        One verdict for each function.
    """
    items = []
    joints = posteriors = None
    names = list(
        dict.fromkeys(
            name
            for role, part in family.parts.items()
            for name in (part.rest if role in OF_LATENT else part.names)
        )
    )
    if not family.values.get("parameters"):
        family.parameters = names
        family.points = points.draw(names, ordered=True)
        family.notes = []
    support = Support(-np.inf, np.inf)
    if "support" in family.values:
        support = supports.supports_of(family, "log_density")[0][0]
    if "log_joint" in family or {"log_likelihood", "log_prior"} <= set(family.parts):
        joints = [truth_of(_joint(family, point), support) for point in family.points]
    q = next((family.parts[r] for r in ("log_q", "log_density") if r in family), None)
    if q is not None:
        posteriors = [
            truth_of(lambda x, p=point: family.values_at(q, x, p), support)
            for point in family.points
        ]
        totals = np.array([each.total for each in posteriors])
        if not supports.is_one(totals):
            words = f"integrates to {totals[0]:.6g}, not to 1"
            items.append(ForwardVerdict(q.name, "wrong", words, "not_normalized"))
            posteriors = None
        else:
            items.append(ForwardVerdict(q.name, "ok", f"integrates to 1 over {support}"))
    evidence = None
    if joints is not None:
        evidence = np.log(np.array([joint.total for joint in joints]))
    if "log_evidence" in family:
        part = family.parts["log_evidence"]
        if joints is not None:
            items += tried(part.name, lambda: check_evidence(family, part, joints))
        else:
            evidence = family.numbers(part)
            items.append(ForwardVerdict(part.name, "ok", "taken as right: give log_joint too"))
    if "bound" in family:
        part = family.parts["bound"]
        if evidence is None or not np.all(np.isfinite(evidence)):
            words = "the log evidence is not known: give log_joint(z, ...) or log_evidence"
            items.append(ForwardVerdict(part.name, "undecided", words, "undecided"))
        else:
            items += tried(
                part.name, lambda: check_bound(family, part, evidence, joints, posteriors)
            )
    return items


def _joint(family, point):
    """Return the log joint density as a function of the latent variable."""
    roles = ("log_joint",) if "log_joint" in family else ("log_likelihood", "log_prior")

    def log_joint(z):
        return sum(family.values_at(family.parts[role], z, point) for role in roles)

    return log_joint


def check_evidence(family, part, joints):
    """Check a closed form of the log evidence against the integral of the joint density.

    Parameters
    ----------
    family : ibpcl.verify.forwards.families.Family
        The functions of one distribution, with sets of parameters.
    part : ibpcl.verify.forwards.roles.Part
        The log evidence, in nats.
    joints : list of ibpcl.verify.forwards.truth.Truth
        The joint density as a function of the latent variable, at each point.

    Returns
    -------
    verdict : ibpcl.verify.forwards.verdicts.ForwardVerdict
        The verdict with its reason.
    """
    right = np.log(np.array([joint.total for joint in joints]))
    if not np.all(np.isfinite(right)):
        words = "the integral of the joint density does not converge"
        return ForwardVerdict(part.name, "undecided", words, "undecided")

    return judged(part, family.points, right, partial(family.numbers, part), {}, "quadrature")


def check_bound(family, part, evidence, joints, posteriors):
    """Check that a bound lies below the log evidence, and equals the ELBO if q is known.

    Parameters
    ----------
    family : ibpcl.verify.forwards.families.Family
        The functions of one distribution, with sets of parameters.
    part : ibpcl.verify.forwards.roles.Part
        The bound, in nats.
    evidence : ndarray, shape (N,)
        Log evidence at each point, in nats.
    joints, posteriors : list of ibpcl.verify.forwards.truth.Truth or None
        The joint density and q as functions of the latent variable.

    Returns
    -------
    verdict : ibpcl.verify.forwards.verdicts.ForwardVerdict
        The verdict with its reason.
    """
    given = family.numbers(part)
    if joints is None or posteriors is None:
        over = given - evidence
        worst = int(np.argmax(over))
        numbers = {"bound": given, "log_evidence": evidence}
        if not np.all(np.isfinite(given)):
            return ForwardVerdict(part.name, "wrong", "it is not finite", "non_finite", numbers)
        if np.all(over <= EXACT * (1 + np.abs(evidence))):
            words = f"below the log evidence at {len(given)} points, by {-over.max():.3g} at least"
            return ForwardVerdict(part.name, "ok", words, "ok", numbers)
        words = f"{given[worst]:.6g} lies above the log evidence {evidence[worst]:.6g}"
        return ForwardVerdict(part.name, "wrong", words, "not_a_bound", numbers)
    right = []
    entropies = []
    for joint, q in zip(joints, posteriors, strict=True):
        log_joint = np.asarray(joint.log_density(q.nodes.x), float)
        log_q = q.log_p - np.log(q.total)
        expected = q.expect(np.where(np.isfinite(log_joint), log_joint, 0.0))[0]
        entropies.append(-q.expect(np.where(np.isfinite(log_q), log_q, 0.0))[0])
        right.append(expected + entropies[-1])
    right = np.array(right)
    entropies = np.array(entropies)

    others = {
        Slip("missing_term", "the entropy of q is missing"): right - entropies,
        Slip("sign", "the entropy of q has the wrong sign"): right - 2 * entropies,
        Slip("other_quantity", "the log evidence, not the bound"): evidence,
    }
    others |= _with_prior(family, posteriors, right, entropies)
    verdict = judged(
        part,
        family.points,
        right,
        partial(family.numbers, part),
        others,
        "quadrature of the ELBO",
    )
    if np.any(given > evidence + EXACT * (1 + np.abs(evidence))) and verdict.verdict == "wrong":
        verdict.words += "; it lies above the log evidence"
    return verdict


def _with_prior(family, posteriors, right, entropies):
    """Return bounds with a wrong divergence from the prior, by slip; empty without a prior."""
    if "log_prior" not in family:
        return {}
    part = family.parts["log_prior"]
    divergence = []
    reversed_ = []
    for q, point, entropy in zip(posteriors, family.points, entropies, strict=True):
        prior = truth_of(lambda x, p=point: family.values_at(part, x, p), q.support)
        log_q = np.asarray(q.log_density(prior.nodes.x), float) - np.log(q.total)
        gap = prior.log_p - np.log(prior.total) - log_q
        reversed_.append(prior.expect(np.where(np.isfinite(gap), gap, 0.0))[0])
        log_prior = family.values_at(part, q.nodes.x, point)
        divergence.append(-entropy - q.expect(np.where(np.isfinite(log_prior), log_prior, 0.0))[0])
    divergence = np.array(divergence)
    exchanged = "prior and posterior are exchanged in the divergence"
    return {
        Slip("reversed_divergence", exchanged): right + divergence - np.array(reversed_),
        Slip("sign", "the divergence from the prior is added, not subtracted"): right
        + 2 * divergence,
        Slip("missing_term", "the divergence from the prior is missing"): right + divergence,
    }


def check_estimator(family, part, expectation):
    """Check that the mean of an estimator over its noise is the expectation.

    Parameters
    ----------
    family : ibpcl.verify.forwards.families.Family
        The functions of one distribution, with sets of parameters.
    part : ibpcl.verify.forwards.roles.Part
        The function ``estimator(noise, ...)``.
    expectation : ibpcl.verify.forwards.roles.Part
        Closed form of the expectation.

    Returns
    -------
    verdict : ibpcl.verify.forwards.verdicts.ForwardVerdict
        The verdict with its reason.
    """
    noise = noises.noise_of(part, family.parameters)
    right = family.numbers(expectation)
    if noise.is_single:

        def values(function=None, every=None):
            return np.array(
                [
                    _mean(family, part, noise, point, function)[0].reshape(-1)[0]
                    for point in every or family.points
                ]
            )

        verdict = judged(part, family.points, right, values, {}, expectation.name)
        if verdict.kind == "wrong":
            verdict.kind = "biased"
        variances = [_mean(family, part, noise, point)[1] for point in family.points]
        verdict.numbers["variance"] = variances
        verdict.words += f"; variance {float(np.sum(variances[0])):.4g} at the first parameters"
        return verdict
    away = []
    for point, value in zip(family.points, right, strict=True):
        draws = noises.draws_of(family, part, noise, point)
        error = np.std(draws) / np.sqrt(len(draws))
        away.append((abs(np.mean(draws) - value) / max(error, 1e-300), np.mean(draws), value))
    worst = max(away)
    if worst[0] <= STANDARD_ERRORS:
        words = f"its mean is {expectation.name} within {worst[0]:.1f} standard errors"
        return ForwardVerdict(part.name, "ok", words)
    words = f"its mean is {worst[1]:.5g}, {expectation.name} is {worst[2]:.5g}"
    return ForwardVerdict(part.name, "wrong", words, "biased")


def _mean(family, part, noise, point, function=None):
    """Return the mean and the variance of an estimator over its noise, by quadrature."""
    name, kind = next(iter(noise.kinds.items()))
    bound = family.bound(part, point, function)
    options = {key: point[key] for key in part.names if key in point}
    nodes = nodes_of(Support(0.0, 1.0))
    rows = _rows(bound, name, noises.quantile_of(kind, nodes.x), options)
    weights = nodes.weights[:, None]
    whole = np.sum(rows * weights, axis=0)
    half = 2 * np.sum((rows * weights)[nodes.half], axis=0)
    if kind == "uniform" and not np.allclose(whole, half, rtol=1e-7, atol=1e-12):
        # a step function of u, such as the choice of an example: exact for up to twelve steps
        levels = (np.arange(STEPS) + 0.5) / STEPS
        rows = _rows(bound, name, levels, options)
        weights = np.full((STEPS, 1), 1 / STEPS)
    rows = np.where(np.isfinite(rows), rows, 0.0)
    with np.errstate(all="ignore"):
        mean = np.sum(rows * weights, axis=0)
        return mean, np.sum((rows - mean) ** 2 * weights, axis=0)


def _rows(bound, name, values, options):
    """Return the outputs of an estimator for M values of its noise, shape (M, outputs)."""
    try:
        together = real(quiet(bound, **{name: values}, **options))
        alone = np.ravel(real(quiet(bound, **{name: float(values[7])}, **options)))
        if together.shape == (len(values),) and np.allclose(together[7], alone):
            return together[:, None]
        if together.ndim == 2 and together.shape[-1] == len(values):
            together = together.T
        if together.ndim == 2 and np.allclose(together[7], alone):
            return together
    except CallError:
        pass
    rows = [quiet(bound, **{name: float(value)}, **options) for value in values]
    return np.array([np.ravel(real(row)) for row in rows])


def check_gradient_estimators(family, expectation):
    """Check estimators of the gradient of an expectation, and note their variances.

    Parameters
    ----------
    family : ibpcl.verify.forwards.families.Family
        The functions of one distribution, with sets of parameters.
    expectation : ibpcl.verify.forwards.roles.Part
        Closed form of the expectation.

    Returns
    -------
    verdicts : list of ForwardVerdict
        One verdict for each function.
    """
    right = np.array([_gradient(family, expectation, point) for point in family.points])
    found = []
    spreads = {}
    for role in GRADIENT_ROLES:
        if role in family:
            part = family.parts[role]
            try:
                verdict, spread = _check_gradient(family, part, expectation, right)
            except CallError as error:
                verdict = ForwardVerdict(part.name, "undecided", str(error), "undecided")
                spread = None
            found.append(verdict)
            if spread is not None:
                spreads[part.name] = spread
    if len(spreads) > 1:
        shown = ", ".join(f"{name} {value:.4g}" for name, value in spreads.items())
        family.notes.append(f"variance of one draw, summed over the parameters: {shown}")
    return found


def _gradient(family, expectation, point):
    """Return the derivative of an expectation with respect to each of its arguments."""
    found = []
    for name in expectation.names:

        def value(x, name=name):
            return np.asarray(family.value(expectation, {**point, name: float(x)}))

        x = np.asarray(float(point[name]))
        width = 1 + np.abs(x)
        found.append(float(richardson(value, x, width, **DIFFERENCES).value / width))
    return found


def _check_gradient(family, part, expectation, right):
    """Return the verdict on one estimator of a gradient, and its variance."""
    noise = noises.noise_of(part, family.parameters)
    if not noise.is_single:
        raise CallError("its noise must be one argument, such as eps")

    def values(function=None, every=None):
        return np.array(
            [_mean(family, part, noise, point, function)[0] for point in every or family.points]
        )

    given = values()
    names = expectation.names
    if given.shape[1] != right.shape[1]:
        if given.shape[1] != 1:
            words = f"it returns {given.shape[1]} numbers, expected {len(names)}: one for each of "
            return ForwardVerdict(part.name, "wrong", words + ", ".join(names), "wrong"), None
        fits = [n for n in range(len(names)) if agree(given[:, 0], right[:, n], 1e-5, EXACT)]
        chosen = fits[0] if fits else 0
        right = right[:, chosen : chosen + 1]
        names = names[chosen : chosen + 1]
    spread = float(np.sum(_mean(family, part, noise, family.points[0])[1]))
    if agree(given.ravel(), right.ravel(), 1e-5, EXACT):
        words = f"unbiased for {', '.join(names)}; variance {spread:.4g} at the first parameters"
        return ForwardVerdict(part.name, "ok", words, "ok", {"variance": spread}), spread
    off = [name for n, name in enumerate(names) if not agree(given[:, n], right[:, n], 1e-5, EXACT)]
    verdict = compared(
        part,
        given.ravel(),
        right.ravel(),
        lambda function=None, every=None: values(function, every).ravel(),
        {},
        {},
        family.points,
        "biased",
        cost=1_000,
    )
    verdict.words = f"biased for {', '.join(off)}: {verdict.words}"
    return verdict, spread
