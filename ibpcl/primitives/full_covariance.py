r"""Gaussian weights with a full covariance, by its Cholesky factor.

.. math:: q(w) = \mathcal N\bigl(\mu,\; L L^\top\bigr), \qquad L = \mathrm{diag}(\sigma) + T

The diagonal of L is :math:`\sigma = e^{\log\sigma} > 0`, and T has only elements below it.  With
T = 0 the weights are independent.  Kingma and Welling (2019), "An Introduction to Variational
Autoencoders", Sec. 2.5.1, has the same form for codes.

The divergence is written as that of the diagonal Gaussians, :func:`ibpcl.primitives.gaussian.kl`,
plus what T adds.  The log determinants of the two are equal, because that of a triangular matrix is
:math:`\sum_i \log\sigma_i`.
"""

import numpy as np
from scipy.linalg import solve_triangular

from ibpcl.primitives import gaussian


def sample(eps, mu, log_sigma, lower):
    r"""Draw weights with a full covariance.

    .. math:: v = \mu + \sigma \odot \varepsilon + T \varepsilon,
              \qquad \varepsilon \sim \mathcal N(0, 1)

    Kingma and Welling (2019), Sec. 2.5.1.

    Parameters
    ----------
    eps : ndarray, shape (S, M)
        Standard normal noise.
    mu, log_sigma : ndarray, shape (M,)
        Mean, and logarithm of the diagonal of the Cholesky factor, any real.
    lower : ndarray, shape (M, M)
        Cholesky factor below its diagonal; all other elements are ignored.

    Returns
    -------
    v : ndarray, shape (S, M)
        The weights, one set per sample.
    cache : tuple
        Input of :func:`sample_vjp`.

    Examples
    --------
    >>> zero = np.zeros(2)
    >>> sample(np.array([[1.0, 0.0]]), zero, zero, np.array([[0.0, 0.0], [5.0, 0.0]]))[0]
    array([[1., 5.]])
    """
    independent, cache = gaussian.sample(eps, mu, log_sigma)
    return independent + eps @ np.tril(lower, -1).T, (eps, cache)


def sample_vjp(dv, cache):
    r"""Pull the gradient at ``v`` back to ``mu``, ``log_sigma`` and ``lower``.

    .. math:: dT_{ij} = \textstyle\sum_s dv_{si}\, \varepsilon_{sj}, \qquad i > j
    """
    eps, independent = cache
    return *gaussian.sample_vjp(dv, independent), np.tril(dv.T @ eps, -1)


def kl(mu, log_sigma, lower, prior_mu, prior_log_sigma, prior_lower):
    r"""Compute the KL divergence of two Gaussians with full covariances.

    .. math:: \tfrac12 \Bigl(\|L_0^{-1} L\|^2 + |L_0^{-1} (\mu - \mu_0)|^2 - M\Bigr)
              + \sum_i \log\frac{\sigma_{0, i}}{\sigma_i}

    as the sum of :func:`ibpcl.primitives.gaussian.kl` and :func:`correlation_kl`.

    Parameters
    ----------
    mu, log_sigma : ndarray, shape (M,)
        Mean, and logarithm of the diagonal of the Cholesky factor, of q.
    lower : ndarray, shape (M, M)
        Cholesky factor of q below its diagonal; all other elements are ignored.
    prior_mu, prior_log_sigma : ndarray, shape (M,)
        The same of the prior p.
    prior_lower : ndarray, shape (M, M)
        The same of the prior p.

    Returns
    -------
    divergence : float
        Nats; summed over all weights, not divided by N.
    cache : tuple
        Input of :func:`kl_vjp`.

    Examples
    --------
    >>> zero = np.zeros(2)
    >>> lower = np.array([[0.0, 0.0], [5.0, 0.0]])
    >>> float(kl(zero, zero, lower, zero, zero, lower)[0])
    0.0
    """
    diagonal, diagonal_cache = gaussian.kl(mu, log_sigma, prior_mu, prior_log_sigma)
    added, added_cache = correlation_kl(
        mu, log_sigma, lower, prior_mu, prior_log_sigma, prior_lower
    )
    return diagonal + added, (diagonal_cache, added_cache)


def kl_vjp(ddivergence, cache):
    """Pull the gradient at the divergence back to all six arguments, by both of its parts."""
    diagonal, added = cache
    dmu, dlog_sigma, dprior_mu, dprior_log_sigma = gaussian.kl_vjp(ddivergence, diagonal)
    more = correlation_kl_vjp(ddivergence, added)
    return (
        dmu + more[0],
        dlog_sigma + more[1],
        more[2],
        dprior_mu + more[3],
        dprior_log_sigma + more[4],
        more[5],
    )


def correlation_kl(mu, log_sigma, lower, prior_mu, prior_log_sigma, prior_lower):
    r"""Compute what correlations add to the KL divergence of the diagonal Gaussians.

    In units of the prior's diagonal, with :math:`\tilde L = L / \sigma_0` and
    :math:`t = (\mu - \mu_0) / \sigma_0`, the prior has the factor :math:`1 + N`,
    :math:`N = T_0 / \sigma_0`, where a row is divided by its own :math:`\sigma_{0, i}`.  With
    :math:`X = (1 + N)^{-1} \tilde L` and :math:`z = (1 + N)^{-1} t`,

    .. math:: \tfrac12 \Bigl(\sum_{i > j} X_{ij}^2 + \sum_i z_i^2 - t_i^2\Bigr).

    The diagonal of X is :math:`\sigma_i / \sigma_{0, i}`, which the diagonal Gaussians have
    already counted.

    Parameters
    ----------
    mu, log_sigma : ndarray, shape (M,)
        Mean, and logarithm of the diagonal of the Cholesky factor, of q.
    lower : ndarray, shape (M, M)
        Cholesky factor of q below its diagonal; all other elements are ignored.
    prior_mu, prior_log_sigma : ndarray, shape (M,)
        The same of the prior p.
    prior_lower : ndarray, shape (M, M)
        The same of the prior p.

    Returns
    -------
    divergence : float
        Nats, summed over all weights; may be negative.
    cache : tuple
        Input of :func:`correlation_kl_vjp`.

    Examples
    --------
    >>> zero = np.zeros(2)
    >>> lower = np.array([[0.0, 0.0], [5.0, 0.0]])
    >>> float(correlation_kl(zero, zero, lower, zero, zero, 0 * lower)[0])
    12.5
    """
    inverse_prior_sigma = np.exp(-prior_log_sigma)
    rows = inverse_prior_sigma[:, None]
    root = np.tril(lower, -1) * rows + np.diag(np.exp(log_sigma - prior_log_sigma))
    prior_lower = np.tril(prior_lower, -1) * rows  # N; its diagonal of ones is not stored
    shift = (mu - prior_mu) * inverse_prior_sigma
    x = solve_triangular(prior_lower, root, lower=True, unit_diagonal=True)
    z = solve_triangular(prior_lower, shift, lower=True, unit_diagonal=True)
    off_diagonal = np.tril(x, -1)
    twice = (off_diagonal * off_diagonal).sum() + (z * z - shift * shift).sum()
    return twice / 2, (off_diagonal, x, z, shift, root, prior_lower, inverse_prior_sigma)


def correlation_kl_vjp(ddivergence, cache):
    r"""Pull the gradient at the added divergence back to all six arguments.

    With :math:`X_<` for X below its diagonal,

    .. math:: \partial_{\tilde L} = (1 + N)^{-\top} X_<, \quad
              \partial_t = (1 + N)^{-\top} z - t, \quad
              \partial_N = -(1 + N)^{-\top} \bigl(X_< X^\top + z z^\top\bigr),

    at the elements on and below the diagonal, by
    :math:`dX = (1 + N)^{-1} (d\tilde L - dN\, X)`.  The unit :math:`\sigma_0` of a row enters all
    three, so :math:`\partial_{\log\sigma_0}` is minus the sum of each gradient times its value.
    """
    off_diagonal, x, z, shift, root, prior_lower, inverse_prior_sigma = cache
    back = solve_triangular(
        prior_lower,
        np.column_stack([off_diagonal, off_diagonal @ x.T + z[:, None] * z, z]),
        lower=True,
        unit_diagonal=True,
        trans="T",
    )
    droot, dprior_lower, pull = np.split(ddivergence * back, [len(z), 2 * len(z)], axis=1)
    droot = np.tril(droot)
    dprior_lower = -np.tril(dprior_lower, -1)
    dshift = pull[:, 0] - ddivergence * shift
    dmu = dshift * inverse_prior_sigma
    dlog_sigma = np.diag(droot) * np.diag(root)
    dprior_log_sigma = -(
        (droot * root).sum(axis=1) + dshift * shift + (dprior_lower * prior_lower).sum(axis=1)
    )
    rows = inverse_prior_sigma[:, None]
    return (
        dmu,
        dlog_sigma,
        np.tril(droot, -1) * rows,
        -dmu,
        dprior_log_sigma,
        dprior_lower * rows,
    )
