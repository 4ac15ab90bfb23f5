r"""A Bayesian network whose units are switched on and off for every example, by an Indian buffet process.

Kessler, Nguyen, Zohren and Roberts (2021), "Hierarchical Indian Buffet Neural Networks for Bayesian Continual
Learning": unit k of a hidden layer outputs, for example n,

.. math:: h_{nk} = z_{nk}\, f\Bigl(\sum_d x_{nd} V_{dk} + b_k\Bigr), \qquad z_{nk} \sim \mathrm{Bernoulli}(\pi_k), \quad
          \pi_k = \prod_{i \le k} v_i,

with Gaussian weights.  The posterior is :math:`q(v_k) = \mathrm{Kumaraswamy}(a_k, b_k)` and, given the sticks,
:math:`q(z_{nk} = 1) = \sigma(\rho_k + \operatorname{logit} \pi_k)`: at :math:`\rho = 0` masks are drawn as the sticks
say, and cost nothing.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ibpcl.models import layers
from ibpcl.models.classifier import Classifier, Prediction
from ibpcl.models.mlp import write
from ibpcl.models.parameters import Entry, Layout
from ibpcl.models.supervised import Elbo
from ibpcl.numerics import logsumexp
from ibpcl.primitives import bernoulli, concrete, kumaraswamy, stick_breaking, stick_divergence

DIVERGENCES = {"bernoulli": (bernoulli.kl, bernoulli.kl_vjp), "concrete": (concrete.kl, concrete.kl_vjp)}
UNITS = ("rho", "raw_a", "raw_b")
# A unit is on with probability e^-SURE at most: in float32 a stick can round to 1, whose log-odds would be infinite.
SURE = 1e-12


class Noise(NamedTuple):
    """What one pass draws: pre-activations (S, N, K) a layer and the head's, sticks (S, K) and masks (S, N, K)."""

    eps: tuple
    stick: tuple
    mask: tuple


def log_odds(parameters, u):
    """Draw sticks (S, K) for a layer: the log-odds of its units (S, K) under q and given the sticks, and the cache."""
    (a, b), raw_cache = layers.sticks(parameters["raw_a"], parameters["raw_b"])
    log_v, stick_cache = kumaraswamy.sample(u, a, b)
    log_pi, _ = stick_breaking.log_probabilities(log_v)
    below = log_pi.real < -SURE
    logit_pi, logit_cache = stick_breaking.logit_probabilities(np.where(below, log_pi, -SURE))
    return (parameters["rho"] + logit_pi, logit_pi), (raw_cache, stick_cache, logit_cache, below)


def log_odds_vjp(dout, cache):
    """Pull the gradients at both log-odds back to the parameters (a dict)."""
    dlogit_theta, dlogit_pi = dout
    raw_cache, stick_cache, logit_cache, below = cache
    dlog_pi = stick_breaking.logit_probabilities_vjp(dlogit_theta + dlogit_pi, logit_cache)
    dlog_v = stick_breaking.log_probabilities_vjp(np.where(below, dlog_pi, 0), None)
    draw_a, draw_b = layers.sticks_vjp(kumaraswamy.sample_vjp(dlog_v, stick_cache), raw_cache)
    return {"rho": dlogit_theta.sum(axis=0), "raw_a": draw_a, "raw_b": draw_b}    # rho was broadcast over S


@dataclass(frozen=True)
class StochasticUnits(Classifier):
    """A classifier whose masks are on activations; parameters as in :class:`ibpcl.models.mlp.MaskedMLP`.

    ``mask_model.kl`` says which divergence of the masks is taken; the link is the logit.
    """

    @cached_property
    def layout(self):
        """The order of the parameters: means, log standard deviations, then one offset and two sticks a unit."""
        entries = [entry for entry in super().layout.entries if entry.block in ("mu", "log_sigma")]
        for block, names in (("rho", UNITS[:1]), ("sticks", UNITS[1:])):
            entries += [Entry(f"hidden{i}.{name}", (width,), block) for i, width in enumerate(self.hidden)
                        for name in names]
        return Layout(entries)

    def unit_noise(self, key, samples, batch, backend, dtype=np.float32):
        """Draw what :meth:`unit_elbo` needs; that of the pre-activations is the one of ``fixed_noise``."""
        places = list(enumerate(self.hidden))
        # Streams as in MaskedMLP.noise: the third and fourth of a layer.
        stick, mask = (tuple(draw(key._replace(stream=4 * i + stream), shape(width), dtype) for i, width in places)
                       for draw, stream, shape in ((backend.uniform, 2, lambda width: (samples, width)),
                                                   (backend.logistic, 3, lambda width: (samples, batch, width))))
        return Noise(self.fixed_noise(key, samples, batch, backend, dtype), stick, mask)

    def unit_elbo(self, vector, prior, sticks_prior, x, targets, noise, tau, examples, backend):
        r"""Estimate the ELBO of a task from one minibatch.

        .. math:: \frac{N}{|b|}\,\frac1S \sum_s \log p(Y_b | V^s, z^s) - KL[q(V) \| p(V)]
                  - \frac NS \sum_s \sum_k KL[q(z_k | v^s) \| p(z_k | v^s)] - KL[q(v) \| p(v)]

        Masks are local to an example, so their divergence counts N times.

        Parameters
        ----------
        vector : ndarray, shape (P,)
            The variational parameters, in the order of ``layout``.
        prior : ibpcl.models.supervised.Prior
            Of the weights.
        sticks_prior : sequence of pair of ndarray, shape (K,)
            Shape parameters of the sticks' Kumaraswamy prior, for each hidden layer.
        x : ndarray, shape (N, D)
            Inputs of the minibatch.
        targets : ndarray of int, shape (N,)
            Its labels.
        noise : Noise
            From :meth:`unit_noise`.
        tau : float
            Temperature of the relaxed masks, > 0.
        examples : int
            Number of examples of the whole task.
        backend : Backend
            Who computes.

        Returns
        -------
        parts : Elbo
            Nats, for the whole task.
        cache : tuple
            What :meth:`unit_elbo_vjp` needs.
        """
        *hidden, head = self.layers(vector)
        activate, activate_vjp = self._activation(backend)
        h, kl_masks, kl_sticks, caches = x, 0.0, 0.0, []
        for i, parameters in enumerate(hidden):
            linear, linear_cache = layers.fixed(parameters, None, h, noise.eps[i], backend)
            active, activation_cache = activate(linear)
            (logit_theta, logit_pi), odds_cache = log_odds(parameters, noise.stick[i])
            z, mask_cache = concrete.sample(noise.mask[i], logit_theta[:, None, :], tau)
            h = active * z
            divergence, divergence_cache = DIVERGENCES[self.mask_model.kl][0](logit_theta[:, None, :], logit_pi)
            (a, b), raw_cache = layers.sticks(parameters["raw_a"], parameters["raw_b"])
            stick_kl, stick_cache = stick_divergence.kl(a, b, *sticks_prior[i])
            kl_masks, kl_sticks = kl_masks + examples * divergence.mean(), kl_sticks + stick_kl
            caches.append((linear_cache, activation_cache, active, z, odds_cache, mask_cache, divergence_cache,
                           raw_cache, stick_cache))
        outputs, head_cache = layers.fixed(head, None, h, noise.eps[-1], backend)
        log_p, likelihood_cache = self.likelihood(vector, outputs, targets)
        block = self.layout.block
        kl_weights, weights_cache = backend.gaussian_kl(vector[block("mu")], vector[block("log_sigma")], prior.mu,
                                                        prior.log_sigma)
        scale = examples / log_p.size                        # N / |b| and 1 / S
        cache = (vector, caches, activate_vjp, head_cache, likelihood_cache, weights_cache, scale, examples, log_p,
                 backend)
        return Elbo(scale * log_p.sum(), kl_weights, kl_masks, kl_sticks), cache

    def unit_elbo_vjp(self, dparts, cache):
        """Pull the gradients at the parts of the ELBO back to ``vector``."""
        (vector, caches, activate_vjp, head_cache, likelihood_cache, weights_cache, scale, examples, log_p,
         backend) = cache
        gradient = np.zeros_like(vector)
        *hidden, head = self.layers(gradient)
        doutputs, _ = self.likelihood_vjp(np.full_like(log_p, dparts[0] * scale), likelihood_cache)
        dh, found = layers.fixed_vjp(doutputs, head_cache)
        write(head, found)
        samples = log_p.shape[0]
        ddivergence = np.full(samples, dparts[2] * examples / samples, log_p.dtype)
        for i in reversed(range(len(hidden))):
            (linear_cache, activation_cache, active, z, odds_cache, mask_cache, divergence_cache, raw_cache,
             stick_cache) = caches[i]
            by_mask = concrete.sample_vjp(dh * active, mask_cache).sum(axis=1)    # the log-odds served all examples
            by_theta, dlogit_pi = DIVERGENCES[self.mask_model.kl][1](ddivergence, divergence_cache)
            write(hidden[i], log_odds_vjp((by_mask + by_theta[:, 0], dlogit_pi), odds_cache))
            by_prior = layers.sticks_vjp(stick_divergence.kl_vjp(dparts[3], stick_cache), raw_cache)
            for name, value in zip(UNITS[1:], by_prior, strict=True):
                hidden[i][name] += value
            dh, found = layers.fixed_vjp(activate_vjp(dh * z, activation_cache), linear_cache, needs_dx=i > 0)
            write(hidden[i], found)
        onto = tuple(gradient[self.layout.block(block)] for block in ("mu", "log_sigma"))
        backend.add_gaussian_kl_gradient(dparts[1], weights_cache, onto)
        return gradient

    def predict_units(self, vector, x, samples, key, backend, chunk=16384):
        """Predict by averaging over samples of weights, sticks and masks, every example's own and binary.

        Arguments and result as in :meth:`ibpcl.models.classifier.Classifier.predict`, without masks.  An example's own
        masks are sampled too, which no data can tell: the mutual information counts their noise, and is no measure of
        what more data would teach.
        """
        *hidden, head = self.layers(vector)
        activate, _ = self._activation(backend)
        rows = max(1, chunk // samples)
        probabilities, sticks = np.empty((len(x), self.outputs), vector.dtype), None
        mean_entropy = np.empty(len(x), vector.dtype)
        for i, start in enumerate(range(0, len(x), rows)):
            some = slice(start, start + rows)
            h = x[some]
            # The sticks belong to the model: they are those of the first chunk for all.
            noise = self.unit_noise(key._replace(step=i), samples, len(h), backend, vector.dtype)
            sticks = noise.stick if sticks is None else sticks
            for parameters, eps, u, logistic in zip(hidden, noise.eps, sticks, noise.mask, strict=False):
                linear, _ = layers.fixed(parameters, None, h, eps, backend)
                (logit_theta, _), _ = log_odds(parameters, u)
                h = activate(linear)[0] * (logit_theta[:, None, :] + logistic > 0)    # Bernoulli: the limit tau -> 0
            logits, _ = layers.fixed(head, None, h, noise.eps[-1], backend)
            log_p = logits - logsumexp(logits, axis=-1, keepdims=True)
            p = np.exp(log_p)
            probabilities[some] = p.mean(axis=0)
            mean_entropy[some] = -(p * log_p).sum(axis=-1).mean(axis=0)
        log_mean = np.log(np.maximum(probabilities, np.finfo(vector.dtype).tiny))
        entropy = -(probabilities * log_mean).sum(axis=-1)
        return Prediction(probabilities, entropy, np.maximum(entropy - mean_entropy, 0))
