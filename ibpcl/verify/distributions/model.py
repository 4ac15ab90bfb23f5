"""The model of a distribution: its functions, sets of parameters, dimension and density.

A model is decided once and never changed.  What was guessed is marked, so that a guess can leave a
verdict open but never make a function wrong.
"""

import contextlib
import inspect
import re
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ibpcl.verify.distributions import parameters as sets_of
from ibpcl.verify.distributions.calls import CallError, names_of, number, over, quiet, real
from ibpcl.verify.distributions.reading import Part
from ibpcl.verify.distributions.vocabulary import OF_CDF, OF_DENSITY, OF_QUANTILE

# The first of these roles in a group determines the parameters.
LEADING = (
    *OF_DENSITY,
    "cdf",
    "survival",
    "log_cdf",
    "log_survival",
    "quantile",
    "inverse_survival",
    "log_q",
    "log_p",
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
# Functions that only a random variable with one coordinate has.
OF_NUMBERS = (*OF_CDF, *OF_QUANTILE, "median", "skewness", "kurtosis")
# Functions whose arguments are parameters of the leading function, or not known: cdf(a, b) may be
# the probability of an interval.
OF_LEAD = (*OF_NUMBERS, "sample", "mean", "variance", "std", "mode", "entropy")
FEW_SETS = 2  # sets of parameters of a vector, whose integrals take long
MOST_INTEGER = 1e9  # integers that are passed as such
MOST_DIMENSIONS = 3  # that are integrated


@dataclass(frozen=True)
class Model:
    """Functions of one distribution, and what it is.

    Attributes
    ----------
    title : str
        Name of the group.
    parts : dict of str to ibpcl.verify.distributions.reading.Part
        Functions by role.
    values : dict of str to object
        ``support`` and ``parameters`` of the file.
    parameters : tuple of str
        Names of the parameters of the leading function.
    sets : tuple of dict of str to object
        Sets of parameters at which functions are compared.
    is_given : bool
        Whether the file gives the sets.
    dimension : int
        Number of coordinates of the random variable.
    is_discrete : bool
        Whether only integers are known to have mass.
    lead : ibpcl.verify.distributions.reading.Part or None
        Function that determines the distribution.
    densities : tuple of ibpcl.verify.distributions.quadrature.Density
        The distribution for each set; empty if it is not known.
    at : callable or None
        ``at(values)`` returns the distribution at any set of parameters.
    """

    title: str
    parts: dict
    values: dict
    parameters: tuple
    sets: tuple
    is_given: bool
    dimension: int = 1
    is_discrete: bool = False
    lead: Part | None = None
    densities: tuple = ()
    at: object = None

    def __contains__(self, role):
        return role in self.parts

    @property
    def density(self):
        """The function with the role of a density; None without one."""
        return next((self.parts[role] for role in OF_DENSITY if role in self.parts), None)

    @property
    def is_rough(self):
        """Whether integrals of the distribution are less exact than usual."""
        return any(d.is_rough or d.nodes.axes > 1 or d.error > 1e-8 for d in self.densities)

    def having(self, **changes):
        """Return a model with some attributes changed.

        Parameters
        ----------
        **changes
            New values by the name of the attribute.

        Returns
        -------
        model : Model
            The other model; this one stays as it is.
        """
        return replace(self, **changes)

    def where_finite(self, found):
        """Return the model at the sets of parameters at which a quantity exists.

        Parameters
        ----------
        found : iterable of (float, float)
            The quantity and its error at each set.

        Returns
        -------
        there : Model
            Without sets if the quantity exists nowhere.
        values, errors : ndarray
            The quantity and its error at each set of ``there``.
        """
        found = np.array(list(found))
        kept = np.flatnonzero(np.isfinite(found[:, 0]))
        sets = tuple(self.sets[i] for i in kept)
        there = self.having(sets=sets, densities=tuple(self.densities[i] for i in kept))
        return there, found[kept, 0], found[kept, 1]

    def options(self, part, values):
        """Return the arguments of a function beside its variable and its noise.

        They are matched by name, or by position if no name is known.

        Parameters
        ----------
        part : ibpcl.verify.distributions.reading.Part
            The function with its role.
        values : dict of str to object
            Parameters by name.

        Returns
        -------
        options : dict of str to object
            Values by name.

        Raises
        ------
        CallError
            If an argument is not a parameter of the model.
        """
        names = part.rest
        strange = [name for name in names if name not in values]
        if not strange:
            return {name: values[name] for name in names}
        renamed = len(names) == len(self.parameters) and len(strange) == len(names)
        if renamed and (part.owner is None or self.lead is None or self.lead.rest):
            return {n: values[own] for n, own in zip(names, self.parameters, strict=True)}
        known = inspect.signature(part.function).parameters
        if all(known[name].default is not inspect.Parameter.empty for name in strange):
            return {name: values[name] for name in names if name in values}
        raise CallError(
            f"its argument `{strange[0]}` is not known: the parameters here are "
            f"{', '.join(self.parameters) or 'none'}; give parameters"
        )

    def made(self, part, values):
        """Return the object whose method a function is.

        Parameters
        ----------
        part : ibpcl.verify.distributions.reading.Part
            A method.
        values : dict of str to object
            Arguments of the constructor, and others.

        Returns
        -------
        made : object
            The object.

        Raises
        ------
        CallError
            If the constructor raises.
        """
        known = names_of(part.owner)
        return quiet(part.owner, **{name: values[name] for name in known if name in values})

    def callable_of(self, part, values, function=None):
        """Return a function that takes its variable first and needs no object of its class.

        Parameters
        ----------
        part : ibpcl.verify.distributions.reading.Part
            The function with its role.
        values : dict of str to object
            Parameters for the constructor of the class.
        function : callable, optional
            Changed version of the function.

        Returns
        -------
        function : callable
            The function.
        """
        plain = function or part.function
        before = [self.made(part, values)] if part.owner is not None else []
        by_name = part.takes_value and part.variable != part.names[0]

        def called(*given, **options):
            if by_name:
                return plain(*before, **{part.variable: given[0]}, **options)
            return plain(*before, *given, **options)

        return called

    def of_noise(self, part, values, function=None):
        """Return a sampler or an estimator as a function of its noise alone.

        Parameters
        ----------
        part : ibpcl.verify.distributions.reading.Part
            The function with its role.
        values : dict of str to object
            Parameters by name.
        function : callable, optional
            Changed version of the function.

        Returns
        -------
        function : callable
            Takes its noise, its generator or its size by name.
        """
        known = {name: values[name] for name in part.names if name in values}
        return partial(self.callable_of(part, values, function), **known)

    def values_at(self, part, x, values, function=None):
        """Return the values of a function of the random variable.

        Parameters
        ----------
        part : ibpcl.verify.distributions.reading.Part
            The function with its role.
        x : array_like, shape (M,) or (M, d)
            Values of the random variable.
        values : dict of str to object
            Parameters by name.
        function : callable, optional
            Changed version of the function.

        Returns
        -------
        values : ndarray, shape (M,)
            NaN where the function raises.
        """
        called = self.callable_of(part, values, function)
        options = self.options(part, values)
        x = np.asarray(x)
        found = over(called, x, **options)
        bad = np.isnan(found)
        whole = x.ndim == 1 and np.all((x == np.round(x)) & (np.abs(x) < MOST_INTEGER))
        if np.any(bad) and whole:  # an index, or a factorial
            found[bad] = over(called, x[bad].astype(int), **options)
        return found

    def values_over(self, part, grids, function=None, sets=None):
        """Return the values of a function of the random variable at all sets, one after another.

        Parameters
        ----------
        part : ibpcl.verify.distributions.reading.Part
            The function with its role.
        grids : list of ndarray
            Values of the variable for each set.
        function : callable, optional
            Changed version of the function.
        sets : sequence of dict, optional
            Sets of parameters; by default all of the model.

        Returns
        -------
        values : ndarray
            All values in one array.
        """
        pairs = zip(grids, sets or self.sets, strict=False)
        return np.concatenate([self.values_at(part, x, values, function) for x, values in pairs])

    def log_density(self, part, values, function=None):
        """Return a log density at one set of parameters as a function of the variable.

        Parameters
        ----------
        part : ibpcl.verify.distributions.reading.Part
            A density or a log density.
        values : dict of str to object
            Parameters by name.
        function : callable, optional
            Changed version of the function.

        Returns
        -------
        log_density : callable
            Maps points (M,) or (M, d) to values (M,).
        """

        def log_density(x):
            found = self.values_at(part, x, values, function)
            with np.errstate(all="ignore"):
                return found if part.role.startswith("log") else np.log(found)

        return log_density

    def array(self, part, values, function=None):
        """Return the value of a function of the parameters alone, as an array.

        Parameters
        ----------
        part : ibpcl.verify.distributions.reading.Part
            The function with its role.
        values : dict of str to object
            Parameters by name.
        function : callable, optional
            Changed version of the function.

        Returns
        -------
        value : ndarray
            Of any shape.
        """
        called = self.callable_of(part, values, function)
        return real(quiet(called, **self.options(part, values)))

    def numbers(self, part, function=None, sets=None):
        """Return the values of a function of the parameters alone at many sets.

        Parameters
        ----------
        part : ibpcl.verify.distributions.reading.Part
            The function with its role.
        function : callable, optional
            Changed version of the function.
        sets : sequence of dict, optional
            The N sets; by default all of the model.

        Returns
        -------
        values : ndarray, shape (N,)
            One value for each set.
        """
        found = []
        for values in sets or self.sets:
            called = self.callable_of(part, values, function)
            found.append(number(called, **self.options(part, values)))
        return np.array(found)


def models_of(group):
    """Return the models of a group that are to be tried, with the likeliest parameters first.

    Parameters
    ----------
    group : ibpcl.verify.distributions.reading.Group
        The functions of one distribution.

    Returns
    -------
    models : list of Model
        Without densities.  One if the file gives the parameters.

    Raises
    ------
    CallError
        If a given parameter is missing.
    """
    names, further = parameters_of(group)
    optional = {name for part in group.parts.values() for name in _optional(part)}
    given = sets_of.given_sets(group.values, names, optional)
    plain = Model(group.title, group.parts, group.values, tuple(names), (), given is not None)
    plain = plain.having(is_discrete=bool({"log_mass", "mass"} & set(group.parts)))
    if given is not None:
        return [plain.having(sets=given, dimension=size) for size in _dimensions(plain, given)]
    shapes = sets_of.arrays_among([*names, *further], _source_of(group))
    found = []
    for instead in sets_of.OTHER_DOMAINS:
        sets = sets_of.draw([*names, *further], instead=instead, shapes=shapes)
        if all(str(sets) != str(model.sets) for model in found):
            for size in _dimensions(plain, sets):
                chosen = sets if size == 1 else sets[:FEW_SETS]
                found.append(plain.having(sets=chosen, dimension=size))
    return found


def parameters_of(group):
    """Return the names of the parameters of a group.

    Parameters
    ----------
    group : ibpcl.verify.distributions.reading.Group
        The functions.

    Returns
    -------
    names : list of str
        Parameters of the leading function.
    further : list of str
        Parameters of other functions that do not have the same ones under other names.
    """
    lead = next((group.parts[role] for role in LEADING if role in group.parts), None)
    names = lead.parameters if lead is not None else []
    further = []
    for part in group.parts.values():
        if part.role in ("kl", "cross_entropy"):
            continue
        own = [
            name for name in part.parameters if name not in names and name not in _optional(part)
        ]
        renamed = len(own) == len(part.parameters) == len(names)
        if own and not renamed and part.role not in OF_LEAD:
            further += own
    return names, list(dict.fromkeys(further))


def _optional(part):
    """Return the arguments of a function and its constructor that have a default."""
    found = []
    for function in (part.owner, part.function):
        if function is not None:
            known = inspect.signature(function).parameters.values()
            found += [each.name for each in known if each.default is not inspect.Parameter.empty]
    return found


def _source_of(group):
    """Return the source of the functions of a group and their classes; empty without source."""
    every = (each for part in group.parts.values() for each in (part.owner, part.function))
    return "\n".join(dict.fromkeys(map(_source, every)))


def _source(function):
    """Return the source of a function or class; empty without source."""
    try:
        return inspect.getsource(function) if function is not None else ""
    except (OSError, TypeError):
        return ""


def _dimensions(model, sets):
    """Return the possible dimensions of the random variable, the likeliest first."""
    part = model.density or model.parts.get("log_q") or model.parts.get("log_p")
    values = sets[0]
    if part is None or part.role in ("mass", "log_mass"):
        return [1]
    given = values.get(part.variable)
    if given is not None:
        return [int(np.size(given)) if np.ndim(given) else 1]
    shown = _shown_size(model, values)
    if shown and _takes(model, part, values, shown):
        return [shown]
    sizes = {np.shape(value)[-1] for value in values.values() if np.ndim(value)}
    sizes |= _subscripts(part)
    # a mixture takes one number, and has an array of weights
    return [size for size in (*sorted(sizes - {1}), 1) if _takes(model, part, values, size)] or [1]


def _shown_size(model, values):
    """Return the dimension that other functions show; 0 if none does."""
    if any(role in model for role in OF_NUMBERS):
        return 1
    for role in ("mean", "mode", "std"):
        if role in model:
            with contextlib.suppress(CallError, KeyError):
                return model.array(model.parts[role], values).size
    return 0


def _subscripts(part):
    """Return the number of coordinates of a variable of which the code reads single ones."""
    found = re.findall(rf"\b{part.variable}\[(\d)\]", _source(part.function))
    return {1 + max(map(int, found))} if found else set()


def _takes(model, part, values, size):
    """Return whether a density maps a number, or a vector of some size, to one number."""
    try:
        called = model.callable_of(part, values)
        x = 0.3 if size == 1 else np.full(size, 0.3)
        return np.ndim(quiet(called, x, **model.options(part, values))) == 0
    except CallError:
        return False
