r"""Errata on the IBP's concentration: a learned alpha needs no sampling where the paper expects it."""

import numpy as np
from scipy.special import digamma, gammaln

from ibpcl.noise import Key, uniform
from ibpcl.paper.errata.entry import equal, erratum
from ibpcl.primitives import kumaraswamy, weibull
from ibpcl.verify.distributions import quadrature

STICKS = (np.array([31.0, 8.0]), np.array([2.0, 0.7]))
K, SCALE = np.array([3.0]), np.array([12.0])


@erratum("learned-alpha-sampled", "supplement E.2", 546,
         "with a learned alpha the sticks' KL must be estimated by sampling (S = 10)",
         "it is linear in alpha and log alpha: E[alpha] and E[log alpha] are enough")
def learned_alpha_sampled(seed):
    """The average over ten samples of alpha, and the form with two moments, against quadrature over alpha."""
    draws = weibull.sample(uniform(Key(seed, 0, 0, 0), (10, 1), np.float64), K, SCALE)[0]
    (mean, mean_log), _ = weibull.moments(K, SCALE)

    def integrand(alpha):
        density = np.exp(weibull.log_density(np.array([alpha]), K, SCALE)[0].item())
        return density * float(kumaraswamy.kl_to_beta(*STICKS, alpha)[0])

    return equal(np.mean([kumaraswamy.kl_to_beta(*STICKS, draw)[0] for draw in draws[:, 0]]),
                 kumaraswamy.expected_kl_to_beta(*STICKS, mean[0], mean_log[0])[0],
                 quadrature(integrand, (0, 80), [6, 12, 24])[0], 1e-7)


@erratum("gamma-divergence", "supplement E.2", 546, "the Gamma has no closed-form KL, so it must be sampled (S = 10)",
         "KL of two Gammas is closed: (g - h) psi(g) - log Gamma(g) + log Gamma(h) + h log(r / s) + g (s - r) / r")
def gamma_divergence(seed):
    """The average of ten samples of the log ratio, and the closed form, against quadrature; shapes g, h, rates r, s."""
    g, r, h, s = 4.0, 0.5, 2.0, 0.2

    def log_ratio(x):
        return (g - h) * np.log(x) - (r - s) * x + g * np.log(r) - h * np.log(s) - gammaln(g) + gammaln(h)

    def density(x):
        return np.exp(g * np.log(r) - gammaln(g) + (g - 1) * np.log(x) - r * x)

    draws = np.random.default_rng(seed).gamma(g, 1 / r, 10)
    closed = (g - h) * digamma(g) - gammaln(g) + gammaln(h) + h * np.log(r / s) + g * (s - r) / r
    return equal(log_ratio(draws).mean(), closed, quadrature(lambda x: density(x) * log_ratio(x), (0, 150), [4, 20])[0],
                 1e-7)
