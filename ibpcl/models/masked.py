r"""The masked layer: each weight is on or off, :math:`W = B \odot V`, and the masks have an Indian
buffet process.

Kumar et al. (2021), Secs. 3.1, 3.2 and 4.5.  A layer's parameters are those of a Gaussian one and
``rho`` (D, K), ``raw_a`` and ``raw_b`` (K,), with :math:`a = \mathrm{softplus}(raw_a)` so that Adam
needs no constraint; or (D, K), with an IBP of its own for each input.
"""

from dataclasses import dataclass, field
from math import gamma
from typing import NamedTuple

import numpy as np

from ibpcl.models.layers import Draw, Gaussian, Kept, activate, activate_vjp
from ibpcl.models.parameters import Entry
from ibpcl.numerics import inverse_softplus, sigmoid, softplus
from ibpcl.primitives import gaussian, kumaraswamy, masked_linear, weibull

MASK_KLS = ("bernoulli", "concrete")
MASK_LINKS = ("logit", "log")
# Shape of the Weibull that a learned alpha starts from: a standard deviation of 28 % of its mean.
ALPHA_SHAPE = 4.0


class MaskModel(NamedTuple):
    """How masks are modelled: which divergence, what links them to the sticks, and whether they
    know the sticks.

    ``kl``: "bernoulli" (the discrete model, closed form) or "concrete" (the relaxed one, equal
    temperatures). ``link``: "logit" (the model of the paper) or "log" (its authors' code: the prior
    is capped at one half). ``structured``: whether rho is an offset to the sticks' log-odds, or is
    the log-odds (plain mean field). ``row_sticks``: whether each input of a layer has sticks of its
    own, an IBP a row, or all share those of the layer. ``learns_alpha``: whether the layer has a
    Weibull posterior of its concentration alpha.
    """

    kl: str = "bernoulli"
    link: str = "logit"
    structured: bool = True
    row_sticks: bool = False
    learns_alpha: bool = False

    def stick_shape(self, shape):
        """Return the shape of the sticks of a layer of shape (D, K): (K,) or (D, K)."""
        return shape if self.row_sticks else shape[1:]


STANDARD_MASKS = MaskModel()


def sticks(raw_a, raw_b):
    r"""Turn unconstrained parameters into the shape parameters of the sticks' posterior.

    .. math:: a = \log(1 + e^{raw_a}), \qquad b = \log(1 + e^{raw_b})

    Parameters
    ----------
    raw_a, raw_b : ndarray, shape (K,) or (D, K)
        Any real.

    Returns
    -------
    out : tuple
        ``a`` and ``b``, of the same shape, > 0.
    cache : tuple
        What :func:`sticks_vjp` needs.
    """
    return (softplus(raw_a), softplus(raw_b)), (raw_a, raw_b)


def sticks_vjp(dout, cache):
    r"""Pull gradients at (a, b) back through the softplus: :math:`d\,raw = \sigma(raw)\, da`."""
    return dout[0] * sigmoid(cache[0]), dout[1] * sigmoid(cache[1])


class SampledPass(NamedTuple):
    """What a pass with sampled masks leaves for the way back: results, and what the functions that
    it called need.
    """

    sticks: tuple  # of the log-odds of the prior
    weights: tuple  # of masked weights
    # of each column's largest mask, with sticks of each row
    largest: tuple | None
    bias: np.ndarray  # drawn, (S, K)
    activity: np.ndarray  # of the units, (S, K)
    bias_draw: tuple
    linear: tuple
    activation: tuple | None
    backend: object


class LearnedAlpha(NamedTuple):
    """What the divergences of sticks and of a learned alpha leave for the way back."""

    raw: tuple  # of the sticks' shape parameters
    divergence: tuple  # of the sticks
    raw_alpha: tuple
    moments: tuple  # of alpha
    divergence_of_alpha: tuple


@dataclass(frozen=True)
class Masked(Gaussian):
    r"""Gaussian weights under masks; given masks make it a :class:`~ibpcl.models.layers.Gaussian`
    layer.

    .. math:: h = f\bigl(x\,(z \odot V) + u \odot b\bigr), \qquad
              z \sim \mathrm{Concrete}(\rho + \operatorname{logit}\pi, \tau), \quad
              u_k = \max_d z_{dk}

    Parameters beyond those of every layer: ``model``, how the masks are modelled; ``weight_count``:
    if only the weights that a hard mask keeps are there, how many; there are then no parameters of
    masks, sticks and alphas.
    """

    model: MaskModel = STANDARD_MASKS
    weight_count: int | None = field(default=None, kw_only=True)

    def __post_init__(self):
        super().__post_init__()
        for name, allowed in (("kl", MASK_KLS), ("link", MASK_LINKS)):
            if getattr(self.model, name) not in allowed:
                raise ValueError(
                    f"masked: mask_{name} must be one of {', '.join(allowed)}, "
                    f"got {getattr(self.model, name)!r}"
                )

    @property
    def weights(self):
        """The shape of the weights' means in the vector: (D, K), or (M,) of those that a hard mask
        keeps.
        """
        return self.shape if self.weight_count is None else (self.weight_count,)

    def entries(self):
        """Return the Gaussian entries, the masks' offsets, the sticks, and alpha if it is
        learned.
        """
        found = super().entries()
        if self.weight_count is not None:
            return found
        found.append(Entry(f"{self.name}.rho", self.shape, "rho"))
        found += [
            Entry(f"{self.name}.{raw}", self.model.stick_shape(self.shape), "sticks")
            for raw in ("raw_a", "raw_b")
        ]
        if self.model.learns_alpha:
            found += [
                Entry(f"{self.name}.{raw}", (), "alpha") for raw in ("raw_shape", "raw_scale")
            ]
        return found

    def start_sticks(self, parameters, alpha):
        """Put the sticks at their prior, Kumaraswamy(alpha, 1) = Beta(alpha, 1), in place.

        A learned alpha starts at a Weibull of shape 4 whose mean is ``alpha``.
        """
        parameters["raw_a"][...] = inverse_softplus(float(alpha))
        parameters["raw_b"][...] = inverse_softplus(1.0)
        if self.model.learns_alpha:
            parameters["raw_shape"][...] = inverse_softplus(ALPHA_SHAPE)
            parameters["raw_scale"][...] = inverse_softplus(
                float(alpha) / gamma(1 + 1 / ALPHA_SHAPE)
            )

    def noise(self, key, samples, batch, relaxed):
        """Return noise for weights, biases, sticks and masks; for pre-activations where masks are
        given.
        """
        if not relaxed:
            return super().noise(key, samples, batch, relaxed)
        weight, bias, stick, mask = (
            key._replace(stream=key.stream + i) for i in range(self.streams)
        )
        shape = (samples, *self.shape)
        return {
            "weight": Draw("normal", weight, shape),
            "bias": Draw("normal", bias, (samples, self.units)),
            "stick": Draw("uniform", stick, (samples, *self.model.stick_shape(self.shape))),
            "mask": Draw("logistic", mask, shape),
        }

    def forward(self, views, x, noise, options):
        """Evaluate the layer; with sampled masks their divergence is ``kl_masks``."""
        if options.masks is not None:
            out, cache = super().forward(views, x, noise, options)
            return out, Kept(given=cache)
        parameters = views[self.name]
        drawn = noise[self.name]
        model = self.model
        backend = options.backend
        logit_pi, stick_cache = backend.sticks.log_odds(
            drawn["stick"], parameters["raw_a"], parameters["raw_b"], model.link
        )
        sample = (
            backend.masked_weights.sample
            if model.structured
            else backend.masked_weights.sample_mean_field
        )
        arrays = (
            drawn["weight"],
            drawn["mask"],
            parameters["weight.mu"],
            parameters["weight.log_sigma"],
            parameters["rho"],
        )
        largest = None
        # D K columns of one row; then its masks are the activity
        if model.row_sticks:
            (w, z, divergence), weights_cache = sample(
                *map(_one_row, arrays), _one_row(logit_pi)[:, 0], options.tau, model.kl
            )
            w = w.reshape(drawn["weight"].shape)
            activity, largest = masked_linear.column_activity(z.reshape(w.shape))
        else:
            (w, activity, divergence), weights_cache = sample(
                *arrays, logit_pi, options.tau, model.kl
            )
        bias, bias_cache = gaussian.sample(
            drawn["bias"], parameters["bias.mu"], parameters["bias.log_sigma"]
        )
        h, linear_cache = backend.linear.apply(x, w, bias * activity)
        h, activation_cache = activate(self.activation, h, backend)
        return (h, {"kl_masks": divergence}), Kept(
            sampled=SampledPass(
                stick_cache,
                weights_cache,
                largest,
                bias,
                activity,
                bias_cache,
                linear_cache,
                activation_cache,
                backend,
            )
        )

    def forward_vjp(self, dout, cache, needs_dx=True):
        """Pull the gradients at the outputs and at the masks' divergence back."""
        if cache.sampled is None:
            return super().forward_vjp(dout, cache.given, needs_dx)
        (dh, ddivergences), model, run = dout, self.model, cache.sampled
        backend = run.backend
        dx, dw, dscaled_bias = backend.linear.apply_vjp(
            activate_vjp(dh, run.activation), run.linear, needs_dx
        )
        dbias_mu, dbias_log_sigma = gaussian.sample_vjp(dscaled_bias * run.activity, run.bias_draw)
        sample_vjp = (
            backend.masked_weights.sample_vjp
            if model.structured
            else backend.masked_weights.sample_mean_field_vjp
        )
        dactivity = dscaled_bias * run.bias
        ddivergence = ddivergences["kl_masks"]
        if model.row_sticks:
            dz = masked_linear.column_activity_vjp(dactivity, run.largest)
            found = sample_vjp((_one_row(dw), _one_row(dz)[:, 0], ddivergence), run.weights)
            dmu, dlog_sigma, drho, dlogit_pi = (
                part.reshape(*part.shape[:-2], *dw.shape[1:])
                for part in (*found[:3], found[3][:, None])
            )
        else:
            dmu, dlog_sigma, drho, dlogit_pi = sample_vjp((dw, dactivity, ddivergence), run.weights)
        draw_a, draw_b = backend.sticks.log_odds_vjp(dlogit_pi, run.sticks)
        return dx, {
            self.name: {
                "weight.mu": dmu,
                "weight.log_sigma": dlog_sigma,
                "bias.mu": dbias_mu,
                "bias.log_sigma": dbias_log_sigma,
                "rho": drho,
                "raw_a": draw_a,
                "raw_b": draw_b,
            }
        }

    def kl_sticks(self, parameters, prior, backend):
        """Compute the divergences, nats, of the layer's sticks and of a learned alpha from their
        prior.

        ``parameters`` are the layer's by name, ``prior`` is the concentration alpha of the
        sticks' prior, or of a learned one shape and rate of its Gamma prior.  That of the sticks is
        a mean over a learned alpha; without one the other is 0.
        """
        if not self.model.learns_alpha:
            kl, cache = backend.sticks.divergence(parameters["raw_a"], parameters["raw_b"], prior)
            return (kl, 0.0), (cache, backend)
        (a, b), raw_cache = sticks(parameters["raw_a"], parameters["raw_b"])
        (k, scale), raw_alpha = sticks(parameters["raw_shape"], parameters["raw_scale"])
        (mean, mean_log), moments_cache = weibull.moments(k, scale)
        kl, cache = kumaraswamy.expected_kl_to_beta(a, b, mean, mean_log)
        kl_alpha, gamma_cache = weibull.kl_to_gamma(k, scale, *prior)
        return (kl, kl_alpha), LearnedAlpha(raw_cache, cache, raw_alpha, moments_cache, gamma_cache)

    def kl_sticks_vjp(self, dout, cache):
        """Pull the gradients at both divergences back to the layer's parameters, a dict by name."""
        dkl, dkl_alpha = dout
        if not self.model.learns_alpha:
            inner, backend = cache
            draw_a, draw_b, _ = backend.sticks.divergence_vjp(dkl, inner)
            return {"raw_a": draw_a, "raw_b": draw_b}
        da, db, dmean, dmean_log = kumaraswamy.expected_kl_to_beta_vjp(dkl, cache.divergence)
        by_sticks = weibull.moments_vjp((dmean, dmean_log), cache.moments)
        by_prior = weibull.kl_to_gamma_vjp(dkl_alpha, cache.divergence_of_alpha)
        dalpha = [one + other for one, other in zip(by_sticks, by_prior, strict=True)]
        values = (*sticks_vjp((da, db), cache.raw), *sticks_vjp(dalpha, cache.raw_alpha))
        return dict(zip(("raw_a", "raw_b", "raw_shape", "raw_scale"), values, strict=True))


def _one_row(array):
    """Lay the rows of (..., D, K) end to end: (..., 1, D K)."""
    return array.reshape(*array.shape[:-2], 1, array.shape[-2] * array.shape[-1])
