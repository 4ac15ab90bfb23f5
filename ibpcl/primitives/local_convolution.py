r"""The convolution with Gaussian weights and one random number per output.

:mod:`ibpcl.primitives.local_linear` draws the pre-activations of a linear layer instead of its
weights.  For a convolution this is **not exact**.  Given the images, a single output is Gaussian
with the mean and variance below.  But all positions of an image share the weights, so their outputs
are correlated, and noise that is drawn for each position separately drops the correlation:

.. math:: \operatorname{Cov}(h_{nak}, h_{nck})
          = \sum_r x_{nar}\, x_{ncr}\, \sigma_{rk}^2 + \sigma_{b,k}^2, \qquad a \ne c,

where :math:`x_{nar}` is entry r of the patch at position a (:func:`shared_covariance`).  For pixels
and outputs of ReLUs, which are not negative, no covariance is negative.  The mean of P outputs of a
filter then has too small a variance, by a factor of up to P.  The method is exact if

* the kernel has one position, H' = W' = 1, or
* each term of the likelihood depends on one position only.

It is common all the same: Molchanov, Ashukha and Vetrov (2017), "Variational dropout sparsifies
deep neural networks"; Shridhar, Laumann and Liwicki (2019), "A comprehensive guide to Bayesian
convolutional neural network with variational inference".  Drawn weights,
:func:`ibpcl.primitives.masked_convolution.sample`, have no such error.
"""

import numpy as np

from ibpcl.primitives import convolution, local_linear


def apply(eps, x, mu, sigma, bias_mu, bias_sigma, stride=1, padding=0):
    r"""Draw the pre-activations of a convolution, each position with its own noise.

    .. math:: h = m + \sqrt{s^2} \odot \varepsilon, \qquad
              m = \operatorname{conv}(x, \mu) + \mu_b, \qquad
              s^2 = \operatorname{conv}(x^2, \sigma^2) + \sigma_b^2

    Kingma, Salimans and Welling (2015), Eq. 6, on the patches of the images.

    .. warning:: The distribution of one output is right, that of several outputs together is not:
       see the head of this module.

    Parameters
    ----------
    eps : ndarray, shape (S, N, H', W', K)
        Standard normal noise.
    x : ndarray, shape (S, N, H, W, D)
        Images; (N, H, W, D) if all samples share them.
    mu : ndarray, shape (I, J, D, K)
        Means of the weights; 0 where a weight is masked.
    sigma : ndarray, shape (I, J, D, K)
        Standard deviations of the weights, >= 0; 0 where a weight is masked.
    bias_mu : ndarray, shape (K,)
        Means of the biases.
    bias_sigma : ndarray, shape (K,)
        Standard deviations of the biases, >= 0.
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

    Examples
    --------
    >>> one = np.ones((1, 1, 1, 1))
    >>> apply(one[None], 2 * one, one, one, np.zeros(1), np.zeros(1))[0].ravel()
    array([4.])
    """
    height, width, inputs, units = mu.shape
    rows, patches_cache = convolution.patches(x, height, width, stride, padding)
    matrices = (part.reshape(height * width * inputs, units) for part in (mu, sigma))
    h, inner = local_linear.apply(
        convolution.one_axis(eps), convolution.one_axis(rows), *matrices, bias_mu, bias_sigma
    )
    return h.reshape(eps.shape), (mu.shape, rows.shape, patches_cache, inner)


def apply_vjp(dh, cache, needs_dx=True):
    r"""Pull the gradient at ``h`` back to ``x, mu, sigma, bias_mu, bias_sigma``.

    The gradients of :func:`ibpcl.primitives.local_linear.apply_vjp` at the patches go back to the
    images as in :func:`ibpcl.primitives.convolution.patches_vjp`.  With ``needs_dx=False``, ``dx``
    is None and is not computed.
    """
    shape, rows_shape, patches_cache, inner = cache
    drows, dmu, dsigma, dbias_mu, dbias_sigma = local_linear.apply_vjp(
        convolution.one_axis(dh), inner, needs_dx
    )
    dx = None
    if needs_dx:
        dx = convolution.patches_vjp(drows.reshape(rows_shape), patches_cache)
    return dx, dmu.reshape(shape), dsigma.reshape(shape), dbias_mu, dbias_sigma


def shared_covariance(x, sigma, bias_sigma, stride=1, padding=0):
    r"""Compute the covariance of the outputs of an image that comes from the shared weights.

    .. math:: C_{nack} = \sum_r x_{nar}\, x_{ncr}\, \sigma_{rk}^2 + \sigma_{b,k}^2

    Its diagonal a = c is the variance in :func:`apply`.  The other entries are what independent
    noise for each position drops.

    Parameters
    ----------
    x : ndarray, shape (N, H, W, D)
        Images.
    sigma : ndarray, shape (I, J, D, K)
        Standard deviations of the weights, >= 0.
    bias_sigma : ndarray, shape (K,)
        Standard deviations of the biases, >= 0.
    stride : int, optional
        Step t from one position to the next, at least 1.
    padding : int, optional
        Number P of rows and columns of zeros around the image.

    Returns
    -------
    covariance : ndarray, shape (N, H' W', H' W', K)
        Covariances of the positions of each image, one matrix per filter.

    Examples
    --------
    >>> shared_covariance(np.ones((1, 1, 2, 1)), np.ones((1, 1, 1, 1)), np.zeros(1))[0, ..., 0]
    array([[1., 1.],
           [1., 1.]])
    """
    height, width, inputs, units = sigma.shape
    rows, _ = convolution.patches(x, height, width, stride, padding)
    rows = rows.reshape(len(x), -1, height * width * inputs)
    variance = sigma.reshape(height * width * inputs, units) ** 2
    return np.einsum("nar,ncr,rk->nack", rows, rows, variance) + bias_sigma * bias_sigma
