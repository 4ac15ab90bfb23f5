r"""The Fisher information of a network of plain layers: its diagonal, or Kronecker factors.

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

:func:`factors` keeps more than the diagonal: for each layer, a matrix for its inputs and one for
its outputs.
"""

from dataclasses import dataclass
from typing import NamedTuple

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


def rows_and_slopes(layer, dout, cache):
    """Pull slopes back through a plain layer, and return its input rows and its slopes.

    Parameters
    ----------
    layer : ibpcl.models.layers.Plain
        The layer.
    dout : tuple
        Slopes at the outputs, of their shape, and a dict that is not used.
    cache : tuple
        From the forward pass of a plain layer.

    Returns
    -------
    dx : ndarray
        Slopes at the inputs, of their shape.
    h : ndarray, shape (R, D)
        One row of inputs for each example and position.
    delta : ndarray, shape (R, K)
        Slopes at the pre-activations of these rows.
    """
    evaluated, shape = cache
    dh = dout[0].reshape(1, -1, dout[0].shape[-1])
    if isinstance(evaluated, LinearPass):
        delta = activate_vjp(dh, evaluated.activation)[0]
        h, weight = evaluated.linear
        dx = (delta @ weight[0].T).reshape(shape)
    else:
        delta = pooled_convolution.at_pre_activations(
            dh.reshape(evaluated.outputs), evaluated.inner
        )
        dx = convolution.conv2d_vjp(delta, evaluated.inner[0])[0].reshape(shape)
        h, _ = evaluated.inner[0][-1]
    return dx, h.reshape(-1, layer.inputs), delta.reshape(-1, layer.units)


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
        dx, h, delta = rows_and_slopes(self, dout, cache)
        if isinstance(cache[0], LinearPass):
            of_weight = (h * h).T @ (delta * delta)
        else:
            h = h.reshape(-1, self.positions, self.inputs)
            delta = delta.reshape(-1, self.positions, self.units)
            of_weight = np.square(h.transpose(0, 2, 1) @ delta).sum(axis=0)
            delta = delta.sum(axis=1)
        of_bias = (delta * delta).sum(axis=0)
        return dx, {self.name: {"weight.mu": of_weight, "bias.mu": of_bias}}


@dataclass(frozen=True)
class Factored(Plain):
    """Plain layer whose backward pass returns the Kronecker factors of its curvature.

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
        r"""Pull slopes back to the inputs, and return the second moments of inputs and slopes.

        .. math:: A = \sum_{np} \tilde h_{np}^\top \tilde h_{np}, \qquad
                  G = \frac1P \sum_{np} \delta_{np}^\top \delta_{np}, \qquad
                  \tilde h = (h, 1)

        The constant behind the inputs makes the bias one more row of weights.  For a convolution
        with P positions this is the approximation of Grosse and Martens (2016), "A Kronecker-
        factored approximate Fisher matrix for convolution layers": slopes at different positions
        count as uncorrelated.

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
        moments : dict of str to dict
            ``moments[layer]`` has the sums ``inputs`` (D + 1, D + 1) and ``slopes`` (K, K).
        """
        dx, h, delta = rows_and_slopes(self, dout, cache)
        h = np.concatenate([h, np.ones((len(h), 1), h.dtype)], axis=1)
        moments = {"inputs": h.T @ h, "slopes": delta.T @ delta / self.positions}
        return dx, {self.name: moments}


def pulled_back(network, caches, slopes, kind):
    """Pull slopes at the outputs back through layers that return something else than gradients.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        A network of plain layers.
    caches : list of tuple
        Caches of the stages, from the network's forward pass.
    slopes : ndarray, shape (1, N, C)
        Gradient of the log likelihood of each example at the outputs.
    kind : type
        :class:`Squared` or :class:`Factored`.

    Returns
    -------
    found : dict of str to dict
        What the layers return, by layer, summed over examples; for an autoencoder only those of the
        decoder.
    """
    layers = {
        name: kind(name, layer.inputs, layer.units, layer.activation, positions=layer.positions)
        for name, layer in network.layers.items()
    }
    found = {}
    for stage, cache in zip(reversed(network.stages), reversed(caches), strict=True):
        # z is given, so the parameters of the encoder carry no information
        if stage is network.codes:
            break
        slopes, of_stage = stage.with_layers(layers).forward_vjp((slopes, {}), cache)
        found |= of_stage
    return found


def passes(caller, network, vector, x, targets, definition, rng):
    """Yield caches and slopes of the log likelihood, for some examples and targets at a time.

    Parameters
    ----------
    caller : str
        Name of the function, which begins the messages.
    network, vector, x, targets, definition, rng
        As in :func:`diagonal`.

    Yields
    ------
    caches : list of tuple
        Caches of the stages.
    slopes : ndarray, shape (1, N, C)
        Slopes at the outputs.  With ``exact`` they are those of one class, times the square root of
        its probability.
    first : bool
        Whether these examples appear for the first time; with ``exact`` they appear once per class.

    Raises
    ------
    ValueError
        If the definition is unknown or not available, or there are no examples.
    """
    allowed = DEFINITIONS if isinstance(network.likelihood, Softmax) else DEFINITIONS_OF_IMAGES
    if definition not in allowed:
        raise ValueError(
            f"{caller}: definition must be one of {', '.join(allowed)}, got {definition!r}"
        )
    if len(x) == 0:
        raise ValueError(f"{caller}: x must hold at least one example")
    numpy = backend("numpy")
    views = network.layout.layers(vector)
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
        for number, y in enumerate(answers):
            log_p, likelihood_cache = network.likelihood.log_density(views, outputs, y, numpy)
            # Slopes are linear in the weight: sqrt(p(y | x)) weights their squares by p(y | x).
            weights = np.exp(log_p / 2) if definition == "exact" else np.ones_like(log_p)
            slopes, _ = network.likelihood.log_density_vjp(weights, likelihood_cache)
            yield caches, slopes, number == 0


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
    total = np.zeros_like(vector)
    information = network.layout.layers(total)
    steps = passes("fisher.diagonal", network, vector, x, targets, definition, rng)
    for caches, slopes, _ in steps:
        for name, squares in pulled_back(network, caches, slopes, Squared).items():
            for parameter, values in squares.items():
                information[name][parameter] += values
    if not np.isfinite(total).all():
        raise NonFiniteError(
            "fisher.diagonal: the Fisher information is not finite; lower the learning rate, or "
            "check the scale of the inputs"
        )
    return total / len(x)


class Factors(NamedTuple):
    """Kronecker factors of the Fisher information of a layer.

    Attributes
    ----------
    inputs : ndarray, shape (D + 1, D + 1)
        Mean second moment A of the inputs, with a constant 1 behind them.
    slopes : ndarray, shape (K, K)
        Mean second moment G of the slopes at the pre-activations, in squared nats per squared unit.
    """

    inputs: np.ndarray
    slopes: np.ndarray


@on_one_thread
def factors(network, vector, x, targets, definition, rng):
    r"""Compute the Kronecker factors of the Fisher information of each layer.

    .. math:: F_l \approx A_l \otimes G_l, \qquad
              A_l = \frac1N \sum_n \tilde h_n \tilde h_n^\top, \qquad
              G_l = \frac1N \sum_n \mathbb E_y\bigl[\delta_n \delta_n^\top\bigr]

    Martens and Grosse (2015), Eq. 1.  The Fisher information of one example is exactly the product;
    for many it is the mean of products, and not the product of means.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        A network of plain layers, a classifier.
    vector : ndarray, shape (P,)
        Its parameters.
    x : ndarray, shape (N, D)
        Inputs, at least one.
    targets : ndarray, shape (N,)
        Labels; used by ``empirical`` only.
    definition : {"exact", "sampled", "empirical"}
        How y is chosen, see above.
    rng : numpy.random.Generator
        Source of the targets of ``sampled``; else it may be None.

    Returns
    -------
    factors : dict of str to Factors
        By layer.

    Raises
    ------
    ValueError
        If the definition is unknown, or there are no examples.
    ibpcl.errors.NonFiniteError
        If the result is not finite.

    Examples
    --------
    >>> from ibpcl.models.plain import network
    >>> one = network(1, (1,), 2)
    >>> w = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])  # both classes are equally likely
    >>> factors(one, w, np.array([[3.0]]), None, "exact", None)["head"].slopes
    array([[ 0.25, -0.25],
           [-0.25,  0.25]])
    """
    totals = {}
    for caches, slopes, first in passes(
        "fisher.factors", network, vector, x, targets, definition, rng
    ):
        for name, moments in pulled_back(network, caches, slopes, Factored).items():
            so_far = totals.get(name, Factors(0.0, 0.0))
            of_inputs = so_far.inputs + moments["inputs"] if first else so_far.inputs
            totals[name] = Factors(of_inputs, so_far.slopes + moments["slopes"])
    found = {name: Factors(*(each / len(x) for each in total)) for name, total in totals.items()}
    if not all(np.isfinite(each).all() for total in found.values() for each in total):
        raise NonFiniteError(
            "fisher.factors: the Fisher information is not finite; lower the learning rate, or "
            "check the scale of the inputs"
        )
    return found
