r"""Continual learning with softplus widths, a guarded prior and the reversed divergence."""

import numpy as np


def _log_softmax(logits):
    shifted = logits - np.max(logits.real, axis=-1, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))


def _softplus(s):
    positive = s.real > 0
    return np.where(positive, s, 0) + np.log1p(np.exp(np.where(positive, -s, s)))


def _sigmoid(s):
    positive = s.real > 0
    e = np.exp(np.where(positive, -s, s))
    return np.where(positive, 1, e) / (1 + e)


def combined_mask(masks):
    r"""Combine the masks of all tasks: a weight is used as soon as one task uses it.

    Parameters
    ----------
    masks : ndarray, shape (T, D, C)
        Masks of the tasks learned so far, in [0, 1].

    Returns
    -------
    mask : ndarray, shape (D, C)
        One where some mask is above one half, else zero.
    cache : object
        Not used.
    """
    return (masks > 0.5).any(axis=0).astype(float), None


def masked_prior(mask, mu, scale, first_mu, first_scale):
    r"""Choose the posterior with half its standard deviation where the combined mask is on, else the first prior.

    Parameters
    ----------
    mask : ndarray, shape (D, C)
        The combined mask, in [0, 1].
    mu : ndarray, shape (D, C)
        Means of the posterior of the task before.
    scale : ndarray, shape (D, C)
        The s in the weights' standard deviation, sigma = log(1 + exp(s)).
    first_mu : float
        Mean of the first task's prior.
    first_scale : float
        Its width, described as ``scale`` is.

    Returns
    -------
    prior : tuple of two ndarray, shape (D, C)
        ``prior_mu`` and ``prior_scale``.
    cache : object
        Not used.
    """
    used, sigma = mask > 0.5, _softplus(scale) / 2
    narrow = sigma + np.log(-np.expm1(-sigma))               # the inverse of softplus
    return (np.where(used, mu, first_mu), np.where(used, narrow, first_scale)), None


def objective(eps, mu, scale, mask, prior_mu, prior_scale, x, labels):
    r"""Estimate the objective of a task from S samples: log-likelihood minus the reversed divergence.

    Parameters
    ----------
    eps : ndarray, shape (S, D, C)
        Standard normal noise.
    mu : ndarray, shape (D, C)
        Means of the weights.
    scale : ndarray, shape (D, C)
        The s in the weights' standard deviation, sigma = log(1 + exp(s)).
    mask : ndarray, shape (D, C)
        The task's mask, which multiplies the weights; not differentiated.
    prior_mu, prior_scale : ndarray, shape (D, C)
        The prior; not differentiated.
    x : ndarray, shape (N, D)
        Inputs of the task.
    labels : ndarray of int, shape (N,)
        Classes, 0 to C - 1.

    Returns
    -------
    objective : float
        Nats, of the whole task.
    cache : object
        What ``objective_vjp`` needs.
    """
    noise = _softplus(scale) * eps
    log_p = _log_softmax(x @ (mask * (mu + noise)))          # (S, N, C)
    rows = np.arange(len(labels))
    likelihood = log_p[:, rows, labels].sum() / len(eps)
    sigma, prior_sigma = _softplus(scale), _softplus(prior_scale)
    shift, ratio = (mu - prior_mu) / sigma, prior_sigma / sigma
    divergence = ((shift * shift + ratio * ratio - 1) / 2 - np.log(ratio)).sum()
    return likelihood - divergence, (eps, mask, scale, x, log_p, labels, shift, ratio, sigma)


def objective_vjp(dobjective, cache):
    r"""Pull the gradient at the objective back to ``mu`` and ``scale``.

    .. math:: d\mu = \frac1S \sum_s dv - \frac{\mu - \mu_0}{\sigma^2}, \quad
              ds = \frac{1}{1 + e^{-s}} \Bigl( \frac1S \sum_s dv\, \varepsilon
              + \frac{\sigma_0^2 + (\mu - \mu_0)^2}{\sigma^3} - \frac1\sigma \Bigr), \quad
              dv = m\, x^\top (\mathbb 1_y - p)

    Parameters
    ----------
    dobjective : float
        Gradient at the objective.
    cache : object
        From ``objective``.

    Returns
    -------
    dmu : ndarray, shape (D, C)
    dscale : ndarray, shape (D, C)
    """
    eps, mask, scale, x, log_p, labels, shift, ratio, sigma = cache
    rows = np.arange(len(labels))
    dlogits = -np.exp(log_p)
    dlogits[:, rows, labels] += 1
    dv = mask * (x.T @ dlogits) / len(log_p)                 # (S, D, C); the mean over the samples
    dmu = dv.sum(axis=0) - shift / sigma                     # mu and scale were broadcast over S
    dsigma = (dv * eps).sum(axis=0) + (shift * shift + ratio * ratio - 1) / sigma
    return dobjective * dmu, dobjective * dsigma * _sigmoid(scale)


def learn(eps, masks, x, labels, first_mu, first_scale, rate):
    r"""Learn tasks one after another, each with the masked prior that the tasks before leave behind.

    Parameters
    ----------
    eps : ndarray, shape (T, E, S, D, C)
        Standard normal noise: T tasks, E steps each, S samples.
    masks : ndarray, shape (T, D, C)
        Mask of each task.
    x : ndarray, shape (T, N, D)
        Inputs of each task.
    labels : ndarray of int, shape (T, N)
        Classes, 0 to C - 1.
    first_mu : float
        Mean of the first task's prior, and of the weights at the start.
    first_scale : float
        Its width, and the weights' at the start, described as ``scale`` is.
    rate : float
        Learning rate.

    Returns
    -------
    mu, scale : ndarray, shape (T, D, C)
        The posterior after each task.
    """
    mu, scale = np.full(masks[0].shape, first_mu), np.full(masks[0].shape, first_scale)
    prior, kept = (mu, scale), []
    for task in range(len(x)):
        if task:
            prior, _ = masked_prior(combined_mask(masks[:task])[0], mu, scale, first_mu, first_scale)
        for now in eps[task]:
            _, cache = objective(now, mu, scale, masks[task], *prior, x[task], labels[task])
            dmu, dscale = objective_vjp(1 / len(x[task]), cache)
            mu, scale = mu + rate * dmu, scale + rate * dscale
        kept.append((mu, scale))
    return np.array([pair[0] for pair in kept]), np.array([pair[1] for pair in kept])


def summary(accuracies):
    r"""Summarize an accuracy matrix: worst final accuracy, largest loss since a task was learned, mean at first sight.

    Parameters
    ----------
    accuracies : ndarray, shape (T, T)
        Row i: after task i; column j: on task j; T is at least 2.

    Returns
    -------
    summary : ndarray, shape (3,)
        In this order.
    """
    own, last = np.diagonal(accuracies), accuracies[-1]
    return np.array([last.min(), (own - last)[:-1].max(), own.mean()])
