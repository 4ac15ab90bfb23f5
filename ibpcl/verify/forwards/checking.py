"""Check the functions of a distribution, an identity between two functions, and whole groups."""

import numpy as np

from ibpcl.verify.forwards import (
    bounds,
    changes,
    closed_forms,
    points,
    samplers,
    supports,
)
from ibpcl.verify.forwards.calling import ITEM_SECONDS, CallError, names_of, quiet, real, within
from ibpcl.verify.forwards.densities import Known, check_density
from ibpcl.verify.forwards.families import Family
from ibpcl.verify.forwards.measures import Support
from ibpcl.verify.forwards.mending import fits_of
from ibpcl.verify.forwards.roles import Part, group_of
from ibpcl.verify.forwards.slips import agree
from ibpcl.verify.forwards.truth import truth_of
from ibpcl.verify.forwards.verdicts import ForwardReport, ForwardVerdict
from ibpcl.verify.witnesses.clock import TimeUp

MOMENTS = ("mean", "variance", "std", "entropy")
SAMPLES = 100_000  # where there is no density


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

    The density is the definition.  It must integrate, or sum, to 1; everything else is held against
    its integrals.  The parameters are those of the density after its first argument.  Other
    functions take them by the same names, or in the same order.

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
        Of parameters, if callable; guessed without it.
    parameters : dict or list of dict, optional
        Values by name; drawn by their names without it.
    discrete : bool
        Whether only integers have mass.
    title : str

    Returns
    -------
    report : ForwardReport
        With a verdict for each function: ok, wrong or undecided.

    Raises
    ------
    ValueError
        If no two functions can be compared.

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

    Returns
    -------
    report : ForwardReport
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
        items += _bounded(family)
    elif any(role in family for role in ("log_q", "log_p")) and not _has_density(family):
        items += _two_densities(group, family)
    elif _has_density(family) or "cdf" in family or "sample" in family:
        items += _of_distribution(family)
    if {"transform", "base", "log_density"} <= set(family.parts):
        density = family.parts["log_density"]
        pushed = _tried(density.name, lambda: changes.check_pushed(family, density))[0]
        first = next((item for item in items if item.name == density.name), None)
        if first is None or pushed.verdict == "wrong":
            items = [pushed, *(item for item in items if item is not first)]
    if "transform" in family:
        items += _tried("transform", lambda: changes.check_change(family))
    if "expectation" in family:
        items += _estimators(family)
    order = list(family.parts)
    names = [family.parts[role].name for role in order]
    items.sort(key=lambda item: names.index(item.name) if item.name in names else len(names))
    return ForwardReport(family.title, items, family.notes)


def _has_density(family):
    return any(role in family for role in supports.ROLES)


def _tried(name, check):
    """Return the verdicts of a check, one that is undecided with its reason if it can't be made."""
    try:
        with within(ITEM_SECONDS):
            found = check()
    except TimeUp as error:
        found = ForwardVerdict(name, "undecided", f"{error}: it is too slow", "undecided")
    except CallError as error:
        found = ForwardVerdict(name, "undecided", str(error), "undecided")
    except Exception as error:  # nothing that a function returns may end the report
        words = f"it could not be evaluated: {type(error).__name__}: {error}"
        found = ForwardVerdict(name, "undecided", words[:300], "undecided")
    return found if isinstance(found, list) else [found]


def _of_distribution(family):
    """Check a density and what belongs to it."""
    if not _has_density(family) and "cdf" not in family:
        return _from_samples(family)
    leading = next(family.parts[r] for r in (*supports.ROLES, "cdf") if r in family)
    known = _tried(leading.name, lambda: [_known(family)])[0]
    if isinstance(known, ForwardVerdict):
        known = Known([], known, False)
    items = [known.verdict] if known.verdict is not None else []
    others = _others(family)
    if not known.sure:
        names = [part.name for part in others.values() if part is not leading]
        if names:
            family.notes.append(
                f"not compared, because {leading.name} is not right: {', '.join(names)}"
            )
        return items
    checked = {
        role: _tried(part.name, lambda role=role, part=part: _against(family, known, role, part))
        for role, part in others.items()
    }
    wrong = [role for role, found in checked.items() if found[0].verdict == "wrong"]
    density = next((family.parts[role] for role in supports.ROLES if role in family), None)
    if density is not None and len(wrong) >= 2 and len(wrong) == len(others):
        mended = _density_alone(family, density, known, wrong)
        if mended is not None:
            items, checked = mended
    return [*items, *(item for found in checked.values() for item in found)]


def _density_alone(family, density, known, wrong):
    """Return the verdicts if one change of the density makes everything else right, else None."""
    log = density.role in ("log_density", "log_mass")

    def truths(function):
        found = []
        for point, truth in zip(family.points, known.truths, strict=True):

            def log_density(x, point=point):
                values = family.values_at(density, x, point, function)
                with np.errstate(all="ignore"):
                    return values if log else np.log(values)

            found.append(truth_of(log_density, truth.support, hints=(truth.center,)))
        return found

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
        role: _tried(part.name, lambda role=role, part=part: _against(family, right, role, part))
        for role, part in _others(family).items()
    }
    return items, checked


def _others(family):
    roles = ("sample", "cdf", "quantile", *MOMENTS, "expectation", "kl")
    return {
        role: family.parts[role]
        for role in roles
        if role in family and not (role == "expectation" and "integrand" not in family)
    }


def _against(family, known, role, part):
    """Return the verdict on one function against the known density."""
    truths = known.truths
    if role == "sample":
        return samplers.check_sampler(family, truths, part)
    if role == "cdf":
        if not _has_density(family):
            return _rising(family, part)
        return samplers.check_cdf(family, truths, part)
    if role == "quantile":
        return samplers.check_quantile(family, truths, part)
    if role == "kl":
        truth_at = _truth_at(family, truths, known.function)
        return closed_forms.check_kl(family, truth_at, part)
    if role == "expectation":
        return closed_forms.check_expectation(family, truths, part, family.parts["integrand"])
    return closed_forms.check_moment(family, truths, part)


def _truth_at(family, truths, function=None):
    """Return a function from a point to the density there; ``function`` is a mended one."""
    part = next(family.parts[role] for role in (*supports.ROLES, "cdf") if role in family)
    given = family.values.get("support")

    def found(point):
        def log_density(x):
            values = family.values_at(part, x, point, function)
            with np.errstate(all="ignore"):
                return values if part.role.startswith("log") else np.log(values)

        support = truths[0].support
        if callable(given):
            support = supports.given_support(given, family, support.discrete, point)
        dimension = 1 if truths[0].nodes.x.ndim == 1 else truths[0].nodes.x.shape[1]
        return truth_of(log_density, support, dimension, hints=_scalars(point))

    return found


def _scalars(point):
    return [value for value in point.values() if np.ndim(value) == 0]


def agreeing(family, truths):
    """Return how many functions of a family agree with a density; nothing is named."""
    count = 0
    for role, part in _others(family).items():
        try:
            count += bool(_agrees(family, truths, role, part))
        except (CallError, ValueError, KeyError):
            continue
    return count


def _agrees(family, truths, role, part):
    if role == "sample":
        return samplers.fits_sampler(family, truths, part)
    if role == "cdf":
        x = samplers.quantiles(truths[0])
        return agree(family.values_at(part, x, family.points[0]), truths[0].cdf(x), atol=1e-6)
    if role == "quantile":
        levels = np.array([0.2, 0.5, 0.8])
        return agree(truths[0].cdf(family.values_at(part, levels, family.points[0])), levels, 1e-6)
    if role in MOMENTS:
        right = np.array([closed_forms.moments_of(truth)[role] for truth in truths])
        return agree(family.numbers(part), right, atol=1e-7)
    return closed_forms.check_expectation(family, truths, part, family.parts["integrand"]).ok


def _known(family):
    """Return what is known of the density of a family, or of that behind its other functions."""
    if _has_density(family):
        return check_density(family, _dimension(family), lambda truths: agreeing(family, truths))
    return _from_cdf(family)


def _from_cdf(family):
    """Return the density behind a distribution function, by differences."""
    part = family.parts["cdf"]

    def log_density_of(point):
        def log_density(x):
            h = 1e-4 * (1e-3 + np.abs(x))
            total = 0.0
            for k, weight in {1: 0.75, 2: -0.15, 3: 1 / 60}.items():
                up = family.values_at(part, x + k * h, point)
                total = total + weight * (up - family.values_at(part, x - k * h, point))
            with np.errstate(all="ignore"):
                return np.log(np.maximum(total / h, 1e-300))

        return log_density

    tried, given = supports.supports_of(family, "cdf")
    for candidate in tried:
        at = [candidate(p) if callable(candidate) else candidate for p in family.points]
        if at[0].discrete:
            continue
        ends = np.array([_ends(family, part, p, s) for p, s in zip(family.points, at, strict=True)])
        if not np.all(np.isfinite(ends)) or not np.allclose(ends, [0, 1], atol=1e-6):
            continue
        truths = [truth_of(log_density_of(p), s) for p, s in zip(family.points, at, strict=True)]
        if all(abs(truth.total - 1) < 1e-5 for truth in truths):
            if not given:
                family.notes.append(f"the support {at[0]} was guessed; give support = (low, high)")
            cdfs = [
                lambda x, point=point: family.values_at(part, x, point) for point in family.points
            ]
            truths = [t._replace(known_cdf=cdf) for t, cdf in zip(truths, cdfs, strict=True)]
            return Known(truths, None, True)
    return Known([], _rising(family, part), False)


def _ends(family, part, point, support):
    """Return a distribution function near the ends of a support."""
    low = support.low if np.isfinite(support.low) else -1e8
    high = support.high if np.isfinite(support.high) else 1e8
    gap = 1e-12 * (1 + np.abs([low, high]))
    return family.values_at(part, np.array([low + gap[0], 0.5, high - gap[1]]), point)[[0, 2]]


def _rising(family, part):
    """Return the verdict on a distribution function by itself."""
    x = np.linspace(-20, 20, 401)
    for point in family.points:
        values = family.values_at(part, x, point)
        values = values[np.isfinite(values)]
        if len(values) and np.any(np.diff(values) < -1e-9):
            words = "a distribution function never falls"
            return ForwardVerdict(part.name, "wrong", words, "not_increasing")
        if len(values) and (values.min() < -1e-9 or values.max() > 1 + 1e-9):
            words = f"it has the value {values.max():.4g}, outside 0..1"
            return ForwardVerdict(part.name, "wrong", words, "not_increasing")
    return ForwardVerdict(part.name, "ok", "rises between 0 and 1")


def _from_samples(family):
    """Check moments by the draws of a sampler, where that is all there is."""
    part = family.parts["sample"]
    from ibpcl.verify.forwards import noise as noises

    known = []
    noise = noises.noise_of(part, family.parameters)
    draws = [noises.draws_of(family, part, noise, p, size=SAMPLES) for p in family.points]
    for role in ("mean", "variance", "std"):
        if role in family:
            known.append(_by_draws(family, family.parts[role], role, draws))
    family.notes.append(f"there is no density: {part.name} was taken as right")
    return known


def _by_draws(family, part, role, draws):
    given = family.numbers(part)
    worst = (0.0, 0.0, 0.0)
    for value, x in zip(given, draws, strict=True):
        mean = float(np.mean(x))
        deviations = (x - mean) ** 2
        right = {"mean": mean, "variance": np.mean(deviations), "std": np.std(x)}[role]
        error = np.std(x) if role == "mean" else np.std(deviations)
        error = float(error / np.sqrt(len(x)))
        if role == "std":
            error = error / (2 * right)
        away = abs(value - right) / max(error, 1e-300)
        if not away <= worst[0]:
            worst = (away, value, right)
    if worst[0] <= bounds.STANDARD_ERRORS:
        words = f"agrees with the draws within {worst[0]:.1f} standard errors"
        return ForwardVerdict(part.name, "ok", words)
    words = f"{worst[1]:.5g} where the draws have {worst[2]:.5g}"
    return ForwardVerdict(part.name, "wrong", words, "wrong")


def _dimension(family):
    """Return the dimension of the random variable, from what was given as parameters."""
    part = next(family.parts[role] for role in supports.ROLES if role in family)
    point = family.points[0]
    given = point.get(part.variable)
    if given is not None:
        return int(np.size(given)) if np.ndim(given) else 1
    sizes = {np.shape(value)[-1] for value in point.values() if np.ndim(value)}
    for size in sorted(sizes):
        if 2 <= size <= 3:
            alone = family.bound(part, point)
            try:
                value = quiet(alone, np.full(size, 0.3), **family.arguments(part, point))
                if np.ndim(value) == 0:
                    return size
            except CallError:
                continue
    return 1


def _two_densities(group, family):
    """Check two densities and the divergence between them."""
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
            truth[role] = _truth_at(alone, known.truths)
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
            items += _tried(
                part.name,
                lambda: closed_forms.check_kl_between(family, truth["log_q"], truth["log_p"], part),
            )
    return items


def _bounded(family):
    """Check a joint density, the evidence, and the bound below it."""
    items = []
    joints = posteriors = None
    names = list(
        dict.fromkeys(
            name
            for role, part in family.parts.items()
            for name in (part.rest if role in _OF_LATENT else part.names)
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
            items += _tried(part.name, lambda: bounds.check_evidence(family, part, joints))
        else:
            evidence = family.numbers(part)
            items.append(ForwardVerdict(part.name, "ok", "taken as right: give log_joint too"))
    if "bound" in family:
        part = family.parts["bound"]
        if evidence is None or not np.all(np.isfinite(evidence)):
            words = "the log evidence is not known: give log_joint(z, ...) or log_evidence"
            items.append(ForwardVerdict(part.name, "undecided", words, "undecided"))
        else:
            items += _tried(
                part.name, lambda: bounds.check_bound(family, part, evidence, joints, posteriors)
            )
    return items


_OF_LATENT = ("log_joint", "log_likelihood", "log_prior", "log_q", "log_density")


def _joint(family, point):
    """Return the log joint density as a function of the latent variable."""
    roles = ("log_joint",) if "log_joint" in family else ("log_likelihood", "log_prior")

    def log_joint(z):
        return sum(family.values_at(family.parts[role], z, point) for role in roles)

    return log_joint


def _estimators(family):
    """Check the estimators of an expectation, and of its gradient."""
    expectation = family.parts["expectation"]
    items = []
    if "estimator" in family:
        part = family.parts["estimator"]
        items += _tried(part.name, lambda: bounds.check_estimator(family, part, expectation))
    if any(role in family for role in bounds.GRADIENT_ROLES):
        items += _tried(
            expectation.name, lambda: bounds.check_gradient_estimators(family, expectation)
        )
    return items


def check_identity(left, right, inputs=None, *, name="", rtol=1e-6):
    """Check that two functions are equal, and name the slip in the left one if they are not.

    Parameters
    ----------
    left, right : callable
        Of the same arguments; the right one is taken as right.
    inputs : dict, or list of dict, optional
        Arguments by name, at one point or several.  Without it numbers are drawn by their names.
    name : str
        What is checked; the name of ``left`` by default.
    rtol : float
        Relative tolerance.

    Returns
    -------
    verdict : ForwardVerdict

    Raises
    ------
    ValueError
        If the right function raises.

    Examples
    --------
    >>> def mine(mu, sigma):
    ...     return mu**2 + sigma
    >>> print(check_identity(mine, lambda mu, sigma: mu**2 + sigma**2).verdict)
    wrong
    >>> check_identity(np.sinh, lambda x: (np.exp(x) - np.exp(-x)) / 2, {"x": 0.3}).ok
    True
    """
    label = name or getattr(left, "__name__", "left")
    every = _points_of(left, right, inputs)
    try:
        wanted = [_outcome(right, point) for point in every]
    except CallError as error:
        raise ValueError(f"check_identity: the right function: {error}") from error

    def values(function):
        return [_outcome(function, point) for point in every]

    try:
        got = values(left)
    except CallError as error:
        return ForwardVerdict(label, "wrong", str(error), "raises")
    for mine, other in zip(got, wanted, strict=True):
        if mine.shape != other.shape:
            words = f"shape {mine.shape}, expected {other.shape}"
            return ForwardVerdict(label, "wrong", words, "wrong")
    given = np.concatenate([each.ravel() for each in got])
    target = np.concatenate([each.ravel() for each in wanted])
    finite = np.isfinite(target)
    if not np.any(finite):
        words = "the right function is not finite at any of the points"
        return ForwardVerdict(label, "undecided", words, "undecided")
    if agree(given[finite], target[finite], rtol, rtol * 1e-3):
        worst = float(np.max(np.abs(given - target)[finite]))
        words = f"equal to {max(worst, 1e-16):.0e} at {len(every)} points"
        return ForwardVerdict(label, "ok", words)
    function = left if hasattr(left, "__code__") else None

    def flat(changed=None, changed_points=None):
        chosen = changed_points or every
        found = [_outcome(changed or left, point).ravel() for point in chosen]
        return np.concatenate(found)[finite]

    part = Part(label, "identity", function or left, list(every[0]))
    terms = points.terms_of(every) if all(each.size == 1 for each in wanted) else None
    return samplers.compared(
        part, given[finite], target[finite], flat, {}, {}, every, "wrong", terms
    )


def _points_of(left, right, inputs):
    if inputs is None:
        try:
            names = names_of(right)
        except CallError:
            names = names_of(left)
        return points.draw(names, ordered=True)
    every = [dict(each) for each in inputs] if isinstance(inputs, (list, tuple)) else [dict(inputs)]
    if len(every) == 1:
        rng = np.random.default_rng(points.SEED)
        for _ in range(3):
            every.append({name: _moved(value, rng) for name, value in every[0].items()})
    return every


def _moved(value, rng):
    """Return a value near by that leaves its domain alone."""
    array = np.asarray(value)
    if array.dtype.kind != "f":
        return value
    inside = np.all((array > 0) & (array < 1))
    power = rng.uniform(0.85, 1.15, array.shape)
    moved = array**power if inside else array * power
    return float(moved) if array.ndim == 0 else moved


def _outcome(function, point):
    """Return what a function gives as an array."""
    try:
        names_of(function)
        value = quiet(function, **point)
    except CallError:
        value = quiet(function, *point.values())
    return real(value)
