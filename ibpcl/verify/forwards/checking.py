"""Check all functions of a distribution, given one by one or as a group of a file."""

import numpy as np

from ibpcl.verify.forwards import bounds, changes, closed_forms, points, samplers, supports
from ibpcl.verify.forwards.calling import CallError
from ibpcl.verify.forwards.densities import Known, check_density
from ibpcl.verify.forwards.families import Family
from ibpcl.verify.forwards.mending import fits_of
from ibpcl.verify.forwards.references import (
    agreeing,
    check_rising,
    density_at,
    dependents,
    reference,
)
from ibpcl.verify.forwards.roles import group_of
from ibpcl.verify.forwards.truth import truth_of
from ibpcl.verify.forwards.trying import tried
from ibpcl.verify.forwards.verdicts import ForwardReport, ForwardVerdict


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
    report : ibpcl.verify.forwards.verdicts.ForwardReport
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
      log_density: ok: integrates to 1 over (0, inf) for 4 sets of parameters
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
    group : ibpcl.verify.forwards.roles.Group
        The functions.

    Returns
    -------
    report : ibpcl.verify.forwards.verdicts.ForwardReport
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
    elif family.density is not None or "cdf" in family or "sample" in family:
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
        items += _estimators(family)
    order = list(family.parts)
    names = [family.parts[role].name for role in order]
    items.sort(key=lambda item: names.index(item.name) if item.name in names else len(names))
    return ForwardReport(family.title, items, family.notes)


def _of_distribution(family):
    """Return the verdicts on a density and the functions that it determines."""
    if family.density is None and "cdf" not in family:
        return samplers.check_by_draws(family)
    leading = family.density or family.parts["cdf"]
    known = tried(leading.name, lambda: [reference(family)])[0]
    if isinstance(known, ForwardVerdict):
        known = Known([], known, False)
    items = [known.verdict] if known.verdict is not None else []
    others = dependents(family)
    if not known.sure:
        names = [part.name for part in others.values() if part is not leading]
        if names:
            family.notes.append(
                f"not compared, because {leading.name} is not right: {', '.join(names)}"
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
    return [*items, *(item for found in checked.values() for item in found)]


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
    if role == "cdf":
        if family.density is None:
            return check_rising(family, part)
        return samplers.check_cdf(family, truths, part)
    if role == "quantile":
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


def _estimators(family):
    """Return the verdicts on the estimators of an expectation and of its gradient."""
    expectation = family.parts["expectation"]
    items = []
    if "estimator" in family:
        part = family.parts["estimator"]
        items += tried(part.name, lambda: bounds.check_estimator(family, part, expectation))
    if any(role in family for role in bounds.GRADIENT_ROLES):
        items += tried(
            expectation.name, lambda: bounds.check_gradient_estimators(family, expectation)
        )
    return items
