r"""Convolutional stages of a network: a layer that reads patches, and pooling.

A convolution is a linear layer that is evaluated at every position of an image.  So every kind of
layer becomes a convolution.  A layer whose weights are plain or drawn gets the images and convolves
them with its weights (:func:`ibpcl.models.layers.evaluate`).  For any other layer,
:class:`Convolution` cuts the patches, hands them to the layer as if they were examples, and puts
the outputs together.  Weights, masks, sticks and their divergences are those of the layer.  Its
rows are the entries (i, j, d) of the kernel and its columns the filters, so the Indian buffet
process is over the filters:

.. math:: W = B \odot V, \qquad B_{(ijd)k} \sim \mathrm{Bernoulli}(\pi_k), \qquad
          \pi_k = \prod_{i \le k} v_i

One mask may also be shared by the kernel from one channel to one filter, as in the authors' second
code, or by a whole filter: see :data:`SHARING` and :mod:`ibpcl.primitives.masked_convolution`.

With sampled masks, weights are drawn, one set per sample: all positions share them.  With given
masks, weights are drawn too, unless ``local=True`` asks for pre-activations, each position with its
own noise.  This drops the covariance of the positions: it is exact for a single position only, see
:mod:`ibpcl.primitives.local_convolution`.

Images are flat between the stages: (H, W, D) in the order of the array, D last.  So likelihoods,
heads, data and prediction need not know of images.
"""

from dataclasses import dataclass, replace
from math import prod

import numpy as np

from ibpcl.models.correlated import LowRank
from ibpcl.models.layers import Gaussian, Images, Layer
from ibpcl.models.masked import Masked
from ibpcl.models.stage import Stage
from ibpcl.primitives import convolution

# Which weights of a convolution share a mask: how many, given the shape (I, J, D) of a patch.
SHARING = {
    "weight": lambda patch: 1,
    "pair": lambda patch: prod(patch[:2]),
    "filter": prod,
}
POOLS = {"max": "max_pool2d", "mean": "mean_pool2d"}  # functions of ibpcl.primitives.pooling


def _images(x, shape):
    """Return flat images (..., H W D) as images (..., H, W, D)."""
    return x.reshape(*x.shape[:-1], *shape)


def _flat(images):
    """Return images (..., H, W, D) as flat images."""
    return images.reshape(*images.shape[:-3], prod(images.shape[-3:]))


@dataclass(frozen=True)
class Convolution(Stage):
    """A layer that reads the patches of images.

    Parameters
    ----------
    layer : ibpcl.models.layers.Layer
        Layer of shape (I J D, K), with ``positions`` H' W'; :func:`of_kind` makes it.
    image : tuple of int
        Shape (H, W, D) of the images that are read.
    kernel : tuple of int
        Shape (I, J) of the kernel.
    stride : int
        Step from one position of the kernel to the next.
    padding : int
        Rows and columns of zeros around the image.
    window : int
        Size of the windows whose largest number is kept, after the activation; 1, the default,
        keeps all numbers.

    Raises
    ------
    ValueError
        If the kernel does not fit into the padded image, the window not into the outputs, or the
        layer's shape not to the kernel.
    """

    layer: Layer
    image: tuple[int, int, int]
    kernel: tuple[int, int]
    stride: int = 1
    padding: int = 0
    window: int = 1

    def __post_init__(self):
        rows, columns, _ = self.convolved
        convolution.positions(min(rows, columns), self.window, name="window of a pool")
        expected = (prod(self.kernel) * self.image[2], rows * columns)
        given = (self.layer.inputs, self.layer.positions)
        if given != expected:
            raise ValueError(
                f"convolution: layer must have {expected[0]} inputs, the size of a patch, and "
                f"{expected[1]} positions, got {given[0]} and {given[1]}"
            )

    @property
    def name(self):
        """Name of the layer."""
        return self.layer.name

    @property
    def layers(self):
        """The layer, as a tuple of one element."""
        return (self.layer,)

    @property
    def convolved(self):
        """Shape (H', W', K) of the images before the largest number of each window is kept."""
        down, across = (
            convolution.positions(size, window, self.stride, self.padding, name)
            for size, window, name in zip(
                self.image, self.kernel, ("height", "width"), strict=False
            )
        )
        return down, across, self.layer.units

    @property
    def outputs(self):
        """Shape (H'', W'', K) of the images that are returned."""
        rows, columns, units = self.convolved
        return rows // self.window, columns // self.window, units

    @property
    def inputs(self):
        """Number H W D of inputs."""
        return prod(self.image)

    @property
    def units(self):
        """Number H'' W'' K of outputs."""
        return prod(self.outputs)

    def with_layers(self, layers):
        """Return the stage with another layer of the same name.

        Parameters
        ----------
        layers : dict of str to ibpcl.models.layers.Layer
            Layers by name.

        Returns
        -------
        stage : Convolution
            The new stage.
        """
        return replace(self, layer=layers[self.name])

    def forward(self, views, x, noise, options):
        r"""Convolve flat images: :math:`h = f(\operatorname{conv}(x, B \odot V) + u \odot b)`.

        Parameters
        ----------
        views : dict of str to dict
            Parameters of all layers: ``views[layer][parameter]`` is an array.
        x : ndarray, shape (S, N, H W D) or (N, H W D)
            Flat images; (N, H W D) if all samples share them.
        noise : dict of str to dict
            Noise of all layers, as declared by them.
        options : ibpcl.models.layers.Pass
            Backend, masks, temperature and scale.

        Returns
        -------
        out : tuple
            The outputs, shape (S, N, H'' W'' K), or (N, H'' W'' K) if nothing has been sampled
            yet; and the divergences of the layer.
        cache : tuple
            Input of :meth:`forward_vjp`.

        Raises
        ------
        ValueError
            If the images have another size.
        """
        if x.shape[-1] != self.inputs:
            raise ValueError(
                f"convolution: layer {self.name!r} must get images of "
                f"{' x '.join(map(str, self.image))} = {self.inputs} numbers, got {x.shape[-1]}"
            )
        pixels = _images(x, self.image)
        if self.layer.reads_images(options):
            images = Images(pixels, self.kernel, self.stride, self.padding, self.window)
            out, cache = self.layer.forward(views, images, noise, options)
            return out, (None, x.shape, cache)
        cutting = options.backend.convolution
        patches, patches_cache = cutting.patches(pixels, *self.kernel, self.stride, self.padding)
        rows = convolution.one_axis(patches)
        (h, divergences), cache = self.layer.forward(views, rows, noise, options)
        h = h.reshape(*h.shape[:-2], x.shape[-2], *self.convolved)
        h, pool_cache = options.backend.pooling.max_pool2d(h, self.window)
        back = (cutting.patches_vjp, patches_cache, patches.shape, options.backend, pool_cache)
        return (np.ascontiguousarray(_flat(h)), divergences), (back, x.shape, cache)

    def forward_vjp(self, dout, cache, needs_dx=True):
        """Pull the gradients at outputs and divergences back to images and parameters.

        Parameters
        ----------
        dout : tuple
            Gradient at the outputs, of their shape, and a dict of gradients at the divergences,
            (S,) each.
        cache : tuple
            From :meth:`forward`.
        needs_dx : bool
            Whether to compute the gradient at the images.

        Returns
        -------
        dx : ndarray or None
            Gradient at ``x``, of its shape; None if ``needs_dx`` is False.
        gradients : dict of str to dict
            Gradients of the parameters, ``gradients[layer][parameter]``.
        """
        back, shape, inner = cache
        if back is None:
            dx, gradients = self.layer.forward_vjp(dout, inner, needs_dx)
            return dx.reshape(shape) if needs_dx else None, gradients
        patches_vjp, patches_cache, patches_shape, backend, pool_cache = back
        dh, ddivergences = dout
        dh = backend.pooling.max_pool2d_vjp(_images(dh, self.outputs), pool_cache)
        dpatches, gradients = self.layer.forward_vjp(
            (convolution.one_axis(dh), ddivergences), inner, needs_dx
        )
        if not needs_dx:
            return None, gradients
        dimages = patches_vjp(dpatches.reshape(patches_shape), patches_cache)
        return dimages.reshape(shape), gradients


def of_kind(
    kind,
    name,
    image,
    filters,
    kernel=(3, 3),
    stride=1,
    padding=0,
    activation="relu",
    masks="weight",
    window=1,
    **options,
):
    """Return a convolution whose layer has a given kind.

    Layers with Gaussian weights draw them, unless the kernel has a single position or ``local`` is
    given.

    Parameters
    ----------
    kind : type
        Class of the layer, such as :class:`ibpcl.models.masked.Masked`.
    name : str
        Name of the layer in the parameter vector, without a dot.
    image : tuple of int
        Shape (H, W, D) of the images that are read.
    filters : int
        Number K of filters, at least 1.
    kernel : tuple of int
        Shape (I, J) of the kernel.
    stride : int
        Step from one position of the kernel to the next.
    padding : int
        Rows and columns of zeros around the image.
    activation : {"relu", "leaky_relu", "softplus", "tanh"} or None
        Activation function.
    masks : {"weight", "pair", "filter"}
        Which weights share a mask, in a masked layer.
    window : int
        Size of the windows whose largest number is kept; 1 keeps all numbers.
    **options
        Further arguments of ``kind``, such as ``model`` or ``local``.

    Returns
    -------
    stage : Convolution
        The stage.

    Raises
    ------
    ValueError
        If a size is impossible, or ``masks`` is unknown.

    Examples
    --------
    >>> stage = of_kind(Masked, "conv0", (28, 28, 1), 16, masks="pair")
    >>> stage.outputs, stage.layer.shape, stage.layer.mask_shape
    ((26, 26, 16), (9, 16), (1, 16))
    """
    if len(image) != 3 or min(image) < 1 or len(kernel) != 2 or filters < 1:
        raise ValueError(
            "convolution: image must have the shape (H, W, D), kernel the shape (I, J), and "
            f"filters be at least 1, got {tuple(image)}, {tuple(kernel)} and {filters}"
        )
    if masks not in SHARING:
        raise ValueError(f"convolution: masks must be one of {', '.join(SHARING)}, got {masks!r}")
    patch = (*kernel, image[2])
    options["row_groups"] = prod(kernel)
    if issubclass(kind, Masked):
        options["sharing"] = SHARING[masks](patch)
    positions = prod(
        convolution.positions(size, window, stride, padding, f"{side} of the kernel")
        for size, window, side in zip(image, kernel, ("height", "width"), strict=False)
    )
    if kind in (Gaussian, Masked, LowRank):
        options.setdefault("local", positions == 1)
    layer = kind(name, prod(patch), filters, activation, positions=positions, **options)
    return Convolution(layer, tuple(image), tuple(kernel), stride, padding, window)


@dataclass(frozen=True)
class Pool(Stage):
    """A stage without parameters that pools images.

    Parameters
    ----------
    name : str
        Name of the stage, without a dot.
    image : tuple of int
        Shape (H, W, K) of the images that are read.
    window : int
        Size of the square windows, which do not overlap.
    kind : {"max", "mean"}
        The largest number of a window, or the mean.

    Raises
    ------
    ValueError
        If the window does not fit into the image, or ``kind`` is unknown.
    """

    name: str
    image: tuple[int, int, int]
    window: int
    kind: str = "max"

    def __post_init__(self):
        if self.kind not in POOLS:
            raise ValueError(f"pool: kind must be one of {', '.join(POOLS)}, got {self.kind!r}")
        convolution.positions(min(self.image[:2]), self.window, name="window of a pool")

    @property
    def outputs(self):
        """Shape (H', W', K) of the images that are returned."""
        rows, columns, units = self.image
        return rows // self.window, columns // self.window, units

    @property
    def inputs(self):
        """Number H W K of inputs."""
        return prod(self.image)

    @property
    def units(self):
        """Number H' W' K of outputs."""
        return prod(self.outputs)

    def forward(self, views, x, noise, options):
        """Pool flat images.

        Parameters
        ----------
        views : dict of str to dict
            Not used.
        x : ndarray, shape (S, N, H W K) or (N, H W K)
            Flat images.
        noise : dict of str to dict
            Not used.
        options : ibpcl.models.layers.Pass
            Its backend computes.

        Returns
        -------
        out : tuple
            The outputs, shape (S, N, H' W' K) or (N, H' W' K) like ``x``, and an empty dict.
        cache : tuple
            Input of :meth:`forward_vjp`.
        """
        pooling = options.backend.pooling
        h, cache = getattr(pooling, POOLS[self.kind])(_images(x, self.image), self.window)
        pool_vjp = getattr(pooling, f"{POOLS[self.kind]}_vjp")
        return (np.ascontiguousarray(_flat(h)), {}), (pool_vjp, cache)

    def forward_vjp(self, dout, cache, needs_dx=True):
        """Pull the gradient at the outputs back to the images.

        Parameters
        ----------
        dout : tuple
            Gradient at the outputs, of their shape, and a dict that is not used.
        cache : tuple
            From :meth:`forward`.
        needs_dx : bool
            Whether to compute the gradient at the images.

        Returns
        -------
        dx : ndarray or None
            Gradient at ``x``, of its shape; None if ``needs_dx`` is False.
        gradients : dict
            Empty.
        """
        if not needs_dx:
            return None, {}
        pool_vjp, inner = cache
        return _flat(pool_vjp(_images(dout[0], self.outputs), inner)), {}


@dataclass(frozen=True)
class LayerNorm(Stage):
    r"""A stage without parameters that normalizes the activations of each example.

    .. math:: y = \frac{h - m}{\sqrt{v + \epsilon}}

    with mean m and variance v over the positions and channels of one example
    (:func:`ibpcl.primitives.normalization.layer_norm`).  It has neither gain nor shift: the weights
    and biases of the next layer do their work, and no parameter is shared by all tasks without a
    mask.  No statistics of other examples are kept, so a later task cannot change the outputs of an
    earlier one.

    Parameters
    ----------
    name : str
        Name of the stage, without a dot.
    image : tuple of int
        Shape (H, W, K) of the images that are read.
    """

    name: str
    image: tuple[int, int, int]

    @property
    def outputs(self):
        """Shape (H, W, K) of the images that are returned."""
        return self.image

    @property
    def inputs(self):
        """Number H W K of inputs."""
        return prod(self.image)

    @property
    def units(self):
        """Number H W K of outputs."""
        return prod(self.image)

    def forward(self, views, x, noise, options):
        """Normalize flat images.

        Parameters
        ----------
        views : dict of str to dict
            Not used.
        x : ndarray, shape (S, N, H W K) or (N, H W K)
            Flat images.
        noise : dict of str to dict
            Not used.
        options : ibpcl.models.layers.Pass
            Its backend computes.

        Returns
        -------
        out : tuple
            The outputs, of the shape of ``x``, and an empty dict.
        cache : tuple
            Input of :meth:`forward_vjp`.
        """
        normalization = options.backend.normalization
        channels = self.image[2]
        samples = x if x.ndim == 3 else x[None]
        h, cache = normalization.layer_norm(
            _images(samples, self.image), np.ones(channels, x.dtype), np.zeros(channels, x.dtype)
        )
        return (h.reshape(x.shape), {}), (normalization.layer_norm_vjp, cache)

    def forward_vjp(self, dout, cache, needs_dx=True):
        """Pull the gradient at the outputs back to the images.

        Parameters
        ----------
        dout : tuple
            Gradient at the outputs, of their shape, and a dict that is not used.
        cache : tuple
            From :meth:`forward`.
        needs_dx : bool
            Whether to compute the gradient at the images.

        Returns
        -------
        dx : ndarray or None
            Gradient at ``x``, of its shape; None if ``needs_dx`` is False.
        gradients : dict
            Empty.
        """
        if not needs_dx:
            return None, {}
        norm_vjp, inner = cache
        dh = dout[0] if dout[0].ndim == 3 else dout[0][None]
        dx, _, _ = norm_vjp(_images(dh, self.image), inner)
        return dx.reshape(dout[0].shape), {}
