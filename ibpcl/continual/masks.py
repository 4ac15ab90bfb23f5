"""Hard masks: how they are cut from the posterior, stored at one bit a weight, and joined.

Kumar et al. (2021), Sec. 4.5 ("Space complexity", "Selective Finetuning") and Sec. 4.1.
"""

from typing import NamedTuple

import numpy as np

from ibpcl.models.masked import STANDARD_MASKS
from ibpcl.models.masked import sticks as shape_parameters
from ibpcl.numerics import sigmoid
from ibpcl.primitives import kumaraswamy, stick_breaking, sticks


class PackedMask(NamedTuple):
    """A binary mask of shape (D, K) in ceil(D K / 8) bytes."""

    bits: np.ndarray
    shape: tuple[int, int]


def pack(mask):
    """Store a boolean array (D, K) at one bit an element.

    >>> pack(np.ones((3, 5), bool)).bits.nbytes
    2
    """
    return PackedMask(np.packbits(mask), mask.shape)


def unpack(packed):
    """Return the boolean array (D, K) again.

    >>> bool((unpack(pack(np.eye(3, dtype=bool))) == np.eye(3, dtype=bool)).all())
    True
    """
    count = packed.shape[0] * packed.shape[1]
    return np.unpackbits(packed.bits, count=count).astype(bool).reshape(packed.shape)


def union(masks, shape):
    r"""Join masks: :math:`B^o = B^1 \cup \dots \cup B^{t-1}`, in the corner of an array of off; all off for none."""
    joined = np.zeros(shape, bool)
    for mask in masks:
        joined[tuple(map(slice, mask.shape))] |= mask
    return joined


def posterior_probability(rho, a, b, u, model=STANDARD_MASKS):
    r"""Average the probability that a weight is on over samples of the sticks.

    .. math:: \bar\theta_{dk} = \frac1S \sum_s \sigma(\rho_{dk} + \operatorname{logit} \pi^s_k)

    Parameters
    ----------
    rho : ndarray, shape (D, K)
        Offsets of the log-odds.
    a, b : ndarray, shape (K,), or (D, K) for sticks of each row
        Shape parameters of the sticks.
    u : ndarray, shape (S, K) or (S, D, K)
        Uniform noise.
    model : MaskModel
        How masks and sticks are linked.

    Returns
    -------
    probability : ndarray, shape (D, K)
        In [0, 1].
    """
    if not model.structured:
        return sigmoid(rho)
    log_v, _ = kumaraswamy.sample(u, a, b)
    log_pi, _ = stick_breaking.log_probabilities(log_v)
    logit_pi, _ = sticks.prior_log_odds(log_pi, model.link)
    # One sample at a time: (S, D, K) would be the largest array of all.
    return sum(sigmoid(rho + row) for row in logit_pi) / len(u)


def threshold(probability):
    """Cut the hard mask: a weight is on if it is more likely on than off."""
    return probability > 0.5


def probable(network, vector, samples, key, backend):
    """Threshold the posterior probability of every mask of a network.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        With masked layers.
    vector : ndarray, shape (P,)
        Its parameters.
    samples : int
        Samples of the sticks.
    key : Key
        Of their noise; each masked layer has the next stream.
    backend : Backend
        The backend that draws: numba or numpy.

    Returns
    -------
    masks : dict of str to ndarray of bool, shape (D, K)
        By masked layer.
    """
    views, masks = network.layout.layers(vector), {}
    for i, (name, layer) in enumerate(network.masked.items()):
        own = views[name]
        (a, b), _ = shape_parameters(own["raw_a"], own["raw_b"])
        u = backend.noise.uniform(key._replace(stream=i), (samples, *a.shape), np.float32)
        masks[name] = threshold(posterior_probability(own["rho"], a, b, u, layer.model))
    return masks
