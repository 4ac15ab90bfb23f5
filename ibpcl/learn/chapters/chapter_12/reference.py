"""Reference functions of chapter 12 that are not primitives of the package."""

import numpy as np


def code_divergence(m, log_s):
    r"""Return the divergence of the codes from the standard normal.

    .. math:: \sum_l \tfrac12 (m_l^2 + s_l^2 - 1) - \log s_l

    Parameters
    ----------
    m, log_s : ndarray, shape (N, L)
        Means and log standard deviations of the codes.

    Returns
    -------
    divergence : ndarray, shape (N,)
        Nats, one value for each image.
    cache : object
        Input of ``code_divergence_vjp``.
    """
    excess = np.expm1(2 * log_s)
    return (m * m / 2 + excess / 2 - log_s).sum(axis=1), (m, excess)


def code_divergence_vjp(ddivergence, cache):
    """Pull the gradient at the divergence back to ``m`` and ``log_s``.

    Parameters
    ----------
    ddivergence : ndarray, shape (N,)
    cache : object
        From ``code_divergence``.

    Returns
    -------
    dm, dlog_s : ndarray, shape (N, L)
    """
    m, excess = cache
    d = ddivergence[:, None]
    return d * m, d * excess


def importance_estimate(log_w):
    r"""Estimate log likelihoods from log importance weights.

    .. math:: \log \frac1K \sum_k w_k

    Parameters
    ----------
    log_w : ndarray, shape (K, N)
        Log weights of K samples for each of N images.

    Returns
    -------
    estimate : ndarray, shape (N,)
        Nats.
    """
    largest = log_w.max(axis=0)
    return largest + np.log(np.exp(log_w - largest).mean(axis=0))


def unlabelled_bound(f, v):
    r"""Return the bound of images whose classes are not told.

    .. math:: \sum_n \Bigl(\sum_c q_{nc} v_{nc} + H[q_n]\Bigr), \qquad q_n = \mathrm{softmax}(f_n)

    Parameters
    ----------
    f : ndarray, shape (N, C)
        Logits of the classes.
    v : ndarray, shape (N, C)
        Bound of each image for each class, in nats.

    Returns
    -------
    bound : float
    cache : object
        Input of ``unlabelled_bound_vjp``.
    """
    shifted = f - f.max(axis=1, keepdims=True)
    log_q = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    q = np.exp(log_q)
    gain = v - log_q
    return np.sum(q * gain), (q, gain)


def unlabelled_bound_vjp(dbound, cache):
    """Pull the gradient at the bound back to logits and bounds.

    Parameters
    ----------
    dbound : float
    cache : object
        From ``unlabelled_bound``.

    Returns
    -------
    df : ndarray, shape (N, C)
    dv : ndarray, shape (N, C)
    """
    q, gain = cache
    mean = np.sum(q * gain, axis=1, keepdims=True)
    return dbound * q * (gain - mean), dbound * q


def equal_weights():
    """Choose the matrices for which all importance weights are equal."""
    return "b"


def more_samples():
    """Choose how the expected estimate changes with more samples."""
    return "a"


def label_leak():
    """Predict the errors with the task given and without it."""
    return "a"
