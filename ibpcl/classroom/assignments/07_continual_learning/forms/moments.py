r"""Continual learning with log variances and matched moments, in bits."""

import math

import numpy as np

LOG_2 = math.log(2)


def _log_softmax(logits):
    shifted = logits - np.max(logits.real, axis=-1, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))


def combined_mask(masks):
    r"""Combine the masks of all tasks: the probability that at least one task uses a weight.

    Parameters
    ----------
    masks : ndarray, shape (T, D, C)
        Masks of the tasks learned so far, in [0, 1].

    Returns
    -------
    mask : ndarray, shape (D, C)
        One minus the product of all rests.
    cache : object
        Not used.
    """
    return 1 - np.prod(1 - masks, axis=0), None


def masked_prior(mask, mu, scale, first_mu, first_scale):
    r"""Match mean and variance of the mixture of posterior and first prior, weighted by the combined mask.

    Parameters
    ----------
    mask : ndarray, shape (D, C)
        The combined mask, in [0, 1].
    mu : ndarray, shape (D, C)
        Means of the posterior of the task before.
    scale : ndarray, shape (D, C)
        Log variance of the weights.
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
    mean = mask * mu + (1 - mask) * first_mu
    within = mask * np.exp(scale) + (1 - mask) * np.exp(first_scale)
    between = mask * (1 - mask) * (mu - first_mu)**2
    return (mean, np.log(within + between)), None


def objective(eps, mu, scale, mask, prior_mu, prior_scale, x, labels):
    r"""Estimate the evidence lower bound of a task from S samples, per example.

    Parameters
    ----------
    eps : ndarray, shape (S, D, C)
        Standard normal noise.
    mu : ndarray, shape (D, C)
        Means of the weights.
    scale : ndarray, shape (D, C)
        Log variance of the weights.
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
        Bits per example.
    cache : object
        What ``objective_vjp`` needs.
    """
    noise = np.exp(scale / 2) * eps
    log_p = _log_softmax(x @ (mask * (mu + noise)))          # (S, N, C)
    rows = np.arange(len(labels))
    likelihood = log_p[:, rows, labels].sum() / len(eps)
    shift = (mu - prior_mu) * np.exp(-prior_scale / 2)
    excess = np.expm1(scale - prior_scale)                   # sigma^2 / sigma_0^2 - 1
    divergence = (shift * shift + excess - (scale - prior_scale)).sum() / 2
    return (likelihood - divergence) / (len(x) * LOG_2), (noise, mask, prior_scale, x, log_p, labels, shift, excess)


def objective_vjp(dobjective, cache):
    r"""Pull the gradient at the objective back to ``mu`` and ``scale``.

    .. math:: N \ln 2 \, d\mu = \frac1S \sum_s dv - \frac{\mu - \mu_0}{\sigma_0^2}, \quad
              N \ln 2 \, d\log\sigma^2 = \frac12 \Bigl( \frac1S \sum_s dv\, \sigma \varepsilon
              - \frac{\sigma^2}{\sigma_0^2} + 1 \Bigr), \quad dv = m\, x^\top (\mathbb 1_y - p)

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
    noise, mask, prior_scale, x, log_p, labels, shift, excess = cache
    rows = np.arange(len(labels))
    dlogits = -np.exp(log_p)
    dlogits[:, rows, labels] += 1
    dv = mask * (x.T @ dlogits) / len(log_p)                 # (S, D, C); the mean over the samples
    dmu = dv.sum(axis=0) - shift * np.exp(-prior_scale / 2)   # mu and scale were broadcast over S
    dscale = ((dv * noise).sum(axis=0) - excess) / 2
    unit = dobjective / (len(x) * LOG_2)
    return unit * dmu, unit * dscale


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
            dmu, dscale = objective_vjp(1.0, cache)
            mu, scale = mu + rate * dmu, scale + rate * dscale
        kept.append((mu, scale))
    return np.array([pair[0] for pair in kept]), np.array([pair[1] for pair in kept])


def summary(accuracies):
    r"""Summarize an accuracy matrix: final accuracy, backward transfer to the end, accuracy before a task is learned.

    Parameters
    ----------
    accuracies : ndarray, shape (T, T)
        Row i: after task i; column j: on task j; T is at least 2.

    Returns
    -------
    summary : ndarray, shape (3,)
        In this order.
    """
    own = np.diagonal(accuracies)
    backward = (accuracies[-1] - own)[:-1].mean()
    return np.array([accuracies[-1].mean(), backward, np.diagonal(accuracies, 1).mean()])
