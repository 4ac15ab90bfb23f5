r"""Masked layers with binary masks: the passes from which a gradient without a relaxation is made.

A pass draws its masks by an object with a pair of methods:

- ``sample(drawn, logit_theta, tau)`` returns the masks and a cache;
- ``gradient(dz, dloss, cache)`` returns the gradient at the log-odds, from the gradient at the
  masks and from one number for each sample.

:class:`Binary` draws binary masks, :class:`Conditional` relaxed masks given the binary ones.  If
there is no such object (``Pass.draw`` is None), masks are relaxed as in
:mod:`ibpcl.models.masked`.  The estimators that use these passes are in
:mod:`ibpcl.inference.binary_masks`.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ibpcl.models.layers import evaluate, evaluate_vjp
from ibpcl.numerics import sigmoid
from ibpcl.primitives import bernoulli, binary_gradients, concrete

MASK_KL = {"bernoulli": bernoulli, "concrete": concrete}


@dataclass(frozen=True)
class Binary:
    """Binary masks; the estimator decides how their log-odds get a gradient.

    Parameters
    ----------
    estimator : {"straight_through", "score", "arm", "disarm"}
        A function of :mod:`ibpcl.primitives.binary_gradients`.
    """

    estimator: str

    def sample(self, drawn, logit_theta, tau):
        """Draw the masks.

        Parameters
        ----------
        drawn : dict of str to ndarray
            Noise of the layer; ``mask`` (S, D, K) is logistic.
        logit_theta : ndarray, shape (S, D, K)
            Log-odds.
        tau : float
            Not used.

        Returns
        -------
        b : ndarray, shape (S, D, K)
            Zeros and ones.
        cache : tuple
            Input of :meth:`gradient`.
        """
        b = binary_gradients.sample(drawn["mask"], logit_theta)
        return b, (b, drawn["mask"], logit_theta)

    def gradient(self, db, dloss, cache):
        """Estimate the gradient at the log-odds.

        Parameters
        ----------
        db : ndarray, shape (S, D, K)
            Gradient of the loss at the masks; used by "straight_through" only.
        dloss : ndarray, shape (S,), or None
            What the other estimators weigh: the loss of each sample minus a baseline, or the
            difference to the loss with opposite masks.
        cache : tuple
            From :meth:`sample`.

        Returns
        -------
        dlogit_theta : ndarray, shape (S, D, K)
            The estimates.
        """
        b, logistic, logit_theta = cache
        if self.estimator == "straight_through":
            return binary_gradients.straight_through(db, logit_theta)
        if self.estimator == "score":
            return binary_gradients.score(dloss, b, logit_theta)
        if self.estimator == "arm":
            return binary_gradients.arm(dloss, sigmoid(logistic))
        opposite = binary_gradients.sample(-logistic, logit_theta)
        return binary_gradients.disarm(dloss, b, opposite, logit_theta)


@dataclass(frozen=True)
class Conditional:
    """Relaxed masks given the binary masks of :class:`Binary`, for the control variate of REBAR."""

    def sample(self, drawn, logit_theta, tau):
        """Draw the masks.

        Parameters
        ----------
        drawn : dict of str to ndarray
            Noise of the layer; ``mask`` (S, D, K), logistic, determines the binary masks, and
            ``again``, of the same shape, the relaxed ones given these.
        logit_theta : ndarray, shape (S, D, K)
            Log-odds.
        tau : float
            Temperature, > 0.

        Returns
        -------
        z : ndarray, shape (S, D, K)
            Masks in [0, 1].
        cache : tuple
            Input of :meth:`gradient`.
        """
        b = binary_gradients.sample(drawn["mask"], logit_theta)
        return concrete.sample_given(drawn["again"], b, logit_theta, tau)

    def gradient(self, dz, dloss, cache):
        """Pull the gradient at the masks back to the log-odds.

        Parameters
        ----------
        dz : ndarray, shape (S, D, K)
            Gradient of the loss at the masks.
        dloss : None
            Not used.
        cache : tuple
            From :meth:`sample`.

        Returns
        -------
        dlogit_theta : ndarray, shape (S, D, K)
            The gradient.
        """
        return concrete.sample_given_vjp(dz, cache)


class MaskedPass(NamedTuple):
    """Cache of a pass whose masks were drawn by ``Pass.draw``.

    Attributes
    ----------
    draw : Binary or Conditional
        What drew the masks.
    sticks : tuple
        Cache of the prior log-odds.
    mask : tuple
        Cache of the masks.
    z : ndarray, shape (S, G, K)
        The masks.
    v : ndarray, shape (S, D, K)
        The drawn weights.
    weight : tuple
        Cache of the draw of the weights.
    largest : tuple
        Cache of the activity.
    divergence : tuple
        Cache of the divergence of the masks.
    bias : ndarray, shape (S, K)
        The drawn biases.
    activity : ndarray, shape (S, K)
        The largest mask of each unit.
    bias_draw : tuple
        Cache of the draw of the biases.
    evaluated : ibpcl.models.layers.LinearPass or ibpcl.models.layers.ConvolvedPass
        Cache of the products, the activation and the pooling.
    backend : ibpcl.inference.backend.Backend
        The functions that computed.
    """

    draw: object
    sticks: tuple
    mask: tuple
    z: np.ndarray
    v: np.ndarray
    weight: tuple
    largest: tuple
    divergence: tuple
    bias: np.ndarray
    activity: np.ndarray
    bias_draw: tuple
    evaluated: object
    backend: object


def forward(layer, views, x, noise, options):
    """Evaluate a masked layer with masks from ``options.draw``.

    It computes what :meth:`ibpcl.models.masked.Masked.forward` does, step by step.

    Parameters
    ----------
    layer : ibpcl.models.masked.Masked
        The layer.
    views, x, noise, options
        As for :meth:`ibpcl.models.masked.Masked.forward`.

    Returns
    -------
    out : tuple
        The outputs, shape (S, N, K), and a dict with ``kl_masks`` (S,).
    cache : MaskedPass
        Input of :func:`forward_vjp`.
    """
    parameters = views[layer.name]
    drawn = noise[layer.name]
    model = layer.model
    backend = options.backend
    logit_pi, stick_cache = backend.sticks.log_odds(
        drawn["stick"], parameters["raw_a"], parameters["raw_b"], model.link
    )
    prior = logit_pi if model.row_sticks else logit_pi[:, None, :]
    if model.inherits:
        prior = prior + parameters["prior_rho"]
    rho = parameters["rho"]
    samples = len(logit_pi)
    prior = np.broadcast_to(prior, (samples, *rho.shape))
    logit_theta = prior + rho if model.structured else np.broadcast_to(rho, prior.shape)
    z, mask_cache = options.draw.sample(drawn, logit_theta, options.tau)
    # every mask has its own prior log-odds here, so all masks form one row
    divergence, kl_cache = MASK_KL[model.kl].kl(
        logit_theta.reshape(samples, 1, -1), prior.reshape(samples, -1)
    )
    activity, largest = backend.masked_linear.column_activity(z)
    v, weight_cache = backend.gaussian.sample(
        drawn["weight"], parameters["weight.mu"], parameters["weight.log_sigma"]
    )
    w = _by_mask(layer, v) * z[:, None]
    bias, bias_cache = backend.gaussian.sample(
        drawn["bias"], parameters["bias.mu"], parameters["bias.log_sigma"]
    )
    h, evaluated = evaluate(x, w.reshape(v.shape), bias * activity, layer.activation, backend)
    return (h, {"kl_masks": divergence}), MaskedPass(
        options.draw,
        stick_cache,
        mask_cache,
        z,
        v,
        weight_cache,
        largest,
        kl_cache,
        bias,
        activity,
        bias_cache,
        evaluated,
        backend,
    )


def forward_vjp(layer, dout, run, needs_dx=True):
    """Pull the gradients at outputs, divergences and the loss back to inputs and parameters.

    Parameters
    ----------
    layer : ibpcl.models.masked.Masked
        The layer.
    dout : tuple
        Gradient at the outputs (S, N, K), and a dict with the gradient at ``kl_masks`` (S,); its
        entry ``loss`` (S,), if there is one, is the argument ``dloss`` of :class:`Binary`.
    run : MaskedPass
        From :func:`forward`.
    needs_dx : bool
        Whether to compute the gradient at the inputs.

    Returns
    -------
    dx : ndarray or None
        Gradient at ``x``, of its shape; None if ``needs_dx`` is False.
    gradients : dict of str to dict
        Gradients of the parameters, ``gradients[layer][parameter]``.
    """
    dh, ddivergences = dout
    backend = run.backend
    model = layer.model
    dx, dw, dscaled_bias = evaluate_vjp(dh, run.evaluated, needs_dx)
    dbias_mu, dbias_log_sigma = backend.gaussian.sample_vjp(
        dscaled_bias * run.activity, run.bias_draw
    )
    by_mask = _by_mask(layer, dw)
    dv = (by_mask * run.z[:, None]).reshape(dw.shape)
    dmu, dlog_sigma = backend.gaussian.sample_vjp(dv, run.weight)
    # weights that share a mask were broadcast over axis 1
    dz = (by_mask * _by_mask(layer, run.v)).sum(axis=1)
    dz = dz + backend.masked_linear.column_activity_vjp(dscaled_bias * run.bias, run.largest)
    dlogit_theta = run.draw.gradient(dz, ddivergences.get("loss"), run.mask)
    by_kl, dprior = MASK_KL[model.kl].kl_vjp(ddivergences["kl_masks"], run.divergence)
    dlogit_theta = dlogit_theta + by_kl.reshape(dz.shape)
    dprior = dprior.reshape(dz.shape)
    if model.structured:
        dprior = dprior + dlogit_theta
    # without sticks of rows, the sticks were broadcast over D
    dlogit_pi = dprior if model.row_sticks else dprior.sum(axis=1)
    draw_a, draw_b = backend.sticks.log_odds_vjp(dlogit_pi, run.sticks)
    return dx, {
        layer.name: {
            "weight.mu": dmu,
            "weight.log_sigma": dlog_sigma,
            "bias.mu": dbias_mu,
            "bias.log_sigma": dbias_log_sigma,
            "rho": dlogit_theta.sum(axis=0),  # rho was broadcast over S
            "raw_a": draw_a,
            "raw_b": draw_b,
        }
    }


def _by_mask(layer, array):
    """Return weights (S, D, K) with the axis of those that share a mask, (S, D / G, G, K)."""
    return array.reshape(len(array), layer.sharing, *layer.mask_shape)
