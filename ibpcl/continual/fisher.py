r"""The diagonal of the Fisher information of a network of plain layers.

For each parameter it is the expected square of the slope of an example's log likelihood,

.. math::

    F_i = \frac1N \sum_n \mathbb E_{y}\Bigl[\bigl(\partial_{\theta_i} \log p(y | x_n,
        \theta)\bigr)^2\Bigr].

There are three ways to choose y:

``exact``
    The expectation is over the network's own labels, :math:`y \sim p(\cdot | x_n, \theta)`, and is
    computed by summing over all classes.  This is the definition, without noise; it is available
    for classification only.
``sampled``
    One y per example, a label or an image, is drawn from the network.  The estimate is unbiased but
    noisy.
``empirical``
    The targets of the data are used for y, as in the public code of VCL.  This is not an estimate
    of the Fisher information: once the network is confident and correct, these slopes vanish faster
    than the information does (Kunstner, Balles and Hennig, 2019, "Limitations of the empirical
    Fisher approximation for natural gradient descent").

In an autoencoder, one code :math:`z_n \sim q(z | x_n)` is drawn per example, and the information is
that of the decoder given z.

The slope of one example with respect to a weight is the product of the layer's input h and the
gradient :math:`\delta` at its pre-activation.  The sum of squares over all examples is therefore
one matrix product, :math:`F_W = (h^2)^\top (\delta^2) / N`.  In a convolution, it is the sum of
these products over all positions, which is squared for each example.  The squared gradient of a
*minibatch*, which some public codes use, is a different quantity; ``docs/baselines.md`` compares
them.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.blas_threads import on_one_thread
from ibpcl.errors import NonFiniteError
from ibpcl.inference.backend import backend
from ibpcl.models.layers import LinearPass, Pass, Plain, activate_vjp
from ibpcl.models.likelihoods import Softmax
from ibpcl.primitives import convolution, pooled_convolution

DEFINITIONS = ("exact", "sampled", "empirical")
DEFINITIONS_OF_IMAGES = DEFINITIONS[1:]
CHUNK = 512  # examples that are evaluated at once, which bounds the memory


@dataclass(frozen=True)
class Squared(Plain):
    """Plain layer whose backward pass returns squared slopes in place of gradients.

    It has the parameters and the forward pass of :class:`ibpcl.models.layers.Plain`, and pulls
    slopes back to its inputs as usual.

    Parameters
    ----------
    name : str
        Name of the layer in the parameter vector, without a dot.
    inputs : int
        Number of inputs D.
    units : int
        Number of units K.
    activation : {"relu", "leaky_relu", "softplus", "tanh"}, optional
        Activation function; none by default.
    positions : int
        Number of rows of inputs that each example has, as in :class:`ibpcl.models.layers.Layer`.
    row_groups : int
        Number of groups of inputs, as in :class:`ibpcl.models.layers.Layer`.
    """

    def forward_vjp(self, dout, cache, needs_dx=True):
        r"""Pull slopes back to the inputs, and square those of the parameters.

        .. math:: \delta = f'(a) \odot dh, \qquad
                  \sum_n \bigl(\partial_W \log p_n\bigr)^2
                  = \sum_n \Bigl(\sum_p h_{np}^\top \delta_{np}\Bigr)^2, \qquad
                  dx = \delta\, W^\top

        The positions p of a convolution share a weight, so their slopes are added before the
        square.  With a single position, the sum is :math:`(h^2)^\top (\delta^2)`.

        Parameters
        ----------
        dout : tuple
            Slopes at the outputs, of their shape, and a dict that is not used.
        cache : tuple
            From the forward pass of a plain layer.
        needs_dx : bool
            Not used.

        Returns
        -------
        dx : ndarray
            Slopes at the inputs, of their shape.
        squares : dict of str to dict
            Squared slopes, summed over examples, ``squares[layer][parameter]``.
        """
        evaluated, shape = cache
        dh = dout[0].reshape(1, -1, dout[0].shape[-1])
        if isinstance(evaluated, LinearPass):
            delta = activate_vjp(dh, evaluated.activation)[0]
            h, weight = evaluated.linear
            dx = (delta @ weight[0].T).reshape(shape)
            of_weight = (h * h).T @ (delta * delta)
        else:
            images = pooled_convolution.at_pre_activations(
                dh.reshape(evaluated.outputs), evaluated.inner
            )
            dx = convolution.conv2d_vjp(images, evaluated.inner[0])[0].reshape(shape)
            h, _ = evaluated.inner[0][-1]
            h = h.reshape(-1, self.positions, self.inputs)
            delta = images.reshape(-1, self.positions, self.units)
            of_weight = np.square(h.transpose(0, 2, 1) @ delta).sum(axis=0)
            delta = delta.sum(axis=1)
        of_bias = (delta * delta).sum(axis=0)
        return dx, {self.name: {"weight.mu": of_weight, "bias.mu": of_bias}}


def squared_slopes(network, caches, slopes):
    """Compute the sum of the squared slopes of each parameter by backpropagation.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        A network of plain layers.
    caches : list of tuple
        Caches of the stages, from the network's forward pass.
    slopes : ndarray, shape (1, N, C)
        Gradient of the log likelihood of each example at the outputs.

    Returns
    -------
    squares : dict of str to dict
        Squared slopes, summed over examples, by layer and parameter; for an autoencoder only those
        of the decoder.
    """
    layers = {
        name: Squared(name, layer.inputs, layer.units, layer.activation, positions=layer.positions)
        for name, layer in network.layers.items()
    }
    squares = {}
    for stage, cache in zip(reversed(network.stages), reversed(caches), strict=True):
        # z is given, so the parameters of the encoder carry no information
        if stage is network.codes:
            break
        slopes, of_stage = stage.with_layers(layers).forward_vjp((slopes, {}), cache)
        squares |= of_stage
    return squares


@on_one_thread
def diagonal(network, vector, x, targets, definition, rng):
    r"""Compute the diagonal of the Fisher information, the mean over examples.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        A network of plain layers, a classifier or an autoencoder.
    vector : ndarray, shape (P,)
        Its parameters.
    x : ndarray, shape (N, D)
        Inputs, at least one.
    targets : ndarray, shape (N,) or (N, D)
        Labels, or the images again; used by ``empirical`` only.
    definition : {"exact", "sampled", "empirical"}
        How y is chosen, see above; ``exact`` is available for classification only.
    rng : numpy.random.Generator
        Source of the codes of an autoencoder and of the targets of ``sampled``; else it may be
        None.

    Returns
    -------
    fisher : ndarray, shape (P,)
        Information per example, >= 0, in squared nats per squared unit of the parameter.  For an
        autoencoder, the elements of the encoder are 0.

    Raises
    ------
    ValueError
        If the definition is unknown or not available, or there are no examples.
    ibpcl.errors.NonFiniteError
        If the result is not finite.

    Examples
    --------
    >>> from ibpcl.models.plain import network
    >>> one = network(1, (1,), 2)
    >>> w = np.array([1.0, 0.0, 0.0, 0.0, 0.0,
    ...     0.0])     # h = x, and both classes are equally likely
    >>> diagonal(one, w, np.array([[3.0]]), None, "exact", None)[2:4]
    array([2.25, 2.25])
    """
    allowed = DEFINITIONS if isinstance(network.likelihood, Softmax) else DEFINITIONS_OF_IMAGES
    if definition not in allowed:
        raise ValueError(
            f"fisher.diagonal: definition must be one of {', '.join(allowed)}, got {definition!r}"
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
            labels = network.likelihood.labels(network.outputs)
            answers = [np.full(len(inputs), label) for label in labels]
        else:
            answers = [
                network.likelihood.draw(views, outputs[0], rng)
                if definition == "sampled"
                else targets[rows]
            ]
        for y in answers:
            log_p, likelihood_cache = network.likelihood.log_density(views, outputs, y, numpy)
            # Slopes are linear in the weight: sqrt(p(y | x)) weights their squares by p(y | x).
            weights = np.exp(log_p / 2) if definition == "exact" else np.ones_like(log_p)
            slopes, _ = network.likelihood.log_density_vjp(weights, likelihood_cache)
            for name, squares in squared_slopes(network, caches, slopes).items():
                for parameter, values in squares.items():
                    information[name][parameter] += values
    if not np.isfinite(total).all():
        raise NonFiniteError(
            "fisher.diagonal: the Fisher information is not finite; lower the learning rate, or "
            "check the scale of the inputs"
        )
    return total / len(x)
