r"""Depth as a random variable: residual blocks that sticks switch on and off.

.. math::

    h_l = h_{l-1} + z_l\, f_l(h_{l-1}), \qquad
    z_l \sim \mathrm{Bernoulli}(\pi_l), \quad \pi_l = \prod_{i \le l} v_i, \quad
    v_i \sim \mathrm{Beta}(\alpha, 1)

The prior is that of the units of a masked layer, here over blocks: earlier blocks are used first.
Given the sticks, the posterior is :math:`q(z_l = 1) = \sigma(\rho_l + \operatorname{logit}\pi_l)`,
and the sticks have Kumaraswamy posteriors.  A block that is off passes its input on.  So a task may
use fewer blocks than another one, and a later task may add blocks, which are off for earlier tasks.

Kumar et al. (2021), Sec. 7, name an adaptive depth as future work.  Thapa and Li (2024), "Bayesian
adaptation of network depth and width for continual learning", have a beta process over layers.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ibpcl.models.codes import add
from ibpcl.models.layers import Draw
from ibpcl.models.masked import MASK_KLS, STANDARD_MASKS
from ibpcl.models.parameters import Entry
from ibpcl.models.stage import Stage
from ibpcl.numerics import inverse_softplus
from ibpcl.primitives.masked_weights import MASK_KL


class Switches(NamedTuple):
    """Cache of the sampled switches of all blocks.

    Attributes
    ----------
    sticks : tuple
        Cache of the prior log-odds.
    mask : tuple
        Cache of the draw of the switches.
    divergence : tuple
        Cache of the divergence of the switches.
    backend : ibpcl.inference.backend.Backend
        The functions that computed.
    draw : ibpcl.models.binary.Binary, ibpcl.models.binary.Conditional or None
        What drew the switches; None for relaxed ones.
    """

    sticks: tuple
    mask: tuple
    divergence: tuple
    backend: object
    draw: object = None


class BlocksPass(NamedTuple):
    """Cache of a pass through residual blocks.

    Attributes
    ----------
    blocks : list of tuple or None
        Cache of each block; None for a block that is off.
    sums : list of tuple
        Cache of the sum of each block with a sampled switch; with given switches, the numbers of
        axes of input and output of the block.
    switches : Switches or None
        Cache of sampled switches; None if they are given.
    """

    blocks: list
    sums: list
    switches: Switches | None


@dataclass(frozen=True)
class Blocks(Stage):
    """Residual blocks with random or given switches.

    Parameters
    ----------
    blocks : tuple of ibpcl.models.layers.Layer or other stages
        The functions f_l, each with as many outputs as inputs, the same number for all.
    name : str
        Name of the switches in the parameter vector and among the masks, without a dot.
    kl : {"bernoulli", "concrete"}
        Which KL divergence of the switches is used.
    switched : bool
        Whether there are switches.  Without them every block is on, and there are no sticks: a
        plain residual network.

    Attributes
    ----------
    streams : int
        Class attribute: how many noise streams are reserved for the switches.
    model : ibpcl.models.masked.MaskModel
        Class attribute: the modelling choices of the switches.

    Raises
    ------
    ValueError
        If there is no block, a block changes the number of units, or ``kl`` is unknown.
    """

    blocks: tuple
    name: str = "depth"
    kl: str = "bernoulli"
    switched: bool = True

    streams = 2
    model = STANDARD_MASKS
    activation = None
    row_groups = 1

    def __post_init__(self):
        widths = [(block.inputs, block.units) for block in self.blocks]
        if not widths or set(widths) != {widths[0]} or widths[0][0] != widths[0][1]:
            raise ValueError(
                "depth: blocks must be at least one stage, all with the same number of inputs and "
                f"outputs, got {widths}"
            )
        if self.kl not in MASK_KLS:
            raise ValueError(f"depth: kl must be one of {', '.join(MASK_KLS)}, got {self.kl!r}")

    @property
    def layers(self):
        """The layers of all blocks, in the order of evaluation."""
        return tuple(layer for block in self.blocks for layer in block.layers)

    @property
    def inputs(self):
        """Number of inputs."""
        return self.blocks[0].inputs

    @property
    def units(self):
        """Number of outputs, that of the inputs."""
        return self.inputs

    @property
    def shape(self):
        """Shape (1, L) of the switches: one row, one column per block."""
        return 1, len(self.blocks)

    @property
    def mask_shape(self):
        """Shape (1, L) of the switches."""
        return self.shape

    def expand(self, mask):
        """Return the switches as they are: no two blocks share one.

        Parameters
        ----------
        mask : ndarray, shape (1, L)
            One value per switch.

        Returns
        -------
        mask : ndarray, shape (1, L)
            The argument.
        """
        return mask

    def with_layers(self, layers):
        """Return the stage with other layers of the same names.

        Parameters
        ----------
        layers : dict of str to ibpcl.models.layers.Layer
            Layers by name.

        Returns
        -------
        stage : Blocks
            The new stage.
        """
        return replace(self, blocks=tuple(block.with_layers(layers) for block in self.blocks))

    def without_idle(self, masks):
        """Return hard masks without the weights of blocks that are off.

        A task does not use these weights, so they stay free for other tasks.

        Parameters
        ----------
        masks : dict of str to ndarray of bool, shape (D, K)
            Hard masks by layer, and the switches (1, L) under the stage's name.

        Returns
        -------
        masks : dict of str to ndarray of bool, shape (D, K)
            New masks.
        """
        idle = {
            layer.name
            for block, is_on in zip(self.blocks, masks[self.name][0], strict=True)
            for layer in block.layers
            if not is_on
        }
        return {name: mask & (name not in idle) for name, mask in masks.items()}

    def entries(self):
        """Return the entries of the switches (1, L) and the sticks (L,), without the layers'."""
        if not self.switched:
            return []
        entries = [Entry(f"{self.name}.rho", self.shape, "rho")]
        return entries + [
            Entry(f"{self.name}.{raw}", self.shape[1:], "sticks") for raw in ("raw_a", "raw_b")
        ]

    def start_sticks(self, parameters, alpha):
        """Initialize the sticks at their prior, Kumaraswamy(alpha, 1) = Beta(alpha, 1), in place.

        Parameters
        ----------
        parameters : dict of str to ndarray
            Parameters of the switches by name, written to.
        alpha : float
            Concentration of the prior, > 0.  All blocks are on with probability
            :math:`(\\alpha / (\\alpha + 1))^L`.
        """
        parameters["raw_a"][...] = inverse_softplus(float(alpha))
        parameters["raw_b"][...] = inverse_softplus(1.0)

    def noise(self, key, samples, batch, relaxed):
        """Return the noise that the switches draw; that of the layers is not included.

        Parameters
        ----------
        key : ibpcl.noise.Key
            Key of the noise; two streams are used, from this one on.
        samples : int
            Number of Monte Carlo samples S.
        batch : int
            Not used: all examples of a sample share the switches.
        relaxed : bool
            True if switches are sampled, False if they are given.

        Returns
        -------
        draws : dict of str to ibpcl.models.layers.Draw
            ``stick`` (S, L), uniform, and ``mask`` (S, 1, L), logistic; empty for given switches.
        """
        if not (relaxed and self.switched):
            return {}
        mask = key._replace(stream=key.stream + 1)
        return {
            "stick": Draw("uniform", key, (samples, len(self.blocks))),
            "mask": Draw("logistic", mask, (samples, *self.shape)),
        }

    def forward(self, views, x, noise, options):
        """Evaluate the blocks that are on, one after another.

        Parameters
        ----------
        views : dict of str to dict
            Parameters of all layers: ``views[layer][parameter]`` is an array.
        x : ndarray, shape (S, N, K) or (N, K)
            Inputs; (N, K) if all samples share them.
        noise : dict of str to dict
            Noise of all layers and of the switches.
        options : ibpcl.models.layers.Pass
            Its ``masks`` hold the switches (1, L) under the stage's name; all are on if the name is
            missing.  If ``masks`` is None, the switches are sampled.

        Returns
        -------
        out : tuple
            The outputs, shape (S, N, K), or (N, K) if nothing has been sampled yet; and a dict of
            divergences.  With sampled switches, ``kl_masks`` (S,) includes their divergence.
        cache : BlocksPass
            Input of :meth:`forward_vjp`.
        """
        divergences = {}
        z = None
        switches = None
        if not self.switched:
            given = np.ones(len(self.blocks), bool)
        elif options.masks is None:
            z, kl, switches = self._sampled(views[self.name], noise[self.name], options)
            divergences["kl_masks"] = kl
            given = np.ones(len(self.blocks), bool)
        else:
            given = options.masks.get(self.name, np.ones(self.shape, bool))[0]
        caches = []
        sums = []
        for i, (block, is_on) in enumerate(zip(self.blocks, given, strict=True)):
            cache = sum_cache = None
            if is_on:
                (f, block_divergences), cache = block.forward(views, x, noise, options)
                add(divergences, block_divergences)
                if z is None:
                    x, sum_cache = x + f, (x.ndim, f.ndim)
                else:
                    x, sum_cache = options.backend.residual.add(x, f, z[:, 0, i])
            caches.append(cache)
            sums.append(sum_cache)
        return (x, divergences), BlocksPass(caches, sums, switches)

    def _sampled(self, parameters, drawn, options):
        """Return the relaxed switches (S, 1, L), their divergence (S,), and the cache."""
        backend = options.backend
        logit_pi, stick_cache = backend.sticks.log_odds(
            drawn["stick"], parameters["raw_a"], parameters["raw_b"], self.model.link
        )
        logit_theta = parameters["rho"] + logit_pi[:, None, :]
        if options.draw is None:
            z, mask_cache = backend.concrete.sample(drawn["mask"], logit_theta, options.tau)
        else:
            z, mask_cache = options.draw.sample(drawn, logit_theta, options.tau)
        kl, kl_cache = MASK_KL[self.kl].kl(logit_theta, logit_pi)
        return z, kl, Switches(stick_cache, mask_cache, kl_cache, backend, options.draw)

    def forward_vjp(self, dout, cache, needs_dx=True):
        """Pull the gradients at outputs and divergences back to inputs and parameters.

        Parameters
        ----------
        dout : tuple
            Gradient at the outputs, of their shape, and a dict of gradients at the divergences,
            (S,) each.
        cache : BlocksPass
            From :meth:`forward`.
        needs_dx : bool
            Whether to compute the gradient at the inputs.

        Returns
        -------
        dx : ndarray or None
            Gradient at ``x``, of its shape; None if ``needs_dx`` is False.
        gradients : dict of str to dict
            Gradients of the parameters, ``gradients[layer][parameter]``; those of blocks that are
            off are missing, because they are 0.
        """
        dy, ddivergences = dout
        gradients = {}
        dz = []
        first = next((i for i, inner in enumerate(cache.blocks) if inner is not None), None)
        for i in reversed(range(len(self.blocks))):
            if cache.blocks[i] is None:
                continue
            if cache.switches is None:
                axes_of_input, axes_of_output = cache.sums[i]
                df = _unshared(dy, axes_of_output)
                dy = _unshared(dy, axes_of_input)
            else:
                add_vjp = cache.switches.backend.residual.add_vjp
                dy, df, dz_block = add_vjp(dy, cache.sums[i])
                dz.append(dz_block)
            dx, block_gradients = self.blocks[i].forward_vjp(
                (df, ddivergences), cache.blocks[i], needs_dx or i > first
            )
            gradients |= block_gradients
            dy = dy if dx is None else dy + dx
        if cache.switches is not None:
            dz = np.stack(dz[::-1], axis=-1)[:, None, :]
            gradients[self.name] = self._switches_vjp(dz, ddivergences, cache.switches)
        return dy if needs_dx else None, gradients

    def _switches_vjp(self, dz, ddivergences, run):
        """Return the gradients at the parameters of sampled switches."""
        dlogit_theta, dlogit_pi = MASK_KL[self.kl].kl_vjp(ddivergences["kl_masks"], run.divergence)
        if run.draw is None:
            by_mask = run.backend.concrete.sample_vjp(dz, run.mask)
        else:
            by_mask = run.draw.gradient(dz, ddivergences.get("loss"), run.mask)
        dlogit_theta = dlogit_theta + by_mask
        # rho was broadcast over S
        draw_a, draw_b = run.backend.sticks.log_odds_vjp(dlogit_pi + dlogit_theta[:, 0], run.sticks)
        return {"rho": dlogit_theta.sum(axis=0), "raw_a": draw_a, "raw_b": draw_b}

    def kl_sticks(self, parameters, prior, backend):
        """Compute the KL divergence of the sticks from their prior.

        Parameters
        ----------
        parameters : dict of str to ndarray
            Parameters of the switches by name.
        prior : float
            Concentration alpha of the sticks' Beta(alpha, 1) prior, > 0.
        backend : ibpcl.inference.backend.Backend
            The functions that compute.

        Returns
        -------
        out : tuple of float
            Divergence of the sticks, in nats, summed over sticks; and 0, because alpha is given.
        cache : tuple
            Input of :meth:`kl_sticks_vjp`.
        """
        kl, cache = backend.sticks.divergence(parameters["raw_a"], parameters["raw_b"], prior)
        return (kl, 0.0), (cache, backend)

    def kl_sticks_vjp(self, dout, cache):
        """Pull the gradient at the divergence back to the sticks.

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
        inner, backend = cache
        draw_a, draw_b, _ = backend.sticks.divergence_vjp(dout[0], inner)
        return {"raw_a": draw_a, "raw_b": draw_b}


def _unshared(dy, axes):
    """Return the gradient at an array that all samples shared: summed over S."""
    return dy.sum(axis=0) if dy.ndim > axes else dy
