"""The laws that functions of a distribution obey, in one table.

A law compares the values of a function with right ones, which follow from the distribution or from
other functions.  :data:`LAWS` at the end lists what is checked.
"""

from typing import NamedTuple

from ibpcl.verify.distributions import (
    cdfs,
    divergences,
    draws,
    evidence,
    moments,
    transforms,
    unbiased,
)
from ibpcl.verify.distributions.comparing import Comparison, judged
from ibpcl.verify.distributions.vocabulary import GRADIENTS, OF_CDF, OF_DENSITY, OF_QUANTILE, OF_TWO


class Law(NamedTuple):
    """What must hold for a function.

    Attributes
    ----------
    name : str
        The law as a sentence.
    judges : tuple of str
        Roles of the functions that it judges.
    needs : tuple of str
        Roles of other functions that it needs; "distribution" for a known density, "joint" for a
        joint density.
    residual : callable or None
        ``residual(model, part)`` returns a :class:`Comparison`, or an :class:`Outcome`.
    """

    name: str
    judges: tuple
    needs: tuple
    residual: object


def judge(law, model, part):
    """Judge a function by a law.

    Parameters
    ----------
    law : Law
        The law.
    model : ibpcl.verify.distributions.model.Model
        The distribution.
    part : ibpcl.verify.distributions.reading.Part
        The function.

    Returns
    -------
    outcome : Outcome
        The verdict, and a search for a name that starts later.
    """
    found = law.residual(model, part)
    return judged(part, found) if isinstance(found, Comparison) else found


def law_for(model, part):
    """Return the law that judges a function of a model; None if what it needs is missing.

    Parameters
    ----------
    model : ibpcl.verify.distributions.model.Model
        The distribution.
    part : ibpcl.verify.distributions.reading.Part
        The function.

    Returns
    -------
    law : Law or None
        The first one of the table that can be applied.
    """
    there = set(model.parts)
    there |= {"distribution"} if model.densities else set()
    there |= {"joint"} if evidence.has_joint(model) else set()
    own = (law for law in LAWS if part.role in law.judges and law.residual is not None)
    return next((law for law in own if there >= set(law.needs)), None)


# The density of a transformed variable is judged even if it is the leading function.
PUSHED = Law(
    "log p(y) = log p(x) - log |det dy/dx|",
    ("log_density",),
    ("transform", "base"),
    transforms.pushed,
)
# The first two laws decide what the distribution is; ibpcl.verify.distributions.leads has them.
LAWS = (
    Law("a density integrates, or sums, to 1", OF_DENSITY, (), None),
    Law("a cdf rises from 0 to 1", ("cdf",), (), None),
    Law("two densities are equal", OF_DENSITY, ("distribution",), cdfs.second_density),
    Law("a cdf is the integral of the density", OF_CDF, ("distribution",), cdfs.of_cdf),
    Law("a quantile inverts the cdf", OF_QUANTILE, ("distribution",), cdfs.quantile),
    Law("draws follow the distribution", ("sample",), ("distribution",), draws.sampler),
    Law(
        "moments and entropy equal quadrature",
        tuple(moments.MOMENTS),
        ("distribution",),
        moments.moment,
    ),
    Law("the density is highest at the mode", ("mode",), ("distribution",), moments.mode),
    Law(
        "half of the probability is below the median",
        ("median",),
        ("distribution",),
        moments.median,
    ),
    Law(
        "E[g] is the mean of g",
        ("expectation",),
        ("distribution", "integrand"),
        evidence.expectation,
    ),
    Law("a divergence equals quadrature", OF_TWO, ("distribution",), divergences.compared),
    Law("log evidence is the log of an integral", ("log_evidence",), ("joint",), evidence.evidence),
    Law("an ELBO equals its integral", ("bound",), ("joint",), evidence.bound),
    Law("a bound lies below the log evidence", ("bound",), ("log_evidence",), evidence.bound),
    Law("an inverse brings every point back", ("inverse",), ("transform",), transforms.inverse),
    Law("log_jacobian is log |det dy/dx|", ("log_jacobian",), ("transform",), transforms.jacobian),
    PUSHED,
    Law("an estimator is unbiased", ("estimator",), ("expectation",), unbiased.estimator),
    Law("so is that of a gradient", GRADIENTS, ("expectation",), unbiased.gradient),
)
