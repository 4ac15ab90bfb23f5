"""The part of an autoencoder that a task can use: the idea of :mod:`ibpcl.models.packing`, for its layers.

Inputs that are zero in all images of a task send nothing to any unit; hidden units whose hard mask is empty output
zero.  The ELBO's maximum over the weights from and to them is known: they are at their prior, their masks' rho at 0.
All codes and all pixels stay.
"""

from dataclasses import replace

import numpy as np

from ibpcl.models.packing import ZERO_AT_ZERO, Part, cut, elements, live_inputs

# A part's ``units`` are those kept of the encoder's hidden layers, then of the decoder's.


def part(model, inputs, units=None, masks=None):
    """Cut out the part of an autoencoder with the given inputs and hidden units.

    Parameters
    ----------
    model : Autoencoder
        The network.
    inputs : ndarray of bool, shape (D,)
        Which inputs the encoder reads, at least one; pixels stay in the decoder.
    units : sequence of ndarray of bool, shape (K,), optional
        Which units to keep of each hidden layer, encoder first, at least one of each; all of them if not given.
    masks : dict of str to ndarray of bool, shape (D, K), optional
        Which weights of the masked layers to keep, of those between what is kept; then no parameters of masks.

    Returns
    -------
    part : ibpcl.models.packing.Part
        ``model`` has the smaller widths, and as many inputs as were kept.
    """
    widths = (*model.encoder, *model.decoder)
    units = tuple(np.ones(width, bool) for width in widths) if units is None else tuple(units)
    encoder, decoder = units[: len(model.encoder)], units[len(model.encoder):]
    sides = _sides(model, inputs, encoder, decoder)
    on = None if masks is None else cut(masks, sides)
    small = replace(model, encoder=tuple(int(unit.sum()) for unit in encoder),
                    decoder=tuple(int(unit.sum()) for unit in decoder), read=int(inputs.sum()),
                    kept=None if on is None else tuple(int(on[name].sum()) for name in model.of_kind("masked")))
    return Part(small, elements(model.layout, sides, on), inputs, units)


def _sides(model, inputs, encoder, decoder):
    """Return what is kept of the rows and columns of each layer, by name."""
    codes = np.ones(model.latent, bool)
    sides = {f"encoder{i}": side for i, side in enumerate(zip((inputs, *encoder), encoder, strict=False))}
    sides |= dict.fromkeys(("mean", "scale"), (encoder[-1], codes))
    sides |= {f"decoder{i}": side for i, side in enumerate(zip((codes, *decoder), decoder, strict=False))}
    return sides | {"pixels": (decoder[-1], np.ones(model.inputs, bool))}


def whole(model):
    """Return the part that is the whole network."""
    return part(model, np.ones(model.inputs, bool))


def masked_part(model, x):
    """Return the part that has to be trained while masks are sampled: that of the inputs that are not always zero."""
    if model.mask_model.structured:
        return part(model, live_inputs(x))
    return whole(model)


def fixed_part(model, masks, x):
    """Return the weights that images (N, D) can reach under hard masks, a dict of (D, K) by layer.

    A unit that is connected, but to dropped inputs only, outputs its bias: it keeps one of them.
    """
    names = [f"{side}{i}" for side in ("encoder", "decoder") for i in range(len(getattr(model, side)))]
    units = [np.ones(masks[name].shape[1], bool) for name in names]
    if model.activation in ZERO_AT_ZERO:
        units = [masks[name].any(axis=0) for name in names]
        for kept in units:
            kept[0] |= not kept.any()
    count = len(model.encoder)
    sources = {**dict(zip(names[:count], (live_inputs(x), *units[: count - 1]), strict=True)),
               "mean": units[count - 1], "scale": units[count - 1],
               **dict(zip(names[count + 1:], units[count:], strict=False))}
    for name, source in sources.items():
        stranded = masks[name].any(axis=0) & ~masks[name][source].any(axis=0)
        source[masks[name][:, stranded].argmax(axis=0)] = True
    return part(model, sources["encoder0"], units, masks)


def useful(model, masks, x):
    """Switch off every weight of hard masks that changes nothing: no signal reaches it, or nothing reads its unit.

    First columns are on for all rows, also those of pixels that are always zero and of units that output zero; such
    weights are not used by the task, and shall be free for the next one.

    Parameters
    ----------
    model : Autoencoder
        What the layers are.
    masks : dict of str to ndarray of bool, shape (D, K)
        The hard masks.
    x : ndarray, shape (N, D)
        The task's images.

    Returns
    -------
    masks : dict of str to ndarray of bool, shape (D, K)
        Subsets.  On these images they make the same model, but for units that dead pixels alone lead to: those said
        their bias, a constant that the next layer's biases can say.
    """
    kept, sides = {}, ([f"encoder{i}" for i in range(len(model.encoder))],
                       [f"decoder{i}" for i in range(len(model.decoder))])
    quiet = model.activation in ZERO_AT_ZERO                 # else a unit without weights still says something
    for side, reached in zip(sides, (live_inputs(x), np.ones(model.latent, bool)), strict=True):
        for name in side:
            kept[name] = masks[name] & reached[:, None]
            reached = kept[name].any(axis=0) if quiet else np.ones(masks[name].shape[1], bool)
        if side is sides[0]:
            kept |= {name: masks[name] & reached[:, None] for name in ("mean", "scale")}
    for side, readers in zip(sides, (("mean", "scale"), ()), strict=True):
        for name in reversed(side):
            if readers:                                      # all pixels read the decoder's last layer
                kept[name] &= np.logical_or.reduce([kept[reader].any(axis=1) for reader in readers])
            readers = (name,)
    return {name: kept[name] for name in masks}


def pack_masks(model, part, masks, backend):
    """Return the hard masks of a part, by layer, as the backend wants them; ``model`` is the whole."""
    count = len(model.encoder)
    packed = cut(masks, _sides(model, part.inputs, part.units[:count], part.units[count:]))
    return {name: backend.hard_mask(mask) for name, mask in packed.items()}
