r"""Drawing one character many times over, each time a little differently.

A character is rasterized once a font, a capital H being 64 pixels high, and turned into the signed
distance d to its outline (positive in the ink).  For one image that distance is looked up at the 28
x 28 pixels p mapped back through a random affine map, and a soft threshold turns it into ink,

.. math::

    \text{ink}(p) = \operatorname{clip}\Bigl(\tfrac12 + |A|^{1/2}\, d\bigl(A^{-1}(p - t)\bigr)
        + w,\ 0,\ 1\Bigr),

with everything in pixels of the image.  A is a rotation, a shear and a scaling, t a shift; the edge
is one pixel soft, and the weight w of the stroke is one number.  Then the ink is scaled by a random
contrast, and a random share of the pixels is replaced by uniform noise; the rest of the background
stays exactly 0.
"""

import os
from typing import NamedTuple

import numpy as np
import scipy  # its ndimage is loaded when something is drawn

from ibpcl import plotting
from ibpcl.data.dataset import DataError

SIDE = 28  # pixels of an image, as in MNIST
# height of the capital H in the drawing that the images are made from, in pixels
CAPITAL = 64
# side of that drawing: the widest bold H, the J with a descender, and air around
CANVAS = 192
# height of the capital H in an image before its random scale, in pixels
NOMINAL = 17.0


class Distortion(NamedTuple):
    """How far one image may differ from the next; every number is drawn uniformly from its range.

    Parameters
    ----------
    rotation : float
        Degrees, either way.
    shear : float
        Horizontal shift by height, either way.
    log_scale : float
        Natural logarithm of the factor on the height and, separately, on the width, either way.
    shift : float
        Pixels, either way, in both directions.
    weight : (float, float)
        Pixels added all around the stroke, from lightest to boldest.
    contrast : (float, float)
        Ink of the darkest pixel, in 0 .. 1.
    noise : float
        The largest share of the pixels that uniform noise replaces, in 0 .. 1.

    Notes
    -----
    The defaults were chosen for the difficulty that :mod:`ibpcl.data.glyphs` states.  Mostly shift,
    rotation and shear set it.  Strokes lighter than -0.3 would lose the hairlines of the thinnest
    fonts.
    """

    rotation: float = 7.0
    shear: float = 0.1
    log_scale: float = 0.1
    shift: float = 1.75
    weight: tuple[float, float] = (-0.3, 0.7)
    contrast: tuple[float, float] = (0.6, 1.0)
    noise: float = 0.1


DEFAULT = Distortion()


def font_path(font):
    """Return the path of a font file of Matplotlib, given its name without ``.ttf``; it need not
    exist.
    """
    plotting.load()
    from matplotlib import get_data_path

    return os.path.join(get_data_path(), "fonts", "ttf", f"{font}.ttf")


def signed_distance(font, character):
    """Return the signed distance of each pixel of a large character to its outline, positive in the
    ink.

    Parameters
    ----------
    font : str
        A font file of Matplotlib, without ``.ttf``.
    character : str
        One character.

    Returns
    -------
    distance : ndarray of float32, shape (192, 192)
        In pixels of the drawing, of which a capital H is 64 high; the box around the character is
        centred.

    Raises
    ------
    DataError
        If the font file is missing or lacks the character.
    """
    plotting.load()
    from matplotlib import ft2font

    path = font_path(font)
    if not os.path.isfile(path):
        raise DataError(
            f"{path}: missing; glyphs are drawn from the fonts that Matplotlib ships: reinstall it"
        )
    face = ft2font.FT2Font(path)
    if not face.get_charmap().get(ord(character)):
        raise DataError(f"{path}: the font has no {character!r}")
    # Unhinted, so that the pictures do not depend on a hinter.  Matplotlib 3.10 moved the flag into
    # an enum.
    flags = getattr(ft2font, "LoadFlags", None)
    flags = ft2font.LOAD_NO_HINTING if flags is None else flags.NO_HINTING

    def draw(text, size):
        face.set_size(size, 72)
        face.set_text(text, 0.0, flags=flags)
        face.draw_glyphs_to_bitmap(antialiased=True)
        ink = np.asarray(face.get_image()) >= 128
        rows = np.flatnonzero(ink.any(1))
        columns = np.flatnonzero(ink.any(0))
        # the bitmap may have a margin
        return ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]

    ink = draw(character, 100 * CAPITAL / len(draw("H", 100)))
    height, width = ink.shape
    top = (CANVAS - height) // 2
    left = (CANVAS - width) // 2
    canvas = np.zeros((CANVAS, CANVAS), bool)
    canvas[top : top + height, left : left + width] = ink
    distance = scipy.ndimage.distance_transform_edt(canvas) - scipy.ndimage.distance_transform_edt(
        ~canvas
    )
    return distance.astype(np.float32)


def distort(distance, count, rng, distortion=DEFAULT):
    """Draw ``count`` distorted images of one character, uint8 of shape (count, 28, 28).

    Parameters
    ----------
    distance : ndarray, shape (192, 192)
        From :func:`signed_distance`.
    count : int
    rng : numpy.random.Generator
        Advanced by what the images need.
    distortion : Distortion
        The ranges.
    """

    def either_way(bound, *shape):
        return rng.uniform(-bound, bound, (count, *shape))

    angle = np.deg2rad(either_way(distortion.rotation))
    shear = either_way(distortion.shear)
    scale = np.exp(either_way(distortion.log_scale, 2))
    shift = either_way(distortion.shift, 2, 1)
    cos = np.cos(angle)
    sin = np.sin(angle)
    # (count, 2, 2); row, column
    turn = np.stack([np.stack([cos, -sin], -1), np.stack([sin, cos], -1)], -2)
    slant = np.zeros((count, 2, 2))
    slant[:, 0, 0] = scale[:, 0]
    slant[:, 1, 1] = scale[:, 1]
    slant[:, 1, 0] = shear * scale[:, 0]
    affine = turn @ slant * (NOMINAL / CAPITAL)

    axis = np.arange(SIDE) - (SIDE - 1) / 2
    pixels = np.stack(np.meshgrid(axis, axis, indexing="ij")).reshape(2, -1)
    source = np.linalg.solve(affine, pixels - shift) + (CANVAS - 1) / 2  # (count, 2, 784)
    ink = scipy.ndimage.map_coordinates(distance, source.swapaxes(0, 1), order=1, mode="nearest")
    ink *= np.sqrt(np.linalg.det(affine))[:, None]  # distances shrink with the drawing
    ink = np.clip(0.5 + ink + rng.uniform(*distortion.weight, (count, 1)), 0, 1)
    ink *= rng.uniform(*distortion.contrast, (count, 1))

    hit = rng.random(ink.shape) < rng.uniform(0, distortion.noise, (count, 1))
    ink = np.where(hit, rng.random(ink.shape), ink)
    return np.rint(255 * ink).astype(np.uint8).reshape(count, SIDE, SIDE)
