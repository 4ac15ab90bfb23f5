r"""The loss of a masked classifier in bits per example, with its gradient."""

import math

import numpy as np

LOG_2 = math.log(2)


def _softplus(x):
    """Compute log(1 + e^x); the branch is chosen by the real part."""
    positive = x.real > 0
    return np.where(positive, x, 0) + np.log1p(np.exp(np.where(positive, -x, x)))


def _sigmoid(x):
    """Compute 1 / (1 + e^-x) with the relative precision of both tails."""
    positive = x.real > 0
    e = np.exp(np.where(positive, -x, x))
    return np.where(positive, 1, e) / (1 + e)


def _log_softmax(logits):
    shifted = logits - np.max(logits.real, axis=-1, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))


def masked_weights(eps, u, mu, scale, rho, logit_pi, tau):
    r"""Draw masked weights: a Gaussian weight times a relaxed mask.

    Parameters
    ----------
    eps : ndarray, shape (S, D, C)
        Standard normal noise.
    u : ndarray, shape (S, D, C)
        Uniform noise, strictly inside (0, 1).
    mu : ndarray, shape (D, C)
        Means of the weights.
    scale : ndarray, shape (D, C)
        Log precision of the weights, one over the variance.
    rho : ndarray, shape (D, C)
        Offsets of the masks' log-odds from the prior's.
    logit_pi : ndarray, shape (C,)
        Log-odds of the prior, one for each class.
    tau : float
        Temperature, > 0; not differentiated.

    Returns
    -------
    w : ndarray, shape (S, D, C)
        Masked weights.
    cache : object
        What ``masked_weights_vjp`` needs.
    """
    noise = np.exp(-scale / 2) * eps
    v = mu + noise                                           # (S, D, C)
    z = _sigmoid((rho + logit_pi + np.log(u) - np.log1p(-u)) / tau)
    return z * v, (noise, v, z, tau)


def masked_weights_vjp(dw, cache):
    r"""Pull the gradient at ``w`` back to ``mu``, ``scale``, ``rho`` and ``logit_pi``.

    .. math:: dv = z\, dw, \quad dz = v\, dw, \quad d\rho = \sum_s dz\, z (1 - z) / \tau, \quad
              d\log\lambda = -\tfrac12 \sum_s dv\, \sigma \varepsilon

    Parameters
    ----------
    dw : ndarray, shape (S, D, C)
        Gradient at ``w``.
    cache : object
        From ``masked_weights``.

    Returns
    -------
    dmu : ndarray, shape (D, C)
    dscale : ndarray, shape (D, C)
    drho : ndarray, shape (D, C)
    dlogit_pi : ndarray, shape (C,)
    """
    noise, v, z, tau = cache
    dv = dw * z                                              # the product rule
    drho = (dw * v * z * (1 - z)).sum(axis=0) / tau          # everything below was broadcast over S
    return dv.sum(axis=0), -(dv * noise).sum(axis=0) / 2, drho, drho.sum(axis=0)


def divergence(mu, scale, rho, logit_pi):
    r"""Compute what weights and masks pay for leaving their priors.

    Parameters
    ----------
    mu : ndarray, shape (D, C)
        Means of the weights.
    scale : ndarray, shape (D, C)
        Log precision of the weights, one over the variance.
    rho : ndarray, shape (D, C)
        Offsets of the masks' log-odds from the prior's.
    logit_pi : ndarray, shape (C,)
        Log-odds of the prior, one for each class.

    Returns
    -------
    divergence : float
        Bits, summed over all weights and masks.
    cache : object
        What ``divergence_vjp`` needs.
    """
    excess = np.expm1(-scale)                                # sigma^2 - 1; the prior is standard normal
    weights = (mu * mu + excess + scale) / 2
    logit_theta = rho + logit_pi                             # (D, C)
    theta = _sigmoid(logit_theta)
    masks = theta * rho - _softplus(logit_theta) + _softplus(logit_pi)
    return (weights + masks).sum() / LOG_2, (mu, excess, rho, logit_pi, logit_theta)


def divergence_vjp(ddivergence, cache):
    r"""Pull the gradient at the divergence back to ``mu``, ``scale``, ``rho`` and ``logit_pi``.

    .. math:: \ln 2 \cdot \partial_\mu = \mu, \quad \ln 2 \cdot \partial_{\log\lambda} = \tfrac12 (1 - \sigma^2), \quad
              \ln 2 \cdot \partial_\rho = \theta (1 - \theta) \rho, \quad
              \ln 2 \cdot \partial_{\operatorname{logit}\pi} = \sum_d \theta (1 - \theta) \rho + \pi - \theta

    Parameters
    ----------
    ddivergence : float
        Gradient at the divergence.
    cache : object
        From ``divergence``.

    Returns
    -------
    dmu : ndarray, shape (D, C)
    dscale : ndarray, shape (D, C)
    drho : ndarray, shape (D, C)
    dlogit_pi : ndarray, shape (C,)
    """
    mu, excess, rho, logit_pi, logit_theta = cache
    theta = _sigmoid(logit_theta)
    drho = theta * _sigmoid(-logit_theta) * rho              # of theta; the explicit rho cancels
    dlogit_pi = (drho + _sigmoid(logit_pi) - theta).sum(axis=0)          # logit_pi was broadcast over D
    unit = ddivergence / LOG_2
    return unit * mu, -unit * excess / 2, unit * drho, unit * dlogit_pi


def log_likelihood(w, x, labels):
    r"""Evaluate the log-likelihood of the labels for each sample of the weights, in bits.

    Parameters
    ----------
    w : ndarray, shape (S, D, C)
        Masked weights; the logits are x @ w.
    x : ndarray, shape (N, D)
        Inputs of a minibatch.
    labels : ndarray of int, shape (N,)
        Classes, 0 to C - 1.

    Returns
    -------
    log_p : ndarray, shape (S,)
        Bits, summed over the examples of the minibatch.
    cache : object
        What ``log_likelihood_vjp`` needs.
    """
    log_p = _log_softmax(x @ w)                              # (S, N, C)
    rows = np.arange(len(labels))
    return log_p[:, rows, labels].sum(axis=1) / LOG_2, (x, log_p, rows, labels)


def log_likelihood_vjp(dlog_p, cache):
    r"""Pull the gradient at ``log_p`` back to ``w``.

    .. math:: df_{nc} = \frac{dlog\_p}{\ln 2} (\mathbb 1[c = y_n] - p_{nc}), \qquad dw = x^\top df

    Parameters
    ----------
    dlog_p : ndarray, shape (S,)
        Gradient at ``log_p``.
    cache : object
        From ``log_likelihood``.

    Returns
    -------
    dw : ndarray, shape (S, D, C)
    """
    x, log_p, rows, labels = cache
    dlogits = -np.exp(log_p)
    dlogits[:, rows, labels] += 1
    return x.T @ (dlog_p[:, None, None] / LOG_2 * dlogits)


def elbo(eps, u, mu, scale, rho, logit_pi, tau, x, labels, examples):
    r"""Estimate the loss from a minibatch and S samples: minus the evidence lower bound, per example.

    Parameters
    ----------
    eps : ndarray, shape (S, D, C)
        Standard normal noise.
    u : ndarray, shape (S, D, C)
        Uniform noise, strictly inside (0, 1).
    mu : ndarray, shape (D, C)
        Means of the weights.
    scale : ndarray, shape (D, C)
        Log precision of the weights, one over the variance.
    rho : ndarray, shape (D, C)
        Offsets of the masks' log-odds from the prior's.
    logit_pi : ndarray, shape (C,)
        Log-odds of the prior, one for each class.
    tau : float
        Temperature, > 0; not differentiated.
    x : ndarray, shape (N, D)
        Inputs of a minibatch.
    labels : ndarray of int, shape (N,)
        Classes, 0 to C - 1.
    examples : int
        Size of the data set that the minibatch was drawn from.

    Returns
    -------
    objective : float
        Bits per example.
    cache : object
        What ``elbo_vjp`` needs.
    """
    w, weights = masked_weights(eps, u, mu, scale, rho, logit_pi, tau)
    log_p, likelihood = log_likelihood(w, x, labels)
    paid, price = divergence(mu, scale, rho, logit_pi)
    return paid / examples - log_p.mean() / len(x), (weights, likelihood, price, examples, len(x), len(log_p))


def elbo_vjp(dobjective, cache):
    r"""Pull the gradient at the objective back to ``mu``, ``scale``, ``rho`` and ``logit_pi``.

    Each parameter has two paths: through the drawn weights, and through the divergence.

    Parameters
    ----------
    dobjective : float
        Gradient at the objective.
    cache : object
        From ``elbo``.

    Returns
    -------
    dmu : ndarray, shape (D, C)
    dscale : ndarray, shape (D, C)
    drho : ndarray, shape (D, C)
    dlogit_pi : ndarray, shape (C,)
    """
    weights, likelihood, price, examples, batch, samples = cache
    dlog_p = np.full(samples, -dobjective / (batch * samples))           # the mean over samples and minibatch
    through_weights = masked_weights_vjp(log_likelihood_vjp(dlog_p, likelihood), weights)
    through_divergence = divergence_vjp(dobjective / examples, price)
    return tuple(a + b for a, b in zip(through_weights, through_divergence, strict=True))


def train(eps, u, mu, scale, rho, logit_pi, tau, x, labels, examples, rate):
    r"""Take a step of gradient descent on the loss for each set of noise.

    Parameters
    ----------
    eps : ndarray, shape (T, S, D, C)
        Standard normal noise of T steps.
    u : ndarray, shape (T, S, D, C)
        Uniform noise of T steps.
    mu : ndarray, shape (D, C)
        Means of the weights.
    scale : ndarray, shape (D, C)
        Log precision of the weights, one over the variance.
    rho : ndarray, shape (D, C)
        Offsets of the masks' log-odds from the prior's.
    logit_pi : ndarray, shape (C,)
        Log-odds of the prior, one for each class.
    tau : float
        Temperature, > 0.
    x : ndarray, shape (N, D)
        Inputs of a minibatch.
    labels : ndarray of int, shape (N,)
        Classes, 0 to C - 1.
    examples : int
        Size of the data set that the minibatch was drawn from.
    rate : float
        Learning rate.

    Returns
    -------
    trace : ndarray, shape (T,)
        The objective before each step.
    """
    parameters, trace = [mu, scale, rho, logit_pi], []
    for now_eps, now_u in zip(eps, u, strict=True):
        value, cache = elbo(now_eps, now_u, *parameters, tau, x, labels, examples)
        step = elbo_vjp(-1.0, cache)
        parameters = [old + rate * change for old, change in zip(parameters, step, strict=True)]
        trace.append(value)
    return np.array(trace)
