r"""The classifier: a masked network under the softmax, and its predictions with their uncertainty.

Kumar et al. (2021), Eq. 2; ten classes need the softmax where the paper names the Bernoulli.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ibpcl.models import packing
from ibpcl.models.supervised import Supervised
from ibpcl.numerics import logsumexp
from ibpcl.primitives import likelihoods


class Prediction(NamedTuple):
    r"""What the network predicts, and how sure it is.

    ``probabilities`` (N, C): the mean over samples.  ``entropy`` (N,): of that mean, in nats.  ``mutual_information``
    (N,): the part of the entropy that to know what is sampled would remove, here the weights:
    :math:`H[\bar p] - \frac1S \sum_s H[p^s]` (Houlsby et al., 2011).
    """

    probabilities: np.ndarray
    entropy: np.ndarray
    mutual_information: np.ndarray


@dataclass(frozen=True)
class Classifier(Supervised):
    """A network whose outputs are the logits of ``outputs`` classes; parameters as in :class:`MaskedMLP`."""

    def likelihood(self, vector, outputs, targets, backend=None):
        """Evaluate the log probability of the labels (N,): see :func:`ibpcl.primitives.likelihoods.categorical`."""
        who = likelihoods if backend is None else backend.likelihoods
        log_p, cache = who.categorical(outputs, targets)
        return log_p, (who.categorical_vjp, cache)

    def likelihood_vjp(self, dlog_p, cache):
        """Pull the gradient back to the logits; there are no extra entries."""
        pull_back, inner = cache
        return pull_back(dlog_p, inner), {}

    def predict(self, vector, masks, x, samples, key, backend, chunk=16384):
        r"""Predict with fixed masks, averaging over samples of the weights.

        .. math:: p(y | x) = \frac1S \sum_s \mathrm{softmax}(f(x; V^s, B))

        Kumar et al. (2021), Sec. 4.5 and supplement (100 samples at test time).  Every example has samples of its own,
        drawn at the pre-activations, so memory is bounded by ``chunk`` rows (sample times example) at once.

        Parameters
        ----------
        vector : ndarray, shape (P,)
            The variational parameters.
        masks : tuple of ndarray of bool, shape (D, K)
            The task's masks, one a hidden layer.
        x : ndarray, shape (N, D)
            Inputs.
        samples : int
            Number of samples S.
        key : Key
            Of the noise; the result is a function of it and the inputs.
        backend : Backend
            Who computes.
        chunk : int
            Rows evaluated at once.

        Returns
        -------
        prediction : Prediction
            Mean probabilities, entropy and mutual information.
        """
        part = packing.fixed_part(self, masks, x)            # nothing else can be seen in the outputs
        small, vector, masks = part.model, vector[part.index], packing.pack_masks(part, masks, backend)
        rows = max(1, chunk // samples)
        probabilities = np.empty((len(x), self.outputs), vector.dtype)
        mean_entropy = np.empty(len(x), vector.dtype)
        for i, start in enumerate(range(0, len(x), rows)):
            some = slice(start, start + rows)
            noise = small.fixed_noise(key._replace(step=i), samples, len(x[some]), backend, vector.dtype)
            logits, _ = small.fixed(vector, masks, part.columns(x[some]), noise, backend)
            log_p = logits - logsumexp(logits, axis=-1, keepdims=True)
            p = np.exp(log_p)
            probabilities[some] = p.mean(axis=0)
            mean_entropy[some] = -(p * log_p).sum(axis=-1).mean(axis=0)
        # 0 log 0 = 0: the smallest positive float in its place.
        log_mean = np.log(np.maximum(probabilities, np.finfo(vector.dtype).tiny))
        entropy = -(probabilities * log_mean).sum(axis=-1)
        return Prediction(probabilities, entropy, np.maximum(entropy - mean_entropy, 0))
