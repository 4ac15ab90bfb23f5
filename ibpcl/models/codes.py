r"""The codes between two networks: Gaussian, with a prior that is standard, or learned.

Kumar et al. (2021), Sec. 3.3 and supplement G.  The encoder's last layers compute each image's
posterior :math:`q(z | x) = \mathcal N(m, s^2)`.  Means m and log standard deviations of the codes
are **two layers**, each with masks and sticks of its own: in one layer the sticks, which order its
columns, would switch the later half off before the first, and the standard deviations would not be
learned.  To each of m and log s a number per code is added that no mask touches.  A code whose
column is empty in log s then has a standard deviation of its own, the same for all images, and not
1: with the prior's width it could hardly carry anything.  One whose column is empty in m can still
lie where its prior does.
"""

from dataclasses import dataclass

import numpy as np

from ibpcl.models.layers import Draw, Layer
from ibpcl.models.masked import Masked
from ibpcl.models.parameters import Entry
from ibpcl.primitives import latent

PARTS = ("mu", "log_sigma")


@dataclass(frozen=True)
class Codes:
    """Codes of width L, drawn from what two layers say of them.

    Parameters
    ----------
    mean, scale : Layer
        Means and log standard deviations of the codes, L units each.
    learns_prior : bool
        Whether mean and standard deviation of the codes' prior are parameters; else it is standard
        normal.
    """

    mean: Layer
    scale: Layer
    learns_prior: bool = False

    name = "codes"

    @property
    def layers(self):
        """Its two layers."""
        return self.mean, self.scale

    @property
    def units(self):
        """The width L of the codes."""
        return self.mean.units

    def entries(self):
        """Return what is added to masked codes, and the prior if it is learned."""
        blocks = ["codes"] * isinstance(self.scale, Masked) + ["prior"] * self.learns_prior
        return [
            Entry(f"{block}.{part}", (self.units,), block) for block in blocks for part in PARTS
        ]

    def noise(self, key, samples, batch, relaxed):
        """Return a normal number for each code."""
        return {"eps": Draw("normal", key, (samples, batch, self.units))}

    def prior(self, views, dtype):
        """Return mean and log standard deviation of the codes' prior, (L,) each."""
        return tuple(
            views["prior"][part] if self.learns_prior else np.zeros(self.units, dtype)
            for part in PARTS
        )

    def forward(self, views, h, noise, options):
        r"""Draw codes :math:`z_n \sim \mathcal N(m_n, s_n^2)` for what the encoder found.

        Arguments and results as of :meth:`ibpcl.models.layers.Layer.forward`; the divergence of the
        codes from their prior is ``kl_latent``, summed over the examples.
        """
        eps = noise[self.name]["eps"]
        outputs = []
        divergences = {}
        caches = []
        shared = []
        for part, layer in zip(PARTS, self.layers, strict=True):
            (z, found), cache = layer.forward(views, h, noise, options)
            caches.append(cache)
            # a plain encoder has one output for all samples, (N, L)
            shared.append(z.ndim == 2)
            z = z if z.ndim == 3 else np.broadcast_to(z, eps.shape)
            outputs.append(z + views["codes"][part] if "codes" in views else z)
            add(divergences, found)
        codes, code_cache = latent.sample(eps, *outputs)
        kl, kl_cache = options.backend.latent.kl(*outputs, *self.prior(views, codes.dtype))
        divergences["kl_latent"] = options.scale * kl.sum(axis=1)
        return (codes, divergences), (
            caches,
            shared,
            code_cache,
            kl_cache,
            kl.shape,
            "codes" in views,
            options,
        )

    def forward_vjp(self, dout, cache, needs_dx=True):
        """Pull the gradients at codes and divergences back; the last hidden layer gathers those of
        both layers.
        """
        dz, ddivergences = dout
        caches, shared, code_cache, kl_cache, shape, moved, options = cache
        dkl = np.broadcast_to((options.scale * ddivergences["kl_latent"])[:, None], shape).astype(
            dz.dtype
        )
        *by_kl, dprior_mu, dprior_log_sigma = options.backend.latent.kl_vjp(dkl, kl_cache)
        douts = [
            one + other for one, other in zip(by_kl, latent.sample_vjp(dz, code_cache), strict=True)
        ]
        found = (
            {"prior": dict(zip(PARTS, (dprior_mu, dprior_log_sigma), strict=True))}
            if self.learns_prior
            else {}
        )
        if moved:  # they were broadcast over S and N
            found["codes"] = {
                part: dz.sum(axis=(0, 1)) for part, dz in zip(PARTS, douts, strict=True)
            }
        dh = None
        for layer, dz, once, inner in zip(self.layers, douts, shared, caches, strict=True):
            dz = dz.sum(axis=0) if once else dz
            by_layer, gradients = layer.forward_vjp((dz, ddivergences), inner, needs_dx)
            dh = by_layer if dh is None else dh + by_layer  # both read the last hidden layer
            found |= gradients
        return dh, found


def add(totals, found):
    """Add divergences to those of the same name, in place.

    >>> totals = {"kl_masks": 1.0}
    >>> add(totals, {"kl_masks": 2.0, "kl_latent": 3.0})
    >>> totals
    {'kl_masks': 3.0, 'kl_latent': 3.0}
    """
    for name, value in found.items():
        totals[name] = totals[name] + value if name in totals else value
