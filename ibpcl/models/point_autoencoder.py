r"""An autoencoder whose weights are numbers: a task's model as it is evaluated, everything a function of z.

Weights are at their posterior means and masks are hard, so hidden units without any weight output
:math:`f(0) = 0` (under all activations but softplus) and are left out, and so are unused rows and columns.
"""

from typing import NamedTuple

import numpy as np

from ibpcl.models.codes import PARTS
from ibpcl.models.likelihoods import Bernoulli, Likelihood
from ibpcl.models.packing import ZERO_AT_ZERO
from ibpcl.numerics import logit
from ibpcl.primitives import activations, likelihoods

DARKEST = 0.01                                               # mean pixel from which a bias starts, at least


class PointAutoencoder(NamedTuple):
    """The weights of each layer, and what their results mean; it has all that evaluation asks of a latent model.

    ``encoder``, ``decoder``: tuples of (weights (D, K), biases (K,)), the decoder's with the pixels' layer last.
    ``mean``, ``scale``: the layers of the codes' means and log standard deviations.  ``prior_mu`` and
    ``prior_log_sigma`` (L,): the codes' prior.  ``likelihood``: of the pixels, ``Bernoulli`` or ``Gaussian`` of
    :mod:`ibpcl.models.likelihoods`.
    """

    encoder: tuple
    mean: tuple
    scale: tuple
    decoder: tuple
    prior_mu: np.ndarray
    prior_log_sigma: np.ndarray
    activation: str
    likelihood: Likelihood

    @property
    def latent(self):
        """Width L of the codes."""
        return len(self.prior_mu)

    def encode(self, x):
        """Return mean and log standard deviation (N, L) of the codes of images (N, D)."""
        h = self._hidden(self.encoder, np.asarray(x, self.prior_mu.dtype))
        return tuple(h @ weight + bias for weight, bias in (self.mean, self.scale))

    def prior(self):
        """Return mean and log standard deviation (L,) of the codes' prior."""
        return self.prior_mu, self.prior_log_sigma

    def outputs(self, z):
        """Return the decoder's outputs (..., D) for codes (..., L): logits, or means."""
        weight, bias = self.decoder[-1]
        return self._hidden(self.decoder[:-1], np.asarray(z, self.prior_mu.dtype)) @ weight + bias

    def decode(self, z):
        """Return the mean images (..., D) for codes (..., L)."""
        return self.mean_of(self.outputs(z))

    def mean_of(self, outputs):
        """Return the mean images (..., D) that the decoder's outputs mean."""
        return self.likelihood.mean(outputs)

    def log_likelihood(self, x, z):
        """Return log p(x | z) (K, N), nats, for images (N, D) and codes (K, N, L)."""
        outputs, x = self.outputs(z), np.asarray(x, self.prior_mu.dtype)
        if isinstance(self.likelihood, Bernoulli):
            return _bernoulli(outputs, x)
        return likelihoods.gaussian(outputs, self.likelihood.log_noise({}, outputs), x)[0]

    def _hidden(self, layers, h):
        for weight, bias in layers:
            h = getattr(activations, self.activation)(h @ weight + bias)[0]
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
    views, masks, found = network.layout.layers(vector), masks or {}, {}
    for name in network.layers:
        weight, bias, mask = views[name]["weight.mu"], views[name]["bias.mu"], masks.get(name)
        found[name] = (weight.copy(), bias.copy()) if mask is None else (weight * mask, bias * mask.any(axis=0))
    for name, part in zip(("mean", "scale"), PARTS, strict=True) if "codes" in views else ():
        found[name] = (found[name][0], found[name][1] + views["codes"][part])
    activation = next(iter(network.layers.values())).activation
    if activation in ZERO_AT_ZERO:
        _drop_empty_units(network, found, masks)
    encoder, decoder = (tuple(pair for name, pair in found.items() if name.startswith(side))
                        for side in ("encoder", "decoder"))
    prior = (np.array(part) for part in network.codes.prior(views, vector.dtype))
    return PointAutoencoder(encoder, found["mean"], found["scale"], (*decoder, found["pixels"]), *prior, activation,
                            network.likelihood)


def _drop_empty_units(network, found, masks):
    """Leave out hidden units that output 0: their columns, and the rows that read them."""
    for name, mask in masks.items():
        if network.layers[name].activation is None:
            continue
        kept = mask.any(axis=0)
        weight, bias = found[name]
        found[name] = (np.ascontiguousarray(weight[:, kept]), bias[kept])
        for reader in (reader for reader, source in network.sources.items() if source == name):
            weight, bias = found[reader]
            found[reader] = (np.ascontiguousarray(weight[kept]), bias)
