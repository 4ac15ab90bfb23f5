"""The functions of a distribution in a user's file: plain functions, classes, SciPy's subclasses.

The role of a function follows from its name, by the tables of
:mod:`ibpcl.verify.distributions.vocabulary`.
"""

import inspect
import sys
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ibpcl.verify.distributions import vocabulary
from ibpcl.verify.distributions.calls import CallError, names_of, quiet
from ibpcl.verify.distributions.quadrature import Support
from ibpcl.verify.distributions.vocabulary import (
    LATER,
    LEVEL,
    NOISE_AND_PARAMETERS,
    OF_CDF,
    OF_DENSITY,
    OF_NAME,
    OF_QUANTILE,
    ROLES,
    VALUE,
    VARIABLES,
    plain_name,
    role_of,
)

HIDDEN = (*OF_DENSITY, *OF_CDF, *OF_QUANTILE)  # roles of methods such as _pdf


class Part(NamedTuple):
    """A user's function with its role.

    Attributes
    ----------
    name : str
        Name in the file; ``Class.method`` for a method.
    role : str
        A role of :data:`ibpcl.verify.distributions.vocabulary.ROLES`.
    function : callable
        The function, or the unbound method of a class.
    names : list of str
        Names of the arguments that a call gives, without ``self``.
    owner : callable or None
        Class of a method, or a function that makes its object.
    """

    name: str
    role: str
    function: object
    names: tuple
    owner: object = None

    @property
    def takes_value(self):
        """True if the function takes a value of the random variable, or a level."""
        return ROLES[self.role].takes in (VALUE, LEVEL)

    @property
    def takes_noise(self):
        """True if the function takes noise or a generator."""
        return ROLES[self.role].takes == NOISE_AND_PARAMETERS

    @property
    def variable(self):
        """Argument that takes a value of the random variable.

        It is the first one, unless only a later one has a usual name such as ``x``.
        """
        if self.names[0] in VARIABLES or ROLES[self.role].takes == LEVEL:
            return self.names[0]
        later = (*LATER, "k") if self.role in ("mass", "log_mass") else LATER
        return next((name for name in self.names[1:] if name in later), self.names[0])

    @property
    def rest(self):
        """Names of the arguments that are parameters, perhaps with noise."""
        if not self.takes_value:
            return list(self.names)
        return [name for name in self.names if name != self.variable]

    @property
    def parameters(self):
        """Names of the arguments that are parameters, those of the constructor first."""
        own = self.rest
        if self.takes_noise:
            own = [name for name in own if not vocabulary.is_noise(name)]
        made = arguments_of(self.owner) if self.owner is not None else []
        return list(dict.fromkeys([*made, *own]))


@dataclass(frozen=True)
class Group:
    """Functions of one distribution.

    Attributes
    ----------
    title : str
        Name of the group.
    parts : dict of str to Part
        Functions by role; of two with one role, the last one in the file.
    values : dict of str to object
        Values of the file: ``support``, ``parameters``, and ``inputs`` from ``check_inputs``.
    skipped : dict of str to str
        Functions that are not compared, with the reasons.
    """

    title: str
    parts: dict = field(default_factory=dict)
    values: dict = field(default_factory=dict)
    skipped: dict = field(default_factory=dict)

    @property
    def names(self):
        """Names of the functions; methods without the name of their class."""
        return [part.name.rpartition(".")[2] for part in self.parts.values()]

    @property
    def has_density(self):
        """Whether a function of the group is a density."""
        return any(role in self.parts for role in (*OF_DENSITY, "log_q", "log_p"))

    @property
    def is_checkable(self):
        """True if at least two functions, or a density and its integral, can be compared."""
        parts = self.parts
        if any(part.takes_value and not part.names for part in parts.values()):
            return False
        posterior = {"log_joint", "log_likelihood", "log_prior"} & set(parts)
        if posterior and not {"bound", "log_evidence", "log_q"} & set(parts):
            return False  # a posterior density is usually not normalized
        return any(needed <= set(parts) for needed in vocabulary.NEEDED)


def arguments_of(function, takes_noise=False):
    """Return the names of the arguments that a check gives.

    Optional arguments are left alone, except numbers whose name the vocabulary knows.

    Parameters
    ----------
    function : callable
        The function or class.
    takes_noise : bool
        Whether optional noise and generators are given.

    Returns
    -------
    names : list of str
        Names in the order of the signature.

    Raises
    ------
    CallError
        If the signature is unknown.

    Examples
    --------
    >>> def f(x, data=None, rate=1.0, terms=3000): ...
    >>> arguments_of(f)
    ['x', 'rate']
    """
    names = names_of(function)
    known = inspect.signature(function).parameters

    def is_given(name):
        default = known[name].default
        if default is inspect.Parameter.empty:
            return True
        if takes_noise and vocabulary.is_noise(name):
            return True
        number = isinstance(default, (int, float)) and not isinstance(default, bool)
        return number and bool(vocabulary.domain(name))

    return [name for name in names if is_given(name)]


def part_of(name, role, function, owner=None):
    """Return a function with its role.

    Parameters
    ----------
    name, role : str
        Name in the reports, and the role.
    function : callable
        The function, or the unbound method of a class.
    owner : type or callable, optional
        Class of a method, or a function that makes its object.

    Returns
    -------
    part : Part
        The function with the names of its arguments.
    """
    takes_noise = ROLES[role].takes == NOISE_AND_PARAMETERS
    names = arguments_of(function, takes_noise)
    return Part(name, role, function, tuple(names[1:] if owner is not None else names), owner)


def group_of(title, functions, support=None, parameters=None):
    """Return a group of given functions.

    Parameters
    ----------
    title : str
        Name of the group.
    functions : dict of str to callable or None
        Functions by role; None is left out.
    support : (float, float), or callable, optional
        Support of the distribution, or a function from parameters to supports.
    parameters : dict or list of dict, optional
        Parameters by name.

    Returns
    -------
    group : Group
        The functions with their roles.
    """
    parts = {}
    for role, function in functions.items():
        if function is not None:
            label = getattr(function, "__name__", role)
            parts[role] = part_of(role if label == "<lambda>" else label, role, function)
    given = {"support": support, "parameters": parameters}
    return Group(title, parts, {key: value for key, value in given.items() if value is not None})


def groups_in(module, taken=()):
    """Return the groups of functions in a module that can be checked.

    Parameters
    ----------
    module : module
        The module.
    taken : set of str
        Names to leave out, such as those of gradients.

    Returns
    -------
    groups : list of Group
        The groups.
    """
    groups = {}
    classes = []
    for name, value in vars(module).items():
        own = getattr(value, "__module__", "") == module.__name__
        if name.startswith("_") or name in taken:
            continue
        if inspect.isclass(value) and own:
            classes += groups_of_class(name, value, module)
            continue
        role, of = role_of(name)
        group = groups.setdefault(of, Group(of)) if role else None
        if role in ("support", "parameters"):
            group.values[role] = value
        elif role and inspect.isfunction(value) and own:
            group.parts[role] = part_of(name, role, value)
    inputs = _inputs_in(module)
    found = _joined([*map(_settled, groups.values()), *classes])
    for group in found:
        group.values.setdefault("inputs", inputs)
    return [group for group in found if group.is_checkable]


def _inputs_in(module):
    """Return the numbers by name from ``check_inputs`` of a module; empty without it."""
    function = getattr(module, "check_inputs", None)
    try:
        given = quiet(function) if callable(function) else {}
    except CallError:
        return {}
    if not isinstance(given, dict):
        return {}
    return {
        name: value
        for name, value in given.items()
        if np.isscalar(value) or (isinstance(value, np.ndarray) and not value.ndim)
    }


def _settled(group):
    """Return a group without names that mean something else when they stand alone."""
    parts = dict(group.parts)
    for name, needed in vocabulary.ONLY_BESIDE.items():
        role = OF_NAME[name]
        if role in parts and plain_name(parts[role].name).endswith(name) and needed not in parts:
            del parts[role]
    return Group(group.title, parts, group.values, group.skipped)


def _joined(groups):
    """Merge a group that cannot be checked into the group of the same name, or the only group."""
    whole = [group for group in groups if group.is_checkable]
    loose = [group for group in groups if not group.is_checkable]
    found = []
    for group in whole:
        parts = dict(group.parts)
        values = dict(group.values)
        for other in loose:
            akin = bool(other.title) and other.title.lower().rstrip(
                "s"
            ) == group.title.lower().rstrip("s")
            # sample_q belongs to log_q, and any further word may name a bound or a divergence
            beside = other.title in ("q", "p") and f"log_{other.title}" in group.parts
            alone = len(whole) == 1 and (not other.title or not other.has_density)
            if akin or beside or alone:
                parts = {**other.parts, **parts}
                values = {**other.values, **values}
        title = group.title or "distribution"
        found.append(Group(title, parts, values, group.skipped))
    return found


def _of_class(title, kind, owner):
    """Return the group of the methods and properties of a class, whose objects an owner makes."""
    name = kind.__name__
    parts = {}
    values = {}
    skipped = {}
    methods = _defined_in(kind)
    for key, value in methods.items():
        role = OF_NAME.get(plain_name(key), "")
        bare = key.lstrip("_")
        if not role and bare not in methods and not key.startswith("__"):
            # _pdf and _ppf of a base class; a private _mean or _sample may be anything
            hidden = OF_NAME.get(plain_name(bare), "")
            role = hidden if hidden in HIDDEN or key == "_rvs" else ""
        is_property = isinstance(value, property)
        function = value.fget if is_property else value
        if role == "support" and isinstance(value, (tuple, list, range)):
            values[role] = value
        elif role and role not in ("support", "parameters"):
            if not inspect.isfunction(function):
                skipped[f"{name}.{key}"] = "it is not a plain method"
            elif not _is_abstract(function):
                parts[role] = part_of(f"{name}.{key}", role, function, owner)
    if "fit" in methods and set(parts) <= {"transform", "inverse"}:  # a scaler, PCA
        parts = {}
    try:
        arguments_of(owner)
    except CallError:
        parts = {}
    return _settled(Group(title, parts, values, skipped))


def _defined_in(kind):
    """Return the attributes of a class and its parents that are defined in its module."""
    found = {}
    for parent in reversed(kind.__mro__):
        if parent.__module__ == kind.__module__:
            found.update(vars(parent))
    return found


def _is_abstract(function):
    """Return whether a method does nothing but raise NotImplementedError."""
    code = function.__code__
    return "NotImplementedError" in code.co_names and len(code.co_names) == 1


def groups_of_class(name, kind, module):
    """Return the groups of a class; of a SciPy distribution, one for each object in a module.

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
        Without an object of a SciPy distribution, one is made if it needs no arguments.
    """
    stats = sys.modules.get("scipy.stats")
    if stats is None or not issubclass(kind, (stats.rv_continuous, stats.rv_discrete)):
        return [_of_class(name, kind, kind)]
    objects = {key: value for key, value in vars(module).items() if type(value) is kind}
    if objects:
        titles = [name] if len(objects) == 1 else [f"{name} {key}" for key in objects]
        pairs = zip(titles, objects.values(), strict=True)
        return [_of_object(title, made, True) for title, made in pairs]
    try:
        return [_of_object(name, quiet(kind), "_get_support" in _defined_in(kind))]
    except CallError:
        return []


def _of_object(title, made, has_support):
    """Return the group of an object of a SciPy distribution."""

    def owner():
        return made

    group = _of_class(title, type(made), owner)
    shapes = [part.rest for part in group.parts.values() if part.takes_value]
    if has_support and shapes:
        discrete = isinstance(made, sys.modules["scipy.stats"].rv_discrete)

        def support(*values):
            low, high = made._get_support(*values)
            return Support(float(low), float(high), discrete)

        group.values["support"] = (support, shapes[0])
    return group
