"""Repairs of a density whose integral is not 1, or that all other functions contradict.

A repair names the mistake.  Other functions are judged by the repaired density, if only one repair
is possible.
"""

from typing import NamedTuple

import numpy as np

from ibpcl.verify.distributions.calls import CallError
from ibpcl.verify.distributions.comparing import EXACT
from ibpcl.verify.distributions.laws import judge, law_for
from ibpcl.verify.distributions.leads import Lead, by_density, densities_of, known_as
from ibpcl.verify.distributions.quadrature import integrated
from ibpcl.verify.distributions.repair import exchanged, fits_of, searching
from ibpcl.verify.distributions.slips import Slip, agree, missing_term

# Costs of one integral of a density, in expressions that take as long.
COST = 350
COST_OF_PANELS = 1_000
COST_OF_GRIDS = 20_000
MOST_FITS = 6  # repairs of a density that are compared with each other
PROBES = np.linspace(0.03, 0.97, 41)  # levels at which densities are compared


class Judgement(NamedTuple):
    """A leading function with the outcomes of all functions that follow.

    Attributes
    ----------
    lead : ibpcl.verify.distributions.leads.Lead
        The leading function and its distribution.
    outcomes : dict of Part to Outcome
        By function.
    """

    lead: Lead
    outcomes: dict

    def having(self, verdict):
        """Return the functions with a verdict.

        Parameters
        ----------
        verdict : {"ok", "wrong", "undecided"}
            The verdict.

        Returns
        -------
        parts : list of ibpcl.verify.distributions.reading.Part
        """
        return [part for part, each in self.outcomes.items() if each.verdict.verdict == verdict]


def mended_by(judgement):
    """Return the slip of a density whose integral is not 1, and the model after its repair.

    Parameters
    ----------
    judgement : Judgement
        With the density in the lead.

    Returns
    -------
    slip : ibpcl.verify.distributions.slips.Slip or None
        None without a name.
    model : Model or None
        The repaired density, if the repair is unique.
    """
    lead = judgement.lead
    model = lead.model
    part = model.lead
    candidate = lead.candidate
    if candidate is None or (model.dimension > 1 and lead.state == "open"):
        return None, None
    known = None if model.densities else _at_other_parameters(model, part)
    if known is not None:
        return known
    known = bool(model.densities) and all(density.is_sharp for density in model.densities)
    if known and model.dimension == 1:
        lost = _lost_term(model)
        if lost is not None:
            return lost
    totals = np.log([density.total for density in model.densities]) if known else None
    constant = missing_term(totals, model.sets) if known else None
    if constant is not None and not judgement.having("wrong"):
        return _without_constant(model, constant), model
    support = candidate.at(model.sets[0])
    wider = [each for each in lead.plausible if _is_wider(each.at(model.sets[0]), support)]
    tried = [candidate] if constant is not None else [*wider, candidate]
    fits = next(
        filter(None, (_density_fits(judgement, each, constant is not None) for each in tried)), ()
    )
    lacks = f"the log density is {constant.words}" if constant is not None else ""
    if fits:
        fit, mended = fits
        slip = fit.slip
        return slip._replace(words=f"{lacks}: {slip.words}" if lacks else slip.words), mended
    if constant is not None:
        return Slip("missing_term", f"{lacks}, a normalizing constant"), None
    return None, None


def _lost_term(model):
    """Return a slip and the model if a density lacks a term of its variable; else None."""
    from scipy.special import gammaln  # the checker in the browser starts without it

    terms = {
        Slip("of_another_variable", "it is the density of log x, so subtract log x"): np.log,
        Slip(
            "of_another_variable",
            "it is the density of log(x / (1 - x)), so subtract log x and log(1 - x)",
        ): lambda x: np.log(x) + np.log1p(-x),
        Slip("missing_term", "the term - log k! is missing, - gammaln(k + 1)"): (
            lambda k: gammaln(k + 1)
        ),
    }
    if any(density.support.low < 0 for density in model.densities):
        return None
    for slip, term in terms.items():
        densities = tuple(
            integrated(
                lambda x, log_p=density.log_density, term=term: log_p(x) - term(x),
                density.support,
                adapt=False,
            )
            for density in model.densities
        )
        if all(density.is_one for density in densities):
            return slip, model.having(densities=densities)
    return None


def _without_constant(model, constant):
    """Return the slip of a density that is right up to a normalizing constant."""
    words = f"the log density is {constant.words}, a normalizing constant"
    part = model.lead
    found = law_for(model, part).residual(model, part)

    def is_right(function):
        return agree(found.values(function), found.right, atol=EXACT)

    fits = fits_of(part.function, found.values, is_right, likely=constant.kind)
    if not fits:
        return Slip("missing_term", words)
    return fits[0].slip._replace(kind="missing_term", words=f"{words}: {fits[0].slip.words}")


def _at_other_parameters(model, part):
    """Return the slip of a density that is right at other parameters, and its model; or None."""
    with searching():
        for slip, changed in exchanged(model.sets):
            found = by_density([model.having(sets=tuple(changed))], part)
            if found.state == "right":
                return slip, found.model.having(sets=model.sets, at=None)
    return None


def _is_wider(support, other):
    return support != other and support.low <= other.low and support.high >= other.high


def _density_fits(judgement, candidate, is_constant):
    """Return the repair of a density that makes its integral 1, if it is unique, and its model."""
    model = judgement.lead.model
    groups = []
    for fit, mended in _repairs(judgement, candidate, lambda mended: _uses_all(mended), MOST_FITS):
        probes = (groups[0][1] if groups else mended).densities[0].points_at(PROBES)
        values = mended.densities[0].log_density(probes)
        if all(not np.allclose(values, other, 1e-6, 1e-9, True) for *_, other in groups):
            groups.append((fit, mended, values))
    if not groups:
        return None
    counts = [_agreeing(mended, judgement.outcomes) for _, mended, _ in groups]
    before = len(judgement.having("ok"))
    best = [group for group, count in zip(groups, counts, strict=True) if count == max(counts)]
    if max(counts) < before:
        return None
    shifts = [group for group in best if model.densities and _is_shift(model, group[1])]
    if len(best) == 1 and (not is_constant or max(counts) > before):
        return best[0][:2]
    return shifts[0][:2] if len(shifts) == 1 else None


def _repairs(judgement, candidate, accepts, most=1):
    """Return repairs of a density after which its integral is 1, each with its model.

    Parameters
    ----------
    judgement : Judgement
        With the density in the lead.
    candidate : Candidate
        The support.
    accepts : callable
        ``accepts(model)`` returns whether a repaired density is accepted.
    most : int
        Number of repairs.
    """
    model = judgement.lead.model
    part = model.lead
    rough = any(density.is_rough for density in model.densities)

    def mended(function, sets=model.sets):
        found = densities_of(model, part, candidate, rough, function, sets, 1.0)
        return known_as(model.having(sets=sets), part, candidate, found, function)

    def is_right(function):
        first = mended(function, model.sets[:1])
        if not first.densities[0].is_one:
            return False
        every = mended(function)
        return all(density.is_one for density in every.densities) and accepts(every)

    cost = COST_OF_GRIDS if model.dimension > 1 else COST_OF_PANELS if rough else COST
    found = fits_of(
        part.function, lambda function: mended(function, model.sets[:1]), is_right, most, cost
    )
    return [(fit, mended(fit.function)) for fit in found]


def _agreeing(model, parts):
    """Return how many functions agree with a model."""
    count = 0
    for part in parts:
        try:
            count += judge(law_for(model, part), model, part).verdict.verdict == "ok"
        except (CallError, ValueError, KeyError):
            continue
    return count


def _is_shift(model, mended):
    """Return whether a repaired density differs from the user's by a constant only."""
    probes = model.densities[0].points_at(PROBES)
    gap = mended.densities[0].log_density(probes) - model.densities[0].log_density(probes)
    gap = gap[np.isfinite(gap)]
    return len(gap) > 0 and bool(np.ptp(gap) < 1e-7)


def _uses_all(model):
    """Return whether a repaired density depends on each of its parameters."""
    if len(model.sets) < 2:
        return True
    density = model.densities[0]
    probes = density.points_at(PROBES)
    for name in model.parameters:
        if np.ndim(model.sets[0].get(name, 0.0)) or name not in model.lead.names:
            continue
        changed = model.at({**model.sets[0], name: model.sets[1][name]}).log_density(probes)
        if np.allclose(density.log_density(probes), changed, 1e-6, 1e-9, True):
            return False
    return True


def repaired(judgement):
    """Return the repair of a density that makes all other functions right.

    Parameters
    ----------
    judgement : Judgement
        With the density in the lead.

    Returns
    -------
    fit : ibpcl.verify.distributions.repair.Fit
        The repair.
    model : ibpcl.verify.distributions.model.Model
        The model after it.  None in place of both if there is no such repair.
    """

    def accepts(model):
        return _agreeing(model, judgement.outcomes) == len(judgement.outcomes)

    return next(iter(_repairs(judgement, judgement.lead.candidate, accepts)), None)
