r"""An autoencoder whose weights are numbers: a task's model as it is evaluated, everything a function of z.

Weights are at their posterior means and masks are hard, so hidden units without any weight output
:math:`f(0) = 0` (under all activations but softplus) and are left out, and so are unused rows and columns.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl import primitives
from ibpcl.models import packing
from ibpcl.models.codes import PARTS
from ibpcl.models.layers import activate
from ibpcl.models.likelihoods import Bernoulli
from ibpcl.models.network import Network
from ibpcl.numerics import logit

DARKEST = 0.01                                               # mean pixel from which a bias starts, at least


@dataclass(frozen=True)
class PointAutoencoder:
    """All that evaluation asks of a latent model; :func:`at_means` makes one.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        The autoencoder.
    vector : ndarray, shape (P,)
        Its parameters, of which the likelihood and the codes' prior read theirs.
    weights : dict of str to tuple
        Weights (D, K) and biases (K,) of each layer, by name.
    backend : Backend
        The backend that computes.
    """

    network: Network
    vector: np.ndarray
    weights: dict
    backend: object

    @property
    def latent(self):
        """Width L of the codes."""
        return self.network.codes.units

    @property
    def _views(self):
        return self.network.layout.layers(self.vector)

    def encode(self, x):
        """Return mean and log standard deviation (N, L) of the codes of images (N, D)."""
        stages, codes = self.network.stages, self.network.codes
        h = self._through(stages[:stages.index(codes)], x)
        return tuple(self._through((layer,), h) for layer in codes.layers)

    def prior(self):
        """Return mean and log standard deviation (L,) of the codes' prior."""
        return self.network.codes.prior(self._views, self.vector.dtype)

    def outputs(self, z):
        """Return the decoder's outputs (..., D) for codes (..., L): logits, or means."""
        stages = self.network.stages
        return self._through(stages[stages.index(self.network.codes) + 1:], z)

    def decode(self, z):
        """Return the mean images (..., D) for codes (..., L)."""
        return self.network.likelihood.mean(self.outputs(z))

    def log_likelihood(self, x, z):
        """Return log p(x | z) (K, N), nats, for images (N, D) and codes (K, N, L)."""
        x = np.asarray(x, self.vector.dtype)
        return self.network.likelihood.log_density(self._views, self.outputs(z), x, self.backend)[0]

    def _through(self, layers, h):
        h = np.asarray(h, self.vector.dtype)
        for layer in layers:
            weight, bias = self.weights[layer.name]
            h, _ = activate(layer.activation, h @ weight + bias, self.backend)
        return h


def pixel_biases(x, likelihood):
    """Return the biases (D,) with which the decoder's output is the mean of images (N, D), cut at 1 % and 99 %."""
    mean = x.mean(axis=0)
    return logit(mean.clip(DARKEST, 1 - DARKEST)) if isinstance(likelihood, Bernoulli) else mean


def at_means(network, vector, masks=None, backend=primitives):
    """Return the :class:`PointAutoencoder` whose weights are the means of an autoencoder's, as copies.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        What the parameters mean.
    vector : ndarray, shape (P,)
        The parameters.
    masks : dict of str to ndarray of bool, shape (D, K), optional
        The hard masks of the masked layers.
    backend : Backend, optional
        The backend that computes; the NumPy reference if not given.
    """
    vector, masks, weights = vector.copy(), masks or {}, {}
    views = network.layout.layers(vector)
    units = {name: mask.any(axis=0) for name, mask in masks.items()
             if network.layers[name].activation in packing.ZERO_AT_ZERO}
    for name, (rows, columns) in packing.sides(network, np.ones(network.inputs, bool), units).items():
        weight, bias = views[name]["weight.mu"], views[name]["bias.mu"]
        if name in masks:
            weight, bias = weight * masks[name], bias * masks[name].any(axis=0)
        weights[name] = weight[rows][:, columns], bias[columns]
    if "codes" in views:
        for layer, part in zip(network.codes.layers, PARTS, strict=True):
            weights[layer.name][1][...] += views["codes"][part]
    return PointAutoencoder(network, vector, weights, backend)
