r"""One network: a list of layers with a likelihood; an autoencoder has codes between two of them.

A :class:`Network` holds no parameters, only what they mean: their order in one flat vector, what
noise a pass needs, and the passes forth and back.  Kumar et al. (2021), Secs. 3.1 and 3.3.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from ibpcl.models.codes import Codes, add
from ibpcl.models.layers import Gaussian, Layer, Plain
from ibpcl.models.likelihoods import Likelihood
from ibpcl.models.masked import Masked
from ibpcl.models.parameters import Layout, collect

# The order of the parameters in the vector: by what they are, then by layer.
BLOCKS = ("plain", "mu", "log_sigma", "rho", "sticks", "alpha", "gates", "codes", "prior", "noise")
INPUTS = "inputs"  # what the first layer reads
KINDS = {"plain": Plain, "gaussian": Gaussian, "masked": Masked}


@dataclass(frozen=True)
class Network:
    """Layers, one after another, and what the outputs of the last one mean.

    Parameters
    ----------
    stages : tuple of Layer and Codes
        In the order of the data's way.
    likelihood : Likelihood
        Of the targets, given the outputs.
    """

    stages: tuple[Layer | Codes, ...]
    likelihood: Likelihood

    @cached_property
    def layers(self):
        """All layers by name, in the order in which they are evaluated."""
        return {layer.name: layer for stage in self.stages for layer in stage.layers}

    @cached_property
    def masked(self):
        """The masked layers by name."""
        return {name: layer for name, layer in self.layers.items() if isinstance(layer, Masked)}

    @cached_property
    def sources(self):
        """What each layer reads: the name of another layer, ``inputs`` or ``codes``."""
        found = {}
        last = INPUTS
        for stage in self.stages:
            found |= {layer.name: last for layer in stage.layers}
            last = stage.name
        return found

    @cached_property
    def codes(self):
        """The codes between encoder and decoder; None if there are none."""
        return next((stage for stage in self.stages if isinstance(stage, Codes)), None)

    @property
    def inputs(self):
        """The width D of the inputs that are read."""
        return next(iter(self.layers.values())).inputs

    @property
    def outputs(self):
        """The width of the outputs."""
        return self.stages[-1].units

    @cached_property
    def layout(self):
        """The order of the parameters: by :data:`BLOCKS`, within a block by layer."""
        entries = [entry for layer in self.layers.values() for entry in layer.entries()]
        entries += self.codes.entries() if self.codes else []
        return Layout(
            sorted(
                entries + self.likelihood.entries(self.outputs),
                key=lambda entry: BLOCKS.index(entry.block),
            )
        )

    def noise(self, key, samples, batch, backend, dtype=np.float32, relaxed=True):
        """Draw what a pass needs, by layer and name: a function of the key, but for its ``stream``,
        and of the sizes.

        ``relaxed`` if masks are to be sampled, not if they are given.  For 0 samples there is one,
        of noise 0.
        """
        wanted = {}
        stream = 0
        silent = samples == 0
        samples = max(1, samples)
        for name, layer in self.layers.items():
            wanted[name] = layer.noise(key._replace(stream=stream), samples, batch, relaxed)
            stream += layer.streams
        if self.codes:
            wanted["codes"] = self.codes.noise(key._replace(stream=stream), samples, batch, relaxed)
        asked = [draw for draws in wanted.values() for draw in draws.values()]
        drawn = iter(
            [np.zeros(draw.shape, dtype) for draw in asked]
            if silent
            else backend.noise.draw(asked, dtype)
        )
        return {name: {part: next(drawn) for part in draws} for name, draws in wanted.items()}

    def initial(self, start, sigma=1.0, alpha=(), dtype=np.float32):
        """Return the parameters before training.

        ``start(layer, own)`` draws means of weights and biases into their views: see
        :mod:`ibpcl.models.starts`.  Every standard deviation is ``sigma`` > 0.  ``alpha`` has the
        IBP's concentration, > 0, of each masked layer: sticks start at their prior.
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
            From :meth:`noise`.
        options : ibpcl.models.layers.Pass
            Backend, hard masks or None, temperature and scale.

        Returns
        -------
        out : tuple
            Outputs (S, N, C), and a dict of divergences, (S,) each, nats, for the whole task.
        cache : tuple
            What :meth:`forward_vjp` needs.
        """
        views = self.layout.layers(vector)
        h = x
        divergences = {}
        caches = []
        for stage in self.stages:
            (h, found), cache = stage.forward(views, h, noise, options)
            add(divergences, found)
            caches.append(cache)
        return (h if h.ndim == 3 else h[None], divergences), (vector, caches)

    def forward_vjp(self, dout, cache):
        """Pull the gradients at the outputs and at the divergences back to ``vector``."""
        dh, ddivergences = dout
        vector, caches = cache
        gradient = np.empty_like(vector)
        found = {}
        for i in reversed(range(len(caches))):
            dh, gradients = self.stages[i].forward_vjp((dh, ddivergences), caches[i], i > 0)
            found |= gradients
        collect(found, self.layout.layers(gradient))
        return gradient


def classifier(
    inputs, hidden, likelihood, outputs, kind, activation="relu", head=Gaussian, **options
):
    """Return a network of hidden layers ``hidden0``, ... of one kind, and a ``head``.

    Parameters
    ----------
    inputs : int
        Width D of the data.
    hidden : sequence of int
        Units of each hidden layer, at least one.
    likelihood : Likelihood
        What the outputs mean.
    outputs : int
        Width C of the head.
    kind, head : type
        The classes of the hidden layers, which get the ``options``, and of the head.
    activation : str
        Of the hidden layers.
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
    """Return an encoder with layers ``encoder0``, ..., codes of a width, and the mirrored decoder.

    Parameters
    ----------
    inputs : int
        Width D of the images.
    hidden : sequence of int
        Units of the encoder's hidden layers, at least one; the decoder's are reversed.
    width : int
        Of the codes, L.
    likelihood : Likelihood
        Of the pixels.
    kinds : sequence of {"masked", "gaussian", "plain"}, optional
        Of the layers in their order: encoder, ``mean``, ``scale``, decoder, ``pixels``.  If not
        given, all are masked but the last, which is Gaussian.
    activation : str
        Of the hidden layers.
    learns_prior : bool
        As of :class:`ibpcl.models.codes.Codes`.
    options
        What a masked layer gets.
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
            f"network: sizes must be at least 1 and there must be a hidden layer, got {inputs} "
            f"inputs, hidden {rest[:-1]}, {rest[-1]} outputs or codes"
        )
