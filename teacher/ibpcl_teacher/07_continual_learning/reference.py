r"""Continual learning: the masked posterior of one task as the prior of the next."""

import numpy as np


def _log_softmax(logits):
    shifted = logits - np.max(logits.real, axis=-1, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))


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
    r"""Choose the posterior where the combined mask is on, and the first prior elsewhere.

    Parameters
    ----------
    mask : ndarray, shape (D, C)
        The combined mask, in [0, 1].
    mu : ndarray, shape (D, C)
        Means of the posterior of the task before.
    scale : ndarray, shape (D, C)
        Log standard deviation of the weights.
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
    used = mask > 0.5
    return (np.where(used, mu, first_mu), np.where(used, scale, first_scale)), None


def objective(eps, mu, scale, mask, prior_mu, prior_scale, x, labels):
    r"""Estimate the evidence lower bound of a task from S samples.

    Parameters
    ----------
    eps : ndarray, shape (S, D, C)
        Standard normal noise.
    mu : ndarray, shape (D, C)
        Means of the weights.
    scale : ndarray, shape (D, C)
        Log standard deviation of the weights.
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
    noise = np.exp(scale) * eps
    log_p = _log_softmax(x @ (mask * (mu + noise)))          # (S, N, C)
    rows = np.arange(len(labels))
    likelihood = log_p[:, rows, labels].sum() / len(eps)
    shift = (mu - prior_mu) * np.exp(-prior_scale)
    excess = np.expm1(2 * (scale - prior_scale))             # sigma^2 / sigma_0^2 - 1
    divergence = ((shift * shift + excess) / 2 - (scale - prior_scale)).sum()
    return likelihood - divergence, (noise, mask, prior_scale, x, log_p, labels, shift, excess)


def objective_vjp(dobjective, cache):
    r"""Pull the gradient at the objective back to ``mu`` and ``scale``.

    .. math:: d\mu = \frac1S \sum_s dv - \frac{\mu - \mu_0}{\sigma_0^2}, \quad
              d\log\sigma = \frac1S \sum_s dv\, \sigma \varepsilon - \frac{\sigma^2}{\sigma_0^2} + 1, \quad
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
    dmu = dv.sum(axis=0) - shift * np.exp(-prior_scale)      # mu and scale were broadcast over S
    dscale = (dv * noise).sum(axis=0) - excess
    return dobjective * dmu, dobjective * dscale


def learn(eps, masks, x, labels, first_mu, first_scale, rate):
    r"""Learn tasks one after another, each with the masked prior from the tasks before.

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
    mu = np.full(masks[0].shape, first_mu)
    scale = np.full(masks[0].shape, first_scale)
    prior = (mu, scale)
    posteriors = []
    for task in range(len(x)):
        if task:
            mask, _ = combined_mask(masks[:task])
            prior, _ = masked_prior(mask, mu, scale, first_mu, first_scale)
        for now in eps[task]:
            _, cache = objective(now, mu, scale, masks[task], *prior, x[task], labels[task])
            dmu, dscale = objective_vjp(1 / len(x[task]), cache)
            mu = mu + rate * dmu
            scale = scale + rate * dscale
        posteriors.append((mu, scale))
    return np.array([pair[0] for pair in posteriors]), np.array([pair[1] for pair in posteriors])


def accuracy_matrix(mu, masks, x, labels):
    r"""Compute the accuracy on every task after each task, with the mean weights and its mask.

    Parameters
    ----------
    mu : ndarray, shape (T, D, C)
        Mean weights after each task.
    masks : ndarray, shape (T, D, C)
        Mask of each task.
    x : ndarray, shape (T, N, D)
        Test inputs of each task.
    labels : ndarray of int, shape (T, N)
        Their classes.

    Returns
    -------
    accuracies : ndarray, shape (T, T)
        Row i: after task i; column j: on task j; between 0 and 1.
    """
    tasks = range(len(mu))
    return np.array(
        [
            [np.mean(np.argmax(x[j] @ (masks[j] * mu[i]), axis=1) == labels[j]) for j in tasks]
            for i in tasks
        ]
    )


def summary(accuracies):
    r"""Summarize an accuracy matrix: average accuracy, backward transfer, forward transfer.

    Parameters
    ----------
    accuracies : ndarray, shape (T, T)
        Row i: after task i; column j: on task j; T is at least 2.

    Returns
    -------
    summary : ndarray, shape (3,)
        In this order.
    """
    tasks = len(accuracies)
    row, column = np.indices(accuracies.shape)
    pairs = tasks * (tasks - 1) / 2
    average = accuracies[row >= column].sum() / (tasks * (tasks + 1) / 2)
    backward = (accuracies - np.diagonal(accuracies))[row > column].sum() / pairs
    return np.array([average, backward, accuracies[row < column].sum() / pairs])


def exact_posterior(x, y, noise):
    r"""Learn a linear regression exactly, task after task, each posterior being the next prior.

    Parameters
    ----------
    x : ndarray, shape (T, N, D)
        Inputs of T tasks.
    y : ndarray, shape (T, N)
        Targets: x @ weights plus Gaussian noise.
    noise : float
        Variance of the noise.

    Returns
    -------
    mean : ndarray, shape (D,)
        Posterior mean of the weights after the last task; the first prior is standard normal.
    covariance : ndarray, shape (D, D)
    """
    size = x.shape[-1]
    mean = np.zeros(size)
    precision = np.eye(size)
    for inputs, targets in zip(x, y, strict=True):
        pulled = precision @ mean + inputs.T @ targets / noise
        precision = precision + inputs.T @ inputs / noise
        mean = np.linalg.solve(precision, pulled)
    return mean, np.linalg.inv(precision)


def slope_of_divergence(mu, scale, prior_mu, prior_scale):
    r"""Differentiate the divergence of each weight with respect to its standard deviation.

    .. math:: \partial_\sigma = \frac{\sigma}{\sigma_0^2} - \frac1\sigma

    Parameters
    ----------
    mu : ndarray, shape (D, C)
        Means of the weights.
    scale : ndarray, shape (D, C)
        Log standard deviation of the weights.
    prior_mu, prior_scale : ndarray, shape (D, C)
        The prior.

    Returns
    -------
    slope : ndarray, shape (D, C)
        Natural logarithms, per unit of the standard deviation itself, not of ``scale``.
    """
    sigma = np.exp(scale)
    prior_sigma = np.exp(prior_scale)
    return sigma / (prior_sigma * prior_sigma) - 1 / sigma
