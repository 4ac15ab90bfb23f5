"""Reference functions of chapter 5 that are not primitives of the package."""

import numpy as np
from scipy.special import beta

UNITS = 200


def weights_of_a_row(alpha):
    r"""Return the expected number of weights of a row of 200 units.

    .. math:: \alpha (1 - r^{200}), \qquad r = \frac{\alpha}{\alpha + 1}

    Parameters
    ----------
    alpha : ndarray, shape (N,)
        Concentrations, > 0.

    Returns
    -------
    weights : ndarray, shape (N,)
    cache : object
        Input of ``weights_of_a_row_vjp``.
    """
    power = np.exp(UNITS * (np.log(alpha) - np.log(alpha + 1)))
    return alpha * (1 - power), (alpha, power)


def weights_of_a_row_vjp(dweights, cache):
    """Pull the gradient at the number of weights back to ``alpha``.

    Parameters
    ----------
    dweights : ndarray, shape (N,)
    cache : object
        From ``weights_of_a_row``.

    Returns
    -------
    dalpha : ndarray, shape (N,)
    """
    alpha, power = cache
    return dweights * (1 - power - UNITS * power / (alpha + 1))


def first_unit_is_empty():
    """Return the probability that the first unit has no weight, alpha = 5, 20 inputs."""
    return 5 * beta(5, 21)


def first_unit_is_empty_slips():
    """Return common wrong answers by the mistake that leads to them."""
    return {
        "the factor alpha of the density is missing": beta(5, 21),
        "this is the probability for 21 inputs, or B(5, 22): mind the exponents": 5 * beta(5, 22),
        "this is the power of the mean, not the mean of the power": (1 - 5 / 6) ** 20,
    }


def sharing():
    """Choose how the two probabilities compare."""
    return "c"


def weights_of_the_finite_model():
    """Return the expected number of weights of a row of the finite model, K = 20, alpha = 5."""
    return 4.0


def weights_of_the_finite_model_slips():
    """Return common wrong answers by the mistake that leads to them."""
    return {
        "this is the limit of infinitely many units, alpha": 5.0,
        "this is the row of the truncated limit, not of the finite model": 5 * (1 - (5 / 6) ** 20),
        "this is the mean probability of one unit: a row has K of them": 0.2,
    }
