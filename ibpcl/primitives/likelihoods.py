r"""Likelihoods: the log probability of labels or targets given the outputs of the network.

Kumar et al. (2021), Eq. 2 (:math:`\mathrm{Lik}`) and Sec. 3.2: "for regression, Lik can be Gaussian
with some noise variance, while for classification it can be Bernoulli with a probit or logistic
link".  Ten classes need the softmax.  Every log likelihood has shape (S, N): one value per sample
and example, in nats, summed over outputs but not over examples.
"""

import numpy as np
from scipy.special import erfcx, log_ndtr

from ibpcl.numerics import sigmoid, softplus

HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))


def check_labels(labels, shape):
    """Check that labels are class numbers of the right shape.

    NumPy would accept others silently: -1 as the last class, (N, 1) as N labels per example.

    Parameters
    ----------
    labels : ndarray of int, shape (N,)
        The labels.
    shape : tuple of int
        Shape (S, N, C) of the logits.

    Raises
    ------
    ValueError
        If the labels have another shape or type, or are not in 0 ... C - 1.
    """
    _, examples, classes = shape
    if labels.shape != (examples,) or labels.dtype.kind not in "iu":
        raise ValueError(
            f"likelihoods.categorical: labels must be integers of shape ({examples},), got "
            f"{labels.dtype} {labels.shape}"
        )
    if labels.size and not 0 <= labels.min() <= labels.max() < classes:
        raise ValueError(
            f"likelihoods.categorical: labels must be in 0 ... {classes - 1}, got {labels.min()} "
            f"to {labels.max()}"
        )


def _check_targets(function, targets, shape):
    """Check the shape of targets, because NumPy would repeat them along the wrong axis."""
    if np.shape(targets) != shape[1:]:
        raise ValueError(
            f"likelihoods.{function}: targets must have shape {shape[1:]}, got {np.shape(targets)}"
        )


def categorical(logits, labels):
    r"""Evaluate the log probability of the labels under the softmax of the logits.

    .. math:: \log p(y_n) = f_{n y_n} - \log \sum_c e^{f_{nc}}
              = (f_{n y_n} - f_{n j}) - \log\Bigl(1
                  + \sum_{c \ne j} e^{f_{nc} - f_{nj}}\Bigr), \qquad
              j = \arg\max_c f_{nc}

    The second form keeps the digits of a log probability near 0, where the network is confident and
    correct.

    Parameters
    ----------
    logits : ndarray, shape (S, N, C)
        The network's outputs, any real.
    labels : ndarray of int, shape (N,)
        Classes in 0 ... C - 1.

    Returns
    -------
    log_p : ndarray, shape (S, N)
        Nats.
    cache : tuple
        Input of :func:`categorical_vjp`.

    Raises
    ------
    ValueError
        If a label is not a class, or ``labels`` has another shape.

    Examples
    --------
    >>> np.exp(categorical(np.zeros((1, 1, 4)), np.array([2]))[0])
    array([[0.25]])
    """
    check_labels(labels, logits.shape)
    largest = np.argmax(logits.real, axis=-1)[..., None]
    # shifted so that the largest logit is 0
    shifted = logits - np.take_along_axis(logits, largest, axis=-1)
    others = np.exp(shifted)
    np.put_along_axis(others, largest, 0, axis=-1)
    log_normalized = shifted - np.log1p(others.sum(axis=-1, keepdims=True))
    rows = np.arange(labels.shape[0])
    return log_normalized[:, rows, labels], (log_normalized, rows, labels)


def categorical_vjp(dlog_p, cache):
    r"""Pull the gradient at ``log_p`` back to ``logits``.

    .. math:: \partial_{f_{nc}} \log p(y_n) = \mathbb 1[c = y_n] - \mathrm{softmax}(f_n)_c,
              \qquad 1 - \mathrm{softmax}_{y_n} = \sum_{c \ne y_n} \mathrm{softmax}_c
    """
    log_normalized, rows, labels = cache
    others = np.exp(log_normalized)
    others[:, rows, labels] = 0
    dlogits = -dlog_p[..., None] * others
    dlogits[:, rows, labels] = dlog_p * others.sum(axis=-1)  # 1 - p would be 0 if p rounds to 1
    return dlogits


def bernoulli_logistic(logits, targets):
    r"""Evaluate the log probability of binary (or grey) targets, logistic link.

    .. math:: \log p(y_n) = \sum_c y_{nc} f_{nc} - \log(1 + e^{f_{nc}})
              = -\sum_c y_{nc} \log(1 + e^{-f_{nc}}) + (1 - y_{nc}) \log(1 + e^{f_{nc}})

    Parameters
    ----------
    logits : ndarray, shape (S, N, C)
        The network's outputs, any real.
    targets : ndarray, shape (N, C)
        Targets in [0, 1].

    Returns
    -------
    log_p : ndarray, shape (S, N)
        Nats; summed over outputs.
    cache : tuple
        Input of :func:`bernoulli_logistic_vjp`.

    Examples
    --------
    >>> np.exp(bernoulli_logistic(np.zeros((1, 1, 1)), np.ones((1, 1)))[0])
    array([[0.5]])
    """
    _check_targets("bernoulli_logistic", targets, logits.shape)
    # The second form: the first one loses all digits for a confident and correct pixel.
    return -(targets * softplus(-logits) + (1 - targets) * softplus(logits)).sum(axis=-1), (
        logits,
        targets,
    )


def bernoulli_logistic_vjp(dlog_p, cache):
    r"""Pull the gradient at ``log_p`` back to ``logits``.

    .. math:: \partial_f = y - \sigma(f) = y\, \sigma(-f) - (1 - y)\, \sigma(f)
    """
    logits, targets = cache
    return dlog_p[..., None] * (targets * sigmoid(-logits) - (1 - targets) * sigmoid(logits))


def bernoulli_probit(scores, targets):
    r"""Evaluate the log probability of binary (or grey) targets, probit link.

    .. math:: \log p(y_n) = \sum_c y_{nc} \log \Phi(f_{nc}) + (1 - y_{nc}) \log \Phi(-f_{nc})

    with :math:`\Phi` the standard normal distribution function.

    Parameters
    ----------
    scores : ndarray, shape (S, N, C)
        The network's outputs, any real.
    targets : ndarray, shape (N, C)
        Targets in [0, 1].

    Returns
    -------
    log_p : ndarray, shape (S, N)
        Nats; summed over outputs.
    cache : tuple
        Input of :func:`bernoulli_probit_vjp`.

    Examples
    --------
    >>> np.exp(bernoulli_probit(np.zeros((1, 1, 1)), np.ones((1, 1)))[0])
    array([[0.5]])
    """
    _check_targets("bernoulli_probit", targets, scores.shape)
    log_on = log_ndtr(scores)
    log_off = log_ndtr(-scores)
    return (targets * log_on + (1 - targets) * log_off).sum(axis=-1), (scores, targets)


def bernoulli_probit_vjp(dlog_p, cache):
    r"""Pull the gradient at ``log_p`` back to ``scores``.

    .. math:: \partial_f = y \frac{\varphi(f)}{\Phi(f)} - (1 - y) \frac{\varphi(f)}{\Phi(-f)}

    where :math:`\varphi` is the normal density.  Far from 0, density and distribution function are
    tiny.  Their ratio is computed by the scaled complementary error function:
    :math:`\varphi(f) / \Phi(f) = \sqrt{2 / \pi} / \mathrm{erfcx}(-f / \sqrt 2)`.
    """
    scores, targets = cache
    shrunk = scores * scores.dtype.type(np.sqrt(0.5))
    slope = targets / erfcx(-shrunk) - (1 - targets) / erfcx(shrunk)
    slope *= scores.dtype.type(np.sqrt(2 / np.pi))
    return dlog_p[..., None] * slope


def gaussian(mean, log_noise, targets):
    r"""Evaluate the log density of real targets under Gaussian noise.

    .. math::

        \log p(y_n) = \sum_c -\tfrac12 \log 2\pi - \log s_c
            - \tfrac12 \Bigl(\frac{y_{nc} - f_{nc}}{s_c}\Bigr)^2

    Parameters
    ----------
    mean : ndarray, shape (S, N, C)
        The network's outputs f, any real.
    log_noise : ndarray, shape (C,)
        Log standard deviation of the noise, given or learned.
    targets : ndarray, shape (N, C)
        Targets.

    Returns
    -------
    log_p : ndarray, shape (S, N)
        Nats; summed over outputs.
    cache : tuple
        Input of :func:`gaussian_vjp`.

    Examples
    --------
    >>> gaussian(np.zeros((1, 1, 1)), np.zeros(1), np.zeros((1, 1)))[0].round(4)
    array([[-0.9189]])
    """
    _check_targets("gaussian", targets, mean.shape)
    inverse_noise = np.exp(-log_noise)
    residual = (targets - mean) * inverse_noise  # (S, N, C)
    return (-HALF_LOG_2PI - log_noise - residual * residual / 2).sum(axis=-1), (
        residual,
        inverse_noise,
    )


def gaussian_vjp(dlog_p, cache):
    r"""Pull the gradient at ``log_p`` back to ``mean`` and ``log_noise``.

    .. math::

        \partial_f = \frac{y - f}{s^2}, \qquad \partial_{\log s} = \Bigl(\frac{y - f}{s}\Bigr)^2 - 1
    """
    residual, inverse_noise = cache
    d = dlog_p[..., None]
    # log_noise was broadcast over S and N
    return d * residual * inverse_noise, (d * (residual * residual - 1)).sum(axis=(0, 1))
