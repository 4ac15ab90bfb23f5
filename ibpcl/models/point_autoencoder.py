r"""An autoencoder whose weights are numbers: a task's model as it is evaluated, everything a
function of z.

Weights are at their posterior means and masks are hard, so hidden units without any weight output
:math:`f(0) = 0` (under all activations but softplus) and are left out, and so are unused rows and
columns.
"""

import numpy as np

from ibpcl import primitives
from ibpcl.blas_threads import on_one_thread
from ibpcl.models import subnetwork
from ibpcl.models.codes import PARTS
from ibpcl.models.layers import activate
from ibpcl.models.likelihoods import Bernoulli
from ibpcl.numerics import logit

# mean pixel from which a bias starts, at least
DARKEST = 0.01


class PointAutoencoder:
    """All that evaluation asks of a latent model: an autoencoder whose weights are the means in a
    vector (P,), copied.

    ``masks`` are the hard masks (D, K) of the masked layers by name, if there are any; the
    ``backend`` computes.
    """

    def __init__(self, network, vector, masks=None, backend=primitives):
        masks = masks or {}
        self.network = network
        self.backend = backend
        self.views = network.layout.layers(vector.copy())
        for name, (rows, columns) in subnetwork.sides(
            network, subnetwork.live_units(network, masks)
        ).items():
            weight = self.views[name]["weight.mu"]
            bias = self.views[name]["bias.mu"]
            if name in masks:
                weight = weight * masks[name]
                bias = bias * masks[name].any(axis=0)
            self.views[name] = {
                "weight.mu": np.ascontiguousarray(weight[rows][:, columns]),
                "bias.mu": bias[columns],
            }
        if "codes" in self.views:
            for layer, name in zip(network.codes.layers, PARTS, strict=True):
                self.views[layer.name]["bias.mu"] += self.views["codes"][name]

    @property
    def latent(self):
        """Width L of the codes."""
        return self.network.codes.units

    @property
    def dtype(self):
        """The precision of all that is computed: that of the parameters."""
        return self.views["pixels"]["bias.mu"].dtype

    def encode(self, x):
        """Return mean and log standard deviation (N, L) of the codes of images (N, D)."""
        stages = self.network.stages
        codes = self.network.codes
        h = self._through(stages[: stages.index(codes)], x)
        return tuple(self._through((layer,), h) for layer in codes.layers)

    def prior(self):
        """Return mean and log standard deviation (L,) of the codes' prior."""
        return self.network.codes.prior(self.views, self.dtype)

    def outputs(self, z):
        """Return the decoder's outputs (..., D) for codes (..., L): logits, or means."""
        stages = self.network.stages
        return self._through(stages[stages.index(self.network.codes) + 1 :], z)

    def decode(self, z):
        """Return the mean images (..., D) for codes (..., L)."""
        return self.network.likelihood.mean(self.outputs(z))

    def log_likelihood(self, x, z):
        """Return log p(x | z) (K, N), nats, for images (N, D) and codes (K, N, L)."""
        x = np.asarray(x, self.dtype)
        return self.network.likelihood.log_density(self.views, self.outputs(z), x, self.backend)[0]

    @on_one_thread
    def _through(self, layers, h):
        """Evaluate plain layers, one after another: the same for any number of threads."""
        shape = np.shape(h)
        h = np.asarray(h, self.dtype)
        h = h.reshape(-1, shape[-1])
        for layer in layers:
            parameters = self.views[layer.name]
            (h,), _ = self.backend.linear.apply(
                h, parameters["weight.mu"][None], parameters["bias.mu"][None]
            )
            h, _ = activate(layer.activation, h, self.backend)
        return h.reshape(*shape[:-1], h.shape[-1])


def pixel_biases(x, likelihood):
    """Return the biases (D,) with which the decoder's output is the mean of images (N, D), cut at 1
    % and 99 %.
    """
    mean = x.mean(axis=0)
    return logit(mean.clip(DARKEST, 1 - DARKEST)) if isinstance(likelihood, Bernoulli) else mean
