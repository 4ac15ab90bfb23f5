r"""The regressor: a masked network under Gaussian noise, given or learned, and its predictive intervals.

Kumar et al. (2021), Sec. 3.2: "for regression, Lik can be Gaussian with some noise variance".
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ibpcl.models import packing
from ibpcl.models.parameters import Entry
from ibpcl.models.supervised import Supervised
from ibpcl.primitives import likelihoods


class Prediction(NamedTuple):
    r"""What the network predicts, each (N, C), in the units of the targets.

    ``mean``; ``sigma``: the standard deviation of a new observation, :math:`\sqrt{\sigma_f^2 + s^2}`; ``model_sigma``:
    the part :math:`\sigma_f` that more data would remove.
    """

    mean: np.ndarray
    sigma: np.ndarray
    model_sigma: np.ndarray


@dataclass(frozen=True)
class Regressor(Supervised):
    """A network whose outputs are means of real targets.

    Parameters beyond those of :class:`MaskedMLP`: ``noise_sigma``, the standard deviation of the noise; it is given,
    or, with ``learns_noise``, where learning starts.
    """

    noise_sigma: float = 0.1
    learns_noise: bool = True

    def extra_entries(self):
        """Add the log standard deviation of each output's noise, if it is learned."""
        return [Entry("noise.log_sigma", (self.outputs,), "noise")] if self.learns_noise else []

    def initial(self, rng, alpha, sigma, spread, dtype=np.float32):
        """Draw the parameters before training; the noise starts at ``noise_sigma``."""
        vector = super().initial(rng, alpha, sigma, spread, dtype)
        if self.learns_noise:
            self.layout.view(vector, "noise.log_sigma")[...] = np.log(self.noise_sigma)
        return vector

    def log_noise(self, vector):
        """Return the log standard deviation of the noise, (C,)."""
        if self.learns_noise:
            return self.layout.view(vector, "noise.log_sigma")
        return np.full(self.outputs, np.log(self.noise_sigma), vector.dtype)

    def likelihood(self, vector, outputs, targets, backend=None):
        """Evaluate the log density of the targets (N, C): see :func:`ibpcl.primitives.likelihoods.gaussian`."""
        return likelihoods.gaussian(outputs, self.log_noise(vector), targets)

    def likelihood_vjp(self, dlog_p, cache):
        """Pull the gradient back to the means, and to the noise if it is learned."""
        dmean, dlog_noise = likelihoods.gaussian_vjp(dlog_p, cache)
        return dmean, {"noise.log_sigma": dlog_noise} if self.learns_noise else {}

    def predict(self, vector, masks, x, samples, key, backend, chunk=16384):
        r"""Predict with fixed masks: mean and standard deviation over samples of the weights, and with the noise.

        Arguments as in :meth:`ibpcl.models.classifier.Classifier.predict`, but at least two samples; the law of total
        variance adds the noise.
        """
        if samples < 2:
            raise ValueError(f"Regressor.predict: one sample tells no deviation; give samples >= 2, got {samples}")
        part = packing.fixed_part(self, masks, x)
        small, small_vector, masks = part.model, vector[part.index], packing.pack_masks(part, masks, backend)
        rows = max(1, chunk // samples)
        mean, variance = (np.empty((len(x), self.outputs), vector.dtype) for _ in range(2))
        for i, start in enumerate(range(0, len(x), rows)):
            some = slice(start, start + rows)
            noise = small.fixed_noise(key._replace(step=i), samples, len(x[some]), backend, vector.dtype)
            outputs, _ = small.fixed(small_vector, masks, part.columns(x[some]), noise, backend)
            mean[some], variance[some] = outputs.mean(axis=0), outputs.var(axis=0, ddof=1)
        total = variance + np.exp(2 * self.log_noise(vector))
        return Prediction(mean, np.sqrt(total), np.sqrt(variance))
