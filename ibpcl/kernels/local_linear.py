r"""The layer sampled at its pre-activations: the twin of ``primitives.local_linear.sample``.

.. math:: h_{snk} = f(m_{nk} + \mu_k + s_{nk}\, \varepsilon_{snk}), \qquad s^2_{nk} = v_{nk} + \sigma_k^2

with the :math:`\mu` and :math:`\sigma` of the biases, and f(x) = x for x > 0, else ``lean`` times x: 1 for no
activation.  Means m and variances v are two products, :math:`x (B \odot \mu)` and :math:`x^2 (B \odot \sigma^2)`, by
BLAS or without the images' zeros.  With the gradients before it, :math:`g_s = f' \odot dh_s`, back come
:math:`dm = \sum_s g_s`, summed over the samples that share their inputs, and :math:`dv = \sum_s g_s \odot \varepsilon_s
/ (2 s)`.  Through variances it is simpler than the reference, which goes through deviations:
:math:`d \log\sigma = 2 \sigma^2 \odot d(\sigma^2)`.
"""

from typing import NamedTuple

import numpy as np

from ibpcl.kernels.compilation import compiled, cube, float32, inlined, int64, matrix, twin_of, vector, void
from ibpcl.kernels.sparse import Sparse, density, efficiency, multiply, sparse
from ibpcl.kernels.threads import each, pieces
from ibpcl.openblas import one_thread
from ibpcl.primitives import activations
from ibpcl.primitives import local_linear as reference

ROWS, PRODUCT_ROWS = 64, 128                                 # of the samples, and of a product, a piece
# As in ibpcl.kernels.linear; here one batch has two products only, and looking for its zeros weighs more.
DENSEST, NARROWEST = 0.3, 64
# What a number that is not positive is multiplied by; other activations are apart from their layers.
LEAN = {None: 1.0, "relu": 0.0, "leaky_relu": activations.LEAK}
ZERO, ONE, HALF = np.float32(0), np.float32(1), np.float32(0.5)


class Cache(NamedTuple):
    """What the way back of a layer needs; ``apart`` is an activation that is not ``lean``, with its own cache."""

    x: np.ndarray
    squares: np.ndarray | None
    means: np.ndarray
    variances: np.ndarray
    mask: np.ndarray | None
    places: np.ndarray | None
    bias_variance: np.ndarray
    noise: np.ndarray
    slope: np.ndarray
    h: np.ndarray
    lean: np.float32
    apart: tuple | None


@inlined
def _deviations(bias_variance, variance):
    for k in range(variance.size):
        variance[k] = np.sqrt(variance[k] + bias_variance[k])


@inlined
def _sample(mean, bias_mean, deviation, eps, lean, h):
    for k in range(h.size):
        x = mean[k] + bias_mean[k] + deviation[k] * eps[k]
        h[k] = x * (ONE if x > ZERO else lean)


@inlined
def _slopes(deviation):
    for k in range(deviation.size):
        deviation[k] = HALF / deviation[k] if deviation[k] > ZERO else ZERO


@compiled(void(int64, matrix, matrix, vector, vector, cube, float32, cube))
def _draw(first, mean, variance, bias_mean, bias_variance, eps, lean, h):
    """Sample rows of ``h`` (R, N, K) from ``first`` on, and turn the variances v into ds / dv = 1 / (2 s)."""
    for n in range(mean.shape[0]):
        _deviations(bias_variance, variance[n])
        for r in range(eps.shape[0]):
            _sample(mean[n], bias_mean, variance[n], eps[r, first + n], lean, h[r, first + n])
        _slopes(variance[n])


@inlined
def _add_to_mean(dh, h, lean, out):
    for k in range(out.size):
        out[k] += dh[k] * (ONE if h[k] > ZERO else lean)


@inlined
def _add_to_variance(dh, h, lean, eps, slope, out):
    for k in range(out.size):
        out[k] += dh[k] * (ONE if h[k] > ZERO else lean) * eps[k] * slope[k]


@compiled(void(int64, cube, cube, float32, cube, matrix, matrix, matrix))
def _pull_back(first, dh, h, lean, eps, slope, dmean, dvariance):
    """Add the gradients at rows of the means and of the variances, from ``first`` on."""
    for n in range(slope.shape[0]):
        for r in range(dh.shape[0]):                         # two loops, or the compiler sees too many arrays
            _add_to_mean(dh[r, first + n], h[r, first + n], lean, dmean[n])
            _add_to_variance(dh[r, first + n], h[r, first + n], lean, eps[r, first + n], slope[n], dvariance[n])


def _spread(values, places, shape):
    """Write the values of the kept weights where they are, and zeros elsewhere."""
    out = np.zeros(shape, np.float32)
    out.reshape(-1)[places] = values
    return out


def _moments(x, squares, means, variances):
    """Return both products, (2, N, K); without ``squares`` (N, D), those of a matrix without its zeros."""
    N, K = len(x), means.shape[1]
    out = np.empty((2, N, K), np.float32)
    if squares is None:
        entries, nothing = sparse(x), np.zeros(K, np.float32)
        squared = Sparse(entries.places, entries.values * entries.values, entries.ends)
        multiply([(entries, means, nothing), (squared, variances, nothing)], out)
    else:
        with one_thread():
            each(np.matmul, [(given[rows], weights, product[rows]) for rows in pieces(N, PRODUCT_ROWS)
                             for given, weights, product in ((x, means, out[0]), (squares, variances, out[1]))])
    return out


@twin_of(reference)
def sample(eps, x, mu, log_sigma, bias_mu, bias_log_sigma, mask=None, activation=None):
    """Draw what a layer puts out: the twin of :func:`ibpcl.primitives.local_linear.sample`."""
    means, variances, bias_variance, places = mu, np.exp(2 * log_sigma), np.exp(2 * bias_log_sigma), None
    if mask is not None:
        active = mask.any(axis=0)
        bias_mu, bias_variance = bias_mu * active, bias_variance * active
        if mu.ndim == 1:                                     # of the weights that the mask keeps
            places = np.flatnonzero(mask)
            if not places.size == mu.size == log_sigma.size:
                raise ValueError(f"local_linear.sample: the mask keeps {places.size} weights, got {mu.shape} means and "
                                 f"{log_sigma.shape} deviations")
            means, variances = (_spread(values, places, mask.shape) for values in (mu, variances))
        else:
            means, variances = mu * mask, variances * mask
    (D, K), of_images = means.shape, x.ndim == 2
    rows = x.reshape(-1, D)
    # Samples that share their inputs share means and variances: R = S, else each row has its own: R = 1.
    noise, lean = eps.reshape(len(eps) if of_images else 1, len(rows), K), np.float32(LEAN.get(activation, 1.0))
    zeros = of_images and K >= NARROWEST and density(x) <= DENSEST * efficiency(K)
    squares = None if zeros else rows * rows
    mean, slope = _moments(rows, squares, means, variances)
    h = np.empty_like(noise)
    each(_draw, [(piece.start, mean[piece], slope[piece], bias_mu, bias_variance, noise, lean, h)
                 for piece in pieces(len(rows), ROWS)])
    out, apart = h.reshape(eps.shape), None
    if activation not in LEAN:
        out, active = getattr(activations, activation)(out)
        apart = getattr(activations, activation + "_vjp"), active
    return out, Cache(x, squares, means, variances, mask, places, bias_variance, noise, slope, h, lean, apart)


def _through(dmean, dvariance, means, variances, x, dx):
    """Write the gradient at some rows of x."""
    np.matmul(dvariance, variances.T, out=dx)
    dx *= x
    dx *= 2
    dx += dmean @ means.T


@twin_of(reference)
def sample_vjp(dh, cache, needs_dx=True):
    """Pull the gradient back to all inputs but the noise: the twin of ``primitives.local_linear.sample_vjp``."""
    x, squares, means, variances, mask, places, bias_variance, noise, slope, h, lean, apart = cache
    if apart is not None:
        pull_activation_back, active = apart
        dh = pull_activation_back(dh, active)
    (N, K), D, dx = slope.shape, len(means), None
    rows, given, gradients = x.reshape(N, D), dh.reshape(noise.shape), np.zeros((2, N, K), np.float32)
    each(_pull_back, [(piece.start, given, h, lean, noise, slope[piece], *gradients[:, piece])
                      for piece in pieces(N, ROWS)])
    dmean, dvariance = gradients
    dweights = np.empty((2, D, K), np.float32)
    with one_thread():
        if squares is None:
            entries, nothing = sparse(np.ascontiguousarray(rows.T)), np.zeros(K, np.float32)
            squared = Sparse(entries.places, entries.values * entries.values, entries.ends)
            multiply([(entries, dmean, nothing), (squared, dvariance, nothing)], dweights)
        else:
            each(np.matmul, [(rows.T, dmean, dweights[0]), (squares.T, dvariance, dweights[1])])
        if needs_dx:
            dx = np.empty((N, D), np.float32)
            each(_through, [(dmean[piece], dvariance[piece], means, variances, rows[piece], dx[piece])
                            for piece in pieces(N, PRODUCT_ROWS)])
            dx = dx.reshape(x.shape)
    dmu, dlog_sigma = dweights[0], 2 * variances * dweights[1]
    dbias_mu, dbias_log_sigma = dmean.sum(axis=0), 2 * bias_variance * dvariance.sum(axis=0)
    if mask is not None:
        dbias_mu = dbias_mu * mask.any(axis=0)
        dmu, dlog_sigma = (dmu * mask, dlog_sigma) if places is None else (
            part.reshape(-1)[places] for part in (dmu, dlog_sigma))
    return dx, dmu, dlog_sigma, dbias_mu, dbias_log_sigma
