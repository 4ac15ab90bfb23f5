r"""Errata on the masks: whose density is printed, what its parameter is, and what the divergence
is.
"""

import numpy as np

from ibpcl.noise import Key, logistic
from ibpcl.numerics import logit, sigmoid
from ibpcl.paper.errata.entry import equal, erratum
from ibpcl.primitives import bernoulli, concrete, stick_breaking
from ibpcl.verify.distributions import quadrature

# (theta, pi): posterior and prior probability of a mask.
POINTS = ((0.5, 0.1), (0.9, 0.1), (0.3, 0.6))


def one(value):
    """Shape a number as the log-odds of a single mask, (S, D, K)."""
    return np.full((1, 1, 1), value)


def relaxed_divergence(logit_theta, logit_pi, tau, prior_tau):
    """Integrate the divergence of two binary concrete variables numerically, over the logit Y."""

    def integrand(y):
        log_q = concrete.log_density_logit(y, logit_theta, tau)[0]
        return np.exp(log_q) * (log_q - concrete.log_density_logit(y, logit_pi, prior_tau)[0])

    centre = logit_theta / tau
    return quadrature(integrand, (centre - 50 / tau, centre + 50 / tau), [centre])[0]


def closed_form(module, theta, pi):
    """Evaluate the package's divergence of one mask: ``bernoulli`` or ``concrete``."""
    return float(module.kl(one(logit(theta)), np.full((1, 1), logit(pi)))[0][0])


@erratum(
    "mask-kl-which",
    "Sec. 3.2 and supplement D.3",
    212,
    "all KL terms have closed form; and: the mask's is that of concrete variables",
    (
        "the Bernoulli's closed form is not the concrete's, but the concrete has one too: D "
        "coth(D/2) - 2"
    ),
)
def mask_kl_which(seed):
    """The Bernoulli closed form and D coth(D/2) - 2 against quadrature of the relaxed model's
    divergence.
    """
    return equal(
        [closed_form(bernoulli, *point) for point in POINTS],
        [closed_form(concrete, *point) for point in POINTS],
        [relaxed_divergence(logit(theta), logit(pi), 0.5, 0.5) for theta, pi in POINTS],
        1e-7,
    )


@erratum(
    "mask-kl-sampled",
    "supplement D.3",
    534,
    "the KL is estimated from samples: log q(Y) - log p(Y), S = 10",
    "at equal temperatures no sampling is needed: D coth(D/2) - 2, whatever the temperature",
)
def mask_kl_sampled(seed):
    """The average of ten samples and the closed form against quadrature."""
    logit_theta = logit(0.5)
    logit_pi = logit(0.1)
    noise = logistic(Key(seed, 0, 0, 0), (10, 1, 1), np.float64)
    estimate = concrete.kl_monte_carlo(
        noise, np.full((10, 1, 1), logit_theta), np.full((10, 1), logit_pi), 0.5, 0.5
    )[0]
    return equal(
        estimate.mean(),
        closed_form(concrete, 0.5, 0.1),
        relaxed_divergence(logit_theta, logit_pi, 2.0, 2.0),
        1e-7,
    )


@erratum(
    "mask-kl-temperatures",
    "supplement D.3",
    534,
    (
        "log q(Y; tau) - log p(Y; tau_0), tau_0 not given (authors' code: 0.05, their autoencoder: "
        "0.25)"
    ),
    "equal temperatures, so that equal distributions are at distance 0",
)
def mask_kl_temperatures(seed):
    """The divergence of q = p, theta = pi = 0.9: tau = 10 and 0.3 against 0.05, 0.3 against 0.25;
    it must be 0.
    """
    same = logit(0.9)
    printed = [
        relaxed_divergence(same, same, *taus) for taus in ((10.0, 0.05), (0.3, 0.05), (0.3, 0.25))
    ]
    return equal(printed, closed_form(concrete, 0.9, 0.9), 0.0, 1e-9)


@erratum(
    "mask-density",
    "supplement D.3",
    536,
    "log q(B) = log tau - tau Y + ... : the density of the mask B",
    "it is that of Y = logit B; that of B has - log B - log(1 - B) besides",
)
def mask_density(seed):
    """The integral of both over B, which must be 1; cold and warm."""
    cases = ((0.7, 0.5), (-1.0, 2.0))
    printed = [
        quadrature(lambda z, c=case: np.exp(concrete.log_density_logit(logit(z), *c)[0]), (0, 1))[0]
        for case in cases
    ]
    right = [
        quadrature(lambda z, c=case: np.exp(concrete.log_density(z, *c)[0]), (0, 1))[0]
        for case in cases
    ]
    return equal(printed, right, 1.0, 1e-7)


@erratum(
    "mask-odds",
    "supplement D.3",
    531,
    "alpha_k is the discrete class probability: log alpha = log pi",
    "alpha_k is the odds: log alpha = logit pi, so that P(B > 1/2) = pi",
)
def mask_odds(seed):
    """P(B > 1/2) by quadrature of the density, for pi = 0.9, 0.99, 0.5 and 0.1; sigma(log pi) = pi
    / (1 + pi).
    """
    pi = np.array([0.9, 0.99, 0.5, 0.1])
    logit_pi = stick_breaking.logit_probabilities(np.log(pi))[0]

    def on(log_odds, tau=0.5):
        return quadrature(
            lambda y: np.exp(concrete.log_density_logit(y, log_odds, tau)[0]),
            (0, 60 / tau),
            [max(log_odds, 0) / tau],
        )[0]

    return equal([on(np.log(p)) for p in pi], [on(l) for l in logit_pi], pi, 1e-9)


@erratum(
    "mask-gradient",
    "Sec. 3.2, Sampling details",
    227,
    "unbiased gradients for all parameters: also those of the Bernoulli variables",
    "unbiased for the relaxed (concrete) objective; for the Bernoulli one it is biased",
)
def mask_gradient(seed):
    """The derivative of E[exp(B)] and the mean pathwise gradient against that of E[exp(z)], tau =
    1, theta = 0.7.
    """
    log_odds = logit(0.7)
    tau = 1.0

    def expectation(log_odds):
        return quadrature(
            lambda y: np.exp(sigmoid(y) + concrete.log_density_logit(y, log_odds, tau)[0]),
            (-40, 40),
            [log_odds / tau],
        )[0]

    def pathwise(noise):
        z, cache = concrete.sample(noise, log_odds, tau)
        return concrete.sample_vjp(np.exp(z), cache) * np.exp(
            concrete.log_density_logit(noise, 0.0, 1.0)[0]
        )

    derivative = (expectation(log_odds + 1e-4) - expectation(log_odds - 1e-4)) / 2e-4
    return equal(0.7 * 0.3 * (np.e - 1), quadrature(pathwise, (-40, 40))[0], derivative, 1e-6)
