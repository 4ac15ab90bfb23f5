r"""The masked convolution: filters are multiplied by masks, biases by their filter's activity.

The paper names it as future work, and the authors' second code has one mask per pair of input and
output channel.  Here the weights that share a mask are a choice:

========  ==========================  ===========================================
masks     shape of ``z``              one mask switches
========  ==========================  ===========================================
weight    ``(S, I, J, D, K)``         a single weight
pair      ``(S, 1, 1, D, K)``         the kernel from one channel to one filter
filter    ``(S, 1, 1, 1, K)``         a whole filter
========  ==========================  ===========================================

In all three cases the sticks of the Indian buffet process order the K filters: a mask of filter k
is on with the prior probability :math:`\pi_k = \prod_{i \le k} v_i`.
"""

import numpy as np

from ibpcl.primitives import concrete, convolution, gaussian, masked_linear, masked_weights


def apply(x, v, z, b, stride=1, padding=0):
    r"""Convolve with the masked filters, and add the biases, scaled by the activity of the filter.

    .. math::

        h_{snpqk} = \sum_{ijd} x_{sn,\,pt + i - P,\,qt + j - P,\,d}\; z_{sijdk} v_{sijdk}
                    + b_{sk}\, u_{sk}, \qquad u_{sk} = \max_{ijd} z_{sijdk}

    Kumar et al. (2021), Sec. 3.1 (:math:`W = B \odot V`) and Sec. 4.5, "Adjusting bias terms", for
    the filters of a convolution.

    Parameters
    ----------
    x : ndarray, shape (S, N, H, W, D)
        Images; (N, H, W, D) if all samples share them.
    v : ndarray, shape (S, I, J, D, K)
        Weights.
    z : ndarray, shape (S, I, J, D, K)
        Masks; size 1 on the axes that share a mask.
    b : ndarray, shape (S, K)
        Biases.
    stride : int, optional
        Step t from one position to the next, at least 1.
    padding : int, optional
        Number P of rows and columns of zeros around the image.

    Returns
    -------
    h : ndarray, shape (S, N, H', W', K)
        Pre-activations.
    cache : tuple
        Input of :func:`apply_vjp`.

    Raises
    ------
    ValueError
        If the axes or sizes of the inputs do not fit each other.

    Examples
    --------
    >>> image = np.array([1.0, 2.0, 4.0]).reshape(1, 1, 3, 1)
    >>> kernel = np.array([1.0, 10.0]).reshape(1, 1, 2, 1, 1)
    >>> apply(image, kernel, np.ones((1, 1, 1, 1, 1)), np.ones((1, 1)))[0].ravel()
    array([22., 43.])
    """
    fits = np.ndim(z) == np.ndim(v) == 5 and all(
        size in (1, whole) for size, whole in zip(z.shape[1:4], v.shape[1:4], strict=True)
    )
    if not fits or (z.shape[0], z.shape[4]) != (v.shape[0], v.shape[4]):
        raise ValueError(
            f"masked_convolution: z must have the shape of v, {np.shape(v)}, or 1 in place of I, J "
            f"or D, got {np.shape(z)}"
        )
    samples, *shared, units = z.shape
    activity, largest = masked_linear.column_activity(
        z.reshape(samples, int(np.prod(shared)), units)
    )
    h, inner = convolution.conv2d(x, v * z, b * activity, stride, padding)
    return h, (v, z, b, activity, largest, inner)


def apply_vjp(dh, cache, needs_dx=True):
    r"""Pull the gradient at ``h`` back to ``x``, ``v``, ``z`` and ``b``.

    .. math::

        dv = z \odot dw, \qquad
        dz = \sum_{\text{shared}} v \odot dw + \text{(at the largest of each filter)}\; b\, db',
        \qquad db = u\, db'

    where :math:`dw` and :math:`db'` are the gradients at the masked weight and at the scaled bias.
    A mask that several weights share gets the sum of their gradients.  With ``needs_dx=False``,
    ``dx`` is None and is not computed.
    """
    v, z, b, activity, largest, inner = cache
    dx, dw, dscaled_bias = convolution.conv2d_vjp(dh, inner, needs_dx)
    shared = tuple(axis for axis in (1, 2, 3) if z.shape[axis] != v.shape[axis])
    # z was broadcast over the axes of the kernel that share a mask
    dz = (v * dw).sum(axis=shared, keepdims=True)
    dlargest = masked_linear.column_activity_vjp(dscaled_bias * b, largest)
    return dx, dw * z, dz + dlargest.reshape(z.shape), dscaled_bias * activity


def sample(eps, logistic, mu, log_sigma, rho, logit_pi, tau, mask_kl="bernoulli"):
    r"""Draw filters under masks that weights share, with activities and the masks' KL divergence.

    .. math:: W_{idk} = z_{dk}\, (\mu_{idk} + \sigma_{idk} \varepsilon_{idk}), \qquad
              z = \sigma\Bigl(\frac{\rho + \operatorname{logit}\pi + \ell}{\tau}\Bigr), \qquad
              u_k = \max_d z_{dk}

    Kumar et al. (2021), Secs. 3.1, 3.2 and 4.5.  The axis I counts the weights that share a mask,
    and D the masks of a filter.  With one mask per pair of channels, I counts the positions in the
    kernel and D the channels.  With one mask per filter, D = 1.  With one mask per weight, I = 1,
    and the function is :func:`ibpcl.primitives.masked_weights.sample`.  The divergence counts
    masks, not weights: sharing makes the masks I times as cheap.

    Parameters
    ----------
    eps : ndarray, shape (S, I, D, K)
        Standard normal noise.
    logistic : ndarray, shape (S, D, K)
        Standard logistic noise.
    mu, log_sigma : ndarray, shape (I, D, K)
        Mean and log standard deviation of the weights.
    rho : ndarray, shape (D, K)
        Offset of the masks' log-odds from the sticks'.
    logit_pi : ndarray, shape (S, K)
        Log-odds of the prior, from the sticks of each sample.
    tau : float
        Temperature, > 0.
    mask_kl : {"bernoulli", "concrete"}
        The divergence: of the discrete masks, or of the relaxed ones at equal temperatures.

    Returns
    -------
    out : tuple
        ``w`` (S, I, D, K), the masked weights; ``activity`` (S, K), by which biases are scaled;
        ``divergence`` (S,), nats, summed over masks, not divided by N.
    cache : tuple
        Input of :func:`sample_vjp`.

    Examples
    --------
    >>> zero, one = np.zeros((1, 1, 1)), np.ones((2, 1, 1))
    >>> out, _ = sample(np.zeros((1, 2, 1, 1)), zero, one, 0 * one, zero[0], zero[0], 1.0)
    >>> [part.ravel().tolist() for part in out]
    [[0.5, 0.5], [0.5], [0.0]]
    """
    v, weight_cache = gaussian.sample(eps, mu, log_sigma)
    logit_theta = rho + logit_pi[:, None, :]
    z, mask_cache = concrete.sample(logistic, logit_theta, tau)
    activity, largest = masked_linear.column_activity(z)
    divergence, kl_cache = masked_weights.MASK_KL[mask_kl].kl(logit_theta, logit_pi)
    return (z[:, None] * v, activity, divergence), (
        v,
        z,
        weight_cache,
        mask_cache,
        largest,
        kl_cache,
        mask_kl,
    )


def sample_vjp(dout, cache):
    r"""Pull the gradients at all three outputs back to ``mu, log_sigma, rho, logit_pi``.

    As in :func:`ibpcl.primitives.masked_weights.sample_vjp`, but a mask collects the gradients of
    all weights that share it, :math:`dz_{dk} = \sum_i v_{idk}\, dw_{idk}`.
    """
    dw, dactivity, ddivergence = dout
    v, z, weight_cache, mask_cache, largest, kl_cache, mask_kl = cache
    dmu, dlog_sigma = gaussian.sample_vjp(dw * z[:, None], weight_cache)
    # z was broadcast over I
    dz = (dw * v).sum(axis=1) + masked_linear.column_activity_vjp(dactivity, largest)
    dlogit_theta, dlogit_pi = masked_weights.MASK_KL[mask_kl].kl_vjp(ddivergence, kl_cache)
    dlogit_theta = dlogit_theta + concrete.sample_vjp(dz, mask_cache)
    # rho was broadcast over S, logit_pi over D
    return dmu, dlog_sigma, dlogit_theta.sum(axis=0), dlogit_pi + dlogit_theta.sum(axis=1)
