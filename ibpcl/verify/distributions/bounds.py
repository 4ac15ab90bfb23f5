"""Checks of lower bounds of the evidence."""

from functools import partial

import numpy as np

from ibpcl.verify.distributions import points, supports
from ibpcl.verify.distributions.closed_forms import judged
from ibpcl.verify.distributions.measures import Support
from ibpcl.verify.distributions.slips import Slip
from ibpcl.verify.distributions.truth import truth_of
from ibpcl.verify.distributions.trying import tried
from ibpcl.verify.distributions.verdicts import ForwardVerdict

EXACT = 1e-6  # error that counts as right
# Roles whose functions take a value of the latent variable.
OF_LATENT = ("log_joint", "log_likelihood", "log_prior", "log_q", "log_density")


def check_model(family):
    """Check a joint density, the evidence, and the bound below it.

    Parameters
    ----------
    family : ibpcl.verify.distributions.families.Family
        With some of ``log_joint``, ``log_likelihood``, ``log_prior``, ``log_q``, ``log_evidence``
        and ``bound``.

    Returns
    -------
    verdicts : list of ibpcl.verify.distributions.verdicts.ForwardVerdict
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
    family : ibpcl.verify.distributions.families.Family
        The functions of one distribution, with sets of parameters.
    part : ibpcl.verify.distributions.roles.Part
        The log evidence, in nats.
    joints : list of ibpcl.verify.distributions.truth.Truth
        The joint density as a function of the latent variable, at each point.

    Returns
    -------
    verdict : ibpcl.verify.distributions.verdicts.ForwardVerdict
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
    family : ibpcl.verify.distributions.families.Family
        The functions of one distribution, with sets of parameters.
    part : ibpcl.verify.distributions.roles.Part
        The bound, in nats.
    evidence : ndarray, shape (N,)
        Log evidence at each point, in nats.
    joints, posteriors : list of ibpcl.verify.distributions.truth.Truth or None
        The joint density and q as functions of the latent variable.

    Returns
    -------
    verdict : ibpcl.verify.distributions.verdicts.ForwardVerdict
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
