r"""One layer of the network, in the two ways that the method evaluates it.

:func:`relaxed` trains: sticks, relaxed masks and weights are sampled.  :func:`fixed` serves where the mask is given (in
fine-tuning and prediction) or where there is none (the head): the layer's pre-activations are then Gaussian given its
input, and are sampled directly.

A layer's parameters are a dict of arrays: ``weight.mu``, ``weight.log_sigma`` (D, K), ``bias.mu``,
``bias.log_sigma`` (K,) and, where it is masked, ``rho`` (D, K), ``raw_a`` and ``raw_b`` (K,), with
:math:`a = \mathrm{softplus}(raw_a)` so that Adam needs no constraint; or (D, K), with an IBP of its own for each input.
"""

from typing import NamedTuple

import numpy as np

from ibpcl.numerics import sigmoid, softplus
from ibpcl.primitives import gaussian, local_linear, masked_linear, masked_weights

GAUSSIAN = ("weight.mu", "weight.log_sigma", "bias.mu", "bias.log_sigma")
OF_WEIGHTS = ("weight.mu", "weight.log_sigma", "rho")

STREAMS_PER_LAYER = 4                                        # of noise: weights, biases, sticks, masks


class Noise(NamedTuple):
    """What one relaxed layer draws: weights and masks (S, D, K), biases (S, K), sticks (S, K) or (S, D, K)."""

    weight: np.ndarray
    bias: np.ndarray
    stick: np.ndarray
    mask: np.ndarray


def wanted(key, samples, shape, model):
    """Return kind, key and shape of what a relaxed layer of shape (D, K) needs, in a :class:`Noise`.

    Its streams are that of the key and the next three.
    """
    weight, bias, stick, mask = (key._replace(stream=key.stream + i) for i in range(STREAMS_PER_LAYER))
    own = (samples, *shape)
    return Noise(("normal", weight, own), ("normal", bias, (samples, shape[1])),
                 ("uniform", stick, (samples, *model.stick_shape(shape))), ("logistic", mask, own))


def draw(layers, others, backend, dtype):
    """Draw what several relaxed layers need (a list of what :func:`wanted` returns), and other arrays beside them.

    Returns
    -------
    of_layers, of_others : list
        A :class:`Noise` a layer, and an array for each kind, key and shape in ``others``.
    """
    small = [one for layer in layers for one in (layer.bias, layer.stick)]
    drawn = backend.draw([*small, *others], dtype)
    of_layers = [Noise(backend.later(*layer.weight, dtype), bias, stick, backend.later(*layer.mask, dtype))
                 for layer, bias, stick in zip(layers, drawn[0:len(small):2], drawn[1:len(small):2], strict=True)]
    return of_layers, drawn[len(small):]


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


class MaskModel(NamedTuple):
    """How masks are modelled: which divergence, what links them to the sticks, and whether they know the sticks.

    ``kl``: "bernoulli" (the discrete model, closed form) or "concrete" (the relaxed one, equal temperatures).
    ``link``: "logit" (the model of the paper) or "log" (its authors' code: the prior is capped at one half).
    ``structured``: whether rho is an offset to the sticks' log-odds, or is the log-odds (plain mean field).
    ``row_sticks``: whether each input of a layer has sticks of its own, an IBP a row, or all share those of the layer.
    """

    kl: str = "bernoulli"
    link: str = "logit"
    structured: bool = True
    row_sticks: bool = False

    def stick_shape(self, shape):
        """Return the shape of the sticks of a layer of shape (D, K): (K,) or (D, K)."""
        return shape if self.row_sticks else shape[1:]


def relaxed(parameters, x, noise, tau, model, backend):
    r"""Evaluate a masked layer with sampled sticks, masks and weights.

    .. math:: h = x\,(z \odot V) + u \odot b, \qquad z \sim \mathrm{Concrete}(\rho + \operatorname{logit}\pi, \tau)

    Kumar et al. (2021), Secs. 3.1, 3.2 and 4.5.

    Returns
    -------
    out : tuple
        Pre-activations (S, N, K) and the divergence of the masks (S,), nats.
    cache : tuple
        What :func:`relaxed_vjp` needs.
    """
    logit_pi, stick_cache = backend.log_odds(noise.stick, parameters["raw_a"], parameters["raw_b"], model.link)
    # The compiled twin is of the structured posterior; the plain one is there to be compared with.
    sample, of_weights = backend.sample_masked_weights, (noise.weight, noise.mask)
    if not model.structured:
        sample, of_weights = masked_weights.sample_mean_field, map(np.asarray, of_weights)
    arrays = (*of_weights, parameters["weight.mu"], parameters["weight.log_sigma"], parameters["rho"])
    if model.row_sticks:                                     # D K columns of one row; then its masks are the activity
        (w, z, divergence), weights_cache = sample(*map(_one_row, arrays), _one_row(logit_pi)[:, 0], tau, model.kl)
        w = w.reshape(noise.weight.shape)
        activity, largest = masked_linear.column_activity(z.reshape(w.shape))
        weights_cache = weights_cache, largest
    else:
        (w, activity, divergence), weights_cache = sample(*arrays, logit_pi, tau, model.kl)
    bias, bias_cache = gaussian.sample(noise.bias, parameters["bias.mu"], parameters["bias.log_sigma"])
    h, linear_cache = backend.linear(x, w, bias * activity)
    cache = model, stick_cache, weights_cache, bias, activity, bias_cache, linear_cache, backend
    return (h, divergence), cache


def relaxed_vjp(dout, cache, needs_dx=True, out=None):
    """Pull the gradients at the pre-activations and at the divergence back to ``x`` and the parameters (a dict).

    ``out`` are arrays, a dict too, of which some may become the gradients.
    """
    dh, ddivergence = dout
    model, stick_cache, weights_cache, bias, activity, bias_cache, linear_cache, backend = cache
    dx, dw, dscaled_bias = backend.linear_vjp(dh, linear_cache, needs_dx)
    dbias_mu, dbias_log_sigma = gaussian.sample_vjp(dscaled_bias * activity, bias_cache)
    sample_vjp = backend.sample_masked_weights_vjp if model.structured else masked_weights.sample_mean_field_vjp
    if model.row_sticks:
        weights_cache, largest = weights_cache
        dz = masked_linear.column_activity_vjp(dscaled_bias * bias, largest)
        found = sample_vjp((_one_row(dw), _one_row(dz)[:, 0], ddivergence), weights_cache)
        dmu, dlog_sigma, drho, dlogit_pi = (part.reshape(*part.shape[:-2], *dw.shape[1:]) for part in (
            *found[:3], found[3][:, None]))
    else:
        there = {} if out is None or not model.structured else {"out": tuple(out[name] for name in OF_WEIGHTS)}
        dmu, dlog_sigma, drho, dlogit_pi = sample_vjp((dw, dscaled_bias * bias, ddivergence), weights_cache, **there)
    draw_a, draw_b = backend.log_odds_vjp(dlogit_pi, stick_cache)
    return dx, {"weight.mu": dmu, "weight.log_sigma": dlog_sigma, "bias.mu": dbias_mu,
                "bias.log_sigma": dbias_log_sigma, "rho": drho, "raw_a": draw_a, "raw_b": draw_b}


def _one_row(array):
    """Lay the rows of (..., D, K) end to end: (..., 1, D K)."""
    return array.reshape(*array.shape[:-2], 1, array.shape[-2] * array.shape[-1])


def fixed(parameters, mask, x, eps, backend=None, activation=None):
    r"""Evaluate a layer whose binary mask is given, sampling its pre-activations a; f is its activation, if it has one.

    .. math:: h = f(a), \quad a \sim \mathcal N\bigl(x (B \odot \mu) + u \odot \mu_b,\;
              x^2 (B \odot \sigma^2) + u \odot \sigma_b^2\bigr), \qquad u_k = \max_d B_{dk}

    Kumar et al. (2021), Sec. 4.5, "Selective Finetuning"; sampled as in Kingma, Salimans and Welling (2015).

    Parameters
    ----------
    parameters : dict
        The layer's parameters; ``weight.mu`` and ``weight.log_sigma`` are those of all weights, (D, K), or of those
        that the mask keeps, (M,).
    mask : ndarray of bool, shape (D, K), or None
        The task's mask, M of its elements True; None for a layer without one (the head).
    x : ndarray, shape (S, N, D) or (N, D)
        Inputs.
    eps : ndarray, shape (S, N, K)
        Standard normal noise.
    backend : Backend, optional
        Who computes; the primitives if not given.
    activation : str, optional
        The name of f (:mod:`ibpcl.primitives.activations`), if the layer has one.
    """
    sample, sample_vjp = local_linear.sample, local_linear.sample_vjp
    if backend is not None:
        sample, sample_vjp = backend.local_linear, backend.local_linear_vjp
    h, cache = sample(eps, x, *(parameters[name] for name in GAUSSIAN), mask, activation)
    return h, (sample_vjp, cache)


def fixed_vjp(dh, cache, needs_dx=True, out=None):
    """Pull the gradient at the layer's outputs back to ``x`` and the Gaussian parameters (a dict).

    ``out`` are arrays, a dict too, of which some may become the gradients.
    """
    sample_vjp, inner = cache
    dx, *found = sample_vjp(dh, inner, needs_dx, None if out is None else tuple(out[name] for name in GAUSSIAN))
    return dx, dict(zip(GAUSSIAN, found, strict=True))
