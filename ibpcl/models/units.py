r"""A layer whose units are switched on and off for every example, by an Indian buffet process.

Kessler, Nguyen, Zohren and Roberts (2021), "Hierarchical Indian Buffet Neural Networks for Bayesian
Continual Learning": unit k of a hidden layer outputs, for example n,

.. math::

    h_{nk} = z_{nk}\, f\Bigl(\sum_d x_{nd} V_{dk} + b_k\Bigr), \qquad
    z_{nk} \sim \mathrm{Bernoulli}(\pi_k), \quad
          \pi_k = \prod_{i \le k} v_i,

with Gaussian weights.  The posterior is :math:`q(v_k) = \mathrm{Kumaraswamy}(a_k, b_k)` and, given
the sticks, :math:`q(z_{nk} = 1) = \sigma(\rho_k + \operatorname{logit} \pi_k)`: at :math:`\rho = 0`
masks are drawn as the sticks say, and cost nothing.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ibpcl.models.layers import GAUSSIAN, Draw, Gaussian, Kept, activate, activate_vjp
from ibpcl.models.masked import sticks, sticks_vjp
from ibpcl.models.parameters import Entry
from ibpcl.primitives import bernoulli, concrete, stick_divergence

DIVERGENCES = {"bernoulli": bernoulli, "concrete": concrete}
UNITS = ("rho", "raw_a", "raw_b")


class SampledPass(NamedTuple):
    """What a pass with sampled masks leaves for the way back: results, and what the functions that
    it called need.
    """

    linear: tuple  # of the pre-activations
    activation: tuple | None
    active: np.ndarray  # outputs before the masks, (S, N, K)
    z: np.ndarray  # relaxed masks, (S, N, K)
    sticks: tuple
    mask: tuple
    divergence: tuple
    # how many the masks' divergence counts for
    examples: float
    backend: object


@dataclass(frozen=True)
class Units(Gaussian):
    """A Gaussian layer whose outputs are multiplied by masks (S, N, K); given masks switch that
    off.

    ``kl``: which divergence of the masks is taken, bernoulli or concrete.  Masks are local to an
    example, so their divergence counts once for each of them.  At the temperature 0 masks are
    binary.
    """

    kl: str = "bernoulli"

    def entries(self):
        """Return the Gaussian entries, then one offset and two sticks for each unit."""
        return super().entries() + [
            Entry(f"{self.name}.{name}", (self.units,), "rho" if name == "rho" else "sticks")
            for name in UNITS
        ]

    def noise(self, key, samples, batch, relaxed):
        """Return noise for pre-activations, and for sticks and masks if they are sampled."""
        found = super().noise(key, samples, batch, relaxed)
        if relaxed:
            stick, mask = (key._replace(stream=key.stream + i) for i in (2, 3))
            found |= {
                "stick": Draw("uniform", stick, (samples, self.units)),
                "mask": Draw("logistic", mask, (samples, batch, self.units)),
            }
        return found

    def forward(self, views, x, noise, options):
        """Evaluate the layer; with sampled masks their divergence is ``kl_masks``."""
        if options.masks is not None:
            out, cache = super().forward(views, x, noise, options)
            return out, Kept(given=cache)
        drawn = noise[self.name]
        parameters = views[self.name]
        backend = options.backend
        means_and_scales = (parameters[name] for name in GAUSSIAN)
        # The activation is apart from the layer: the mask's gradient needs what goes through it.
        linear, linear_cache = backend.local_linear.sample(
            drawn["eps"], x, *means_and_scales, None, None
        )
        active, active_cache = activate(self.activation, linear, backend)
        logit_pi, stick_cache = backend.sticks.log_odds(
            drawn["stick"], parameters["raw_a"], parameters["raw_b"]
        )
        logit_theta = (parameters["rho"] + logit_pi)[:, None, :]
        if options.tau == 0:
            return (active * (logit_theta + drawn["mask"] > 0), {}), None
        z, mask_cache = concrete.sample(drawn["mask"], logit_theta, options.tau)
        kl, kl_cache = DIVERGENCES[self.kl].kl(logit_theta, logit_pi)
        examples = options.scale * active.shape[1]
        return (active * z, {"kl_masks": examples * kl}), Kept(
            sampled=SampledPass(
                linear_cache,
                active_cache,
                active,
                z,
                stick_cache,
                mask_cache,
                kl_cache,
                examples,
                backend,
            )
        )

    def forward_vjp(self, dout, cache, needs_dx=True):
        """Pull the gradients at the outputs and at the masks' divergence back."""
        if cache.sampled is None:
            return super().forward_vjp(dout, cache.given, needs_dx)
        (dh, ddivergences), run = dout, cache.sampled
        # log-odds served all examples
        by_mask = concrete.sample_vjp(dh * run.active, run.mask).sum(axis=1)
        by_theta, dlogit_pi = DIVERGENCES[self.kl].kl_vjp(
            run.examples * ddivergences["kl_masks"], run.divergence
        )
        drho = by_mask + by_theta[:, 0]
        raw = run.backend.sticks.log_odds_vjp(drho + dlogit_pi, run.sticks)
        dlinear = activate_vjp(dh * run.z, run.activation)
        dx, *gaussian = run.backend.local_linear.sample_vjp(dlinear, run.linear, needs_dx)
        # rho was broadcast over S
        values = (*gaussian, drho.sum(axis=0), *raw)
        return dx, {self.name: dict(zip(GAUSSIAN + UNITS, values, strict=True))}

    def kl_sticks(self, parameters, prior, backend):
        """Compute the divergence of the layer's sticks from a Kumaraswamy prior, whose (a, b) are
        ``prior``.

        Results as of :meth:`ibpcl.models.masked.Masked.kl_sticks`; there is no alpha, so its
        divergence is 0.
        """
        (a, b), raw_cache = sticks(parameters["raw_a"], parameters["raw_b"])
        kl, cache = stick_divergence.kl(a, b, *prior)
        return (kl, 0.0), (raw_cache, cache)

    def kl_sticks_vjp(self, dout, cache):
        """Pull the gradient at the divergence back to the layer's parameters, a dict by name."""
        raw_cache, inner = cache
        return dict(
            zip(
                UNITS[1:],
                sticks_vjp(stick_divergence.kl_vjp(dout[0], inner), raw_cache),
                strict=True,
            )
        )
