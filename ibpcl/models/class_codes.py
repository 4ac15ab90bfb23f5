r"""Autoencoders with a class: codes for every class of an image, weighted by its probability.

Model M2 of Kingma et al. (2014): a class y, a code z and an image x,

.. math:: p(x, y, z) = p(y)\, p(z)\, p(x | y, z), \qquad
          q(y, z | x) = q(y | x)\, q(z | x, y).

The encoder is shared by :math:`q(y | x)` and :math:`q(z | x, y)`: its last hidden layer leads to
the means and log standard deviations of the codes, and to the logits of the classes.  A class adds
a vector to the means, one to the log standard deviations, and a *shift* to the code that the
decoder reads.  Class 0 adds nothing.  With one class, nothing is added at all, and this is the
autoencoder of :mod:`ibpcl.models.codes`.

All C classes of an image are computed: N images have N C codes, those of one image next to each
other.  The outputs are the pixels of each, and behind them two more columns: the weight w of the
class, and what a label adds to the objective (:class:`Enumerated`).
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ibpcl.models.codes import PARTS, Codes, add
from ibpcl.models.layers import Pass
from ibpcl.models.likelihoods import Likelihood
from ibpcl.models.network import Network
from ibpcl.models.parameters import Entry

LABEL, WEIGHT = range(2)  # columns of the targets before the pixels
EXTRA = 2  # columns of the outputs behind the pixels
CLASS_ENTRIES = ("class_mu", "class_log_sigma", "shift")


class ClassCodesPass(NamedTuple):
    """Cache of a pass through the codes of all classes.

    Attributes
    ----------
    layers : list of tuple
        Caches of the layers.
    shared : list of bool
        Whether all samples shared the outputs of each layer.
    sample : object
        Cache of the draw of the codes.
    divergence : tuple
        Cache of the codes' divergence.
    kl : ndarray, shape (S, N C)
        Divergences of the codes.
    posterior : tuple
        Cache of the classes' posterior.
    w : ndarray, shape (S, N C)
        Weights of the classes.
    bonus : ndarray, shape (S, N C)
        Weighted log probability of each label, at its class.
    label_weights : ndarray, shape (N, C)
        Weight of the log probability of each label, at its class.
    options : ibpcl.models.layers.Pass
        Options of the pass.
    """

    layers: list
    shared: list
    sample: object
    divergence: tuple
    kl: np.ndarray
    posterior: tuple
    w: np.ndarray
    bonus: np.ndarray
    label_weights: np.ndarray
    options: Pass


@dataclass(frozen=True)
class ClassCodes(Codes):
    """Codes for every class of an image.

    Parameters
    ----------
    mean : ibpcl.models.layers.Layer
        Layer of the means, L units without an activation.
    scale : ibpcl.models.layers.Layer
        Layer of the log standard deviations, L units without an activation.
    learns_prior : bool
        Whether mean and standard deviation of the prior are parameters.  Otherwise the prior is
        standard normal.
    label : ibpcl.models.layers.Layer, optional
        Layer of the classes' logits, C units without an activation; None with one class.
    classes : int
        Number C of classes.

    Attributes
    ----------
    name : str
        Class attribute: the name of the stage, ``"codes"``.
    streams : int
        Class attribute: how many noise streams are reserved for the codes.
    """

    label: object = None
    classes: int = 1

    @property
    def layers(self):
        """The layers of means and log standard deviations, and of the logits if there are any."""
        return (self.mean, self.scale) + (() if self.label is None else (self.label,))

    def with_layers(self, layers):
        """Return the stage with other layers of the same names.

        Parameters
        ----------
        layers : dict of str to ibpcl.models.layers.Layer
            Layers by name.

        Returns
        -------
        stage : ClassCodes
            The new stage.
        """
        label = None if self.label is None else layers[self.label.name]
        return replace(super().with_layers(layers), label=label)

    def entries(self):
        """Return the entries of the codes, then (C - 1, L) vectors of classes 1 .. C - 1.

        They are ``class_mu``, ``class_log_sigma`` and ``shift``; none with one class.
        """
        shape = (self.classes - 1, self.units)
        more = CLASS_ENTRIES if self.classes > 1 else ()
        return super().entries() + [Entry(f"codes.{part}", shape, "codes") for part in more]

    def forward(self, views, h, noise, options):
        """Draw a code of each image for each class.

        Parameters
        ----------
        views : dict of str to dict
            Parameters of all layers: ``views[layer][parameter]`` is an array.
        h : ndarray, shape (S, N, D) or (N, D)
            Outputs of the encoder's last hidden layer; (N, D) if all samples share them.
        noise : dict of str to dict
            Noise of all layers; ``noise["codes"]["eps"]`` has shape (S, N C, L).
        options : ibpcl.models.layers.Pass
            Backend, masks, temperature, scale, and the targets: the first column has the label of
            each image, or -1, and the second the weight of its log probability.  Without targets
            no image has a label.

        Returns
        -------
        out : tuple
            The shifted codes, shape (S, N C, L), and a dict of KL divergences, (S,) each, in nats
            for the whole task: those of the layers, and ``kl_latent``, the divergence of classes
            and codes from their prior, summed over the examples.
        cache : ClassCodesPass
            Input of :meth:`forward_vjp`.
        """
        eps = noise[self.name]["eps"]
        samples = len(eps)
        classes = self.classes
        own = views.get("codes", {})
        outputs = []
        divergences = {}
        caches = []
        shared = []
        for layer in self.layers:
            (z, layer_divergences), cache = layer.forward(views, h, noise, options)
            caches.append(cache)
            shared.append(z.ndim == 2)
            outputs.append(np.broadcast_to(z, (samples, *z.shape[-2:])))
            add(divergences, layer_divergences)
        by_class = []
        for part, z in zip(PARTS, outputs, strict=False):
            z = z + own[part] if part in own else z
            z = np.repeat(z[:, :, None], classes, axis=2)
            if classes > 1:
                z[:, :, 1:] += own[f"class_{part}"]
            by_class.append(z.reshape(eps.shape))
        backend = options.backend
        codes, code_cache = backend.latent.sample(eps, *by_class)
        kl, kl_cache = backend.latent.kl(*by_class, *self.prior(views, codes.dtype))

        count = eps.shape[1] // classes
        logits = outputs[2] if self.label is not None else np.zeros((samples, count, 1), eps.dtype)
        known, weights = _labels(options.targets, count, codes.dtype)
        (w, of_classes, log_q), posterior = backend.class_posterior.infer(logits, known)
        w = w.reshape(kl.shape)
        divergences["kl_latent"] = options.scale * ((w * kl).sum(axis=1) + of_classes.sum(axis=1))
        label_weights = weights[:, None] * (known[:, None] == np.arange(classes))
        bonus = (log_q[..., None] * label_weights).astype(codes.dtype).reshape(kl.shape)
        if classes > 1:
            codes = codes.reshape(samples, count, classes, -1).copy()
            codes[:, :, 1:] += own["shift"]
            codes = codes.reshape(eps.shape)
        return (codes, divergences), ClassCodesPass(
            caches,
            shared,
            code_cache,
            kl_cache,
            kl,
            posterior,
            w,
            bonus,
            label_weights,
            options,
        )

    def forward_vjp(self, dout, cache, needs_dx=True):
        """Pull the gradients at codes and divergences back to the hidden layer and parameters.

        Parameters
        ----------
        dout : tuple
            Gradient at the codes (S, N C, L), and a dict of gradients at the divergences, (S,)
            each; its entry ``classes`` has the gradients (S, N C, 2) at ``w`` and ``bonus``.
        cache : ClassCodesPass
            From :meth:`forward`.
        needs_dx : bool
            Whether to compute the gradient at the hidden layer.

        Returns
        -------
        dh : ndarray or None
            Gradient at ``h``, the sum over all layers that read it; None if ``needs_dx`` is False.
        gradients : dict of str to dict
            Gradients of the parameters, ``gradients[layer][parameter]``.
        """
        dz, ddivergences = dout
        options = cache.options
        samples, rows = cache.kl.shape
        grid = (samples, rows // self.classes, self.classes)
        dlatent = (options.scale * ddivergences["kl_latent"]).astype(dz.dtype)[:, None]
        dkl = np.broadcast_to(dlatent, cache.kl.shape) * cache.w
        *by_kl, dprior_mu, dprior_log_sigma = options.backend.latent.kl_vjp(dkl, cache.divergence)
        by_class = [
            (from_kl + from_sample).reshape(*grid, -1)
            for from_kl, from_sample in zip(
                by_kl, options.backend.latent.sample_vjp(dz, cache.sample), strict=True
            )
        ]
        douts = [each.sum(axis=2) for each in by_class]  # an image was repeated for each class
        gradients_by_layer = {}
        if self.learns_prior:
            gradients_by_layer["prior"] = dict(
                zip(PARTS, (dprior_mu, dprior_log_sigma), strict=True)
            )
        own = dict(zip(PARTS, (each.sum(axis=(0, 1)) for each in douts), strict=True))
        if self.classes > 1:
            own |= {
                f"class_{part}": each[:, :, 1:].sum(axis=(0, 1))
                for part, each in zip(PARTS, by_class, strict=True)
            }
            own["shift"] = dz.reshape(*grid, -1)[:, :, 1:].sum(axis=(0, 1))
        gradients_by_layer["codes"] = own
        if self.label is not None:
            dw, dbonus = np.moveaxis(ddivergences["classes"], -1, 0)
            dw = (dw + dlatent * cache.kl).reshape(grid)
            dlog_q = (dbonus.reshape(grid) * cache.label_weights).sum(axis=2).astype(dz.dtype)
            ddivergence = np.broadcast_to(dlatent, grid[:2])
            douts.append(
                options.backend.class_posterior.infer_vjp(
                    (dw, ddivergence, dlog_q), cache.posterior
                )
            )
        dh = None
        for layer, dlayer, is_shared, inner in zip(
            self.layers, douts, cache.shared, cache.layers, strict=True
        ):
            dlayer = dlayer.sum(axis=0) if is_shared else dlayer
            dh_layer, gradients = layer.forward_vjp((dlayer, ddivergences), inner, needs_dx)
            dh = dh_layer if dh is None else dh + dh_layer  # all layers read h
            gradients_by_layer |= gradients
        return dh, gradients_by_layer


def _labels(targets, count, dtype):
    """Return labels (N,), -1 for an unlabelled image, and the weights of their log probability."""
    if targets is None:
        return np.full(count, -1), np.zeros(count, dtype)
    return targets[:, LABEL].astype(int), targets[:, WEIGHT]


@dataclass(frozen=True)
class SemiSupervised(Network):
    """An autoencoder with codes for every class.

    Parameters
    ----------
    stages : tuple of ibpcl.models.layers.Layer and other stages
        Those of an autoencoder, with a stage of :class:`ClassCodes`.
    likelihood : Enumerated
        Likelihood of the pixels of all classes.
    """

    @property
    def outputs(self):
        """Number C of classes, which the learner predicts."""
        return self.codes.classes

    def rows(self, name, batch):
        """Return how many rows a layer or stage evaluates for a minibatch.

        Parameters
        ----------
        name : str
            Name of the layer or stage.
        batch : int
            Number of images N.

        Returns
        -------
        rows : int
            N C for codes and decoder, which evaluate every class; N for the encoder.
        """
        encoder = self.stages[: self.stages.index(self.codes)]
        first = {layer.name for stage in (*encoder, self.codes) for layer in stage.layers}
        return batch if name in first else batch * self.codes.classes

    def forward(self, vector, x, noise, options):
        """Evaluate the network for all classes.

        Parameters
        ----------
        vector : ndarray, shape (P,)
            The parameters, in the order of ``layout``.
        x : ndarray, shape (N, D)
            Images.
        noise : dict of str to dict
            Result of :meth:`noise`.
        options : ibpcl.models.layers.Pass
            Backend, hard masks or None, temperature, scale and targets.

        Returns
        -------
        out : tuple
            The outputs, shape (S, N C, D + 2): pixels, weight of the class, and what its label
            adds; and a dict of KL divergences by name, each of shape (S,).
        cache : tuple
            Input of :meth:`forward_vjp`.
        """
        (pixels, divergences), cache = super().forward(vector, x, noise, options)
        codes = cache[1][self.stages.index(self.codes)]
        outputs = np.concatenate([pixels, np.stack([codes.w, codes.bonus], axis=-1)], axis=-1)
        return (outputs, divergences), cache

    def forward_vjp(self, dout, cache):
        """Pull the gradients at the outputs and at the divergences back to ``vector``.

        Parameters
        ----------
        dout : tuple
            Gradient at the outputs (S, N C, D + 2), and a dict of gradients at the divergences,
            (S,) each.
        cache : tuple
            From :meth:`forward`.

        Returns
        -------
        gradient : ndarray, shape (P,)
            Gradient at ``vector``.
        """
        doutputs, ddivergences = dout
        dpixels = np.ascontiguousarray(doutputs[..., :-EXTRA])
        return super().forward_vjp(
            (dpixels, ddivergences | {"classes": doutputs[..., -EXTRA:]}), cache
        )


@dataclass(frozen=True)
class Enumerated(Likelihood):
    r"""Likelihood of the pixels of all classes of an image.

    .. math:: \ell_{nc} = w_{nc} \log p(x_n | y = c, z_{nc}) + b_{nc}

    Its sum over the classes is the data's part of the bound; the bonus b is the weighted log
    probability :math:`\alpha_n \log q(y_n | x_n)` at the label of a labelled image.

    Parameters
    ----------
    pixels : ibpcl.models.likelihoods.Likelihood
        Likelihood of the pixels of one image.
    classes : int
        Number C of classes.
    """

    pixels: Likelihood
    classes: int

    def log_density(self, views, outputs, targets, backend):
        """Evaluate the weighted log density of each image for each class.

        Parameters
        ----------
        views : dict of str to dict
            Parameters by layer and name.
        outputs : ndarray, shape (S, N C, D + 2)
            Outputs of the network.
        targets : ndarray, shape (N, 2 + D)
            Labels, their weights, and pixels.
        backend : ibpcl.inference.backend.Backend
            The functions that compute.

        Returns
        -------
        log_p : ndarray, shape (S, N C)
            Nats.
        cache : tuple
            Input of :meth:`log_density_vjp`.
        """
        images = np.repeat(targets[:, EXTRA:], self.classes, axis=0)
        log_x, inner = self.pixels.log_density(
            views, np.ascontiguousarray(outputs[..., :-EXTRA]), images, backend
        )
        w, bonus = np.moveaxis(outputs[..., -EXTRA:], -1, 0)
        return w * log_x + bonus, (inner, log_x, w)

    def log_density_vjp(self, dlog_p, cache):
        """Pull the gradient at the log density back to the outputs."""
        inner, log_x, w = cache
        dpixels, extra = self.pixels.log_density_vjp(dlog_p * w, inner)
        more = np.stack([dlog_p * log_x, dlog_p], axis=-1)
        return np.concatenate([dpixels, more], axis=-1), extra


def with_classes(network, label, classes):
    """Return an autoencoder with a class per image.

    Parameters
    ----------
    network : ibpcl.models.network.Network
        An autoencoder.
    label : type
        Class of the layer of the classes' logits, such as
        :class:`ibpcl.models.layers.Gaussian`.
    classes : int
        Number C of classes, at least 1.

    Returns
    -------
    network : SemiSupervised
        With one class it has the same parameters.

    Examples
    --------
    >>> from ibpcl.models.layers import Gaussian
    >>> from ibpcl.models.likelihoods import Bernoulli
    >>> from ibpcl.models.network import autoencoder
    >>> network = with_classes(autoencoder(4, (3,), 2, Bernoulli()), Gaussian, 2)
    >>> list(network.layers)
    ['encoder0', 'mean', 'scale', 'label', 'decoder0', 'pixels']
    """
    codes = network.codes
    head = label("label", codes.mean.inputs, classes) if classes > 1 else None
    inner = ClassCodes(codes.mean, codes.scale, codes.learns_prior, head, classes)
    stages = tuple(inner if stage is codes else stage for stage in network.stages)
    return SemiSupervised(stages, Enumerated(network.likelihood, classes))
