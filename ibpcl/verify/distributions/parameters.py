"""Sets of parameters at which functions are compared: given, or drawn by the names of arguments."""

import re

import numpy as np

from ibpcl.verify.distributions import vocabulary
from ibpcl.verify.distributions.calls import CallError, quiet

DRAWS = 4  # sets of parameters
SEED = 20
# Replacements of guessed domains, in the order in which they are tried.
OTHER_DOMAINS = ({}, {"real": "positive"}, {"positive": "share"}, {"real": "share"})
# How code uses an array; {} is the name.
AS_ARRAY = (
    r"\b(len|sum|prod|diag|inv|det|slogdet|solve|cholesky|softmax|logsumexp|cumsum|dot)\((self\.)?{0}\b"
    r"|\b{0}(\[|\.shape|\.sum|\.max|\.min|\.size\b|\.T\b|\.dot| @ )|@ (self\.)?{0}\b"
)


def domain(name):
    """Return the domain from which a parameter is drawn.

    Parameters
    ----------
    name : str
        Name of the parameter.

    Returns
    -------
    domain : {"positive", "share", "count", "real"}
        "real" for a name that the vocabulary does not know.
    """
    return vocabulary.domain(name) or "real"


def draw(names, instead=None, shapes=None):
    """Draw several sets of parameters from their usual domains.

    Parameters
    ----------
    names : sequence of str
        Names of the parameters.
    instead : dict of str to str, optional
        Domains that replace others, such as ``{"real": "positive"}``.
    shapes : dict of str to str, optional
        Kinds of the parameters that are arrays, as :func:`arrays_among` returns them.

    Returns
    -------
    sets : tuple of dict of str to object
        The sets of parameters.
    """
    rng = np.random.default_rng(SEED)
    shapes = shapes or {}
    size = 2 if {"triangle", "covariance"} & set(shapes.values()) else 3
    found = []
    for _ in range(DRAWS):
        values = {}
        for name in names:
            kind = (instead or {}).get(domain(name), domain(name))
            if name in shapes:
                values[name] = _array(rng, shapes[name], kind, size)
            else:
                values[name] = _number(rng, kind)
        _put_in_order(values)
        found.append(values)
    return tuple(found)


def _number(rng, kind):
    if kind == "count":
        return int(rng.integers(3, 9))
    if kind == "positive":
        return float(np.round(rng.uniform(0.6, 2.9), 3))
    if kind == "share":
        return float(np.round(rng.uniform(0.12, 0.88), 3))
    return float(np.round(rng.normal(), 3))


def _array(rng, shape, kind, size):
    if shape == "simplex":
        return rng.dirichlet(np.full(size, 3.0))
    lower = np.tril(rng.normal(scale=0.3, size=(size, size)), -1)
    lower += np.diag(rng.uniform(0.6, 1.5, size))
    if shape == "triangle":
        return lower
    if shape == "covariance":
        return lower @ lower.T
    return np.array([_number(rng, kind) for _ in range(size)])


def _put_in_order(values):
    for low, high in vocabulary.ORDERED:
        if low in values and high in values and np.ndim(values[low]) == 0:
            if values[low] >= values[high]:
                values[high] = values[low] + 1.5
            for name in vocabulary.BETWEEN:
                if name in values and domain(high) == domain(low):
                    values[name] = round(0.65 * values[low] + 0.35 * values[high], 3)


def arrays_among(names, text):
    """Return which parameters are arrays, by their use in the code.

    Parameters
    ----------
    names : sequence of str
        Names of the parameters.
    text : str
        Source of the functions.

    Returns
    -------
    shapes : dict of str to str
        "simplex", "triangle", "covariance" or "vector" for each array.

    Examples
    --------
    >>> arrays_among(["mu", "L", "s"], "np.linalg.solve(L, x - mu) * s / len(mu)")
    {'mu': 'vector', 'L': 'triangle'}
    """
    shapes = {}
    for name in names:
        if re.search(AS_ARRAY.format(re.escape(name)), text):
            kinds = vocabulary.ARRAYS.items()
            fits = (kind for kind, pattern in kinds if re.fullmatch(pattern, name))
            shapes[name] = next(fits, "vector")
    return shapes


def given_sets(values, names, optional):
    """Return the sets of parameters that a file gives.

    Parameters
    ----------
    values : dict of str to object
        ``parameters`` and ``inputs`` of the file.
    names : sequence of str
        Names of the parameters.
    optional : set of str
        Parameters that have a default.

    Returns
    -------
    sets : tuple of dict or None
        One given set is joined by two near it.  None without given parameters.

    Raises
    ------
    CallError
        If a parameter is missing.
    """
    given = values.get("parameters")
    inputs = values.get("inputs") or {}
    if given is None and names and set(names) <= set(inputs):
        given = {name: inputs[name] for name in names}
    if given is None:
        return None
    given = quiet(given) if callable(given) else given
    given = given if isinstance(given, (list, tuple)) else [given]
    found = [dict(each) for each in given]
    missing = [name for name in names if name not in found[0] and name not in optional]
    if missing:
        raise CallError(f"parameters has no `{missing[0]}`, an argument of the distribution")
    return tuple(found if len(found) > 2 else [*found, *_around(found[0])])


def _around(values):
    """Return two sets near a given one; shares stay in (0, 1) and signs stay as they are."""
    found = []
    for factor in (1.13, 0.91):
        other = {}
        for name, value in values.items():
            plain = isinstance(value, float) and np.isfinite(value)
            inside = plain and 0 < value < 1
            other[name] = value ** (1 / factor) if inside else value * factor if plain else value
        if any(isinstance(value, float) and other[n] != value for n, value in values.items()):
            found.append(other)
    return found


def shown(values):
    """Return a set of parameters as text.

    Parameters
    ----------
    values : dict of str to object
        Parameters by name.

    Returns
    -------
    text : str
        Such as "mu = 0.3, sigma = 1.2"; arrays are left out.
    """
    numbers = [f"{name} = {value:g}" for name, value in values.items() if np.ndim(value) == 0]
    return ", ".join(numbers) or "the given arrays"
