r"""Layers whose Gaussian weights are correlated: low rank plus diagonal, or a full covariance.

The weights of one layer are correlated with one another, and independent of other layers.  Biases
count as weights.  The divergence of the diagonal Gaussians is part of that of the whole network
(:func:`ibpcl.models.elbo.elbo`); a layer adds what its correlations change, ``kl_correlations``.
Without correlations this is exactly 0.

:class:`LowRank` draws its common parts once per sample, for all examples.  Given these, the weights
are independent, so pre-activations can be drawn as in :class:`ibpcl.models.layers.Gaussian`:

.. math:: a = x (\mu + V) + \sqrt{x^2 \sigma^2} \odot \eta, \qquad V = \varepsilon U,
          \quad \varepsilon, \eta \sim \mathcal N(0, 1)

:class:`FullCovariance` draws its weights.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ibpcl.models.layers import (
    GAUSSIAN,
    Draw,
    Gaussian,
    activate,
    activate_vjp,
    evaluate,
    evaluate_vjp,
)
from ibpcl.models.parameters import Entry
from ibpcl.models.scaled import FAR

# Learning rate of common parts and correlations, relative to that of the other parameters.  Adam
# moves every element by about its rate, however small its gradient is, and many elements of a
# factor act on one weight.  At the full rate their noise outgrows that of the independent parts.
RATE = 0.03
SIDES = ("bias", "weight")  # the order of all weights of a layer in a vector


class LowRankPass(NamedTuple):
    """Cache of a layer of :class:`LowRank`, by the function that left it.

    Attributes
    ----------
    common : tuple
        Cache of the draw of the common parts.
    linear : tuple
        Cache of the linear map of the common parts; with drawn weights, of all.
    independent : tuple
        Cache of the drawn pre-activations; with drawn weights, those of weights and biases.
    activation : tuple or None
        Cache of the activation; None for a layer without one, or with drawn weights.
    backend : ibpcl.inference.backend.Backend
        The functions that computed.
    """

    common: tuple
    linear: tuple
    independent: tuple
    activation: tuple | None
    backend: object


class FullPass(NamedTuple):
    """Cache of a layer of :class:`FullCovariance`, by the function that left it.

    Attributes
    ----------
    drawn : tuple
        Cache of the draw of the weights.
    evaluated : tuple
        Cache of the linear map and the activation.
    backend : ibpcl.inference.backend.Backend
        The functions that computed.
    """

    drawn: tuple
    evaluated: tuple
    backend: object


def flat(parameters, part):
    """Return a part of all weights of a layer as a vector, first that of the biases.

    Parameters
    ----------
    parameters : dict of str to ndarray
        Parameters of the layer by name.
    part : str
        Such as ``"mu"``.

    Returns
    -------
    values : ndarray, shape (M,)
        M = K + D K numbers.
    """
    return np.concatenate([parameters[f"{side}.{part}"].ravel() for side in SIDES])


def by_side(values, units, part):
    """Return biases and weights of a vector by name, the inverse of :func:`flat`.

    Parameters
    ----------
    values : ndarray, shape (..., M)
        M = K + D K numbers.
    units : int
        Number of units K.
    part : str
        Such as ``"mu"``.

    Returns
    -------
    parameters : dict of str to ndarray
        ``bias.{part}`` (..., K) and ``weight.{part}`` (..., D, K).

    Examples
    --------
    >>> by_side(np.arange(6), 2, "mu")["weight.mu"].tolist()
    [[2, 3], [4, 5]]
    """
    weights = values[..., units:]
    return {
        f"bias.{part}": values[..., :units],
        f"weight.{part}": weights.reshape(*weights.shape[:-1], -1, units),
    }


@dataclass(frozen=True)
class LowRank(Gaussian):
    r"""Layer of Gaussian weights with common parts: a covariance of low rank plus a diagonal.

    Without common parts it is :class:`ibpcl.models.layers.Gaussian`, to the last bit.

    Parameters
    ----------
    name : str
        Name of the layer in the parameter vector, without a dot.
    inputs : int
        Number of inputs D.
    units : int
        Number of units K.
    activation : {"relu", "leaky_relu", "softplus", "tanh"}, optional
        Activation function; none by default.
    positions : int
        Number of rows of inputs that each example has, as in :class:`ibpcl.models.layers.Layer`.
    row_groups : int
        Number of groups of inputs, as in :class:`ibpcl.models.layers.Layer`.
    local : bool
        Whether pre-activations are sampled, given the common parts, or weights.
    rank : int
        Number R of common parts.
    """

    rank: int = field(default=1, kw_only=True)

    def entries(self):
        """Return the Gaussian entries, then R common parts of weights (D, K) and biases (K,)."""
        return super().entries() + [
            Entry(
                f"{self.name}.{side}.factor{r}",
                self.shape if side == "weight" else self.shape[1:],
                "factor",
                self.row_groups if side == "weight" else 1,
            )
            for side in SIDES
            for r in range(self.rank)
        ]

    def noise(self, key, samples, batch, relaxed):
        """Return the noise that a pass draws: that of a Gaussian layer, and of the common parts.

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
            Those of :class:`ibpcl.models.layers.Gaussian`, and ``global`` (S, R), normal.
        """
        independent = super().noise(key, samples, batch, relaxed)
        if not self.rank:
            return independent
        key = key._replace(stream=key.stream + FAR)
        return independent | {"global": Draw("normal", key, (samples, self.rank))}

    def factor(self, parameters):
        """Return the common parts of all weights.

        Parameters
        ----------
        parameters : dict of str to ndarray
            Parameters of this layer by name.

        Returns
        -------
        factor : ndarray, shape (R, M)
            One row per common part, first those of the biases.
        """
        rows = [flat(parameters, f"factor{r}") for r in range(self.rank)]
        return np.stack(rows) if rows else np.zeros((0, flat(parameters, "mu").size))

    def start(self, parameters, rng, scale):
        """Draw the first common parts, in place.

        Parts of 0 would stay 0 on average, because their sign makes no difference.

        Parameters
        ----------
        parameters : dict of str to ndarray
            Parameters of this layer by name, written to.
        rng : numpy.random.Generator
            Source of the random numbers.
        scale : float
            Their standard deviation.
        """
        for r in range(self.rank):
            for side in SIDES:
                view = parameters[f"{side}.factor{r}"]
                view[...] = scale * rng.standard_normal(view.shape)

    def forward(self, views, x, noise, options):
        """Sample common parts, then pre-activations or weights, and evaluate the layer.

        Parameters
        ----------
        views : dict of str to dict
            Parameters of all layers: ``views[layer][parameter]`` is an array.
        x : ndarray, shape (S, N, D) or (N, D)
            Inputs; (N, D) if all samples share them.
        noise : dict of str to dict
            Noise of all layers: ``noise[layer][name]`` is an array, as declared by :meth:`noise`.
        options : ibpcl.models.layers.Pass
            Its backend is used; without common parts also its masks.

        Returns
        -------
        out : tuple
            The outputs, shape (S, N, K), and an empty dict of divergences.
        cache : tuple
            Input of :meth:`forward_vjp`.
        """
        if not self.rank:
            return super().forward(views, x, noise, options)
        parameters = views[self.name]
        drawn = noise[self.name]
        backend = options.backend
        v, common = backend.low_rank.sample(drawn["global"], self.factor(parameters))
        shift = by_side(v, self.units, "v")
        if self.local:
            # The activation is applied separately, because the common parts come before it.
            independent, local = backend.local_linear.sample(
                drawn["eps"], x, *(parameters[name] for name in GAUSSIAN), None, None
            )
            added, linear = backend.linear.apply(x, shift["weight.v"], shift["bias.v"])
            h, active = activate(self.activation, independent + added, backend)
            return (h, {}), LowRankPass(common, linear, local, active, backend)
        w, weight = backend.gaussian.sample(
            drawn["weight"], parameters["weight.mu"], parameters["weight.log_sigma"]
        )
        b, bias = backend.gaussian.sample(
            drawn["bias"], parameters["bias.mu"], parameters["bias.log_sigma"]
        )
        h, linear = evaluate(
            x, w + shift["weight.v"], b + shift["bias.v"], self.activation, backend
        )
        return (h, {}), LowRankPass(common, linear, (weight, bias), None, backend)

    def forward_vjp(self, dout, cache, needs_dx=True):
        """Pull the gradient at the outputs back to the inputs and parameters.

        Parameters
        ----------
        dout : tuple
            Gradient at the outputs (S, N, K), and a dict that is not used.
        cache : tuple
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
        if not self.rank:
            return super().forward_vjp(dout, cache, needs_dx)
        backend = cache.backend
        if self.local:
            dh = activate_vjp(dout[0], cache.activation)
            dx, *gradients = backend.local_linear.sample_vjp(dh, cache.independent, needs_dx)
            more, dweight, dbias = backend.linear.apply_vjp(dh, cache.linear, needs_dx)
            dx = dx + more if needs_dx else None
        else:
            dx, dweight, dbias = evaluate_vjp(dout[0], cache.linear, needs_dx)
            weight, bias = cache.independent
            gradients = (
                *backend.gaussian.sample_vjp(dweight, weight),
                *backend.gaussian.sample_vjp(dbias, bias),
            )
        dv = np.concatenate([dbias, dweight.reshape(len(dweight), -1)], axis=1)
        dfactor = backend.low_rank.sample_vjp(dv, cache.common)
        by_name = dict(zip(GAUSSIAN, gradients, strict=True))
        return dx, {self.name: by_name | self._by_part(dfactor)}

    def kl_correlations(self, parameters, prior, backend):
        """Compute what the common parts add to the divergence of the weights from their prior.

        Parameters
        ----------
        parameters : dict of str to ndarray
            Parameters of this layer by name.
        prior : dict of str to ndarray
            Parameters of its prior by name, with as many common parts.
        backend : ibpcl.inference.backend.Backend
            The functions that compute.

        Returns
        -------
        divergence : float
            Nats, summed over weights.
        cache : tuple
            Input of :meth:`kl_correlations_vjp`.
        """
        sides = [
            (flat(side, "mu"), flat(side, "log_sigma"), self.factor(side))
            for side in (parameters, prior)
        ]
        divergence, cache = backend.low_rank.correlation_kl(*sides[0], *sides[1])
        return divergence, (cache, backend)

    def kl_correlations_vjp(self, ddivergence, cache):
        """Pull the gradient at the added divergence back to the parameters of this layer.

        Parameters
        ----------
        ddivergence : float
            Gradient at the divergence.
        cache : tuple
            From :meth:`kl_correlations`.

        Returns
        -------
        gradients : dict of str to ndarray
            Gradients of the parameters by name.
        """
        inner, backend = cache
        dmu, dlog_sigma, dfactor, *_ = backend.low_rank.correlation_kl_vjp(ddivergence, inner)
        return (
            by_side(dmu, self.units, "mu")
            | by_side(dlog_sigma, self.units, "log_sigma")
            | self._by_part(dfactor)
        )

    def _by_part(self, dfactor):
        """Return gradients (R, M) of the common parts by name."""
        gradients = {}
        for r, values in enumerate(dfactor):
            gradients |= by_side(values, self.units, f"factor{r}")
        return gradients


@dataclass(frozen=True)
class FullCovariance(Gaussian):
    r"""Layer of Gaussian weights with a full covariance, by its Cholesky factor.

    With M = K + D K weights, the M (M - 1) / 2 elements below the diagonal are one entry, row by
    row.  A step takes the time of a product of M x M matrices, and memory for a few of them.

    Parameters
    ----------
    name : str
        Name of the layer in the parameter vector, without a dot.
    inputs : int
        Number of inputs D.
    units : int
        Number of units K.
    activation : {"relu", "leaky_relu", "softplus", "tanh"}, optional
        Activation function; none by default.
    positions : int
        Number of rows of inputs that each example has, as in :class:`ibpcl.models.layers.Layer`.
    row_groups : int
        Number of groups of inputs, as in :class:`ibpcl.models.layers.Layer`.

    local : bool
        Not used: weights are sampled.
    """

    @property
    def size(self):
        """Number M of weights and biases."""
        return (self.inputs + 1) * self.units

    def entries(self):
        """Return the Gaussian entries, then the elements below the diagonal, ``lower``."""
        count = self.size * (self.size - 1) // 2
        return [*super().entries(), Entry(f"{self.name}.lower", (count,), "factor")]

    def noise(self, key, samples, batch, relaxed):
        """Return the noise that a pass draws: one normal number per weight and sample.

        Parameters
        ----------
        key : ibpcl.noise.Key
            Key of the layer's noise.
        samples : int
            Number of Monte Carlo samples S.
        batch : int
            Not used: all examples share the weights.
        relaxed : bool
            Not used: the layer samples no masks.

        Returns
        -------
        draws : dict of str to ibpcl.models.layers.Draw
            ``global``, normal, shape (S, M), first that of the biases.
        """
        return {"global": Draw("normal", key, (samples, self.size))}

    def lower(self, parameters):
        """Return the Cholesky factor below its diagonal as a matrix.

        Parameters
        ----------
        parameters : dict of str to ndarray
            Parameters of this layer by name.

        Returns
        -------
        lower : ndarray, shape (M, M)
            0 on and above the diagonal.
        """
        matrix = np.zeros((self.size, self.size), parameters["lower"].dtype)
        matrix[np.tril_indices(self.size, -1)] = parameters["lower"]
        return matrix

    def forward(self, views, x, noise, options):
        """Draw weights, and evaluate the layer.

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
        cache : FullPass
            Input of :meth:`forward_vjp`.
        """
        parameters = views[self.name]
        v, drawn = options.backend.full_covariance.sample(
            noise[self.name]["global"], *self._gaussian(parameters)
        )
        v = by_side(v, self.units, "v")
        h, evaluated = evaluate(x, v["weight.v"], v["bias.v"], self.activation, options.backend)
        return (h, {}), FullPass(drawn, evaluated, options.backend)

    def forward_vjp(self, dout, cache, needs_dx=True):
        """Pull the gradient at the outputs back to the inputs and parameters.

        Parameters
        ----------
        dout : tuple
            Gradient at the outputs (S, N, K), and a dict that is not used.
        cache : FullPass
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
        dx, dweight, dbias = evaluate_vjp(dout[0], cache.evaluated, needs_dx)
        dv = np.concatenate([dbias, dweight.reshape(len(dweight), -1)], axis=1)
        gradients = cache.backend.full_covariance.sample_vjp(dv, cache.drawn)
        return dx, {self.name: self._by_name(*gradients)}

    def kl_correlations(self, parameters, prior, backend):
        """Compute what correlations add to the divergence of the weights from their prior.

        Parameters
        ----------
        parameters : dict of str to ndarray
            Parameters of this layer by name.
        prior : dict of str to ndarray
            Parameters of its prior by name.
        backend : ibpcl.inference.backend.Backend
            The functions that compute.

        Returns
        -------
        divergence : float
            Nats, summed over weights.
        cache : tuple
            Input of :meth:`kl_correlations_vjp`.
        """
        divergence, cache = backend.full_covariance.correlation_kl(
            *self._gaussian(parameters), *self._gaussian(prior)
        )
        return divergence, (cache, backend)

    def kl_correlations_vjp(self, ddivergence, cache):
        """Pull the gradient at the added divergence back to the parameters of this layer.

        Parameters
        ----------
        ddivergence : float
            Gradient at the divergence.
        cache : tuple
            From :meth:`kl_correlations`.

        Returns
        -------
        gradients : dict of str to ndarray
            Gradients of the parameters by name.
        """
        inner, backend = cache
        gradients = backend.full_covariance.correlation_kl_vjp(ddivergence, inner)
        return self._by_name(*gradients[:3])

    def _gaussian(self, parameters):
        """Return means, log diagonal and lower part of all weights, as the primitives take them."""
        return flat(parameters, "mu"), flat(parameters, "log_sigma"), self.lower(parameters)

    def _by_name(self, dmu, dlog_sigma, dlower):
        """Return gradients of all weights by name."""
        return (
            by_side(dmu, self.units, "mu")
            | by_side(dlog_sigma, self.units, "log_sigma")
            | {"lower": dlower[np.tril_indices(self.size, -1)]}
        )
