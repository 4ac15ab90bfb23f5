r"""Normalization of activations: by the batch, by fixed statistics, or by each example.

**Batch normalization and tasks in sequence.**  :func:`batch_norm` divides by the statistics of the
minibatch, so the output of an example depends on the other examples.  A prediction must not, so it
uses statistics of the training data, with :func:`normalize`.  Two mistakes are common.

* *One running average for all tasks.*  An exponential average forgets: after the next task it holds
  the statistics of that task, and the outputs of the earlier tasks change although no weight has
  changed.  Here the statistics belong to a task, like its mask and its head.  They are exact means
  over its training data (:func:`pooled`), and stay as they are.
* *Switching it off.*  The authors' second code sets the running mean to 0 and the running variance
  to 1 for predictions, but trains with the statistics of the batch.  With :math:`y` for what was
  trained, the network then computes :math:`g\, x + c = \sqrt{v + \epsilon}\, (y - c) + g\, m + c`
  in every channel: another function, whose error grows with the distance of (m, v) from (0, 1), and
  from layer to layer.

:func:`layer_norm` has neither problem, because it never looks at other examples.

Ioffe and Szegedy (2015), "Batch normalization: accelerating deep network training by reducing
internal covariate shift"; Ba, Kiros and Hinton (2016), "Layer normalization".
"""

from typing import NamedTuple

import numpy as np


class Statistics(NamedTuple):
    """Mean and variance of each channel over some examples.

    Attributes
    ----------
    count : int
        Number of values per channel: examples times positions, at least 1.
    mean : ndarray, shape (S, K)
        Means.
    variance : ndarray, shape (S, K)
        Variances: mean squared distances from the mean, divided by ``count``.
    """

    count: int
    mean: np.ndarray
    variance: np.ndarray


def statistics(x):
    r"""Compute mean and variance of each channel over examples and positions.

    .. math:: m_{sk} = \frac1M \sum_{nab} x_{snabk}, \qquad
              v_{sk} = \frac1M \sum_{nab} (x_{snabk} - m_{sk})^2, \qquad M = N H W

    Ioffe and Szegedy (2015), Algorithm 1.  The samples are different networks, so each has its own
    statistics.  The differences are squared, not the numbers: :math:`E[x^2] - m^2` cancels.

    Parameters
    ----------
    x : ndarray, shape (S, N, H, W, K)
        Activations.

    Returns
    -------
    out : tuple
        Means and variances, (S, K) each.
    cache : tuple
        Input of :func:`statistics_vjp`.

    Examples
    --------
    >>> [part.item() for part in statistics(np.array([1.0, 3.0]).reshape(1, 2, 1, 1, 1))[0]]
    [2.0, 1.0]
    """
    (mean, variance), apart = _moments(x, (1, 2, 3))
    return (mean[:, 0, 0, 0], variance[:, 0, 0, 0]), apart


def statistics_vjp(dout, cache):
    r"""Pull the gradients at mean and variance back to ``x``.

    .. math:: dx = \frac1M \bigl(dm + 2 (x - m)\, dv\bigr)

    The mean inside of v adds nothing, because the differences sum to 0.
    """
    dmean, dvariance = (part[:, None, None, None, :] for part in dout)
    apart = cache
    return (dmean + 2 * apart * dvariance) / _count(apart, (1, 2, 3))


def _moments(x, axes):
    """Return mean and variance with axes of size 1, and the distances from the mean."""
    count = _count(x, axes)
    mean = x.sum(axis=axes, keepdims=True) / count
    apart = x - mean
    variance = (apart * apart).sum(axis=axes, keepdims=True) / count
    return (mean, variance), apart


def _count(x, axes):
    """Return how many numbers lie along the axes; 1 if there are none, so that 0 / 0 is 0."""
    return max(1, int(np.prod([x.shape[axis] for axis in axes])))


def normalize(x, mean, variance, gain, shift, epsilon=1e-5):
    r"""Normalize each channel with given statistics, then scale and shift it.

    .. math:: y = g\, \frac{x - m}{\sqrt{v + \epsilon}} + c

    Ioffe and Szegedy (2015), Algorithm 2, line 11: the prediction of a trained network.

    Parameters
    ----------
    x : ndarray, shape (S, N, H, W, K)
        Activations.
    mean : ndarray, shape (S, K)
        Means m of the channels.
    variance : ndarray, shape (S, K)
        Variances v of the channels, >= 0.
    gain, shift : ndarray, shape (K,)
        Scale g and shift c of the channels.
    epsilon : float
        Constant > 0 that bounds the scale of a constant channel; part of the definition.

    Returns
    -------
    y : ndarray, shape (S, N, H, W, K)
        Normalized activations.
    cache : tuple
        Input of :func:`normalize_vjp`.

    Raises
    ------
    ValueError
        If ``epsilon`` is not > 0.

    Examples
    --------
    >>> x, one = np.array([1.0, 3.0]).reshape(1, 2, 1, 1, 1), np.ones((1, 1))
    >>> normalize(x, 2 * one, 0 * one, one[0], 0 * one[0], 1.0)[0].ravel()
    array([-1.,  1.])
    """
    _check_epsilon(epsilon)
    inverse = 1 / np.sqrt(variance + epsilon)[:, None, None, None, :]
    hat = (x - mean[:, None, None, None, :]) * inverse
    return gain * hat + shift, (hat, inverse, gain)


def normalize_vjp(dy, cache):
    r"""Pull the gradient at ``y`` back to ``x``, ``mean``, ``variance``, ``gain`` and ``shift``.

    With :math:`\hat x = (x - m) / s`, :math:`s = \sqrt{v + \epsilon}`, and sums over all axes that
    a parameter was broadcast over,

    .. math:: dx = \frac gs\, dy, \quad dm = -\sum \frac gs\, dy, \quad
              dv = -\sum \frac{g\, \hat x}{2 s^2}\, dy, \quad
              dg = \sum \hat x\, dy, \quad dc = \sum dy
    """
    hat, inverse, gain = cache
    dx = dy * gain * inverse
    dmean = -dx.sum(axis=(1, 2, 3))  # m and v were broadcast over N, H, W
    dvariance = -(dx * hat * inverse).sum(axis=(1, 2, 3)) / 2
    dgain = (dy * hat).sum(axis=(0, 1, 2, 3))  # g and c were broadcast over S, too
    return dx, dmean, dvariance, dgain, dy.sum(axis=(0, 1, 2, 3))


def batch_norm(x, gain, shift, epsilon=1e-5):
    r"""Normalize each channel by mean and variance of the minibatch.

    .. math:: y = g\, \hat x + c, \qquad \hat x = \frac{x - m}{\sqrt{v + \epsilon}}

    with :func:`statistics` of x itself.  Ioffe and Szegedy (2015), Algorithm 1.  It is for
    training; predictions use :func:`normalize` with the statistics of the task.

    Parameters
    ----------
    x : ndarray, shape (S, N, H, W, K)
        Activations.
    gain, shift : ndarray, shape (K,)
        Scale g and shift c of the channels.
    epsilon : float
        Constant > 0; the output of a constant channel is its shift.

    Returns
    -------
    y : ndarray, shape (S, N, H, W, K)
        Normalized activations.
    cache : tuple
        Input of :func:`batch_norm_vjp`.

    Raises
    ------
    ValueError
        If ``epsilon`` is not > 0.

    Examples
    --------
    >>> x = np.array([1.0, 3.0]).reshape(1, 2, 1, 1, 1)
    >>> batch_norm(x, np.ones(1), np.zeros(1), 3.0)[0].ravel()
    array([-0.5,  0.5])
    """
    return _normalized(x, gain, shift, epsilon, (1, 2, 3))


def batch_norm_vjp(dy, cache):
    r"""Pull the gradient at ``y`` back to ``x``, ``gain`` and ``shift``.

    Mean and variance depend on every example of the batch.  Insert :func:`normalize_vjp` into
    :func:`statistics_vjp`, with :math:`\langle\cdot\rangle` for the mean over N, H and W:

    .. math:: dx = \frac{1}{s} \Bigl(d\hat x - \langle d\hat x \rangle
                   - \hat x\, \langle \hat x\, d\hat x \rangle\Bigr), \qquad d\hat x = g\, dy

    The gradients of a channel sum to 0: a constant that is added to x changes nothing.
    """
    return _normalized_vjp(dy, cache)


def layer_norm(x, gain, shift, epsilon=1e-5):
    r"""Normalize each example by mean and variance of its own activations.

    .. math:: y = g\, \hat x + c, \qquad \hat x = \frac{x - m_{sn}}{\sqrt{v_{sn} + \epsilon}}

    with mean and variance over positions and channels.  Ba, Kiros and Hinton (2016), Eq. 3; for
    images, Wu and He (2018), "Group normalization", with one group.

    Parameters
    ----------
    x : ndarray, shape (S, N, H, W, K)
        Activations.
    gain, shift : ndarray, shape (K,)
        Scale g and shift c of the channels.
    epsilon : float
        Constant > 0; the output of a constant example is its shift.

    Returns
    -------
    y : ndarray, shape (S, N, H, W, K)
        Normalized activations.
    cache : tuple
        Input of :func:`layer_norm_vjp`.

    Raises
    ------
    ValueError
        If ``epsilon`` is not > 0.

    Examples
    --------
    >>> x = np.array([1.0, 3.0]).reshape(1, 1, 1, 1, 2)
    >>> layer_norm(x, np.ones(2), np.zeros(2), 3.0)[0].ravel()
    array([-0.5,  0.5])
    """
    return _normalized(x, gain, shift, epsilon, (2, 3, 4))


def layer_norm_vjp(dy, cache):
    r"""Pull the gradient at ``y`` back to ``x``, ``gain`` and ``shift``.

    The same formula as :func:`batch_norm_vjp`, with means :math:`\langle\cdot\rangle` over H, W and
    K of one example.  The gain now differs along the axes of the mean, so it must stay inside:
    :math:`d\hat x = g\, dy`, never :math:`g\,(dy - \langle dy \rangle - \dots)`.
    """
    return _normalized_vjp(dy, cache)


def _normalized(x, gain, shift, epsilon, axes):
    _check_epsilon(epsilon)
    (_, variance), apart = _moments(x, axes)
    inverse = 1 / np.sqrt(variance + epsilon)
    hat = apart * inverse
    return gain * hat + shift, (hat, inverse, gain, axes)


def _normalized_vjp(dy, cache):
    hat, inverse, gain, axes = cache
    count = _count(hat, axes)
    dhat = dy * gain
    by_mean = dhat.sum(axis=axes, keepdims=True) / count
    by_variance = (dhat * hat).sum(axis=axes, keepdims=True) / count
    dx = inverse * (dhat - by_mean - hat * by_variance)
    # gain and shift were broadcast over all axes but the last
    return dx, (dy * hat).sum(axis=(0, 1, 2, 3)), dy.sum(axis=(0, 1, 2, 3))


def _check_epsilon(epsilon):
    if not epsilon > 0:  # so that NaN is refused as well
        raise ValueError(f"normalization: epsilon must be > 0, got {epsilon}")


def of_batch(x):
    """Return the :class:`Statistics` of a batch.

    Parameters
    ----------
    x : ndarray, shape (S, N, H, W, K)
        Activations of at least one example.

    Returns
    -------
    batch : Statistics
        Its count, means and variances.

    Raises
    ------
    ValueError
        If ``x`` has another number of axes, or no example.
    """
    if np.ndim(x) != 5 or not np.size(x):
        raise ValueError(
            "normalization: x must have the axes (S, N, H, W, K) and at least one example, got "
            f"shape {np.shape(x)}"
        )
    (mean, variance), _ = statistics(x)
    return Statistics(_count(x, (1, 2, 3)), mean, variance)


def pooled(first, second):
    r"""Return the statistics of two sets of examples together, exactly.

    .. math:: m = m_1 + \frac{M_2}{M} (m_2 - m_1), \qquad
              v = \frac{M_1 v_1 + M_2 v_2}{M} + \frac{M_1 M_2}{M^2} (m_2 - m_1)^2

    Chan, Golub and LeVeque (1983), "Algorithms for computing the sample variance".  Unlike an
    exponential average, the result does not depend on the order of the batches.

    Parameters
    ----------
    first, second : Statistics
        Statistics of the sets, which have the same channels.

    Returns
    -------
    both : Statistics
        Statistics of the union.

    Examples
    --------
    >>> one = np.ones((1, 1))
    >>> both = pooled(Statistics(1, 1 * one, 0 * one), Statistics(1, 3 * one, 0 * one))
    >>> both.count, both.mean.item(), both.variance.item()
    (2, 2.0, 1.0)
    """
    count = first.count + second.count
    share = second.count / count
    apart = second.mean - first.mean
    variance = (1 - share) * first.variance + share * second.variance
    return Statistics(
        count,
        first.mean + share * apart,
        variance + (1 - share) * share * apart * apart,
    )
