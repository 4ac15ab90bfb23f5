r"""Codes of an autoencoder: Gaussian latent variables with a standard normal or a learned prior.

Kumar et al. (2021), Sec. 3.3 and supplement G.  The last layers of the encoder compute the
posterior of each image's code, :math:`q(z | x) = \mathcal N(m, s^2)`.

The means m and the log standard deviations of the codes are **two separate layers**, each with its
own masks and sticks.  Sticks order the columns of a layer.  In one common layer they would switch
off the later half of the columns first, and the standard deviations would not be learned.

One unmasked number per code is added to m and to log s.  Without it, a code whose column in the
layer of log s is empty would have s = 1, the width of its prior, and could hardly carry any
information.  With it, the code has a learned s that is the same for all images.  Likewise, a code
whose column in the layer of m is empty can still be centred where its prior is.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ibpcl.models.layers import Draw, Layer, Pass
from ibpcl.models.masked import Masked
from ibpcl.models.parameters import Entry
from ibpcl.models.stage import Stage

PARTS = ("mu", "log_sigma")


class CodesPass(NamedTuple):
    """Cache of a pass through the codes.

    Attributes
    ----------
    layers : list of tuple
        Caches of the two layers.
    shared : list of bool
        Whether all samples shared the outputs of each layer.
    sample : object
        Cache of the draw of the codes.
    divergence : tuple
        Cache of the codes' divergence.
    shape : tuple of int
        Shape (S, N) of the divergences.
    has_offsets : bool
        Whether unmasked offsets were added.
    options : ibpcl.models.layers.Pass
        Options of the pass.
    """

    layers: list
    shared: list
    sample: object
    divergence: tuple
    shape: tuple
    has_offsets: bool
    options: Pass


@dataclass(frozen=True)
class Codes(Stage):
    """Latent codes of width L, drawn from the distribution that two layers compute.

    Parameters
    ----------
    mean : ibpcl.models.layers.Layer
        Layer of the means, L units without an activation.
    scale : ibpcl.models.layers.Layer
        Layer of the log standard deviations, L units without an activation.
    learns_prior : bool
        Whether mean and standard deviation of the prior are parameters.  Otherwise the prior is
        standard normal.

    Attributes
    ----------
    name : str
        Class attribute: the name of the stage, ``"codes"``.
    streams : int
        Class attribute: how many noise streams are reserved for the codes.
    """

    mean: Layer
    scale: Layer
    learns_prior: bool = False

    name = "codes"
    streams = 1

    @property
    def layers(self):
        """The layers of the means and of the log standard deviations."""
        return self.mean, self.scale

    @property
    def units(self):
        """Width L of the codes."""
        return self.mean.units

    def with_layers(self, layers):
        """Return the stage with other layers of the same names.

        Parameters
        ----------
        layers : dict of str to ibpcl.models.layers.Layer
            Layers by name.

        Returns
        -------
        stage : Codes
            The new stage.
        """
        return replace(self, mean=layers[self.mean.name], scale=layers[self.scale.name])

    def entries(self):
        """Return the entries of the unmasked offsets and of a learned prior, each (L,).

        Only masked codes have offsets, ``codes.mu`` and ``codes.log_sigma``.  A learned prior has
        ``prior.mu`` and ``prior.log_sigma``.  The entries of the two layers are not included.
        """
        blocks = []
        if isinstance(self.scale, Masked):
            blocks.append("codes")
        if self.learns_prior:
            blocks.append("prior")
        return [
            Entry(f"{block}.{part}", (self.units,), block) for block in blocks for part in PARTS
        ]

    def noise(self, key, samples, batch, relaxed):
        """Return the noise that a pass draws: one normal number per code.

        Parameters
        ----------
        key : ibpcl.noise.Key
            Key of the noise; only its own stream is used.
        samples : int
            Number of Monte Carlo samples S.
        batch : int
            Number of images N.
        relaxed : bool
            Not used.

        Returns
        -------
        draws : dict of str to ibpcl.models.layers.Draw
            ``eps``, normal, shape (S, N, L).
        """
        return {"eps": Draw("normal", key, (samples, batch, self.units))}

    def prior(self, views, dtype):
        """Return mean and log standard deviation of the codes' prior.

        Parameters
        ----------
        views : dict of str to dict
            Parameters of the network by layer and name; read if the prior is learned.
        dtype : dtype
            Type of the arrays of a standard normal prior.

        Returns
        -------
        mu : ndarray, shape (L,)
            Mean; 0 for a standard normal prior.
        log_sigma : ndarray, shape (L,)
            Log standard deviation; 0 for a standard normal prior.
        """
        return tuple(
            views["prior"][part] if self.learns_prior else np.zeros(self.units, dtype)
            for part in PARTS
        )

    def forward(self, views, h, noise, options):
        r"""Draw codes :math:`z_n \sim \mathcal N(m_n, s_n^2)` from the last hidden layer.

        Parameters
        ----------
        views : dict of str to dict
            Parameters of all layers: ``views[layer][parameter]`` is an array.
        h : ndarray, shape (S, N, D) or (N, D)
            Outputs of the encoder's last hidden layer; (N, D) if all samples share them.
        noise : dict of str to dict
            Noise of all layers; ``noise["codes"]["eps"]`` has shape (S, N, L).
        options : ibpcl.models.layers.Pass
            Backend, masks, temperature and scale.

        Returns
        -------
        out : tuple
            The codes, shape (S, N, L), and a dict of KL divergences, (S,) each, in nats for the
            whole task: those of the two layers, and ``kl_latent``, the divergence of the codes from
            their prior, summed over the examples.
        cache : CodesPass
            Input of :meth:`forward_vjp`.
        """
        eps = noise[self.name]["eps"]
        outputs = []
        divergences = {}
        caches = []
        shared = []
        for part, layer in zip(PARTS, self.layers, strict=True):
            (z, layer_divergences), cache = layer.forward(views, h, noise, options)
            caches.append(cache)
            # a plain encoder draws nothing: all samples share its outputs (N, L)
            shared.append(z.ndim == 2)
            z = z if z.ndim == 3 else np.broadcast_to(z, eps.shape)
            outputs.append(z + views["codes"][part] if "codes" in views else z)
            add(divergences, layer_divergences)
        codes, code_cache = options.backend.latent.sample(eps, *outputs)
        kl, kl_cache = options.backend.latent.kl(*outputs, *self.prior(views, codes.dtype))
        divergences["kl_latent"] = options.scale * kl.sum(axis=1)
        return (codes, divergences), CodesPass(
            caches,
            shared,
            code_cache,
            kl_cache,
            kl.shape,
            "codes" in views,
            options,
        )

    def forward_vjp(self, dout, cache, needs_dx=True):
        """Pull the gradients at codes and divergences back to the hidden layer and parameters.

        Parameters
        ----------
        dout : tuple
            Gradient at the codes (S, N, L), and a dict of gradients at the divergences, (S,) each.
        cache : CodesPass
            From :meth:`forward`.
        needs_dx : bool
            Whether to compute the gradient at the hidden layer.

        Returns
        -------
        dh : ndarray or None
            Gradient at ``h``, the sum over both layers that read it; None if ``needs_dx`` is False.
        gradients : dict of str to dict
            Gradients of the parameters, ``gradients[layer][parameter]``.
        """
        dz, ddivergences = dout
        options = cache.options
        dkl = options.scale * ddivergences["kl_latent"]
        dkl = np.broadcast_to(dkl[:, None], cache.shape).astype(dz.dtype)
        *by_kl, dprior_mu, dprior_log_sigma = options.backend.latent.kl_vjp(dkl, cache.divergence)
        douts = [
            from_kl + from_sample
            for from_kl, from_sample in zip(
                by_kl, options.backend.latent.sample_vjp(dz, cache.sample), strict=True
            )
        ]
        gradients_by_layer = (
            {"prior": dict(zip(PARTS, (dprior_mu, dprior_log_sigma), strict=True))}
            if self.learns_prior
            else {}
        )
        if cache.has_offsets:  # the offsets were broadcast over S and N
            gradients_by_layer["codes"] = {
                part: dz.sum(axis=(0, 1)) for part, dz in zip(PARTS, douts, strict=True)
            }
        dh = None
        for layer, dz, is_shared, inner in zip(
            self.layers, douts, cache.shared, cache.layers, strict=True
        ):
            dz = dz.sum(axis=0) if is_shared else dz
            dh_layer, gradients = layer.forward_vjp((dz, ddivergences), inner, needs_dx)
            dh = dh_layer if dh is None else dh + dh_layer  # both layers read h
            gradients_by_layer |= gradients
        return dh, gradients_by_layer


def add(totals, divergences):
    """Add divergences to the totals of the same name, in place.

    Parameters
    ----------
    totals : dict of str to ndarray
        Totals by name, changed in place.
    divergences : dict of str to ndarray
        Divergences to add; a new name becomes a new total.

    Examples
    --------
    >>> totals = {"kl_masks": 1.0}
    >>> add(totals, {"kl_masks": 2.0, "kl_latent": 3.0})
    >>> totals
    {'kl_masks': 3.0, 'kl_latent': 3.0}
    """
    for name, value in divergences.items():
        totals[name] = totals[name] + value if name in totals else value
