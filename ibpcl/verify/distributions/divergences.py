"""Entropies, divergences and cross entropies, by quadrature."""

import inspect
import re
from functools import partial

import numpy as np

from ibpcl.verify.distributions import parameters as sets_of
from ibpcl.verify.distributions.calls import CallError, number
from ibpcl.verify.distributions.comparing import LOOSE, Comparison, undecided
from ibpcl.verify.distributions.moments import entropy
from ibpcl.verify.distributions.slips import Slip
from ibpcl.verify.distributions.vocabulary import FIRST, SECOND

MASS = 1e-12  # share of the highest mass in which a log density may be non-finite
ANOTHER = ("other", "p", "q", "prior", "dist", "distribution", "another")


def kl(first, second):
    """Return the divergence KL[first || second].

    Parameters
    ----------
    first, second : ibpcl.verify.distributions.quadrature.Density
        The densities.

    Returns
    -------
    divergence, error : float
        In nats; NaN if it is infinite, or its integral does not converge.
    """
    with np.errstate(all="ignore"):
        gap = first.log_p - np.log(first.total) - second.log_at(first.nodes.x)
    mass = first.p * first.nodes.weights
    heavy = mass > MASS * np.nanmax(mass) if np.any(np.isfinite(mass)) else np.ones(len(mass), bool)
    if np.any(heavy & ~np.isfinite(gap)):
        return np.nan, np.inf
    return first.expect(np.where(np.isfinite(gap), gap, 0.0))


def sides_of(names, parameters):
    """Return the arguments of a divergence that belong to its first and to its second distribution.

    The distribution whose arguments come first is the first one.

    Parameters
    ----------
    names : sequence of str
        Arguments of the divergence.
    parameters : sequence of str
        Parameters of the density.

    Returns
    -------
    first, second : dict of str to str
        Arguments by parameter; ``second`` is empty if there is one distribution only.

    Raises
    ------
    CallError
        If the names are ambiguous.

    Examples
    --------
    >>> sides_of(["mu", "sigma", "mu0", "sigma0"], ["mu", "sigma"])
    ({'mu': 'mu', 'sigma': 'sigma'}, {'mu': 'mu0', 'sigma': 'sigma0'})
    >>> sides_of(["mu_p", "mu_q"], ["mu"])
    ({'mu': 'mu_p'}, {'mu': 'mu_q'})
    """
    q = {}
    p = {}
    for parameter in parameters:
        bare = re.escape(re.sub(r"_?\d$", "", parameter))
        own = [name for name in names if name in (parameter, re.sub(r"_?\d$", "", parameter))]

        def fitting(after, before, taken, bare=bare):
            pattern = rf"{bare}{after}|{before}_{bare}"
            return [name for name in names if re.fullmatch(pattern, name) and name not in taken]

        second = fitting(SECOND, "(p|prior|old)", own)
        first = own + fitting(FIRST, "(q|post|posterior|new)", own + second)
        if first and second:
            q[parameter] = first[-1] if len(first) > len(own) else first[0]
            p[parameter] = second[0]
        elif len(first) == 2:
            q[parameter], p[parameter] = first
        elif first:
            q[parameter] = first[0]
    k = len(parameters)
    rest = [name for name in names if name not in (*q.values(), *p.values())]
    if rest and len(names) == 2 * k:
        q, p = (dict(zip(parameters, half, strict=True)) for half in (names[:k], names[k:]))
        rest = []
    if rest or len(q) < k or (p and len(p) < k):
        raise CallError(
            f"which of its arguments ({', '.join(names)}) are parameters of q and which of p is "
            f"not known: call them {', '.join(f'{n}_q, {n}_p' for n in parameters)}"
        )
    if p and names.index(next(iter(p.values()))) < names.index(next(iter(q.values()))):
        return p, q
    return q, p


def standard(names):
    """Return the parameters of the standard member of a family, such as N(0, 1).

    Parameters
    ----------
    names : sequence of str
        Names of the parameters.

    Returns
    -------
    values : dict of str to float
        One value for each parameter.
    """
    plain = {"real": 0.0, "share": 0.5, "positive": 1.0, "count": 1}
    return {name: plain[sets_of.domain(name)] for name in names}


def compared(model, part):
    """Compare a divergence or cross entropy of two members of a family with quadrature.

    Parameters
    ----------
    model : ibpcl.verify.distributions.model.Model
        The family.
    part : ibpcl.verify.distributions.reading.Part
        The divergence, in nats.

    Returns
    -------
    comparison : ibpcl.verify.distributions.comparing.Comparison
        Either order is right if the order of the arguments does not say which one is meant.

    Raises
    ------
    CallError
        If its arguments are ambiguous, or arrays that are not given.
    """
    if model.density is None:
        raise CallError("without a density it cannot be compared: give log_density")
    if part.owner is not None and len(part.names) == 1 and part.names[0] in ANOTHER:
        return _of_objects(model, part)
    first = {name: name for name in model.parameters}
    second = {}
    if part.owner is None or part.names:
        first, second = sides_of(part.names, model.parameters)
    sets = _sets_of(model, first, second)
    pairs = []
    for values in sets:
        at_first = {parameter: values[name] for parameter, name in first.items()}
        at_second = {parameter: values[name] for parameter, name in second.items()}
        other = at_second or standard(model.parameters)
        pairs.append((model.at({**values, **at_first}), model.at({**values, **other})))
    is_open = not second or _is_open(part, list(second.values()))
    return between(model, part, sets, pairs, partial(model.numbers, part), is_open)


def _sets_of(model, first, second):
    """Return sets with the arguments of a divergence: two sets of the model make one."""
    names = [*first.values(), *second.values()]
    missing = [name for name in names if name not in model.sets[0]]
    if not missing:
        return model.sets
    if model.is_given and any(map(np.ndim, model.sets[0].values())):
        raise CallError(f"its parameters are arrays: give `{missing[0]}` in parameters")
    # given values may be the same in both distributions, which hides mistakes
    sets = sets_of.draw(model.parameters) if model.is_given else model.sets
    return tuple(
        {
            **one,
            **{name: one[parameter] for parameter, name in first.items()},
            **{name: two[parameter] for parameter, name in second.items()},
        }
        for one, two in zip(sets, _rotated(sets), strict=True)
    )


def _rotated(sets):
    return [*sets[1:], sets[0]]


def _is_open(part, second):
    """Return whether the signature leaves open which distribution comes first in a divergence.

    It does if p comes before q, or 0 before 1.  A docstring or a name such as kl_qp decides.
    """
    text = f"{part.name} {inspect.getdoc(part.function) or ''}".lower()
    if re.search(r"\b[qp]\)?\s*\|\|?\s*\(?[qp]\b|kl_?(qp|pq)|\bkl\s*\(\s*[qp]\s*,", text):
        return False
    return any(re.search(r"(q|1|posterior|post|new|b|2)$|^(q|post)", name) for name in second)


def _of_objects(model, part):
    """Compare a method that takes another object of its class."""
    (name,) = part.names
    others = _rotated(model.sets)
    pairs = [(model.at(a), model.at(b)) for a, b in zip(model.sets, others, strict=True)]
    sets = tuple({**a, name: b} for a, b in zip(model.sets, others, strict=True))

    def values_of(function, chosen):
        found = []
        for values in chosen:
            called = model.callable_of(part, values, function)
            found.append(number(called, model.made(part, values[name])))
        return np.array(found)

    return between(model, part, sets, pairs, values_of)


def between(model, part, sets, pairs, values_of, is_open=False):
    """Compare a divergence or cross entropy with that of two densities at each set.

    Parameters
    ----------
    model : ibpcl.verify.distributions.model.Model
        The distribution of the first density.
    part : ibpcl.verify.distributions.reading.Part
        The function.
    sets : sequence of dict
        Sets of parameters.
    pairs : list of (Density, Density)
        Both densities at each set.
    values_of : callable
        ``values_of(function, sets)`` returns the values of a changed version, or of the function
        itself for None.
    is_open : bool
        Whether the other order of the two densities is right as well.

    Returns
    -------
    comparison : ibpcl.verify.distributions.comparing.Comparison
        With the usual slips as other quantities.
    """
    found = [(values, *pair, *kl(*pair)) for values, pair in zip(sets, pairs, strict=True)]
    found = [row for row in found if np.isfinite(row[3])]
    if not found:
        words = "the divergence is infinite, or its integral does not converge, at these parameters"
        return undecided(part, words)
    sets, first, second, right, error = zip(*found, strict=True)
    pairs = list(zip(first, second, strict=True))
    right = np.array(right)
    backward = np.array([kl(p, q)[0] for q, p in pairs])
    entropies = np.array([entropy(q)[0] for q in first])
    others = {
        Slip("reversed_divergence", "the reversed divergence, KL[p || q]"): backward,
        Slip("reversed_divergence", "minus the reversed divergence"): -backward,
        Slip("other_quantity", "the cross entropy: the entropy of q is not subtracted"): (
            right + entropies
        ),
        Slip("other_quantity", "the sum of both divergences"): right + backward,
        Slip("other_quantity", "the mean of both divergences"): (right + backward) / 2,
    }
    either = {"it is KL[p || q], with its arguments in the other order": backward}
    if part.role == "cross_entropy":
        others = {Slip("other_quantity", "the divergence, without the entropy of q"): right}
        right = right + entropies
        either = {}
    is_rough = model.is_rough or any(q.nodes.axes > 1 or q.is_rough for q in first)
    error = np.array(error) + (LOOSE * (1 + np.abs(right)) if is_rough else 0.0)

    def at_sets(function=None, changed=None):
        return values_of(function, changed or sets)

    return Comparison(
        at_sets,
        right,
        error,
        sets,
        others=others,
        either=either if is_open else {},
    )
