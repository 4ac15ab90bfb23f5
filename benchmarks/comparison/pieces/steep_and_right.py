"""A right gradient of a steep function: finite steps are the fault, not the gradient."""

import numpy as np


def spike(x):
    """Return exp(-(x / s)^2 / 2) with s = 1e-4."""
    y = np.exp(-0.5 * (x / 1e-4) ** 2)
    return y, (x, y)


def spike_vjp(dy, cache):
    """Pull dy back. Right: y' = -x y / s^2."""
    x, y = cache
    return -dy * x * y / 1e-8


def check_inputs():
    """Return x (N,), some widths from the peak."""
    return (np.array([0.5e-4, -1.2e-4, 2.0e-4]),)
