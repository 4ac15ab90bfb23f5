"""notMNIST: from the published archive of pictures to one fixed split, as IDX files.

The archive ``notMNIST_small.tar.gz`` holds a PNG per glyph in folders A to J and no split.  This
one is stratified, 375 test images per class (80/20, the sizes of the paper's table).  In each class
the file names are sorted by byte value; then one ``numpy.random.default_rng(0)`` draws, for class 0
to 9 in turn, a permutation p: ``p[:375]`` go to the test set and ``p[375:]`` to the training set,
appended class after class; at last it permutes the training set, then the test set.
"""

import io
import tarfile
import zlib
from pathlib import PurePosixPath

import numpy as np

from ibpcl import plotting
from ibpcl.data.dataset import DataError

LETTERS = "ABCDEFGHIJ"
TEST_PER_CLASS = 375
SIDE = 28


def convert(archive, where="notMNIST archive", test_per_class=TEST_PER_CLASS):
    """Return the training and test images and labels of an archive of PNG pictures, uint8 (N, 28,
    28) and (N,).

    Parameters
    ----------
    archive : bytes
        A tar file, compressed or not, with pictures at ``.../A/*.png`` to ``.../J/*.png``.
    where : str
        Where it comes from, for the messages.
    test_per_class : int
        Test images of each class.

    Raises
    ------
    DataError
        If the archive is damaged, a picture is not 28 x 28, or a class has too few pictures.
    """
    pictures = _read_pictures(archive, where)
    rng = np.random.default_rng(0)
    # (images, labels) each
    train = ([], [])
    test = ([], [])
    for label, letter in enumerate(LETTERS):
        named = pictures[letter]
        if len(named) <= test_per_class:
            raise DataError(
                f"{where}: {len(named)} readable pictures of {letter}, but more than "
                f"{test_per_class} are needed"
            )
        images = np.stack([named[name] for name in sorted(named)])
        order = rng.permutation(len(images))
        for part, chosen in ((test, order[:test_per_class]), (train, order[test_per_class:])):
            part[0].append(images[chosen])
            part[1].append(np.full(len(chosen), label, np.uint8))
    arrays = []
    for images, labels in (train, test):  # in this order: the generator goes on
        images = np.concatenate(images)
        labels = np.concatenate(labels)
        order = rng.permutation(len(images))
        arrays += [images[order], labels[order]]
    return tuple(arrays)


def read_png(content, where):
    """Return a grey-scale PNG picture as uint8 (28, 28), byte for byte; None if it cannot be read:
    the archive has two.

    A picture of another kind is a DataError that names ``where`` it is.
    """
    if (size := _png_size(content)) not in (None, (SIDE, SIDE)):
        raise DataError(
            f"{where}: expected a grey-scale picture of {SIDE} x {SIDE}, got one of {size[0]} x "
            f"{size[1]}"
        )
    if size is None:
        return None
    plotting.load()
    from matplotlib.image import imread

    try:
        picture = imread(io.BytesIO(content), format="png")
    # what the PNG reader says of a broken file
    except (OSError, SyntaxError, ValueError):
        return None
    if picture.shape != (SIDE, SIDE):
        raise DataError(
            f"{where}: expected a grey-scale picture of {SIDE} x {SIDE}, got shape {picture.shape}"
        )
    return np.rint(255 * picture).astype(np.uint8)  # the reader divides bytes by 255


def _png_size(content):
    """Return the width and the height that the header of a PNG announces, or None if it is no
    PNG.
    """
    if content[:8] != b"\x89PNG\r\n\x1a\n" or content[12:16] != b"IHDR" or len(content) < 24:
        return None
    return int.from_bytes(content[16:20], "big"), int.from_bytes(content[20:24], "big")


def _read_pictures(archive, where):
    pictures = {letter: {} for letter in LETTERS}
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            for member in tar:
                path = PurePosixPath(member.name)
                if not member.isfile() or path.suffix != ".png" or path.parent.name not in pictures:
                    continue
                picture = read_png(tar.extractfile(member).read(), f"{where}: {member.name}")
                if picture is not None:
                    # the bytes that are sorted by
                    name = path.name.encode("utf-8", "surrogateescape")
                    pictures[path.parent.name][name] = picture
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise DataError(f"{where}: not a readable archive: {error}") from error
    return pictures
