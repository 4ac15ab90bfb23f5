"""Reference functions of chapter 17 that are not primitives of the package."""

import numpy as np


def block(h, w, b, z):
    r"""Return the output of a residual block.

    .. math:: y = h + z \max(0,\; h W + b)

    Parameters
    ----------
    h : ndarray, shape (N, K)
        Inputs.
    w : ndarray, shape (K, K)
        Weights.
    b : ndarray, shape (K,)
        Biases.
    z : float
        Switch.

    Returns
    -------
    y : ndarray, shape (N, K)
    cache : object
        Input of ``block_vjp``.
    """
    a = h @ w + b
    f = np.where(a.real > 0, a, 0)
    return h + z * f, (h, w, z, f)


def block_vjp(dy, cache):
    """Pull the gradient at ``y`` back to the input, the weights, the biases and the switch.

    Parameters
    ----------
    dy : ndarray, shape (N, K)
    cache : object
        From ``block``.

    Returns
    -------
    dh : ndarray, shape (N, K)
    dw : ndarray, shape (K, K)
    db : ndarray, shape (K,)
    dz : float
    """
    h, w, z, f = cache
    da = z * dy * (f > 0)
    return dy + da @ w.T, h.T @ da, da.sum(axis=0), np.sum(f * dy)


def expected_depth(alpha, limit):
    r"""Return the expected number of blocks that are on.

    .. math:: \alpha \Bigl(1 - \Bigl(\frac{\alpha}{\alpha + 1}\Bigr)^L\Bigr)

    Parameters
    ----------
    alpha : ndarray, shape (M,)
        Concentrations, > 0.
    limit : int
        Number L of blocks.

    Returns
    -------
    depth : ndarray, shape (M,)
    cache : object
        Input of ``expected_depth_vjp``.
    """
    power = (alpha / (alpha + 1)) ** limit
    return alpha * (1 - power), (alpha, limit, power)


def expected_depth_vjp(ddepth, cache):
    """Pull the gradient at ``depth`` back to ``alpha``.

    Parameters
    ----------
    ddepth : ndarray, shape (M,)
    cache : object
        From ``expected_depth``.

    Returns
    -------
    dalpha : ndarray, shape (M,)
    """
    alpha, limit, power = cache
    return ddepth * (1 - power - limit * power / (alpha + 1))


def no_block():
    """Return the probability that a task uses no block, for a concentration of two."""
    return np.exp(-2)


def no_block_slips():
    """Return common wrong answers by the mistake that leads to them."""
    return {
        "this is the probability of at least one block": 1 - np.exp(-2),
        "this is the probability of exactly one block": 2 * np.exp(-2),
        "this is the probability that the first block is off": 1 / 3,
        "this is the probability for a concentration of one half": np.exp(-0.5),
        "the switches are not independent: they share their sticks": np.prod(
            1 - (2 / 3) ** np.arange(1, 200)
        ),
    }


def share_with_gaps(z):
    """Return the share of draws in which a block is on behind one that is off.

    Parameters
    ----------
    z : ndarray of bool, shape (S, L)
        Whether each block is on, in each draw.

    Returns
    -------
    share : float
        In [0, 1].
    """
    return np.mean((z[:, 1:] & ~z[:, :-1]).any(axis=1))


def price_of_a_block():
    """Return the divergence of all weights and biases of a block, in nats."""
    return 42 * (-np.log(0.3) + (0.3**2 + 0.5**2 - 1) / 2)


def price_of_a_block_slips():
    """Return common wrong answers by the mistake that leads to them."""
    nats = -np.log(0.3) + (0.3**2 + 0.5**2 - 1) / 2
    return {
        "this is the price of one weight": nats,
        "this is the price without the biases": 36 * nats,
        "this is the price of the biases alone": 6 * nats,
        "this is in bits, not in nats": 42 * nats / np.log(2),
        "0.3 is the standard deviation, not the variance": 42
        * (-np.log(0.3) / 2 + (0.3 + 0.5**2 - 1) / 2),
        "this is the divergence in the other direction": 42
        * (np.log(0.3) + (1 + 0.5**2) / (2 * 0.3**2) - 0.5),
    }


def value_of_an_idle_block():
    """Choose the meaning of the gradient at the switch of a block that is off."""
    return "b"


def shared_block():
    """Choose what happens to the predictions for the first task."""
    return "b"
