r"""Layers whose shared weights a task may multiply, unit by unit: adaptive weights.

Adel, Zhao and Turner (2020), "Continual Learning with Adaptive Weights": all tasks share Gaussian
weights, and a task changes those of a unit by a factor, or leaves them as they are,

.. math::

    h_k = f\Bigl((1 + z_k a_k) \Bigl(\sum_d x_d V_{dk} + b_k\Bigr)\Bigr), \qquad
    z_k \sim \mathrm{Bernoulli}(\sigma(\rho_k)).

The masks z are relaxed while they are trained (:mod:`ibpcl.primitives.concrete`).  The adaptation a
is a number without a distribution.  At z = 0, and at a = 0, this is a layer with Gaussian weights.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ibpcl.models.layers import GAUSSIAN, Draw, Gaussian, Kept, activate, activate_vjp
from ibpcl.models.parameters import Entry
from ibpcl.primitives import bernoulli, concrete

ADAPTATION = ("rho", "adaptation")


class SampledPass(NamedTuple):
    """Cache of a pass with sampled masks: intermediate results, and the caches of its functions.

    Attributes
    ----------
    linear : tuple
        Cache of the pre-activations.
    activation : tuple or None
        Cache of the activation; None for a layer without one.
    plain : ndarray, shape (S, N, K)
        Pre-activations before the adaptation.
    z : ndarray, shape (S, N, K)
        Relaxed masks.
    adaptation : ndarray, shape (K,)
        The adaptation a.
    mask : tuple
        Cache of the draw of the masks.
    backend : ibpcl.inference.backend.Backend
        The functions that computed.
    """

    linear: tuple
    activation: tuple | None
    plain: np.ndarray
    z: np.ndarray
    adaptation: np.ndarray
    mask: tuple
    backend: object


@dataclass(frozen=True)
class Adapted(Gaussian):
    """Gaussian layer whose pre-activations a task multiplies by 1 + z a, unit by unit.

    A mask is part of the weights, so its KL divergence counts once, and not for each example.  Each
    example draws its own mask, as it draws its own pre-activation: its expected log likelihood
    depends on their distribution alone.  With given masks this is a
    :class:`~ibpcl.models.layers.Gaussian` layer.  At temperature 0 the masks are binary.

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
        Must be True: pre-activations are sampled, not weights.

    Raises
    ------
    ValueError
        If ``activation`` is unknown, or ``local`` is False.
    """

    def __post_init__(self):
        super().__post_init__()
        if not self.local:
            raise ValueError("adapted: local must be True, because pre-activations are multiplied")

    def entries(self):
        """Return the Gaussian entries, then ``rho`` and ``adaptation`` (K,)."""
        blocks = zip(ADAPTATION, ("rho", "film"), strict=True)
        own = [Entry(f"{self.name}.{name}", (self.units,), block) for name, block in blocks]
        return super().entries() + own

    def noise(self, key, samples, batch, relaxed):
        """Return the noise that a pass draws.

        Parameters
        ----------
        key : ibpcl.noise.Key
            Key of the layer's noise.  Four streams are reserved, from this one on.
        samples : int
            Number of Monte Carlo samples S.
        batch : int
            Number of examples N.
        relaxed : bool
            True if masks are sampled, False if they are given.

        Returns
        -------
        draws : dict of str to ibpcl.models.layers.Draw
            ``eps`` (S, N, K), normal, as in a Gaussian layer; with sampled masks also ``mask``
            (S, N, K), logistic.
        """
        draws = super().noise(key, samples, batch, relaxed)
        if relaxed:
            shape = (samples, batch * self.positions, self.units)
            draws |= {"mask": Draw("logistic", key._replace(stream=key.stream + 3), shape)}
        return draws

    def forward(self, views, x, noise, options):
        """Sample the outputs, adapted by sampled masks unless masks are given.

        Parameters
        ----------
        views : dict of str to dict
            Parameters of all layers: ``views[layer][parameter]`` is an array.
        x : ndarray, shape (S, N, D) or (N, D)
            Inputs; (N, D) if all samples share them.
        noise : dict of str to dict
            Noise of all layers: ``noise[layer][name]`` is an array, as declared by :meth:`noise`.
        options : ibpcl.models.layers.Pass
            Backend, masks and temperature.

        Returns
        -------
        out : tuple
            The outputs, shape (S, N, K), and an empty dict of divergences.
        cache : ibpcl.models.layers.Kept or None
            Input of :meth:`forward_vjp`; None at temperature 0, where there is no gradient.
        """
        if options.masks is not None:
            out, cache = super().forward(views, x, noise, options)
            return out, Kept(given=cache)
        drawn = noise[self.name]
        parameters = views[self.name]
        backend = options.backend
        # The activation is applied separately, because the adaptation comes before it.
        plain, linear = backend.local_linear.sample(
            drawn["eps"], x, *(parameters[name] for name in GAUSSIAN), None, None
        )
        adaptation = parameters["adaptation"]
        if options.tau == 0:
            z = parameters["rho"] + drawn["mask"] > 0
            h, _ = activate(self.activation, plain * (1 + z * adaptation), backend)
            return (h, {}), None
        z, mask = concrete.sample(drawn["mask"], parameters["rho"], options.tau)
        h, active = activate(self.activation, plain * (1 + z * adaptation), backend)
        run = SampledPass(linear, active, plain, z, adaptation, mask, backend)
        return (h, {}), Kept(sampled=run)

    def forward_vjp(self, dout, cache, needs_dx=True):
        r"""Pull the gradient at the outputs back to inputs and parameters.

        With :math:`g = 1 + z a` and the pre-activations u, the outputs are f(g u), so

        .. math:: du = g\, d(gu), \qquad dz = a u\, d(gu), \qquad
                  da_k = \sum_{sn} z_{snk} u_{snk}\, d(gu)_{snk} .

        Parameters
        ----------
        dout : tuple
            Gradient at the outputs (S, N, K), and a dict that is not used.
        cache : ibpcl.models.layers.Kept
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
        if cache.sampled is None:
            return super().forward_vjp(dout, cache.given, needs_dx)
        run = cache.sampled
        dh = activate_vjp(dout[0], run.activation)
        dfactor = dh * run.plain
        # rho and the adaptation were broadcast over samples and examples
        drho = concrete.sample_vjp(dfactor * run.adaptation, run.mask).sum(axis=(0, 1))
        dadaptation = (dfactor * run.z).sum(axis=(0, 1))
        dx, *gaussian = run.backend.local_linear.sample_vjp(
            dh * (1 + run.z * run.adaptation), run.linear, needs_dx
        )
        values = (*gaussian, drho, dadaptation)
        return dx, {self.name: dict(zip(GAUSSIAN + ADAPTATION, values, strict=True))}

    def kl_sticks(self, parameters, prior, backend):
        """Compute the KL divergence of the masks from their prior.

        It has the name of the divergence of sticks, whose place it takes in the ELBO.

        Parameters
        ----------
        parameters : dict of str to ndarray
            Parameters of this layer by name.
        prior : ndarray, shape (K,)
            Log-odds of the masks' prior.
        backend : ibpcl.inference.backend.Backend
            Not used, because only the NumPy version exists.

        Returns
        -------
        out : tuple of float
            Divergence in nats, summed over units; and 0 in the place of the divergence of alpha.
        cache : tuple
            Input of :meth:`kl_sticks_vjp`.
        """
        divergence, cache = bernoulli.kl(parameters["rho"][None, None], prior[None])
        return (divergence[0], 0.0), cache

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
            The gradient of ``rho``, by its name.
        """
        drho, _ = bernoulli.kl_vjp(np.full(1, dout[0], cache[0].dtype), cache)
        return {"rho": drho[0, 0]}
