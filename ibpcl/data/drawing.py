r"""Rendering of many randomly distorted images of a character.

A character is rasterized once per font, with a capital H 64 pixels high, and converted into the
signed distance d to its outline (positive in the ink).  For one image that distance is looked up at
the 28 x 28 pixels p, mapped back through a random affine map, and a soft threshold converts it into
ink,

.. math::

    \text{ink}(p) = \operatorname{clip}\Bigl(\tfrac12 + |A|^{1/2}\, d\bigl(A^{-1}(p - t)\bigr)
        + w,\ 0,\ 1\Bigr),

with all lengths in pixels of the image.  A combines a rotation, a shear and a scaling, and t is a
shift.  The edge is one pixel wide, and w is the weight of the stroke.  Then the ink is scaled by a
random contrast, and a random share of the pixels is replaced by uniform noise.  The rest of the
background stays exactly 0.
"""

import os
from typing import NamedTuple

import numpy as np
import scipy  # its ndimage is loaded when something is drawn

from ibpcl import plotting
from ibpcl.data.dataset import DataError

SIDE = 28  # pixels of an image, as in MNIST
# height of the capital H in the large drawing of a character, in pixels
CAPITAL = 64
# side of that drawing: room for the widest bold H and the J with a descender, with a margin
CANVAS = 192
# height of the capital H in an image before its random scale, in pixels
NOMINAL = 17.0


class Distortion(NamedTuple):
    """Ranges of the random distortions of an image; each value is drawn uniformly from its range.

    The defaults were chosen for the difficulty stated in :mod:`ibpcl.data.glyphs`, which depends
    mostly on shift, rotation and shear.  Strokes lighter than -0.3 would lose the hairlines of the
    thinnest fonts.

    Attributes
    ----------
    rotation : float
        Largest angle in either direction, in degrees.
    shear : float
        Largest horizontal shift per height, in either direction.
    log_scale : float
        Largest absolute logarithm of the factors on height and width, which are drawn separately.
    shift : float
        Largest shift in pixels, both ways, along each axis.
    weight : (float, float)
        Pixels added all around the stroke, from lightest to boldest.
    contrast : (float, float)
        Ink of the darkest pixel, in 0 .. 1.
    noise : float
        Largest share of the pixels that uniform noise replaces, in 0 .. 1.
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
    """Return the path of a font file of Matplotlib.

    Parameters
    ----------
    font : str
        Name of the file without ``.ttf``.

    Returns
    -------
    path : str
        The path; the file may not exist.
    """
    plotting.load()
    from matplotlib import get_data_path

    return os.path.join(get_data_path(), "fonts", "ttf", f"{font}.ttf")


def signed_distance(font, character):
    """Return the signed distance of each pixel of a large character to its outline.

    Parameters
    ----------
    font : str
        Name of a font file of Matplotlib, without ``.ttf``.
    character : str
        One character.

    Returns
    -------
    distance : ndarray of float32, shape (192, 192)
        Positive in the ink, in pixels of the drawing, in which a capital H is 64 high.  The
        bounding box of the character is centred.

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
    # Without hinting, so that the images do not depend on a hinter.  Matplotlib 3.10 moved the flag
    # into an enum.
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
    """Return randomly distorted images of a character.

    Parameters
    ----------
    distance : ndarray, shape (192, 192)
        Signed distance, from :func:`signed_distance`.
    count : int
        Number of images.
    rng : numpy.random.Generator
        Source of the distortions.
    distortion : Distortion
        Ranges of the distortions.

    Returns
    -------
    images : ndarray of uint8, shape (count, 28, 28)
        0 = background, 255 = ink.
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
