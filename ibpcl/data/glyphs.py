"""Letters and digits drawn from the fonts that Matplotlib ships: images that need no download.

**Fonts.**  Matplotlib ships 21 text fonts.  Its other font files are left out: Last Resort shows
one placeholder for all letters; STIXSize, STIXNonUnicode and the two DejaVu Display files have no
letters; cmex10 and cmsy10 have brackets, operators or script capitals in place of letters and
digits; cmmi10 has old-style digits.

The training fonts are the DejaVu and the STIX families (16 files).  The test fonts are the five of
Computer Modern: roman, bold, italic, sans serif and typewriter.  Families are kept apart, because
the bold font of a family is nearly the regular one with another stroke weight, which is one of the
distortions.  Computer Modern alone has every style, so the test set contains new shapes in every
style.

Matplotlib before 3.11 has no italic of Computer Modern (cmti10), and some systems ship Matplotlib
with fewer fonts.  Missing fonts are left out with a warning; the images then differ, and so do the
last digits of results.

:mod:`ibpcl.data.drawing` describes how an image is drawn.

**Difficulty.**  A network was trained for each of the tasks A/B, C/D, E/F, G/H and I/J: 784
inputs, 200 ReLU units, two outputs and softmax; 10 epochs of Adam at 1e-3 with batches of 128, in
plain NumPy and without validation.  It classifies 99.1 % of the test images correctly on average.
Over the seeds 0 to 4 of the images this is 98.9 to 99.3 %, and on I/J, the hardest task, 97 to
98 %.  Without the hidden layer, a linear classifier, it is 98.1 % (97.9 to 98.5), and about 94 % on
I/J: twice as many errors.  Each number is a mean over three initializations.
"""

import hashlib
import importlib.metadata
import os
import warnings

import numpy as np

from ibpcl.data.cache import cache_folder, read_arrays, write_arrays
from ibpcl.data.dataset import DataError, Dataset, check_dataset
from ibpcl.data.drawing import DEFAULT, distort, font_path, signed_distance

# Version of the drawing code, increased with every change of the images.
VERSION = 1
# "tiny_glyphs" are the images of "glyphs", averaged over blocks of 7 x 7 pixels.
TINY = "tiny_glyphs"
BLOCK = 7
# "cluttered_glyphs": letters anywhere in the image, among pieces of other letters.
CLUTTERED = "cluttered_glyphs"
CHARACTERS = {
    "glyphs": "ABCDEFGHIJ",
    "glyph_digits": "0123456789",
    TINY: "ABCDEFGHIJ",
    CLUTTERED: "ABCDEFGHIJ",
}
# A letter is about 17 pixels high in an image of 28, so that it stays inside with this shift.
SHIFTED = DEFAULT._replace(shift=5.0)
PIECES = 4  # pieces of other letters in an image
PIECE = 6  # pixels of the side of a piece
TRAIN_FONTS = (
    "DejaVuSans",
    "DejaVuSans-Bold",
    "DejaVuSans-Oblique",
    "DejaVuSans-BoldOblique",
    "DejaVuSansMono",
    "DejaVuSansMono-Bold",
    "DejaVuSansMono-Oblique",
    "DejaVuSansMono-BoldOblique",
    "DejaVuSerif",
    "DejaVuSerif-Bold",
    "DejaVuSerif-Italic",
    "DejaVuSerif-BoldItalic",
    "STIXGeneral",
    "STIXGeneralBol",
    "STIXGeneralItalic",
    "STIXGeneralBolIta",
)
TEST_FONTS = ("cmr10", "cmb10", "cmss10", "cmti10", "cmtt10")
TRAIN_PER_CLASS = 1000
TEST_PER_CLASS = 200


def load(name="glyphs", seed=0):
    """Return rendered characters, from the cache if possible.

    Rendering takes about two seconds.  If the cache cannot be read or written, they are rendered
    each time.

    Parameters
    ----------
    name : {"glyphs", "glyph_digits", "tiny_glyphs", "cluttered_glyphs"}
        The letters A to J, the digits 0 to 9, the letters with 4 x 4 pixels for small networks, or
        letters that are shifted by up to 5 pixels, with pieces of other letters as clutter.
    seed : int
        Seed of the distortions, at least 0.  The same seed gives the same bytes with the same
        versions of Matplotlib (with its FreeType), NumPy and SciPy; other versions may rasterize or
        round differently.

    Returns
    -------
    dataset : Dataset
        10,000 training and 2,000 test images, 1,000 and 200 per class, in random order.

    Raises
    ------
    DataError
        If ``name`` is unknown, or Matplotlib has none of the training fonts or none of the test
        fonts.
    ValueError
        If ``seed`` is not an integer at least 0.
    """
    characters = _characters(name, "glyphs.load")
    if name == TINY:
        return averaged(load("glyphs", seed), BLOCK, TINY)
    try:
        path = cache_path(name, seed)
    except DataError:  # no home folder, so no cache
        return render(characters, seed, name=name)
    arrays = read_arrays(path) or {}
    fields = Dataset._fields[1:5]
    try:
        return check_dataset(Dataset(name, *(arrays[field] for field in fields), tuple(characters)))
    except (KeyError, DataError):  # the cache file is missing or does not fit
        drawn = render(characters, seed, name=name)
        write_arrays(path, {field: getattr(drawn, field) for field in fields})
        return drawn


def cache_path(name="glyphs", seed=0):
    """Return the cache file of a rendered set.

    Parameters
    ----------
    name : {"glyphs", "glyph_digits", "tiny_glyphs"}
        Name of the set.  The file of the tiny letters is that of the letters.
    seed : int
        Seed of the distortions, at least 0.

    Returns
    -------
    path : pathlib.Path
        The name contains a hash of everything that determines the images.

    Raises
    ------
    DataError
        If ``name`` is unknown, or the user has no home folder.
    ValueError
        If ``seed`` is not an integer at least 0.
    """
    _characters(name, "glyphs.cache_path")
    versions = [importlib.metadata.version(package) for package in ("matplotlib", "numpy", "scipy")]
    drawing = (VERSION, *_distortions(name))
    makings = (*drawing, TRAIN_FONTS, TEST_FONTS, TRAIN_PER_CLASS, TEST_PER_CLASS, versions)
    digest = hashlib.sha256(repr(makings).encode()).hexdigest()[:12]
    drawn = "glyphs" if name == TINY else name
    return cache_folder() / "glyphs" / f"{drawn}-seed{_seed(seed)}-{digest}.npz"


def averaged(dataset, block, name):
    """Return a data set of smaller images, each pixel the mean over a square block.

    Parameters
    ----------
    dataset : Dataset
        Images whose height and width are multiples of ``block``.
    block : int
        Height and width of a block, in pixels.
    name : str
        Name of the new data set.

    Returns
    -------
    dataset : Dataset
        The same labels and classes; means are rounded to bytes.

    Examples
    --------
    >>> averaged(render("AB", seed=0, train=1, test=1), 7, "small").train_images.shape
    (2, 4, 4)
    """

    def smaller(images):
        N, height, width = images.shape
        blocks = images.reshape(N, height // block, block, width // block, block)
        return np.rint(blocks.mean(axis=(2, 4))).astype(np.uint8)

    return check_dataset(
        dataset._replace(
            name=name,
            train_images=smaller(dataset.train_images),
            test_images=smaller(dataset.test_images),
        )
    )


def render(characters, seed, train=TRAIN_PER_CLASS, test=TEST_PER_CLASS, name="glyphs"):
    """Draw a data set of characters, with the images of each class spread evenly over the fonts.

    Parameters
    ----------
    characters : str
        Class c is ``characters[c]``.
    seed : int
        Seed of the distortions, at least 0.
    train : int
        Training images per class.
    test : int
        Test images per class.
    name : str
        Name of the data set.

    Returns
    -------
    dataset : Dataset
        The images in random order.

    Raises
    ------
    DataError
        If Matplotlib has none of the training fonts or none of the test fonts.
    ValueError
        If ``seed`` is not an integer at least 0.

    Examples
    --------
    >>> render("AB", seed=0, train=3, test=2).train_labels.tolist()
    [1, 0, 0, 1, 1, 0]
    """
    seed = _seed(seed)
    fonts = [_installed(names) for names in (TRAIN_FONTS, TEST_FONTS)]
    missing = [font for font in (*TRAIN_FONTS, *TEST_FONTS) if font not in (*fonts[0], *fonts[1])]
    if missing:
        version = importlib.metadata.version("matplotlib")
        warnings.warn(
            f"glyphs: Matplotlib {version} lacks the fonts {', '.join(missing)}, so the images are "
            "drawn from the other fonts; Matplotlib 3.11 or later gives those of the documentation",
            stacklevel=2,
        )
    cluttered = name == CLUTTERED
    parts = [
        _render_part(characters, fonts, count, np.random.default_rng((seed, part)), cluttered)
        for part, (fonts, count) in enumerate(zip(fonts, (train, test), strict=True))
    ]
    return check_dataset(Dataset(name, *parts[0], *parts[1], tuple(characters)))


def _installed(fonts):
    """Return those of some fonts that Matplotlib has, or raise DataError if it has none."""
    installed = tuple(font for font in fonts if os.path.isfile(font_path(font)))
    if not installed:
        raise DataError(
            f"glyphs: Matplotlib has none of the fonts {', '.join(fonts)}: reinstall it from PyPI"
        )
    return installed


def _distortions(name):
    """Return what determines the images of a set besides the fonts."""
    return (SHIFTED, PIECES, PIECE) if name == CLUTTERED else (DEFAULT,)


def clutter(images, rng):
    """Add pieces of other images to each image; the larger number of ink remains.

    Mnih, Heess, Graves and Kavukcuoglu (2014), "Recurrent models of visual attention", Sec. 4.1,
    add pieces of 8 x 8 pixels of other digits in the same way.

    Parameters
    ----------
    images : ndarray of uint8, shape (N, H, W)
        Images of letters; not modified.
    rng : numpy.random.Generator
        Chooses the pieces and their places.

    Returns
    -------
    cluttered : ndarray of uint8, shape (N, H, W)
        Each image with ``PIECES`` pieces of other images.

    Examples
    --------
    >>> images = np.eye(28, dtype=np.uint8)[None].repeat(5, axis=0)
    >>> bool((clutter(images, np.random.default_rng(0)) >= images).all())
    True
    """
    count, height, width = images.shape
    cluttered = images.copy()
    for _ in range(PIECES):
        sources = rng.integers(0, count, count)
        corners = rng.integers(0, (height - PIECE + 1, width - PIECE + 1), (count, 2, 2))
        for i, (source, ((a, b), (p, q))) in enumerate(zip(sources, corners, strict=True)):
            piece = images[source, a : a + PIECE, b : b + PIECE]
            place = cluttered[i, p : p + PIECE, q : q + PIECE]
            np.maximum(place, piece, out=place)
    return cluttered


def _render_part(characters, fonts, count, rng, cluttered=False):
    distortion = SHIFTED if cluttered else DEFAULT
    images = []
    labels = []
    for label, character in enumerate(characters):
        for j, font in enumerate(fonts):
            # if the count does not divide evenly, the first fonts get one image more
            share = len(range(j, count, len(fonts)))
            images.append(distort(signed_distance(font, character), share, rng, distortion))
            labels.append(np.full(share, label, np.uint8))
    order = rng.permutation(len(characters) * count)
    images = np.concatenate(images)[order]
    return clutter(images, rng) if cluttered else images, np.concatenate(labels)[order]


def _characters(name, where):
    if name not in CHARACTERS:
        raise DataError(f"{where}: name must be one of {', '.join(CHARACTERS)}, got {name!r}")
    return CHARACTERS[name]


def _seed(seed):
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ValueError(f"glyphs: seed must be an integer at least 0, got {seed!r}")
    return int(seed)
