"""Parameters at which functions are compared, guessed from the names of the arguments."""

import re

import numpy as np

POSITIVE = (
    r"(log_?)?(sigmas?|scales?|std|sd|stddev|taus?|temperature|rates?|lam|lambd|lambda_|alphas?|betas?|"
    r"a|b|c|k|shapes?|kappa|df|dof|nu|var|variances?|sigma2|sigma_sq|precisions?|gammas?|lengths?|s|t|"
    r"concentrations?\d?|eta|weight|r|width|h)"
)
SHARE = r"(p|ps|success|prob|probs|probability|pi|share|q|phi)"
COUNT = r"(n|N|trial|trials|total_count|total)"
REAL = r"(mu|mus|mean|m|loc|location|x0|shift|offset|log_\w+|logits?|logit_\w+|center|d)"
DIGITS = r"(_?\d+|_[a-z]+)?"
DRAWS = 4  # of the parameters
SEED = 20

# Pairs of parameters of which the first must be smaller than the second.
ORDERED = (("low", "high"), ("a", "b"), ("lower", "upper"), ("minimum", "maximum"), ("lo", "hi"))


def domain(name):
    """Return the usual domain of a parameter.

    Parameters
    ----------
    name : str
        Name of the parameter.

    Returns
    -------
    domain : {"positive", "share", "count", "real"}
        A share lies in (0, 1).

    Examples
    --------
    >>> [domain(name) for name in ("sigma0", "p", "n", "mu_q", "log_sigma", "alpha")]
    ['positive', 'share', 'count', 'real', 'real', 'positive']
    """
    for kind, pattern in (("real", REAL), ("share", SHARE), ("count", COUNT)):
        if re.fullmatch(pattern + DIGITS, name):
            return kind
    if re.fullmatch(POSITIVE + DIGITS, name):
        return "positive"
    return "real"


def draw(names, seed=SEED, draws=DRAWS, ordered=False, instead=None, like=None):
    """Draw several sets of parameters from their usual domains.

    Parameters
    ----------
    names : sequence of str
        Names of the parameters.
    seed : int
        Seed for the random numbers.
    draws : int
        Number of sets.
    ordered : bool
        Whether pairs such as low and high are put in order.
    instead : dict of str to str, optional
        Domains that replace others, such as ``{"real": "positive"}``.
    like : dict of str to str, optional
        Names whose domains some of ``names`` share, such as ``{"m1": "mu"}``.

    Returns
    -------
    points : list of dict of str to float
        The sets of parameters.
    """
    rng = np.random.default_rng(seed)
    points = []
    for _ in range(draws):
        point = {}
        for name in names:
            kind = domain((like or {}).get(name, name))
            kind = (instead or {}).get(kind, kind)
            if kind == "positive":
                point[name] = float(np.round(rng.uniform(0.6, 2.9), 3))
            elif kind == "share":
                point[name] = float(np.round(rng.uniform(0.12, 0.88), 3))
            elif kind == "count":
                point[name] = int(rng.integers(3, 9))
            else:
                point[name] = float(np.round(rng.normal(), 3))
        if ordered:
            for low, high in ORDERED:
                if low in point and high in point and point[low] >= point[high]:
                    point[high] = point[low] + 1.5
        points.append(point)
    return points


def terms_of(points):
    """Return simple functions of the parameters, such as ``log sigma`` and ``log B(a, b)``.

    Parameters
    ----------
    points : list of dict of str to float
        N sets of parameters.

    Returns
    -------
    terms : dict of str to ndarray, shape (N,)
        Values by formula; terms that are not finite everywhere are left out.
    """
    from scipy.special import betaln, digamma, gammaln

    terms = {}
    names = [name for name, value in points[0].items() if np.ndim(value) == 0]
    values = {name: np.array([float(point[name]) for point in points]) for name in names}
    with np.errstate(all="ignore"):
        for name, value in values.items():
            terms[name] = value
            terms |= {
                f"{name}^2": value**2,
                f"{name} + 1": value + 1,
                f"{name} - 1": value - 1,
                f"exp({name})": np.exp(value),
                f"exp({name}^2)": np.exp(value**2),
            }
            if np.all(value > 0):
                terms |= {
                    f"log {name}": np.log(value),
                    f"1 / {name}": 1 / value,
                    f"log Gamma({name})": gammaln(value),
                    f"psi({name})": digamma(value),
                }
            if np.all((value > 0) & (value < 1)):
                terms |= {f"1 - {name}": 1 - value, f"log(1 - {name})": np.log1p(-value)}
        for i, one in enumerate(names):
            for other in names[i + 1 :]:
                a = values[one]
                b = values[other]
                terms |= {
                    f"{one} + {other}": a + b,
                    f"{one} + {other} + 1": a + b + 1,
                    f"{one} - {other}": a - b,
                    f"{one} {other}": a * b,
                    f"{one} / {other}": a / b,
                }
                if np.all(a > 0) and np.all(b > 0):
                    terms |= {
                        f"log B({one}, {other})": betaln(a, b),
                        f"log Gamma({one} + {other})": gammaln(a + b),
                        f"log({one} + {other})": np.log(a + b),
                        f"log({one} / {other})": np.log(a / b),
                        f"log({one} {other})": np.log(a * b),
                        f"{one} log {other}": a * np.log(b),
                        f"{other} log {one}": b * np.log(a),
                    }
    return {name: term for name, term in terms.items() if np.all(np.isfinite(term))}
