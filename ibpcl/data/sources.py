"""The three published image sets: files, checksums, classes, and locations.

A checksum is the SHA-256 of a file's *uncompressed* contents, so it does not depend on the program
that compressed the file.  Those of MNIST and Fashion-MNIST belong to the original files; those of
notMNIST belong to the split by :mod:`ibpcl.data.notmnist`, because the original has no split.
"""

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

from ibpcl.data import idx
from ibpcl.data.cache import cache_folder
from ibpcl.data.dataset import DataError, starts_as_web_page

FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


class Source(NamedTuple):
    """A published image set.

    Attributes
    ----------
    class_names : tuple of str
        Name of each label.
    sha256 : tuple of str, length 4
        Checksums in the order of ``FILES``.
    urls : tuple of str
        Addresses, tried in turn: folders with the four files as ``.gz``, or an archive.
    archive : bool
        Whether the addresses lead to an archive of images that must be converted.
    places : tuple of str
        Further folders in which other programs store the files.
    size : int or None
        Size of the archive in bytes.
    """

    class_names: tuple[str, ...]
    sha256: tuple[str, str, str, str]
    urls: tuple[str, ...]
    archive: bool = False
    places: tuple[str, ...] = ()
    size: int | None = None


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
        places=("MNIST/raw", "MNIST", "raw"),
    ),
    "fashion_mnist": Source(
        # The published name is "T-shirt/top"; the short form, as in the paper, keeps task names
        # readable.
        class_names=(
            "T-shirt",
            "Trouser",
            "Pullover",
            "Dress",
            "Coat",
            "Sandal",
            "Shirt",
            "Sneaker",
            "Bag",
            "Ankle boot",
        ),
        sha256=(
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        ),
        urls=(
            "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
            # The website has no HTTPS; a file from there counts only if its checksum is right.
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        ),
        places=("FashionMNIST/raw", "FashionMNIST", "fashion-mnist", "raw"),
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
            "https://commondatastorage.googleapis.com/books1000/notMNIST_small.tar.gz",
            "http://yaroslavvb.com/upload/notMNIST/notMNIST_small.tar.gz",
        ),
        places=("notMNIST",),
        size=8458043,
        archive=True,
    ),
}


def given_folder(data_dir=None):
    """Return the folder of image sets that the user has chosen.

    Parameters
    ----------
    data_dir : path-like, optional
        The choice; the environment variable ``IBPCL_DATA`` if not given.

    Returns
    -------
    folder : pathlib.Path or None
        None if there is neither.

    Raises
    ------
    DataError
        If ``data_dir`` is not a path, or ``~`` cannot be expanded.
    """
    if not (data_dir is None or isinstance(data_dir, str | os.PathLike)):
        raise DataError(f"data_dir must be a path, got {data_dir!r}")
    chosen = data_dir or os.environ.get("IBPCL_DATA")
    try:
        return Path(chosen).expanduser() if chosen else None
    except RuntimeError as error:  # no such user, or no home folder
        raise DataError(f"{chosen}: {error}; write the folder without ~") from error


def data_folder(data_dir=None):
    """Return the folder for ``mnist/``, ``fashion_mnist/`` and ``notmnist/``.

    Parameters
    ----------
    data_dir : path-like, optional
        The folder.  If not given, the environment variable ``IBPCL_DATA`` is used, else the user's
        cache.

    Returns
    -------
    folder : pathlib.Path
        It may not exist yet.

    Raises
    ------
    DataError
        If ``data_dir`` is not a path, or the user has no home folder.
    """
    chosen = given_folder(data_dir)
    try:
        return chosen or cache_folder() / "data"
    except DataError as error:
        raise DataError(
            f"{error}, or name a folder of image sets with `data_dir` or IBPCL_DATA"
        ) from error


def find_files(name, data_dir=None):
    """Return the paths of the files of an image set, compressed or not.

    The files are in the folder ``name``, where torchvision stores them (``MNIST/raw``), or in the
    chosen folder itself.  Some distributors write their names with a dot, and Kaggle puts each file
    into a folder of the same name.

    Parameters
    ----------
    name : str
        A key of ``SOURCES``.
    data_dir : path-like, optional
        Folder of image sets.  If not given, the environment variable ``IBPCL_DATA`` is used, else
        the user's cache.

    Returns
    -------
    paths : dict of str to (pathlib.Path or None)
        Path of each file by the names in ``FILES``; None for a missing file.
    """
    folder = data_folder(data_dir)
    folders = (folder / name, *(folder / place for place in SOURCES[name].places), folder)
    return {
        file: next(
            (path for place in folders for path in _spellings(place, file) if path.is_file()), None
        )
        for file in FILES
    }


def _spellings(folder, file):
    """Yield the paths at which a file may be in a folder."""
    dotted = file.replace("-idx", ".idx")
    for spelled in (file, dotted):
        yield folder / spelled
        yield folder / f"{spelled}.gz"
    for outer in (file, dotted):
        for inner in (file, dotted):
            yield folder / outer / inner


class FileStatus(NamedTuple):
    """State of one file of an image set.

    Attributes
    ----------
    file : str
        Name in ``FILES``, without ``.gz``.
    path : pathlib.Path or None
        Path of the file; None if it is missing.
    problem : str
        Description of the problem; empty if the file is usable.
    """

    file: str
    path: Path | None
    problem: str


def examine(name, data_dir=None):
    """Return the arrays of an image set and the state of each of its files.

    Parameters
    ----------
    name : str
        A key of ``SOURCES``.
    data_dir : path-like, optional
        Folder of image sets.  If not given, the environment variable ``IBPCL_DATA`` is used, else
        the user's cache.

    Returns
    -------
    arrays : dict of str to ndarray
        Readable arrays by the names in ``FILES``.
    files : tuple of FileStatus
        One per file; missing, unreadable and unpublished files have a problem.
    """
    paths = find_files(name, data_dir)
    arrays = {}
    problems = dict.fromkeys(FILES, "")
    for file, path in paths.items():
        try:
            if path is None:
                raise DataError("missing")
            arrays[file] = idx.read(path, dimensions_of(file))
            if path.parent == data_folder(data_dir) and _is_of_another(name, file, arrays[file]):
                del arrays[file]
                paths[file] = None
                raise DataError("missing")
        except DataError as error:
            problems[file] = str(error)
    # before checksums, because this message is more helpful
    for images, labels in (FILES[:2], FILES[2:]):
        counts = [len(arrays[file]) for file in (images, labels) if file in arrays]
        if len(set(counts)) == 2:
            problems[images] = (
                f"{paths[images]} holds {counts[0]} images, but {paths[labels]} holds {counts[1]} "
                "labels; the counts must be equal"
            )
    for file, array in arrays.items():
        try:
            check_sum(name, file, paths[file], array)
        except DataError as error:
            problems[file] = problems[file] or str(error)
    return arrays, tuple(FileStatus(file, paths[file], problems[file]) for file in FILES)


def dimensions_of(file):
    """Return the number of dimensions of the array in a file.

    Parameters
    ----------
    file : str
        A name in ``FILES``.

    Returns
    -------
    dimensions : int
        3 for images, 1 for labels.
    """
    return 3 if "images" in file else 1


def _is_of_another(name, file, array):
    """Return whether an array is the published one of another image set.

    This happens in a folder whose name is not that of an image set.
    """
    digest = _digest(array)
    number = FILES.index(file)
    return any(
        digest == source.sha256[number] for other, source in SOURCES.items() if other != name
    )


def _digest(array):
    return hashlib.sha256(idx.encode(array)).hexdigest()


def check_sum(name, file, where, array):
    """Raise DataError unless an array is that of the published file.

    Parameters
    ----------
    name : str
        A key of ``SOURCES``.
    file : str
        A name in ``FILES``.
    where : object
        Origin of the array, for the error message.
    array : ndarray of uint8
        The array.

    Raises
    ------
    DataError
        If the checksum differs.
    """
    check_contents(name, file, where, idx.encode(array))


def check_contents(name, file, where, content):
    """Raise DataError unless uncompressed contents are those of the published file.

    Parameters
    ----------
    name : str
        A key of ``SOURCES``.
    file : str
        A name in ``FILES``.
    where : object
        Origin of the contents, for the error message.
    content : bytes
        Uncompressed contents of the IDX file.

    Raises
    ------
    DataError
        If the checksum differs, or the contents are a web page.
    """
    if starts_as_web_page(content[:1024]):
        raise DataError(f"{where}: this is a web page (HTML), not an IDX file")
    expected = SOURCES[name].sha256[FILES.index(file)]
    got = hashlib.sha256(content).hexdigest()
    if got != expected:
        raise DataError(
            f"{where}: wrong checksum: expected sha256 {expected} of the uncompressed contents, "
            f"got {got}; this is not the published {name} file"
        )
