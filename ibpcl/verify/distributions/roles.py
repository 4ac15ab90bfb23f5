r"""Roles of functions, and groups of functions that belong to one distribution, by their names.

The role of a function is the quantity that it computes, such as a density.  The table lists the
names of each role.  Further words in a name (``gaussian_log_density``, ``log_density_of_gaussian``)
are the name of the group.

==================  ==============================================================================
role                names
==================  ==============================================================================
``log_density``     log_density, log_prob, log_pdf, logpdf, log_probability
``log_mass``        log_pmf, logpmf, log_mass
``density``         density, pdf, prob
``mass``            pmf, mass_function
``sample``          sample, rsample, draw, rvs, sampler
``cdf``             cdf, distribution_function
``quantile``        quantile, ppf, icdf, inverse_cdf
``mean``            mean, expected_value
``variance``        variance, var
``std``             std, standard_deviation, stddev
``entropy``         entropy, differential_entropy
``kl``              kl, kl_divergence, kl_between
``log_q``           log_q, and ``log_p`` the same: two densities between which ``kl`` is
``integrand``       integrand, and ``expectation`` of it
``log_joint``       log_joint; or ``log_likelihood`` and ``log_prior``
``bound``           bound, elbo; below ``log_evidence`` (log_marginal, log_marginal_likelihood)
``estimator``       estimator, of ``expectation``; ``gradient_estimator``, ``score_function`` and
                    ``reparameterized`` (pathwise) of its derivative
``transform``       transform, with ``inverse`` and ``log_jacobian`` (log_det_jacobian)
``base``            base_log_density, log_base: the density before the transform
==================  ==============================================================================
"""

import inspect
import re
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ibpcl.verify.distributions.calling import CallError, names_of, quiet

# If several names fit, the longest one decides.
NAMES = {
    "log_density": "log_density log_prob log_pdf logpdf logprob log_probability",
    "log_mass": "log_pmf logpmf log_mass",
    "density": "density pdf prob",
    "mass": "pmf mass_function",
    "sample": "sample rsample draw rvs sampler samples",
    "cdf": "cdf distribution_function",
    "quantile": "quantile ppf icdf inverse_cdf",
    "mean": "mean expected_value",
    "variance": "variance var",
    "std": "std standard_deviation stddev",
    "entropy": "entropy differential_entropy",
    "kl": "kl kl_divergence kl_between kldiv kl_div",
    "log_q": "log_q log_posterior_density",
    "log_p": "log_p",
    "integrand": "integrand",
    "expectation": "expectation",
    "log_joint": "log_joint",
    "log_likelihood": "log_likelihood log_lik",
    "log_prior": "log_prior",
    "bound": "bound elbo lower_bound",
    "log_evidence": "log_evidence log_marginal log_marginal_likelihood",
    "estimator": "estimator estimate",
    "gradient_estimator": "gradient_estimator estimator_gradient",
    "score_function": "score_function score_estimator score_function_gradient reinforce",
    "reparameterized": (
        "reparameterized pathwise reparameterized_gradient pathwise_gradient reparam_gradient"
    ),
    "transform": "transform",
    "inverse": "inverse inverse_transform",
    "log_jacobian": "log_jacobian log_det_jacobian log_abs_det_jacobian",
    "base": "base_log_density log_base base_log_prob",
    "support": "support SUPPORT",
    "parameters": "parameters PARAMETERS",
}
ROLES = {name: role for role, names in NAMES.items() for name in names.split()}
# A group can be checked if it has all roles of one of these sets.
NEEDED = (
    {"log_density"},
    {"log_mass"},
    {"density"},
    {"mass"},
    {"cdf", "quantile"},
    {"cdf", "sample"},
    {"quantile", "sample"},
    {"sample", "mean"},
    {"sample", "variance"},
    {"log_q"},
    {"log_p"},
    {"transform", "inverse"},
    {"transform", "log_jacobian"},
    {"estimator", "expectation"},
    {"gradient_estimator", "expectation"},
    {"score_function", "expectation"},
    {"reparameterized", "expectation"},
    {"bound", "log_evidence"},
    {"log_joint", "log_evidence"},
)
JOINERS = ("of", "the", "for")
VARIABLES = ("x", "y", "z", "value", "k", "w", "theta")
# Words in the names of densities that need not be normalized.
UNNORMALIZED = ("unnormalized", "unnormalised", "unnorm", "energy", "potential", "target")
DENSITIES = ("log_density", "log_mass", "density", "mass")
# Roles whose functions take a value of the random variable.
OF_VALUES = (
    *DENSITIES,
    "cdf",
    "quantile",
    "log_q",
    "log_p",
    "integrand",
    "log_joint",
    "log_likelihood",
    "log_prior",
    "transform",
    "inverse",
    "log_jacobian",
    "base",
)
# Names of noise arguments by the distribution of the noise.
NOISE = {
    "uniform": ("u", "v", "us", "uniform", "unif", "p", "q", "prob", "quantiles", "percentile"),
    "normal": ("eps", "epsilon", "e", "z", "noise", "normal", "xi", "standard_normal", "n"),
    "gumbel": ("g", "gumbel", "gumbels"),
    "logistic": ("l", "logistic", "logits_noise"),
    "exponential": ("exponential", "exponentials"),
    "rademacher": ("rademacher", "rademachers"),
}
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


class Part(NamedTuple):
    """A user's function with its role.

    Attributes
    ----------
    name : str
        Name in the file; ``Class.method`` for a method.
    role : str
        One of the roles of the table above.
    function : callable
        The function, or the unbound method of a class.
    names : list of str
        Names of the arguments, without ``self``.
    owner : type or None
        Class of a method.
    """

    name: str
    role: str
    function: object
    names: list
    owner: type | None = None

    @property
    def variable(self):
        """Argument that takes a value of the random variable.

        It is the first one, unless only a later one has a usual name such as ``x``.
        """
        if self.names[0] in VARIABLES or self.role == "quantile":
            return self.names[0]
        return next((name for name in self.names[1:] if name in VARIABLES), self.names[0])

    @property
    def rest(self):
        """Names of all arguments but the variable."""
        return [name for name in self.names if name != self.variable]


@dataclass
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
    """

    title: str
    parts: dict = field(default_factory=dict)
    values: dict = field(default_factory=dict)

    @property
    def names(self):
        """Names of the functions; methods without the name of their class."""
        return [part.name.rpartition(".")[2] for part in self.parts.values()]

    @property
    def is_checkable(self):
        """True if at least two functions, or a density and its integral, can be compared."""
        parts = self.parts
        if any(role in OF_VALUES and not parts[role].names for role in parts):
            return False
        posterior = {"log_joint", "log_likelihood", "log_prior"} & set(parts)
        if posterior and not {"bound", "log_evidence"} & set(parts):
            return False  # a posterior density is usually not normalized
        alone = {"sample", "mean"} <= set(parts) and not set(parts["mean"].names) <= set(
            parts["sample"].names
        )
        found = [needed for needed in NEEDED if needed <= set(parts)]
        return any(not (alone and "sample" in needed and "cdf" not in parts) for needed in found)


def plain_name(name):
    """Return a name in lower case with underscores.

    Parameters
    ----------
    name : str
        A name in camel case or snake case.

    Returns
    -------
    str
        The name in snake case.

    Examples
    --------
    >>> plain_name("inverseCDF"), plain_name("logPDF"), plain_name("log_prob")
    ('inverse_cdf', 'log_pdf', 'log_prob')
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def role_of(name):
    """Return the role and the group of a function.

    Parameters
    ----------
    name : str
        Name of the function.

    Returns
    -------
    role : str
        Empty if the name contains no role.
    group : str
        Remaining words of the name; the whole name without a role.

    Examples
    --------
    >>> role_of("gaussian_log_density"), role_of("sample_kumaraswamy"), role_of("softmax")
    (('log_density', 'gaussian'), ('sample', 'kumaraswamy'), ('', 'softmax'))
    >>> role_of("kl_of_gaussians"), role_of("log_prob")
    (('kl', 'gaussians'), ('log_density', ''))
    """
    words = plain_name(name).strip("_").split("_")
    if any(word in UNNORMALIZED for word in words):
        return "", name
    best = ("", name, 0)
    for start in range(len(words)):
        for stop in range(start + 1, len(words) + 1):
            part = "_".join(words[start:stop])
            if part in ROLES and (start == 0 or stop == len(words)) and stop - start > best[2]:
                rest = words[:start] + words[stop:]
                rest = [word for word in rest if word not in JOINERS]
                best = (ROLES[part], "_".join(rest), stop - start)
    return best[0], best[1]


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
    for name, value in vars(module).items():
        if name.startswith("_") or name in taken:
            continue
        if inspect.isclass(value) and value.__module__ == module.__name__:
            group = _of_class(name, value)
            if group.is_checkable:
                groups[name] = group
            continue
        role, of = role_of(name)
        if role in ("support", "parameters"):
            groups.setdefault(of, Group(of)).values[role] = value
        elif role and inspect.isfunction(value) and value.__module__ == module.__name__:
            part = Part(name, role, value, names_of(value))
            groups.setdefault(of, Group(of)).parts[role] = part
    found = [group for group in _joined(groups) if group.is_checkable]
    inputs = _inputs_in(module)
    for group in found:
        group.values.setdefault("inputs", inputs)
    return found


def _inputs_in(module):
    """Return the numbers by name from ``check_inputs`` of a module; empty without it."""
    function = getattr(module, "check_inputs", None)
    try:
        given = quiet(function) if callable(function) else {}
    except CallError:
        return {}
    if not isinstance(given, dict):
        return {}
    return {name: value for name, value in given.items() if np.ndim(value) == 0}


def _joined(groups):
    """Merge a group that cannot be checked into the group of the same name, or the only group."""
    whole = [group for group in groups.values() if group.is_checkable]
    for group in groups.values():
        if group.is_checkable:
            continue
        owners = [other for other in whole if _is_akin(group.title, other.title)]
        if not owners and len(whole) == 1 and not group.title:
            owners = whole
        if len(owners) == 1:
            owners[0].parts = {**group.parts, **owners[0].parts}
            owners[0].values = {**group.values, **owners[0].values}
    for group in groups.values():
        group.title = group.title or "distribution"
    return list(groups.values())


def _is_akin(a, b):
    """Return whether two names of groups mean the same, such as a singular and its plural."""
    return bool(a) and bool(b) and (a.rstrip("s") == b.rstrip("s"))


def _of_class(name, kind):
    group = Group(name)
    methods = {}
    for parent in reversed(kind.__mro__):
        if parent.__module__ == kind.__module__:
            methods.update(vars(parent))
    for key, value in methods.items():
        role = ROLES.get(plain_name(key), "")
        if role and inspect.isfunction(value) and role not in ("support", "parameters"):
            if not _is_abstract(value):
                group.parts[role] = Part(f"{name}.{key}", role, value, names_of(value)[1:], kind)
        elif role == "support" and isinstance(value, (tuple, list, range)):
            group.values[role] = value
    if "fit" in methods and set(group.parts) == {"transform", "inverse"}:  # a scaler, PCA
        group.parts = {}
    try:
        names_of(kind)
    except CallError:
        group.parts = {}
    return group


def _is_abstract(function):
    """Return whether a method does nothing but raise NotImplementedError."""
    code = function.__code__
    return "NotImplementedError" in code.co_names and len(code.co_names) == 1


def is_noise(name):
    """Return whether an argument of a sampler is noise, a generator or a size.

    Parameters
    ----------
    name : str
        Name of the argument.

    Returns
    -------
    bool
        Digits at the end of the name are ignored.

    Examples
    --------
    >>> is_noise("eps"), is_noise("u2"), is_noise("sigma")
    (True, True, False)
    """
    bare = name.rstrip("0123456789")
    return any(bare in names for names in (*NOISE.values(), GENERATOR, SIZE))


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
    group = Group(title)
    for role, function in functions.items():
        if function is not None:
            label = getattr(function, "__name__", role)
            label = role if label == "<lambda>" else label
            group.parts[role] = Part(label, role, function, names_of(function))
    if support is not None:
        group.values["support"] = support
    if parameters is not None:
        group.values["parameters"] = parameters
    return group
