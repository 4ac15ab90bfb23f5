"""Hard masks: how they are cut from the posterior, stored at one bit a weight, and joined.

Kumar et al. (2021), Sec. 4.5 ("Space complexity", "Selective Finetuning") and Sec. 4.1.
"""

import numpy as np

from ibpcl.models.masked import STANDARD_MASKS
from ibpcl.models.masked import sticks as shape_parameters
from ibpcl.numerics import sigmoid
from ibpcl.primitives import kumaraswamy, stick_breaking, sticks


def unpack(bits, shape):
    """Return the boolean array of a shape (D, K) that ``np.packbits`` put into ceil(D K / 8) bytes.

    >>> unpack(np.packbits(np.eye(2, dtype=bool)), (2, 2)).tolist()
    [[True, False], [False, True]]
    """
    return np.unpackbits(bits, count=shape[0] * shape[1]).astype(bool).reshape(shape)


def union(masks, shape):
    r"""Join masks: :math:`B^o = B^1 \cup \dots \cup B^{t-1}`, in the corner of an array of off; all
    off for none.
    """
    joined = np.zeros(shape, bool)
    for mask in masks:
        joined[tuple(map(slice, mask.shape))] |= mask
    return joined


def posterior_probability(rho, a, b, u, model=STANDARD_MASKS):
    r"""Average the probability (D, K), in [0, 1], that a weight is on over samples of the sticks.

    .. math:: \bar\theta_{dk} = \frac1S \sum_s \sigma(\rho_{dk} + \operatorname{logit} \pi^s_k)

    ``rho`` (D, K) are offsets of the log-odds, ``a`` and ``b`` (K,) the sticks' shape parameters,
    or (D, K) for sticks of each row, and ``u`` uniform noise, (S, K) or (S, D, K); ``model`` is the
    :class:`ibpcl.models.masked.MaskModel`.
    """
    if not model.structured:
        return sigmoid(rho)
    log_v, _ = kumaraswamy.sample(u, a, b)
    log_pi, _ = stick_breaking.log_probabilities(log_v)
    logit_pi, _ = sticks.prior_log_odds(log_pi, model.link)
    # One sample at a time: (S, D, K) would be the largest array of all.
    return sum(sigmoid(rho + row) for row in logit_pi) / len(u)


def probable(network, vector, samples, key, backend):
    """Return the hard masks (D, K) of a network by masked layer: a weight is on if it is more
    likely on than off.

    ``vector`` (P,) has the network's parameters.  The sticks' ``samples`` are drawn by the
    ``backend``; their noise is a function of the ``key``, each masked layer having the next stream.
    """
    views = network.layout.layers(vector)
    masks = {}
    for i, (name, layer) in enumerate(network.masked.items()):
        own = views[name]
        (a, b), _ = shape_parameters(own["raw_a"], own["raw_b"])
        u = backend.noise.uniform(key._replace(stream=i), (samples, *a.shape), np.float32)
        masks[name] = posterior_probability(own["rho"], a, b, u, layer.model) > 0.5
    return masks
