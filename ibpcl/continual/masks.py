"""Hard masks: computed from the posterior, stored with one bit per weight, and joined over tasks.

Kumar et al. (2021), Sec. 4.5 ("Space complexity", "Selective Finetuning") and Sec. 4.1.
"""

import numpy as np

from ibpcl.models.masked import STANDARD_MASKS
from ibpcl.models.masked import sticks as shape_parameters
from ibpcl.models.parameters import corner
from ibpcl.numerics import sigmoid
from ibpcl.primitives import kumaraswamy, stick_breaking, sticks


def unpack(bits, shape):
    """Return the mask that ``np.packbits`` packed into bytes.

    Parameters
    ----------
    bits : ndarray of uint8, shape (ceil(D K / 8),)
        The packed mask.
    shape : tuple of int
        Shape (D, K) of the mask.

    Returns
    -------
    mask : ndarray of bool, shape (D, K)
        The mask.

    Examples
    --------
    >>> unpack(np.packbits(np.eye(2, dtype=bool)), (2, 2)).tolist()
    [[True, False], [False, True]]
    """
    return np.unpackbits(bits, count=shape[0] * shape[1]).astype(bool).reshape(shape)


def pack_layer(mask, layer):
    """Return the hard mask of a layer as bits: one per mask, or one per weight.

    Weights that share a mask have equal values, so the values of the first of them suffice.  A
    layer that has grown for one task may break the rule, because its new weights are off.  Then the
    values of all weights are kept, as in a layer so small that sharing saves no byte.

    Parameters
    ----------
    mask : ndarray of bool, shape (D, K)
        Which weights are on.
    layer : ibpcl.models.masked.Masked or ibpcl.models.depth.Blocks
        The layer, with G x K masks; G = D if each weight has its own.

    Returns
    -------
    bits : ndarray of uint8, shape (ceil(G K / 8),) or (ceil(D K / 8),)
        The packed mask.

    Examples
    --------
    >>> from ibpcl.models.masked import Masked
    >>> pack_layer(np.ones((36, 8), bool), Masked("conv0", 36, 8, sharing=9)).size
    4
    """
    shared = mask[: layer.mask_shape[0]]
    bits = np.packbits(mask)
    fewer = np.packbits(shared)
    suffices = fewer.size < bits.size and np.array_equal(layer.expand(shared), mask)
    return fewer if suffices else bits


def unpack_layer(bits, layer):
    """Return the mask that :func:`pack_layer` packed.

    Parameters
    ----------
    bits : ndarray of uint8, shape (ceil(G K / 8),) or (ceil(D K / 8),)
        The packed mask.
    layer : ibpcl.models.masked.Masked or ibpcl.models.depth.Blocks
        The layer.

    Returns
    -------
    mask : ndarray of bool, shape (D, K)
        Which weights are on.

    Examples
    --------
    >>> from ibpcl.models.masked import Masked
    >>> layer = Masked("hidden0", 4, 4, sharing=2)
    >>> unpack_layer(np.packbits([True] * 4 + [False] * 4), layer)[:, 0].tolist()
    [True, False, True, False]
    """
    inputs, units = layer.shape
    if bits.size == -(-inputs * units // 8):
        return unpack(bits, layer.shape)
    return layer.expand(unpack(bits, layer.mask_shape))


def union(masks, shape, groups=1):
    r"""Return the union of masks, :math:`B^o = B^1 \cup \dots \cup B^{t-1}`.

    Parameters
    ----------
    masks : iterable of ndarray of bool
        Masks, each at most of the given shape.  A smaller mask occupies the corner with the lowest
        indices.
    shape : tuple of int
        Shape (D, K) of the result.
    groups : int
        Number of groups of rows, see :func:`ibpcl.models.parameters.corner`.

    Returns
    -------
    joined : ndarray of bool, shape (D, K)
        Which weights are on in any of the masks.
    """
    joined = np.zeros(shape, bool)
    for mask in masks:
        joined[corner(mask.shape, shape, groups)] |= mask
    return joined


def posterior_probability(rho, a, b, u, model=STANDARD_MASKS):
    r"""Compute the posterior probability that each weight is on.

    It is averaged over samples of the sticks:

    .. math:: \bar\theta_{dk} = \frac1S \sum_s \sigma(\rho_{dk} + \operatorname{logit} \pi^s_k)

    Parameters
    ----------
    rho : ndarray, shape (D, K)
        Offsets of the masks' log-odds.
    a, b : ndarray, shape (K,) or (D, K)
        Shape parameters of the sticks, > 0; (D, K) if each row has its own sticks.
    u : ndarray, shape (S, K) or (S, D, K)
        Uniform noise, strictly inside (0, 1).
    model : ibpcl.models.masked.MaskModel
        Modelling choices for the masks.  If it is not structured, the result is sigmoid(rho).

    Returns
    -------
    probability : ndarray, shape (D, K)
        Probabilities in [0, 1].
    """
    if not model.structured:
        return sigmoid(rho)
    log_v, _ = kumaraswamy.sample(u, a, b)
    log_pi, _ = stick_breaking.log_probabilities(log_v)
    logit_pi, _ = sticks.prior_log_odds(log_pi, model.link)
    # One sample at a time: an array (S, D, K) would need the most memory of all.
    return sum(sigmoid(rho + row) for row in logit_pi) / len(u)


def probable(network, vector, samples, key, backend):
    """Compute the hard masks of a network: a weight is on if its probability exceeds one half.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        A network with masked layers.
    vector : ndarray, shape (P,)
        Its variational parameters.
    samples : int
        Number of samples of the sticks, at least 1.
    key : ibpcl.noise.Key
        Key that determines the noise; each masked layer uses its own ``stream``, from 0 on.
    backend : ibpcl.inference.backend.Backend
        The functions that draw the noise.

    Returns
    -------
    masks : dict of str to ndarray of bool, shape (D, K)
        Hard masks by layer.
    """
    views = network.layout.layers(vector)
    masks = {}
    for i, (name, layer) in enumerate(network.masked.items()):
        parameters = views[name]
        (a, b), _ = shape_parameters(parameters["raw_a"], parameters["raw_b"])
        u = backend.noise.uniform(key._replace(stream=i), (samples, *a.shape), np.float32)
        probability = posterior_probability(offsets(parameters), a, b, u, layer.model)
        masks[name] = layer.expand(probability > 0.5)
    return without_idle(network, masks)


def without_idle(network, masks):
    """Return hard masks without the weights of residual blocks that are switched off.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        The network.
    masks : dict of str to ndarray of bool, shape (D, K)
        Hard masks by layer.

    Returns
    -------
    masks : dict of str to ndarray of bool, shape (D, K)
        The argument, or new masks.
    """
    for stage in network.composed:
        masks = stage.without_idle(masks)
    return masks


def offsets(parameters):
    """Return the offsets of a layer's log-odds, with those that it inherits from earlier tasks.

    Parameters
    ----------
    parameters : dict of str to ndarray
        Parameters of a masked layer: ``rho``, and ``prior_rho`` if it inherits offsets.

    Returns
    -------
    rho : ndarray, shape (D, K)
        The offsets.
    """
    return parameters["rho"] + parameters.get("prior_rho", 0)


def sampled(network, vector, key, backend):
    r"""Draw binary masks of a network from their posterior.

    The sticks are drawn once, then :math:`B_{dk} \sim \operatorname{Bernoulli}(\theta_{dk})`.
    Kumar et al. (2021), Sec. 4.6, count the empty columns of such a mask.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        A network with L masked layers.
    vector : ndarray, shape (P,)
        Its variational parameters.
    key : ibpcl.noise.Key
        Key that determines the noise; layer i uses the streams i and L + i.
    backend : ibpcl.inference.backend.Backend
        The functions that draw the noise.

    Returns
    -------
    masks : dict of str to ndarray of bool, shape (D, K)
        Sampled masks by layer.
    """
    views = network.layout.layers(vector)
    masks = {}
    for i, (name, layer) in enumerate(network.masked.items()):
        parameters = views[name]
        (a, b), _ = shape_parameters(parameters["raw_a"], parameters["raw_b"])
        of_sticks = backend.noise.uniform(key._replace(stream=i), (1, *a.shape), np.float32)
        of_masks = backend.noise.uniform(
            key._replace(stream=len(network.masked) + i), layer.mask_shape, np.float32
        )
        theta = posterior_probability(offsets(parameters), a, b, of_sticks, layer.model)
        masks[name] = layer.expand(of_masks < theta)
    return without_idle(network, masks)
