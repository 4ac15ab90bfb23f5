r"""The masked layer and the categorical likelihood, with their gradients."""

import numpy as np


def _activity(z):
    """Return the activity of each unit, its largest mask, and where that is."""
    rows = np.argmax(z.real, axis=1)[:, None, :]             # (S, 1, K)
    return np.take_along_axis(z, rows, axis=1)[:, 0], rows


def _log_softmax(logits, axis=-1):
    """Subtract log sum exp, shifted by the largest real part so that nothing overflows."""
    shifted = logits - np.max(logits.real, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def masked_linear(x, v, z, bias):
    r"""Multiply by masked weights and add the bias, scaled by the largest mask of its unit.

    Parameters
    ----------
    x : ndarray, shape (N, D)
        Inputs, shared by all samples.
    v : ndarray, shape (S, D, K)
        Weights.
    z : ndarray, shape (S, D, K)
        Their masks, relaxed or binary, in [0, 1].
    bias : ndarray, shape (K,)
        Biases, shared by all samples.

    Returns
    -------
    h : ndarray, shape (S, N, K)
        Pre-activations.
    cache : object
        What ``masked_linear_vjp`` needs.
    """
    activity, rows = _activity(z)
    w = z * v                                                # (S, D, K)
    h = x @ w + (bias * activity)[:, None, :]
    return h, (x, v, z, bias, w, activity, rows)


def masked_linear_vjp(dh, cache):
    r"""Pull the gradient at ``h`` back to ``x``, ``v``, ``z`` and ``bias``.

    .. math:: dw = x^\top dh, \quad dx = \sum_s dh\, w^\top, \quad dv = z \odot dw,
              dz = v \odot dw + \text{(at the largest)}\, b \sum_n dh

    Parameters
    ----------
    dh : ndarray, shape (S, N, K)
        Gradient at ``h``.
    cache : object
        From ``masked_linear``.

    Returns
    -------
    dx : ndarray, shape (N, D)
    dv : ndarray, shape (S, D, K)
    dz : ndarray, shape (S, D, K)
    dbias : ndarray, shape (K,)
    """
    x, v, z, bias, w, activity, rows = cache
    dw = x.T @ dh                                            # (S, D, K)
    dx = (dh @ np.swapaxes(w, 1, 2)).sum(axis=0)             # x was broadcast over S
    dscaled = dh.sum(axis=1)  # (S, K), of the scaled bias: broadcast over N
    dz = dw * v
    largest = np.take_along_axis(dz, rows, axis=1) + (dscaled * bias)[:, None, :]
    np.put_along_axis(dz, rows, largest, axis=1)  # only the largest mask moves the activity
    return dx, dw * z, dz, (dscaled * activity).sum(axis=0)


def categorical(logits, labels):
    r"""Evaluate the log probability of the labels under the softmax of the logits.

    Parameters
    ----------
    logits : ndarray, shape (S, N, C)
        Outputs of the network, any real.
    labels : ndarray of int, shape (N,)
        Classes, 0 to C - 1.

    Returns
    -------
    log_p : ndarray, shape (S, N)
        Nats.
    cache : object
        What ``categorical_vjp`` needs.
    """
    log_p = _log_softmax(logits)
    rows = np.arange(len(labels))
    return log_p[:, rows, labels], (log_p, rows, labels)


def categorical_vjp(dlog_p, cache):
    r"""Pull the gradient at ``log_p`` back to ``logits``.

    .. math:: \partial_{f_c} \log p(y) = \mathbb 1[c = y] - \mathrm{softmax}(f)_c

    Parameters
    ----------
    dlog_p : ndarray, shape (S, N)
        Gradient at ``log_p``.
    cache : object
        From ``categorical``.

    Returns
    -------
    dlogits : ndarray, shape (S, N, C)
    """
    log_p, rows, labels = cache
    dlogits = -dlog_p[..., None] * np.exp(log_p)
    dlogits[:, rows, labels] += dlog_p                       # rows differ, so no entry is met twice
    return dlogits


def log_likelihood(x, v, z, bias, labels):
    r"""Evaluate a classifier of one masked layer: ``categorical`` of ``masked_linear``.

    Parameters
    ----------
    x : ndarray, shape (N, D)
        Inputs, shared by all samples.
    v : ndarray, shape (S, D, C)
        Weights.
    z : ndarray, shape (S, D, C)
        Their masks, relaxed or binary, in [0, 1].
    bias : ndarray, shape (C,)
        Biases, shared by all samples.
    labels : ndarray of int, shape (N,)
        Classes, 0 to C - 1.

    Returns
    -------
    log_p : ndarray, shape (S, N)
        Nats.
    cache : object
        What ``log_likelihood_vjp`` needs.
    """
    logits, layer = masked_linear(x, v, z, bias)
    log_p, likelihood = categorical(logits, labels)
    return log_p, (layer, likelihood)


def log_likelihood_vjp(dlog_p, cache):
    r"""Pull the gradient at ``log_p`` back to ``x``, ``v``, ``z`` and ``bias``.

    The last function of the forward comes first.

    Parameters
    ----------
    dlog_p : ndarray, shape (S, N)
        Gradient at ``log_p``.
    cache : object
        From ``log_likelihood``.

    Returns
    -------
    dx : ndarray, shape (N, D)
    dv : ndarray, shape (S, D, C)
    dz : ndarray, shape (S, D, C)
    dbias : ndarray, shape (C,)
    """
    layer, likelihood = cache
    return masked_linear_vjp(categorical_vjp(dlog_p, likelihood), layer)


def label_frequencies(gumbel, logits):
    r"""Draw labels by the largest of logit plus Gumbel noise, and count them.

    Parameters
    ----------
    gumbel : ndarray, shape (M, S, N, C)
        Standard Gumbel noise for M draws.
    logits : ndarray, shape (S, N, C)
        Outputs of the network.

    Returns
    -------
    frequencies : ndarray, shape (S, N, C)
        Share of the draws in which each class was largest.
    """
    winners = np.argmax(logits + gumbel, axis=-1)            # (M, S, N)
    return (winners[..., None] == np.arange(logits.shape[-1])).mean(axis=0)


def slope_in_probability(logits, labels):
    r"""Differentiate the log-likelihood with respect to the probabilities of the classes.

    .. math:: \partial_{p_c} \log p_y = \frac{\mathbb 1[c = y]}{p_c}

    Parameters
    ----------
    logits : ndarray, shape (S, N, C)
        Outputs of the network, any real.
    labels : ndarray of int, shape (N,)
        Classes, 0 to C - 1.

    Returns
    -------
    slope : ndarray, shape (S, N, C)
        For each sample, example and class.
    """
    log_p = _log_softmax(logits)
    chosen = labels[:, None] == np.arange(logits.shape[-1])  # (N, C)
    return np.where(chosen, np.exp(-log_p), 0)
