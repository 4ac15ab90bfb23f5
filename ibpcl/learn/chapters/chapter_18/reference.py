"""Reference functions of chapter 18."""

import numpy as np
from scipy.special import expit


def mean_loss(phi, f0, f1):
    r"""Return the mean of a loss over one binary mask, for arrays of masks.

    .. math:: \theta f_1 + (1 - \theta) f_0, \qquad \theta = \sigma(\phi)

    Parameters
    ----------
    phi : ndarray, shape (M,)
        Log-odds.
    f0, f1 : ndarray, shape (M,)
        Loss without and with the mask.

    Returns
    -------
    mean : ndarray, shape (M,)
    cache : object
        Input of ``mean_loss_vjp``.
    """
    theta = expit(phi)
    return theta * f1 + (1 - theta) * f0, (theta, f0, f1)


def mean_loss_vjp(dmean, cache):
    """Pull the gradient at ``mean`` back to ``phi``, ``f0`` and ``f1``.

    Parameters
    ----------
    dmean : ndarray, shape (M,)
    cache : object
        From ``mean_loss``.

    Returns
    -------
    dphi : ndarray, shape (M,)
    df0 : ndarray, shape (M,)
    df1 : ndarray, shape (M,)
    """
    theta, f0, f1 = cache
    return dmean * theta * (1 - theta) * (f1 - f0), dmean * (1 - theta), dmean * theta


def relaxed_given(logistic, mask, phi, tau):
    r"""Return a relaxed mask that rounds to a binary one.

    .. math:: \sigma\Bigl(\frac{s}{\tau} \operatorname{softplus}\bigl(s \ell
              + \operatorname{softplus}(s \phi)\bigr)\Bigr), \qquad s = 2 b - 1

    Parameters
    ----------
    logistic : ndarray, shape (M,)
        Logistic noise.
    mask : ndarray, shape (M,)
        Binary masks b, zeros and ones.
    phi : ndarray, shape (M,)
        Log-odds.
    tau : float
        Temperature, > 0.

    Returns
    -------
    z : ndarray, shape (M,)
    cache : object
        Input of ``relaxed_given_vjp``.
    """
    s = 2.0 * mask - 1
    inner = s * logistic + np.logaddexp(0, s * phi)
    z = expit(s * np.logaddexp(0, inner) / tau)
    return z, (z, inner, s, phi, tau)


def relaxed_given_vjp(dz, cache):
    """Pull the gradient at ``z`` back to ``phi``.

    Parameters
    ----------
    dz : ndarray, shape (M,)
    cache : object
        From ``relaxed_given``.

    Returns
    -------
    dphi : ndarray, shape (M,)
    """
    z, inner, s, phi, tau = cache
    return dz * z * (1 - z) / tau * expit(inner) * expit(s * phi)


def disarm(first, second, b, opposite, phi):
    """Return DisARM's estimates of the gradient at the log-odds.

    Parameters
    ----------
    first, second : ndarray, shape (S,)
        Losses with the masks ``b`` and with the masks ``opposite``.
    b, opposite : ndarray, shape (S, M)
        Masks of the noise u and of the noise 1 - u.
    phi : ndarray, shape (M,)
        Log-odds.

    Returns
    -------
    g : ndarray, shape (S, M)
    """
    gap = (first - second)[:, None]
    return gap * (b - opposite) / 2 * expit(np.abs(phi))


def best_constant():
    """Return the baseline that removes all variance of the score function for one mask."""
    return 0.8 * 3 + 0.2 * 1


def best_constant_slips():
    """Return common wrong answers by the mistake that leads to them."""
    return {
        "this is the mean of the loss: each loss needs the weight of the other mask": 1.4,
        "this is the mean of the two losses without their probabilities": 2.0,
        "this is the exact gradient, not the baseline": 0.32,
        "the probability of the mask is 0.2, its log-odds are not needed": 0.8 * 3 - 0.2 * 1,
    }


def silent_draws():
    """Return the probability that both masks are equal, for theta = 0.9."""
    return 0.8


def silent_draws_slips():
    """Return common wrong answers by the mistake that leads to them."""
    return {
        "this is the probability that the masks differ": 0.2,
        "this is the probability of one mask": 0.9,
        "the two masks are not independent: they share their noise": 0.9**2 + 0.1**2,
        "this is the probability that one of the masks is off, counted once": 0.1,
    }


def cold_relaxation():
    """Choose what happens to bias and variance as the temperature falls."""
    return "b"


def right_straight_through():
    """Choose the losses for which straight-through has no bias."""
    return "a"


def rebar_without_helper():
    """Choose what REBAR is with eta = 0."""
    return "c"
