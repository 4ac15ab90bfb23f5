r"""Function values of a network whose last layer has Gaussian weights.

Titsias, Schwarz, Matthews, Pascanu and Teh (2020), "Functional Regularisation for Continual
Learning with Gaussian Processes".  The last layer is linear in features :math:`\phi(x)` with the
parameters :math:`\theta`, one of which is the constant 1, and its weights have the prior
:math:`w_c \sim \mathcal N(0, s^2 I)`, for each output c.  The values of an output at M points with
the features :math:`\Phi` (M, F) are

.. math:: u_c = \Phi w_c + \sqrt\epsilon\, \xi_c, \qquad \xi_c \sim \mathcal N(0, I), \qquad
          p_\theta(u_c) = \mathcal N(0, K), \quad K = s^2 \Phi\Phi^\top + \epsilon I .

The noise :math:`\epsilon` (jitter) makes K invertible for any features.  Functions have their
gradient below them; only the features, and the parameters of q, are differentiated.
"""

import numpy as np


def features(layers, x):
    r"""Return the features of inputs: the constant 1, and the last of some ReLU layers.

    .. math:: h_l = \max(0,\, h_{l-1} W_l + b_l), \qquad \phi(x) = (1, h_L)

    Parameters
    ----------
    layers : list of (ndarray, ndarray)
        Weights (D, K) and biases (K,) of the layers.
    x : ndarray, shape (N, D)
        Inputs.

    Returns
    -------
    phi : ndarray, shape (N, F)
        Features; F is 1 more than the width of the last layer.
    cache : list of tuple
        Input of :func:`features_vjp`.

    Examples
    --------
    >>> features([(np.array([[1.0, -1.0]]), np.zeros(2))], np.array([[3.0]]))[0]
    array([[1., 3., 0.]])
    """
    cache = []
    h = x
    for weight, bias in layers:
        before = h
        h = np.maximum(before @ weight + bias, 0)
        cache.append((before, weight, h > 0))
    return np.concatenate([np.ones_like(h[:, :1]), h], axis=1), cache


def features_vjp(dphi, cache):
    r"""Pull the gradient at the features back to the weights and biases of the layers.

    .. math:: da_l = dh_l \odot [h_l > 0], \qquad dW_l = h_{l-1}^\top da_l, \qquad
              db_l = \sum_n da_l, \qquad dh_{l-1} = da_l W_l^\top
    """
    gradients = []
    dh = dphi[:, 1:]
    for before, weight, on in reversed(cache):
        da = dh * on
        gradients.append((before.T @ da, da.sum(axis=0)))
        dh = da @ weight.T
    return gradients[::-1]


def lower(raw):
    r"""Return lower triangular matrices with a positive diagonal.

    .. math:: L_{ij} = r_{ij} \; (i > j), \qquad L_{ii} = e^{r_{ii}}

    Parameters
    ----------
    raw : ndarray, shape (C, F, F)
        Any real numbers; those above the diagonal are not used.

    Returns
    -------
    root : ndarray, shape (C, F, F)
        Roots of the covariances :math:`L L^\top`.
    cache : ndarray, shape (C, F)
        Input of :func:`lower_vjp`.

    Examples
    --------
    >>> lower(np.zeros((1, 2, 2)))[0]
    array([[[1., 0.],
            [0., 1.]]])
    """
    places = np.arange(raw.shape[-1])
    diagonal = np.exp(raw[:, places, places])
    root = np.tril(raw, -1)
    root[:, places, places] = diagonal
    return root, diagonal


def lower_vjp(droot, cache):
    """Pull the gradient at the root back to ``raw``."""
    places = np.arange(cache.shape[-1])
    draw = np.tril(droot, -1)
    draw[:, places, places] = droot[:, places, places] * cache
    return draw


def sample(eps, phi, mu, root):
    r"""Draw outputs of the last layer, with separate noise for each example.

    .. math:: f_{snc} = \phi_n^\top \mu_c + \sqrt{v_{nc}}\, \varepsilon_{snc}, \qquad
              v_{nc} = \|L_c^\top \phi_n\|^2

    Parameters
    ----------
    eps : ndarray, shape (S, N, C)
        Standard normal noise.
    phi : ndarray, shape (N, F)
        Features.
    mu : ndarray, shape (F, C)
        Means of the weights.
    root : ndarray, shape (C, F, F)
        Roots L of their covariances.

    Returns
    -------
    f : ndarray, shape (S, N, C)
        Outputs.
    cache : tuple
        Input of :func:`sample_vjp`.
    """
    spread = phi @ root  # (C, N, F)
    sigma = np.sqrt((spread * spread).sum(axis=2)).T
    return phi @ mu + sigma * eps, (eps, phi, mu, root, spread, sigma)


def sample_vjp(df, cache):
    r"""Pull the gradient at the outputs back to ``phi``, ``mu`` and ``root``.

    With :math:`r = L^\top \phi` and :math:`\sqrt v = \|r\|`, the derivative of the deviation is
    :math:`d r = r\, d\sqrt v / \sqrt v`.
    """
    eps, phi, mu, root, spread, sigma = cache
    dmean = df.sum(axis=0)
    dsigma = (df * eps).sum(axis=0)
    dspread = (dsigma / sigma).T[:, :, None] * spread
    dphi = dmean @ mu.T + (dspread @ root.swapaxes(1, 2)).sum(axis=0)
    return dphi, phi.T @ dmean, phi.T @ dspread


def values(phi, mu, covariance, jitter):
    r"""Return the distribution of function values, :math:`q(u_c) = \mathcal N(m_c, S_c)`.

    .. math:: m_c = \Phi \mu_c, \qquad S_c = \Phi \Sigma_c \Phi^\top + \epsilon I

    Titsias et al. (2020), Sec. 3.1.

    Parameters
    ----------
    phi : ndarray, shape (M, F)
        Features of the points.
    mu : ndarray, shape (F, C)
        Means of the weights.
    covariance : ndarray, shape (C, F, F)
        Their covariances.
    jitter : float
        Variance of the noise, > 0.

    Returns
    -------
    mean : ndarray, shape (M, C)
        Means of the values.
    spread : ndarray, shape (C, M, M)
        Their covariances.
    """
    return phi @ mu, phi @ covariance @ phi.T + jitter * np.eye(len(phi))


def implied(phi, mean, spread, prior_sigma, jitter):
    r"""Return the weights' distribution that remembered function values imply.

    .. math::

        \int p_\theta(w | u)\, q(u)\, du = \mathcal N(G m,\; V + G S G^\top), \qquad
        V = \Bigl(\frac{\Phi^\top\Phi}{\epsilon} + \frac{I}{s^2}\Bigr)^{-1}, \quad
        G = \frac{V \Phi^\top}{\epsilon},

    because :math:`p_\theta(w | u) = \mathcal N(G u, V)` is linear regression on u.

    Parameters
    ----------
    phi : ndarray, shape (M, F)
        Features of the points.
    mean : ndarray, shape (M, C)
        Means of the values.
    spread : ndarray, shape (C, M, M)
        Their covariances.
    prior_sigma : float
        Prior standard deviation s of the weights, > 0.
    jitter : float
        Variance of the noise, > 0.

    Returns
    -------
    belief : tuple of ndarray
        Means (F, C) and covariances (C, F, F) of the weights.
    cache : tuple
        Input of :func:`implied_vjp`.
    """
    identity = np.eye(phi.shape[1])
    v = np.linalg.inv(phi.T @ phi / jitter + identity / prior_sigma**2)
    gain = v @ phi.T / jitter
    return (gain @ mean, v + gain @ spread @ gain.T), (phi, mean, spread, v, gain, jitter)


def implied_vjp(dbelief, cache):
    r"""Pull the gradients at means and covariances of the weights back to the features.

    For symmetric gradients dC of the covariances,

    .. math::

        dG = \sum_c dm_c\, m_c^\top + 2\, dC_c\, G S_c, \qquad
        dV = \sum_c dC_c + \frac{dG\, \Phi}{\epsilon}, \qquad
        dA = -V \tfrac{dV + dV^\top}{2} V, \qquad
        d\Phi = \frac{dG^\top V}{\epsilon} + \frac2\epsilon \Phi\, dA .
    """
    dmean, dcovariance = dbelief
    phi, mean, spread, v, gain, jitter = cache
    both = (dcovariance + dcovariance.swapaxes(1, 2)) / 2
    dgain = dmean @ mean.T + 2 * (both @ gain @ spread).sum(axis=0)
    dv = both.sum(axis=0) + dgain @ phi / jitter
    da = -v @ (dv + dv.T) @ v / 2
    return dgain.T @ v / jitter + 2 / jitter * phi @ da


def weights_kl(mu, root, prior_mean, prior_covariance):
    r"""Compute the divergence of the weights of all outputs from a Gaussian prior.

    .. math::

        \sum_c \tfrac12 \Bigl[\operatorname{tr}\bigl(P_c (L_c L_c^\top + d_c d_c^\top)\bigr) - F
            + \log\frac{|P_c^{-1}|}{|L_c L_c^\top|}\Bigr], \qquad d = \mu - m, \quad P = C^{-1}

    Parameters
    ----------
    mu : ndarray, shape (F, C)
        Means of q.
    root : ndarray, shape (C, F, F)
        Lower triangular roots of its covariances, with a positive diagonal.
    prior_mean : ndarray, shape (F, C)
        Means of the prior.
    prior_covariance : ndarray, shape (C, F, F)
        Covariances of the prior.

    Returns
    -------
    divergence : float
        Nats, summed over outputs.
    cache : tuple
        Input of :func:`weights_kl_vjp`.
    """
    precision = np.linalg.inv(prior_covariance)
    precision = (precision + precision.swapaxes(1, 2)) / 2
    shift = (mu - prior_mean).T[:, :, None]
    second = root @ root.swapaxes(1, 2) + shift @ shift.swapaxes(1, 2)
    diagonal = root[:, np.arange(len(mu)), np.arange(len(mu))]
    divergence = (
        (precision * second).sum()
        - diagonal.size
        - np.linalg.slogdet(precision)[1].sum()
        - 2 * np.log(diagonal).sum()
    ) / 2
    return divergence, (root, precision, shift, second, diagonal)


def weights_kl_vjp(ddivergence, cache):
    r"""Pull the gradient back to ``mu``, ``root``, ``prior_mean`` and ``prior_covariance``.

    .. math:: d\mu = P d = -dm, \qquad dL = P L - \operatorname{diag}(1 / L_{ii}), \qquad
              dC = \tfrac12 \bigl(P - P (L L^\top + d d^\top) P\bigr)

    The gradient at the root is that of its lower triangle.
    """
    root, precision, shift, second, diagonal = cache
    dmu = ddivergence * (precision @ shift)[:, :, 0].T
    places = np.arange(len(dmu))
    droot = np.tril(precision @ root)
    droot[:, places, places] -= 1 / diagonal
    dcovariance = ddivergence / 2 * (precision - precision @ second @ precision)
    return dmu, ddivergence * droot, -dmu, dcovariance


def values_kl(phi, mean, spread, prior_sigma, jitter):
    r"""Compute the divergence of remembered function values from their prior, :math:`p_\theta(u)`.

    .. math:: \sum_c KL[q(u_c) \| p_\theta(u_c)]
              = \sum_c \tfrac12 \Bigl[\operatorname{tr}\bigl(K^{-1} (S_c + m_c m_c^\top)\bigr) - M
              + \log\frac{|K|}{|S_c|}\Bigr]

    Titsias et al. (2020), the regularizer of their objective.

    Parameters
    ----------
    phi : ndarray, shape (M, F)
        Features of the points, which determine the prior.
    mean : ndarray, shape (M, C)
        Means of the values.
    spread : ndarray, shape (C, M, M)
        Their covariances.
    prior_sigma : float
        Prior standard deviation s of the weights, > 0.
    jitter : float
        Variance of the noise, > 0.

    Returns
    -------
    divergence : float
        Nats, summed over outputs.
    cache : tuple
        Input of :func:`values_kl_vjp`.
    """
    outputs = mean.shape[1]
    kernel = prior_sigma**2 * phi @ phi.T + jitter * np.eye(len(phi))
    inverse = np.linalg.inv(kernel)
    second = spread.sum(axis=0) + mean @ mean.T
    divergence = (
        (inverse * second).sum()
        - mean.size
        + outputs * np.linalg.slogdet(kernel)[1]
        - np.linalg.slogdet(spread)[1].sum()
    ) / 2
    return divergence, (phi, inverse, second, outputs, prior_sigma)


def values_kl_vjp(ddivergence, cache):
    r"""Pull the gradient at the divergence back to the features.

    .. math:: dK = \tfrac12 \Bigl(C K^{-1} - K^{-1} \sum_c (S_c + m_c m_c^\top) K^{-1}\Bigr), \qquad
              d\Phi = 2 s^2\, dK\, \Phi
    """
    phi, inverse, second, outputs, prior_sigma = cache
    dkernel = ddivergence / 2 * (outputs * inverse - inverse @ second @ inverse)
    return prior_sigma**2 * (dkernel + dkernel.T) @ phi


def most_informative(phi, count):
    r"""Choose points one after another, each with the largest variance given the others.

    With :math:`r_n` the part of :math:`\phi_n` that is orthogonal to the features of the chosen
    points, the variance is :math:`s^2 \|r_n\|^2`, and the sum over all points is the trace
    :math:`\operatorname{tr}(K_{XX} - K_{XZ} K_{ZZ}^{-1} K_{ZX})` that Titsias et al. (2020)
    minimize.  They exchange points at random; this is the pivoted Cholesky decomposition.

    Parameters
    ----------
    phi : ndarray, shape (N, F)
        Features of the candidates.
    count : int
        Number of points to choose, at most N.

    Returns
    -------
    rows : ndarray of int, shape (count,)
        The chosen candidates; once no variance is left, the first of the others.

    Examples
    --------
    >>> most_informative(np.array([[1.0, 0.0], [3.0, 0.0], [0.0, 2.0]]), 2)
    array([1, 2])
    """
    rest = phi.astype(np.float64)
    least = 1e-12 * (rest * rest).sum(axis=1).max(initial=0.0)  # what is smaller is rounding
    free = np.ones(len(phi), bool)
    rows = []
    for _ in range(count):
        variance = (rest * rest).sum(axis=1)
        variance = np.where(free, np.where(variance > least, variance, 0.0), -1.0)
        row = int(np.argmax(variance))
        rows.append(row)
        free[row] = False
        if variance[row] > 0:
            direction = rest[row] / np.sqrt(variance[row])
            rest = rest - (rest @ direction)[:, None] * direction
    return np.array(rows, int)
