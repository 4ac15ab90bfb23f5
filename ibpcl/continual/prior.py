r"""The masked prior: yesterday's posterior where some task uses a weight, the initial prior elsewhere.

Kumar et al. (2021), Eq. 11: :math:`p_t(V_{dk}) = B^o_{dk}\, q_{t-1}(V_{dk}) + (1 - B^o_{dk})\, p_0(V_{dk})`, a choice
between the two (the combined mask is binary), not a mixture.  What holds for a bias is not printed: here it follows its
unit, which is used as soon as one of its weights is.
"""

import numpy as np

from ibpcl.models.layers import GAUSSIAN


def select(used, chosen, other):
    """Take one layer's Gaussian parameters from ``chosen`` where ``used`` (D, K) says so, from ``other`` elsewhere.

    >>> layer = {name: np.ones((2, 2) if name.startswith("weight") else 2) for name in GAUSSIAN}
    >>> zero = {name: 0 * value for name, value in layer.items()}
    >>> select(np.array([[True, False], [True, False]]), layer, zero)["bias.mu"]
    array([1., 0.])
    """
    unit = used.any(axis=0)
    return {name: np.where(used if name.startswith("weight") else unit, chosen[name], other[name])
            for name in GAUSSIAN}


def standard(shape, sigma, dtype=np.float32):
    r"""Return the initial prior :math:`p_0 = \mathcal N(0, \sigma_0^2)` of a layer whose weights are of ``shape``."""
    return {
        "weight.mu": np.zeros(shape, dtype), "weight.log_sigma": np.full(shape, np.log(sigma), dtype),
        "bias.mu": np.zeros(shape[1], dtype), "bias.log_sigma": np.full(shape[1], np.log(sigma), dtype),
    }
