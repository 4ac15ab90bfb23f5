r"""A multilayer network with masked hidden layers and one head: its parameters, its noise, and both its passes.

Kumar et al. (2021), Sec. 3.1: :math:`W^l = B^l \odot V^l` in every hidden layer, no mask at the output.
"""

from dataclasses import dataclass, field
from functools import cached_property
from math import gamma
from typing import NamedTuple

import numpy as np

from ibpcl.models import layers
from ibpcl.models.layers import STREAMS_PER_LAYER
from ibpcl.models.parameters import Entry, Layout, collect
from ibpcl.numerics import inverse_softplus
from ibpcl.primitives import activations

ACTIVATIONS = ("relu", "leaky_relu", "softplus", "tanh")
MASK_KLS = ("bernoulli", "concrete")
MASK_LINKS = ("logit", "log")
STANDARD_MASKS = layers.MaskModel()
# Shape of the Weibull that a learned alpha starts from: a standard deviation of 28 % of its mean.
ALPHA_SHAPE = 4.0


class Noise(NamedTuple):
    """What one relaxed pass draws: a :class:`ibpcl.models.layers.Noise` a hidden layer, and the head's (S, N, C)."""

    hidden: tuple
    head: np.ndarray


@dataclass(frozen=True)
class MaskedMLP:
    """The shape of a masked network; it holds no parameters, only what they mean.

    Parameters
    ----------
    inputs : int
        Width D of the data.
    hidden : tuple of int
        Units of each hidden layer.
    outputs : int
        Width C of the head.
    activation : {"relu", "leaky_relu", "softplus", "tanh"}
        Of the hidden layers.
    mask_model : MaskModel
        How the masks are modelled.
    learns_alpha : bool
        Whether each hidden layer has a Weibull posterior of its concentration alpha.
    kept : tuple of int, optional
        If only the weights that hard masks keep are there: how many, of each hidden layer.  There are then no
        parameters of masks, sticks and alphas.

    Raises
    ------
    ValueError
        For an unknown activation, divergence or link, a size below one, or no hidden layer.
    """

    inputs: int
    hidden: tuple[int, ...]
    outputs: int
    activation: str = "relu"
    mask_model: layers.MaskModel = STANDARD_MASKS
    learns_alpha: bool = False
    kept: tuple[int, ...] | None = field(default=None, kw_only=True)

    def __post_init__(self):
        if min(self.inputs, self.outputs, *self.hidden, len(self.hidden)) < 1:
            raise ValueError(f"MaskedMLP: all sizes must be at least 1 and there must be a hidden layer, got "
                             f"{self.inputs} inputs, hidden {self.hidden}, {self.outputs} outputs")
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"MaskedMLP: activation must be one of {ACTIVATIONS}, got {self.activation!r}")
        for name, allowed in (("kl", MASK_KLS), ("link", MASK_LINKS)):
            if getattr(self.mask_model, name) not in allowed:
                raise ValueError(f"MaskedMLP: mask_{name} must be one of {allowed}, "
                                 f"got {getattr(self.mask_model, name)!r}")

    @cached_property
    def layout(self):
        """The order of the parameters: means, log standard deviations, mask offsets, sticks, and alphas if learned."""
        masked = {f"hidden{i}": shape for i, shape in enumerate(self.shapes)}
        whole = {**masked, "head": (self.hidden[-1], self.outputs)}
        weights = whole
        if self.kept is not None:
            weights = whole | {name: (kept,) for name, kept in zip(masked, self.kept, strict=True)}
        entries = []
        for part in ("mu", "log_sigma"):
            for name, shape in whole.items():
                entries.append(Entry(f"{name}.weight.{part}", weights[name], part))
                entries.append(Entry(f"{name}.bias.{part}", shape[1:], part))
        if self.kept is None:
            entries += [Entry(f"{name}.rho", shape, "rho") for name, shape in masked.items()]
            entries += [Entry(f"{name}.{raw}", self.mask_model.stick_shape(shape), "sticks")
                        for name, shape in masked.items() for raw in ("raw_a", "raw_b")]
            if self.learns_alpha:
                entries += [Entry(f"{name}.{raw}", (), "alpha") for name in masked
                            for raw in ("raw_shape", "raw_scale")]
        return Layout(entries + self.extra_entries())

    def extra_entries(self):
        """Return the entries that a kind of network adds to the layout, each outside the layers."""
        return []

    @property
    def shapes(self):
        """The shape (D, K) of each hidden layer's weights."""
        return tuple(zip((self.inputs, *self.hidden), self.hidden, strict=False))

    def layers(self, vector):
        """Return the parameters of each layer, hidden ones first, the head last: dicts of views into ``vector``."""
        views = self.layout.layers(vector)
        return [views[name] for name in (*(f"hidden{i}" for i in range(len(self.hidden))), "head")]

    def initial(self, rng, alpha, sigma, spread, dtype=np.float32):
        r"""Draw the parameters before training.

        Weights' means are normal with standard deviation ``spread``; all standard deviations are ``sigma``; biases'
        means and rho are 0; the sticks start at their prior, Kumaraswamy(alpha, 1) = Beta(alpha, 1), and a learned
        alpha at a Weibull of shape 4 whose mean is ``alpha``.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of the means.
        alpha : sequence of float
            The IBP's concentration for each hidden layer, > 0.
        sigma, spread : float
            Both > 0.
        """
        vector = np.zeros(self.layout.size, dtype)
        for parameters in self.layers(vector):
            parameters["weight.mu"][...] = rng.normal(0.0, spread, parameters["weight.mu"].shape)
            parameters["weight.log_sigma"][...] = parameters["bias.log_sigma"][...] = np.log(sigma)
        for parameters, concentration in zip(self.layers(vector), alpha, strict=False):
            parameters["raw_a"][...] = inverse_softplus(float(concentration))
            parameters["raw_b"][...] = inverse_softplus(1.0)
            if self.learns_alpha:
                parameters["raw_shape"][...] = inverse_softplus(ALPHA_SHAPE)
                parameters["raw_scale"][...] = inverse_softplus(float(concentration) / gamma(1 + 1 / ALPHA_SHAPE))
        return vector

    def noise(self, key, samples, batch, backend, dtype=np.float32):
        """Draw what :meth:`relaxed` needs; a function of the key (whose ``stream`` is set here) and the sizes."""
        *hidden, head = (key._replace(stream=STREAMS_PER_LAYER * i) for i in range(len(self.hidden) + 1))
        wanted = [layers.wanted(own, samples, shape, self.mask_model)
                  for own, shape in zip(hidden, self.shapes, strict=True)]
        drawn, (eps,) = layers.draw(wanted, [("normal", head, (samples, batch, self.outputs))], backend, dtype)
        return Noise(tuple(drawn), eps)

    def fixed_noise(self, key, samples, batch, backend, dtype=np.float32):
        """Draw what :meth:`fixed` needs: one array (S, N, K) a layer, head included."""
        return tuple(backend.draw([("normal", key._replace(stream=STREAMS_PER_LAYER * i), (samples, batch, width))
                                   for i, width in enumerate((*self.hidden, self.outputs))], dtype))

    def relaxed(self, vector, x, noise, tau, backend):
        """Evaluate the network with sampled masks and weights.

        Returns
        -------
        out : tuple
            Outputs (S, N, C), and the divergence of all masks (S,), nats.
        cache : tuple
            What :meth:`relaxed_vjp` needs.
        """
        *hidden, head = self.layers(vector)
        activate, activate_vjp = self._activation(backend)
        h, divergence, caches = x, 0, []
        for parameters, layer_noise in zip(hidden, noise.hidden, strict=True):
            (h, layer_divergence), cache = layers.relaxed(parameters, h, layer_noise, tau, self.mask_model, backend)
            h, activation_cache = activate(h)
            divergence = divergence + layer_divergence
            caches.append((cache, activation_cache))
        outputs, head_cache = layers.fixed(head, None, h, noise.head, backend)
        return (outputs, divergence), (vector, caches, activate_vjp, head_cache, backend)

    def relaxed_vjp(self, dout, cache):
        """Pull the gradients at the outputs and at the divergence back to ``vector``."""
        doutputs, ddivergence = dout
        vector, caches, activate_vjp, head_cache, backend = cache
        gradient, views, copy = self._gradient(vector, backend)
        dh, head = layers.fixed_vjp(doutputs, head_cache, out=views["head"])
        found = {"head": head}
        for i in reversed(range(len(caches))):
            layer_cache, activation_cache = caches[i]
            dh, name = activate_vjp(dh, activation_cache), f"hidden{i}"
            dh, found[name] = layers.relaxed_vjp((dh, ddivergence), layer_cache, i > 0, views[name])
        collect(found, views, copy)
        return gradient

    def _gradient(self, vector, backend):
        """Return room for a gradient, its views by layer, and who copies into them."""
        empty, copy = (np.empty, np.copyto) if backend is None else (backend.empty, backend.copy)
        gradient = empty(vector.shape, vector.dtype)
        return gradient, self.layout.layers(gradient), copy

    def _activation(self, backend):
        functions = activations if backend is None else backend.activations
        return getattr(functions, self.activation), getattr(functions, self.activation + "_vjp")

    def fixed(self, vector, masks, x, noise, backend=None):
        """Evaluate the network with given binary masks, one (D, K) or None a hidden layer: outputs (S, N, C).

        The primitives compute it if no backend is given.
        """
        h, caches = x, []
        for i, (parameters, mask) in enumerate(zip(self.layers(vector), (*masks, None), strict=True)):
            activation = self.activation if i < len(self.hidden) else None
            h, cache = layers.fixed(parameters, mask, h, noise[i], backend, activation)
            caches.append(cache)
        return h, (vector, caches, backend)

    def fixed_vjp(self, doutputs, cache):
        """Pull the gradient at the outputs back to ``vector``; masks and sticks get none."""
        vector, caches, backend = cache
        gradient, views, copy = self._gradient(vector, backend)
        found, dh = {}, doutputs
        for i in reversed(range(len(caches))):
            name = f"hidden{i}" if i < len(caches) - 1 else "head"
            dh, found[name] = layers.fixed_vjp(dh, caches[i], i > 0, views[name])
        collect(found, views, copy)
        return gradient


def write(views, values):
    """Write each value into the view of the same name."""
    for name, value in values.items():
        views[name][...] = value
