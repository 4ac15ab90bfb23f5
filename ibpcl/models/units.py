r"""A layer whose units are switched on and off for every example, with an IBP prior on the masks.

Kessler, Nguyen, Zohren and Roberts (2021), "Hierarchical Indian Buffet Neural Networks for Bayesian
Continual Learning": for example n, unit k of a hidden layer outputs

.. math::

    h_{nk} = z_{nk}\, f\Bigl(\sum_d x_{nd} V_{dk} + b_k\Bigr), \qquad
    z_{nk} \sim \mathrm{Bernoulli}(\pi_k), \quad
          \pi_k = \prod_{i \le k} v_i,

with Gaussian weights.  The posterior of the sticks is :math:`q(v_k) = \mathrm{Kumaraswamy}(a_k,
b_k)`.  Given the sticks, the posterior of a mask is :math:`q(z_{nk} = 1) = \sigma(\rho_k +
\operatorname{logit} \pi_k)`.  At :math:`\rho = 0` it equals the prior, and its KL divergence is 0.

**Shared sticks.**  With ``sticks_of``, a layer has no sticks of its own: it uses the first K sticks
of another layer, and its gradient at them is added to that of the other layer.
"""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from ibpcl.models.layers import GAUSSIAN, Draw, Gaussian, Kept, activate, activate_vjp
from ibpcl.models.masked import sticks, sticks_vjp
from ibpcl.models.parameters import Entry
from ibpcl.primitives import bernoulli, concrete, stick_divergence

DIVERGENCES = {"bernoulli": bernoulli, "concrete": concrete}
UNITS = ("rho", "raw_a", "raw_b")


class SampledPass(NamedTuple):
    """Cache of a pass with sampled masks: intermediate results, and the caches of its functions.

    Attributes
    ----------
    linear : tuple
        Cache of the pre-activations.
    activation : tuple or None
        Cache of the activation; None for a layer without one.
    active : ndarray, shape (S, N, K)
        Outputs before they are masked.
    z : ndarray, shape (S, N, K)
        Relaxed masks.
    sticks : tuple
        Cache of the prior log-odds.
    mask : tuple
        Cache of the draw of the masks.
    divergence : tuple
        Cache of the masks' divergence.
    stick_count : int
        Number of sticks of the layer that owns them.
    examples : float
        Number of examples of the task for which the masks' divergence counts.
    backend : ibpcl.inference.backend.Backend
        The functions that computed.
    """

    linear: tuple
    activation: tuple | None
    active: np.ndarray
    z: np.ndarray
    sticks: tuple
    mask: tuple
    divergence: tuple
    stick_count: int
    examples: float
    backend: object


@dataclass(frozen=True)
class Units(Gaussian):
    """Gaussian layer whose outputs are multiplied by sampled masks (S, N, K).

    With given masks it is a :class:`~ibpcl.models.layers.Gaussian` layer.  The masks are local to
    an example, so their KL divergence counts once per example.  At temperature 0 the masks are
    binary.

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
    kl : {"bernoulli", "concrete"}
        Which KL divergence of the masks is used: that of the discrete masks, in closed form, or
        that of the relaxed ones at equal temperatures.
    sticks_of : str
        Name of the layer whose sticks this layer uses, with at least as many units; empty if the
        layer has its own.

    Raises
    ------
    ValueError
        If ``activation`` is unknown, or ``local`` is False.
    """

    kl: str = "bernoulli"
    sticks_of: str = field(default="", kw_only=True)

    def __post_init__(self):
        super().__post_init__()
        if not self.local:
            raise ValueError("units: local must be True, because masks belong to examples")

    def entries(self):
        """Return the Gaussian entries, then ``rho``, ``raw_a`` and ``raw_b`` (K,) of the units.

        The last two are missing if the sticks are those of another layer.
        """
        return super().entries() + [
            Entry(f"{self.name}.{name}", (self.units,), "rho" if name == "rho" else "sticks")
            for name in (UNITS[:1] if self.sticks_of else UNITS)
        ]

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
            ``eps`` (S, N, K), normal; with sampled masks also ``stick`` (S, K), uniform, unless
            the sticks are those of another layer, and ``mask`` (S, N, K), logistic.
        """
        draws = super().noise(key, samples, batch, relaxed)
        if relaxed:
            stick, mask = (key._replace(stream=key.stream + i) for i in (2, 3))
            draws |= {
                "stick": Draw("uniform", stick, (samples, self.units)),
                "mask": Draw("logistic", mask, (samples, batch * self.positions, self.units)),
            }
            if self.sticks_of:
                del draws["stick"]
        return draws

    def forward(self, views, x, noise, options):
        """Sample the outputs and multiply them by sampled masks, unless masks are given.

        Parameters
        ----------
        views : dict of str to dict
            Parameters of all layers: ``views[layer][parameter]`` is an array.
        x : ndarray, shape (S, N, D) or (N, D)
            Inputs; (N, D) if all samples share them.
        noise : dict of str to dict
            Noise of all layers: ``noise[layer][name]`` is an array, as declared by :meth:`noise`.
        options : ibpcl.models.layers.Pass
            Backend, masks, temperature and scale.

        Returns
        -------
        out : tuple
            The outputs, shape (S, N, K), and a dict of divergences.  With sampled masks at a
            temperature above 0 it holds ``kl_masks`` (S,), the KL divergence of the masks from
            their prior, in nats for the whole task; otherwise it is empty.
        cache : ibpcl.models.layers.Kept or None
            Input of :meth:`forward_vjp`; None at temperature 0, where there is no gradient.
        """
        if options.masks is not None:
            out, cache = super().forward(views, x, noise, options)
            return out, Kept(given=cache)
        drawn = noise[self.name]
        parameters = views[self.name]
        backend = options.backend
        means_and_scales = (parameters[name] for name in GAUSSIAN)
        # The activation is applied separately, because the gradient of the mask needs its output.
        linear, linear_cache = backend.local_linear.sample(
            drawn["eps"], x, *means_and_scales, None, None
        )
        active, active_cache = activate(self.activation, linear, backend)
        owner = self.sticks_of or self.name
        raw_a, raw_b = (views[owner][name] for name in UNITS[1:])
        logit_pi, stick_cache = backend.sticks.log_odds(
            noise[owner]["stick"][:, : self.units], raw_a[: self.units], raw_b[: self.units]
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
                len(raw_a),
                examples,
                backend,
            )
        )

    def forward_vjp(self, dout, cache, needs_dx=True):
        """Pull the gradients at outputs and divergences back to inputs and parameters.

        Parameters
        ----------
        dout : tuple
            Gradient at the outputs (S, N, K), and a dict of gradients at the divergences, (S,)
            each.
        cache : ibpcl.models.layers.Kept
            From :meth:`forward`.
        needs_dx : bool
            Whether to compute the gradient at the inputs.

        Returns
        -------
        dx : ndarray or None
            Gradient at ``x``, of its shape; None if ``needs_dx`` is False.
        gradients : dict of str to dict
            Gradients of the parameters, ``gradients[layer][parameter]``; those at shared sticks
            stand under the name of their layer.
        """
        if cache.sampled is None:
            return super().forward_vjp(dout, cache.given, needs_dx)
        (dh, ddivergences), run = dout, cache.sampled
        # the log-odds were broadcast over N
        by_mask = concrete.sample_vjp(dh * run.active, run.mask).sum(axis=1)
        by_theta, dlogit_pi = DIVERGENCES[self.kl].kl_vjp(
            run.examples * ddivergences["kl_masks"], run.divergence
        )
        drho = by_mask + by_theta[:, 0]
        raw = run.backend.sticks.log_odds_vjp(drho + dlogit_pi, run.sticks)
        dlinear = activate_vjp(dh * run.z, run.activation)
        dx, *gaussian = run.backend.local_linear.sample_vjp(dlinear, run.linear, needs_dx)
        # rho was broadcast over S
        own = dict(zip((*GAUSSIAN, "rho"), (*gaussian, drho.sum(axis=0)), strict=True))
        rest = run.stick_count - self.units  # sticks that the layer does not use
        by_stick = {
            name: np.pad(value, (0, rest)) if rest else value
            for name, value in zip(UNITS[1:], raw, strict=True)
        }
        if self.sticks_of:
            return dx, {self.name: own, self.sticks_of: by_stick}
        return dx, {self.name: own | by_stick}

    def kl_sticks(self, parameters, prior, backend):
        """Compute the KL divergence of the sticks from a Kumaraswamy prior.

        Parameters
        ----------
        parameters : dict of str to ndarray
            Parameters of this layer by name.
        prior : tuple of ndarray, shape (K,)
            Shape parameters (a, b) of the prior, > 0.
        backend : ibpcl.inference.backend.Backend
            Not used: there is no compiled version.

        Returns
        -------
        out : tuple of float
            Divergence of the sticks, in nats, summed over sticks; and 0, because there is no alpha.
        cache : tuple
            Input of :meth:`kl_sticks_vjp`.
        """
        (a, b), raw_cache = sticks(parameters["raw_a"], parameters["raw_b"])
        kl, cache = stick_divergence.kl(a, b, *prior)
        return (kl, 0.0), (raw_cache, cache)

    def kl_sticks_vjp(self, dout, cache):
        """Pull the gradient at the divergence back to the parameters of this layer.

        Parameters
        ----------
        dout : tuple of float
            Gradient at the divergence of the sticks, and a number that is not used.
        cache : tuple
            From :meth:`kl_sticks`.

        Returns
        -------
        gradients : dict of str to ndarray
            Gradients of ``raw_a`` and ``raw_b``, by name.
        """
        raw_cache, inner = cache
        return dict(
            zip(
                UNITS[1:],
                sticks_vjp(stick_divergence.kl_vjp(dout[0], inner), raw_cache),
                strict=True,
            )
        )


def with_shared_sticks(network):
    """Return a network whose layers of :class:`Units` all use the sticks of the widest one.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        A network with at least one such layer.

    Returns
    -------
    network : ibpcl.models.network.Network
        The network; with one such layer it is as it was.

    Examples
    --------
    >>> from ibpcl.models.likelihoods import Softmax
    >>> from ibpcl.models.network import classifier
    >>> network = with_shared_sticks(classifier(2, (3, 4), Softmax(), 2, Units))
    >>> [name for name in network.layout.views(np.zeros(network.layout.size)) if "raw_a" in name]
    ['hidden1.raw_a']
    """
    layers = [stage for stage in network.stages if isinstance(stage, Units)]
    owner = max(layers, key=lambda layer: layer.units)
    stages = tuple(
        replace(stage, sticks_of=owner.name) if stage in layers and stage != owner else stage
        for stage in network.stages
    )
    return replace(network, stages=stages)
