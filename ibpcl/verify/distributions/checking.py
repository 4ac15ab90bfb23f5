"""Check all functions of a distribution, given one by one or as a group of a file."""

import numpy as np

from ibpcl.verify.distributions import (
    bounds,
    changes,
    closed_forms,
    points,
    samplers,
    supports,
    unbiased,
)
from ibpcl.verify.distributions.calling import CallError
from ibpcl.verify.distributions.densities import Known, check_density
from ibpcl.verify.distributions.families import Family
from ibpcl.verify.distributions.mending import fits_of
from ibpcl.verify.distributions.references import (
    OF_DISTRIBUTION,
    agreeing,
    agreement,
    density_at,
    dependents,
    leading,
    reference,
)
from ibpcl.verify.distributions.roles import DENSITIES, group_of
from ibpcl.verify.distributions.truth import truth_of
from ibpcl.verify.distributions.trying import tried
from ibpcl.verify.distributions.verdicts import ForwardReport, ForwardVerdict


def check_distribution(
    log_density=None,
    *,
    density=None,
    sample=None,
    cdf=None,
    quantile=None,
    mean=None,
    variance=None,
    std=None,
    entropy=None,
    kl=None,
    integrand=None,
    expectation=None,
    support=None,
    parameters=None,
    discrete=False,
    title="distribution",
):
    r"""Check the functions of a distribution against each other, and name what is wrong.

    The density defines the distribution.  It must integrate, or sum, to 1.  All other functions are
    compared with its integrals.  The parameters are those of the density after its first argument.
    Other functions take them by the same names, or in the same order.

    Parameters
    ----------
    log_density, density : callable, optional
        ``log_density(x, *parameters)``, for one ``x`` or an array of them.
    sample : callable, optional
        ``sample(u, *parameters)`` with uniform noise ``u``, normal noise ``eps``, or a generator
        ``rng`` and a ``size``.
    cdf, quantile : callable, optional
        ``cdf(x, *parameters)`` and ``quantile(p, *parameters)``.
    mean, variance, std, entropy : callable, optional
        Closed forms, of the parameters alone.
    kl : callable, optional
        ``kl(mu_q, sigma_q, mu_p, sigma_p)`` for parameters ``mu`` and ``sigma``.
    integrand, expectation : callable, optional
        ``expectation(*parameters)`` is the mean of ``integrand(x, *parameters)``.
    support : (float, float), or callable, optional
        Support of the density, or a function from parameters to supports.  Without it, the support
        is guessed.
    parameters : dict or list of dict, optional
        Parameters by name, one or several sets.  Without it, they are drawn by their names.
    discrete : bool
        Whether only integers have mass.
    title : str
        Title of the report.

    Returns
    -------
    report : ibpcl.verify.distributions.verdicts.ForwardReport
        With a verdict for each function: ok, wrong or undecided.

    Raises
    ------
    ValueError
        If no function is given.

    Examples
    --------
    >>> def log_density(x, rate):
    ...     return np.log(rate) - rate * x
    >>> print(check_distribution(log_density, mean=lambda rate: rate, support=(0, np.inf)))
    distribution: WRONG
      log_density: UNDECIDED: it integrates to 1 over (0, inf) for 4 sets of parameters, but
        mean contradicts it, and no other function decides
          hint: give parameters, or the support, for which it can be decided
      mean: WRONG: the reciprocal of the right value (1.802 where 0.554939 belongs)
          hint: exp, log, square or root: return the quantity itself
      note: parameters were drawn by their names, rate = 1.244 first
    """
    functions = {
        "log_mass" if discrete else "log_density": log_density,
        "mass" if discrete else "density": density,
        "sample": sample,
        "cdf": cdf,
        "quantile": quantile,
        "mean": mean,
        "variance": variance,
        "std": std,
        "entropy": entropy,
        "kl": kl,
        "integrand": integrand,
        "expectation": expectation,
    }
    group = group_of(title, functions, support, parameters)
    if not group.parts:
        raise ValueError("check_distribution: give log_density, density, cdf or sample")
    return check_group(group)


def check_group(group):
    """Check all functions of a group.

    Parameters
    ----------
    group : ibpcl.verify.distributions.roles.Group
        The functions.

    Returns
    -------
    report : ibpcl.verify.distributions.verdicts.ForwardReport
        One verdict for each function.
    """
    try:
        with np.errstate(all="ignore"):
            return _report(group)
    except CallError as error:
        item = ForwardVerdict(group.title, "undecided", str(error), "undecided")
        return ForwardReport(group.title, [item])


def _report(group):
    """Return the report on a group."""
    family = Family(group)
    items = []
    if any(role in family for role in ("log_joint", "log_likelihood", "bound")):
        items += bounds.check_model(family)
    elif any(role in family for role in ("log_q", "log_p")) and family.density is None:
        items += _two_densities(group, family)
    elif family.density is not None or any(role in family for role in OF_DISTRIBUTION):
        items += _of_distribution(family)
    if {"transform", "base", "log_density"} <= set(family.parts):
        density = family.parts["log_density"]
        pushed = tried(density.name, lambda: changes.check_pushed(family, density))[0]
        first = next((item for item in items if item.name == density.name), None)
        if first is None or pushed.verdict == "wrong":
            items = [pushed, *(item for item in items if item is not first)]
    if "transform" in family:
        items += tried("transform", lambda: changes.check_change(family))
    if "expectation" in family:
        items += _estimators(family, items)
    order = list(family.parts)
    names = [family.parts[role].name for role in order]
    items.sort(key=lambda item: names.index(item.name) if item.name in names else len(names))
    return ForwardReport(family.title, items, family.notes)


def _of_distribution(family):
    """Return the verdicts on a density and the functions that it determines."""
    part = leading(family)
    known = tried(part.name, lambda: [reference(family)])[0]
    if isinstance(known, ForwardVerdict):
        known = Known([], known, False)
    others = dependents(family)
    if not known.sure and part.role == "sample":
        return samplers.check_by_draws(family)
    agrees = agreement(family, known.truths) if known.sure else {}
    blamed = _outvoted(family, part, known, agrees)
    if blamed is not None:
        return blamed
    items = [known.verdict] if known.verdict is not None else []
    if not known.sure:
        names = [each.name for each in others.values()]
        if names:
            family.notes.append(
                f"not compared, because {part.name} is not right: {', '.join(names)}"
            )
        return items
    checked = {
        role: tried(part.name, lambda role=role, part=part: _against(family, known, role, part))
        for role, part in others.items()
    }
    wrong = [role for role, found in checked.items() if found[0].verdict == "wrong"]
    density = family.density
    if density is not None and len(wrong) >= 2 and len(wrong) == len(others):
        mended = _density_alone(family, density, known, wrong)
        if mended is not None:
            items, checked = mended
    right = [role for role, found in checked.items() if found[0].verdict == "ok"]
    if items and items[0].verdict == "ok" and wrong and not right:
        names = ", ".join(others[role].name for role in wrong)
        words = f"it {items[0].words}, but {names} contradicts it, and no other function decides"
        items = [ForwardVerdict(part.name, "undecided", words, "undecided", items[0].numbers)]
    return [*items, *(item for found in checked.values() for item in found)]


def _outvoted(family, part, known, agrees):
    """Return the verdicts if all other functions agree with each other and not with this one.

    Parameters
    ----------
    family : ibpcl.verify.distributions.families.Family
        The functions of one distribution, with sets of parameters.
    part : ibpcl.verify.distributions.roles.Part
        The leading function, such as the density.
    known : ibpcl.verify.distributions.densities.Known
        The distribution of the leading function.
    agrees : dict of str to bool
        Which of the other functions agree with it.

    Returns
    -------
    items : list of ibpcl.verify.distributions.verdicts.ForwardVerdict or None
        None if the other functions do not outvote it.
    """
    against = [role for role, agree in agrees.items() if not agree]
    if known.sure and len(against) < 2:
        return None
    rest = family.without(DENSITIES if part.role in DENSITIES else (part.role,))
    rest.discrete |= known.sure and known.truths[0].support.discrete
    if not any(role in rest for role in OF_DISTRIBUTION):
        return None
    items = _of_distribution(rest)
    lead = leading(rest)
    confirmed = [item for item in items if item.verdict == "ok" and item.name != lead.name]
    if any(item.verdict == "wrong" for item in items) or not confirmed:
        return None
    if known.sure and len(confirmed) + 1 <= len(agrees) - len(against) + 1:
        return None
    names = ", ".join(item.name for item in confirmed)
    others = f"{lead.name}, {names} agree with each other"
    if all(item.name != lead.name for item in items):
        items = [ForwardVerdict(lead.name, "ok", f"agrees with {names}"), *items]
    again = [known for known in tried("", lambda: [reference(rest)]) if isinstance(known, Known)]
    if again and again[0].sure:
        verdict = tried(
            part.name, lambda: _against(rest, again[0]._replace(function=None), part.role, part)
        )[0]
        if verdict.verdict != "wrong" and known.sure:
            return None
        if verdict.verdict == "wrong":
            verdict.words = f"it contradicts the other functions, and {others}: {verdict.words}"
    elif known.sure:
        words = f"it contradicts the other functions, and {others}"
        verdict = ForwardVerdict(part.name, "wrong", words, "wrong")
    else:
        verdict = known.verdict
    family.notes += [note for note in dict.fromkeys(rest.notes) if note not in family.notes]
    return [verdict, *items]


def _density_alone(family, density, known, wrong):
    """Return the verdicts if one change of the density makes all other functions right."""

    def truths(function):
        return [
            truth_of(
                family.log_density(density, point, function), truth.support, hints=(truth.center,)
            )
            for point, truth in zip(family.points, known.truths, strict=True)
        ]

    def is_right(function):
        made = truths(function)
        return supports.is_one(np.array([t.total for t in made])) and agreeing(family, made) == len(
            wrong
        )

    fits = fits_of(density.function, truths, is_right, most=1)
    if not fits:
        return None
    words = f"it integrates to 1 but contradicts everything else: {fits[0].words}"
    kind = fits[0].kind if fits[0].kind in samplers.NAMED else "edit"
    items = [ForwardVerdict(density.name, "wrong", words, kind)]
    right = Known(truths(fits[0].function), items[0], True, fits[0].function)
    checked = {
        role: tried(part.name, lambda role=role, part=part: _against(family, right, role, part))
        for role, part in dependents(family).items()
    }
    return items, checked


def _against(family, known, role, part):
    """Return the verdict on one function against the known density."""
    truths = known.truths
    if role == "sample":
        return samplers.check_sampler(family, truths, part)
    if role in samplers.OF_CDF:
        return samplers.check_cdf(family, truths, part)
    if role in DENSITIES:
        return samplers.check_density_values(family, truths, part)
    if role in ("quantile", "inverse_survival"):
        return samplers.check_quantile(family, truths, part)
    if role == "kl":
        truth_at = density_at(family, truths, known.function)
        return closed_forms.check_kl(family, truth_at, part)
    if role == "expectation":
        return closed_forms.check_expectation(family, truths, part, family.parts["integrand"])
    return closed_forms.check_moment(family, truths, part)


def _two_densities(group, family):
    """Return the verdicts on two densities and the divergence between them."""
    items = []
    truth = {}
    for role in ("log_q", "log_p"):
        if role not in family:
            continue
        part = family.parts[role]
        own = group_of(part.name, {"log_density": part.function})
        own.parts["log_density"] = part._replace(role="log_density")
        own.values = dict(group.values)
        try:
            alone = Family(own)
            known = check_density(alone, 1, lambda truths: 0)
        except CallError as error:
            items.append(ForwardVerdict(part.name, "undecided", str(error), "undecided"))
            continue
        family.notes += [note for note in alone.notes if note not in family.notes]
        items.append(known.verdict)
        if known.sure:
            truth[role] = density_at(alone, known.truths)
    if "kl" in family:
        part = family.parts["kl"]
        if len(truth) < 2:
            words = "both densities must be right first"
            items.append(ForwardVerdict(part.name, "undecided", words, "undecided"))
        else:
            names = [n for role in ("log_q", "log_p") for n in family.parts[role].rest]
            names = list(dict.fromkeys([*names, *part.names]))
            family.parameters = names
            family.points = points.draw(names, ordered=True)
            items += tried(
                part.name,
                lambda: closed_forms.check_kl_between(family, truth["log_q"], truth["log_p"], part),
            )
    return items


def _estimators(family, items):
    """Return the verdicts on the estimators of an expectation and of its gradient."""
    expectation = family.parts["expectation"]
    roles = ("estimator", *unbiased.GRADIENT_ROLES)
    estimators = [family.parts[role].name for role in roles if role in family]
    if any(item.name == expectation.name and item.verdict == "wrong" for item in items):
        if estimators:
            family.notes.append(
                f"not compared, because {expectation.name} is not right: {', '.join(estimators)}"
            )
        return []
    if "integrand" not in family and estimators:
        family.notes.append(f"{expectation.name} was taken as right; with integrand, it is checked")
    items = []
    if "estimator" in family:
        part = family.parts["estimator"]
        items += tried(part.name, lambda: unbiased.check_estimator(family, part, expectation))
    if any(role in family for role in roles[1:]):
        items += tried(
            expectation.name, lambda: unbiased.check_gradient_estimators(family, expectation)
        )
    return items
