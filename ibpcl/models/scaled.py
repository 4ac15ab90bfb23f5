r"""Layers whose units or weights have scales with a horseshoe prior.

Ghosh, Yao and Doshi-Velez (2018), "Structured Variational Learning of Bayesian Neural Networks with
Horseshoe Priors", in the non-centred form: a weight is the product of a Gaussian, a local scale and
the global scale of its layer,

.. math::

    w_{dk} = \tau\, \lambda_k\, \beta_{dk} \quad \text{or} \quad
    w_{dk} = \tau\, \lambda_{dk}\, \beta_{dk}, \qquad
    \lambda \sim C^+(0, 1), \quad \tau \sim C^+(0, b).

The posteriors of :math:`\log\lambda^2` and :math:`\log\tau^2` are Gaussian
(:mod:`ibpcl.primitives.horseshoe`).  With :math:`\lambda = \tau = 1` these are layers with
Gaussian weights.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ibpcl.models.layers import GAUSSIAN, Draw, Drawn, Gaussian, activate, activate_vjp
from ibpcl.models.parameters import Entry
from ibpcl.primitives import gaussian, horseshoe

SCALES = ("scale.mu", "scale.log_sigma", "global.mu", "global.log_sigma")
# The streams of the scales are far from those of all layers, so the weights have the noise of a
# layer without scales.
FAR = 2**16
# log variance of a unit or weight that is switched off: its scale is 0 in float32
OFF = -300.0


class Scales(NamedTuple):
    r"""Gaussian distribution of the log variances of a layer, such as its last posterior.

    Attributes
    ----------
    mu, log_sigma : ndarray, shape (K,) or (D, K)
        Means and log standard deviations of :math:`\log\lambda^2`.
    global_mu, global_log_sigma : ndarray, shape ()
        The same of :math:`\log\tau^2`.
    """

    mu: np.ndarray
    log_sigma: np.ndarray
    global_mu: np.ndarray
    global_log_sigma: np.ndarray


def of_layer(parameters):
    """Return the distribution of the log variances of a layer.

    Parameters
    ----------
    parameters : dict of str to ndarray
        Parameters of the layer by name.

    Returns
    -------
    scales : Scales
        Views of four of them.
    """
    return Scales(*(parameters[name] for name in SCALES))


def entries(layer):
    """Return the entries of the scales in the parameter vector.

    Parameters
    ----------
    layer : Scaled
        The layer; ``layer.scale_shape`` is the shape of its local scales.

    Returns
    -------
    entries : list of ibpcl.models.parameters.Entry
        Mean and log standard deviation of the local scales, and of the global one.
    """
    shapes = (layer.scale_shape, layer.scale_shape, (), ())
    return [
        Entry(f"{layer.name}.{name}", shape, "scales")
        for name, shape in zip(SCALES, shapes, strict=True)
    ]


def draws(layer, key, samples):
    """Return the noise of the scales, one draw per sample for all examples.

    Parameters
    ----------
    layer : Scaled
        The layer.
    key : ibpcl.noise.Key
        Key of the layer's noise.
    samples : int
        Number of Monte Carlo samples S.

    Returns
    -------
    draws : dict of str to ibpcl.models.layers.Draw
        ``scale`` (S, K) or (S, D, K), and ``global`` (S,), both normal.
    """
    shapes = {"scale": (samples, *layer.scale_shape), "global": (samples,)}
    return {
        name: Draw("normal", key._replace(stream=key.stream + FAR + i), shape)
        for i, (name, shape) in enumerate(shapes.items())
    }


def sample(drawn, parameters):
    r"""Draw the global scale, and its products with the local scales.

    Parameters
    ----------
    drawn : dict of str to ndarray
        Noise, as declared by :func:`draws`.
    parameters : dict of str to ndarray
        Parameters of the layer by name.

    Returns
    -------
    out : tuple
        The products :math:`\tau \lambda`, (S, K) or (S, D, K), and :math:`\tau`, (S, 1), all > 0.
    cache : tuple
        Input of :func:`sample_vjp`.
    """
    scales = of_layer(parameters)
    local, local_cache = horseshoe.sample(drawn["scale"], scales.mu, scales.log_sigma)
    tau, tau_cache = horseshoe.sample(drawn["global"], scales.global_mu, scales.global_log_sigma)
    by_scale = tau.reshape(-1, *[1] * (local.ndim - 1))
    return (by_scale * local, tau[:, None]), (local, by_scale, local_cache, tau_cache)


def sample_vjp(dout, cache):
    """Pull the gradients at both scales back to the parameters of the scales, by name."""
    dscale, dtau = dout
    local, tau, local_cache, tau_cache = cache
    # the global scale was broadcast over the local ones
    dtau = dtau[:, 0] + (dscale * local).reshape(len(local), -1).sum(axis=1)
    gradients = (
        *horseshoe.sample_vjp(dscale * tau, local_cache),
        *horseshoe.sample_vjp(dtau, tau_cache),
    )
    return dict(zip(SCALES, gradients, strict=True))


def kl(parameters, prior):
    """Compute the KL divergence of the scales of a layer from their prior.

    Parameters
    ----------
    parameters : dict of str to ndarray
        Parameters of the layer by name.
    prior : Scales or float
        An earlier posterior; or the median of the half-Cauchy prior of the global scale, > 0.  The
        local scales then have the median 1.

    Returns
    -------
    divergence : float
        Nats, summed over all scales.
    cache : tuple
        Input of :func:`kl_vjp`.
    """
    scales = of_layer(parameters)
    posteriors = (scales[:2], scales[2:])
    if isinstance(prior, Scales):
        found = [
            gaussian.kl(*posterior, *before)
            for posterior, before in zip(posteriors, (prior[:2], prior[2:]), strict=True)
        ]
        pull_back = gaussian.kl_vjp
    else:
        found = [
            horseshoe.kl(*posterior, median)
            for posterior, median in zip(posteriors, (1.0, prior), strict=True)
        ]
        pull_back = horseshoe.kl_vjp
    (local, local_cache), (of_tau, tau_cache) = found
    return local + of_tau, (pull_back, local_cache, tau_cache)


def kl_vjp(ddivergence, cache):
    """Pull the gradient at the divergence back to the parameters of the scales, by name."""
    pull_back, *caches = cache
    # the gradients at the prior are not needed
    gradients = [part for inner in caches for part in pull_back(ddivergence, inner)[:2]]
    return dict(zip(SCALES, gradients, strict=True))


class ScaledPass(NamedTuple):
    """Cache of a layer with scales, by the function that left it.

    Attributes
    ----------
    factor : ndarray, shape (S, N, K) or (S, D, K)
        What the scales multiply: the pre-activations, or the Gaussian factors of the weights.
    scale : ndarray, shape (S, 1, K) or (S, D, K)
        The scales.
    scales : tuple
        Cache of the draw of the scales.
    linear : tuple
        Cache of the linear layer.
    activation : tuple or None
        Cache of the activation; None for a layer without one.
    backend : ibpcl.inference.backend.Backend
        The functions that computed.
    weight, bias : tuple or None
        Caches of the draws of the weights and the biases; None if pre-activations are drawn.
    offset, tau : ndarray or None
        The biases (S, K) before they are scaled, and the global scale (S, 1); None if
        pre-activations are drawn.
    """

    factor: np.ndarray
    scale: np.ndarray
    scales: tuple
    linear: tuple
    activation: tuple | None
    backend: object
    weight: tuple | None = None
    bias: tuple | None = None
    offset: np.ndarray | None = None
    tau: np.ndarray | None = None


@dataclass(frozen=True)
class Scaled(Gaussian):
    r"""Gaussian layer with a scale per unit or per weight.

    With ``local`` there is one scale per unit, which multiplies its weights and its bias.  The
    pre-activations a are sampled, and one scale per sample serves all examples:

    .. math:: h_k = f(\tau\, \lambda_k\, a_k), \qquad a_k = \sum_d x_d\, \beta_{dk} + b_k

    Without it the weights are sampled, each with its own scale; the biases have the global scale:

    .. math:: h = f\bigl(x\,(\tau\, \lambda \odot \beta) + \tau b\bigr)

    Parameters
    ----------
    name : str
        Name of the layer in the parameter vector, without a dot.
    inputs : int
        Number of inputs D.
    units : int
        Number of units K.
    activation : {"relu", "leaky_relu", "softplus", "tanh"}, optional
        Activation function f; none by default.
    positions : int
        Number of rows of inputs that each example has, as in :class:`ibpcl.models.layers.Layer`.
    row_groups : int
        Number of groups of inputs, as in :class:`ibpcl.models.layers.Layer`.
    local : bool
        Whether pre-activations are sampled, with scales of units, or weights with their scales.
    """

    @property
    def streams(self):
        """Noise streams that are reserved, as for the layer without scales."""
        return (Gaussian if self.local else Drawn).streams

    @property
    def scale_shape(self):
        """Shape of the local scales: (K,), or (D, K) without ``local``."""
        return (self.units,) if self.local else self.shape

    def entries(self):
        """Return the Gaussian entries, then those of the local and the global scales."""
        return super().entries() + entries(self)

    def noise(self, key, samples, batch, relaxed):
        """Return the noise that a pass draws: that of a Gaussian layer, and that of the scales.

        Parameters
        ----------
        key : ibpcl.noise.Key
            Key of the layer's noise.
        samples : int
            Number of Monte Carlo samples S.
        batch : int
            Number of examples N.
        relaxed : bool
            Not used: the layer samples no masks.

        Returns
        -------
        draws : dict of str to ibpcl.models.layers.Draw
            Those of :class:`ibpcl.models.layers.Gaussian`, ``scale`` (S, K) or (S, D, K), and
            ``global`` (S,), all normal.
        """
        return super().noise(key, samples, batch, relaxed) | draws(self, key, samples)

    def forward(self, views, x, noise, options):
        """Sample weights, or pre-activations, and scales, and evaluate the layer.

        Parameters
        ----------
        views : dict of str to dict
            Parameters of all layers: ``views[layer][parameter]`` is an array.
        x : ndarray, shape (S, N, D) or (N, D)
            Inputs; (N, D) if all samples share them.
        noise : dict of str to dict
            Noise of all layers: ``noise[layer][name]`` is an array, as declared by :meth:`noise`.
        options : ibpcl.models.layers.Pass
            Only its backend is used.

        Returns
        -------
        out : tuple
            The outputs, shape (S, N, K), and an empty dict of divergences.
        cache : ScaledPass
            Input of :meth:`forward_vjp`.
        """
        parameters = views[self.name]
        drawn = noise[self.name]
        backend = options.backend
        (scale, tau), scales = sample(drawn, parameters)
        if self.local:
            # The activation is applied separately, because the scale comes before it.
            factor, linear = backend.local_linear.sample(
                drawn["eps"], x, *(parameters[name] for name in GAUSSIAN), None, None
            )
            scale = scale[:, None, :]
            h = factor * scale
            drawing = ()
        else:
            factor, weight = backend.gaussian.sample(
                drawn["weight"], parameters["weight.mu"], parameters["weight.log_sigma"]
            )
            offset, bias = backend.gaussian.sample(
                drawn["bias"], parameters["bias.mu"], parameters["bias.log_sigma"]
            )
            h, linear = backend.linear.apply(x, factor * scale, offset * tau)
            drawing = (weight, bias, offset, tau)
        out, active = activate(self.activation, h, backend)
        return (out, {}), ScaledPass(factor, scale, scales, linear, active, backend, *drawing)

    def forward_vjp(self, dout, cache, needs_dx=True):
        """Pull the gradient at the outputs back to the inputs and parameters.

        Parameters
        ----------
        dout : tuple
            Gradient at the outputs (S, N, K), and a dict that is not used.
        cache : ScaledPass
            From :meth:`forward`.
        needs_dx : bool
            Whether to compute the gradient at the inputs.

        Returns
        -------
        dx : ndarray or None
            Gradient at ``x``, of its shape; None if ``needs_dx`` is False.
        gradients : dict of str to dict
            Gradients of the parameters, ``gradients[layer][parameter]``.
        """
        backend = cache.backend
        dh = activate_vjp(dout[0], cache.activation)
        if self.local:
            dscale = (dh * cache.factor).sum(axis=1)  # a scale was broadcast over N
            dtau = np.zeros_like(dscale[:, :1])
            dx, *gradients = backend.local_linear.sample_vjp(
                dh * cache.scale, cache.linear, needs_dx
            )
        else:
            dx, dweight, dbias = backend.linear.apply_vjp(dh, cache.linear, needs_dx)
            dscale = dweight * cache.factor
            dtau = (dbias * cache.offset).sum(axis=1, keepdims=True)  # tau was broadcast over K
            gradients = (
                *backend.gaussian.sample_vjp(dweight * cache.scale, cache.weight),
                *backend.gaussian.sample_vjp(dbias * cache.tau, cache.bias),
            )
        by_name = dict(zip(GAUSSIAN, gradients, strict=True))
        return dx, {self.name: by_name | sample_vjp((dscale, dtau), cache.scales)}

    def kl_sticks(self, parameters, prior, backend):
        """Compute the KL divergence of the scales from their prior.

        It has the name of the divergence of sticks, whose place it takes in the ELBO.

        Parameters
        ----------
        parameters : dict of str to ndarray
            Parameters of this layer by name.
        prior : Scales or float
            As in :func:`kl`.
        backend : ibpcl.inference.backend.Backend
            Not used, because only the NumPy version exists.

        Returns
        -------
        out : tuple of float
            Divergence in nats, summed over scales; and 0 in the place of the divergence of alpha.
        cache : tuple
            Input of :meth:`kl_sticks_vjp`.
        """
        divergence, cache = kl(parameters, prior)
        return (divergence, 0.0), cache

    def kl_sticks_vjp(self, dout, cache):
        """Pull the gradient at the divergence back to the parameters of this layer.

        Parameters
        ----------
        dout : tuple of float
            Gradient at the divergence, and a number that is not used.
        cache : tuple
            From :meth:`kl_sticks`.

        Returns
        -------
        gradients : dict of str to ndarray
            Gradients of the parameters of the scales, by name.
        """
        return kl_vjp(dout[0], cache)


def switched_off(layer, parameters, off):
    """Switch units or weights of a layer off, in place.

    Parameters
    ----------
    layer : Scaled
        The layer.
    parameters : dict of str to ndarray
        Its parameters by name, written to.
    off : ndarray of bool, shape (K,) or (D, K)
        Units or weights whose scale becomes 0.  The bias of a unit without weights becomes 0, too.
    """
    parameters["scale.mu"][off] = OFF
    parameters["scale.log_sigma"][off] = OFF
    if off.ndim == 2:
        parameters["bias.mu"][off.all(axis=0)] = 0.0
        parameters["bias.log_sigma"][off.all(axis=0)] = OFF


def at_medians(parameters):
    r"""Return Gaussian weights, the Gaussian factors times the medians of their scales.

    .. math:: w \sim \mathcal N\bigl(m \mu,\; m^2 \sigma^2\bigr), \qquad
              m = \exp\bigl(\tfrac12 \mu_\lambda + \tfrac12 \mu_\tau\bigr),

    and the biases times the median of the global scale.  The mean of a wide log-normal distribution
    would be far above all but a few of its samples.

    Parameters
    ----------
    parameters : dict of str to ndarray
        Parameters of a layer of :class:`Scaled` weights by name.

    Returns
    -------
    gaussian : dict of str to ndarray
        Parameters of a layer of :class:`ibpcl.models.layers.Gaussian` by name.
    """
    scales = of_layer(parameters)
    log_tau = scales.global_mu / 2
    log_median = scales.mu / 2 + log_tau
    values = (
        parameters["weight.mu"] * np.exp(log_median),
        parameters["weight.log_sigma"] + log_median,
        parameters["bias.mu"] * np.exp(log_tau),
        parameters["bias.log_sigma"] + log_tau,
    )
    return dict(zip(GAUSSIAN, values, strict=True))
