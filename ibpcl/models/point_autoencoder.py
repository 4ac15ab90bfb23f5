r"""An autoencoder with fixed weights: the model of a task as it is evaluated.

The weights are the posterior means, and the masks are hard, so the model is a deterministic
function of the code z.  Hidden units without any weight output :math:`f(0) = 0` (for every
activation except softplus).  They are left out, and so are unused rows and columns.
"""

import numpy as np

from ibpcl import primitives
from ibpcl.blas_threads import on_one_thread
from ibpcl.models import subnetwork
from ibpcl.models.codes import PARTS
from ibpcl.models.layers import activate
from ibpcl.models.likelihoods import Bernoulli
from ibpcl.numerics import logit

# the mean image is clipped to DARKEST .. 1 - DARKEST before its logit is taken
DARKEST = 0.01


class PointAutoencoder:
    """Autoencoder whose weights are posterior means, with the functions that evaluation needs.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        An autoencoder.
    vector : ndarray, shape (P,)
        Its parameters; copied.
    masks : dict of str to ndarray of bool, shape (D, K), optional
        Hard masks of the masked layers by name; none by default.
    backend : ibpcl.inference.backend.Backend or module
        The functions that compute; by default those of :mod:`ibpcl.primitives`.

    Attributes
    ----------
    network : ibpcl.models.network.Network
        The autoencoder.
    backend : ibpcl.inference.backend.Backend or module
        The functions that compute.
    views : dict of str to dict
        The parameters that are used, ``views[layer][parameter]``.
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
        """Type of the parameters, in which everything is computed."""
        return self.views["pixels"]["bias.mu"].dtype

    def encode(self, x):
        """Return the posterior of the codes of images.

        Parameters
        ----------
        x : array_like, shape (N, D)
            Images, pixels in 0 .. 1.

        Returns
        -------
        mean : ndarray, shape (N, L)
            Means of the codes.
        log_sigma : ndarray, shape (N, L)
            Log standard deviations of the codes.
        """
        stages = self.network.stages
        codes = self.network.codes
        h = self._through(stages[: stages.index(codes)], x)
        return tuple(self._through((layer,), h) for layer in codes.layers)

    def prior(self):
        """Return mean and log standard deviation of the codes' prior, (L,) each."""
        return self.network.codes.prior(self.views, self.dtype)

    def outputs(self, z):
        """Return the outputs of the decoder.

        Parameters
        ----------
        z : array_like, shape (..., L)
            Codes.

        Returns
        -------
        outputs : ndarray, shape (..., D)
            Outputs: logits for a Bernoulli likelihood of the pixels, means for a Gaussian one.
        """
        stages = self.network.stages
        return self._through(stages[stages.index(self.network.codes) + 1 :], z)

    def decode(self, z):
        """Return the mean images of given codes.

        Parameters
        ----------
        z : array_like, shape (..., L)
            Codes.

        Returns
        -------
        images : ndarray, shape (..., D)
            Mean images.
        """
        return self.network.likelihood.mean(self.outputs(z))

    def log_likelihood(self, x, z):
        """Compute the log likelihood of images given codes, log p(x | z).

        Parameters
        ----------
        x : array_like, shape (N, D)
            Images, pixels in 0 .. 1.
        z : array_like, shape (K, N, L)
            K codes per image.

        Returns
        -------
        log_p : ndarray, shape (K, N)
            Nats, summed over pixels.
        """
        x = np.asarray(x, self.dtype)
        return self.network.likelihood.log_density(self.views, self.outputs(z), x, self.backend)[0]

    @on_one_thread
    def _through(self, layers, h):
        """Evaluate plain layers in sequence, with the same result for any number of threads."""
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
    """Return the biases with which the decoder outputs the mean of given images.

    Parameters
    ----------
    x : ndarray, shape (N, D)
        Images, pixels in 0 .. 1.
    likelihood : ibpcl.models.likelihoods.Bernoulli or ibpcl.models.likelihoods.Gaussian
        Likelihood of the pixels.

    Returns
    -------
    biases : ndarray, shape (D,)
        For a Bernoulli likelihood the logits of the mean image, which is clipped to 0.01 .. 0.99;
        for a Gaussian one the mean image.
    """
    mean = x.mean(axis=0)
    return logit(mean.clip(DARKEST, 1 - DARKEST)) if isinstance(likelihood, Bernoulli) else mean
