r"""Letters and digits drawn from the fonts that Matplotlib ships: real images without a download.

Fonts.  Of the files that Matplotlib ships, 21 are text fonts.  The others are left out: Last Resort
shows one placeholder for all letters; STIXSize, STIXNonUnicode and the two DejaVu Display files
have no letters; cmex10 and cmsy10 have brackets, operators or script capitals at the letters' and
digits' places; cmmi10 has old-style digits.

The training fonts are the DejaVu and the STIX families (16 files), the test fonts the five of
Computer Modern: roman, bold, italic, sans serif and typewriter.  The cut goes between families,
because the bold of a family is nearly the regular with another stroke weight, which is one of the
distortions; and Computer Modern alone has every style, so that the test set asks for new shapes,
not for one style only.

Matplotlib before 3.11 has no italic of Computer Modern (cmti10), and some systems ship Matplotlib
with fewer fonts. Fonts that are missing are left out with a warning: the images are then others,
and so are the last digits of figures.

How an image is drawn: :mod:`ibpcl.data.drawing`.

How hard it is.  A network of its own for each of the tasks A/B, C/D, E/F, G/H, I/J (784 inputs, 200
ReLU units, two outputs, softmax; 10 epochs of Adam at 1e-3 with batches of 128, plain NumPy, no
validation) gets 99.1 % of the test images right on average, between 98.9 and 99.3 % over the seeds
0 to 4 of the images, and 97 to 98 % on I/J, the hardest.  The same without the hidden layer, a
linear classifier, gets 98.1 % (97.9 to 98.5) and about 94 % on I/J: twice the errors.  Each figure
is a mean over three initializations.
"""

import hashlib
import importlib.metadata
import os
import warnings

import numpy as np

from ibpcl.data.cache import cache_folder, read_arrays, write_arrays
from ibpcl.data.dataset import DataError, Dataset, check_dataset
from ibpcl.data.drawing import DEFAULT, distort, font_path, signed_distance

# of the drawing code: counted up with every change that changes the pictures
VERSION = 1
CHARACTERS = {"glyphs": "ABCDEFGHIJ", "glyph_digits": "0123456789"}
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
    """Return rendered characters, from the cache if they are there.

    Rendering takes about two seconds; a cache that cannot be read or written only costs that time
    again.

    Parameters
    ----------
    name : {"glyphs", "glyph_digits"}
        The letters A to J or the digits 0 to 9.
    seed : int, at least 0
        Which draw of the distortions.  The same seed gives the same bytes, as long as Matplotlib
        (with its FreeType), NumPy and SciPy are the same: another version may rasterize or round
        differently.

    Returns
    -------
    dataset : Dataset
        10,000 training and 2,000 test images, 1,000 and 200 per class, in random order.

    Raises
    ------
    DataError
        If ``name`` is not known, or Matplotlib has none of the fonts for training or none of those
        for testing.
    ValueError
        If ``seed`` is not an integer at least 0.
    """
    characters = _characters(name, "glyphs.load")
    try:
        path = cache_path(name, seed)
    except DataError:  # no home folder, so no cache
        return render(characters, seed, name=name)
    arrays = read_arrays(path) or {}
    fields = Dataset._fields[1:5]
    try:
        return check_dataset(Dataset(name, *(arrays[field] for field in fields), tuple(characters)))
    except (KeyError, DataError):  # nothing is there, or something else
        drawn = render(characters, seed, name=name)
        write_arrays(path, {field: getattr(drawn, field) for field in fields})
        return drawn


def cache_path(name="glyphs", seed=0):
    """Return the cache file of one rendered set; its name stands for all that the pictures depend
    on.
    """
    _characters(name, "glyphs.cache_path")
    versions = [importlib.metadata.version(package) for package in ("matplotlib", "numpy", "scipy")]
    makings = (VERSION, DEFAULT, TRAIN_FONTS, TEST_FONTS, TRAIN_PER_CLASS, TEST_PER_CLASS, versions)
    digest = hashlib.sha256(repr(makings).encode()).hexdigest()[:12]
    return cache_folder() / "glyphs" / f"{name}-seed{_seed(seed)}-{digest}.npz"


def render(characters, seed, train=TRAIN_PER_CLASS, test=TEST_PER_CLASS, name="glyphs"):
    """Draw ``train`` and ``test`` images per class as a :class:`Dataset`, each spread evenly over
    its fonts.

    Class c is ``characters[c]``; errors are those of :func:`load`.

    >>> render("AB", seed=0, train=3, test=2).train_labels.tolist()
    [1, 0, 0, 1, 1, 0]
    """
    seed = _seed(seed)
    fonts = [_at_hand(names) for names in (TRAIN_FONTS, TEST_FONTS)]
    missing = [font for font in (*TRAIN_FONTS, *TEST_FONTS) if font not in (*fonts[0], *fonts[1])]
    if missing:
        version = importlib.metadata.version("matplotlib")
        warnings.warn(
            f"glyphs: Matplotlib {version} has no font {', '.join(missing)}, so the images are "
            "drawn from "
            "the other fonts; with Matplotlib 3.11 or later they are those of the documentation",
            stacklevel=2,
        )
    parts = [
        _render_part(characters, fonts, count, np.random.default_rng((seed, part)))
        for part, (fonts, count) in enumerate(zip(fonts, (train, test), strict=True))
    ]
    return check_dataset(Dataset(name, *parts[0], *parts[1], tuple(characters)))


def _at_hand(fonts):
    """Return the fonts that Matplotlib has, of some; DataError if there is none."""
    found = tuple(font for font in fonts if os.path.isfile(font_path(font)))
    if not found:
        raise DataError(
            f"glyphs: Matplotlib has none of the fonts {', '.join(fonts)}: reinstall it from PyPI"
        )
    return found


def _render_part(characters, fonts, count, rng):
    images = []
    labels = []
    for label, character in enumerate(characters):
        for j, font in enumerate(fonts):
            # the first fonts take what does not divide evenly
            share = len(range(j, count, len(fonts)))
            images.append(distort(signed_distance(font, character), share, rng))
            labels.append(np.full(share, label, np.uint8))
    order = rng.permutation(len(characters) * count)
    return np.concatenate(images)[order], np.concatenate(labels)[order]


def _characters(name, where):
    if name not in CHARACTERS:
        raise DataError(f"{where}: name must be one of {', '.join(CHARACTERS)}, got {name!r}")
    return CHARACTERS[name]


def _seed(seed):
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ValueError(f"glyphs: seed must be an integer at least 0, got {seed!r}")
    return int(seed)
