r"""The diagonal of the Fisher information of a network of plain layers, example by example.

For one example the information of a weight is the expected square of its log likelihood's slope,

.. math:: F_i = \frac1N \sum_n \mathbb E_{y}\Bigl[\bigl(\partial_{\theta_i} \log p(y | x_n, \theta)\bigr)^2\Bigr].

``exact``
    The expectation is over the network's own labels, :math:`y \sim p(\cdot | x_n, \theta)`, and all of them are summed:
    the definition, without noise.  For classes only.
``sampled``
    One y an example is drawn from the network, a label or an image: unbiased, noisy.
``empirical``
    What the data has stands for y, as in the public code of VCL.  It is not an estimate of the Fisher information: once
    the network is sure of its labels, these slopes vanish faster than the information does (Kunstner, Balles and
    Hennig, 2019, "Limitations of the empirical Fisher approximation for natural gradient descent").

An autoencoder draws one code an example, :math:`z_n \sim q(z | x_n)`; the information is that of its decoder, given z.

The slope of one example with respect to a weight is the product of the layer's input and of what comes back to its
output, so squares need no gradient an example: :math:`F_W = (h^2)^\top (\delta^2) / N`, two products a layer.  The
square of a *minibatch's* gradient, which public codes take, is another thing; ``docs/baselines.md`` has the figures.
"""

import numpy as np

from ibpcl.errors import NonFiniteError
from ibpcl.inference.backend import backend
from ibpcl.models.layers import Pass, activate, activate_vjp
from ibpcl.models.likelihoods import Softmax
from ibpcl.numerics import logsumexp
from ibpcl.openblas import on_one_thread

DEFINITIONS = ("exact", "sampled", "empirical")
DEFINITIONS_OF_IMAGES = DEFINITIONS[1:]
CHUNK = 512                                                  # examples at once: bounds the memory
REFERENCE = backend("numpy")


@on_one_thread
def diagonal(network, vector, x, targets, definition, rng):
    r"""Compute the diagonal of the Fisher information, the mean over examples.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        A network of plain layers, with codes or without.
    vector : ndarray, shape (P,)
        Its parameters.
    x : ndarray, shape (N, D)
        Inputs.
    targets : ndarray, shape (N,) or (N, D)
        Labels, or the images again; read by ``empirical`` only.
    definition : {"exact", "sampled", "empirical"}
        Which targets the squared slopes are averaged over; the first for classes only.
    rng : numpy.random.Generator
        Source of codes, and of the targets of ``sampled``.

    Returns
    -------
    fisher : ndarray, shape (P,)
        Squared nats a squared unit of the parameter, for one example: the mean, not the sum; >= 0.  Of an autoencoder
        that of the decoder; what lies before the codes has 0.

    Raises
    ------
    ValueError
        For an unknown definition, or no examples.

    Examples
    --------
    >>> from ibpcl.models.plain import network
    >>> one = network(1, (1,), 2)
    >>> w = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])     # h = x, and both classes are equally likely
    >>> diagonal(one, w, np.array([[3.0]]), None, "exact", None)[2:4]
    array([2.25, 2.25])
    """
    known = DEFINITIONS if isinstance(network.likelihood, Softmax) else DEFINITIONS_OF_IMAGES
    if definition not in known:
        raise ValueError(f"fisher.diagonal: definition must be one of {', '.join(known)}, got {definition!r}")
    if len(x) == 0:
        raise ValueError("fisher.diagonal: x must hold at least one example")
    total = np.zeros_like(vector)
    parameters, squares = network.layout.layers(vector), network.layout.layers(total)
    for start in range(0, len(x), CHUNK):
        some = slice(start, start + CHUNK)
        layers, h = _behind_codes(network, parameters, x[some], rng)
        inputs, caches, outputs = forward(layers, parameters, h)
        wanted = None if targets is None else targets[some]
        slopes, weights = _slopes(network.likelihood, parameters, outputs, wanted, definition, rng)
        for layer, h, delta in zip(layers, inputs, deltas(layers, parameters, caches, slopes), strict=True):
            # Averaged over the targets first: they share the layer's input, so one product serves all of them.
            square = np.einsum("yn,ynk->nk", weights, delta * delta)
            squares[layer.name]["weight.mu"] += (h * h).T @ square
            squares[layer.name]["bias.mu"] += square.sum(axis=0)
    if not np.isfinite(total).all():
        raise NonFiniteError("the Fisher information is not finite: lower the learning rate, or check the scale of the "
                             "inputs")
    return total / len(x)


def forward(layers, parameters, x):
    """Evaluate plain layers: each one's input (N, D), the caches of their activations, and the outputs (N, C)."""
    inputs, caches, h = [], [], x
    for layer in layers:
        inputs.append(h)
        own = parameters[layer.name]
        h, cache = activate(layer.activation, h @ own["weight.mu"] + own["bias.mu"], REFERENCE)
        caches.append(cache)
    return inputs, caches, h


def deltas(layers, parameters, caches, doutputs):
    r"""Send gradients at the outputs down to the pre-activations of every layer, example by example.

    .. math:: \delta_l = (\delta_{l + 1} W_{l + 1}^\top) \odot f'(a_l)

    An example's gradient of a weight is then the product of its layer's input and delta.

    Parameters
    ----------
    layers : sequence of ibpcl.models.layers.Plain
        One after another.
    parameters : dict of str to dict
        Their weights and biases by layer.
    caches : list
        From :func:`forward`.
    doutputs : ndarray, shape (..., N, C)
        Gradients, any number of them for an example.

    Returns
    -------
    deltas : list of ndarray, shape (..., N, K)
        One array per layer, the first layer first.
    """
    found = [doutputs]
    for layer, cache in zip(layers[:0:-1], caches[-2::-1], strict=True):
        found.append(activate_vjp(found[-1] @ parameters[layer.name]["weight.mu"].T, cache))
    return found[::-1]


def _behind_codes(network, parameters, x, rng):
    """Return the layers behind the codes and what they read, one draw of z (N, L); all layers and x without codes."""
    if network.codes is None:
        return network.stages, x
    place = network.stages.index(network.codes)
    noise = {"codes": (rng.standard_normal((1, len(x), network.codes.units), dtype=np.float32),)}
    for stage in network.stages[:place + 1]:
        (x, _), _ = stage.forward(parameters, x, noise, Pass(REFERENCE, {}))
    return network.stages[place + 1:], x[0]


def _slopes(likelihood, views, outputs, targets, definition, rng):
    """Return the slopes of log p(y) at the outputs for some targets y, (Y, N, C), and their weights (Y, N)."""
    if definition == "exact":                                # d log p(y) / df = onehot(y) - p, weighted by p(y)
        p = np.exp(outputs - logsumexp(outputs, axis=-1, keepdims=True))
        return np.eye(p.shape[1], dtype=p.dtype)[:, None] - p, p.T
    if definition == "sampled":
        targets = likelihood.draw(views, outputs, rng)
    log_p, cache = likelihood.log_density(views, outputs[None], targets, REFERENCE)
    return likelihood.log_density_vjp(np.ones_like(log_p), cache)[0], np.ones_like(log_p)
