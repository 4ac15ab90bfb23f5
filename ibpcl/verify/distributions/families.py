"""Families: groups of functions with shared parameters, and the values of these parameters.

Examples are ``log_density(x, alpha, beta)`` and ``mean(alpha, beta)``.
"""

import copy
import inspect

import numpy as np

from ibpcl.verify.distributions import points
from ibpcl.verify.distributions.calling import CallError, names_of, number, over, quiet
from ibpcl.verify.distributions.roles import DENSITIES, OF_VALUES, is_noise

WITH_NOISE = (
    "sample",
    "estimator",
    "gradient_estimator",
    "score_function",
    "reparameterized",
)
# The first of these roles in a group determines the parameters.
LEADING = (
    *DENSITIES,
    "cdf",
    "quantile",
    "log_q",
    "log_joint",
    "integrand",
    "sample",
    "bound",
    "transform",
    "expectation",
    "mean",
    "variance",
    "entropy",
)
# Replacements of guessed domains, tried until the density is finite somewhere.
OTHER_DOMAINS = ({}, {"real": "positive"}, {"positive": "share"}, {"real": "share"})


class Family:
    """A group of functions with the parameters at which they are compared.

    Parameters
    ----------
    group : ibpcl.verify.distributions.roles.Group
        The functions of one distribution.

    Attributes
    ----------
    title : str
        Name of the group.
    parts : dict of str to Part
        Functions by role.
    values : dict of str to object
        ``support``, ``parameters`` and ``inputs`` of the file.
    parameters : list of str
        Names of the parameters.
    points : list of dict of str to object
        Sets of parameters; a *point* is one of them.
    notes : list of str
        Assumptions, for the report.
    discrete : bool
        True if only integers are known to have mass.
    """

    def __init__(self, group):
        self.title = group.title
        self.parts = dict(group.parts)
        self.values = group.values
        self.notes = []
        self.discrete = any(role in self.parts for role in ("log_mass", "mass"))
        self.parameters = self._parameters()
        self.points = self._points()

    def __contains__(self, role):
        return role in self.parts

    def without(self, roles):
        """Return a copy without some functions, with the same parameters.

        Parameters
        ----------
        roles : sequence of str
            Roles of the functions to leave out.

        Returns
        -------
        family : Family
            The other functions.
        """
        other = copy.copy(self)
        other.parts = {role: part for role, part in self.parts.items() if role not in roles}
        other.notes = []
        return other

    @property
    def density(self):
        """The function with the role of a density; None without one."""
        return next((self.parts[role] for role in DENSITIES if role in self.parts), None)

    def _parameters(self):
        for role in LEADING:
            if role in self.parts:
                part = self.parts[role]
                own = list(part.rest) if role in OF_VALUES else list(part.names)
                if role in WITH_NOISE:
                    own = [name for name in own if not is_noise(name)]
                if part.owner is not None:
                    own = [*names_of(part.owner), *own]
                return own
        return []

    def _points(self):
        given = self.values.get("parameters")
        inputs = self.values.get("inputs") or {}
        if given is None and self.parameters and set(self.parameters) <= set(inputs):
            given = {name: inputs[name] for name in self.parameters}
        if callable(given):
            given = given()
        if given is not None:
            given = given if isinstance(given, (list, tuple)) else [given]
            found = [dict(point) for point in given]
            missing = [name for name in self.parameters if name not in found[0]]
            if missing and not self._has_default(missing):
                raise CallError(
                    f"parameters has no `{missing[0]}`, an argument of "
                    f"{next(iter(self.parts.values())).name}"
                )
            return found if len(found) > 2 else [*found, *_around(found[0])[1:]]
        for other in OTHER_DOMAINS:
            found = points.draw(self.parameters, ordered=True, instead=other)
            if self._works(found):
                break
        else:
            found = points.draw(self.parameters, ordered=True)
        if self.parameters:
            shown = ", ".join(f"{name} = {value:g}" for name, value in found[0].items())
            self.notes.append(f"parameters were drawn by their names, {shown} first")
        return found

    def _has_default(self, names):
        for part in self.parts.values():
            known = inspect.signature(part.owner or part.function).parameters
            if all(
                name in known and known[name].default is not inspect.Parameter.empty
                for name in names
            ):
                return True
        return False

    def _works(self, found):
        """Return whether the leading function is finite somewhere at all points."""
        role = next((role for role in LEADING if role in self.parts), None)
        if role not in ("log_density", "log_mass", "density", "mass", "cdf"):
            return True
        probes = np.array([-2.3, -0.4, 0.31, 0.77, 0.0, 1.0, 2.0, 3.6, 7.0])
        for point in found:
            values = self.values_at(self.parts[role], probes, point)
            if not np.any(np.isfinite(values)):
                return False
        return True

    def arguments(self, part, point):
        """Return the arguments of a function beside its variable at a point.

        Parameters
        ----------
        part : ibpcl.verify.distributions.roles.Part
            The function with its role.
        point : dict of str to object
            Arguments by name.

        Returns
        -------
        arguments : dict of str to object
            Values by name.

        Raises
        ------
        CallError
            If an argument is not a parameter of the family.
        """
        names = part.rest
        if part.owner is not None:
            names = [name for name in names if name in point]
        return self.matched(part, names, point)

    def matched(self, part, names, point):
        """Return the values of arguments by name, or by position if no name is known.

        Parameters
        ----------
        part : ibpcl.verify.distributions.roles.Part
            The function with its role.
        names : sequence of str
            Arguments of the part.
        point : dict of str to object
            Arguments by name.

        Returns
        -------
        arguments : dict of str to object
            Values by name.

        Raises
        ------
        CallError
            If an argument is not a parameter of the family.
        """
        known = inspect.signature(part.function).parameters
        if all(name in point for name in names):
            return {name: point[name] for name in names}
        strange = [name for name in names if name not in point]
        if all(known[name].default is not inspect.Parameter.empty for name in strange):
            return {name: point[name] for name in names if name in point}
        if len(names) == len(self.parameters) and not any(name in point for name in names):
            return dict(zip(names, [point[name] for name in self.parameters], strict=True))
        raise CallError(
            f"its argument `{strange[0]}` is not known: the parameters here are "
            f"{', '.join(self.parameters) or 'none'}; give parameters"
        )

    def bound(self, part, point, function=None):
        """Return a function that takes its variable first and needs no object of its class.

        Parameters
        ----------
        part : ibpcl.verify.distributions.roles.Part
            The function with its role.
        point : dict of str to object
            Parameters for the constructor of the class.
        function : callable, optional
            Changed version of the function.

        Returns
        -------
        bound : callable
            The function.

        Raises
        ------
        CallError
            If the constructor raises.
        """
        function = function or part.function
        if part.role in OF_VALUES and part.variable != part.names[0]:
            plain = function

            def function(*values, **options):
                own = {part.variable: values[-1], **options}
                return plain(*values[:-1], **own)

        if part.owner is None:
            return function
        known = inspect.signature(part.owner).parameters
        made = quiet(part.owner, **{n: v for n, v in point.items() if n in known})
        return lambda *values, **options: function(made, *values, **options)

    def values_at(self, part, x, point, function=None):
        """Return the values of a function of the random variable.

        Parameters
        ----------
        part : ibpcl.verify.distributions.roles.Part
            The function with its role.
        x : array_like, shape (M,) or (M, d)
            Values of the random variable.
        point : dict of str to object
            Arguments by name.
        function : callable, optional
            Changed version of the function.

        Returns
        -------
        values : ndarray, shape (M,)
            NaN where the function raises.
        """
        return over(self.bound(part, point, function), np.asarray(x), **self.arguments(part, point))

    def values_over(self, part, grids, function=None, every=None):
        """Return the values of a function of the random variable at all points, one after another.

        Parameters
        ----------
        part : ibpcl.verify.distributions.roles.Part
            The function with its role.
        grids : list of ndarray
            Values of the variable for each point.
        function : callable, optional
            Changed version of the function.
        every : list of dict, optional
            The points; by default all of the family.

        Returns
        -------
        values : ndarray
            All values in one array.
        """
        pairs = zip(grids, every or self.points, strict=False)
        return np.concatenate([self.values_at(part, x, point, function) for x, point in pairs])

    def log_density(self, part, point, function=None):
        """Return a log density at one point as a function of the variable.

        Parameters
        ----------
        part : ibpcl.verify.distributions.roles.Part
            A density or a log density.
        point : dict of str to object
            Arguments by name.
        function : callable, optional
            Changed version of the function.

        Returns
        -------
        log_density : callable
            Maps points (M,) or (M, d) to values (M,).
        """

        def log_density(x):
            values = self.values_at(part, x, point, function)
            with np.errstate(all="ignore"):
                return values if part.role.startswith("log") else np.log(values)

        return log_density

    def value(self, part, point, function=None):
        """Return the value of a function of the parameters alone.

        Parameters
        ----------
        part : ibpcl.verify.distributions.roles.Part
            The function with its role.
        point : dict of str to object
            Arguments by name.
        function : callable, optional
            Changed version of the function.

        Returns
        -------
        value : float
            The value of the function.

        Raises
        ------
        CallError
            If the function raises or does not return one number.
        """
        options = self.matched(part, part.names, point)
        return number(self.bound(part, point, function), **options)

    def numbers(self, part, function=None, every=None):
        """Return the values of a function of the parameters alone at many points.

        Parameters
        ----------
        part : ibpcl.verify.distributions.roles.Part
            The function with its role.
        function : callable, optional
            Changed version of the function.
        every : list of dict, optional
            The N points; by default all of the family.

        Returns
        -------
        values : ndarray, shape (N,)
            One value for each point.
        """
        return np.array([self.value(part, point, function) for point in every or self.points])


def _around(point):
    """Return a given point and two near it; shares stay in (0, 1) and signs stay as they are."""
    found = [point]
    for factor in (1.13, 0.91):
        other = {}
        for name, value in point.items():
            plain = isinstance(value, float) and np.isfinite(value)
            inside = plain and 0 < value < 1
            other[name] = value ** (1 / factor) if inside else value * factor if plain else value
        if other != point:
            found.append(other)
    return found
