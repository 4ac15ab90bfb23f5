r"""The linear layer with Gaussian weights and the local reparameterization trick.

Given the input, the pre-activations :math:`h_k = \sum_d x_d V_{dk} + b_k` are Gaussian and
independent over k.  So instead of one weight matrix per sample, one number per unit and example is
drawn, which gives each example its own weights.  The distribution of each example's output is the
same, the variance of the gradient is smaller, and all samples of a shared input need only two
matrix products.  Kingma, Salimans and Welling (2015), "Variational Dropout and the Local
Reparameterization Trick", Eq. 6.
"""

import math

import numpy as np

from ibpcl.primitives import activations


def masked_moments(mu, log_sigma, bias_mu, bias_log_sigma, mask):
    r"""Compute means and standard deviations of weights and biases under a binary mask.

    .. math:: \mathbb E[B_{dk} V_{dk}] = B_{dk}\, \mu_{dk}, \quad
              \mathrm{sd}[B_{dk} V_{dk}] = B_{dk}\, \sigma_{dk}, \quad u_k = \max_d B_{dk}

    Kumar et al. (2021), Sec. 4.5, "Selective Finetuning": the mask is given, and a bias is on if
    any weight of its unit is.

    Parameters
    ----------
    mu, log_sigma : ndarray, shape (D, K)
        Mean and log standard deviation of the weights.
    bias_mu, bias_log_sigma : ndarray, shape (K,)
        Mean and log standard deviation of the biases.
    mask : ndarray of bool, shape (D, K)
        Which weights are on.

    Returns
    -------
    out : tuple
        ``mean`` and ``sigma`` of the weights, (D, K) each, and ``bias_mean`` and ``bias_sigma`` of
        the biases, (K,) each; sigma is a standard deviation.  0 for those that are off.
    cache : tuple
        Input of :func:`masked_moments_vjp`.

    Examples
    --------
    >>> zero = np.zeros(2)
    >>> masked_moments(np.array([[2.0, 3.0]]), zero[None], zero, zero, np.array([[True, False]]))[0]
    (array([[2., 0.]]), array([[1., 0.]]), array([0., 0.]), array([1., 0.]))
    """
    active = mask.any(axis=0)  # u of the paper, for binary masks
    sigma = np.exp(log_sigma) * mask
    bias_sigma = np.exp(bias_log_sigma) * active
    return (mu * mask, sigma, bias_mu * active, bias_sigma), (mask, active, sigma, bias_sigma)


def masked_moments_vjp(dout, cache):
    r"""Pull the gradients at means and standard deviations back to the parameters.

    By :math:`d\sigma / d\log\sigma = \sigma`.  Weights and biases that are off have gradient 0.
    """
    dmean, dsigma, dbias_mean, dbias_sigma = dout
    mask, active, sigma, bias_sigma = cache
    return dmean * mask, dsigma * sigma, dbias_mean * active, dbias_sigma * bias_sigma


def kept_moments(mu, log_sigma, bias_mu, bias_log_sigma, kept):
    """Compute :func:`masked_moments` if only the parameters of the kept weights are given.

    Parameters
    ----------
    mu, log_sigma : ndarray, shape (M,)
        Mean and log standard deviation of the kept weights, row by row.
    bias_mu, bias_log_sigma : ndarray, shape (K,)
        Mean and log standard deviation of the biases.
    kept : ndarray of bool, shape (D, K)
        The mask; M of its elements are True.

    Returns
    -------
    out : tuple
        Means and standard deviations of the weights, (D, K) each, and of the biases, (K,) each; 0
        for those that are off.
    cache : tuple
        Input of :func:`kept_moments_vjp`.

    Examples
    --------
    >>> zero = np.zeros(2)
    >>> kept_moments(np.array([2.0]), zero[:1], zero, zero, np.array([[True, False]]))[0]
    (array([[2., 0.]]), array([[1., 0.]]), array([0., 0.]), array([1., 0.]))
    """
    active = kept.any(axis=0)
    kept_sigma = np.exp(log_sigma)
    bias_sigma = np.exp(bias_log_sigma) * active
    mean = np.zeros(kept.shape, mu.dtype)
    sigma = np.zeros(kept.shape, kept_sigma.dtype)
    mean[kept] = mu
    sigma[kept] = kept_sigma
    return (mean, sigma, bias_mu * active, bias_sigma), (kept, active, kept_sigma, bias_sigma)


def kept_moments_vjp(dout, cache):
    """Pull the gradients at means and standard deviations back to kept weights and biases."""
    dmean, dsigma, dbias_mean, dbias_sigma = dout
    kept, active, kept_sigma, bias_sigma = cache
    return dmean[kept], dsigma[kept] * kept_sigma, dbias_mean * active, dbias_sigma * bias_sigma


def apply(eps, x, mu, sigma, bias_mu, bias_sigma):
    r"""Draw the pre-activations of a layer with independent Gaussian weights.

    .. math:: h_{snk} = m_{snk} + \sqrt{s^2_{snk}}\, \varepsilon_{snk}, \quad
              m = x \mu + \mu_b, \quad s^2 = x^2 \sigma^2 + \sigma_b^2

    Parameters
    ----------
    eps : ndarray, shape (S, N, K)
        Standard normal noise.
    x : ndarray, shape (S, N, D)
        Inputs; (N, D) if all samples share them.
    mu : ndarray, shape (D, K)
        Means of the weights; 0 where a weight is masked.
    sigma : ndarray, shape (D, K)
        Standard deviations of the weights, >= 0; 0 where a weight is masked.
    bias_mu : ndarray, shape (K,)
        Means of the biases.
    bias_sigma : ndarray, shape (K,)
        Standard deviations of the biases, >= 0.

    Returns
    -------
    h : ndarray, shape (S, N, K)
        Pre-activations.
    cache : tuple
        Input of :func:`apply_vjp`.

    Examples
    --------
    >>> one = np.ones((1, 1))
    >>> apply(one[None], 2 * one, one, one, np.zeros(1), np.zeros(1))[0]
    array([[[4.]]])
    """
    variance = (x * x) @ (sigma * sigma) + bias_sigma * bias_sigma
    scale = np.sqrt(variance)
    return x @ mu + bias_mu + scale * eps, (eps, x, mu, sigma, bias_sigma, scale)


def apply_vjp(dh, cache, needs_dx=True):
    r"""Pull the gradient at ``h`` back to ``x, mu, sigma, bias_mu, bias_sigma``.

    .. math:: d\mu = x^\top dh, \quad d(s^2) = \frac{\varepsilon\, dh}{2 s}, \quad
              d\sigma = 2 \sigma \odot (x^2)^\top d(s^2), \quad
              dx = dh\, \mu^\top + 2 x \odot \bigl(d(s^2)\, (\sigma^2)^\top\bigr)

    A unit without noise (:math:`s = 0`, because all its weights are masked) has gradient 0 at its
    scale.  With ``needs_dx=False``, ``dx`` is None and is not computed.
    """
    eps, x, mu, sigma, bias_sigma, scale = cache
    safe = np.where(scale > 0, scale, 1)
    dvariance = np.where(scale > 0, dh * eps / (2 * safe), 0)
    # x is shared by all samples: sum over S before the matrix products
    if x.ndim == 2:
        dh = dh.sum(axis=0)
        dvariance = dvariance.sum(axis=0)
    count = math.prod(x.shape[:-1])  # one row per sample and example
    rows = x.reshape(count, x.shape[-1])
    drows = dh.reshape(count, dh.shape[-1])
    dvariance_rows = dvariance.reshape(drows.shape)
    dmu = rows.T @ drows
    dsigma = 2 * sigma * ((rows * rows).T @ dvariance_rows)
    dbias_mu = drows.sum(axis=0)
    dbias_sigma = 2 * bias_sigma * dvariance_rows.sum(axis=0)
    dx = dh @ mu.T + 2 * x * (dvariance @ (sigma * sigma).T) if needs_dx else None
    return dx, dmu, dsigma, dbias_mu, dbias_sigma


def sample(eps, x, mu, log_sigma, bias_mu, bias_log_sigma, mask=None, activation=None):
    r"""Draw the outputs of a layer with a given binary mask, or without a mask.

    .. math:: h = f(a), \quad a \sim \mathcal N\bigl(x (B \odot \mu) + u \odot \mu_b,\;
              x^2 (B \odot \sigma^2) + u \odot \sigma_b^2\bigr), \qquad u_k = \max_d B_{dk}

    Kumar et al. (2021), Sec. 4.5, "Selective Finetuning".  It is a single function because
    fine-tuning spends most of its time here.

    Parameters
    ----------
    eps : ndarray, shape (S, N, K)
        Standard normal noise.
    x : ndarray, shape (S, N, D)
        Inputs; (N, D) if all samples share them.
    mu, log_sigma : ndarray, shape (D, K) or (M,)
        Mean and log standard deviation of all weights, or of the M kept weights, row by row.
    bias_mu, bias_log_sigma : ndarray, shape (K,)
        Mean and log standard deviation of the biases.
    mask : ndarray of bool, shape (D, K), optional
        Which weights are on; all of them by default.
    activation : {"relu", "leaky_relu", "softplus", "tanh"}, optional
        Name of f in :mod:`ibpcl.primitives.activations`; by default there is none.

    Returns
    -------
    h : ndarray, shape (S, N, K)
        The layer's outputs.
    cache : tuple
        Input of :func:`sample_vjp`.

    Examples
    --------
    >>> one, zero = np.ones((1, 1)), np.zeros(1)
    >>> sample(one[None], 2 * one, one, 0 * one, zero, zero - np.inf)[0]
    array([[[4.]]])
    """
    mask = np.ones(mu.shape, bool) if mask is None else mask
    is_subnetwork = mu.ndim == 1
    moments, moments_cache = (kept_moments if is_subnetwork else masked_moments)(
        mu, log_sigma, bias_mu, bias_log_sigma, mask
    )
    h, cache = apply(eps, x, *moments)
    if activation is None:
        return h, (is_subnetwork, moments_cache, cache, None)
    h, active = getattr(activations, activation)(h)
    return h, (
        is_subnetwork,
        moments_cache,
        cache,
        (getattr(activations, activation + "_vjp"), active),
    )


def sample_vjp(dh, cache, needs_dx=True):
    """Pull the gradient at ``h`` back to ``x, mu, log_sigma, bias_mu, bias_log_sigma``.

    With ``needs_dx=False``, ``dx`` is None and is not computed.
    """
    is_subnetwork, moments_cache, inner, activation = cache
    if activation is not None:
        pull_back, active = activation
        dh = pull_back(dh, active)
    dx, *dmoments = apply_vjp(dh, inner, needs_dx)
    dparameters = (kept_moments_vjp if is_subnetwork else masked_moments_vjp)(
        dmoments, moments_cache
    )
    return (dx, *dparameters)
