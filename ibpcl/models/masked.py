r"""The masked layer: every weight is on or off, :math:`W = B \odot V`, with an IBP prior.

Kumar et al. (2021), Secs. 3.1, 3.2 and 4.5.  The parameters are those of a Gaussian layer, the
offsets ``rho`` (D, K) of the masks, and ``raw_a`` and ``raw_b`` (K,) of the sticks.  The shape
parameters of the sticks are :math:`a = \mathrm{softplus}(raw_a)` and likewise b, so that Adam needs
no constraint.  If every input has its own Indian buffet process, ``raw_a`` and ``raw_b`` have shape
(D, K).

If the masks' prior is an earlier posterior, the constants ``prior_rho`` (D, K) are the offsets of
its log-odds, and ``rho`` is the change since then: given the sticks, :math:`\operatorname{logit}
\theta_{dk} = \rho_{dk} + r_{dk} + \operatorname{logit} \pi_k` in the posterior and :math:`r_{dk} +
\operatorname{logit} \pi_k` in the prior, with r for ``prior_rho``.
"""

from dataclasses import dataclass, field
from math import gamma
from typing import NamedTuple

import numpy as np

from ibpcl.models import binary
from ibpcl.models.layers import Draw, Gaussian, Kept, evaluate, evaluate_vjp
from ibpcl.models.parameters import Entry
from ibpcl.numerics import inverse_softplus, sigmoid, softplus
from ibpcl.primitives import kumaraswamy, weibull

MASK_KLS = ("bernoulli", "concrete")
MASK_LINKS = ("logit", "log")
# Shape of the Weibull distribution from which a learned alpha starts: its standard deviation is
# 28 % of its mean.
ALPHA_SHAPE = 4.0


class MaskModel(NamedTuple):
    """Modelling choices for the masks.

    Attributes
    ----------
    kl : {"bernoulli", "concrete"}
        Which KL divergence of the masks is used: that of the discrete masks, in closed form, or
        that of the relaxed ones at equal temperatures.
    link : {"logit", "log"}
        How the sticks enter the masks' log-odds: as logit pi, the model of the paper, or as log pi,
        as in its authors' code, which caps the prior probability at one half.
    structured : bool
        If True, the masks' log-odds are rho plus the sticks' log-odds.  If False, they are rho
        alone (plain mean field).
    row_sticks : bool
        If True, each input of a layer has its own sticks, one IBP per row.  If False, all inputs
        share the sticks of the layer.
    learns_alpha : bool
        Whether the layer has a Weibull posterior of its concentration alpha.
    inherits : bool
        Whether the prior of the masks is an earlier posterior, with the offsets ``prior_rho`` of
        its log-odds.  Not possible without ``structured``.
    """

    kl: str = "bernoulli"
    link: str = "logit"
    structured: bool = True
    row_sticks: bool = False
    learns_alpha: bool = False
    inherits: bool = False

    def stick_shape(self, shape):
        """Return the shape of a layer's sticks.

        Parameters
        ----------
        shape : tuple of int
            Shape (D, K) of the layer.

        Returns
        -------
        stick_shape : tuple of int
            (D, K) with ``row_sticks``, else (K,).
        """
        return shape if self.row_sticks else shape[1:]


STANDARD_MASKS = MaskModel()


def sticks(raw_a, raw_b):
    r"""Compute the shape parameters of the sticks' posterior from unconstrained parameters.

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
        Input of :func:`sticks_vjp`.
    """
    return (softplus(raw_a), softplus(raw_b)), (raw_a, raw_b)


def sticks_vjp(dout, cache):
    r"""Pull the gradients at (a, b) back to the raw ones: :math:`d\,raw = \sigma(raw)\, da`."""
    return dout[0] * sigmoid(cache[0]), dout[1] * sigmoid(cache[1])


class SampledPass(NamedTuple):
    """Cache of a pass with sampled masks: intermediate results, and the caches of its functions.

    Attributes
    ----------
    sticks : tuple
        Cache of the prior log-odds.
    weights : tuple
        Cache of the masked weights.
    largest : tuple or None
        If each weight has its own prior log-odds, cache of the largest mask of each column.
    bias : ndarray, shape (S, K)
        The drawn biases.
    activity : ndarray, shape (S, K)
        Activity of the units, the largest mask of each column.
    bias_draw : tuple
        Cache of the draw of the biases.
    evaluated : ibpcl.models.layers.LinearPass or ibpcl.models.layers.ConvolvedPass
        Cache of the linear map and the activation.
    backend : ibpcl.inference.backend.Backend
        The functions that computed.
    """

    sticks: tuple
    weights: tuple
    largest: tuple | None
    bias: np.ndarray
    activity: np.ndarray
    bias_draw: tuple
    evaluated: tuple
    backend: object


class LearnedAlpha(NamedTuple):
    """Cache of the KL divergences of the sticks and of a learned alpha.

    Attributes
    ----------
    raw : tuple
        Cache of the sticks' shape parameters.
    divergence : tuple
        Cache of the sticks' divergence.
    raw_alpha : tuple
        Cache of alpha's shape and scale.
    moments : tuple
        Cache of alpha's moments.
    divergence_of_alpha : tuple
        Cache of alpha's divergence.
    """

    raw: tuple
    divergence: tuple
    raw_alpha: tuple
    moments: tuple
    divergence_of_alpha: tuple


@dataclass(frozen=True)
class Masked(Gaussian):
    r"""Gaussian weights under sampled or given masks.

    .. math:: h = f\bigl(x\,(z \odot V) + u \odot b\bigr), \qquad
              z \sim \mathrm{Concrete}(\rho + \operatorname{logit}\pi, \tau), \quad
              u_k = \max_d z_{dk}

    With given masks the layer is a :class:`~ibpcl.models.layers.Gaussian` layer.

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
        With given masks: whether pre-activations are sampled instead of weights.
    model : MaskModel
        Modelling choices for the masks.
    weight_count : int, optional
        Number M of weights that a hard mask keeps, if the parameter vector holds only these; it
        then holds no parameters of masks, sticks and alpha.  By default it holds all weights.
    sharing : int
        Number of weights of a unit that share a mask: those of the rows g, g + G, g + 2 G, ... with
        G = D / ``sharing``.  1 gives every weight its own mask, D one mask per unit.

    Raises
    ------
    ValueError
        If ``activation``, or a choice in ``model``, is not one of the allowed names, or ``sharing``
        does not divide D or does not go with ``model``.
    """

    model: MaskModel = STANDARD_MASKS
    weight_count: int | None = field(default=None, kw_only=True)
    sharing: int = field(default=1, kw_only=True)

    def __post_init__(self):
        super().__post_init__()
        for name, allowed in (("kl", MASK_KLS), ("link", MASK_LINKS)):
            if getattr(self.model, name) not in allowed:
                raise ValueError(
                    f"masked: mask_{name} must be one of {', '.join(allowed)}, "
                    f"got {getattr(self.model, name)!r}"
                )
        if self.model.inherits and not self.model.structured:
            raise ValueError("masked: masks that inherit their prior must be structured")
        if self.sharing < 1 or self.inputs % self.sharing:
            raise ValueError(
                f"masked: sharing must divide the {self.inputs} inputs, got {self.sharing}"
            )
        standard = self.model._replace(structured=True, row_sticks=False, inherits=False)
        if self.sharing > 1 and self.model != standard:
            raise ValueError(
                "masked: masks that weights share must be structured, with one stick per unit and "
                f"without an inherited prior, got {self.model}"
            )

    @property
    def weights(self):
        """Shape of the weights' means in the vector: (D, K), or (M,) if only M weights are kept."""
        return self.shape if self.weight_count is None else (self.weight_count,)

    @property
    def mask_shape(self):
        """Shape (G, K) of the masks; (D, K) if each weight has its own."""
        return self.inputs // self.sharing, self.units

    def reads_images(self, options):
        """Return whether weights are drawn, as with sampled masks, or with ``local=False``.

        Parameters
        ----------
        options : ibpcl.models.layers.Pass
            Options of the pass.

        Returns
        -------
        reads : bool
            False if masks are given and pre-activations are sampled.
        """
        return options.masks is None or not self.local

    def expand(self, mask):
        """Return the mask of every weight.

        Parameters
        ----------
        mask : ndarray, shape (G, K)
            One value per mask.

        Returns
        -------
        expanded : ndarray, shape (D, K)
            One value per weight; ``mask`` itself if each weight has its own.

        Examples
        --------
        >>> Masked("hidden0", 4, 1, sharing=2).expand(np.array([[True], [False]]))[:, 0].tolist()
        [True, False, True, False]
        """
        return mask if self.sharing == 1 else np.tile(mask, (self.sharing, 1))

    def entries(self):
        """Return the Gaussian entries, the masks' offsets, the sticks, alpha, and prior offsets."""
        entries = super().entries()
        if self.weight_count is not None:
            return entries
        # masks that all positions of a kernel share have one row per channel
        groups = max(1, self.row_groups // self.sharing)
        entries.append(Entry(f"{self.name}.rho", self.mask_shape, "rho", groups))
        entries += [
            Entry(f"{self.name}.{raw}", self.model.stick_shape(self.shape), "sticks", groups)
            for raw in ("raw_a", "raw_b")
        ]
        if self.model.learns_alpha:
            entries += [
                Entry(f"{self.name}.{raw}", (), "alpha") for raw in ("raw_shape", "raw_scale")
            ]
        if self.model.inherits:
            entries.append(Entry(f"{self.name}.prior_rho", self.shape, "prior_rho", groups))
        return entries

    def start_sticks(self, parameters, alpha):
        """Initialize the sticks at their prior, Kumaraswamy(alpha, 1) = Beta(alpha, 1), in place.

        A learned alpha starts from a Weibull distribution with shape 4 and mean ``alpha``.

        Parameters
        ----------
        parameters : dict of str to ndarray
            Parameters of this layer by name, written to.
        alpha : float
            Concentration of the IBP prior, > 0.
        """
        parameters["raw_a"][...] = inverse_softplus(float(alpha))
        parameters["raw_b"][...] = inverse_softplus(1.0)
        if self.model.learns_alpha:
            parameters["raw_shape"][...] = inverse_softplus(ALPHA_SHAPE)
            parameters["raw_scale"][...] = inverse_softplus(
                float(alpha) / gamma(1 + 1 / ALPHA_SHAPE)
            )

    def noise(self, key, samples, batch, relaxed):
        """Return the noise that a pass draws.

        Parameters
        ----------
        key : ibpcl.noise.Key
            Key of the layer's noise.  Four streams are used, from this one on.
        samples : int
            Number of Monte Carlo samples S.
        batch : int
            Number of examples N; used if masks are given.
        relaxed : bool
            True if masks are sampled, False if they are given.

        Returns
        -------
        draws : dict of str to ibpcl.models.layers.Draw
            With sampled masks: ``weight`` (S, D, K) and ``bias`` (S, K), normal; ``stick`` (S, K)
            or (S, D, K), uniform; ``mask`` (S, G, K), logistic, with G = D unless weights share
            masks.  With given masks: those of a :class:`~ibpcl.models.layers.Gaussian` layer.
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
            "mask": Draw("logistic", mask, (samples, *self.mask_shape)),
        }

    def forward(self, views, x, noise, options):
        """Sample weights and masks, or use the given masks, and evaluate the layer.

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
            The outputs, shape (S, N, K), and a dict of divergences.  With sampled masks it holds
            ``kl_masks`` (S,), the KL divergence of the masks from their prior, in nats, summed over
            weights; with given masks it is empty.
        cache : ibpcl.models.layers.Kept
            Input of :meth:`forward_vjp`.
        """
        if options.masks is not None:
            out, cache = super().forward(views, x, noise, options)
            return out, Kept(given=cache)
        if options.draw is not None:
            out, cache = binary.forward(self, views, x, noise, options)
            return out, Kept(drawn=cache)
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
        # Zeros are left out, so that a first task has the same numbers as without offsets.
        inherits = model.inherits and bool(parameters["prior_rho"].any())
        if inherits:
            of_rows = logit_pi if model.row_sticks else logit_pi[:, None, :]
            logit_pi = of_rows + parameters["prior_rho"]
        # If each weight has its own prior log-odds (with one IBP per row, or with offsets), all
        # weights form one row of D K columns.  The function's "activity" is then the masks
        # themselves.
        if self.sharing > 1:
            (w, activity, divergence), weights_cache = backend.masked_convolution.sample(
                *(self._shared(array) for array in arrays), logit_pi, options.tau, model.kl
            )
            w = w.reshape(drawn["weight"].shape)
        elif model.row_sticks or inherits:
            (w, z, divergence), weights_cache = sample(
                *map(_one_row, arrays), _one_row(logit_pi)[:, 0], options.tau, model.kl
            )
            w = w.reshape(drawn["weight"].shape)
            activity, largest = backend.masked_linear.column_activity(z.reshape(w.shape))
        else:
            (w, activity, divergence), weights_cache = sample(
                *arrays, logit_pi, options.tau, model.kl
            )
        bias, bias_cache = backend.gaussian.sample(
            drawn["bias"], parameters["bias.mu"], parameters["bias.log_sigma"]
        )
        h, evaluated = evaluate(x, w, bias * activity, self.activation, backend)
        return (h, {"kl_masks": divergence}), Kept(
            sampled=SampledPass(
                stick_cache,
                weights_cache,
                largest,
                bias,
                activity,
                bias_cache,
                evaluated,
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
            Gradients of the parameters, ``gradients[layer][parameter]``.
        """
        if cache.given is not None:
            return super().forward_vjp(dout, cache.given, needs_dx)
        if cache.drawn is not None:
            return binary.forward_vjp(self, dout, cache.drawn, needs_dx)
        (dh, ddivergences), model, run = dout, self.model, cache.sampled
        backend = run.backend
        dx, dw, dscaled_bias = evaluate_vjp(dh, run.evaluated, needs_dx)
        dbias_mu, dbias_log_sigma = backend.gaussian.sample_vjp(
            dscaled_bias * run.activity, run.bias_draw
        )
        sample_vjp = (
            backend.masked_weights.sample_vjp
            if model.structured
            else backend.masked_weights.sample_mean_field_vjp
        )
        dactivity = dscaled_bias * run.bias
        ddivergence = ddivergences["kl_masks"]
        if self.sharing > 1:
            *gradients, dlogit_pi = backend.masked_convolution.sample_vjp(
                (self._shared(dw), dactivity, ddivergence), run.weights
            )
            dmu, dlog_sigma, drho = (
                gradient.reshape(shape)
                for gradient, shape in zip(
                    gradients, (self.shape, self.shape, self.mask_shape), strict=True
                )
            )
        elif run.largest is not None:
            dz = backend.masked_linear.column_activity_vjp(dactivity, run.largest)
            gradients = sample_vjp((_one_row(dw), _one_row(dz)[:, 0], ddivergence), run.weights)
            dmu, dlog_sigma, drho, dlogit_pi = (
                gradient.reshape(*gradient.shape[:-2], *dw.shape[1:])
                for gradient in (*gradients[:3], gradients[3][:, None])
            )
            if not model.row_sticks:
                dlogit_pi = dlogit_pi.sum(axis=1)  # the sticks were broadcast over D
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

    def _shared(self, array):
        """Return weights (..., D, K) with the axis of those that share a mask, (..., D / G, G, K).

        Arrays that have one value per mask stay as they are.
        """
        if array.shape[-2:] == self.mask_shape:
            return array
        return array.reshape(*array.shape[:-2], self.sharing, *self.mask_shape)

    def kl_sticks(self, parameters, prior, backend):
        """Compute the KL divergences of the sticks and of a learned alpha from their priors.

        Parameters
        ----------
        parameters : dict of str to ndarray
            Parameters of this layer by name.
        prior : float or tuple
            Concentration alpha of the sticks' Beta(alpha, 1) prior, > 0.  If alpha is learned:
            shape and rate of its Gamma prior, both > 0.
        backend : ibpcl.inference.backend.Backend
            The functions that compute.

        Returns
        -------
        out : tuple of float
            Divergence of the sticks, averaged over a learned alpha, and divergence of alpha, which
            is 0 if alpha is not learned.  In nats, summed over sticks.
        cache : tuple
            Input of :meth:`kl_sticks_vjp`.
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
        """Pull the gradients at both divergences back to the parameters of this layer.

        Parameters
        ----------
        dout : tuple of float
            Gradients at the divergence of the sticks and at the divergence of alpha.
        cache : tuple
            From :meth:`kl_sticks`.

        Returns
        -------
        gradients : dict of str to ndarray
            Gradients by name: of ``raw_a`` and ``raw_b``, and of ``raw_shape`` and ``raw_scale`` if
            alpha is learned.
        """
        dkl, dkl_alpha = dout
        if not self.model.learns_alpha:
            inner, backend = cache
            draw_a, draw_b, _ = backend.sticks.divergence_vjp(dkl, inner)
            return {"raw_a": draw_a, "raw_b": draw_b}
        da, db, dmean, dmean_log = kumaraswamy.expected_kl_to_beta_vjp(dkl, cache.divergence)
        by_sticks = weibull.moments_vjp((dmean, dmean_log), cache.moments)
        by_prior = weibull.kl_to_gamma_vjp(dkl_alpha, cache.divergence_of_alpha)
        dalpha = [
            from_sticks + from_prior
            for from_sticks, from_prior in zip(by_sticks, by_prior, strict=True)
        ]
        values = (*sticks_vjp((da, db), cache.raw), *sticks_vjp(dalpha, cache.raw_alpha))
        return dict(zip(("raw_a", "raw_b", "raw_shape", "raw_scale"), values, strict=True))


def _one_row(array):
    """Return an array (..., D, K) with its rows joined to one, (..., 1, D K)."""
    return array.reshape(*array.shape[:-2], 1, array.shape[-2] * array.shape[-1])
