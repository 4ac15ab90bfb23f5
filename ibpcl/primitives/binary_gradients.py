r"""Binary masks without a relaxation: their draw, and estimates of the gradient at their log-odds.

A mask :math:`b \sim \mathrm{Bernoulli}(\theta)`, :math:`\phi = \operatorname{logit}\theta`, is a
step function of its noise, so the chain rule gives 0.  Each estimator is one line.  It takes losses
f that were computed with the drawn masks, and all but :func:`straight_through` need only their
values, one per sample, not their slopes:

====================  ==============================================================  =========
estimator             :math:`g`, the estimate of :math:`\partial_\phi \mathbb E f`    unbiased
====================  ==============================================================  =========
``straight_through``  :math:`f'(b)\, \theta (1 - \theta)`                             no
``score``             :math:`f(b)\, (b - \theta)`                                     yes
``arm``               :math:`(f(b) - f(\tilde b))\, (u - \tfrac12)`                   yes
``disarm``            :math:`(f(b) - f(\tilde b))\,                                   yes
                      \tfrac12 (b - \tilde b)\, \sigma(\lvert\phi\rvert)`
====================  ==============================================================  =========

With logistic noise :math:`\ell = \operatorname{logit} u` the mask is :math:`b = 1[\phi + \ell >
0]`.  The opposite mask :math:`\tilde b` has the noise :math:`-\ell`, which is that of :math:`1 -
u`.  The estimators are compared with the exact gradient in :mod:`ibpcl.exact.mask_gradients`.
"""

import numpy as np

from ibpcl.numerics import sigmoid


def sample(logistic, logit_theta):
    r"""Draw binary masks.

    .. math:: b = 1[\operatorname{logit}\theta + \ell > 0]

    The limit of :func:`ibpcl.primitives.concrete.sample` as the temperature falls to 0.

    Parameters
    ----------
    logistic : ndarray, shape (S, D, K)
        Standard logistic noise.
    logit_theta : ndarray, shape (S, D, K)
        Log-odds of the mask being on, any real.

    Returns
    -------
    b : ndarray, shape (S, D, K)
        Zeros and ones, of the type of ``logit_theta``.

    Examples
    --------
    >>> sample(np.array([0.5, -0.5]), np.array([0.2, 0.2]))
    array([1., 0.])
    """
    return ((logit_theta + logistic).real > 0).astype(np.asarray(logit_theta).dtype)


def straight_through(db, logit_theta):
    r"""Pass the slope at a mask on to its log-odds, as if the mask were its probability.

    .. math:: g = f'(b)\, \theta (1 - \theta)

    Bengio, Leonard and Courville (2013).

    Parameters
    ----------
    db : ndarray, shape (S, D, K)
        Gradient of the loss at the masks.
    logit_theta : ndarray, shape (S, D, K)
        Log-odds, any real.

    Returns
    -------
    g : ndarray, shape (S, D, K)
        The estimates; biased unless the loss is linear in each mask while the others are fixed.

    Examples
    --------
    >>> straight_through(np.array([2.0]), np.array([0.0]))
    array([0.5])
    """
    return db * sigmoid(logit_theta) * sigmoid(-logit_theta)


def score(loss, b, logit_theta):
    r"""Weigh the slope of the log probability of a mask by the loss.

    .. math:: g = f(b)\, \frac{\partial \log q(b)}{\partial \phi} = f(b)\, (b - \theta)

    Williams (1992), REINFORCE.  A constant may be subtracted from the loss, because the mean of
    :math:`b - \theta` is 0.

    Parameters
    ----------
    loss : ndarray, shape (S,)
        Loss of each sample, possibly minus a baseline that does not depend on its masks.
    b : ndarray, shape (S, D, K)
        Masks, 0 or 1.
    logit_theta : ndarray, shape (S, D, K)
        Log-odds, any real.

    Returns
    -------
    g : ndarray, shape (S, D, K)
        The estimates.

    Examples
    --------
    >>> score(np.array([3.0]), np.array([[1.0, 0.0]]), np.array([[0.0, 0.0]]))
    array([[ 1.5, -1.5]])
    """
    # b - theta would lose the digits of a small 1 - theta
    return _per_sample(loss, b) * (b * sigmoid(-logit_theta) - (1 - b) * sigmoid(logit_theta))


def arm(gap, u):
    r"""Weigh the noise by the difference of two losses.

    .. math:: g = \bigl(f(b) - f(\tilde b)\bigr) (u - \tfrac12)

    Yin and Zhou (2019), Theorem 1.

    Parameters
    ----------
    gap : ndarray, shape (S,)
        Loss with the masks of the noise u, minus the loss with those of :math:`1 - u`.
    u : ndarray, shape (S, D, K)
        Uniform noise in (0, 1); a mask is on for :math:`u > \sigma(-\phi)`.

    Returns
    -------
    g : ndarray, shape (S, D, K)
        The estimates.

    Examples
    --------
    >>> arm(np.array([2.0]), np.array([[0.75, 0.5]]))
    array([[0.5, 0. ]])
    """
    return _per_sample(gap, u) * (u - 0.5)


def disarm(gap, b, opposite, logit_theta):
    r"""Weigh the difference of two losses by the difference of two opposite masks.

    .. math:: g = \bigl(f(b) - f(\tilde b)\bigr)\,
              \tfrac12 (b - \tilde b)\, \sigma(\lvert\phi\rvert)

    Dong, Mnih and Tucker (2020), Eq. 4: the mean of :func:`arm` over all noise that gives the same
    two masks.

    Parameters
    ----------
    gap : ndarray, shape (S,)
        Loss with the masks ``b``, minus the loss with the masks ``opposite``.
    b, opposite : ndarray, shape (S, D, K)
        Masks of the noise u and of the noise :math:`1 - u`.
    logit_theta : ndarray, shape (S, D, K)
        Log-odds, any real.

    Returns
    -------
    g : ndarray, shape (S, D, K)
        The estimates; 0 where both masks are equal.

    Examples
    --------
    >>> b, opposite = np.array([[1.0, 1.0]]), np.array([[0.0, 1.0]])
    >>> disarm(np.array([2.0]), b, opposite, np.zeros((1, 2)))
    array([[0.5, 0. ]])
    """
    return _per_sample(gap, b) * (0.5 * (b - opposite)) * sigmoid(np.abs(logit_theta))


def leave_one_out(loss):
    r"""Return the baseline of each sample: the mean loss of the other samples.

    .. math:: c_s = \frac{1}{S - 1} \sum_{r \ne s} f_r

    Kool, van Hoof and Welling (2019).  It does not depend on the masks of sample s, so it adds no
    bias.

    Parameters
    ----------
    loss : ndarray, shape (S,)
        Loss of each sample.

    Returns
    -------
    baseline : ndarray, shape (S,)
        One number per sample; 0 for a single sample.

    Examples
    --------
    >>> leave_one_out(np.array([1.0, 3.0, 5.0]))
    array([4., 3., 2.])
    """
    return (loss.sum() - loss) / max(1, len(loss) - 1)


def _per_sample(loss, masks):
    """Return one number per sample with the axes of the masks."""
    return loss.reshape(-1, *[1] * (masks.ndim - 1))
