r"""An autoencoder whose weights are numbers: a task's model as it is evaluated, everything a function of z.

Weights are at their posterior means and masks are hard, so hidden units without any weight output
:math:`f(0) = 0` (under all activations but softplus) and are left out, and so are unused rows and columns.
"""

from dataclasses import replace

import numpy as np

from ibpcl.models import packing
from ibpcl.models.codes import PARTS, Codes
from ibpcl.models.layers import Plain
from ibpcl.models.likelihoods import Bernoulli
from ibpcl.numerics import logit
from ibpcl.primitives import activations

DARKEST = 0.01                                               # mean pixel from which a bias starts, at least


class PointAutoencoder:
    """All that evaluation asks of a latent model.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        An autoencoder of plain layers.
    vector : ndarray, shape (P,)
        Its parameters.
    """

    def __init__(self, network, vector):
        self.network, self.vector = network, vector
        self._views, place = network.layout.layers(vector), network.stages.index(network.codes)
        self._encoder, self._decoder = network.stages[:place], network.stages[place + 1:]

    @property
    def latent(self):
        """Width L of the codes."""
        return self.network.codes.units

    def encode(self, x):
        """Return mean and log standard deviation (N, L) of the codes of images (N, D)."""
        h = self._through(self._encoder, x)
        return tuple(self._through((layer,), h) for layer in self.network.codes.layers)

    def prior(self):
        """Return mean and log standard deviation (L,) of the codes' prior."""
        return self.network.codes.prior(self._views, self.vector.dtype)

    def outputs(self, z):
        """Return the decoder's outputs (..., D) for codes (..., L): logits, or means."""
        return self._through(self._decoder, z)

    def decode(self, z):
        """Return the mean images (..., D) for codes (..., L)."""
        return self.mean_of(self.outputs(z))

    def mean_of(self, outputs):
        """Return the mean images (..., D) that the decoder's outputs mean."""
        return self.network.likelihood.mean(outputs)

    def log_likelihood(self, x, z):
        """Return log p(x | z) (K, N), nats, for images (N, D) and codes (K, N, L)."""
        outputs, x = self.outputs(z), np.asarray(x, self.vector.dtype)
        if isinstance(self.network.likelihood, Bernoulli):
            return _bernoulli(outputs, x)
        return self.network.likelihood.log_density(self._views, outputs, x, None)[0]

    def _through(self, layers, h):
        """Evaluate layers, one after another, without what a gradient would need."""
        h = np.asarray(h, self.vector.dtype)
        for layer in layers:
            own = self._views[layer.name]
            h = h @ own["weight.mu"] + own["bias.mu"]
            h = h if layer.activation is None else getattr(activations, layer.activation)(h)[0]
        return h


def _bernoulli(logits, x):
    """Evaluate ``likelihoods.bernoulli_logistic`` in place: importance sampling spends its time here.

    log(1 + e^f) = max(f, 0) + log(1 + e^-|f|); rounding 1 + ... costs 1e-7 of a nat a pixel in float32.
    """
    linear, scratch = np.einsum("...d,...d->...", logits, x), np.abs(logits)
    np.negative(scratch, out=scratch)
    np.exp(scratch, out=scratch)
    scratch += 1
    np.log(scratch, out=scratch)
    scratch += np.maximum(logits, 0, out=logits)
    return linear - scratch.sum(axis=-1)


def pixel_biases(x, likelihood):
    """Return the biases (D,) with which the decoder's output is the mean of images (N, D), cut at 1 % and 99 %."""
    mean = x.mean(axis=0)
    return logit(mean.clip(DARKEST, 1 - DARKEST)) if isinstance(likelihood, Bernoulli) else mean


def at_means(network, vector, masks=None):
    """Fix an autoencoder's weights at their means.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        What the parameters mean.
    vector : ndarray, shape (P,)
        The parameters.
    masks : dict of str to ndarray of bool, shape (D, K), optional
        The hard masks of the masked layers.

    Returns
    -------
    point : PointAutoencoder
        With copies of the weights.
    """
    masks = masks or {}
    units = {name: mask.any(axis=0) for name, mask in masks.items()
             if network.layers[name].activation in packing.ZERO_AT_ZERO}
    kept = packing.sides(network, np.ones(network.inputs, bool), units)
    plain = {name: Plain(name, *(int(side.sum()) for side in kept[name]), layer.activation)
             for name, layer in network.layers.items()}
    stages = tuple(replace(stage, mean=plain["mean"], scale=plain["scale"]) if isinstance(stage, Codes)
                   else plain[stage.name] for stage in network.stages)
    point = replace(network, stages=stages)
    fixed = np.empty(point.layout.size, vector.dtype)
    views, found = network.layout.layers(vector), point.layout.layers(fixed)
    for name, (rows, columns) in kept.items():
        weight, bias = views[name]["weight.mu"], views[name]["bias.mu"]
        if name in masks:
            weight, bias = weight * masks[name], bias * masks[name].any(axis=0)
        found[name]["weight.mu"][...], found[name]["bias.mu"][...] = weight[rows][:, columns], bias[columns]
    for name, part in zip(("mean", "scale"), PARTS, strict=True) if "codes" in views else ():
        found[name]["bias.mu"] += views["codes"][part]
    for part, value in found.get("prior", {}).items():
        value[...] = views["prior"][part]
    return PointAutoencoder(point, fixed)
