"""Laws of probabilistic models: the evidence is an integral, and a bound lies below it."""

from functools import partial

import numpy as np

from ibpcl.verify.distributions.comparing import EXACT, Comparison, passed, undecided, wrong
from ibpcl.verify.distributions.moments import entropy
from ibpcl.verify.distributions.quadrature import Support, integrated
from ibpcl.verify.distributions.slips import Slip
from ibpcl.verify.distributions.supports import LINES

RANDOM_BOUND = 3.5  # a bound that draws exceeds the log evidence by more with probability exp(-3.5)


def has_joint(model):
    """Return whether a model has a joint density.

    Parameters
    ----------
    model : ibpcl.verify.distributions.model.Model
        The model.

    Returns
    -------
    bool
        Whether there is ``log_joint``, or ``log_likelihood`` and ``log_prior``.
    """
    return "log_joint" in model or {"log_likelihood", "log_prior"} <= set(model.parts)


def _log_joint(model, values):
    """Return the log joint density as a function of points (M,) of the latent variable."""
    roles = ("log_joint",) if "log_joint" in model else ("log_likelihood", "log_prior")
    return lambda z: sum(model.values_at(model.parts[role], z, values) for role in roles)


def _joints(model):
    """Return the joint densities over the support of q, or else over the first one that fits."""

    def over(supports):
        pairs = zip(model.sets, supports, strict=True)
        return [integrated(_log_joint(model, values), support) for values, support in pairs]

    if model.densities:
        return over([density.support for density in model.densities])
    for ends in LINES[:3]:
        joints = over([Support(*ends)] * len(model.sets))
        if all(joint.holes == 0 and joint.is_sharp for joint in joints):
            break
    return joints


def evidence(model, part):
    """Compare a closed form of the log evidence with the integral of the joint density.

    Parameters
    ----------
    model : ibpcl.verify.distributions.model.Model
        With a joint density.
    part : ibpcl.verify.distributions.reading.Part
        The log evidence.

    Returns
    -------
    comparison : ibpcl.verify.distributions.comparing.Comparison
        Or an undecided outcome, if the integral does not converge.
    """
    joints = _joints(model)
    totals = np.array([joint.total for joint in joints])
    error = np.array([joint.error for joint in joints]) / totals
    if not np.all(np.isfinite(totals)) or not np.all(error < EXACT):
        return undecided(part, "the integral of the joint density does not converge")
    values_of = partial(model.numbers, part)
    return Comparison(values_of, np.log(totals), error, model.sets)


def _log_evidence(model):
    """Return the log evidence at all sets; from the joint density if there is one."""
    if has_joint(model):
        with np.errstate(all="ignore"):
            return np.log([joint.total for joint in _joints(model)])
    return model.numbers(model.parts["log_evidence"])


def _elbo(model, part):
    """Compare an ELBO with its integral over q."""
    energies = []
    for q, values in zip(model.densities, model.sets, strict=True):
        joint = np.asarray(_log_joint(model, values)(q.nodes.x), float)
        energies.append(q.expect(np.where(np.isfinite(joint), joint, 0.0)))
    energies = np.array(energies)
    entropies = np.array([entropy(q) for q in model.densities])
    right = energies[:, 0] + entropies[:, 0]
    if not np.all(np.isfinite(right)):
        return undecided(part, "the integral of the ELBO does not converge")
    others = {
        Slip("missing_term", "the entropy of q is missing"): energies[:, 0],
        Slip("sign", "the entropy of q has the wrong sign"): energies[:, 0] - entropies[:, 0],
        Slip("other_quantity", "the log evidence, not the bound"): _log_evidence(model),
    }
    return Comparison(
        partial(model.numbers, part),
        right,
        energies[:, 1] + entropies[:, 1],
        model.sets,
        others=others,
        witness="quadrature of the ELBO",
    )


def bound(model, part):
    """Compare an ELBO with its integral, and any other bound with the log evidence.

    Parameters
    ----------
    model : ibpcl.verify.distributions.model.Model
        With a joint density, or the log evidence.
    part : ibpcl.verify.distributions.reading.Part
        The bound.

    Returns
    -------
    found : ibpcl.verify.distributions.comparing.Comparison
        Or an outcome: a bound may not exceed the log evidence.
    """
    is_elbo = "elbo" in part.name.lower() or "lower_bound" in part.name or part.name == "bound"
    if is_elbo and model.densities and has_joint(model):
        return _elbo(model, part)
    evidences = _log_evidence(model)
    if not np.all(np.isfinite(evidences)):
        words = "the log evidence is not known: give log_joint(z, ...) or log_evidence"
        return undecided(part, words)
    given = model.numbers(part)
    over = given - evidences
    at = int(np.argmax(over))
    numbers = {"bound": given, "log_evidence": evidences}
    above = f"{given[at]:.6g} lies above the log evidence {evidences[at]:.6g}"
    if not np.all(np.isfinite(given)):
        return wrong(part, "it is not finite", "non_finite", numbers)
    if np.all(over <= EXACT * (1 + np.abs(evidences))):
        words = f"below the log evidence at {len(given)} points, by {-over.max():.3g} at least"
        return passed(part, words, numbers)
    if _draws(part) and not np.all(over > RANDOM_BOUND):
        return undecided(part, f"{above}, but it draws random numbers", numbers)
    return wrong(part, above, "not_a_bound", numbers)


def _draws(part):
    """Return whether a function seems to draw random numbers."""
    names = part.function.__code__.co_names if hasattr(part.function, "__code__") else ()
    return any("rand" in name or "rng" in name or "normal" in name for name in names)


def expectation(model, part):
    """Compare a closed form with the expectation of the integrand.

    Parameters
    ----------
    model : ibpcl.verify.distributions.model.Model
        With its densities, and ``integrand``.
    part : ibpcl.verify.distributions.reading.Part
        The expectation.

    Returns
    -------
    comparison : ibpcl.verify.distributions.comparing.Comparison
        Or an undecided outcome, if the integral does not converge.
    """
    integrand = model.parts["integrand"]
    pairs = zip(model.densities, model.sets, strict=True)
    found = (d.expect(model.values_at(integrand, d.nodes.x, values)) for d, values in pairs)
    there, right, error = model.where_finite(found)
    if not there.sets:
        return undecided(part, f"the integral of {integrand.name} does not converge")
    values_of = partial(there.numbers, part)
    return Comparison(values_of, right, error, there.sets)
