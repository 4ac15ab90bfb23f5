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
