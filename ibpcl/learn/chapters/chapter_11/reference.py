"""Reference functions of chapter 11 that are not primitives of the package."""

import numpy as np


def logistic_loss(w, x, y):
    r"""Return the loss of a softmax regression with two classes and one weight.

    .. math:: L_n = \log(1 + e^{w x_n}) - y_n w x_n

    Parameters
    ----------
    w : float
        Weight.
    x, y : ndarray, shape (N,)
        Inputs, and labels 0.0 or 1.0.

    Returns
    -------
    loss : ndarray, shape (N,)
        Nats.
    cache : object
        Input of ``logistic_loss_vjp``.
    """
    p = 1 / (1 + np.exp(-w * x))
    return np.log(1 + np.exp(w * x)) - y * w * x, (p, x, y)


def logistic_loss_vjp(dloss, cache):
    """Pull the gradient at the losses back to ``w``.

    Parameters
    ----------
    dloss : ndarray, shape (N,)
    cache : object
        From ``logistic_loss``.

    Returns
    -------
    dw : float
    """
    p, x, y = cache
    return np.sum(dloss * x * (p - y))


def fisher_information(w, x):
    """Return the mean second derivative of the loss.

    Parameters
    ----------
    w : float
    x : ndarray, shape (N,)

    Returns
    -------
    fisher : float
    """
    p = 1 / (1 + np.exp(-w * x))
    return np.mean(x * x * p * (1 - p))


def oscillating_weight():
    """Choose what synaptic intelligence concludes."""
    return "b"


def hat_price(a, used):
    r"""Return the price of gates.

    .. math:: \frac{\sum_k a_k (1 - u_k)}{\sum_k (1 - u_k)}

    Parameters
    ----------
    a : ndarray, shape (K,)
        Gates in [0, 1].
    used : ndarray, shape (K,)
        How much earlier tasks use each unit, in [0, 1).

    Returns
    -------
    price : float
    cache : object
        Input of ``hat_price_vjp``.
    """
    free = 1 - used
    share = free / free.sum()
    return (a * share).sum(), share


def hat_price_vjp(dprice, cache):
    """Pull the gradient at the price back to the gates.

    Parameters
    ----------
    dprice : float
    cache : object
        From ``hat_price``.

    Returns
    -------
    da : ndarray, shape (K,)
    """
    return dprice * cache


def closest_to_rehearsal():
    """Choose the method whose objective is closest to rehearsal's."""
    return "a"


def horseshoe_price(x):
    r"""Return minus the log density of the horseshoe's log scales, summed.

    .. math:: \sum_k \log\Bigl(2 \pi \cosh \frac{x_k}{2}\Bigr)

    Parameters
    ----------
    x : ndarray, shape (K,)
        Logarithms of the squared scales.

    Returns
    -------
    price : float
    cache : object
        Input of ``horseshoe_price_vjp``.
    """
    return np.sum(np.log(2 * np.pi * np.cosh(x / 2))), x


def horseshoe_price_vjp(dprice, cache):
    """Pull the gradient at the price back to the log scales.

    Parameters
    ----------
    dprice : float
    cache : object
        From ``horseshoe_price``.

    Returns
    -------
    dx : ndarray, shape (K,)
    """
    return dprice * np.tanh(cache / 2) / 2


def expected_loss(m, log_sigma, c):
    r"""Return the mean of a quadratic loss under a Gaussian, summed over weights.

    .. math:: \mathbb E\Bigl[\sum_k \frac32 (w_k - c_k)^2\Bigr], \qquad
              w_k \sim \mathcal N(m_k, \sigma_k^2)

    Parameters
    ----------
    m : ndarray, shape (K,)
        Means.
    log_sigma : ndarray, shape (K,)
        Logarithms of the standard deviations.
    c : ndarray, shape (K,)
        Where the loss is least.

    Returns
    -------
    loss : float
    cache : object
        Input of ``expected_loss_vjp``.
    """
    variance = np.exp(2 * log_sigma)
    return 1.5 * np.sum((m - c) ** 2 + variance), (m - c, variance)


def expected_loss_vjp(dloss, cache):
    """Pull the gradient at the loss back to means and standard deviations.

    Parameters
    ----------
    dloss : float
    cache : object
        From ``expected_loss``.

    Returns
    -------
    dm : ndarray, shape (K,)
    dlog_sigma : ndarray, shape (K,)
    """
    distance, variance = cache
    return dloss * 3 * distance, dloss * 3 * variance


def unfelt(d, h):
    r"""Return the part of a step that does not change a product with an input.

    .. math:: d - \frac{h^\top d}{h^\top h}\, h

    Parameters
    ----------
    d : ndarray, shape (K,)
        Step.
    h : ndarray, shape (K,)
        Input that a layer has seen.

    Returns
    -------
    part : ndarray, shape (K,)
    cache : object
        Input of ``unfelt_vjp``.
    """
    return d - h * np.sum(h * d) / np.sum(h * h), h


def unfelt_vjp(dpart, cache):
    """Pull the gradient at the part back to the step.

    Parameters
    ----------
    dpart : ndarray, shape (K,)
    cache : object
        From ``unfelt``.

    Returns
    -------
    dd : ndarray, shape (K,)
    """
    return dpart - cache * np.sum(cache * dpart) / np.sum(cache * cache)


def rise(d, log_sigma):
    r"""Return how much a loss with a known curvature rises by a step of sigma d.

    .. math:: \sum_k \frac12 \Bigl(\frac1{\sigma_k^2} - 1\Bigr) (\sigma_k d_k)^2

    Parameters
    ----------
    d : ndarray, shape (K,)
        Steps, in units of the standard deviations.
    log_sigma : ndarray, shape (K,)
        Logarithms of the standard deviations.

    Returns
    -------
    rise : float
    cache : object
        Input of ``rise_vjp``.
    """
    variance = np.exp(2 * log_sigma)
    return np.sum((1 - variance) * d**2) / 2, (d, variance)


def rise_vjp(drise, cache):
    """Pull the gradient at the rise back to the steps and standard deviations.

    Parameters
    ----------
    drise : float
    cache : object
        From ``rise``.

    Returns
    -------
    dd : ndarray, shape (K,)
    dlog_sigma : ndarray, shape (K,)
    """
    d, variance = cache
    return drise * (1 - variance) * d, -drise * variance * d**2


def imitation(logits, p):
    r"""Return the divergence of a student's class probabilities from a teacher's, summed.

    .. math:: \sum_{nc} p_{nc} (\log p_{nc} - \log q_{nc}), \qquad
              q = \operatorname{softmax}(\text{logits})

    Parameters
    ----------
    logits : ndarray, shape (N, C)
        Logits of the student.
    p : ndarray, shape (N, C)
        Probabilities of the teacher.

    Returns
    -------
    kl : float
    cache : object
        Input of ``imitation_vjp``.
    """
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_q = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return np.sum(p * (np.log(p) - log_q)), (np.exp(log_q), p)


def imitation_vjp(dkl, cache):
    """Pull the gradient at the divergence back to the logits.

    Parameters
    ----------
    dkl : float
    cache : object
        From ``imitation``.

    Returns
    -------
    dlogits : ndarray, shape (N, C)
    """
    q, p = cache
    return dkl * (q - p)


def kronecker_price(w, a, g):
    r"""Return half the squared length of a matrix in the metric of a Kronecker product.

    .. math:: \tfrac12 \operatorname{tr}(g\, w^\top a\, w)

    Parameters
    ----------
    w : ndarray, shape (D, K)
        Change of the weights.
    a : ndarray, shape (D, D)
        Factor of the inputs, symmetric.
    g : ndarray, shape (K, K)
        Factor of the outputs, symmetric.

    Returns
    -------
    price : float
    cache : object
        Input of ``kronecker_price_vjp``.
    """
    pulled = a @ w @ g
    return np.sum(w * pulled) / 2, pulled


def kronecker_price_vjp(dprice, cache):
    """Pull the gradient at the price back to the weights.

    Parameters
    ----------
    dprice : float
    cache : object
        From ``kronecker_price``.

    Returns
    -------
    dw : ndarray, shape (D, K)
    """
    return dprice * cache
