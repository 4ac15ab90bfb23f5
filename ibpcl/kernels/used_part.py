r"""A layer with a sparse mask, computed on the inputs and units that the mask uses.

An input that no kept weight reads does not matter, and a unit without kept weights has the output
f(0) for every input.  So with :math:`I` the inputs and :math:`U` the units that a mask uses,

.. math:: h_{\cdot U} = f(x_{\cdot I} W_{IU} + b_U), \qquad h_{nk} = f(0) \text{ for } k \notin U.

The gradients at unused inputs, weights and biases are 0.  With the paper's settings the masks of a
task lie in the first columns (Kumar et al., 2021, Eq. 4), and this product is many times smaller
than that of the whole layer.
"""

from typing import NamedTuple

import numpy as np

from ibpcl.primitives import activations

# From this share of the layer on, the part is not taken out, because copying costs too much.
LARGEST = 0.5


class Part(NamedTuple):
    """The inputs and units that a mask (D, K) uses.

    Attributes
    ----------
    inputs : ndarray of int, shape (d,)
        Rows of the mask with at least one kept weight.
    units : ndarray of int, shape (k,)
        Columns of the mask with at least one kept weight.
    mask : ndarray of bool, shape (d, k)
        The mask of this part; it keeps as many weights as the whole mask, in the same order.
    """

    inputs: np.ndarray
    units: np.ndarray
    mask: np.ndarray


class Cache(NamedTuple):
    """Cache of :func:`draw`.

    Attributes
    ----------
    part : Part
        The used part.
    shape : tuple of int
        Shape of the inputs of the whole layer.
    weights : tuple of int
        Shape of the given weights, (D, K) or (M,).
    units : int
        Number of units K.
    inner : object
        Cache of the layer on this part.
    """

    part: Part
    shape: tuple
    weights: tuple
    units: int
    inner: object


def of(mask):
    """Return the part of a layer that a mask uses.

    Parameters
    ----------
    mask : ndarray of bool, shape (D, K)
        Which weights are on.

    Returns
    -------
    part : Part or None
        None if it has at least :data:`LARGEST` of the layer's weights.

    Examples
    --------
    >>> mask = np.zeros((3, 3), bool)
    >>> mask[1, 0] = mask[1, 2] = True
    >>> of(mask).inputs, of(mask).units
    (array([1]), array([0, 2]))
    >>> of(~mask) is None
    True
    """
    inputs = np.flatnonzero(mask.any(axis=1))
    units = np.flatnonzero(mask.any(axis=0))
    if len(inputs) * len(units) >= LARGEST * mask.size:
        return None
    return Part(inputs, units, mask[np.ix_(inputs, units)])


def draw(layer, part, eps, x, mu, log_sigma, bias_mu, bias_log_sigma, activation=None):
    """Draw the outputs of a layer, computing only a part of it.

    Parameters
    ----------
    layer : callable
        The function that draws, :func:`ibpcl.kernels.local_linear.sample`.
    part : Part
        The part that the mask uses.
    eps, x, mu, log_sigma, bias_mu, bias_log_sigma, activation
        Arguments of ``layer``, for the whole layer.

    Returns
    -------
    h : ndarray, shape (S, N, K)
        The outputs.
    cache : Cache
        Input of :func:`pull_back`.
    """
    inputs, units, mask = part
    weights = (mu, log_sigma)
    if mu.ndim == 2:
        weights = [_pick(one.take(inputs, axis=0), units) for one in weights]
    own, inner = layer(
        _pick(eps, units),
        _pick(x, inputs),
        *weights,
        bias_mu[units],
        bias_log_sigma[units],
        mask,
        activation,
    )
    at_zero = np.zeros(1, np.float32)
    if activation is not None:
        at_zero = getattr(activations, activation)(at_zero)[0]
    h = _spread(own, eps.shape, units, at_zero)
    return h, Cache(part, x.shape, mu.shape, len(bias_mu), inner)


def pull_back(layer_vjp, dh, cache, needs_dx=True):
    """Pull the gradient back to the arguments of the whole layer.

    Parameters
    ----------
    layer_vjp : callable
        The backward pass of ``layer``, :func:`ibpcl.kernels.local_linear.sample_vjp`.
    dh : ndarray, shape (S, N, K)
        Gradient at the outputs.
    cache : Cache
        From :func:`draw`.
    needs_dx : bool
        Whether to compute the gradient at the inputs.

    Returns
    -------
    gradients : tuple
        Those at ``x`` (None if it is not needed), ``mu``, ``log_sigma``, ``bias_mu`` and
        ``bias_log_sigma``, each of the shape of its argument; 0 outside the part.
    """
    inputs, units, _ = cache.part
    dx, *dweights, dbias_mu, dbias_log_sigma = layer_vjp(_pick(dh, units), cache.inner, needs_dx)
    if len(cache.weights) == 2:
        whole = np.zeros((2, *cache.weights), np.float32)
        whole[np.ix_((0, 1), inputs, units)] = dweights
        dweights = whole
    return (
        _spread(dx, cache.shape, inputs) if needs_dx else None,
        *dweights,
        *(_spread(one, (cache.units,), units) for one in (dbias_mu, dbias_log_sigma)),
    )


def _pick(values, places):
    """Return some columns, not copied if these are all."""
    # unlike an index, take returns rows that are contiguous
    return values if len(places) == values.shape[-1] else values.take(places, axis=-1)


def _spread(values, shape, places, elsewhere=0):
    """Return an array of a given shape with values in some columns and a constant elsewhere."""
    if len(places) == shape[-1]:
        return values
    out = np.full(shape, elsewhere, np.float32)
    out[..., places] = values
    return out
