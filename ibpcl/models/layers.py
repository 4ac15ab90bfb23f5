r"""Layers of a few kinds with one contract; here those whose weights are numbers, and those with
Gaussian weights.

Whatever its kind, a layer of shape (D, K) says

* which **entries** of the parameter vector are its own (:meth:`Layer.entries`),
* what **noise** a pass of it needs (:meth:`Layer.noise`),
* its pass **forth** (:meth:`Layer.forward`) and **back** (:meth:`Layer.forward_vjp`).

The other kinds are :class:`ibpcl.models.masked.Masked`, whose weights have an Indian buffet
process, :class:`ibpcl.models.gated.Gated` and :class:`ibpcl.models.units.Units`.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from ibpcl.models.parameters import Entry
from ibpcl.primitives import gaussian

ACTIVATIONS = ("relu", "leaky_relu", "softplus", "tanh")
GAUSSIAN = ("weight.mu", "weight.log_sigma", "bias.mu", "bias.log_sigma")


class Pass(NamedTuple):
    """What a pass through a network is given besides parameters, inputs and noise.

    ``backend``: numba's or NumPy's, which computes.  ``masks``: the hard masks by layer, a layer
    that is not named has none; None to sample them all.  ``tau``: the temperature of what is
    sampled and relaxed, > 0.  ``scale``: how many examples of the task each example of the
    minibatch stands for, N / batch.
    """

    backend: object
    masks: dict | None = None
    tau: float | None = None
    scale: float = 1.0


class Draw(NamedTuple):
    """One array of noise that a layer asks for: its kind, the key that it is a function of, and its
    shape.
    """

    kind: str
    key: object
    shape: tuple


class Kept(NamedTuple):
    """What a pass of a layer with masks leaves for the way back: one of the two.

    Attributes
    ----------
    given : tuple or None
        With given masks: what a :class:`Gaussian` layer leaves.
    sampled : tuple or None
        With sampled masks: the named tuple of the layer's module.
    """

    given: tuple | None = None
    sampled: tuple | None = None


class DrawnPass(NamedTuple):
    """What a pass with drawn weights leaves for the way back, by the functions that it called."""

    weight: tuple
    bias: tuple
    linear: tuple
    activation: tuple | None
    backend: object


@dataclass(frozen=True)
class Layer:
    """A layer of shape (D, K): the contract, and what all kinds have in common.

    Parameters
    ----------
    name : str
        Of the layer in the parameter vector.
    inputs, units : int
        Its widths D and K.
    activation : {"relu", "leaky_relu", "softplus", "tanh"}, optional
        What its outputs go through, if it has one; a layer without is the last of its network.
    """

    name: str
    inputs: int
    units: int
    activation: str | None = None

    # of noise that are set aside for a layer
    streams: ClassVar[int] = 4

    def __post_init__(self):
        if self.activation is not None and self.activation not in ACTIVATIONS:
            raise ValueError(
                f"layers: activation must be one of {', '.join(ACTIVATIONS)}, got "
                f"{self.activation!r}"
            )

    @property
    def shape(self):
        """The shape (D, K) of the weights."""
        return self.inputs, self.units

    @property
    def layers(self):
        """The layers of which this is made: itself."""
        return (self,)

    def entries(self):
        """Return the layer's own entries of the parameter vector."""
        raise NotImplementedError

    def noise(self, key, samples, batch, relaxed):
        """Return what a pass draws, a dict of :class:`Draw` by what it is for.

        Parameters
        ----------
        key : Key
            Its stream and the next ones, ``streams`` in all, are the layer's.
        samples, batch : int
            Samples S and examples N.
        relaxed : bool
            Whether masks are sampled; they are given otherwise.
        """
        return {}

    def forward(self, views, x, noise, options):
        """Evaluate the layer.

        Parameters
        ----------
        views : dict of str to dict
            The parameters of all layers by name.
        x : ndarray, shape (S, N, D) or (N, D)
            Inputs; (N, D) when all samples share them.
        noise : dict of str to dict
            What was drawn for each layer, by name.
        options : Pass
            Backend, masks, temperature and scale.

        Returns
        -------
        out : tuple
            The outputs (S, N, K), or (N, K) where nothing was drawn yet; and a dict of divergences,
            (S,) each, nats, for the whole task.
        cache : tuple
            What :meth:`forward_vjp` needs.
        """
        raise NotImplementedError

    def forward_vjp(self, dout, cache, needs_dx=True):
        """Pull the gradients at the outputs and at the divergences (a dict, too) back.

        Returns
        -------
        dx : ndarray or None
            As ``x``; None where it is not needed.
        gradients : dict of str to dict
            Of the parameters, by layer and name.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Plain(Layer):
    r"""Weights that are numbers: :math:`h = f(x W + b)`."""

    def entries(self):
        """Return weights (D, K) and biases (K,); a number is its own mean."""
        return [
            Entry(f"{self.name}.weight.mu", self.shape, "plain"),
            Entry(f"{self.name}.bias.mu", self.shape[1:], "plain"),
        ]

    def forward(self, views, x, noise, options):
        """Evaluate the layer; nothing is drawn."""
        # one matrix for all samples: join their axes
        parameters = views[self.name]
        h, cache = options.backend.linear.apply(
            _rows(x), parameters["weight.mu"][None], parameters["bias.mu"][None]
        )
        h = h.reshape(*x.shape[:-1], self.units)
        h, active = activate(self.activation, h, options.backend)
        return (h, {}), (cache, active, x.shape, options.backend)

    def forward_vjp(self, dout, cache, needs_dx=True):
        """Pull the gradient at the outputs back."""
        linear_cache, active, shape, backend = cache
        dh = activate_vjp(dout[0], active)
        dx, dweight, dbias = backend.linear.apply_vjp(_rows(dh)[None], linear_cache, needs_dx)
        return dx.reshape(shape) if needs_dx else None, {
            self.name: {"weight.mu": dweight[0], "bias.mu": dbias[0]}
        }


@dataclass(frozen=True)
class Gaussian(Layer):
    r"""Gaussian weights, sampled at the pre-activations a, every example with weights of its own.

    .. math:: h = f(a), \quad a \sim \mathcal N\bigl(x (B \odot \mu) + u \odot \mu_b,\;
              x^2 (B \odot \sigma^2) + u \odot \sigma_b^2\bigr), \qquad u_k = \max_d B_{dk}

    with a hard mask B, or B = 1.  Kumar et al. (2021), Sec. 4.5, "Selective Finetuning"; sampled as
    in Kingma, Salimans and Welling (2015).
    """

    @property
    def weights(self):
        """The shape of the weights' means in the vector."""
        return self.shape

    def entries(self):
        """Return means and log standard deviations of weights and biases."""
        return [
            Entry(
                f"{self.name}.{side}.{part}",
                self.weights if side == "weight" else self.shape[1:],
                part,
            )
            for part in ("mu", "log_sigma")
            for side in ("weight", "bias")
        ]

    def noise(self, key, samples, batch, relaxed):
        """Return a normal number for each pre-activation."""
        return {"eps": Draw("normal", key, (samples, batch, self.units))}

    def forward(self, views, x, noise, options):
        """Sample the outputs, under the layer's hard mask if it is given one."""
        parameters = views[self.name]
        mask = (options.masks or {}).get(self.name)
        eps = noise[self.name]["eps"]
        means_and_scales = (parameters[name] for name in GAUSSIAN)
        h, cache = options.backend.local_linear.sample(
            eps, x, *means_and_scales, mask, self.activation
        )
        return (h, {}), (cache, options.backend)

    def forward_vjp(self, dout, cache, needs_dx=True):
        """Pull the gradient at the outputs back."""
        inner, backend = cache
        dx, *found = backend.local_linear.sample_vjp(dout[0], inner, needs_dx)
        return dx, {self.name: dict(zip(GAUSSIAN, found, strict=True))}


@dataclass(frozen=True)
class Drawn(Gaussian):
    r"""Gaussian weights that are drawn themselves, one set for all examples: :math:`V^s = \mu +
    \sigma \varepsilon^s`.

    Blundell, Cornebise, Kavukcuoglu and Wierstra (2015), "Weight Uncertainty in Neural Networks",
    Eq. 2.
    """

    streams: ClassVar[int] = 2

    def noise(self, key, samples, batch, relaxed):
        """Return a normal number for each weight and bias."""
        return {
            "weight": Draw("normal", key, (samples, *self.shape)),
            "bias": Draw("normal", key._replace(stream=key.stream + 1), (samples, self.units)),
        }

    def forward(self, views, x, noise, options):
        """Draw weights and biases and evaluate the layer with them."""
        parameters = views[self.name]
        drawn = noise[self.name]
        weight, weight_cache = gaussian.sample(
            drawn["weight"], parameters["weight.mu"], parameters["weight.log_sigma"]
        )
        bias, bias_cache = gaussian.sample(
            drawn["bias"], parameters["bias.mu"], parameters["bias.log_sigma"]
        )
        h, linear_cache = options.backend.linear.apply(x, weight, bias)
        h, activation_cache = activate(self.activation, h, options.backend)
        return (h, {}), DrawnPass(
            weight_cache, bias_cache, linear_cache, activation_cache, options.backend
        )

    def forward_vjp(self, dout, cache, needs_dx=True):
        """Pull the gradient at the outputs back."""
        dh = activate_vjp(dout[0], cache.activation)
        dx, dweight, dbias = cache.backend.linear.apply_vjp(dh, cache.linear, needs_dx)
        found = (
            *gaussian.sample_vjp(dweight, cache.weight),
            *gaussian.sample_vjp(dbias, cache.bias),
        )
        return dx, {self.name: dict(zip(GAUSSIAN, found, strict=True))}


def activate(name, h, backend):
    """Apply an activation by its name, if there is one; return the outputs, and what
    :func:`activate_vjp` needs.
    """
    if name is None:
        return h, None
    out, cache = getattr(backend.activations, name)(h)
    return out, (getattr(backend.activations, name + "_vjp"), cache)


def activate_vjp(dout, cache):
    """Pull the gradient at an activation's outputs back to its inputs."""
    if cache is None:
        return dout
    pull_back, inner = cache
    return pull_back(dout, inner)


def _rows(x):
    return x if x.ndim == 2 else x.reshape(x.shape[0] * x.shape[1], x.shape[2])
