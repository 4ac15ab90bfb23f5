"""Networks from a line, such as ``"conv:16,32;dense:200"``.

The line has parts that are separated by semicolons, in the order of evaluation:

=====================  ==========================================================================
part                   stages
=====================  ==========================================================================
``image:28x28x1``      shape (H, W, D) of the inputs; by default a square with one channel
``masks:pair``         which weights of a convolution share a mask: ``weight``, ``pair``, ``filter``
``norm:layer``         each example is normalized after each convolution and its pool
``conv:16,32``         convolutions with these numbers of filters: a 3 x 3 kernel, padding 1, the
                       activation, and a pool of the largest of 2 x 2 numbers
``dense:200``          layers with these numbers of units
``blocks:3``           residual blocks of one layer each, with the width of the layer before
=====================  ==========================================================================

``image``, ``masks`` and ``norm`` may come first only.  There is no ``norm:batch``: its statistics
would have to be kept for each task, see :mod:`ibpcl.primitives.normalization`.  Convolutions come
before dense layers, and blocks after one of them.  A whole line may also be one of the names in
:data:`NAMED`: ``conv`` or ``resnet``.
"""

import re
from math import isqrt, prod
from typing import NamedTuple

from ibpcl.errors import UserError
from ibpcl.models.convolution import SHARING, LayerNorm, of_kind
from ibpcl.models.depth import Blocks
from ibpcl.models.layers import Gaussian
from ibpcl.models.masked import Masked
from ibpcl.models.network import Network
from ibpcl.options import option

KERNEL = 3  # the smallest kernel with a centre; with padding 1 it keeps the size of an image
WINDOW = 2
NORMS = ("layer",)
LAYERS = ("conv", "dense", "blocks")
NAMED = {"conv": "conv:16,32;dense:200", "resnet": "conv:16,32;dense:200;blocks:3"}


class Architecture(NamedTuple):
    """The parts of a line.

    Attributes
    ----------
    image : tuple of int or None
        Shape (H, W, D) of the inputs; None if the line does not say.
    masks : {"weight", "pair", "filter"}
        Which weights of a convolution share a mask.
    stages : tuple of tuple
        ``("conv", 16)``, ``("dense", 200)`` or ``("blocks", 3)``, in the order of evaluation.
    norm : {"", "layer"}
        Normalization after each convolution; none if empty.
    """

    image: tuple[int, int, int] | None
    masks: str
    stages: tuple
    norm: str = ""

    @property
    def masked(self):
        """Number of parts with masks in a masked network: layers, and the blocks' switches."""
        counts = {"conv": 1, "dense": 1}
        return sum(counts.get(kind, size + 1) for kind, size in self.stages)

    @property
    def widths(self):
        """Numbers of filters and units of the parts conv and dense; blocks have the last one."""
        return tuple(size for kind, size in self.stages if kind != "blocks")

    def resized(self, widths):
        """Return the parts with other numbers of filters and units.

        Parameters
        ----------
        widths : sequence of int
            One number for each element of ``widths``.

        Returns
        -------
        architecture : Architecture
            The new parts.

        Examples
        --------
        >>> parse("conv:4;dense:5;blocks:2").resized((6, 7)).stages
        (('conv', 6), ('dense', 7), ('blocks', 2))
        """
        following = iter(widths)
        stages = tuple(
            (kind, size if kind == "blocks" else next(following)) for kind, size in self.stages
        )
        return self._replace(stages=stages)

    @property
    def units(self):
        """Number of units of each layer before the head; of a convolution, that of filters."""
        units = []
        for kind, size in self.stages:
            units += [units[-1]] * size if kind == "blocks" else [size]
        return tuple(units)


def line_option():
    """Return the setting ``network`` of a method: a line in place of ``hidden``.

    Returns
    -------
    field : dataclasses.Field
        The field of a class of settings; :func:`parse` checks its value.
    """
    return option(
        "",
        "Network in place of the layers of hidden: conv, resnet, or a line such as "
        "conv:16,32;dense:200; see ibpcl.models.architecture.",
    )


def parse(line, owner=""):
    """Read a line that describes a network.

    Parameters
    ----------
    line : str
        The line, or a key of :data:`NAMED`.
    owner : str, optional
        Name of the method that has the line as a setting, for the message of an error.

    Returns
    -------
    architecture : Architecture
        Its parts.

    Raises
    ------
    UserError
        If a part is unknown, a size is not a whole number of at least 1, or the order is wrong.

    Examples
    --------
    >>> parse("conv:16,32;dense:200").stages
    (('conv', 16), ('conv', 32), ('dense', 200))
    """
    must_be = f"{owner}: network must be" if owner else "network must be"
    line = NAMED.get(line.strip(), line)
    image = None
    masks = "weight"
    norm = ""
    stages = []
    for part in filter(None, (each.strip() for each in line.split(";"))):
        kind, _, values = (each.strip() for each in part.partition(":"))
        sizes = re.findall(r"\d+", values)
        if kind == "image" and re.fullmatch(r"\d+x\d+x\d+", values) and not stages:
            image = tuple(map(int, sizes))
        elif kind == "masks" and values in SHARING and not stages:
            masks = values
        elif kind == "norm" and values in NORMS and not stages:
            norm = values
        elif kind in LAYERS and re.fullmatch(r"\d+( *, *\d+)*", values):
            stages += [(kind, int(size)) for size in sizes]
        else:
            raise UserError(
                f"{must_be} {' or '.join(NAMED)}, or made of image:HxWxD, "
                f"masks:{'|'.join(SHARING)} or norm:{'|'.join(NORMS)} at the "
                f"beginning, conv:K,..., dense:K,... and blocks:L, got {part!r}"
            )
    kinds = [kind for kind, _ in stages]
    if not stages or min(size for _, size in stages) < 1 or min(image or (1,)) < 1:
        raise UserError(f"{must_be} at least one layer, with sizes of at least 1, got {line!r}")
    if kinds != sorted(kinds, key=("conv", "dense", "blocks").index) or kinds.count("blocks") > 1:
        raise UserError(
            f"{must_be} in the order conv, dense, and at most one part of blocks, got "
            f"{', '.join(kinds)}"
        )
    if kinds[-1] == "blocks" and "dense" not in kinds:
        raise UserError(
            f"{must_be} given a dense layer before blocks, which sets their width, got {line!r}"
        )
    return Architecture(image, masks, tuple(stages), norm)


def from_line(
    inputs,
    line,
    likelihood,
    outputs,
    kind,
    activation="relu",
    head=Gaussian,
    widths=None,
    **options,
):
    """Return a network that a line describes, with a linear output layer, the head.

    Convolutions are called ``conv0``, ``conv1``, ..., dense layers ``hidden0``, ..., the layers of
    blocks ``block0``, ..., and the output layer ``head``.  Only blocks of masked layers have
    switches; all others are always on.

    Parameters
    ----------
    inputs : int
        Width of the inputs, flat images.
    line : str
        Description of the network, see the head of this module.
    likelihood : ibpcl.models.likelihoods.Likelihood
        Likelihood of the targets given the outputs.
    outputs : int
        Width C of the head, at least 1.
    kind : type
        Class of all layers but the head, such as :class:`ibpcl.models.masked.Masked`.
    activation : {"relu", "leaky_relu", "softplus", "tanh"}
        Activation function of all layers but the head.
    head : type
        Class of the head.
    widths : sequence of int, optional
        Numbers of filters and units in place of those of the line, for a network that has grown.
    **options
        Further arguments of ``kind``, such as ``model``.

    Returns
    -------
    network : ibpcl.models.network.Network
        The network.

    Raises
    ------
    UserError
        If the line cannot be read, or describes no network of these inputs.

    Examples
    --------
    >>> from ibpcl.models.likelihoods import Softmax
    >>> from ibpcl.models.masked import Masked
    >>> net = from_line(784, "conv:16,32;dense:200;blocks:2", Softmax(), 10, Masked)
    >>> {name: layer.shape for name, layer in net.layers.items()}["conv1"]
    (144, 32)
    >>> list(net.masked)
    ['conv0', 'conv1', 'hidden0', 'block0', 'block1', 'depth']
    """
    plan = parse(line) if widths is None else parse(line).resized(widths)
    image = _image(plan, inputs, line)
    width = inputs
    groups = 1  # positions of the images that the next layer reads, each with one input per filter
    stages = []
    for i, (part, size) in enumerate(plan.stages):
        number = sum(kind_before == part for kind_before, _ in plan.stages[:i])
        if part == "conv":
            if min(image[:2]) < WINDOW:
                raise UserError(
                    f"network: each convolution needs an image of at least {WINDOW} x {WINDOW}, "
                    f"for its pool, got {image[0]} x {image[1]} at conv{number} of {line!r}"
                )
            convolution = of_kind(
                kind,
                f"conv{number}",
                image,
                size,
                (KERNEL, KERNEL),
                padding=KERNEL // 2,
                activation=activation,
                masks=plan.masks,
                window=WINDOW,
                **options,
            )
            stages.append(convolution)
            if plan.norm:
                stages.append(LayerNorm(f"norm{number}", convolution.outputs))
            image = convolution.outputs
            groups = prod(image[:2])
        elif part == "dense":
            name = f"hidden{number}"
            stages.append(kind(name, width, size, activation, row_groups=groups, **options))
            groups = 1
        else:
            blocks = (kind(f"block{k}", width, width, activation, **options) for k in range(size))
            stages.append(Blocks(tuple(blocks), switched=issubclass(kind, Masked)))
        width = stages[-1].units
    last = head("head", width, outputs, row_groups=groups)
    return Network((*stages, last), likelihood)


def _image(plan, inputs, line):
    """Return the shape (H, W, D) of the inputs; only convolutions need it."""
    if plan.image is None:
        side = isqrt(inputs)
        if side * side != inputs and plan.stages[0][0] == "conv":
            raise UserError(
                f"network: conv needs the shape of the images, as {inputs} inputs are not a "
                f"square; begin the line with image:HxWxD, got {line!r}"
            )
        return side, side, 1
    if prod(plan.image) != inputs:
        raise UserError(
            f"network: image must have {inputs} numbers, as the inputs have, got "
            f"{'x'.join(map(str, plan.image))} = {prod(plan.image)}"
        )
    return plan.image
