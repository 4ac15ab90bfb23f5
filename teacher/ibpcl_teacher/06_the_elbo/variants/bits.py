r"""The loss of a masked classifier in bits per example, with its gradient."""

import math

LOG_2 = math.log(2)

WORDS = {
    "Log standard deviation of the weights": "Log precision of the weights, one over the variance",
    "Evaluate the log-likelihood of the labels for each sample of the weights":
        "Evaluate the log-likelihood of the labels for each sample of the weights, in bits",
    "Estimate the evidence lower bound from a minibatch and S samples":
        "Estimate the loss from a minibatch and S samples: minus the evidence lower bound, per example",
    "Nats, of the whole data set": "Bits per example",
    "Nats": "Bits",
    "Take a step of gradient ascent on the bound per example for each set":
        "Take a step of gradient descent on the loss for each set",
}


def masked_weights(eps, u, mu, scale, rho, logit_pi, tau):
    noise = np.exp(-scale / 2) * eps
    v = mu + noise                                           # (S, D, C)
    z = _sigmoid((rho + logit_pi + np.log(u) - np.log1p(-u)) / tau)
    return z * v, (noise, v, z, tau)


def masked_weights_vjp(dw, cache):
    r""".. math:: dv = z\, dw, \quad dz = v\, dw, \quad d\rho = \sum_s dz\, z (1 - z) / \tau, \quad
              d\log\lambda = -\tfrac12 \sum_s dv\, \sigma \varepsilon
    """
    noise, v, z, tau = cache
    dv = dw * z                                              # the product rule
    drho = (dw * v * z * (1 - z)).sum(axis=0) / tau          # everything below was broadcast over S
    return dv.sum(axis=0), -(dv * noise).sum(axis=0) / 2, drho, drho.sum(axis=0)


def divergence(mu, scale, rho, logit_pi):
    excess = np.expm1(-scale)                                # sigma^2 - 1; the prior is standard normal
    weights = (mu * mu + excess + scale) / 2
    logit_theta = rho + logit_pi                             # (D, C)
    theta = _sigmoid(logit_theta)
    masks = theta * rho - _softplus(logit_theta) + _softplus(logit_pi)
    return (weights + masks).sum() / LOG_2, (mu, excess, rho, logit_pi, logit_theta)


def divergence_vjp(ddivergence, cache):
    r""".. math:: \ln 2 \cdot \partial_\mu = \mu, \quad
              \ln 2 \cdot \partial_{\log\lambda} = \tfrac12 (1 - \sigma^2), \quad
              \ln 2 \cdot \partial_\rho = \theta (1 - \theta) \rho, \quad
              \ln 2 \cdot \partial_{\operatorname{logit}\pi} = \sum_d \theta (1 - \theta) \rho + \pi - \theta
    """
    mu, excess, rho, logit_pi, logit_theta = cache
    theta = _sigmoid(logit_theta)
    drho = theta * _sigmoid(-logit_theta) * rho              # of theta; the explicit rho cancels
    dlogit_pi = (drho + _sigmoid(logit_pi) - theta).sum(axis=0)          # logit_pi was broadcast over D
    unit = ddivergence / LOG_2
    return unit * mu, -unit * excess / 2, unit * drho, unit * dlogit_pi


def log_likelihood(w, x, labels):
    log_p = _log_softmax(x @ w)                              # (S, N, C)
    rows = np.arange(len(labels))
    return log_p[:, rows, labels].sum(axis=1) / LOG_2, (x, log_p, rows, labels)


def log_likelihood_vjp(dlog_p, cache):
    r""".. math:: df_{nc} = \frac{dlog\_p}{\ln 2} (\mathbb 1[c = y_n] - p_{nc}), \qquad dw = x^\top df"""
    x, log_p, rows, labels = cache
    dlogits = -np.exp(log_p)
    dlogits[:, rows, labels] += 1
    return x.T @ (dlog_p[:, None, None] / LOG_2 * dlogits)


def elbo(eps, u, mu, scale, rho, logit_pi, tau, x, labels, examples):
    w, weights = masked_weights(eps, u, mu, scale, rho, logit_pi, tau)
    log_p, likelihood = log_likelihood(w, x, labels)
    paid, price = divergence(mu, scale, rho, logit_pi)
    return paid / examples - log_p.mean() / len(x), (weights, likelihood, price, examples, len(x), len(log_p))


def elbo_vjp(dobjective, cache):
    weights, likelihood, price, examples, batch, samples = cache
    dlog_p = np.full(samples, -dobjective / (batch * samples))           # the mean over samples and minibatch
    through_weights = masked_weights_vjp(log_likelihood_vjp(dlog_p, likelihood), weights)
    through_divergence = divergence_vjp(dobjective / examples, price)
    return tuple(a + b for a, b in zip(through_weights, through_divergence, strict=True))


def train(eps, u, mu, scale, rho, logit_pi, tau, x, labels, examples, rate):
    parameters, trace = [mu, scale, rho, logit_pi], []
    for now_eps, now_u in zip(eps, u, strict=True):
        value, cache = elbo(now_eps, now_u, *parameters, tau, x, labels, examples)
        step = elbo_vjp(-1.0, cache)
        parameters = [old + rate * change for old, change in zip(parameters, step, strict=True)]
        trace.append(value)
    return np.array(trace)


def slope_in_theta(eps, u, mu, scale, rho, logit_pi, tau):
    r""".. math:: \partial_\theta w = \frac{v\, z (1 - z)}{\tau\, \theta (1 - \theta)}, \quad v = \mu + e^{-s / 2}\, \varepsilon"""
    v = mu + np.exp(-scale / 2) * eps                             # (S, D, C)
    logit_theta = rho + logit_pi                             # (D, C)
    y = (logit_theta + np.log(u) - np.log1p(-u)) / tau
    spread = _sigmoid(logit_theta) * _sigmoid(-logit_theta)  # theta (1 - theta)
    return v * _sigmoid(y) * _sigmoid(-y) / (tau * spread)
