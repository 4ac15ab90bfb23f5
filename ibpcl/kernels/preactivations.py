r"""Pre-activations drawn from their means and variances, and the way back: the loops that all ways of a layer share.

.. math:: h_{snk} = m_{nk} + \mu_k + s_{nk}\, \varepsilon_{snk}, \qquad s^2_{nk} = v_{nk} + \sigma_k^2

with the :math:`\mu` and :math:`\sigma` of the biases.  Back come :math:`dm = \sum_s dh_s`, summed over the samples that
share their inputs, and :math:`dv = \sum_s dh_s \odot \varepsilon_s / (2 s)`, which is nothing for a unit without any
noise, s = 0.
"""

import numpy as np

from ibpcl.kernels import loops
from ibpcl.kernels.compilation import inlined, wide


@inlined
def _deviations(bias_variance, variance):
    for k in range(wide(variance.size)):
        variance[k] = np.sqrt(variance[k] + bias_variance[k])


@inlined
def _sample(mean, bias_mean, deviation, eps, h):
    for k in range(wide(h.size)):
        h[k] = mean[k] + bias_mean[k] + deviation[k] * eps[k]


@inlined
def _slopes(deviation):
    zero, half = deviation.dtype.type(0), deviation.dtype.type(0.5)
    for k in range(wide(deviation.size)):
        deviation[k] = half / deviation[k] if deviation[k] > zero else zero


@inlined
def draw(n, mean, bias_mean, bias_variance, eps, slope, h):
    """Sample row n of ``h`` (R, N, K), and turn that of ``slope`` (N, K) from variances v into ds / dv = 1 / (2 s)."""
    _deviations(bias_variance, slope[n])
    for r in range(eps.shape[0]):
        _sample(mean, bias_mean, slope[n], eps[r, n], h[r, n])
    _slopes(slope[n])


@inlined
def mean_gradient(n, dh, out):
    """Write the gradient at row n of the means, (K,)."""
    loops.fill(0, out)
    for r in range(dh.shape[0]):
        loops.add(dh[r, n], out)


@inlined
def _add_products(x, y, z, out):
    for k in range(wide(out.size)):
        out[k] += x[k] * y[k] * z[k]


@inlined
def variance_gradient(n, dh, eps, slope, out):
    """Write the gradient at row n of the variances, (K,)."""
    loops.fill(0, out)
    for r in range(dh.shape[0]):
        _add_products(dh[r, n], eps[r, n], slope[n], out)


@inlined
def add_through_squares(x, gradient, out):
    """Add to a gradient at x what comes through the squares of x, given the gradient at these."""
    two = x.dtype.type(2)
    for i in range(wide(out.size)):
        out[i] += two * x[i] * gradient[i]
