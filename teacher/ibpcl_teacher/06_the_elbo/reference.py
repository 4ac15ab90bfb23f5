r"""The evidence lower bound of a masked classifier as an estimator, with its gradient."""

import numpy as np


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
        Log standard deviation of the weights.
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
    noise = np.exp(scale) * eps
    v = mu + noise                                           # (S, D, C)
    z = _sigmoid((rho + logit_pi + np.log(u) - np.log1p(-u)) / tau)
    return z * v, (noise, v, z, tau)


def masked_weights_vjp(dw, cache):
    r"""Pull the gradient at ``w`` back to ``mu``, ``scale``, ``rho`` and ``logit_pi``.

    .. math:: dv = z\, dw, \quad dz = v\, dw, \quad d\rho = \sum_s dz\, z (1 - z) / \tau, \quad
              d\log\sigma = \sum_s dv\, \sigma \varepsilon

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
    return dv.sum(axis=0), (dv * noise).sum(axis=0), drho, drho.sum(axis=0)


def divergence(mu, scale, rho, logit_pi):
    r"""Compute what weights and masks pay for leaving their priors.

    Parameters
    ----------
    mu : ndarray, shape (D, C)
        Means of the weights.
    scale : ndarray, shape (D, C)
        Log standard deviation of the weights.
    rho : ndarray, shape (D, C)
        Offsets of the masks' log-odds from the prior's.
    logit_pi : ndarray, shape (C,)
        Log-odds of the prior, one for each class.

    Returns
    -------
    divergence : float
        Nats, summed over all weights and masks.
    cache : object
        What ``divergence_vjp`` needs.
    """
    excess = np.expm1(2 * scale)  # sigma^2 - 1; the prior is standard normal
    weights = (mu * mu + excess) / 2 - scale
    logit_theta = rho + logit_pi                             # (D, C)
    theta = _sigmoid(logit_theta)
    masks = theta * rho - _softplus(logit_theta) + _softplus(logit_pi)
    return (weights + masks).sum(), (mu, excess, rho, logit_pi, logit_theta)


def divergence_vjp(ddivergence, cache):
    r"""Pull the gradient at the divergence back to ``mu``, ``scale``, ``rho`` and ``logit_pi``.

    .. math:: \partial_\mu = \mu, \quad \partial_{\log\sigma} = \sigma^2 - 1, \quad
              \partial_\rho = \theta (1 - \theta) \rho, \quad
              \partial_{\operatorname{logit}\pi} = \sum_d \theta (1 - \theta) \rho + \pi - \theta

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
    dlogit_pi = (drho + _sigmoid(logit_pi) - theta).sum(axis=0)  # broadcast over D
    return ddivergence * mu, ddivergence * excess, ddivergence * drho, ddivergence * dlogit_pi


def log_likelihood(w, x, labels):
    r"""Evaluate the log-likelihood of the labels for each sample of the weights.

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
        Nats, summed over the examples of the minibatch.
    cache : object
        What ``log_likelihood_vjp`` needs.
    """
    log_p = _log_softmax(x @ w)                              # (S, N, C)
    rows = np.arange(len(labels))
    return log_p[:, rows, labels].sum(axis=1), (x, log_p, rows, labels)


def log_likelihood_vjp(dlog_p, cache):
    r"""Pull the gradient at ``log_p`` back to ``w``.

    .. math:: df_{nc} = dlog\_p\, (\mathbb 1[c = y_n] - p_{nc}), \qquad dw = x^\top df

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
    return x.T @ (dlog_p[:, None, None] * dlogits)


def elbo(eps, u, mu, scale, rho, logit_pi, tau, x, labels, examples):
    r"""Estimate the evidence lower bound from a minibatch and S samples.

    Parameters
    ----------
    eps : ndarray, shape (S, D, C)
        Standard normal noise.
    u : ndarray, shape (S, D, C)
        Uniform noise, strictly inside (0, 1).
    mu : ndarray, shape (D, C)
        Means of the weights.
    scale : ndarray, shape (D, C)
        Log standard deviation of the weights.
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
        Nats, of the whole data set.
    cache : object
        What ``elbo_vjp`` needs.
    """
    w, weights = masked_weights(eps, u, mu, scale, rho, logit_pi, tau)
    log_p, likelihood = log_likelihood(w, x, labels)
    paid, price = divergence(mu, scale, rho, logit_pi)
    weight = examples / len(x)  # estimates the whole data set's log-likelihood
    return weight * log_p.mean() - paid, (weights, likelihood, price, weight, len(log_p))


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
    weights, likelihood, price, weight, samples = cache
    dlog_p = np.full(samples, dobjective * weight / samples) # the mean over the samples
    through_weights = masked_weights_vjp(log_likelihood_vjp(dlog_p, likelihood), weights)
    through_divergence = divergence_vjp(-dobjective, price)
    return tuple(a + b for a, b in zip(through_weights, through_divergence, strict=True))


def train(eps, u, mu, scale, rho, logit_pi, tau, x, labels, examples, rate):
    r"""Take a step of gradient ascent on the bound per example for each set of noise.

    Parameters
    ----------
    eps : ndarray, shape (T, S, D, C)
        Standard normal noise of T steps.
    u : ndarray, shape (T, S, D, C)
        Uniform noise of T steps.
    mu : ndarray, shape (D, C)
        Means of the weights.
    scale : ndarray, shape (D, C)
        Log standard deviation of the weights.
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
    parameters = [mu, scale, rho, logit_pi]
    trace = []
    for now_eps, now_u in zip(eps, u, strict=True):
        value, cache = elbo(now_eps, now_u, *parameters, tau, x, labels, examples)
        step = elbo_vjp(1 / examples, cache)
        parameters = [old + rate * change for old, change in zip(parameters, step, strict=True)]
        trace.append(value)
    return np.array(trace)


def slope_in_theta(eps, u, mu, scale, rho, logit_pi, tau):
    r"""Differentiate each masked weight with respect to the probability theta of its mask.

    .. math:: \partial_\theta w = \frac{v\, z (1 - z)}{\tau\, \theta (1 - \theta)}

    Parameters
    ----------
    eps : ndarray, shape (S, D, C)
        Standard normal noise.
    u : ndarray, shape (S, D, C)
        Uniform noise, strictly inside (0, 1).
    mu : ndarray, shape (D, C)
        Means of the weights.
    scale : ndarray, shape (D, C)
        Log standard deviation of the weights.
    rho : ndarray, shape (D, C)
        Offsets of the masks' log-odds from the prior's.
    logit_pi : ndarray, shape (C,)
        Log-odds of the prior, one for each class.
    tau : float
        Temperature, > 0.

    Returns
    -------
    slope : ndarray, shape (S, D, C)
        For each sample and weight.
    """
    v = mu + np.exp(scale) * eps                                  # (S, D, C)
    logit_theta = rho + logit_pi                             # (D, C)
    y = (logit_theta + np.log(u) - np.log1p(-u)) / tau
    spread = _sigmoid(logit_theta) * _sigmoid(-logit_theta)  # theta (1 - theta)
    return v * _sigmoid(y) * _sigmoid(-y) / (tau * spread)
