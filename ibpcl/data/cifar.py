r"""CIFAR-10 and CIFAR-100: colour images of 32 x 32 pixels, read from the published archives.

Krizhevsky (2009), "Learning multiple layers of features from tiny images".  The package does not
download them.  A user who has the archive of the *binary version* puts it, as it is, into a folder:
``DIR/cifar10/cifar-10-binary.tar.gz`` or ``DIR/cifar100/cifar-100-binary.tar.gz``.

An archive has files of records without separators.  A record is one byte with the label (in
CIFAR-100 two bytes, of which the second is the class), and 3072 bytes with the image: the rows of
the red, then of the green, and then of the blue pixels.  Here an image has the axes (H, W, D), D =
3, as everywhere in this package.

The published checksums are MD5 sums of the archives, from the page of the data sets
(https://www.cs.toronto.edu/~kriz/cifar.html).
"""

import hashlib
import io
import tarfile
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ibpcl.data.dataset import DataError, Dataset, check_dataset

SIDE = 32
CHANNELS = 3
PIXELS = SIDE * SIDE * CHANNELS
LARGEST = 2**28  # bytes of all files of an archive that are read; the published ones have 185 MB


class Archive(NamedTuple):
    """A published archive.

    Attributes
    ----------
    file : str
        Its name.
    md5 : str
        Its published checksum.
    train : tuple of str
        Names of the files with training images, in the archive's folder.
    test : str
        Name of the file with test images.
    names : str
        Name of the text file with the names of the classes, one per line.
    labels : int
        Bytes before each image; the last one is the class.
    classes : int
        Number of classes.
    """

    file: str
    md5: str
    train: tuple[str, ...]
    test: str
    names: str
    labels: int
    classes: int


ARCHIVES = {
    "cifar10": Archive(
        "cifar-10-binary.tar.gz",
        "c32a1d4ab5d03f1284b67883e8d87530",
        tuple(f"data_batch_{i}.bin" for i in range(1, 6)),
        "test_batch.bin",
        "batches.meta.txt",
        1,
        10,
    ),
    "cifar100": Archive(
        "cifar-100-binary.tar.gz",
        "03b5dce01913d631647c71ecec9e9cb8",
        ("train.bin",),
        "test.bin",
        "fine_label_names.txt",
        2,
        100,
    ),
}


def find(name, folder):
    """Return the path of an archive.

    Parameters
    ----------
    name : {"cifar10", "cifar100"}
        The image set.
    folder : pathlib.Path
        Folder of image sets.  The archive is in its folder ``name``, or in itself.

    Returns
    -------
    path : pathlib.Path or None
        None if the archive is missing.
    """
    file = ARCHIVES[name].file
    places = (Path(folder, name, file), Path(folder, file))
    return next((path for path in places if path.is_file()), None)


def read(name, path):
    """Return an image set from its archive, after comparing its checksum.

    Parameters
    ----------
    name : {"cifar10", "cifar100"}
        The image set.
    path : path-like
        The archive.

    Returns
    -------
    dataset : ibpcl.data.dataset.Dataset
        Images of shape (N, 32, 32, 3).

    Raises
    ------
    DataError
        If the archive cannot be read, has another checksum, or lacks a file.
    """
    archive = ARCHIVES[name]
    content = checked(name, path)
    wanted = (*archive.train, archive.test, archive.names)
    files = _members(content, wanted, path)
    names = tuple(line.strip() for line in files[archive.names].decode("ascii").split("\n"))
    names = tuple(filter(None, names))
    if len(names) != archive.classes:
        raise DataError(
            f"{path}: {archive.names} must name {archive.classes} classes, got {len(names)}"
        )
    train = [_records(files[file], archive.labels, f"{path}: {file}") for file in archive.train]
    images, labels = (np.concatenate(parts) for parts in zip(*train, strict=True))
    tests = _records(files[archive.test], archive.labels, f"{path}: {archive.test}")
    return check_dataset(Dataset(name, images, labels, *tests, names))


def checked(name, path):
    """Return the bytes of an archive, after comparing its checksum.

    Parameters
    ----------
    name : {"cifar10", "cifar100"}
        The image set.
    path : path-like
        The archive.

    Returns
    -------
    content : bytes
        The archive, compressed.

    Raises
    ------
    DataError
        If the archive cannot be read or has another checksum.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    expected = ARCHIVES[name].md5
    got = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if got != expected:
        raise DataError(
            f"{path}: wrong checksum: expected md5 {expected}, got {got}; this is not the "
            f"published {ARCHIVES[name].file}"
        )
    return content


def _members(content, wanted, where):
    """Return the contents of files of an archive, by their names without folders."""
    found = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            for member in archive:
                name = member.name.rsplit("/", 1)[-1]
                if name in wanted and member.isfile():
                    if member.size + sum(map(len, found.values())) > LARGEST:
                        raise DataError(f"{where}: more than {LARGEST >> 20} MB of images")
                    found[name] = archive.extractfile(member).read()
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise DataError(f"{where}: not a readable tar archive: {error}") from error
    if missing := [name for name in wanted if name not in found]:
        raise DataError(f"{where}: the archive lacks {', '.join(missing)}")
    return found


def _records(content, labels, where):
    """Return images (N, 32, 32, 3) and classes (N,) of the bytes of a file."""
    size = labels + PIXELS
    if not content or len(content) % size:
        raise DataError(
            f"{where} must have records of {size} bytes, got a file of {len(content)} bytes"
        )
    records = np.frombuffer(content, np.uint8).reshape(-1, size)
    planes = records[:, labels:].reshape(-1, CHANNELS, SIDE, SIDE)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), records[:, labels - 1].copy()
