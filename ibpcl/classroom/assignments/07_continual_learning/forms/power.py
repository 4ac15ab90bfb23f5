r"""Continual learning with log precisions and powers of densities."""

import numpy as np


def _log_softmax(logits):
    shifted = logits - np.max(logits.real, axis=-1, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))


def combined_mask(masks):
    r"""Combine the masks of all tasks: the share of the tasks that use a weight.

    Parameters
    ----------
    masks : ndarray, shape (T, D, C)
        Masks of the tasks learned so far, in [0, 1].

    Returns
    -------
    mask : ndarray, shape (D, C)
        Mean of the masks.
    cache : object
        Not used.
    """
    return masks.mean(axis=0), None


def masked_prior(mask, mu, scale, first_mu, first_scale):
    r"""Multiply powers of the posterior and of the first prior: the combined mask is the posterior's exponent.

    Parameters
    ----------
    mask : ndarray, shape (D, C)
        The combined mask, in [0, 1].
    mu : ndarray, shape (D, C)
        Means of the posterior of the task before.
    scale : ndarray, shape (D, C)
        Log precision of the weights, one over the variance.
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
    own, first = mask * np.exp(scale), (1 - mask) * np.exp(first_scale)  # precisions add up, weighted by exponents
    precision = own + first
    return ((own * mu + first * first_mu) / precision, np.log(precision)), None


def objective(eps, mu, scale, mask, prior_mu, prior_scale, x, labels):
    r"""Estimate the evidence lower bound of a task from S samples.

    Parameters
    ----------
    eps : ndarray, shape (S, D, C)
        Standard normal noise.
    mu : ndarray, shape (D, C)
        Means of the weights.
    scale : ndarray, shape (D, C)
        Log precision of the weights, one over the variance.
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
    noise = np.exp(-scale / 2) * eps
    log_p = _log_softmax(x @ (mask * (mu + noise)))          # (S, N, C)
    rows = np.arange(len(labels))
    likelihood = log_p[:, rows, labels].sum() / len(eps)
    shift = (mu - prior_mu) * np.exp(prior_scale / 2)
    excess = np.expm1(prior_scale - scale)                   # sigma^2 / sigma_0^2 - 1
    divergence = (shift * shift + excess - (prior_scale - scale)).sum() / 2
    return likelihood - divergence, (noise, mask, prior_scale, x, log_p, labels, shift, excess)


def objective_vjp(dobjective, cache):
    r"""Pull the gradient at the objective back to ``mu`` and ``scale``.

    .. math:: d\mu = \frac1S \sum_s dv - \lambda_0 (\mu - \mu_0), \quad
              d\log\lambda = -\frac1{2 S} \sum_s dv\, \sigma \varepsilon + \frac{\lambda_0}{2 \lambda} - \frac12, \quad
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
    noise, mask, prior_scale, x, log_p, labels, shift, excess = cache
    rows = np.arange(len(labels))
    dlogits = -np.exp(log_p)
    dlogits[:, rows, labels] += 1
    dv = mask * (x.T @ dlogits) / len(log_p)                 # (S, D, C); the mean over the samples
    dmu = dv.sum(axis=0) - shift * np.exp(prior_scale / 2)    # mu and scale were broadcast over S
    dscale = (excess - (dv * noise).sum(axis=0)) / 2
    return dobjective * dmu, dobjective * dscale


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
    r"""Summarize an accuracy matrix: final accuracy, forgetting, accuracy at first sight.

    Parameters
    ----------
    accuracies : ndarray, shape (T, T)
        Row i: after task i; column j: on task j; T is at least 2.

    Returns
    -------
    summary : ndarray, shape (3,)
        In this order.
    """
    last, before = accuracies[-1], accuracies[:-1]
    return np.array([last.mean(), (before.max(axis=0) - last)[:-1].mean(), np.diagonal(accuracies).mean()])
