"""Reference functions of chapter 4 that are not primitives of the package."""

import numpy as np


def mean_log_p(log_p):
    """Average log probabilities.

    Parameters
    ----------
    log_p : ndarray, shape (S, N)
        Log probabilities, in nats.

    Returns
    -------
    mean : float
    cache : object
        Input of ``mean_log_p_vjp``.
    """
    return log_p.mean(), log_p.shape


def mean_log_p_vjp(dmean, cache):
    """Pull the gradient at the mean back to ``log_p``.

    Parameters
    ----------
    dmean : float
        Gradient at the mean.
    cache : object
        From ``mean_log_p``.

    Returns
    -------
    dlog_p : ndarray, shape (S, N)
    """
    return np.full(cache, dmean / np.prod(cache))


def log_sum_exp(logits):
    """Return the log of the sum of exponentials along the last axis, without overflow.

    Parameters
    ----------
    logits : ndarray, shape (N, C)

    Returns
    -------
    total : ndarray, shape (N,)
    """
    largest = logits.max(axis=-1, keepdims=True)
    return largest[..., 0] + np.log(np.exp(logits - largest).sum(axis=-1))


def found_by():
    """Choose the known value that finds the forgotten temperature."""
    return "b"
