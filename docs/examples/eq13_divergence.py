"""The divergence of a Kumaraswamy from a Beta distribution, as the appendix of the paper prints it.

The sticks of the Indian buffet process have the prior Beta(alpha, 1).  With beta = 1 the series of
the paper's Eq. 13 vanishes.  The remaining last term is wrong.
"""

import numpy as np
from scipy.special import digamma

support = (0, 1)


def log_q(v, a, b):
    """Kumaraswamy(a, b)."""
    return np.log(a) + np.log(b) + (a - 1) * np.log(v) + (b - 1) * np.log1p(-(v**a))


def log_p(v, alpha):
    """Beta(alpha, 1)."""
    return np.log(alpha) + (alpha - 1) * np.log(v)


def kl(a, b, alpha):
    """KL[q || p], as printed."""
    mean = -np.euler_gamma - digamma(b) - 1 / b
    return (a - alpha) / a * mean + np.log(a * b) - np.log(alpha) - b / (1 - b)
