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

The slope of one example with respect to a weight is the product of the layer's input h and of what comes back to its
output, :math:`\delta`, so squares need no gradient an example: :math:`F_W = (h^2)^\top (\delta^2) / N`.  A backend
whose linear layer squares both turns the network's backpropagation into the sum of squares.  The square of a
*minibatch's* gradient, which public codes take, is another thing; ``docs/baselines.md`` has the figures.
"""

from types import SimpleNamespace

import numpy as np

from ibpcl.blas_threads import on_one_thread
from ibpcl.errors import NonFiniteError
from ibpcl.inference.backend import Backend
from ibpcl.models.layers import Pass
from ibpcl.models.likelihoods import Softmax
from ibpcl.primitives import linear

DEFINITIONS = ("exact", "sampled", "empirical")
DEFINITIONS_OF_IMAGES = DEFINITIONS[1:]
CHUNK = 512                                                  # examples at once: bounds the memory


def squared_slopes(dh, cache, needs_dx=True):
    r"""Pull the gradient at a linear layer's outputs back to ``x``; of its parameters return the squared slopes.

    .. math:: dx = dh\, w^\top, \qquad (x^2)^\top (dh^2), \qquad \sum_n dh_n^2

    Arguments and shapes as of :func:`ibpcl.primitives.linear.apply_vjp`, for one sample and inputs (N, D).
    """
    x, w = cache
    squares = dh * dh
    return (dh @ np.swapaxes(w, -1, -2))[0] if needs_dx else None, (x * x).T @ squares, squares.sum(axis=1)


SQUARES = Backend("numpy")
SQUARES.linear = SimpleNamespace(apply=linear.apply, apply_vjp=squared_slopes)


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
    total, views = np.zeros_like(vector), network.layout.layers(vector)
    for start in range(0, len(x), CHUNK):
        rows = slice(start, start + CHUNK)
        inputs, noise = x[rows], {}
        if network.codes:
            noise["codes"] = {"eps": rng.standard_normal((1, len(inputs), network.codes.units), dtype=np.float32)}
        (outputs, divergences), cache = network.forward(vector, inputs, noise, Pass(SQUARES, {}))
        nothing = {name: np.zeros_like(values) for name, values in divergences.items()}
        if definition == "exact":
            answers = [np.full(len(inputs), label) for label in range(network.outputs)]
        else:
            answers = [network.likelihood.draw(views, outputs[0], rng) if definition == "sampled" else targets[rows]]
        for y in answers:
            log_p, likelihood_cache = network.likelihood.log_density(views, outputs, y, SQUARES)
            # Slopes are linear in what is sent down: a root here weighs their squares by p(y | x).
            weights = np.exp(log_p / 2) if definition == "exact" else np.ones_like(log_p)
            slopes, _ = network.likelihood.log_density_vjp(weights, likelihood_cache)
            total += network.forward_vjp((slopes, nothing), cache)
    if network.codes:                                        # z is given: what lies before it has no information
        before = network.stages[:network.stages.index(network.codes) + 1]
        names = {layer.name for stage in before for layer in stage.layers}
        total[network.layout.places(lambda name: name.split(".")[0] in names)] = 0
    if not np.isfinite(total).all():
        raise NonFiniteError("the Fisher information is not finite: lower the learning rate, or check the scale of the "
                             "inputs")
    return total / len(x)
