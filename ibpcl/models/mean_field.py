r"""The classifier without masks: every weight has a Gaussian posterior of its own, and all of them are used.

Blundell, Cornebise, Kavukcuoglu and Wierstra (2015), "Weight Uncertainty in Neural Networks" (Bayes by Backprop).  It
is the masked classifier with an all-ones mask, so :meth:`MaskedMLP.fixed` serves, which draws pre-activations; here is
the other way, which draws the weights themselves.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.models.classifier import Classifier
from ibpcl.models.layers import GAUSSIAN
from ibpcl.models.mlp import write
from ibpcl.models.supervised import Elbo
from ibpcl.primitives import gaussian


@dataclass(frozen=True)
class MeanField(Classifier):
    """A classifier whose masks are all ones; parameters as in :class:`ibpcl.models.mlp.MaskedMLP`."""

    @property
    def all_ones(self):
        """The masks: every weight is on."""
        return tuple(np.ones(shape, bool) for shape in self.shapes)

    def sampled_noise(self, key, samples, backend, dtype=np.float32):
        """Draw what :meth:`sampled_elbo` needs: for each layer, head included, weights (S, D, K) and biases (S, K)."""
        shapes = (*self.shapes, (self.hidden[-1], self.outputs))
        return tuple((backend.normal(key._replace(stream=2 * i), (samples, *shape), dtype),
                      backend.normal(key._replace(stream=2 * i + 1), (samples, shape[1]), dtype))
                     for i, shape in enumerate(shapes))

    def sampled_elbo(self, vector, prior, x, targets, noise, examples, backend):
        r"""Estimate the ELBO with one set of weights a sample, shared by all examples.

        .. math:: \frac{N}{|b|}\,\frac1S \sum_s \log p(Y_b | V^s) - KL[q(V) \| p(V)], \qquad
                  V^s = \mu + \sigma \odot \varepsilon^s

        Blundell et al. (2015), Eq. 2; Nguyen et al. (2018), Sec. 2.1.  Arguments as in :meth:`fixed_elbo`, with
        ``noise`` from :meth:`sampled_noise`.
        """
        activate, activate_vjp = self._activation(backend)
        h, caches = x, []
        for i, (parameters, (weight_eps, bias_eps)) in enumerate(zip(self.layers(vector), noise, strict=True)):
            weight, weight_cache = gaussian.sample(weight_eps, parameters["weight.mu"], parameters["weight.log_sigma"])
            bias, bias_cache = gaussian.sample(bias_eps, parameters["bias.mu"], parameters["bias.log_sigma"])
            h, linear_cache = backend.linear(h, weight, bias)
            h, activation_cache = activate(h) if i < len(self.hidden) else (h, None)
            caches.append((weight_cache, bias_cache, linear_cache, activation_cache))
        log_p, likelihood_cache = self.likelihood(vector, h, targets)
        block = self.layout.block
        kl_weights, weights_cache = backend.gaussian_kl(vector[block("mu")], vector[block("log_sigma")], prior.mu,
                                                        prior.log_sigma)
        scale = examples / log_p.size                        # N / |b| and 1 / S
        parts = Elbo(scale * log_p.sum(), kl_weights, 0.0, 0.0)
        return parts, (vector, caches, activate_vjp, likelihood_cache, weights_cache, scale, log_p, backend)

    def sampled_elbo_vjp(self, dparts, cache):
        """Pull the gradients at the parts of the ELBO back to ``vector``; masks and sticks get none."""
        vector, caches, activate_vjp, likelihood_cache, weights_cache, scale, log_p, backend = cache
        gradient = np.zeros_like(vector)
        parameters = self.layers(gradient)
        dh, _ = self.likelihood_vjp(np.full_like(log_p, dparts[0] * scale), likelihood_cache)
        for i in reversed(range(len(caches))):
            weight_cache, bias_cache, linear_cache, activation_cache = caches[i]
            if activation_cache is not None:
                dh = activate_vjp(dh, activation_cache)
            dh, dweight, dbias = backend.linear_vjp(dh, linear_cache, needs_dx=i > 0)
            found = (*gaussian.sample_vjp(dweight, weight_cache), *gaussian.sample_vjp(dbias, bias_cache))
            write(parameters[i], dict(zip(GAUSSIAN, found, strict=True)))
        onto = tuple(gradient[self.layout.block(block)] for block in ("mu", "log_sigma"))
        backend.add_gaussian_kl_gradient(dparts[1], weights_cache, onto)
        return gradient
