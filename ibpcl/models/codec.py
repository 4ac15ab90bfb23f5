r"""Two networks with Gaussian codes between them: their parameters, their noise, and both their passes.

Kumar et al. (2021), Sec. 3.3 and supplement G.  The encoder computes each image's posterior
:math:`q(z | x) = \mathcal N(m, s^2)`, the decoder the pixels' distribution given z.  Means m and log standard
deviations of the codes are **two layers**, each with masks and sticks of its own: in one layer the sticks, which order
its columns, would switch the later half off before the first, and the standard deviations would not be learned.  To
each of m and log s a number a code is added that no mask touches.  A code whose column is empty in log s then has a
standard deviation of its own, the same for all images, and not 1: with the prior's width it could hardly carry
anything.  One whose column is empty in m can still lie where its prior does.

Layers are of the three kinds of :mod:`ibpcl.models.kinds`.  All hidden layers of the paper's own model are masked and
its output layer is Gaussian; the methods that it is compared with have layers of the other kinds.
"""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ibpcl.models import kinds, layers
from ibpcl.models.layers import STREAMS_PER_LAYER
from ibpcl.models.mlp import ACTIVATIONS, STANDARD_MASKS
from ibpcl.models.parameters import Entry, Layout, collect
from ibpcl.numerics import inverse_softplus
from ibpcl.primitives import latent

# Factors of the weights' spread before training.  Codes start near their prior, pixels near their biases: else all the
# decoder gets at first is noise of the width of its inputs, it learns not to listen, and the codes are never used.
QUIET = {"mean": 0.1, "scale": 0.1, "pixels": 0.3}
CODES = ("mu", "log_sigma")                                  # of what is added to them


class Noise(NamedTuple):
    """What one pass draws: for each layer what its kind needs (None for a plain one), and the codes' (S, N, L)."""

    layers: tuple
    latent: np.ndarray


@dataclass(frozen=True)
class Codec:
    """The shape of encoder and decoder; it holds no parameters, only what they mean.

    Parameters
    ----------
    inputs : int
        Width D of the images.
    encoder, decoder : tuple of int
        Units of the hidden layers, each in the order of the data's way.
    latent : int
        Width L of the codes.
    kinds : tuple of {"masked", "gaussian", "plain"}, optional
        Of the layers in the order of ``names``; if not given, all are masked but the last, which is Gaussian.
    activation : {"relu", "leaky_relu", "softplus", "tanh"}
        Of the hidden layers.
    mask_model : MaskModel
        How the masks are modelled.
    learns_prior : bool
        Whether mean and standard deviation of the codes' prior are parameters; else it is standard normal.
    read : int, optional
        How many pixels the encoder is given, if not all ``inputs``; the decoder makes all of them.
    kept : tuple of int, optional
        How many weights of each masked layer there are, if only those that hard masks keep: see
        :class:`ibpcl.models.mlp.MaskedMLP`.

    Raises
    ------
    ValueError
        For a size below one, no hidden layer on either side, or an unknown word.
    """

    inputs: int
    encoder: tuple[int, ...]
    latent: int
    decoder: tuple[int, ...]
    kinds: tuple[str, ...] | None = None
    activation: str = "relu"
    mask_model: layers.MaskModel = STANDARD_MASKS
    learns_prior: bool = False
    read: int | None = None
    kept: tuple[int, ...] | None = field(default=None, kw_only=True)

    def __post_init__(self):
        if self.read is None:
            object.__setattr__(self, "read", self.inputs)
        if min(self.inputs, self.read, self.latent, *self.encoder, *self.decoder, len(self.encoder),
               len(self.decoder)) < 1:
            raise ValueError(f"Codec: all sizes must be at least 1 and there must be hidden layers, got "
                             f"{self.inputs} inputs, encoder {self.encoder}, latent {self.latent}, "
                             f"decoder {self.decoder}")
        count = len(self.encoder) + len(self.decoder) + 3
        if self.kinds is None:
            object.__setattr__(self, "kinds", ("masked",) * (count - 1) + ("gaussian",))
        if len(self.kinds) != count or not set(self.kinds) <= set(kinds.KINDS):
            raise ValueError(f"Codec: kinds must name one of {', '.join(kinds.KINDS)} for each of {count} layers, "
                             f"got {self.kinds}")
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"Codec: activation must be one of {', '.join(ACTIVATIONS)}, got {self.activation!r}")

    @cached_property
    def shapes(self):
        """The shape (D, K) of each layer's weights by its name, in the order in which they are evaluated."""
        found = {f"encoder{i}": shape for i, shape in enumerate(pairwise((self.read, *self.encoder)))}
        found |= dict.fromkeys(("mean", "scale"), (self.encoder[-1], self.latent))
        found |= {f"decoder{i}": shape for i, shape in enumerate(pairwise((self.latent, *self.decoder)))}
        return found | {"pixels": (self.decoder[-1], self.inputs)}

    @cached_property
    def names(self):
        """The names of the layers: encoder0 ..., mean, scale, decoder0 ..., pixels."""
        return tuple(self.shapes)

    def of_kind(self, *kinds):
        """Return the names of the layers of some kinds, in order."""
        return tuple(name for name, kind in zip(self.names, self.kinds, strict=True) if kind in kinds)

    @cached_property
    def layout(self):
        """The order of the parameters: plain weights, means, log standard deviations, rho, sticks, codes, prior."""
        masked = self.of_kind("masked")
        weights = self.shapes
        if self.kept is not None:
            weights = weights | {name: (kept,) for name, kept in zip(masked, self.kept, strict=True)}
        entries = []
        for block, chosen, part in (("plain", ("plain",), "mu"), ("mu", ("masked", "gaussian"), "mu"),
                                    ("log_sigma", ("masked", "gaussian"), "log_sigma")):
            for name in self.of_kind(*chosen):
                entries += [Entry(f"{name}.weight.{part}", weights[name], block),
                            Entry(f"{name}.bias.{part}", self.shapes[name][1:], block)]
        if self.kept is None:
            entries += [Entry(f"{name}.rho", self.shapes[name], "rho") for name in masked]
            entries += [Entry(f"{name}.{raw}", self.mask_model.stick_shape(self.shapes[name]), "sticks")
                        for name in masked for raw in ("raw_a", "raw_b")]
        if "scale" in masked:
            entries += [Entry(f"codes.{part}", (self.latent,), "codes") for part in ("mu", "log_sigma")]
        if self.learns_prior:
            entries += [Entry(f"prior.{part}", (self.latent,), "prior") for part in ("mu", "log_sigma")]
        return Layout(entries)

    def layers(self, vector):
        """Return the parameters of each layer by its name: dicts of views into ``vector``."""
        views = self.layout.layers(vector)
        return {name: views[name] for name in self.names}

    def latent_prior(self, vector):
        """Return mean and log standard deviation of the codes' prior, (L,) each."""
        if self.learns_prior:
            return self.layout.view(vector, "prior.mu"), self.layout.view(vector, "prior.log_sigma")
        return np.zeros(self.latent, vector.dtype), np.zeros(self.latent, vector.dtype)

    def initial(self, rng, alpha, sigma, spread, dtype=np.float32):
        r"""Draw the parameters before training.

        The weights' means are normal with standard deviation ``spread`` times :math:`\sqrt{2 / D}`, which with 1 keeps
        the size of ReLU activations from layer to layer (He, Zhang, Ren and Sun, 2015), and less in the layers of
        :data:`QUIET`; all standard deviations are ``sigma``; biases, rho, what is added to the codes, and their prior
        are 0 (its standard deviation 1); the sticks start at their prior.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of the means.
        alpha : sequence of float
            The IBP's concentration for each masked layer, > 0.
        sigma, spread : float
            Both > 0.
        """
        vector = np.zeros(self.layout.size, dtype)
        for layer, parameters in self.layers(vector).items():
            weight = parameters["weight.mu"]
            weight[...] = rng.normal(0.0, QUIET.get(layer, 1.0) * spread * np.sqrt(2 / len(weight)), weight.shape)
            for name in ("weight.log_sigma", "bias.log_sigma"):
                if name in parameters:
                    parameters[name][...] = np.log(sigma)
        for name, concentration in zip(self.of_kind("masked"), alpha, strict=True):
            parameters = self.layers(vector)[name]
            parameters["raw_a"][...] = inverse_softplus(float(concentration))
            parameters["raw_b"][...] = inverse_softplus(1.0)
        return vector

    def noise(self, key, samples, batch, backend, dtype=np.float32, relaxed=True):
        """Draw what a pass needs; a function of the key (whose ``stream`` is set here) and the sizes.

        ``relaxed`` if masks are to be sampled, not if they are given.
        """
        *of_layers, codes = (key._replace(stream=STREAMS_PER_LAYER * i) for i in range(len(self.kinds) + 1))
        masked, others = {}, {"codes": ("normal", codes, (samples, batch, self.latent))}
        for name, kind, own in zip(self.names, self.kinds, of_layers, strict=True):
            shape = self.shapes[name]
            if kind == "masked" and relaxed:
                masked[name] = layers.wanted(own, samples, shape, self.mask_model)
            elif kind != "plain":
                others[name] = ("normal", own, (samples, batch, shape[1]))
        of_masked, of_others = layers.draw(list(masked.values()), list(others.values()), backend, dtype)
        drawn = dict(zip(masked, of_masked, strict=True)) | dict(zip(others, of_others, strict=True))
        return Noise(tuple(drawn.get(name) for name in self.names), drawn["codes"])

    def evaluate(self, vector, x, noise, backend, masks=None, tau=None):
        r"""Encode images, draw codes, and decode them.

        Parameters
        ----------
        vector : ndarray, shape (P,)
            The parameters, in the order of ``layout``.
        x : ndarray, shape (N, D)
            Images.
        noise : Noise
            From :meth:`noise`.
        backend : Backend
            Who computes.
        masks : dict of str to ndarray of bool, shape (D, K), optional
            The hard masks of the masked layers; if not given they are sampled, relaxed.
        tau : float, optional
            Temperature of the relaxed masks, > 0.

        Returns
        -------
        out : tuple
            The decoder's outputs (S, N, D), mean and log standard deviation of the codes (S, N, L), and the divergence
            of all masks (S,), nats.
        cache : tuple
            What :meth:`evaluate_vjp` needs.
        """
        parameters, caches = self.layers(vector), {}
        drawn, kind_of = (dict(zip(self.names, values, strict=True)) for values in (noise.layers, self.kinds))
        divergence = np.zeros(len(noise.latent), vector.dtype)

        def layer(name, h, active=True):
            nonlocal divergence
            mask = None if masks is None else masks.get(name)
            (h, own), caches[name] = kinds.evaluate(kind_of[name], parameters[name], h, drawn[name], mask, tau,
                                                    self.mask_model, backend, self.activation if active else None)
            if masks is None:                                # given ones have none
                divergence = divergence + own
            return h

        h = x
        for i in range(len(self.encoder)):
            h = layer(f"encoder{i}", h)
        codes = [layer(name, h, active=False) for name in ("mean", "scale")]
        # A plain encoder has one output for all samples, (N, L).
        z_mean, z_log_sigma = (part if part.ndim == 3 else np.broadcast_to(part, noise.latent.shape) for part in codes)
        if "codes" in self.layout.blocks:
            z_mean, z_log_sigma = (z + self.layout.view(vector, f"codes.{name}")
                                   for z, name in zip((z_mean, z_log_sigma), CODES, strict=True))
        h, code_cache = latent.sample(noise.latent, z_mean, z_log_sigma)
        for i in range(len(self.decoder)):
            h = layer(f"decoder{i}", h)
        outputs = layer("pixels", h, active=False)
        return (outputs, z_mean, z_log_sigma, divergence), (
            vector, caches, code_cache, [part.ndim == 2 for part in codes], backend)

    def evaluate_vjp(self, dout, cache):
        """Pull the gradients at the four outputs back to ``vector``."""
        dh, dmean, dscale, ddivergence = dout
        vector, caches, code_cache, shared, backend = cache
        gradient, found = backend.empty(vector.shape, vector.dtype), {}
        views = self.layout.layers(gradient)

        def layer(name, dh, needs_dx=True):
            dh, found[name] = kinds.evaluate_vjp((dh, ddivergence), caches[name], needs_dx, views[name])
            return dh

        dh = layer("pixels", dh)
        for i in reversed(range(len(self.decoder))):
            dh = layer(f"decoder{i}", dh)
        by_code = latent.sample_vjp(dh, code_cache)
        dcodes = [one + other for one, other in zip((dmean, dscale), by_code, strict=True)]
        if "codes" in self.layout.blocks:
            found["codes"] = {name: part.sum(axis=(0, 1))    # they were broadcast over S and N
                              for name, part in zip(CODES, dcodes, strict=True)}
        dmean, dscale = (part.sum(axis=0) if once else part for part, once in zip(dcodes, shared, strict=True))
        dh = layer("mean", dmean) + layer("scale", dscale)   # both read the last hidden layer
        for i in reversed(range(len(self.encoder))):
            dh = layer(f"encoder{i}", dh, needs_dx=i > 0)
        collect(found, views, backend.copy)
        return gradient
