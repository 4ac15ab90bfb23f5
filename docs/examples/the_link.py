"""A mask, drawn from the prior probability pi of a column as in the released code.

A mask is 1 where a logistic random number lies above minus the log-odds of pi.  The released code
has log pi in the place of the log-odds.
"""

import numpy as np


def log_pmf(b, pi):
    """Bernoulli(pi)."""
    return b * np.log(pi) + (1 - b) * np.log(1 - pi)


def sample(logistic, pi):
    """One mask from logistic noise, as in the released code."""
    return (np.log(pi) + logistic > 0) * 1.0
