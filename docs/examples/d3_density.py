"""The density of the binary concrete distribution, as the paper prints it in Sec. D.3.

The paper calls it the density of the mask b.  It is that of the log-odds of b.
"""

import numpy as np

support = (0, 1)


def log_density(b, log_alpha, tau):
    """As printed."""
    y = tau * (np.log(b) - np.log1p(-b)) - log_alpha
    return np.log(tau) - y - 2 * np.log1p(np.exp(-y))


def sample(u, log_alpha, tau):
    """A relaxed mask from uniform noise."""
    logistic = np.log(u) - np.log1p(-u)
    return 1 / (1 + np.exp(-(log_alpha + logistic) / tau))
