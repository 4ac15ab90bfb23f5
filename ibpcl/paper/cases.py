"""The distributions of the package, each at one choice of parameters and written with the package's
own functions.

The checks of densities, samplers, divergences and estimators all start from a :class:`Case`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit, gammaincc, ndtr
from scipy.special import logit as scipy_logit

from ibpcl import noise
from ibpcl.noise import Key
from ibpcl.primitives import (
    concrete,
    gaussian,
    horseshoe,
    kumaraswamy,
    latent,
    local_convolution,
    local_linear,
    masked_convolution,
    stick_breaking,
    weibull,
)

REAL = (-np.inf, np.inf)
UNIT = (0.0, 1.0)


class Case(NamedTuple):
    """A distribution at one choice of parameters.

    Attributes
    ----------
    label : str
    log_density : callable, optional
        Number to number; None for what is only sampled.
    sample : callable
        ``sample(rng, size)``.
    cdf : callable
    support : (float, float)
    points : tuple
        Where quadrature cuts the support.
    """

    label: str
    log_density: Callable | None
    sample: Callable
    cdf: Callable
    support: tuple = REAL
    points: tuple | None = None


def new_key(rng):
    """Draw a key of the package's noise."""
    return Key(int(rng.integers(2**63)), 0, 0, 0)


def draw(kind, rng, *shape):
    """Draw the package's own noise, ``uniform``, ``normal`` or ``logistic``, in float64."""
    return getattr(noise, kind)(new_key(rng), shape, np.float64)


def normal_cdf(mean, scale):
    """Return the distribution function of N(mean, scale^2)."""
    return lambda x: ndtr((x - mean) / scale)


def gaussian_case(mu, log_sigma):
    """Return N(mu, sigma^2) as the package samples and evaluates it."""
    return Case(
        f"mu {mu:g}, log sigma {log_sigma:g}",
        lambda x: gaussian.log_density(x, mu, log_sigma)[0],
        lambda rng, n: gaussian.sample(
            draw("normal", rng, n, 1), np.array([mu]), np.array([log_sigma])
        )[0],
        normal_cdf(mu, np.exp(log_sigma)),
        points=(mu,),
    )


def code_case(mu, log_sigma):
    """Return a code of one example: N(mu, sigma^2) as the autoencoder samples it."""
    return Case(
        f"mu {mu:g}, log sigma {log_sigma:g}",
        None,
        lambda rng, n: latent.sample(
            draw("normal", rng, n, 1, 1), np.full((n, 1, 1), mu), np.full((n, 1, 1), log_sigma)
        )[0][:, 0],
        normal_cdf(mu, np.exp(log_sigma)),
    )


def kumaraswamy_case(a, b):
    """Return Kumaraswamy(a, b); its mass lies around the mode, where quadrature cuts."""
    return Case(
        f"a {a:g}, b {b:g}",
        lambda v: kumaraswamy.log_density(np.log(v), a, b)[0],
        lambda rng, n: np.exp(
            kumaraswamy.sample(draw("uniform", rng, n, 1), np.array([a]), np.array([b]))[0]
        ),
        lambda v: 1 - (1 - np.clip(v, 0, 1) ** a) ** b,
        UNIT,
        (0.01, 0.5, 0.9, 0.999),
    )


def logit_case(logit_theta, tau):
    """Return Y = logit z of a binary concrete mask: a logistic variable, scaled by 1 / tau."""
    return Case(
        f"logit theta {logit_theta:g}, tau {tau:g}",
        lambda y: concrete.log_density_logit(y, logit_theta, tau)[0],
        lambda rng, n: (logit_theta + draw("logistic", rng, n)) / tau,
        lambda y: expit(tau * y - logit_theta),
        points=(logit_theta / tau,),
    )


def mask_case(logit_theta, tau):
    """Return a binary concrete mask z itself."""
    return Case(
        f"logit theta {logit_theta:g}, tau {tau:g}",
        lambda z: concrete.log_density(np.float64(z), logit_theta, tau)[0],
        lambda rng, n: concrete.sample(draw("logistic", rng, n), logit_theta, tau)[0],
        lambda z: expit(tau * scipy_logit(np.clip(z, 0, 1)) - logit_theta),
        UNIT,
        (0.01, 0.5, 0.99),
    )


def weibull_case(k, scale):
    """Return Weibull(k, scale), the posterior of a learned concentration."""
    return Case(
        f"k {k:g}, scale {scale:g}",
        lambda x: weibull.log_density(x, k, scale)[0],
        lambda rng, n: weibull.sample(draw("uniform", rng, n, 1), np.array([k]), np.array([scale]))[
            0
        ],
        lambda x: -np.expm1(-((np.maximum(x, 0) / scale) ** k)),
        (0.0, np.inf),
        (scale / 4, scale, 4 * scale),
    )


def scale_case(mu, log_sigma):
    """Return a scale whose log variance is N(mu, sigma^2): a log-normal variable."""
    below = normal_cdf(mu, np.exp(log_sigma))

    def cdf(x):
        with np.errstate(divide="ignore"):  # the logarithm of 0
            return below(2 * np.log(np.maximum(x, 0)))

    return Case(
        f"mu {mu:g}, log sigma {log_sigma:g}",
        None,
        lambda rng, n: horseshoe.sample(
            draw("normal", rng, n, 1), np.array([mu]), np.array([log_sigma])
        )[0],
        cdf,
        (0.0, np.inf),
    )


def half_cauchy_case(scale):
    """Return the log variance of a half-Cauchy scale, whose distribution function is an arc
    tangent.
    """
    return Case(
        f"scale {scale:g}",
        lambda x: horseshoe.log_density(x, scale)[0],
        lambda rng, n: 2 * np.log(scale * np.tan(np.pi / 2 * draw("uniform", rng, n, 1))),
        lambda x: 2 / np.pi * np.arctan(np.exp(np.asarray(x) / 2) / scale),
        points=(2 * np.log(scale),),
    )


def prior_case(k, alpha):
    """Return log pi_k under the prior: minus a Gamma(k) variable of rate alpha."""

    def sample(rng, n):
        return stick_breaking.sample_prior(
            draw("uniform", rng, n, k), np.zeros((n, 1, k)) + 0.5, alpha
        )[1][:, -1]

    return Case(
        f"k {k}, alpha {alpha:g}",
        None,
        sample,
        lambda x: gammaincc(k, -alpha * np.minimum(x, 0)),
        (-np.inf, 0.0),
    )


def preactivation_case():
    """Return a pre-activation whose weights are Gaussian: sampled itself, with the distribution
    that x V + b has.
    """
    x = np.array([[0.3, -1.2, 2.0]])
    mu = np.array([[0.5], [1.0], [-0.2]])
    sigma = np.array([[0.2], [1.0], [0.4]])
    scale = np.sqrt((x**2 @ sigma**2).item() + 0.3**2)

    def sample(rng, n):
        return local_linear.apply(
            draw("normal", rng, n, 1, 1), x, mu, sigma, np.array([0.1]), np.array([0.3])
        )[0]

    return Case("three inputs", None, sample, normal_cdf((x @ mu).item() + 0.1, scale))


def wide_preactivation_case(n, k):
    """Return the pre-activation of example n and unit k, of two and three, as
    :func:`preactivation_case` does.
    """
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 5))
    mu = rng.normal(size=(5, 3))
    sigma = np.exp(rng.normal(scale=0.3, size=(5, 3)))

    def sample(rng, size):
        return local_linear.apply(
            draw("normal", rng, size, 2, 3), x, mu, sigma, np.zeros(3), np.zeros(3)
        )[0][:, n, k]

    exact = normal_cdf((x @ mu)[n, k], np.sqrt(x**2 @ sigma**2)[n, k])
    return Case(f"example {n}, unit {k} of 2 x 3", None, sample, exact)


def masked_preactivation_case():
    """Return the same with the second of the weights masked."""
    x = np.array([[0.3, -1.2, 2.0]])
    mu = np.array([0.5, -0.2])
    log_sigma = np.log([0.2, 0.4])
    mask = np.array([[True], [False], [True]])
    bias = (np.array([0.1]), np.log([0.3]))
    scale = np.sqrt((0.3 * 0.2) ** 2 + (2.0 * 0.4) ** 2 + 0.3**2)

    def sample(rng, n):
        return local_linear.sample(draw("normal", rng, n, 1, 1), x, mu, log_sigma, *bias, mask)[0]

    return Case("two of three inputs", None, sample, normal_cdf(0.3 * 0.5 - 2.0 * 0.2 + 0.1, scale))


def masked_filter_case(logit_theta, tau):
    """Return the second of two weights that share a relaxed mask, z v with Gaussian v.

    Its distribution function is that of the Gaussian weight, averaged over the mask.
    """
    mu = 0.5
    sigma = 0.8
    nodes, weights = np.polynomial.legendre.leggauss(24)
    z = expit((logit_theta + scipy_logit((nodes + 1) / 2)) / tau)

    def sample(rng, n):
        places = np.zeros((2, 1, 1))
        (w, _, _), _ = masked_convolution.sample(
            draw("normal", rng, n, 2, 1, 1),
            draw("logistic", rng, n, 1, 1),
            places + mu,
            places + np.log(sigma),
            np.full((1, 1), logit_theta),
            np.zeros((n, 1)),
            tau,
        )
        return w[:, 1]

    def cdf(w):
        below = ndtr((np.asarray(w)[..., None] / z - mu) / sigma)
        return (below * weights).sum(axis=-1) / 2

    return Case(f"logit theta {logit_theta:g}, tau {tau:g}", None, sample, cdf)


def local_convolution_case():
    """Return one of the outputs of a convolution with local noise: alone, it has the distribution
    that drawn weights give.
    """
    x = np.array([0.3, -1.2, 2.0]).reshape(1, 3, 1, 1)
    mu = np.array([0.5, 1.0]).reshape(2, 1, 1, 1)
    sigma = np.array([0.2, 0.7]).reshape(2, 1, 1, 1)

    def sample(rng, n):
        return local_convolution.apply(
            draw("normal", rng, n, 1, 2, 1, 1), x, mu, sigma, np.array([0.1]), np.array([0.3])
        )[0][:, 0, 1]

    scale = np.sqrt((1.2 * 0.2) ** 2 + (2.0 * 0.7) ** 2 + 0.3**2)
    exact = normal_cdf(-1.2 * 0.5 + 2.0 + 0.1, scale)
    return Case("the second of two positions", None, sample, exact)
