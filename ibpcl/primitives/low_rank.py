r"""Gaussian weights with a covariance of low rank plus a diagonal.

.. math:: q(w) = \mathcal N\bigl(\mu,\; D + U^\top U\bigr), \qquad D = \mathrm{diag}(\sigma^2)

The M weights have independent parts, with standard deviations :math:`\sigma`, and R common parts,
the rows of U.  Ong, Nott and Smith (2018), "Gaussian Variational Approximation With a Factor
Covariance Structure"; Tomczak, Swaroop and Turner (2020), "Efficient Low Rank Gaussian Variational
Inference for Neural Networks".

No M x M matrix is ever formed.  Two identities reduce everything to R x R matrices.  With

.. math:: C = 1 + U D^{-1} U^\top

the matrix determinant lemma and Woodbury's identity are

.. math:: \log|D + U^\top U| = \log|D| + \log|C|, \qquad
          (D + U^\top U)^{-1} = D^{-1} - D^{-1} U^\top C^{-1} U D^{-1}.

The divergence is written as that of the diagonal Gaussians, :func:`ibpcl.primitives.gaussian.kl`,
plus what the common parts add.  Without common parts, the addition is exactly 0.
"""

import numpy as np

from ibpcl.primitives import gaussian


def sample(eps, factor):
    r"""Draw the common parts of the weights, to be added to their independent parts.

    .. math:: v = \varepsilon U, \qquad \varepsilon \sim \mathcal N(0, 1)

    Ong, Nott and Smith (2018), Eq. 4.

    Parameters
    ----------
    eps : ndarray, shape (S, R)
        Standard normal noise, one number per common part.
    factor : ndarray, shape (R, M)
        Common parts U of the weights.

    Returns
    -------
    v : ndarray, shape (S, M)
        Sums of the common parts, in the unit of the weights.
    cache : ndarray
        Input of :func:`sample_vjp`.

    Examples
    --------
    >>> sample(np.array([[2.0]]), np.array([[1.0, -3.0]]))[0]
    array([[ 2., -6.]])
    """
    return eps @ factor, eps


def sample_vjp(dv, eps):
    r"""Pull the gradient at ``v`` back to ``factor``: :math:`dU = \varepsilon^\top dv`."""
    return eps.T @ dv


def kl(mu, log_sigma, factor, prior_mu, prior_log_sigma, prior_factor):
    r"""Compute the KL divergence of two Gaussians with covariances of low rank plus a diagonal.

    .. math:: \tfrac12 \Bigl(\operatorname{tr} \Sigma_0^{-1} \Sigma
              + (\mu - \mu_0)^\top \Sigma_0^{-1} (\mu - \mu_0) - M
              + \log\frac{|\Sigma_0|}{|\Sigma|}\Bigr), \qquad \Sigma = D + U^\top U

    as the sum of :func:`ibpcl.primitives.gaussian.kl` and :func:`correlation_kl`.

    Parameters
    ----------
    mu, log_sigma : ndarray, shape (M,)
        Mean, and log standard deviation of the independent parts, of q.
    factor : ndarray, shape (R, M)
        Common parts of q.
    prior_mu, prior_log_sigma : ndarray, shape (M,)
        The same of the prior p.
    prior_factor : ndarray, shape (R, M)
        Common parts of p; their number may differ from that of q.

    Returns
    -------
    divergence : float
        Nats; summed over all weights, not divided by N.
    cache : tuple
        Input of :func:`kl_vjp`.

    Examples
    --------
    >>> zero = np.zeros(2)
    >>> one = np.array([[1.0, 1.0]])
    >>> float(kl(zero, zero, one, zero, zero, one)[0])
    0.0
    """
    diagonal, diagonal_cache = gaussian.kl(mu, log_sigma, prior_mu, prior_log_sigma)
    added, added_cache = correlation_kl(
        mu, log_sigma, factor, prior_mu, prior_log_sigma, prior_factor
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


def correlation_kl(mu, log_sigma, factor, prior_mu, prior_log_sigma, prior_factor):
    r"""Compute what the common parts add to the KL divergence of the diagonal Gaussians.

    In units of the prior's standard deviations, with :math:`\tilde U = U / \sigma_0`,
    :math:`\tilde U_0 = U_0 / \sigma_0`, :math:`t = (\mu - \mu_0) / \sigma_0` and
    :math:`\rho = \sigma^2 / \sigma_0^2`,

    .. math:: \tfrac12 \Bigl(\log\frac{|C_0|}{|C|} + \|\tilde U\|^2
              - \operatorname{tr} C_0^{-1} A\Bigr), \qquad
              C = 1 + \frac{U}{\sigma} \Bigl(\frac{U}{\sigma}\Bigr)^\top, \quad
              C_0 = 1 + \tilde U_0 \tilde U_0^\top,

    .. math:: A = \tilde U_0 \bigl(\mathrm{diag}(\rho) + \tilde U^\top \tilde U + t t^\top\bigr)
              \tilde U_0^\top .

    The determinants are those of the matrix determinant lemma, and the trace is what Woodbury's
    identity subtracts from the inverse of the prior's covariance.

    Parameters
    ----------
    mu, log_sigma : ndarray, shape (M,)
        Mean, and log standard deviation of the independent parts, of q.
    factor : ndarray, shape (R, M)
        Common parts of q.
    prior_mu, prior_log_sigma : ndarray, shape (M,)
        The same of the prior p.
    prior_factor : ndarray, shape (R, M)
        Common parts of p; their number may differ from that of q.

    Returns
    -------
    divergence : float
        Nats, summed over all weights; may be negative.
    cache : tuple
        Input of :func:`correlation_kl_vjp`.

    Examples
    --------
    >>> zero = np.zeros(2)
    >>> value, _ = correlation_kl(zero, zero, np.array([[1.0, 1.0]]), zero, zero, np.zeros((0, 2)))
    >>> float(value.round(6)), round(float(2 - np.log(3)) / 2, 6)
    (0.450694, 0.450694)
    """
    inverse_sigma = np.exp(-log_sigma)
    inverse_prior_sigma = np.exp(-prior_log_sigma)
    own = factor * inverse_sigma  # U / sigma
    scaled = factor * inverse_prior_sigma
    prior_scaled = prior_factor * inverse_prior_sigma
    shift = (mu - prior_mu) * inverse_prior_sigma
    ratio = np.exp(2 * (log_sigma - prior_log_sigma))
    c = np.eye(len(own), dtype=own.dtype) + own @ own.T
    prior_c = np.eye(len(prior_scaled), dtype=prior_scaled.dtype) + prior_scaled @ prior_scaled.T
    both = prior_scaled @ scaled.T  # (R_0, R)
    along = prior_scaled @ shift
    a = (prior_scaled * ratio) @ prior_scaled.T + both @ both.T + along[:, None] * along
    prior_inverse = np.linalg.inv(prior_c)
    twice = _log_determinant(prior_c) - _log_determinant(c)
    twice = twice + (scaled * scaled).sum() - (prior_inverse * a).sum()
    cache = (
        (own, scaled, prior_scaled, shift, ratio, inverse_sigma, inverse_prior_sigma),
        (np.linalg.inv(c), prior_inverse, a, both, along),
    )
    return twice / 2, cache


def correlation_kl_vjp(ddivergence, cache):
    r"""Pull the gradient at the added divergence back to all six arguments.

    With :math:`H = C_0^{-1}`, :math:`B = \tilde U_0 \tilde U^\top` and :math:`b = \tilde U_0 t`,
    twice the divergence has the gradients

    .. math:: \partial_{\tilde U} = 2 (\tilde U - B^\top H \tilde U_0), \quad
              \partial_{U / \sigma} = -2\, C^{-1}\, U / \sigma, \quad
              \partial_t = -2\, b^\top H \tilde U_0, \quad
              \partial_\rho = -\textstyle\sum_r \tilde U_0 \odot H \tilde U_0,

    .. math:: \partial_{\tilde U_0} = 2 (H + H A H)\, \tilde U_0
              - 2 H \bigl(\tilde U_0\, \mathrm{diag}(\rho) + B \tilde U + b\, t^\top\bigr),

    by :math:`d \log|C| = \operatorname{tr} C^{-1} dC` and :math:`d C^{-1} = -C^{-1}\, dC\, C^{-1}`.
    """
    values, matrices = cache
    own, scaled, prior_scaled, shift, ratio, inverse_sigma, inverse_prior_sigma = values
    inverse, prior_inverse, a, both, along = matrices
    leaned = prior_inverse @ prior_scaled  # H U_0
    dscaled = ddivergence * (scaled - both.T @ leaned)
    down = -ddivergence * (inverse @ own)
    dshift = -ddivergence * (along @ leaned)
    dratio = -ddivergence / 2 * (prior_scaled * leaned).sum(axis=0)
    through_a = prior_scaled * ratio + both @ scaled + along[:, None] * shift
    dprior_scaled = ddivergence * (
        leaned + prior_inverse @ (a @ leaned) - prior_inverse @ through_a
    )
    dmu = dshift * inverse_prior_sigma
    dlog_sigma = 2 * dratio * ratio - (down * own).sum(axis=0)
    dprior_log_sigma = (
        -2 * dratio * ratio
        - dshift * shift
        - (dscaled * scaled).sum(axis=0)
        - (dprior_scaled * prior_scaled).sum(axis=0)
    )
    dfactor = dscaled * inverse_prior_sigma + down * inverse_sigma
    return dmu, dlog_sigma, dfactor, -dmu, dprior_log_sigma, dprior_scaled * inverse_prior_sigma


def _log_determinant(matrix):
    """Return the log determinant of a positive definite matrix, analytic in its elements."""
    sign, log_size = np.linalg.slogdet(matrix)
    return log_size + np.log(sign)  # 0 for real matrices; the phase for complex ones
