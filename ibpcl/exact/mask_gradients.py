r"""Gradients with respect to the log-odds of binary masks: the exact one, and its estimators.

Masks :math:`b_i \sim \mathrm{Bernoulli}(\theta_i)`, :math:`\theta_i = \sigma(\phi_i)`, are
independent, and a loss f depends on them.  The gradient of its mean is

.. math::

    \frac{\partial}{\partial \phi_i} \mathbb E[f(b)]
        = \theta_i (1 - \theta_i)\, \mathbb E\bigl[f(b_i = 1) - f(b_i = 0)\bigr].

The sum over all :math:`2^n` masks gives it exactly, for at most :data:`MOST` of them.  The
estimators compute it from draws.  Each takes the loss, the log-odds and uniform noise, and returns
one gradient for each row of the noise, so that :func:`moments` can integrate over the noise: it
gives the bias and the variance without sampling.

===================  ==========================================  ========  ========================
estimator            source                                      unbiased  evaluations of the loss
===================  ==========================================  ========  ========================
reinforce            Williams (1992)                             yes       1
arm                  Yin and Zhou (2019)                         yes       2
disarm               Dong, Mnih and Tucker (2020)                yes       2
rebar                Tucker et al. (2017)                        yes       3, two with slopes
relaxed              Maddison et al. (2017); Jang et al. (2017)  no        1, with slopes
straight_through     Bengio, Leonard and Courville (2013)        no        1, with slopes
===================  ==========================================  ========  ========================

The last three need the slopes of the loss, and so a loss that is defined for masks between 0 and 1.
"""

from itertools import product
from typing import NamedTuple

import numpy as np

from ibpcl.exact import tiny
from ibpcl.numerics import logit, sigmoid
from ibpcl.primitives import bernoulli, binary_gradients, concrete

MOST = 12  # masks of which all values are summed
POINTS = 2_000_000  # of a quadrature, at most


class Loss(NamedTuple):
    """A loss of masks.

    Attributes
    ----------
    value : callable
        ``value(b)`` takes masks of shape (S, n), and returns the losses (S,).
    slope : callable or None
        ``slope(b)`` returns the derivatives with respect to the masks, of shape (S, n), also for
        masks between 0 and 1.
    """

    value: object
    slope: object = None


def of_network(network, w, x, y):
    r"""Return the loss of a tiny network under masks on its weights.

    .. math:: f(b) = -\sum_n \log p(y_n | x_n, w \odot b)

    Parameters
    ----------
    network : ibpcl.exact.tiny.TinyNetwork
        The network, with P weights.
    w : ndarray, shape (P,)
        Its weights.
    x : ndarray, shape (N, D)
        Inputs.
    y : ndarray, shape (N,) or (N, C)
        Labels, or real targets.

    Returns
    -------
    Loss
        In nats, of P masks.
    """

    def value(b):
        return -tiny.log_density(network, w * b, x, y)[0].sum(axis=1)

    def slope(b):
        log_p, cache = tiny.log_density(network, w * b, x, y)
        return w * tiny.log_density_vjp(-np.ones_like(log_p), cache)

    return Loss(value, slope)


def every_mask(n):
    """Return all values of n masks.

    Parameters
    ----------
    n : int
        Number of masks, 1 to :data:`MOST`.

    Returns
    -------
    b : ndarray, shape (2**n, n)
        Zeros and ones.

    Raises
    ------
    ValueError
        If n is out of range.

    Examples
    --------
    >>> every_mask(2).tolist()
    [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    """
    if not 1 <= n <= MOST:
        raise ValueError(f"every_mask: n must be in 1 .. {MOST}, got {n}")
    return np.array(list(product((0.0, 1.0), repeat=n)))


def exact(loss, logit_theta):
    r"""Compute the mean of a loss and its gradient by the sum over all masks.

    .. math:: \frac{\partial}{\partial \phi_i} \sum_b q(b) f(b) = \sum_b q(b) (b_i - \theta_i) f(b)

    Parameters
    ----------
    loss : Loss
        The loss.
    logit_theta : ndarray, shape (n,)
        Log-odds of the masks, at most :data:`MOST`.

    Returns
    -------
    mean : float
        Mean of the loss.
    gradient : ndarray, shape (n,)
        Its gradient with respect to the log-odds.

    Raises
    ------
    ValueError
        If there are too many masks.

    Examples
    --------
    >>> mean, gradient = exact(Loss(lambda b: 3 * b[:, 0]), np.zeros(1))
    >>> float(mean), gradient.tolist()
    (1.5, [0.75])
    """
    b = every_mask(len(logit_theta))
    log_q, cache = bernoulli.log_density(b, logit_theta)
    weights = np.exp(log_q.sum(axis=1))
    weighted = weights * loss.value(b)
    _, score = bernoulli.log_density_vjp(np.ones_like(log_q), cache)
    return weighted.sum(), weighted @ score


def reinforce(loss, logit_theta, u, baseline=0.0):
    r"""Estimate the gradient by the score function.

    .. math:: g = (f(b) - c)(b - \theta), \qquad b = 1[u < \theta]

    Williams (1992), with a baseline c.

    Parameters
    ----------
    loss : Loss
        The loss.
    logit_theta : ndarray, shape (n,)
        Log-odds.
    u : ndarray, shape (S, n)
        Uniform noise in (0, 1).
    baseline : float
        A constant c near the mean of the loss; it lowers the variance, and adds no bias.

    Returns
    -------
    g : ndarray, shape (S, n)
        One estimate for each row of the noise.

    Examples
    --------
    >>> reinforce(Loss(lambda b: b[:, 0]), np.zeros(1), np.array([[0.2], [0.8]])).tolist()
    [[0.5], [-0.0]]
    """
    b = (u < sigmoid(logit_theta)) * 1.0
    return binary_gradients.score(loss.value(b) - baseline, b, logit_theta)


def arm(loss, logit_theta, u):
    r"""Estimate the gradient by two masks from the same noise.

    .. math:: g = \bigl(f(1[u > \sigma(-\phi)]) - f(1[u < \sigma(\phi)])\bigr) (u - \tfrac12)

    Yin and Zhou (2019), Theorem 1: augment, reinforce, merge.

    Parameters
    ----------
    loss : Loss
        The loss.
    logit_theta : ndarray, shape (n,)
        Log-odds.
    u : ndarray, shape (S, n)
        Uniform noise in (0, 1).

    Returns
    -------
    g : ndarray, shape (S, n)
        One estimate for each row of the noise.

    Examples
    --------
    >>> arm(Loss(lambda b: b[:, 0]), np.zeros(1), np.array([[0.2], [0.8]])).round(12).tolist()
    [[0.3], [0.3]]
    """
    first, second = _pair(logit_theta, u)
    return binary_gradients.arm(loss.value(first) - loss.value(second), u)


def disarm(loss, logit_theta, u):
    r"""Estimate the gradient by two opposite masks, without the noise that tells nothing.

    .. math:: g = \tfrac12 \bigl(f(b) - f(\tilde b)\bigr) (-1)^{\tilde b}\, 1[b \ne \tilde b]\,
              \sigma(\lvert\phi\rvert), \qquad
              b = 1[u > \sigma(-\phi)], \; \tilde b = 1[u < \sigma(\phi)]

    Dong, Mnih and Tucker (2020), Eq. 4: the mean of :func:`arm` over all noise that gives the same
    two masks.

    Parameters
    ----------
    loss : Loss
        The loss.
    logit_theta : ndarray, shape (n,)
        Log-odds.
    u : ndarray, shape (S, n)
        Uniform noise in (0, 1).

    Returns
    -------
    g : ndarray, shape (S, n)
        One estimate for each row of the noise.

    Examples
    --------
    >>> disarm(Loss(lambda b: b[:, 0]), np.zeros(1), np.array([[0.2], [0.8]])).tolist()
    [[0.25], [0.25]]
    """
    first, second = _pair(logit_theta, u)
    gap = loss.value(first) - loss.value(second)
    return binary_gradients.disarm(gap, first, second, logit_theta)


def _pair(logit_theta, u):
    """Return the two masks that ``1 - u`` and ``u`` give."""
    return (u > sigmoid(-logit_theta)) * 1.0, (u < sigmoid(logit_theta)) * 1.0


def straight_through(loss, logit_theta, u):
    r"""Estimate the gradient as if the mask were its probability.

    .. math:: g = f'(b)\, \theta (1 - \theta), \qquad b = 1[u < \theta]

    Bengio, Leonard and Courville (2013).  Its mean is right if f is linear in each mask while the
    others are fixed; else it is biased.

    Parameters
    ----------
    loss : Loss
        The loss, with slopes.
    logit_theta : ndarray, shape (n,)
        Log-odds.
    u : ndarray, shape (S, n)
        Uniform noise in (0, 1).

    Returns
    -------
    g : ndarray, shape (S, n)
        One estimate for each row of the noise.

    Examples
    --------
    >>> square = Loss(lambda b: b[:, 0] ** 2, lambda b: 2 * b)
    >>> straight_through(square, np.zeros(1), np.array([[0.2], [0.8]])).tolist()
    [[0.5], [0.0]]
    """
    b = (u < sigmoid(logit_theta)) * 1.0
    return binary_gradients.straight_through(loss.slope(b), logit_theta)


def relaxed(loss, logit_theta, u, tau):
    r"""Estimate the gradient by binary concrete masks, as Algorithm 1 does.

    .. math:: g = f'(z)\, \frac{z (1 - z)}{\tau}, \qquad
              z = \sigma\Bigl(\frac{\phi + \operatorname{logit} u}{\tau}\Bigr)

    Maddison, Mnih and Teh (2017); Jang, Gu and Poole (2017).  It is the gradient of another mean,
    that of f(z), so its bias vanishes only as the temperature does, and its variance grows then.

    Parameters
    ----------
    loss : Loss
        The loss, with slopes.
    logit_theta : ndarray, shape (n,)
        Log-odds.
    u : ndarray, shape (S, n)
        Uniform noise in (0, 1).
    tau : float
        Temperature, > 0.

    Returns
    -------
    g : ndarray, shape (S, n)
        One estimate for each row of the noise.

    Examples
    --------
    >>> linear = Loss(lambda b: b[:, 0], lambda b: np.ones_like(b))
    >>> relaxed(linear, np.zeros(1), np.array([[0.5]]), 1.0).tolist()
    [[0.25]]
    """
    z, cache = concrete.sample(logit(u), logit_theta, tau)
    return concrete.sample_vjp(loss.slope(z), cache)


def rebar(loss, logit_theta, noise, tau, eta=1.0):
    r"""Estimate the gradient by the score function, with the relaxed loss as control variate.

    .. math::

        g = \bigl(f(b) - \eta f(\tilde z)\bigr)(b - \theta)
            + \eta \frac{\partial f(z)}{\partial \phi}
            - \eta \frac{\partial f(\tilde z)}{\partial \phi}, \qquad
        z = \sigma\Bigl(\frac{\phi + \operatorname{logit} u}{\tau}\Bigr), \; b = 1[z > \tfrac12]

    The relaxed mask :math:`\tilde z` is drawn given the mask, see
    :func:`ibpcl.primitives.concrete.sample_given`.

    Tucker, Mnih, Maddison, Lawson and Sohl-Dickstein (2017), Eq. 7.  With ``eta`` 0 it is
    :func:`reinforce`.

    Parameters
    ----------
    loss : Loss
        The loss, with slopes.
    logit_theta : ndarray, shape (n,)
        Log-odds.
    noise : ndarray, shape (S, 2 n)
        Uniform noise u, and then v.
    tau : float
        Temperature, > 0.
    eta : float
        Weight of the control variate.

    Returns
    -------
    g : ndarray, shape (S, n)
        One estimate for each row of the noise.

    Examples
    --------
    >>> linear = Loss(lambda b: b[:, 0], lambda b: np.ones_like(b))
    >>> rebar(linear, np.zeros(1), np.array([[0.8, 0.3]]), 1.0, eta=0.0).tolist()
    [[0.5]]
    """
    u, v = np.split(noise, 2, axis=1)
    b = (u > sigmoid(-logit_theta)) * 1.0
    z, free = concrete.sample(logit(u), logit_theta, tau)
    tilde, given = concrete.sample_given(logit(v), b, logit_theta, tau)
    residual = loss.value(b) - eta * loss.value(tilde)
    score = binary_gradients.score(residual, b, logit_theta)
    control = concrete.sample_vjp(loss.slope(z), free)
    conditional = concrete.sample_given_vjp(loss.slope(tilde), given)
    return score + eta * (control - conditional)


class Moments(NamedTuple):
    """Mean and variance of an estimate.

    Attributes
    ----------
    mean : ndarray, shape (n,)
        The mean.
    variance : ndarray, shape (n,)
        The variance of one estimate.
    """

    mean: np.ndarray
    variance: np.ndarray


def cells(logit_theta, parts=1):
    r"""Return the places at which estimates jump, as functions of the noise of each mask.

    Parameters
    ----------
    logit_theta : ndarray, shape (n,)
        Log-odds.
    parts : int
        Each cell at an end of [0, 1] is cut into so many parts, which shrink towards the end as
        powers of 10: there the logit of the noise is steep.

    Returns
    -------
    edges : list of ndarray
        For each mask 0, the smaller and the larger of :math:`\theta` and :math:`1 - \theta`, and 1,
        with the parts between.

    Examples
    --------
    >>> cells(np.array([np.log(3.0)]))[0].round(12).tolist()
    [0.0, 0.25, 0.75, 1.0]
    """
    shrinking = 10.0 ** -np.arange(parts)[::-1]
    found = []
    for low in np.minimum(sigmoid(logit_theta), sigmoid(-logit_theta)):
        left = np.concatenate([[0.0], low * shrinking])
        found.append(np.unique(np.concatenate([left, 1 - left])))
    return found


def moments(estimate, edges, order=2):
    """Integrate an estimate and its square over uniform noise.

    Gauss's rule of an order is exact for polynomials of degree ``2 order - 1`` between two edges.
    Estimates without a relaxation are linear between them in each coordinate, so order 2 is exact.

    Parameters
    ----------
    estimate : callable
        ``estimate(u)`` takes noise of shape (S, d), and returns estimates (S, n).
    edges : list of ndarray
        The places of jumps in each of the d coordinates; see :func:`cells`.
    order : int
        Number of points between two edges.

    Returns
    -------
    Moments
        Mean and variance.

    Raises
    ------
    ValueError
        If the rule has more than :data:`POINTS` points: sample the noise instead.

    Examples
    --------
    >>> found = moments(lambda u: 2 * u, [np.array([0.0, 1.0])])
    >>> found.mean.round(12), found.variance.round(12)
    (array([1.]), array([0.33333333]))
    """
    places, heights = np.polynomial.legendre.leggauss(order)
    points = []
    weights = []
    for one in edges:
        widths = np.diff(one)[:, None] / 2
        points.append((one[:-1, None] + widths * (1 + places)).ravel())
        weights.append((widths * heights).ravel())
    size = int(np.prod([len(one) for one in points]))
    if size > POINTS:
        raise ValueError(
            f"moments: the rule has {size} points, more than {POINTS}; sample the noise instead"
        )
    u = np.stack([axis.ravel() for axis in np.meshgrid(*points, indexing="ij")], axis=1)
    each = np.ones(())
    for one in weights:
        each = np.multiply.outer(each, one)
    each = each.ravel()
    g = estimate(u)
    mean = each @ g
    return Moments(mean, each @ (g - mean) ** 2)
