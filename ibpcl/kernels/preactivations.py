r"""Pre-activations drawn from their means and variances, and the way back: the loops that all ways of a layer share.

.. math:: h_{snk} = f(m_{nk} + \mu_k + s_{nk}\, \varepsilon_{snk}), \qquad s^2_{nk} = v_{nk} + \sigma_k^2

with the :math:`\mu` and :math:`\sigma` of the biases, and f(x) = x for x > 0, else ``lean`` times x: 1 for none at
all.  With the gradients before it, :math:`g_s = f' \odot dh_s`, back come :math:`dm = \sum_s g_s`, summed
over the samples that share their inputs, and :math:`dv = \sum_s g_s \odot \varepsilon_s / (2 s)`, which is nothing for
a unit without any noise, s = 0.
"""

import numpy as np

from ibpcl.kernels import loops
from ibpcl.kernels.compilation import inlined, wide


@inlined
def _deviations(bias_variance, variance):
    for k in range(wide(variance.size)):
        variance[k] = np.sqrt(variance[k] + bias_variance[k])


@inlined
def _sample(mean, bias_mean, deviation, eps, lean, h):
    zero, one = h.dtype.type(0), h.dtype.type(1)
    for k in range(wide(h.size)):
        x = mean[k] + bias_mean[k] + deviation[k] * eps[k]
        h[k] = x * (one if x > zero else lean)


@inlined
def _slopes(deviation):
    zero, half = deviation.dtype.type(0), deviation.dtype.type(0.5)
    for k in range(wide(deviation.size)):
        deviation[k] = half / deviation[k] if deviation[k] > zero else zero


@inlined
def draw(n, mean, bias_mean, bias_variance, eps, lean, slope, h):
    """Sample row n of ``h`` (R, N, K), and turn that of ``slope`` (N, K) from variances v into ds / dv = 1 / (2 s)."""
    _deviations(bias_variance, slope[n])
    for r in range(eps.shape[0]):
        _sample(mean, bias_mean, slope[n], eps[r, n], lean, h[r, n])
    _slopes(slope[n])


@inlined
def _add_to_mean(dh, h, lean, out):
    zero, one = h.dtype.type(0), h.dtype.type(1)
    for k in range(wide(out.size)):
        out[k] += dh[k] * (one if h[k] > zero else lean)


@inlined
def _add_to_variance(dh, h, lean, eps, slope, out):
    zero, one = h.dtype.type(0), h.dtype.type(1)
    for k in range(wide(out.size)):
        out[k] += dh[k] * (one if h[k] > zero else lean) * eps[k] * slope[k]


@inlined
def pull_back(n, dh, h, lean, eps, slope, dmean, dvariance):
    """Write the gradients at row n of the means and of the variances, (K,) each."""
    loops.fill(0, dmean)
    loops.fill(0, dvariance)
    for r in range(dh.shape[0]):                             # two loops, or the compiler sees too many arrays
        _add_to_mean(dh[r, n], h[r, n], lean, dmean)
        _add_to_variance(dh[r, n], h[r, n], lean, eps[r, n], slope[n], dvariance)


@inlined
def add_through_squares(x, gradient, out):
    """Add to a gradient at x what comes through the squares of x, given the gradient at these."""
    two = x.dtype.type(2)
    for i in range(wide(out.size)):
        out[i] += two * x[i] * gradient[i]
