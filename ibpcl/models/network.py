r"""Networks: a sequence of stages with a likelihood.

Most stages are layers.  An autoencoder has codes in between; a network of images has convolutions
and pooling, a deep network residual blocks.

A :class:`Network` holds no parameters.  It defines their order in one flat vector, the noise that a
pass draws, and the forward and backward pass.  Kumar et al. (2021), Secs. 3.1 and 3.3.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from ibpcl.models.codes import Codes, add
from ibpcl.models.depth import Blocks
from ibpcl.models.layers import Gaussian, Layer, Plain
from ibpcl.models.likelihoods import Likelihood
from ibpcl.models.masked import Masked
from ibpcl.models.parameters import Layout, collect

# Order of the blocks of parameters in the vector; within a block the layers follow one another.
BLOCKS = (
    "plain",
    "mu",
    "log_sigma",
    "rho",
    "sticks",
    "alpha",
    "gates",
    "codes",
    "prior",
    "noise",
    "prior_rho",
    "film",
    "scales",
    "factor",
)
INPUTS = "inputs"  # the source of the first layer, see Network.sources
KINDS = {"plain": Plain, "gaussian": Gaussian, "masked": Masked}


@dataclass(frozen=True)
class Network:
    """A sequence of layers and the likelihood of the targets given the outputs.

    Parameters
    ----------
    stages : tuple of ibpcl.models.layers.Layer and other stages
        Layers, :class:`ibpcl.models.convolution.Convolution`,
        :class:`ibpcl.models.convolution.Pool`, :class:`ibpcl.models.depth.Blocks`, and at most one
        stage of :class:`ibpcl.models.codes.Codes`, in the order of evaluation.
    likelihood : ibpcl.models.likelihoods.Likelihood
        Likelihood of the targets given the outputs of the last layer.

    Examples
    --------
    >>> from ibpcl.inference.backend import backend
    >>> from ibpcl.models import layers, likelihoods, starts
    >>> from ibpcl.noise import Key
    >>> network = classifier(4, (3,), likelihoods.Softmax(), 2, Masked)
    >>> vector = network.initial(starts.he(np.random.default_rng(0)), sigma=0.1, alpha=(2.0,))
    >>> numpy = backend("numpy")
    >>> noise = network.noise(Key(0, 0, 0, 0), samples=5, batch=2, backend=numpy)
    >>> (outputs, divergences), cache = network.forward(
    ...     vector, np.ones((2, 4)), noise, layers.Pass(numpy, tau=1.0))
    >>> outputs.shape, divergences["kl_masks"].shape
    ((5, 2, 2), (5,))
    """

    stages: tuple[object, ...]
    likelihood: Likelihood

    @cached_property
    def layers(self):
        """All layers by name, in the order of evaluation."""
        return {layer.name: layer for stage in self.stages for layer in stage.layers}

    @cached_property
    def composed(self):
        """The stages that are not layers, in the order of evaluation."""
        return tuple(stage for stage in self.stages if not isinstance(stage, Layer))

    @cached_property
    def masked(self):
        """The masked layers by name; then residual blocks, whose switches are masks."""
        parts = self.layers | {stage.name: stage for stage in self.composed if stage.entries()}
        return {name: part for name, part in parts.items() if isinstance(part, (Masked, Blocks))}

    @cached_property
    def bypassed(self):
        """Names in ``masked`` that may be empty, because a residual sum passes the signal on."""
        blocks = [stage for stage in self.composed if isinstance(stage, Blocks)]
        return {part.name for stage in blocks for part in (stage, *stage.layers)}

    def with_sticks(self, name):
        """Return the layer, or the residual blocks, of this name.

        Parameters
        ----------
        name : str
            Name of a layer, or a key of ``masked``.

        Returns
        -------
        part : ibpcl.models.layers.Layer or ibpcl.models.depth.Blocks
            It has the method ``kl_sticks``.
        """
        return self.layers[name] if name in self.layers else self.masked[name]

    @cached_property
    def sources(self):
        """Input of each layer, by name: another stage, or ``inputs``."""
        sources = {}
        last = INPUTS
        for stage in self.stages:
            sources |= {layer.name: last for layer in stage.layers}
            last = stage.name
        return sources

    @cached_property
    def codes(self):
        """The codes between encoder and decoder; None in a network without codes."""
        return next((stage for stage in self.stages if isinstance(stage, Codes)), None)

    @property
    def inputs(self):
        """Width D of the inputs."""
        return self.stages[0].inputs

    @property
    def outputs(self):
        """Width of the outputs."""
        return self.stages[-1].units

    @cached_property
    def layout(self):
        """Order of the parameters in the vector: by the blocks in :data:`BLOCKS`, then by layer."""
        entries = [entry for layer in self.layers.values() for entry in layer.entries()]
        entries += [entry for stage in self.composed for entry in stage.entries()]
        return Layout(
            sorted(
                entries + self.likelihood.entries(self.outputs),
                key=lambda entry: BLOCKS.index(entry.block),
            )
        )

    def among(self, seen):
        """Return the network with a softmax over some of the classes.

        Parameters
        ----------
        seen : tuple of int or None
            Labels of these classes, ascending; None keeps the network as it is.

        Returns
        -------
        network : Network
            With the same layers.

        Raises
        ------
        ValueError
            If the likelihood is not a softmax.
        """
        return self if seen is None else replace(self, likelihood=self.likelihood.among(seen))

    def rows(self, name, batch):
        """Return how many rows a layer or stage evaluates for a minibatch.

        Parameters
        ----------
        name : str
            Name of the layer or stage; not used.
        batch : int
            Number of examples N.

        Returns
        -------
        rows : int
            The same number.
        """
        return batch

    def noise(self, key, samples, batch, backend, dtype=np.float32, relaxed=True):
        """Draw the noise of one pass.

        Parameters
        ----------
        key : ibpcl.noise.Key
            Key that determines the noise.  Its ``stream`` is ignored: every layer has its own
            streams.
        samples : int
            Number of Monte Carlo samples S.  For 0 there is one sample, with all noise 0.
        batch : int
            Number of examples N.
        backend : ibpcl.inference.backend.Backend
            The functions that draw.
        dtype : dtype
            float32 or float64.
        relaxed : bool
            True if masks are sampled, False if they are given.

        Returns
        -------
        noise : dict of str to dict
            ``noise[layer][name]`` is an array; an autoencoder also has ``noise["codes"]``, and
            residual blocks have the noise of their switches.
        """
        wanted = {}
        stream = 0
        silent = samples == 0
        samples = max(1, samples)
        for name, layer in self.layers.items():
            rows = self.rows(name, batch)
            wanted[name] = layer.noise(key._replace(stream=stream), samples, rows, relaxed)
            stream += layer.streams
        for stage in self.composed:
            rows = self.rows(stage.name, batch)
            draws = stage.noise(key._replace(stream=stream), samples, rows, relaxed)
            stream += stage.streams
            # a convolution has the name of its layer, and draws nothing itself
            wanted |= {stage.name: draws} if draws else {}
        asked = [draw for draws in wanted.values() for draw in draws.values()]
        drawn = iter(
            [np.zeros(draw.shape, dtype) for draw in asked]
            if silent
            else backend.noise.draw(asked, dtype)
        )
        return {name: {kind: next(drawn) for kind in draws} for name, draws in wanted.items()}

    def initial(self, start, sigma=1.0, alpha=(), dtype=np.float32):
        """Return the parameters before training.

        Parameters
        ----------
        start : callable
            ``start(layer, parameters)`` writes the initial means of a layer's weights and biases
            into the arrays ``parameters[name]``; see :mod:`ibpcl.models.starts`.
        sigma : float
            Initial standard deviation of all Gaussian weights, > 0.
        alpha : sequence of float
            Concentration of the IBP prior, > 0, one per element of ``masked``.  The sticks start at
            their prior.
        dtype : dtype
            Type of the vector.

        Returns
        -------
        vector : ndarray, shape (P,)
            The parameters, in the order of ``layout``.
        """
        vector = np.zeros(self.layout.size, dtype)
        if "log_sigma" in self.layout.blocks:
            vector[self.layout.block("log_sigma")] = np.log(sigma)
        views = self.layout.layers(vector)
        for name, layer in self.layers.items():
            start(layer, views[name])
        for (name, layer), concentration in zip(self.masked.items(), alpha, strict=True):
            layer.start_sticks(views[name], concentration)
        self.likelihood.start(views)
        return vector

    def forward(self, vector, x, noise, options):
        """Evaluate the network.

        Parameters
        ----------
        vector : ndarray, shape (P,)
            The parameters, in the order of ``layout``.
        x : ndarray, shape (N, D)
            Inputs.
        noise : dict of str to dict
            Result of :meth:`noise`; empty for a network of plain layers.
        options : ibpcl.models.layers.Pass
            Backend, hard masks or None, temperature and scale.

        Returns
        -------
        out : tuple
            The outputs, shape (S, N, C), with S = 1 for a network without noise; and a dict of KL
            divergences by name, each of shape (S,), in nats for the whole task.
        cache : tuple
            Input of :meth:`forward_vjp`.
        """
        views = self.layout.layers(vector)
        h = x
        divergences = {}
        caches = []
        for stage in self.stages:
            (h, stage_divergences), cache = stage.forward(views, h, noise, options)
            add(divergences, stage_divergences)
            caches.append(cache)
        return (h if h.ndim == 3 else h[None], divergences), (vector, caches)

    def forward_vjp(self, dout, cache):
        """Pull the gradients at the outputs and at the divergences back to ``vector``.

        Parameters
        ----------
        dout : tuple
            Gradient at the outputs (S, N, C), and a dict of gradients at the divergences, (S,)
            each.
        cache : tuple
            From :meth:`forward`.

        Returns
        -------
        gradient : ndarray, shape (P,)
            Gradient at ``vector``.
        """
        dh, ddivergences = dout
        vector, caches = cache
        gradient = np.empty_like(vector)
        by_layer = {}
        for i in reversed(range(len(caches))):
            dh, gradients = self.stages[i].forward_vjp((dh, ddivergences), caches[i], i > 0)
            for name, found in gradients.items():
                # a layer that uses the sticks of another one has a gradient for it, too
                known = by_layer.setdefault(name, {})
                known |= {
                    part: known[part] + value if part in known else value
                    for part, value in found.items()
                }
        collect(by_layer, self.layout.layers(gradient))
        return gradient


def classifier(
    inputs, hidden, likelihood, outputs, kind, activation="relu", head=Gaussian, **options
):
    """Return a network with hidden layers of one kind and an output layer, the head.

    The hidden layers are called ``hidden0``, ``hidden1``, ..., the output layer ``head``.  The
    network also serves regressions.

    Parameters
    ----------
    inputs : int
        Width D of the inputs, at least 1.
    hidden : sequence of int
        Number of units of each hidden layer, at least 1 each; at least one layer.
    likelihood : ibpcl.models.likelihoods.Likelihood
        Likelihood of the targets given the outputs.
    outputs : int
        Width C of the head, at least 1.
    kind : type
        Class of the hidden layers, such as :class:`ibpcl.models.masked.Masked`.
    activation : {"relu", "leaky_relu", "softplus", "tanh"}
        Activation function of the hidden layers.
    head : type
        Class of the head.
    **options
        Further arguments of ``kind``, such as ``model``.

    Returns
    -------
    network : Network
        The network.

    Raises
    ------
    ValueError
        If a size is below 1, the hidden layers are missing, or the activation is unknown.

    Examples
    --------
    >>> from ibpcl.models.likelihoods import Softmax
    >>> network = classifier(784, (100, 50), Softmax(), 10, Masked)
    >>> list(network.layers), network.layout.blocks
    (['hidden0', 'hidden1', 'head'], ('mu', 'log_sigma', 'rho', 'sticks'))
    """
    _check_sizes(inputs, *hidden, outputs)
    layers = [
        kind(f"hidden{i}", *shape, activation, **options)
        for i, shape in enumerate(pairwise((inputs, *hidden)))
    ]
    return Network((*layers, head("head", hidden[-1], outputs)), likelihood)


def autoencoder(
    inputs, hidden, width, likelihood, kinds=None, activation="relu", learns_prior=False, **options
):
    """Return an autoencoder: an encoder, Gaussian codes, and a decoder with mirrored widths.

    The layers are ``encoder0``, ..., ``mean`` and ``scale`` of the codes, ``decoder0``, ..., and
    ``pixels``.

    Parameters
    ----------
    inputs : int
        Width D of the images, at least 1.
    hidden : sequence of int
        Number of units of the encoder's hidden layers, at least 1 each; at least one layer.  The
        decoder has them in reverse order.
    width : int
        Width L of the codes, at least 1.
    likelihood : ibpcl.models.likelihoods.Likelihood
        Likelihood of the pixels.
    kinds : sequence of {"masked", "gaussian", "plain"}, optional
        Kind of each layer in the order above.  By default, all are masked except ``pixels``, which
        is Gaussian.
    activation : {"relu", "leaky_relu", "softplus", "tanh"}
        Activation function of the hidden layers.
    learns_prior : bool
        Whether mean and standard deviation of the codes' prior are parameters; otherwise the prior
        is standard normal.
    **options
        Further arguments of the masked layers, such as ``model``.

    Returns
    -------
    network : Network
        The autoencoder.

    Raises
    ------
    ValueError
        If a size is below 1, the hidden layers are missing, ``kinds`` does not name one kind for
        each layer, or the activation is unknown.

    Examples
    --------
    >>> from ibpcl.models.likelihoods import Bernoulli
    >>> list(autoencoder(784, (200,), 20, Bernoulli()).layers)
    ['encoder0', 'mean', 'scale', 'decoder0', 'pixels']
    """
    _check_sizes(inputs, *hidden, width)
    count = 2 * len(hidden) + 3
    kinds = ("masked",) * (count - 1) + ("gaussian",) if kinds is None else tuple(kinds)
    if len(kinds) != count or not set(kinds) <= KINDS.keys():
        raise ValueError(
            f"network: kinds must name one of {', '.join(KINDS)} for each of {count} layers, got "
            f"{kinds}"
        )
    made = iter(kinds)

    def layer(name, shape, active):
        kind = next(made)
        return KINDS[kind](
            name, *shape, activation if active else None, **(options if kind == "masked" else {})
        )

    encoder = [
        layer(f"encoder{i}", shape, True) for i, shape in enumerate(pairwise((inputs, *hidden)))
    ]
    codes = Codes(
        *(layer(name, (hidden[-1], width), False) for name in ("mean", "scale")), learns_prior
    )
    decoder = [
        layer(f"decoder{i}", shape, True)
        for i, shape in enumerate(pairwise((width, *hidden[::-1])))
    ]
    return Network(
        (*encoder, codes, *decoder, layer("pixels", (hidden[0], inputs), False)), likelihood
    )


def _check_sizes(inputs, *rest):
    if len(rest) < 2 or min(inputs, *rest) < 1:
        raise ValueError(
            f"network: sizes must be at least 1, with at least one hidden layer, got {inputs} "
            f"inputs, hidden {rest[:-1]}, {rest[-1]} outputs or codes"
        )
