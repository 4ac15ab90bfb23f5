r"""The cold objective of a masked classifier as an estimator, with its gradient."""

import math

PRIOR_VARIANCE = 0.25
COLD = 0.1

WORDS = {
    "Log standard deviation": "Log variance",
    "Estimate the evidence lower bound from a minibatch and S samples":
        "Estimate the cold objective from a minibatch and S samples: the divergence counts a tenth",
    "Take a step of gradient ascent on the bound per example for each set":
        "Take a step of gradient ascent on the objective per example for each set",
}


def masked_weights(eps, u, mu, scale, rho, logit_pi, tau):
    noise = np.exp(scale / 2) * eps
    v = mu + noise                                           # (S, D, C)
    z = _sigmoid((rho + logit_pi + np.log(u) - np.log1p(-u)) / tau)
    return z * v, (noise, v, z, tau)


def masked_weights_vjp(dw, cache):
    r""".. math:: dv = z\, dw, \quad dz = v\, dw, \quad d\rho = \sum_s dz\, z (1 - z) / \tau, \quad
              d\log\sigma^2 = \tfrac12 \sum_s dv\, \sigma \varepsilon
    """
    noise, v, z, tau = cache
    dv = dw * z                                              # the product rule
    drho = (dw * v * z * (1 - z)).sum(axis=0) / tau          # everything below was broadcast over S
    return dv.sum(axis=0), (dv * noise).sum(axis=0) / 2, drho, drho.sum(axis=0)


def divergence(mu, scale, rho, logit_pi):
    ratio = np.exp(scale) / PRIOR_VARIANCE                   # of the variances
    weights = (mu * mu / PRIOR_VARIANCE + ratio - 1 - scale + math.log(PRIOR_VARIANCE)) / 2
    logit_theta = rho + logit_pi                             # (D, C)
    masks = -_sigmoid(logit_pi) * rho + _softplus(logit_theta) - _softplus(logit_pi)    # of the prior from q
    return (weights + masks).sum(), (mu, ratio, rho, logit_pi)


def divergence_vjp(ddivergence, cache):
    r""".. math:: \partial_\mu = 4 \mu, \quad \partial_{\log\sigma^2} = \tfrac12 (4 \sigma^2 - 1), \quad
              \partial_\rho = \theta - \pi, \quad
              \partial_{\operatorname{logit}\pi} = \sum_d \theta - \pi - \pi (1 - \pi) \rho
    """
    mu, ratio, rho, logit_pi = cache
    pi = _sigmoid(logit_pi)
    drho = _sigmoid(rho + logit_pi) - pi
    dlogit_pi = (drho - pi * _sigmoid(-logit_pi) * rho).sum(axis=0)      # logit_pi was broadcast over D
    dmu, dscale = mu / PRIOR_VARIANCE, (ratio - 1) / 2
    return ddivergence * dmu, ddivergence * dscale, ddivergence * drho, ddivergence * dlogit_pi


def elbo(eps, u, mu, scale, rho, logit_pi, tau, x, labels, examples):
    w, weights = masked_weights(eps, u, mu, scale, rho, logit_pi, tau)
    log_p, likelihood = log_likelihood(w, x, labels)
    paid, price = divergence(mu, scale, rho, logit_pi)
    weight = examples / len(x)                               # an estimate of the whole data set's log-likelihood
    return weight * log_p.mean() - COLD * paid, (weights, likelihood, price, weight, len(log_p))


def elbo_vjp(dobjective, cache):
    weights, likelihood, price, weight, samples = cache
    dlog_p = np.full(samples, dobjective * weight / samples) # the mean over the samples
    through_weights = masked_weights_vjp(log_likelihood_vjp(dlog_p, likelihood), weights)
    through_divergence = divergence_vjp(-COLD * dobjective, price)
    return tuple(a + b for a, b in zip(through_weights, through_divergence, strict=True))


def slope_in_theta(eps, u, mu, scale, rho, logit_pi, tau):
    r""".. math:: \partial_\theta w = \frac{v\, z (1 - z)}{\tau\, \theta (1 - \theta)}, \quad v = \mu + e^{s / 2}\, \varepsilon"""
    v = mu + np.exp(scale / 2) * eps                             # (S, D, C)
    logit_theta = rho + logit_pi                             # (D, C)
    y = (logit_theta + np.log(u) - np.log1p(-u)) / tau
    spread = _sigmoid(logit_theta) * _sigmoid(-logit_theta)  # theta (1 - theta)
    return v * _sigmoid(y) * _sigmoid(-y) / (tau * spread)
