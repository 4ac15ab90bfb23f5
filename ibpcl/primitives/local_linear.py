r"""The linear layer with Gaussian weights, sampled where it is cheap: at its pre-activations.

Given its input, :math:`h_k = \sum_d x_d V_{dk} + b_k` is Gaussian and independent over k, so instead of one weight
matrix a sample one draws one number a unit, each example with weights of its own: the distribution of every example's
output is the same, the gradient's variance is smaller, and the products are two for all samples of a shared input.
Kingma, Salimans and Welling (2015), "Variational Dropout and the Local Reparameterization Trick", Eq. 6.
"""

import math

import numpy as np


def apply(eps, x, mu, sigma, bias_mu, bias_sigma):
    r"""Draw the pre-activations of a layer with independent Gaussian weights.

    .. math:: h_{snk} = m_{snk} + \sqrt{s^2_{snk}}\, \varepsilon_{snk}, \quad
              m = x \mu + \mu_b, \quad s^2 = x^2 \sigma^2 + \sigma_b^2

    Parameters
    ----------
    eps : ndarray, shape (S, N, K)
        Standard normal noise.
    x : ndarray, shape (S, N, D)
        Inputs; (N, D) when all samples share them.
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
        What :func:`apply_vjp` needs.

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

    A unit without any noise (:math:`s = 0`: all masked) has no gradient in its scale.
    """
    eps, x, mu, sigma, bias_sigma, scale = cache
    safe = np.where(scale > 0, scale, 1)
    dvariance = np.where(scale > 0, dh * eps / (2 * safe), 0)
    if x.ndim == 2:                                          # shared by all samples: sum over S before the products
        dh, dvariance = dh.sum(axis=0), dvariance.sum(axis=0)
    count = math.prod(x.shape[:-1])                          # one row a sample and example
    rows, drows = x.reshape(count, x.shape[-1]), dh.reshape(count, dh.shape[-1])
    dvariance_rows = dvariance.reshape(drows.shape)
    dmu = rows.T @ drows
    dsigma = 2 * sigma * ((rows * rows).T @ dvariance_rows)
    dbias_mu, dbias_sigma = drows.sum(axis=0), 2 * bias_sigma * dvariance_rows.sum(axis=0)
    dx = dh @ mu.T + 2 * x * (dvariance @ (sigma * sigma).T) if needs_dx else None
    return dx, dmu, dsigma, dbias_mu, dbias_sigma
