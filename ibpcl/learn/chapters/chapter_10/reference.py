"""Reference functions of chapter 10 that are not primitives of the package."""

import numpy as np


def entropy(logits):
    r"""Return the entropy of a softmax.

    .. math:: H = -\sum_c p_c \log p_c, \qquad p = \mathrm{softmax}(f)

    Parameters
    ----------
    logits : ndarray, shape (N, C)

    Returns
    -------
    h : ndarray, shape (N,)
        Nats.
    cache : object
        Input of ``entropy_vjp``.
    """
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    p = np.exp(log_p)
    h = -(p * log_p).sum(axis=-1)
    return h, (p, log_p, h)


def entropy_vjp(dh, cache):
    """Pull the gradient at the entropy back to the logits.

    Parameters
    ----------
    dh : ndarray, shape (N,)
    cache : object
        From ``entropy``.

    Returns
    -------
    dlogits : ndarray, shape (N, C)
    """
    p, log_p, h = cache
    return -dh[:, None] * p * (log_p + h[:, None])


def coreset_for_one_head():
    """Predict what the coreset does to the second task."""
    return "c"


def shared_share(earlier, mask):
    """Return the share of a task's weights that an earlier task uses.

    Parameters
    ----------
    earlier : ndarray of bool, shape (T, D, K)
        Masks of the earlier tasks.
    mask : ndarray of bool, shape (D, K)
        Mask of the task, with at least one weight.

    Returns
    -------
    share : float
        In [0, 1].
    """
    used = earlier.any(axis=0)
    return (mask & used).sum() / mask.sum()


def accepted_strangers(known, strangers):
    """Return the share of strangers below the 95 % quantile of the known examples.

    Parameters
    ----------
    known, strangers : ndarray, shape (N,) and (M,)
        Uncertainty of known examples and of strangers.

    Returns
    -------
    share : float
        In [0, 1].
    """
    return np.mean(strangers <= np.quantile(known, 0.95))
