r"""Errata on what is inferred: the family of q, a prior without a density, codes and encoders, and
the constant of Bayes' rule.
"""

from dataclasses import replace

import numpy as np
from scipy.special import betaln

from ibpcl.models.elbo import Flat
from ibpcl.numerics import sigmoid
from ibpcl.paper.errata.entry import equal, erratum
from ibpcl.primitives import gaussian, kumaraswamy, stick_breaking
from ibpcl.verify.distributions.statistics import quadrature

# Parameters of a stick's posterior and of a mask: q(v) = Kumaraswamy(a, b), rho.
STICK = (3.0, 2.0)
RHO = 0.8
# A linear model of one pixel and one code: x = W z + noise, z ~ N(0, 1).
W = 0.9
NOISE = 0.5
X = np.array([0.4, -1.1, 1.7, 0.2, -0.6, 1.3])


@erratum(
    "structured-mean-field",
    kind="ambiguity",
    title="The factorization of the posterior is not mean-field",
    where="Sec. 3.2, above Eq. 7",
    line=207,
    printed="q(V, B, v) has a mean-field factorization: B and v are independent",
    right="it is structured, q(V) q(B|v) q(v), as in Eq. 5: masks depend on sticks",
    typeset=(
        "\"the mean-field factorization of the posterior\", which would make :math:`B` and "
        ":math:`v` independent",
        r"the factorization of Eq. 5, :math:`q(V)\, q(B \mid v)\, q(v)`, which the same section "
        "calls structured. Eq. 7 itself is right for it: with independent factors, its second "
        "term would need no conditional posterior",
    ),
    quantity="the covariance of a mask and its stick under q, for rho = 0.8 and "
    "Kumaraswamy(3, 2) sticks",
    reference="numerical integration over the stick's density",
    labels=("Mean-field", "Structured"),
)
def structured_mean_field(seed):
    """Compare the covariance of independent factors, 0, and that of Eq. 5 with an integral."""
    a, b = STICK

    def on(log_v):
        return sigmoid(RHO + stick_breaking.logit_probabilities(log_v)[0])

    def density(v):
        return a * b * v ** (a - 1) * (1 - v**a) ** (b - 1)

    def moment(function):
        return quadrature(lambda v: density(v) * function(v), (0, 1))[0]

    truth = moment(lambda v: v * on(np.log(v))) - moment(lambda v: v) * moment(
        lambda v: on(np.log(v))
    )
    # draws by inversion, at the midpoints of a fine grid of the uniform noise
    u = (np.arange(200_000) + 0.5) / 200_000
    log_v = kumaraswamy.sample(u[:, None], np.array([a]), np.array([b]))[0][:, 0]
    v = np.exp(log_v)
    theta = on(log_v)
    return equal(0.0, (v * theta).mean() - v.mean() * theta.mean(), truth, 1e-6)


@erratum(
    "uniform-prior",
    kind="ambiguity",
    title="A uniform prior of weights has no divergence",
    where="Sec. 4.1",
    line=250,
    printed="KL[q || p_0] for a uniform p_0, as a number",
    right="a uniform density on all reals is improper: the divergence is known up to a constant, "
    "-log sigma + const.",
    typeset=(
        r":math:`\mathrm{KL}[q \,\|\, p_0]` for a uniform distribution :math:`p_0`, as a number",
        r"a uniform density on all reals is improper, and one on an interval makes the divergence "
        r"of a Gaussian infinite. With any constant height :math:`c`, "
        r":math:`\mathrm{KL} = -\log\sigma - \frac12\log(2 \pi e) - \log c`. Its gradient is "
        r"defined, its value is not; here it is :math:`-\log\sigma`",
    ),
    quantity="the change of KL[N(0.3, 0.5^2) || p_0], in nats, when the height of a constant p_0 "
    "changes from 1/20 to 1/2000",
    reference="the change of a quantity that does not depend on the height",
    labels=("The value", "Its derivative"),
)
def uniform_prior(seed):
    """Compare the change of the value, and of its derivative in log sigma, with none."""
    mu = 0.3
    step = 1e-3

    def divergence(log_sigma, height):
        sigma = np.exp(log_sigma)

        def integrand(x):
            log_q = gaussian.log_density(x, mu, log_sigma)[0]
            return np.exp(log_q) * (log_q - np.log(height))

        return quadrature(integrand, (mu - 12 * sigma, mu + 12 * sigma), [mu])[0]

    def slope(height):
        at = np.log(0.5)
        return (divergence(at + step, height) - divergence(at - step, height)) / (2 * step)

    heights = (1 / 20, 1 / 2000)
    values = [divergence(np.log(0.5), height) for height in heights]
    slopes = [slope(height) for height in heights]
    finding = equal(values[1] - values[0], slopes[1] - slopes[0], 0.0, 1e-6)
    of_package = Flat.kl_vjp(1.0, np.log([0.5]))[1][0]
    return replace(
        finding, right_holds=finding.right_holds and bool(abs(slopes[0] - of_package) < 1e-6)
    )


def log_evidence():
    """Return log p(x) of the linear model, summed over its pixels, by integration over codes.

    Returns
    -------
    log_p : float
        In nats.
    """

    def density(z, x):
        prior = np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
        return prior * np.exp(-(((x - W * z) / NOISE) ** 2) / 2) / (NOISE * np.sqrt(2 * np.pi))

    return sum(np.log(quadrature(lambda z, x=x: density(z, x), (-12, 12))[0]) for x in X)


def bound(phi):
    r"""Return the ELBO of the linear model whose encoder is q(z|x) = N(phi x, s²), in nats.

    The variance of q is that of the exact posterior, :math:`s^2 = 1 / (1 + W^2 / \sigma^2)`.

    Parameters
    ----------
    phi : float
        Weight of the encoder.

    Returns
    -------
    elbo : float
        Summed over the pixels.
    """
    variance = 1 / (1 + (W / NOISE) ** 2)
    mean = phi * X
    squares = (X - W * mean) ** 2 + W**2 * variance
    likelihood = -np.log(NOISE) - np.log(2 * np.pi) / 2 - squares / (2 * NOISE**2)
    divergence = (mean**2 + variance - 1 - np.log(variance)) / 2
    return float((likelihood - divergence).sum())


def best_encoder():
    """Return the encoder's weight at which q(z|x) is the exact posterior of the code."""
    return W / (W**2 + NOISE**2)


@erratum(
    "autoencoder-inference",
    kind="ambiguity",
    title="What is inferred in a variational autoencoder",
    where="Sec. 2.1",
    line=103,
    printed="point estimation for the decoder's theta, posterior inference for the encoder's phi",
    right="point estimates of theta and phi; the posterior is that of the codes z, and the encoder "
    "computes its parameters",
    typeset=(
        r"customary is \"point estimation for decoder parameters :math:`\theta` and posterior "
        r"inference for encoder parameters :math:`\phi`\", read as a posterior of :math:`\phi`",
        r"Kingma and Welling (2013) maximize the bound over both :math:`\theta` and :math:`\phi`. "
        r"The inferred posterior is :math:`q_\phi(z \mid x)`, that of the codes. In a linear model "
        r"the best :math:`\phi` makes it exact, and a distribution over :math:`\phi` only loses. "
        r"Naive training and EWC have point estimates here. NPBCL has a distribution over "
        r":math:`\phi` all the same, as the paper wants (see the remark on the encoder's weights)",
    ),
    quantity="the bound of a linear model of six pixels, in nats, with phi ~ N(best, 0.1^2) and at "
    "the best phi",
    reference="the log evidence, by numerical integration over the codes",
    labels=("Posterior of phi", "One phi"),
)
def autoencoder_inference(seed):
    """Compare the mean bound over a distribution of phi, and the best bound, with log p(x)."""
    best = best_encoder()
    nodes, mass = np.polynomial.hermite_e.hermegauss(8)
    spread = np.average([bound(best + 0.1 * node) for node in nodes], weights=mass)
    return equal(spread, bound(best), log_evidence(), 1e-8)


@erratum(
    "encoder-weights",
    kind="remark",
    title="The encoder's weights are not part of the generative model",
    where="Sec. 2.1",
    line=103,
    printed="the full posterior over the encoder's weights is inferred",
    right="no likelihood depends on them: their exact posterior is their prior; the bound holds "
    "for any q(phi)",
    typeset=(
        "the full posterior over the parameters of encoder and decoder is inferred",
        r"the encoder's weights occur in :math:`q(z \mid x, \phi)` only. No likelihood depends on "
        r"them, so their exact posterior is their prior. What the bound learns is a distribution "
        r"of encoders, not an approximation of that posterior. The bound on :math:`\log p(x)` "
        r"holds all the same",
    ),
    quantity="the variance of an encoder's weight with the prior N(0, 1), for six pixels: under "
    "the q that maximizes the bound, and under the exact posterior",
    reference="the variance of the prior",
    labels=("Best q", "Exact posterior"),
)
def encoder_weights(seed):
    """Compare the variance under the best Gaussian q, and under Bayes' rule, with the prior's."""
    best = best_encoder()
    # the bound is quadratic in phi, so the best Gaussian q has the precision 1 + curvature
    curvature = -(bound(best + 1) - 2 * bound(best) + bound(best - 1))
    variance = 1 / (1 + curvature)
    mean = best * curvature * variance
    nodes, mass = np.polynomial.hermite_e.hermegauss(8)
    expected = np.average([bound(mean + np.sqrt(variance) * node) for node in nodes], weights=mass)
    divergence = gaussian.kl(np.array([mean]), np.log([variance]) / 2, 0.0, 0.0)[0]
    # Bayes' rule on a grid: p(x | phi), with the codes integrated out, is the same for every phi
    phi = np.linspace(-9, 9, 1801)
    log_joint = -(phi**2) / 2 + log_evidence()
    posterior = np.exp(log_joint - log_joint.max())
    posterior /= posterior.sum()
    finding = equal(variance, posterior @ phi**2, 1.0, 1e-6)
    holds = expected - divergence < log_evidence()
    return replace(finding, right_holds=bool(finding.right_holds and holds))


@erratum(
    "coreset-proportional",
    kind="wrong",
    title="An equals sign in the recursion of coresets lacks the evidence",
    where="supplement C",
    line=505,
    printed="p(theta | D_1:t without C_t) = p(theta | D_1:t-1 without C_t-1) p(D_t u C_t-1 without "
    "C_t | theta)",
    right="proportional to it, as in the line above: the right side does not integrate to 1",
    typeset=(
        r":math:`p(\theta \mid D_{1:t} \setminus C_t) = "
        r"p(\theta \mid D_{1:t-1} \setminus C_{t-1})\, "
        r"p(D_t \cup C_{t-1} \setminus C_t \mid \theta)`",
        r":math:`\propto` in place of :math:`=`, as in the decomposition above it. The right side "
        r"integrates to the evidence of the points, not to 1. The projections that follow do not "
        r"depend on the constant",
    ),
    quantity="the posterior density at theta = 0.3 of a coin's probability, prior uniform; before: "
    "4 of 7 heads, new: 3 of 9",
    reference="the conjugate posterior of all points together",
)
def coreset_proportional(seed):
    """Compare both forms with the conjugate posterior of a coin, at several probabilities."""
    theta = np.array([0.3, 0.5, 0.7])
    before = (5.0, 4.0)
    heads = 3
    tails = 6

    def density(p, a, b):
        return np.exp((a - 1) * np.log(p) + (b - 1) * np.log1p(-p) - betaln(a, b))

    def product(p):
        return density(p, *before) * p**heads * (1 - p) ** tails

    evidence = quadrature(product, (0, 1))[0]
    together = density(theta, before[0] + heads, before[1] + tails)
    return equal(product(theta), product(theta) / evidence, together, 1e-9)
