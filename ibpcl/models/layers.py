r"""Network layers: the interface of a layer, plain layers, and layers with Gaussian weights.

Whatever its kind, a layer of shape (D, K) provides

* its **entries** in the parameter vector (:meth:`Layer.entries`),
* the **noise** that one pass draws (:meth:`Layer.noise`),
* the **forward** pass (:meth:`Layer.forward`) and the **backward** pass
  (:meth:`Layer.forward_vjp`).

Other kinds of layers are :class:`ibpcl.models.masked.Masked`, whose weights are switched by an
Indian buffet process, :class:`ibpcl.models.gated.Gated` and :class:`ibpcl.models.units.Units`.

A network is a sequence of stages.  A layer is a stage by itself; the others are described in
:mod:`ibpcl.models.stage`.

A layer holds no parameters.  It reads them from ``views``, the nested dictionary that
:meth:`ibpcl.models.parameters.Layout.layers` makes of the flat parameter vector:
``views[layer][parameter]`` is an array.
"""

from dataclasses import dataclass, field
from math import prod
from typing import ClassVar, NamedTuple

import numpy as np

from ibpcl.models.parameters import Entry

ACTIVATIONS = ("relu", "leaky_relu", "softplus", "tanh")
GAUSSIAN = ("weight.mu", "weight.log_sigma", "bias.mu", "bias.log_sigma")


class Pass(NamedTuple):
    """Options of one pass through a network.

    Attributes
    ----------
    backend : ibpcl.inference.backend.Backend
        The functions that compute, compiled or NumPy.
    masks : dict of str to ndarray of bool, shape (D, K), or None
        Hard masks by layer; a layer that is missing from the dictionary has no mask.  None means
        that all masks are sampled.
    tau : float or None
        Temperature of the relaxed masks, > 0; None if no masks are sampled.  A layer of
        :class:`ibpcl.models.gated.Gated` has the scale 1 / tau.  At 0, a layer of
        :class:`ibpcl.models.units.Units` draws binary masks, without a gradient.
    scale : float
        Number of examples of the task for which each example of the minibatch counts, N / batch.
    draw : ibpcl.models.binary.Binary, ibpcl.models.binary.Conditional or None
        What draws sampled masks, if they are not relaxed; see :mod:`ibpcl.models.binary`.
    targets : ndarray or None
        Targets of the minibatch, for a network whose forward pass reads labels
        (:mod:`ibpcl.models.class_codes`).
    """

    backend: object
    masks: dict | None = None
    tau: float | None = None
    scale: float = 1.0
    draw: object = None
    targets: np.ndarray | None = None


class Draw(NamedTuple):
    """One array of noise that a layer asks for.

    Attributes
    ----------
    kind : {"normal", "uniform", "logistic"}
        Distribution of the noise, a function of :mod:`ibpcl.noise`.
    key : ibpcl.noise.Key
        Key that determines the noise.
    shape : tuple of int
        Shape of the array.
    """

    kind: str
    key: object
    shape: tuple


class Kept(NamedTuple):
    """Cache of a layer with masks; exactly one of the fields is set.

    Attributes
    ----------
    given : tuple or None
        With given masks: the cache of a :class:`Gaussian` layer.
    sampled : tuple or None
        With sampled masks: the ``SampledPass`` of the layer's module.
    drawn : ibpcl.models.binary.MaskedPass or None
        With masks from ``Pass.draw``: the cache of :mod:`ibpcl.models.binary`.
    """

    given: tuple | None = None
    sampled: tuple | None = None
    drawn: tuple | None = None


class DrawnPass(NamedTuple):
    """Cache of a layer that draws its weights, by the function that left it.

    Attributes
    ----------
    weight : tuple
        Cache of the draw of the weights.
    bias : tuple
        Cache of the draw of the biases.
    mask : ndarray of bool, shape (D, K), or None
        Given mask of the weights.
    evaluated : LinearPass or ConvolvedPass
        Cache of the linear map and the activation.
    backend : ibpcl.inference.backend.Backend
        The functions that computed.
    """

    weight: tuple
    bias: tuple
    mask: object
    evaluated: tuple
    backend: object


class Images(NamedTuple):
    """Images in place of rows of inputs, for a layer whose weights are the filters of a kernel.

    Attributes
    ----------
    pixels : ndarray, shape (S, N, H, W, D) or (N, H, W, D)
        The images; (N, H, W, D) if all samples share them.
    kernel : tuple of int
        Shape (I, J) of the kernel.
    stride : int
        Step from one position of the kernel to the next.
    padding : int
        Rows and columns of zeros around the image.
    window : int
        Size of the windows whose largest number is kept; 1 keeps all numbers.
    """

    pixels: np.ndarray
    kernel: tuple[int, int]
    stride: int
    padding: int
    window: int


class LinearPass(NamedTuple):
    """Cache of a linear map of rows and its activation.

    Attributes
    ----------
    linear : tuple
        Cache of the linear map.
    activation : tuple or None
        Cache of the activation; None for a layer without one.
    backend : ibpcl.inference.backend.Backend
        The functions that computed.
    """

    linear: tuple
    activation: tuple | None
    backend: object


class ConvolvedPass(NamedTuple):
    """Cache of a convolution of images, its activation and its pool.

    Attributes
    ----------
    inner : tuple
        Cache of :func:`ibpcl.primitives.pooled_convolution.apply`.
    outputs : tuple of int
        Shape (S, N, H'', W'', K) of the outputs.
    weights : tuple of int
        Shape (S, I J D, K) of the weights.
    backend : ibpcl.inference.backend.Backend
        The functions that computed.
    """

    inner: tuple
    outputs: tuple
    weights: tuple
    backend: object


@dataclass(frozen=True)
class Layer:
    """Base class of all layers: a map from D inputs to K units.

    Subclasses define :meth:`entries`, :meth:`forward` and :meth:`forward_vjp`, and :meth:`noise` if
    they draw any.

    Parameters
    ----------
    name : str
        Name of the layer in the parameter vector, without a dot.
    inputs : int
        Number of inputs D.
    units : int
        Number of units K.
    activation : {"relu", "leaky_relu", "softplus", "tanh"}, optional
        Activation function of the outputs.  By default there is none, as in the last layer of a
        network.
    positions : int
        Number of rows of inputs that each example has: 1, or the positions of a kernel in an image,
        see :mod:`ibpcl.models.convolution`.  The layer then evaluates N times as many rows.
    row_groups : int
        Number of groups of inputs that grow with the units of the layer before, one row each: 1, or
        the positions of a kernel in a convolution, or those of the images that a dense layer reads.

    Attributes
    ----------
    streams : int
        Class attribute: how many noise streams are reserved for a layer of this kind.

    Raises
    ------
    ValueError
        If ``activation`` is not one of the four names.
    """

    name: str
    inputs: int
    units: int
    activation: str | None = None
    positions: int = field(default=1, kw_only=True)
    row_groups: int = field(default=1, kw_only=True)

    streams: ClassVar[int] = 4

    def __post_init__(self):
        if self.activation is not None and self.activation not in ACTIVATIONS:
            raise ValueError(
                f"layers: activation must be one of {', '.join(ACTIVATIONS)}, got "
                f"{self.activation!r}"
            )

    @property
    def shape(self):
        """Shape (D, K) of the weights."""
        return self.inputs, self.units

    @property
    def layers(self):
        """The layer itself, as a tuple of one element."""
        return (self,)

    def with_layers(self, layers):
        """Return the stage with other layers in place of its own.

        Parameters
        ----------
        layers : dict of str to Layer
            Layers by name.

        Returns
        -------
        stage : Layer
            The layer of the same name.
        """
        return layers[self.name]

    def reads_images(self, options):
        """Return whether :meth:`forward` takes :class:`Images`, or only rows of inputs.

        Parameters
        ----------
        options : Pass
            Options of the pass.

        Returns
        -------
        reads : bool
            True if the layer multiplies its inputs by weights that all positions of an image share,
            so that :func:`evaluate` does the work.
        """
        return False

    def entries(self):
        """Return the layer's entries in the parameter vector, a list of ``Entry``."""
        raise NotImplementedError

    def noise(self, key, samples, batch, relaxed):
        """Return the noise that a pass draws.

        Parameters
        ----------
        key : ibpcl.noise.Key
            Key of the layer's noise.  The layer may use its stream and the following ones,
            ``streams`` in all.
        samples : int
            Number of Monte Carlo samples S.
        batch : int
            Number of examples N.
        relaxed : bool
            True if masks are sampled, False if they are given.

        Returns
        -------
        draws : dict of str to Draw
            The arrays to draw, by their name in the layer; empty for a layer without noise.
        """
        return {}

    def forward(self, views, x, noise, options):
        """Evaluate the layer.

        Parameters
        ----------
        views : dict of str to dict
            Parameters of all layers: ``views[layer][parameter]`` is an array.
        x : ndarray, shape (S, N, D) or (N, D)
            Inputs; (N, D) if all samples share them.
        noise : dict of str to dict
            Noise of all layers: ``noise[layer][name]`` is an array, as declared by :meth:`noise`.
        options : Pass
            Backend, masks, temperature and scale.

        Returns
        -------
        out : tuple
            The outputs, shape (S, N, K), or (N, K) if nothing has been sampled yet; and a dict of
            KL divergences by name, each of shape (S,), in nats for the whole task.
        cache : tuple
            Input of :meth:`forward_vjp`.
        """
        raise NotImplementedError

    def forward_vjp(self, dout, cache, needs_dx=True):
        """Pull the gradients at outputs and divergences back to inputs and parameters.

        Parameters
        ----------
        dout : tuple
            Gradient at the outputs, of their shape, and a dict of gradients at the divergences,
            (S,) each.
        cache : tuple
            From :meth:`forward`.
        needs_dx : bool
            Whether to compute the gradient at the inputs.  The first layer of a network does not
            need it.

        Returns
        -------
        dx : ndarray or None
            Gradient at ``x``, of its shape; None if ``needs_dx`` is False.
        gradients : dict of str to dict
            Gradients of the parameters, ``gradients[layer][parameter]``.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Plain(Layer):
    r"""Layer whose weights are plain numbers: :math:`h = f(x W + b)`.

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
        Number of rows of inputs that each example has, as in :class:`Layer`.
    row_groups : int
        Number of groups of inputs, as in :class:`Layer`.
    """

    def reads_images(self, options):
        """Return True: all positions of an image share the weights.

        Parameters
        ----------
        options : Pass
            Options of the pass.

        Returns
        -------
        reads : bool
            True.
        """
        return True

    def entries(self):
        """Return the entries ``weight.mu`` (D, K) and ``bias.mu`` (K,).

        The names are those of the means of a Gaussian layer, because a number is its own mean.
        """
        return [
            Entry(f"{self.name}.weight.mu", self.shape, "plain", self.row_groups),
            Entry(f"{self.name}.bias.mu", self.shape[1:], "plain"),
        ]

    def forward(self, views, x, noise, options):
        """Evaluate the layer; it draws nothing.

        Parameters
        ----------
        views : dict of str to dict
            Parameters of all layers: ``views[layer][parameter]`` is an array.
        x : ndarray, shape (S, N, D) or (N, D)
            Inputs; (N, D) if all samples share them.
        noise : dict of str to dict
            Not used.
        options : Pass
            Only its backend is used.

        Returns
        -------
        out : tuple
            The outputs, shape (S, N, K) or (N, K) like ``x``, and an empty dict of divergences.
        cache : tuple
            Input of :meth:`forward_vjp`.
        """
        # all samples share one weight matrix, so their axis is joined with that of the examples
        parameters = views[self.name]
        inputs = x.pixels if isinstance(x, Images) else x
        leading = inputs.shape[: inputs.ndim - (3 if isinstance(x, Images) else 1)]
        joined = inputs.reshape(prod(leading), *inputs.shape[len(leading) :])
        h, cache = evaluate(
            x._replace(pixels=joined) if isinstance(x, Images) else joined,
            parameters["weight.mu"][None],
            parameters["bias.mu"][None],
            self.activation,
            options.backend,
        )
        return (h.reshape(*leading, h.shape[-1]), {}), (cache, inputs.shape)

    def forward_vjp(self, dout, cache, needs_dx=True):
        """Pull the gradient at the outputs back to the inputs and parameters.

        Parameters
        ----------
        dout : tuple
            Gradient at the outputs, of their shape, and a dict that is not used.
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
        evaluated, shape = cache
        dh = dout[0].reshape(1, -1, dout[0].shape[-1])
        dx, dweight, dbias = evaluate_vjp(dh, evaluated, needs_dx)
        return dx.reshape(shape) if needs_dx else None, {
            self.name: {"weight.mu": dweight[0], "bias.mu": dbias[0]}
        }


@dataclass(frozen=True)
class Gaussian(Layer):
    r"""Layer with Gaussian weights, sampled with the local reparameterization trick.

    Instead of the weights, the pre-activations a are sampled.  Each example thereby has its own
    weights:

    .. math:: h = f(a), \quad a \sim \mathcal N\bigl(x (B \odot \mu) + u \odot \mu_b,\;
              x^2 (B \odot \sigma^2) + u \odot \sigma_b^2\bigr), \qquad u_k = \max_d B_{dk}

    The hard mask B is optional; without one, B = 1.  Kumar et al. (2021), Sec. 4.5, "Selective
    Finetuning"; Kingma, Salimans and Welling (2015), Eq. 6.

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
        Number of rows of inputs that each example has, as in :class:`Layer`.
    row_groups : int
        Number of groups of inputs, as in :class:`Layer`.
    local : bool
        Whether pre-activations are sampled.  If False, weights are sampled, one set per sample for
        all examples, as in :class:`Drawn`.
    """

    local: bool = field(default=True, kw_only=True)

    @property
    def weights(self):
        """Shape of the weights' means in the parameter vector."""
        return self.shape

    def reads_images(self, options):
        """Return whether weights are drawn, so that all positions of an image share them.

        Parameters
        ----------
        options : Pass
            Options of the pass.

        Returns
        -------
        reads : bool
            False if pre-activations are sampled.
        """
        return not self.local

    def entries(self):
        """Return the entries of the weights (D, K) and biases (K,).

        Each has a mean, ``.mu``, and a log standard deviation, ``.log_sigma``.
        """
        return [
            Entry(
                f"{self.name}.{side}.{part}",
                self.weights if side == "weight" else self.shape[1:],
                part,
                self.row_groups if side == "weight" else 1,
            )
            for part in ("mu", "log_sigma")
            for side in ("weight", "bias")
        ]

    def noise(self, key, samples, batch, relaxed):
        """Return the noise that a pass draws: one normal number per pre-activation, or per weight.

        Parameters
        ----------
        key : ibpcl.noise.Key
            Key of the layer's noise; only its own stream is used, or that of the weights and the
            next one for the biases.
        samples : int
            Number of Monte Carlo samples S.
        batch : int
            Number of examples N.
        relaxed : bool
            Not used: the layer samples no masks.

        Returns
        -------
        draws : dict of str to Draw
            ``eps``, normal, shape (S, N, K).  If not ``local``: ``weight``, in the shape of the
            weights behind S, and ``bias``, shape (S, K), both normal.
        """
        if self.local:
            return {"eps": Draw("normal", key, (samples, batch * self.positions, self.units))}
        return {
            "weight": Draw("normal", key, (samples, *self.weights)),
            "bias": Draw("normal", key._replace(stream=key.stream + 1), (samples, self.units)),
        }

    def forward(self, views, x, noise, options):
        """Sample the outputs, under the layer's hard mask if it has one.

        Parameters
        ----------
        views : dict of str to dict
            Parameters of all layers: ``views[layer][parameter]`` is an array.
        x : ndarray, shape (S, N, D) or (N, D)
            Inputs; (N, D) if all samples share them.
        noise : dict of str to dict
            Noise of all layers: ``noise[layer][name]`` is an array, as declared by :meth:`noise`.
        options : Pass
            Its backend, and the mask of this layer in its ``masks``, are used.

        Returns
        -------
        out : tuple
            The outputs, shape (S, N, K), and an empty dict of divergences.
        cache : tuple
            Input of :meth:`forward_vjp`.
        """
        parameters = views[self.name]
        mask = (options.masks or {}).get(self.name)
        if not self.local:
            return self._forward_drawn(parameters, x, noise[self.name], mask, options.backend)
        eps = noise[self.name]["eps"]
        means_and_scales = (parameters[name] for name in GAUSSIAN)
        h, cache = options.backend.local_linear.sample(
            eps, x, *means_and_scales, mask, self.activation
        )
        return (h, {}), (cache, options.backend)

    def _forward_drawn(self, parameters, x, drawn, mask, backend):
        """Draw weights and biases, put the weights where the mask is on, and evaluate the layer."""
        weight, weight_cache = backend.gaussian.sample(
            drawn["weight"], parameters["weight.mu"], parameters["weight.log_sigma"]
        )
        bias, bias_cache = backend.gaussian.sample(
            drawn["bias"], parameters["bias.mu"], parameters["bias.log_sigma"]
        )
        if mask is not None:
            weight = _put(weight, mask)
            bias = bias * mask.any(axis=0)
        h, evaluated = evaluate(x, weight, bias, self.activation, backend)
        return (h, {}), DrawnPass(weight_cache, bias_cache, mask, evaluated, backend)

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
        if not self.local:
            return self._forward_drawn_vjp(dout[0], cache, needs_dx)
        inner, backend = cache
        dx, *gradients = backend.local_linear.sample_vjp(dout[0], inner, needs_dx)
        return dx, {self.name: dict(zip(GAUSSIAN, gradients, strict=True))}

    def _forward_drawn_vjp(self, dh, cache, needs_dx):
        dx, dweight, dbias = evaluate_vjp(dh, cache.evaluated, needs_dx)
        if cache.mask is not None:
            dweight = dweight[:, cache.mask] if len(self.weights) == 1 else dweight * cache.mask
            dbias = dbias * cache.mask.any(axis=0)
        gradients = (
            *cache.backend.gaussian.sample_vjp(dweight, cache.weight),
            *cache.backend.gaussian.sample_vjp(dbias, cache.bias),
        )
        return dx, {self.name: dict(zip(GAUSSIAN, gradients, strict=True))}


@dataclass(frozen=True)
class Drawn(Gaussian):
    r"""Layer with Gaussian weights that are sampled directly, one set per sample for all examples.

    .. math:: h^s = f(x V^s + b^s), \qquad V^s = \mu + \sigma \varepsilon^s

    Blundell, Cornebise, Kavukcuoglu and Wierstra (2015), "Weight Uncertainty in Neural Networks",
    Eq. 2.  It is a :class:`Gaussian` layer with ``local=False``.

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
        Number of rows of inputs that each example has, as in :class:`Layer`.
    row_groups : int
        Number of groups of inputs, as in :class:`Layer`.
    local : bool
        Whether pre-activations are sampled instead; False by default.
    """

    local: bool = field(default=False, kw_only=True)

    streams: ClassVar[int] = 2


def _put(weight, mask):
    """Return weights (S, D, K) under a mask, from all weights or from the kept ones (S, M)."""
    if weight.ndim == 3:
        return weight * mask
    placed = np.zeros((len(weight), *mask.shape), weight.dtype)
    placed[:, mask] = weight
    return placed


def activate(name, h, backend):
    """Apply an activation function, given by name.

    Parameters
    ----------
    name : {"relu", "leaky_relu", "softplus", "tanh"} or None
        The function in :mod:`ibpcl.primitives.activations`; None for the identity.
    h : ndarray
        Pre-activations, of any shape.
    backend : ibpcl.inference.backend.Backend
        The functions that compute.

    Returns
    -------
    out : ndarray
        Activations, of the shape of ``h``.
    cache : tuple or None
        Input of :func:`activate_vjp`.
    """
    if name is None:
        return h, None
    out, cache = getattr(backend.activations, name)(h)
    return out, (getattr(backend.activations, name + "_vjp"), cache)


def activate_vjp(dout, cache):
    """Pull the gradient at the activations back to the pre-activations, given the cache."""
    if cache is None:
        return dout
    pull_back, inner = cache
    return pull_back(dout, inner)


def evaluate(x, w, b, activation, backend):
    """Multiply inputs by the weights of each sample, add the biases, and apply the activation.

    Parameters
    ----------
    x : ndarray, shape (S, N, D) or (N, D), or Images
        Inputs; without the axis of samples if all of them share the inputs.  For images, the
        weights are the filters, and the outputs are pooled.
    w : ndarray, shape (S, D, K)
        Weights; D = I J C for images with C channels.
    b : ndarray, shape (S, K)
        Biases.
    activation : {"relu", "leaky_relu", "softplus", "tanh"} or None
        Activation function.
    backend : ibpcl.inference.backend.Backend
        The functions that compute.

    Returns
    -------
    h : ndarray, shape (S, N, K) or (S, N, H'' W'' K)
        The outputs; flat images for images.
    cache : LinearPass or ConvolvedPass
        Input of :func:`evaluate_vjp`.
    """
    if not isinstance(x, Images):
        h, linear_cache = backend.linear.apply(x, w, b)
        h, activation_cache = activate(activation, h, backend)
        return h, LinearPass(linear_cache, activation_cache, backend)
    filters = w.reshape(len(w), *x.kernel, x.pixels.shape[-1], w.shape[-1])
    h, inner = backend.pooled_convolution.apply(
        x.pixels, filters, b, x.stride, x.padding, activation, x.window
    )
    flat = h.reshape(*h.shape[:2], prod(h.shape[2:]))
    return flat, ConvolvedPass(inner, h.shape, w.shape, backend)


def evaluate_vjp(dh, cache, needs_dx=True):
    """Pull the gradient at the outputs back to inputs, weights and biases.

    The gradient at images has the axes of their pixels.  With ``needs_dx=False`` it is None.
    """
    if isinstance(cache, LinearPass):
        dh = activate_vjp(dh, cache.activation)
        return cache.backend.linear.apply_vjp(dh, cache.linear, needs_dx)
    dx, dw, db = cache.backend.pooled_convolution.apply_vjp(
        dh.reshape(cache.outputs), cache.inner, needs_dx
    )
    return dx, dw.reshape(cache.weights), db
