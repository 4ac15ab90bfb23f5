r"""The masked layer that keeps its variance, and the categorical likelihood of smoothed labels."""

import numpy as np

SMOOTHING = 0.1


def _log_softmax(logits, axis=-1):
    """Subtract log sum exp, shifted by the largest real part so that nothing overflows."""
    shifted = logits - np.max(logits.real, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def masked_linear(x, v, z, bias):
    r"""Multiply by masked weights, divide by the root of one plus the mask sum, and add the bias times the mean mask.

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
    w = z * v                                                # (S, D, K)
    size = 1 + z.sum(axis=1, keepdims=True)                  # (S, 1, K)
    sums, activity = x @ w, z.mean(axis=1)
    return sums / np.sqrt(size) + (bias * activity)[:, None, :], (x, v, z, bias, w, size, sums, activity)


def masked_linear_vjp(dh, cache):
    r"""Pull the gradient at ``h`` back to ``x``, ``v``, ``z`` and ``bias``.

    .. math:: g = dh / \sqrt s, \quad dw = x^\top g, \quad dx = \sum_s g\, w^\top, \quad dv = z \odot dw, \quad
              dz = v \odot dw - \frac{1}{2 s} \sum_n g \odot (x w) + \frac bD \sum_n dh

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
    x, v, z, bias, w, size, sums, activity = cache
    dsums = dh / np.sqrt(size)                               # (S, N, K)
    dw = x.T @ dsums                                         # (S, D, K)
    dx = (dsums @ np.swapaxes(w, 1, 2)).sum(axis=0)          # x was broadcast over S
    dsize = -(dsums * sums).sum(axis=1, keepdims=True) / (2 * size)      # (S, 1, K): broadcast over N
    dscaled = dh.sum(axis=1)                                 # (S, K), of the scaled bias: broadcast over N
    dz = dw * v + dsize + (dscaled * bias / z.shape[1])[:, None, :]
    return dx, dw * z, dz, (dscaled * activity).sum(axis=0)


def categorical(logits, labels):
    r"""Evaluate the log probability of smoothed labels: 0.9 of the label, 0.1 spread evenly over all classes.

    Parameters
    ----------
    logits : ndarray, shape (S, N, C)
        Outputs of the network, any real.
    labels : ndarray of int, shape (N,)
        Classes, 0 to C - 1.

    Returns
    -------
    log_p : ndarray, shape (S, N)
        Nats; an average over the smoothed label.
    cache : object
        What ``categorical_vjp`` needs.
    """
    log_p = _log_softmax(logits)
    rows, classes = np.arange(len(labels)), logits.shape[-1]
    smoothed = (1 - SMOOTHING) * log_p[:, rows, labels] + SMOOTHING / classes * log_p.sum(axis=-1)
    return smoothed, (log_p, rows, labels)


def categorical_vjp(dlog_p, cache):
    r"""Pull the gradient at ``log_p`` back to ``logits``.

    .. math:: \partial_{f_c} = 0.9 \cdot \mathbb 1[c = y] + \frac{0.1}{C} - \mathrm{softmax}(f)_c

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
    dlogits = dlog_p[..., None] * (SMOOTHING / log_p.shape[-1] - np.exp(log_p))
    dlogits[:, rows, labels] += (1 - SMOOTHING) * dlog_p     # rows differ, so no entry is met twice
    return dlogits


def log_likelihood(x, v, z, bias, labels):
    r"""Evaluate a classifier of one masked layer: ``categorical`` of the outputs of ``masked_linear``.

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
        Nats; an average over the smoothed label.
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
