r"""The diagonal of the Fisher information of a network of plain layers, example by example.

For one example the information of a weight is the expected square of its log likelihood's slope,

.. math::

    F_i = \frac1N \sum_n \mathbb E_{y}\Bigl[\bigl(\partial_{\theta_i} \log p(y | x_n,
        \theta)\bigr)^2\Bigr].

``exact``
    The expectation is over the network's own labels, :math:`y \sim p(\cdot | x_n, \theta)`, and all
    of them are summed: the definition, without noise.  For classes only.
``sampled``
    One y an example is drawn from the network, a label or an image: unbiased, noisy.
``empirical``
    What the data has stands for y, as in the public code of VCL.  It is not an estimate of the
    Fisher information: once the network is sure of its labels, these slopes vanish faster than the
    information does (Kunstner, Balles and Hennig, 2019, "Limitations of the empirical Fisher
    approximation for natural gradient descent").

An autoencoder draws one code an example, :math:`z_n \sim q(z | x_n)`; the information is that of
its decoder, given z.

The slope of one example with respect to a weight is the product of the layer's input h and of what
comes back to its output, :math:`\delta`.  So the squares of all examples are one matrix product,
:math:`F_W = (h^2)^\top (\delta^2) / N`. The square of a *minibatch's* gradient, which public codes
take, is another thing; ``docs/baselines.md`` has figures.
"""

import numpy as np

from ibpcl.blas_threads import on_one_thread
from ibpcl.errors import NonFiniteError
from ibpcl.inference.backend import backend
from ibpcl.models.layers import Pass, activate_vjp
from ibpcl.models.likelihoods import Softmax

DEFINITIONS = ("exact", "sampled", "empirical")
DEFINITIONS_OF_IMAGES = DEFINITIONS[1:]
CHUNK = 512  # examples at once: bounds the memory


def squared_slopes(network, caches, slopes):
    r"""Pull the slopes at the outputs back, layer by layer, and square those of the parameters.

    .. math:: \delta \leftarrow f'(a) \odot \delta, \qquad
              \sum_n \bigl(\partial_W \log p_n\bigr)^2 = (h^2)^\top (\delta^2), \qquad
              \sum_n \bigl(\partial_b \log p_n\bigr)^2 = \sum_n \delta_n^2, \qquad
              \delta \leftarrow \delta\, W^\top

    Parameters
    ----------
    network : ibpcl.models.network.Network
        A network of plain layers.
    caches : list of tuple
        What each stage of its forward pass kept.
    slopes : ndarray, shape (1, N, C)
        Of the log likelihood of each example, at the outputs.

    Returns
    -------
    squares : dict of str to dict
        By layer and name, summed over examples; of an autoencoder only those of the decoder.
    """
    squares = {}
    for layer, cache in zip(reversed(network.stages), reversed(caches), strict=True):
        # z is given: what lies before it has no information
        if layer is network.codes:
            break
        (h, weight), active, *_ = cache
        delta = activate_vjp(slopes, active).reshape(-1, layer.units)
        squares[layer.name] = {
            "weight.mu": (h * h).T @ (delta * delta),
            "bias.mu": (delta * delta).sum(axis=0),
        }
        slopes = (delta @ weight[0].T)[None]
    return squares


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
        Squared nats a squared unit of the parameter, for one example: the mean, not the sum; >= 0.
        Of an autoencoder that of the decoder; what lies before the codes has 0.

    Raises
    ------
    ValueError
        For an unknown definition, or no examples.

    Examples
    --------
    >>> from ibpcl.models.plain import network
    >>> one = network(1, (1,), 2)
    >>> w = np.array([1.0, 0.0, 0.0, 0.0, 0.0,
    ...     0.0])     # h = x, and both classes are equally likely
    >>> diagonal(one, w, np.array([[3.0]]), None, "exact", None)[2:4]
    array([2.25, 2.25])
    """
    known = DEFINITIONS if isinstance(network.likelihood, Softmax) else DEFINITIONS_OF_IMAGES
    if definition not in known:
        raise ValueError(
            f"fisher.diagonal: definition must be one of {', '.join(known)}, got {definition!r}"
        )
    if len(x) == 0:
        raise ValueError("fisher.diagonal: x must hold at least one example")
    numpy = backend("numpy")
    views = network.layout.layers(vector)
    total = np.zeros_like(vector)
    information = network.layout.layers(total)
    for start in range(0, len(x), CHUNK):
        rows = slice(start, start + CHUNK)
        inputs = x[rows]
        noise = {}
        if network.codes:
            noise["codes"] = {
                "eps": rng.standard_normal((1, len(inputs), network.codes.units), dtype=np.float32)
            }
        (outputs, _), (_, caches) = network.forward(vector, inputs, noise, Pass(numpy, {}))
        if definition == "exact":
            answers = [np.full(len(inputs), label) for label in range(network.outputs)]
        else:
            answers = [
                network.likelihood.draw(views, outputs[0], rng)
                if definition == "sampled"
                else targets[rows]
            ]
        for y in answers:
            log_p, likelihood_cache = network.likelihood.log_density(views, outputs, y, numpy)
            # Slopes are linear in what is sent down: a root here weighs their squares by p(y | x).
            weights = np.exp(log_p / 2) if definition == "exact" else np.ones_like(log_p)
            slopes, _ = network.likelihood.log_density_vjp(weights, likelihood_cache)
            for name, squares in squared_slopes(network, caches, slopes).items():
                for part, values in squares.items():
                    information[name][part] += values
    if not np.isfinite(total).all():
        raise NonFiniteError(
            "the Fisher information is not finite: lower the learning rate, or check the scale "
            "of the inputs"
        )
    return total / len(x)
