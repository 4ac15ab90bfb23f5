"""The three published image sets: their files, their checksums, their classes, and where they are kept.

A checksum is the SHA-256 of a file's *uncompressed* contents, so it does not matter who packed the file.
Those of MNIST and Fashion-MNIST are of the original files; those of notMNIST are of the split that
:mod:`ibpcl.data.notmnist` makes, since the original has none.
"""

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

from ibpcl.data import idx
from ibpcl.data.cache import cache_folder
from ibpcl.data.dataset import DataError

FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


class Source(NamedTuple):
    """Say what one published image set is and where it can be had.

    Parameters
    ----------
    class_names : tuple of str
        What each label means.
    sha256 : tuple of str, length 4
        Checksums of the uncompressed contents, in the order of ``FILES``.
    urls : tuple of str
        Places to download from, tried in turn: folders with the four files as ``.gz``, or archives.
    archive : bool
        Whether ``urls`` name one archive of pictures that has to be converted.
    """

    class_names: tuple[str, ...]
    sha256: tuple[str, str, str, str]
    urls: tuple[str, ...]
    archive: bool = False


SOURCES = {
    "mnist": Source(
        class_names=tuple("0123456789"),
        sha256=(
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
        urls=(
            "https://ossci-datasets.s3.amazonaws.com/mnist/",
            "https://storage.googleapis.com/cvdf-datasets/mnist/",
        ),
    ),
    "fashion_mnist": Source(
        # The publishers say "T-shirt/top"; the short form, as in the paper, keeps the task's name readable.
        class_names=("T-shirt", "Trouser", "Pullover", "Dress", "Coat",
                     "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
        sha256=(
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        ),
        urls=(
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
            "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
        ),
    ),
    "notmnist": Source(
        class_names=tuple("ABCDEFGHIJ"),
        sha256=(
            "1cc4855962ff478fade238f89b57ede86e2ee466d29c058b5f88e69e046f616d",
            "9d8c1a8b5432e810a46025e74310686c136cd912ed4fb35bc6667b6269aae127",
            "41b9dfa75a9197d2d56d5d3ff55d2c2c448d2238047a0bad9343495fec96c720",
            "1df866138e3a0885e0e810cc0bafe952a76e4e74a2cbec7ee54ad607b5c3b71a",
        ),
        urls=(
            "http://yaroslavvb.com/upload/notMNIST/notMNIST_small.tar.gz",
            "http://commondatastorage.googleapis.com/books1000/notMNIST_small.tar.gz",
        ),
        archive=True,
    ),
}


def given_folder(data_dir=None):
    """Name the folder that the user has chosen for image sets, if any.

    Parameters
    ----------
    data_dir : path-like, optional
        Chosen by argument; else the environment variable ``IBPCL_DATA`` counts.

    Returns
    -------
    folder : Path or None
        None when the user has chosen none.
    """
    chosen = data_dir or os.environ.get("IBPCL_DATA")
    try:
        return Path(chosen).expanduser() if chosen else None
    except RuntimeError as error:                            # no such user, or no home folder
        raise DataError(f"{chosen}: {error}; write the folder without ~") from error


def data_folder(data_dir=None):
    """Name the folder that holds ``mnist/``, ``fashion_mnist/`` and ``notmnist/``.

    Parameters
    ----------
    data_dir : path-like, optional
        Chosen by argument; else ``IBPCL_DATA``; else ``data`` in the user's cache folder.

    Returns
    -------
    folder : Path
        It need not exist.
    """
    chosen = given_folder(data_dir)
    try:
        return chosen or cache_folder() / "data"
    except DataError as error:
        raise DataError(f"{error}, or name a folder of image sets with --data-dir or IBPCL_DATA") from error


def find_files(name, data_dir=None):
    """Find the four files of an image set, each as it is or gzip'd.

    Parameters
    ----------
    name : str
        A key of ``SOURCES``.
    data_dir : path-like, optional
        As for :func:`data_folder`.

    Returns
    -------
    paths : dict of str to (Path or None)
        Keyed by the names in ``FILES``; None where there is neither the plain nor the ``.gz`` file.
    """
    folder = data_folder(data_dir) / name
    paths = {}
    for file in FILES:
        candidates = (folder / file, folder / f"{file}.gz")
        paths[file] = next((path for path in candidates if path.is_file()), None)
    return paths


def read_verified(name, file, path):
    """Read one file of an image set and make sure that it is the published one.

    Parameters
    ----------
    name : str
        A key of ``SOURCES``.
    file : str
        One of ``FILES``.
    path : path-like
        Where the file is.

    Returns
    -------
    array : ndarray of uint8
        Read-only; images of shape (N, 28, 28) or labels of shape (N,).

    Raises
    ------
    DataError
        When the file is malformed, or its uncompressed contents do not have the published checksum.
    """
    content = idx.contents(path)
    array = idx.parse(content, path, dimensions=3 if "images" in file else 1)
    check_sum(name, file, path, content)
    return array


def check_sum(name, file, where, content):
    """Refuse contents that are not the published ones.

    Parameters
    ----------
    name : str
        A key of ``SOURCES``.
    file : str
        One of ``FILES``.
    where : path-like or str
        Where the contents come from, for the message.
    content : bytes
        Uncompressed.

    Raises
    ------
    DataError
        When the SHA-256 differs; names the file, what was expected and what came.
    """
    expected, got = SOURCES[name].sha256[FILES.index(file)], hashlib.sha256(content).hexdigest()
    if got != expected:
        raise DataError(f"{where}: wrong checksum: expected sha256 {expected} of the uncompressed contents, "
                        f"got {got}; this is not the published {name} file")
