r"""Errata on the sticks and their concentration alpha: divergences, which distribution q(v) is, a
learned alpha.
"""

import numpy as np
from scipy.special import beta as beta_function
from scipy.special import betaln, digamma, gammaln

from ibpcl.models.masked import Masked
from ibpcl.models.parameters import Layout
from ibpcl.noise import Key, uniform
from ibpcl.numerics import log1mexp
from ibpcl.paper.errata.entry import equal, erratum
from ibpcl.primitives import kumaraswamy, weibull
from ibpcl.verify.distributions import quadrature

# (a, b, alpha) with beta = 1, the IBP's prior, and (a, b, alpha, beta) in general.
POINTS = ((2.0, 3.0, 1.5), (31.0, 2.0, 30.0), (57.0, 0.74, 30.0), (5.0, 0.5, 30.0))
GENERAL_POINTS = ((31.0, 2.0, 30.0, 3.0), (2.0, 3.0, 1.5, 2.5), (1.0, 2.0, 1.0, 3.0))


def divergence_by_quadrature(a, b, alpha, beta=1.0):
    r"""Integrate :math:`KL[\mathrm{Kumaraswamy}(a, b) \,\|\, \mathrm{Beta}(\alpha, \beta)]`
    numerically.

    With :math:`t = (1 - v^a)^b`, which is uniform under q, the integrand has no pole:
    :math:`\log(1 - v^a) = \log t / b`.

    >>> round(divergence_by_quadrature(2.0, 3.0, 1.5), 6)
    0.261294
    """

    def integrand(t):
        log_rest = np.log(t) / b
        log_v = log1mexp(log_rest) / a
        log_q = np.log(a * b) + (a - 1) * log_v + (b - 1) * log_rest
        return (
            log_q
            - (alpha - 1) * log_v
            - ((beta - 1) * log1mexp(log_v) if beta != 1 else 0)
            + betaln(alpha, beta)
        )

    return quadrature(integrand, (0, 1))[0]


def eleven_terms(a, b, alpha, beta, last):
    """Evaluate Eq. 13 with eleven terms of its series, as printed but for its last constant, which
    is given.
    """
    m = np.arange(1, 12)
    series = (beta - 1) * b * (beta_function(m / a, b) / (m + a * b)).sum()
    mean_log = (a - alpha) / a * (-np.euler_gamma - digamma(b) - 1 / b)
    return mean_log + np.log(a * b) + betaln(alpha, beta) + last + series


def ours(a, b, alpha):
    """Evaluate the package's divergence for one stick."""
    return float(kumaraswamy.kl_to_beta(np.array([a]), np.array([b]), alpha)[0])


@erratum(
    "kumaraswamy-kl-constant",
    "supplement D.2, Eq. 13",
    524,
    "... - b / (1 - b) ...",
    "... - (b - 1) / b ...",
)
def kumaraswamy_kl_constant(seed):
    """Both constants against quadrature, for beta = 1; the printed one even gives negative
    divergences.
    """
    return equal(
        [eleven_terms(a, b, alpha, 1.0, -b / (1 - b)) for a, b, alpha in POINTS],
        [ours(*point) for point in POINTS],
        [divergence_by_quadrature(*point) for point in POINTS],
        1e-7,
    )


@erratum(
    "kumaraswamy-kl-at-prior",
    "supplement D.2, Eq. 13",
    524,
    "... - b / (1 - b) ...: singular at b = 1",
    "0 where q equals the prior, (a, b) = (alpha, 1)",
)
def kumaraswamy_kl_at_prior(seed):
    """Both forms where q and p are the same distribution, so that the divergence is 0."""
    # b / (1 - b) at b = 1 is what is shown to be singular
    with np.errstate(divide="ignore"):
        last = -np.float64(1) / np.float64(0)
    return equal(eleven_terms(30.0, 1.0, 30.0, 1.0, last), ours(30.0, 1.0, 30.0), 0.0, 1e-9)


@erratum(
    "kumaraswamy-kl-11-terms",
    "supplement D.2, below Eq. 13",
    527,
    "the first 11 terms of the series suffice",
    "their number must grow with a (and none is needed for beta = 1)",
)
def kumaraswamy_kl_eleven_terms(seed):
    """Eleven terms, with the constant mended, against quadrature, where beta is not 1."""
    return equal(
        [eleven_terms(a, b, alpha, beta, -(b - 1) / b) for a, b, alpha, beta in GENERAL_POINTS],
        [kumaraswamy.kl_to_general_beta(*point)[0] for point in GENERAL_POINTS],
        [divergence_by_quadrature(*point) for point in GENERAL_POINTS],
        1e-6,
    )


@erratum(
    "stick-posterior",
    "Sec. 3.2",
    196,
    "q(v) is Beta(nu_1, nu_2)",
    "q(v) is Kumaraswamy(a, b), as in supplement D.2",
)
def stick_posterior(seed):
    """The mean of both distributions at (2, 3) against that of the supplement's sampling
    formula.
    """
    a = 2.0
    b = 3.0
    drawn = quadrature(
        lambda u: np.exp(
            kumaraswamy.sample(np.array([[u]]), np.array([a]), np.array([b]))[0][0, 0]
        ),
        (0, 1),
    )[0]
    return equal(a / (a + b), b * beta_function(1 + 1 / a, b), drawn, 1e-8)


@erratum(
    "stick-start",
    "supplement B.1 (not printed)",
    469,
    "the authors' code starts at (a, b) = (alpha + 1, 2)",
    "starting at the prior, (alpha, 1), costs nothing and hides no unit",
)
def stick_start(seed):
    """The mean log-stick at both starts against the prior's, for alpha = 30: 200 sticks multiply
    the difference.
    """
    alpha = 30.0
    layer = Masked("layer", 2, 3)
    layout = Layout(layer.entries())
    start = layout.layers(np.zeros(layout.size))["layer"]
    layer.start_sticks(start, alpha)
    a = np.log1p(np.exp(start["raw_a"][0]))
    b = np.log1p(np.exp(start["raw_b"][0]))
    prior = quadrature(lambda v: alpha * v ** (alpha - 1) * np.log(v), (0, 1))[0]
    return equal(
        *(-(np.euler_gamma + digamma(y + 1)) / x for x, y in ((alpha + 1, 2.0), (a, b))),
        prior,
        1e-9,
    )


STICKS = (np.array([31.0, 8.0]), np.array([2.0, 0.7]))
K = np.array([3.0])
SCALE = np.array([12.0])


@erratum(
    "learned-alpha-sampled",
    "supplement E.2",
    546,
    "with a learned alpha the sticks' KL must be estimated by sampling (S = 10)",
    "it is linear in alpha and log alpha: E[alpha] and E[log alpha] are enough",
)
def learned_alpha_sampled(seed):
    """The average over ten samples of alpha, and the form with two moments, against quadrature over
    alpha.
    """
    draws = weibull.sample(uniform(Key(seed, 0, 0, 0), (10, 1), np.float64), K, SCALE)[0]
    (mean, mean_log), _ = weibull.moments(K, SCALE)

    def integrand(alpha):
        density = np.exp(weibull.log_density(np.array([alpha]), K, SCALE)[0].item())
        return density * float(kumaraswamy.kl_to_beta(*STICKS, alpha)[0])

    return equal(
        np.mean([kumaraswamy.kl_to_beta(*STICKS, draw)[0] for draw in draws[:, 0]]),
        kumaraswamy.expected_kl_to_beta(*STICKS, mean[0], mean_log[0])[0],
        quadrature(integrand, (0, 80), [6, 12, 24])[0],
        1e-7,
    )


@erratum(
    "gamma-divergence",
    "supplement E.2",
    546,
    "the Gamma has no closed-form KL, so it must be sampled (S = 10)",
    (
        "KL of two Gammas is closed: (g - h) psi(g) - log Gamma(g) + log Gamma(h) + h log(r / s) "
        "+ g (s - r) / r"
    ),
)
def gamma_divergence(seed):
    """The average of ten samples of the log ratio, and the closed form, against quadrature; shapes
    g, h, rates r, s.
    """
    g = 4.0
    r = 0.5
    h = 2.0
    s = 0.2

    def log_ratio(x):
        return (
            (g - h) * np.log(x)
            - (r - s) * x
            + g * np.log(r)
            - h * np.log(s)
            - gammaln(g)
            + gammaln(h)
        )

    def density(x):
        return np.exp(g * np.log(r) - gammaln(g) + (g - 1) * np.log(x) - r * x)

    draws = np.random.default_rng(seed).gamma(g, 1 / r, 10)
    closed = (g - h) * digamma(g) - gammaln(g) + gammaln(h) + h * np.log(r / s) + g * (s - r) / r
    return equal(
        log_ratio(draws).mean(),
        closed,
        quadrature(lambda x: density(x) * log_ratio(x), (0, 150), [4, 20])[0],
        1e-7,
    )
