"""A group of functions with its parameters: who takes what, and at which values they are compared.

A *family* is a group whose functions share parameters, such as ``log_density(x, alpha, beta)`` and
``mean(alpha, beta)``.
"""

import numpy as np

from ibpcl.verify.forwards import points
from ibpcl.verify.forwards.calling import CallError, number, over, quiet
from ibpcl.verify.forwards.roles import OF_VALUES

UNIFORM = ("u", "v", "us", "uniform", "unif", "p", "q", "prob", "quantiles", "percentile")
NORMAL = ("eps", "epsilon", "e", "z", "noise", "normal", "xi", "standard_normal", "n")
GUMBEL = ("g", "gumbel", "gumbels")
LOGISTIC = ("l", "logistic", "logits_noise")
EXPONENTIAL = ("exponential", "exponentials")
GENERATOR = ("rng", "generator", "random_state", "gen", "random", "key", "seed", "rs", "prng")
SIZE = (
    "size",
    "n",
    "n_samples",
    "num_samples",
    "nsamples",
    "shape",
    "N",
    "num",
    "count",
    "samples",
)
WITH_NOISE = (
    "sample",
    "estimator",
    "gradient_estimator",
    "score_function",
    "reparameterized",
)
# By which roles the parameters are known, the first that is there.
LEADING = (
    "log_density",
    "log_mass",
    "density",
    "mass",
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
OTHER_DOMAINS = ({}, {"real": "positive"}, {"positive": "share"}, {"real": "share"})


class Family:
    """A group with its parameters and the points at which its functions are compared.

    Parameters
    ----------
    group : ibpcl.verify.forwards.roles.Group

    Attributes
    ----------
    title : str
    parts : dict of str to Part
    parameters : list of str
    points : list of dict
        Parameters by name.
    notes : list of str
        What was assumed.
    """

    def __init__(self, group):
        self.title = group.title
        self.parts = dict(group.parts)
        self.values = group.values
        self.notes = []
        self.parameters = self._parameters()
        self.points = self._points()

    def __contains__(self, role):
        return role in self.parts

    def _parameters(self):
        for role in LEADING:
            if role in self.parts:
                part = self.parts[role]
                own = list(part.rest) if role in OF_VALUES else list(part.names)
                if role in WITH_NOISE:
                    own = [name for name in own if not is_noise(name)]
                if part.owner is not None:
                    from ibpcl.verify.forwards.calling import names_of

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
        import inspect

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
        """Return what the arguments of a part beside its variable are at a point.

        Raises
        ------
        CallError
            If an argument is no parameter of the family.
        """
        names = part.rest
        if part.owner is not None:
            names = [name for name in names if name in point]
        return self.matched(part, names, point)

    def matched(self, part, names, point):
        """Return the values of arguments by name, or by position where all names are others."""
        import inspect

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
        """Return the function as it is called: its variable first, without a class's object.

        Parameters
        ----------
        part : ibpcl.verify.forwards.roles.Part
        point : dict
        function : callable, optional
            In place of the part's own.
        """
        function = function or part.function
        if part.role in OF_VALUES and part.variable != part.names[0]:
            plain = function

            def function(*values, **options):
                own = {part.variable: values[-1], **options}
                return plain(*values[:-1], **own)

        if part.owner is None:
            return function
        import inspect

        known = inspect.signature(part.owner).parameters
        made = quiet(part.owner, **{n: v for n, v in point.items() if n in known})
        return lambda *values, **options: function(made, *values, **options)

    def values_at(self, part, x, point, function=None):
        """Return the values of a function of the random variable at points ``x``."""
        return over(self.bound(part, point, function), np.asarray(x), **self.arguments(part, point))

    def value(self, part, point, function=None, names=None):
        """Return one number that a part gives at a point."""
        options = self.matched(part, part.names if names is None else names, point)
        return number(self.bound(part, point, function), **options)

    def numbers(self, part, function=None, every=None):
        """Return the numbers of a part at all points, shape (N,)."""
        return np.array([self.value(part, point, function) for point in every or self.points])


def is_noise(name):
    """Return whether an argument of a sampler is noise, a generator or a size."""
    kinds = (UNIFORM, NORMAL, GUMBEL, LOGISTIC, EXPONENTIAL, GENERATOR, SIZE)
    return any(name.rstrip("0123456789") in kind for kind in kinds)


def _around(point):
    """Return a point that was given, and two near by where that leaves every domain alone."""
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
