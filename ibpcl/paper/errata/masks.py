"""Errata on the masks: their density, its parameter, their divergence and its gradient."""

from dataclasses import replace

import numpy as np

from ibpcl.noise import Key, logistic
from ibpcl.numerics import logit, sigmoid
from ibpcl.paper.errata.entry import equal, erratum
from ibpcl.paper.integrals import integral
from ibpcl.primitives import bernoulli, concrete, stick_breaking
from ibpcl.verify.distributions.statistics import quadrature

# (theta, pi): posterior and prior probability of a mask.
POINTS = ((0.5, 0.1), (0.9, 0.1), (0.3, 0.6))


def single(value):
    """Return a number as the log-odds of a single mask, in the shape (S, D, K) = (1, 1, 1).

    Parameters
    ----------
    value : float
        The log-odds.

    Returns
    -------
    log_odds : ndarray, shape (1, 1, 1)
    """
    return np.full((1, 1, 1), value)


def relaxed_divergence(logit_theta, logit_pi, tau, prior_tau):
    """Return the KL divergence of two binary concrete variables, integrated over the logit Y.

    Parameters
    ----------
    logit_theta, logit_pi : float
        Log-odds of the mask under the posterior and under the prior.
    tau, prior_tau : float
        Their temperatures, > 0.

    Returns
    -------
    divergence : float
        In nats.
    """

    def integrand(y):
        log_q = concrete.log_density_logit(y, logit_theta, tau)[0]
        return np.exp(log_q) * (log_q - concrete.log_density_logit(y, logit_pi, prior_tau)[0])

    centre = logit_theta / tau
    return integral(integrand, (centre - 50 / tau, centre + 50 / tau), [centre])[0]


def closed_form(module, theta, pi):
    """Return the package's divergence of one mask, by the module ``bernoulli`` or ``concrete``.

    Parameters
    ----------
    module : module
        :mod:`~ibpcl.primitives.bernoulli` or :mod:`~ibpcl.primitives.concrete`.
    theta, pi : float
        Probabilities of the posterior and of the prior, in (0, 1).

    Returns
    -------
    divergence : float
        In nats.
    """
    return float(module.kl(single(logit(theta)), np.full((1, 1), logit(pi)))[0][0])


@erratum(
    "mask-kl-which",
    kind="ambiguity",
    title="Which divergence do the masks pay?",
    where="Sec. 3.2 against supplement D.3",
    line=212,
    printed="all KL terms have closed form; and: the mask's is that of concrete variables",
    right=(
        "the Bernoulli's closed form is not the concrete's, but the concrete has one too: D "
        "coth(D/2) - 2. The default pays the Bernoulli one"
    ),
    typeset=(
        "all KL terms have a closed form (Sec. 3.2), which for Bernoulli masks is "
        r":math:`\theta\log\frac{\theta}{\pi} + (1-\theta)\log\frac{1-\theta}{1-\pi}`",
        "the relaxed masks are concrete variables (supplement D.3). Their divergence has another "
        r"closed form, :math:`D\coth\frac{D}{2} - 2` with "
        r":math:`D = \operatorname{logit}\theta - \operatorname{logit}\pi`. The package has both; "
        "its default pays the Bernoulli one",
    ),
    quantity="the KL divergence of one relaxed mask, theta = 0.5, pi = 0.1, both temperatures 0.5",
    reference="numerical integration",
    labels=("Bernoulli form", "Concrete form"),
)
def mask_kl_which(seed):
    """Compare both closed forms with numerical integration of the relaxed divergence."""
    return equal(
        [closed_form(bernoulli, *point) for point in POINTS],
        [closed_form(concrete, *point) for point in POINTS],
        [relaxed_divergence(logit(theta), logit(pi), 0.5, 0.5) for theta, pi in POINTS],
        1e-7,
    )


@erratum(
    "mask-kl-sampled",
    kind="choice",
    title="The masks' divergence: ten samples or the closed form",
    where="supplement D.3",
    line=534,
    printed="the KL is estimated from samples: log q(Y) - log p(Y), S = 10",
    right="at equal temperatures no sampling is needed: D coth(D/2) - 2, whatever the temperature",
    typeset=(
        r"the average of :math:`\log q(Y) - \log p(Y)` over :math:`S = 10` samples",
        r":math:`D\coth\frac{D}{2} - 2` (``mask_kl = concrete``), exact at equal temperatures, "
        "whatever the temperature",
    ),
    quantity="the KL divergence of one relaxed mask, theta = 0.5, pi = 0.1, equal temperatures",
    reference="numerical integration",
)
def mask_kl_sampled(seed):
    """Compare the average of ten samples and the closed form with numerical integration."""
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
    kind="ambiguity",
    title="The temperature of the prior's masks is not given",
    where="supplement D.3",
    line=534,
    printed=(
        "log q(Y; tau) - log p(Y; tau_0), tau_0 not given (authors' code: 0.05, their autoencoder: "
        "0.25)"
    ),
    right="equal temperatures, so that equal distributions are at distance 0",
    typeset=(
        r":math:`\log q(Y; \tau) - \log p(Y; \tau_0)`; :math:`\tau_0` is not given (the authors' "
        r"code has :math:`\tau_0 \ne \tau`: 0.05, that of their autoencoder 0.25)",
        r":math:`\tau_0 = \tau`: equal mask probabilities then have divergence 0",
    ),
    quantity="the KL divergence of a mask from an equal prior, theta = pi = 0.9; tau = 10, "
    "prior temperature 0.05",
    reference="the divergence of equal distributions",
)
def mask_kl_temperatures(seed):
    """Integrate the divergence of q = p for three pairs of temperatures; it must be 0."""
    same = logit(0.9)
    printed = [
        relaxed_divergence(same, same, *taus) for taus in ((10.0, 0.05), (0.3, 0.05), (0.3, 0.25))
    ]
    return equal(printed, closed_form(concrete, 0.9, 0.9), 0.0, 1e-9)


@erratum(
    "mask-density",
    kind="wrong",
    title="The printed density is that of the mask's logit",
    where="supplement D.3",
    line=536,
    printed="log q(B) = log tau - tau Y + ... : the density of the mask B",
    right="it is the density of Y = logit B; the density of B has the terms - log B - log(1 - B)",
    typeset=(
        r":math:`\log q(B) = \log\tau - \tau Y + \log\alpha - 2\log(1 + e^{-\tau Y + \log\alpha})`",
        r"this is :math:`\log q(Y)` for :math:`Y = \operatorname{logit} B`; the density of "
        r":math:`B` has the further terms :math:`-\log B - \log(1 - B)`. (They cancel in the KL "
        "divergence.)",
    ),
    quantity="the integral of the density over B in (0, 1), log-odds 0.7, temperature 0.5",
    reference="the integral of a density",
)
def mask_density(seed):
    """Integrate both densities over B, at two temperatures; the integral must be 1."""
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
    kind="ambiguity",
    title="The parameter of a relaxed mask: a probability for K classes, the odds for two",
    where="supplement D.3",
    line=531,
    printed="alpha_k is the discrete class probability, read for the binary formula: log alpha = "
    "log pi",
    right="that is right in the K-class formula, where it is printed; the binary formula needs the "
    "odds: log alpha = logit pi, so that P(B > 1/2) = pi. The preset paper has them; the default "
    "takes log pi on purpose",
    typeset=(
        r":math:`\alpha_k` is the class probability, read for the formula of binary masks: "
        r":math:`\log\alpha_k = \log\pi_k`, which gives "
        r":math:`P(B > \frac12) = \pi_k / (1 + \pi_k)`",
        r"in the formula of :math:`K` classes, below which the sentence stands, "
        r":math:`\alpha_k` is the class probability (Jang et al., 2017). The formula of binary "
        r"masks, printed two lines later, needs the odds: "
        r":math:`\log\alpha_k = \operatorname{logit}\pi_k`, so that "
        r":math:`P(B > \frac12) = \pi_k`. The preset ``paper`` has the odds. The default takes "
        r":math:`\log\pi_k` on purpose, for sparser masks",
    ),
    quantity="P(B > 1/2) for the mask probability pi = 0.9",
    reference="the mask probability",
    labels=("Probability", "Odds"),
)
def mask_odds(seed):
    """Integrate P(B > 1/2) with log-odds log pi and logit pi; sigma(log pi) = pi / (1 + pi).

    The formula of K classes is evaluated for the classes on and off, with their probabilities; it
    must give pi as well.
    """
    pi = np.array([0.9, 0.99, 0.5, 0.1])
    logit_pi = stick_breaking.logit_probabilities(np.log(pi))[0]

    def on(log_odds, tau=0.5):
        return quadrature(
            lambda y: np.exp(concrete.log_density_logit(y, log_odds, tau)[0]),
            (0, 60 / tau),
            [max(log_odds, 0) / tau],
        )[0]

    def first_of_two(log_alpha):
        # log alpha_1 + g_1 > log alpha_2 + g_2, with two Gumbel variables
        lead = log_alpha[0] - log_alpha[1]
        return quadrature(
            lambda g: np.exp(-g - np.exp(-g)) * np.exp(-np.exp(-(g + lead))), (-8, 40), [0.0]
        )[0]

    finding = equal([on(np.log(p)) for p in pi], [on(l) for l in logit_pi], pi, 1e-9)
    classes = np.array([first_of_two(np.log([p, 1 - p])) for p in pi])
    return replace(finding, right_holds=finding.right_holds and bool(np.allclose(classes, pi)))


@erratum(
    "mask-gradient",
    kind="ambiguity",
    title="Unbiased gradients: of which objective?",
    where="Sec. 3.2, Sampling details",
    line=227,
    printed="unbiased gradients for all parameters: also those of the Bernoulli variables",
    right="unbiased for the relaxed (concrete) objective; for the Bernoulli one it is biased",
    typeset=(
        "unbiased for the objective with Bernoulli masks",
        "unbiased for the objective with relaxed (concrete) masks, and biased for the one with "
        "Bernoulli masks",
    ),
    quantity="the derivative of E[exp(B)] with respect to the log-odds, theta = 0.7, temperature 1",
    reference="central difference of the relaxed expectation, which is integrated numerically",
    labels=("Bernoulli masks", "Relaxed masks"),
)
def mask_gradient(seed):
    """Compare the derivative of E[exp(B)] and the mean pathwise gradient with that of E[exp(z)]."""
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
