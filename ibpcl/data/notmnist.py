"""notMNIST: conversion of the published archive to a fixed split, as IDX files.

The archive ``notMNIST_small.tar.gz`` contains one PNG per glyph in folders A to J, and no split.
This split is stratified, with 375 test images per class (80/20, the sizes in the paper's table).
In each class the file names are sorted by byte value.  Then ``numpy.random.default_rng(0)`` draws,
for class 0 to 9 in turn, a permutation p: ``p[:375]`` go to the test set and ``p[375:]`` to the
training set, one class after the other.  Finally it permutes the training set, then the test set.
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
    """Return the training and test images and labels of an archive of PNG images.

    Parameters
    ----------
    archive : bytes
        A tar file, compressed or not, with images at ``.../A/*.png`` to ``.../J/*.png``.
    where : str
        Origin of the archive, for error messages.
    test_per_class : int
        Test images of each class.

    Returns
    -------
    arrays : tuple of 4 ndarrays of uint8
        Training images (N, 28, 28) and labels (N,), test images (M, 28, 28) and labels (M,).

    Raises
    ------
    DataError
        If the archive is damaged, an image is not 28 x 28, or a class has too few images.
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
        for split, chosen in ((test, order[:test_per_class]), (train, order[test_per_class:])):
            split[0].append(images[chosen])
            split[1].append(np.full(len(chosen), label, np.uint8))
    arrays = []
    for images, labels in (train, test):  # in this order, which fixes the random permutations
        images = np.concatenate(images)
        labels = np.concatenate(labels)
        order = rng.permutation(len(images))
        arrays += [images[order], labels[order]]
    return tuple(arrays)


def read_png(content, where):
    """Return a grey-scale PNG image as bytes.

    Parameters
    ----------
    content : bytes
        Contents of the file.
    where : str
        Origin of the file, for error messages.

    Returns
    -------
    image : ndarray of uint8, shape (28, 28), or None
        None if the file cannot be read; the published archive has two such files.

    Raises
    ------
    DataError
        If the image is not grey-scale, or not 28 x 28.
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
    # exceptions of the PNG reader on a broken file
    except (OSError, SyntaxError, ValueError):
        return None
    if picture.shape != (SIDE, SIDE):
        raise DataError(
            f"{where}: expected a grey-scale picture of {SIDE} x {SIDE}, got shape {picture.shape}"
        )
    return np.rint(255 * picture).astype(np.uint8)  # the reader divides bytes by 255


def _png_size(content):
    """Return width and height from the header of a PNG file, or None if it is not a PNG file."""
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
                    # file names are sorted by their bytes
                    name = path.name.encode("utf-8", "surrogateescape")
                    pictures[path.parent.name][name] = picture
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise DataError(f"{where}: not a readable archive: {error}") from error
    return pictures
