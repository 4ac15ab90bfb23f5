"""Distributions that a file defines as subclasses of SciPy's rv_continuous and rv_discrete.

SciPy calls the methods with underscores, such as ``_pdf(x, *shapes)``, without location and scale.
An object of the class gives the ends ``a`` and ``b`` of the support, and the names and the domain
of the shape parameters.
"""

import inspect
import sys
from functools import cache

from ibpcl.verify.distributions import points
from ibpcl.verify.distributions.calling import CallError, names_of, quiet
from ibpcl.verify.distributions.measures import Support
from ibpcl.verify.distributions.roles import Group, Part

# Methods by their role.
METHODS = {
    "_pdf": "density",
    "_logpdf": "log_density",
    "_pmf": "mass",
    "_logpmf": "log_mass",
    "_cdf": "cdf",
    "_logcdf": "log_cdf",
    "_sf": "survival",
    "_logsf": "log_survival",
    "_ppf": "quantile",
    "_isf": "inverse_survival",
    "_rvs": "sample",
    "_entropy": "entropy",
}
# Roles of the results of ``_stats``, in their order.
STATISTICS = ("mean", "variance", "skewness", "excess_kurtosis")
# Arguments of methods that are not shape parameters.
FURTHER = ("size", "random_state", "moments")
# Methods that SciPy uses without values to compare.
SILENT = ("_argcheck", "_get_support", "_shape_info", "_fitstart", "_updated_ctor_param")


def is_subclass(value):
    """Return whether a class is derived from SciPy's rv_continuous or rv_discrete.

    Parameters
    ----------
    value : type
        A class.

    Returns
    -------
    bool
        False if the file has not imported ``scipy.stats``.
    """
    stats = sys.modules.get("scipy.stats")
    return stats is not None and issubclass(value, (stats.rv_continuous, stats.rv_discrete))


def groups_of_class(name, kind, module):
    """Return the groups of functions of a subclass, one for each of its objects in a module.

    Parameters
    ----------
    name : str
        Name of the class.
    kind : type
        The class.
    module : module
        The module.

    Returns
    -------
    groups : list of Group
        Without an object in the module, the group of an object that is made without arguments, or
        with those that have no default.  Its support is then known only from ``_get_support``.
    """
    made = {key: value for key, value in vars(module).items() if type(value) is kind}
    if not made:
        maker = _maker(kind)
        return [] if maker is None else [_group(name, name, kind, maker, "_get_support")]
    titles = [name] if len(made) == 1 else [f"{name} {key}" for key in made]
    return [
        _group(title, name, kind, _given(value), None)
        for title, value in zip(titles, made.values(), strict=True)
    ]


def _given(value):
    """Return a function that returns an object."""
    return lambda: value


def _maker(kind):
    """Return a function that makes objects of a class from the arguments without a default."""
    try:
        arguments = inspect.signature(kind).parameters.values()
    except (TypeError, ValueError):
        return None
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    needed = [
        argument.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for argument in arguments
        if argument.kind in plain and argument.default is inspect.Parameter.empty
    ]

    @cache  # SciPy takes a millisecond to make an object
    def make(**options):
        return quiet(kind, **options)

    return _signed(make, needed)


def _signed(function, arguments):
    """Return a function of named arguments that shows them in its signature."""

    def signed(**options):
        return function(**options)

    signed.__signature__ = inspect.Signature(arguments)
    return signed


def _methods(kind):
    """Return the methods of a class that are defined in its module."""
    methods = {}
    for parent in reversed(kind.__mro__):
        if parent.__module__ == kind.__module__:
            methods.update(vars(parent))
    return {key: value for key, value in methods.items() if inspect.isfunction(value)}


def _group(title, name, kind, maker, support_from):
    """Return the group of an object of a subclass."""
    group = Group(title)
    methods = _methods(kind)
    for key, role in METHODS.items():
        if key in methods:
            arguments = names_of(methods[key])[1:]
            group.parts[role] = Part(f"{name}.{key}", role, methods[key], arguments, maker)
    shapes = _shapes(group, methods)
    discrete = issubclass(kind, sys.modules["scipy.stats"].rv_discrete)
    needed = names_of(maker)

    def object_at(point):
        return maker(**{key: point[key] for key in needed})

    def admits(point):
        try:
            return bool(quiet(object_at(point)._argcheck, *(point[each] for each in shapes)))
        except CallError:
            return False

    def support(**point):
        low, high = object_at(point)._get_support(*(point[each] for each in shapes))
        return Support(float(low), float(high), discrete)

    group.values["admits"] = admits
    if support_from is None or support_from in methods:
        keywords = [
            inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY) for each in [*needed, *shapes]
        ]
        group.values["support"] = _signed(support, keywords)
    if "_stats" in methods:
        group.parts |= _statistics(
            name, methods["_stats"], maker, object_at, [*needed, *shapes], admits
        )
    if "_munp" in methods:
        group.parts |= _moments(name, methods["_munp"], maker)
    known = {*METHODS, *SILENT, "_stats", "_munp"}
    missed = [key for key in methods if key.startswith("_") and not key.startswith("__")]
    unknown = [key for key in missed if key not in known and hasattr(kind.__base__, key)]
    if unknown:
        group.values["notes"] = [f"not compared: {', '.join(unknown)}"]
    return group


def _shapes(group, methods):
    """Return the names of the shape parameters, from the first method that takes them."""
    for part in group.parts.values():
        names = part.names[1:] if part.role not in ("sample", "entropy") else part.names
        return [name for name in names if name not in FURTHER]
    if "_stats" in methods:
        return [name for name in names_of(methods["_stats"])[1:] if name not in FURTHER]
    return []


def _statistics(name, function, maker, object_at, names, admits):
    """Return the parts of ``_stats``; a result that is None is left to SciPy."""
    arguments = names_of(function)[1:]
    given = range(len(STATISTICS))
    for instead in points.OTHER_DOMAINS:
        point = points.draw(names, ordered=True, instead=instead)[0]
        if not admits(point):
            continue
        try:
            values = quiet(
                function, object_at(point), *(point[each] for each in arguments if each in point)
            )
        except CallError:
            break
        given = [i for i, value in enumerate(values[: len(STATISTICS)]) if value is not None]
        break
    return {
        role: Part(
            f"{name}._stats ({role})", role, function, arguments, maker, lambda out, i=i: out[i]
        )
        for i, role in enumerate(STATISTICS)
        if i in given
    }


def _moments(name, function, maker):
    """Return the parts of ``_munp``, the first four moments about 0."""
    order, *arguments = names_of(function)[1:]
    return {
        f"moment_{n}": Part(
            f"{name}._munp ({order} = {n})",
            f"moment_{n}",
            function,
            arguments,
            maker,
            None,
            {order: n},
        )
        for n in range(1, 5)
    }
