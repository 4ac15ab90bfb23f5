r"""The diagonal of the Fisher information of a plain network, example by example, under its three usual definitions.

For one example the information of a weight is the expected square of its log likelihood's slope,

.. math:: F_i = \frac1N \sum_n \mathbb E_{y}\Bigl[\bigl(\partial_{\theta_i} \log p(y | x_n, \theta)\bigr)^2\Bigr].

``exact``
    The expectation is over the network's own labels, :math:`y \sim p(\cdot | x_n, \theta)`, and all of them are summed:
    the definition, without noise.
``sampled``
    One label a example is drawn from the network: unbiased, noisy.
``empirical``
    The label of the data stands for y.  It is not an estimate of the Fisher information: once the network is sure of
    its labels, these slopes vanish faster than the information does (Kunstner, Balles and Hennig, 2019, "Limitations of
    the empirical Fisher approximation for natural gradient descent").

The slope of one example with respect to a weight is the product of the layer's input and of what comes back to its
output, so squares need no gradient an example: :math:`F_W = (h^2)^\top (\delta^2) / N`, two products a layer.  The
square of a *minibatch's* gradient, which public codes take, is another thing; ``docs/baselines.md`` has the figures.
"""

import numpy as np

from ibpcl.errors import NonFiniteError
from ibpcl.numerics import logsumexp
from ibpcl.openblas import on_one_thread

DEFINITIONS = ("exact", "sampled", "empirical")
CHUNK = 1024                                                 # examples at once: bounds the memory


@on_one_thread
def diagonal(network, vector, x, labels, definition, rng):
    r"""Compute the diagonal of the Fisher information, the mean over examples.

    Parameters
    ----------
    network : ibpcl.models.plain.PlainNetwork
        A plain network.
    vector : ndarray, shape (P,)
        Its parameters.
    x : ndarray, shape (N, D)
        Inputs.
    labels : ndarray of int, shape (N,)
        Classes; read by ``empirical`` only.
    definition : {"exact", "sampled", "empirical"}
        Which labels the squared slopes are averaged over.
    rng : numpy.random.Generator
        Source of the labels of ``sampled``.

    Returns
    -------
    fisher : ndarray, shape (P,)
        Squared nats a squared unit of the parameter, for one example: the mean, not the sum; >= 0.

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
    if definition not in DEFINITIONS:
        raise ValueError(f"fisher.diagonal: definition must be one of {', '.join(DEFINITIONS)}, got {definition!r}")
    if len(x) == 0:
        raise ValueError("fisher.diagonal: x must hold at least one example")
    total = np.zeros_like(vector)
    layers, views = network.weights(vector), network.weights(total)
    for start in range(0, len(x), CHUNK):
        some = slice(start, start + CHUNK)
        inputs, logits = layer_inputs(layers, x[some])
        p = np.exp(logits - logsumexp(logits, axis=-1, keepdims=True))
        dlogits, weights = _slopes(p, None if labels is None else labels[some], definition, rng)
        for (weight, bias), h, delta in zip(views, inputs, deltas(layers, inputs, dlogits), strict=True):
            # Averaged over the labels first: they share the layer's input, so one product serves all of them.
            squares = np.einsum("cn,cnk->nk", weights, delta * delta)
            weight += (h * h).T @ squares
            bias += squares.sum(axis=0)
    if not np.isfinite(total).all():
        raise NonFiniteError("the Fisher information is not finite: lower the learning rate, or check the scale of the "
                             "inputs")
    return total / len(x)


def layer_inputs(layers, x):
    """Evaluate layers with ReLU between them for inputs (N, D): what each is given, (N, D), and the outputs (N, C)."""
    inputs = [x]
    for weight, bias in layers[:-1]:
        inputs.append(np.maximum(inputs[-1] @ weight + bias, 0))
    weight, bias = layers[-1]
    return inputs, inputs[-1] @ weight + bias


def deltas(layers, inputs, doutputs):
    r"""Send gradients at the outputs down to the pre-activations of every layer, example by example.

    .. math:: \delta_l = (\delta_{l + 1} W_{l + 1}^\top) \odot \mathbb 1[h_l > 0]

    An example's gradient of a weight is then the product of its layer's input and delta.

    Parameters
    ----------
    layers : list of pair of ndarray
        Weights (D, K) and biases (K,) of each layer.
    inputs : list of ndarray, shape (N, D)
        From :func:`layer_inputs`.
    doutputs : ndarray, shape (..., N, C)
        Gradients, any number of them for an example.

    Returns
    -------
    deltas : list of ndarray, shape (..., N, K)
        One array per layer, the first layer first.
    """
    found = [doutputs]
    for (weight, _), h in zip(layers[:0:-1], inputs[:0:-1], strict=True):
        found.append((found[-1] @ weight.T) * (h > 0))       # a ReLU's output is positive where its input is
    return found[::-1]


def _slopes(p, labels, definition, rng):
    """Return the slopes of log p(y) at the logits for some labels y, (Y, N, C), and their weights (Y, N)."""
    count, classes = p.shape
    if definition == "exact":
        # d log p(y) / df = onehot(y) - p, weighted by p(y).
        return np.eye(classes, dtype=p.dtype)[:, None] - p, p.T
    if definition == "sampled":
        # The first class whose cumulative probability passes u; rounding must not lead beyond the last.
        labels = (p.cumsum(axis=1) < rng.random((count, 1))).sum(axis=1).clip(max=classes - 1)
    return (np.eye(classes, dtype=p.dtype)[labels] - p)[None], np.ones((1, count), p.dtype)
