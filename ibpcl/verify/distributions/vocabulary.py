"""The names that are read: of functions by their role, of noise, and of parameters by their domain.

Further words in the name of a function (``gaussian_log_density``, ``log_density_of_gaussian``) are
the name of its group.  ``ibpcl check --names`` prints these tables.
"""

import re
from typing import NamedTuple

VALUE = "x"
LEVEL = "level"
NOISE_AND_PARAMETERS = "noise"
PARAMETERS = "parameters"


class Role(NamedTuple):
    """A quantity that a function computes.

    Attributes
    ----------
    names : str
        Names of such functions, separated by blanks.  If several fit, the longest one decides.
    takes : {"x", "level", "noise", "parameters"}
        First argument beside the parameters: a value of the random variable, a level, noise or a
        generator, or nothing.
    """

    names: str
    takes: str


ROLES = {
    "log_density": Role(
        "log_density log_prob log_pdf logpdf logprob log_probability logp lpdf ln_pdf log_dens",
        VALUE,
    ),
    "log_mass": Role("log_pmf logpmf log_mass lpmf ln_pmf", VALUE),
    "density": Role("density pdf prob prob_density", VALUE),
    "mass": Role("pmf mass_function probability_mass", VALUE),
    "cdf": Role("cdf distribution_function cumulative", VALUE),
    "survival": Role("survival survival_function sf ccdf", VALUE),
    "log_cdf": Role("log_cdf logcdf", VALUE),
    "log_survival": Role("log_survival logsf log_sf", VALUE),
    "quantile": Role("quantile ppf icdf inverse_cdf inv_cdf quantile_function", LEVEL),
    "inverse_survival": Role("isf inverse_survival", LEVEL),
    "sample": Role(
        "sample rsample draw rvs sampler samples reparameterize reparametrize reparam random "
        "random_sample",
        NOISE_AND_PARAMETERS,
    ),
    "mean": Role("mean expected_value", PARAMETERS),
    "variance": Role("variance var", PARAMETERS),
    "std": Role("std standard_deviation stddev", PARAMETERS),
    "skewness": Role("skewness skew", PARAMETERS),
    "kurtosis": Role("kurtosis excess_kurtosis", PARAMETERS),
    "mode": Role("mode", PARAMETERS),
    "median": Role("median", PARAMETERS),
    "entropy": Role("entropy differential_entropy", PARAMETERS),
    "kl": Role("kl kl_divergence kl_between kldiv kl_div kl_loss", PARAMETERS),
    "cross_entropy": Role("cross_entropy", PARAMETERS),
    "log_q": Role("log_q logq log_posterior_density", VALUE),
    "log_p": Role("log_p", VALUE),
    "integrand": Role("integrand", VALUE),
    "expectation": Role("expectation", PARAMETERS),
    "log_joint": Role("log_joint", VALUE),
    "log_likelihood": Role("log_likelihood log_lik loglik", VALUE),
    "log_prior": Role("log_prior", VALUE),
    "bound": Role("bound elbo lower_bound evidence_lower_bound", PARAMETERS),
    "log_evidence": Role("log_evidence log_marginal log_marginal_likelihood", PARAMETERS),
    "estimator": Role("estimator estimate", NOISE_AND_PARAMETERS),
    "gradient_estimator": Role("gradient_estimator estimator_gradient", NOISE_AND_PARAMETERS),
    "score_function": Role(
        "score_function score_estimator score_function_gradient reinforce", NOISE_AND_PARAMETERS
    ),
    "reparameterized": Role(
        "reparameterized pathwise reparameterized_gradient pathwise_gradient reparam_gradient",
        NOISE_AND_PARAMETERS,
    ),
    "transform": Role("transform forward", VALUE),
    "inverse": Role("inverse inverse_transform", VALUE),
    "log_jacobian": Role("log_jacobian log_det_jacobian log_abs_det_jacobian log_det ldj", VALUE),
    "base": Role("base_log_density log_base base_log_prob", VALUE),
    "support": Role("support SUPPORT", PARAMETERS),
    "parameters": Role("parameters PARAMETERS", PARAMETERS),
}
OF_NAME = {name: role for role, row in ROLES.items() for name in row.names.split()}
# Names of functions that are something else unless another name of a transform stands beside them.
ONLY_BESIDE = {"forward": "log_jacobian"}
OF_DENSITY = ("log_density", "log_mass", "density", "mass")
OF_QUANTILE = ("quantile", "inverse_survival")
OF_TWO = ("kl", "cross_entropy")
OF_CDF = ("cdf", "survival", "log_cdf", "log_survival")
GRADIENTS = ("gradient_estimator", "score_function", "reparameterized")
# A group of functions can be checked if it has all roles of one of these sets.
NEEDED = (
    *({role} for role in (*OF_DENSITY, "log_q", "log_p")),
    {"cdf", "quantile"},
    {"cdf", "sample"},
    {"transform", "inverse"},
    {"transform", "log_jacobian"},
    *({role, "expectation"} for role in ("estimator", *GRADIENTS)),
    {"bound", "log_evidence"},
    {"log_joint", "log_evidence"},
)
JOINERS = ("of", "the", "for")
# Words in the names of densities that need not be normalized.
UNNORMALIZED = ("unnormalized", "unnormalised", "unnorm", "energy", "potential", "target")
VARIABLES = ("x", "y", "z", "value", "k", "w", "theta", "t")
LATER = ("x", "y", "z", "value")  # variables that are recognized behind parameters
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
# Domains of parameters by the beginning of their names.
DIGITS = r"(_?\d+|_[a-z]+)?"
DOMAINS = {
    "real": r"(mu|mus|mean|m|loc|location|x0|shift|offset|log_?\w+|logits?|center|d)",
    "share": r"(p|ps|success|prob|probs|probability|pi|share|q|phi)",
    "count": r"(n|N|trial|trials|total_count|total|size)",
    "positive": (
        r"((log_?)?(sigmas?|scales?|std|sd|stddev|taus?|temperature|rates?|lam(b\w*)?|lambda_|"
        r"alphas?|betas?|a|b|c|k|shapes?|kappa|df|dof|nu|var|variances?|sigma2|sigma_sq|precisions?|"
        r"gammas?|lengths?|s|t|limit|concentrations?\d?|eta|weight|r|width|h))"
    ),
}
# Names of arrays, if the code uses them as arrays.
ARRAYS = {
    "simplex": r"(p|ps|pi|probs?|probabilities|weights?|w|theta|pvals)",
    "triangle": r"(L|chol|cholesky|scale_tril|tril)",
    "covariance": r"(cov|covariance|Sigma|C|S|K|precision)",
}
# Pairs of parameters of which the first must be smaller than the second, and what lies between.
ORDERED = (("low", "high"), ("a", "b"), ("lower", "upper"), ("minimum", "maximum"), ("lo", "hi"))
BETWEEN = ("c", "mode", "peak")
# Parameters from which supports are made: location and scale, and lower ends.
LOCATIONS = ("location", "loc", "mu", "m", "center", "x0", "mean")
SCALES = ("scale", "sigma", "s", "r", "radius", "width", "std", "b")
ENDS = ("m", "xm", "x_m", "x_min", "low", "a", "lower", "minimum", "c", "scale", "k", "lo", "shift")
# Families of integers whose support follows from a word in the name: the first and the last
# integer, or the parameter that is the last one.  The second table has words of other families.
FAMILIES = {"poisson": (0, "inf"), "binomial": (0, "n"), "bernoulli": (0, 1)}
OF_SHARES = r"dirichlet|simplex"  # families of shares that sum to 1
OTHER_FAMILIES = r"trunc|shift|positive|neg|nb|inflated|hurdle|poisson_?binom|conditional"
# Endings of parameters of the first and of the second distribution of a divergence.
FIRST = r"_?(q|post|posterior|1|a|new)"
SECOND = r"_?(p|prior|0|b|2|old)"


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
            if part in OF_NAME and (start == 0 or stop == len(words)) and stop - start > best[2]:
                rest = words[:start] + words[stop:]
                rest = [word for word in rest if word not in JOINERS]
                best = (OF_NAME[part], "_".join(rest), stop - start)
    return best[0], best[1]


def is_noise(name):
    """Return whether an argument of a sampler is noise, a generator or a size.

    Parameters
    ----------
    name : str
        Name of the argument.  Digits at its end are ignored.

    Returns
    -------
    bool
        Whether the name is in one of the three tables.

    Examples
    --------
    >>> is_noise("eps"), is_noise("u2"), is_noise("sigma")
    (True, True, False)
    """
    bare = name.rstrip("0123456789")
    return any(bare in names for names in (*NOISE.values(), GENERATOR, SIZE))


def domain(name):
    """Return the usual domain of a parameter.

    Parameters
    ----------
    name : str
        Name of the parameter.

    Returns
    -------
    domain : {"positive", "share", "count", "real", ""}
        A share lies in (0, 1).  Empty if the name is in no table.

    Examples
    --------
    >>> [domain(name) for name in ("sigma0", "p", "n", "mu_q", "log_sigma", "alpha")]
    ['positive', 'share', 'count', 'real', 'real', 'positive']
    """
    fits = (kind for kind, names in DOMAINS.items() if re.fullmatch(names + DIGITS, name))
    return next(fits, "")


def text_of_names():
    """Return the tables of names as text, for ``ibpcl check --names``.

    Returns
    -------
    str
        One paragraph for the functions, the noise, and the parameters.
    """
    lines = ["Functions, by what they return:"]
    lines += [f"  {role:18} {', '.join(row.names.split())}" for role, row in ROLES.items()]
    lines += ["", "Noise arguments of samplers and estimators, by their distribution:"]
    noise = {**NOISE, "a generator": GENERATOR, "number of draws": SIZE}
    lines += [f"  {kind:18} {', '.join(names)}" for kind, names in noise.items()]
    lines += ["", "Parameters, by their domain (regular expressions):"]
    domains = {**DOMAINS, **{f"array: {kind}": names for kind, names in ARRAYS.items()}}
    lines += [f"  {kind:18} {names}" for kind, names in domains.items()]
    return "\n".join(lines)
