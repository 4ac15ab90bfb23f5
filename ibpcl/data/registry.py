"""Image sets by name: loading, verifying and listing them."""

import os
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from ibpcl import shell
from ibpcl.data import cache, cifar, glyphs
from ibpcl.data.dataset import DataError, Dataset, check_dataset
from ibpcl.data.download import fetch as _fetch
from ibpcl.data.sources import SOURCES, FileStatus, data_folder, examine, find_files, given_folder

__all__ = ["FileStatus", "Status", "available", "fetch", "load", "status", "verify"]


class Status(NamedTuple):
    """State of an image set.

    Attributes
    ----------
    name : str
        Name by which the set is loaded.
    folder : pathlib.Path or None
        Folder of its files, existing or not.
    files : tuple of FileStatus
        One per file; for a rendered set its cache file, if there is one.
    usable : bool
        Whether :func:`load` can return it without a download.
    summary : str
        ``"verified"``, ``"cached"``, ``"rendered when asked for"``, ``"missing"``, ``"incomplete"``
        or ``"damaged"``, for a table.
    """

    name: str
    folder: Path | None
    files: tuple[FileStatus, ...]
    usable: bool
    summary: str


def available():
    """Return the names that :func:`load` accepts, the offline default first.

    >>> available()[:5]
    ('glyphs', 'glyph_digits', 'tiny_glyphs', 'cluttered_glyphs', 'mnist')
    """
    return (*glyphs.CHARACTERS, *SOURCES, *cifar.ARCHIVES)


def fetch(name, data_dir=None, progress=False):
    """Download an image set: :func:`ibpcl.data.download.fetch`, for all sets that have mirrors.

    Parameters
    ----------
    name : str
        Name of the image set.
    data_dir : path-like, optional
        Folder in which the folder ``name`` is created.
    progress : bool
        Whether to show a progress bar on standard error for every file.

    Returns
    -------
    folder : pathlib.Path
        Folder of the files.

    Raises
    ------
    DataError
        If the name is unknown, the download fails, or the set is not downloaded by this package.
    """
    if name in cifar.ARCHIVES:
        raise DataError(f"{name} is not downloaded by this package; {_how_to_get(name, data_dir)}")
    _check_name(name)
    return _fetch(name, data_dir, progress)


def _how_to_get(name, data_dir):
    place = data_folder(data_dir) / name / cifar.ARCHIVES[name].file
    return f"get the binary version from https://www.cs.toronto.edu/~kriz/cifar.html as {place}"


def _archive_of(name, data_dir):
    """Return the path of the archive of CIFAR-10 or CIFAR-100, or raise DataError."""
    path = cifar.find(name, data_folder(data_dir))
    if path is None:
        raise DataError(f"{name}: the archive is missing; {_how_to_get(name, data_dir)}")
    return path


def load(name: str, data_dir: str | PathLike | None = None, seed: int = 0) -> Dataset:
    """Return an image set.

    ``glyphs`` (letters), ``glyph_digits``, ``tiny_glyphs`` (letters of 4 x 4 pixels) and
    ``cluttered_glyphs`` (shifted letters among pieces of others) are rendered here and need no
    files.  The others are read from a folder, and their checksums are
    verified.  Missing files are downloaded if the folder is the user's cache; nothing is ever
    written to a folder that the user has chosen.

    Parameters
    ----------
    name : str
        One of :func:`available`.
    data_dir : path-like, optional
        Folder that contains ``mnist/``, ``fashion_mnist/`` and ``notmnist/``.  If not given, the
        environment variable ``IBPCL_DATA`` is used, else the user's cache.
    seed : int
        Seed of the distortions of a rendered set; the others do not depend on it.

    Returns
    -------
    dataset : Dataset
        Bytes, 0 = background and 255 = ink.

    Raises
    ------
    DataError
        If the name is unknown, a file is missing or damaged, or a download fails.

    Examples
    --------
    >>> load("glyphs").train_images.shape  # doctest: +SKIP
    (10000, 28, 28)
    """
    _check_name(name)
    if name in glyphs.CHARACTERS:
        return glyphs.load(name, seed)
    if name in cifar.ARCHIVES:
        return cifar.read(name, _archive_of(name, data_dir))
    if given_folder(data_dir) is None and None in find_files(name).values():
        fetch(name)
    train_images, train_labels, test_images, test_labels = _read(name, data_dir)
    return check_dataset(
        Dataset(
            name,
            train_images,
            train_labels,
            test_images,
            test_labels,
            SOURCES[name].class_names,
        )
    )


def verify(name, data_dir=None):
    """Return the folder of an image set after verifying all its files.

    Parameters
    ----------
    name : str
        One of :func:`available`.
    data_dir : path-like, optional
        Folder of image sets.  If not given, the environment variable ``IBPCL_DATA`` is used, else
        the user's cache.

    Returns
    -------
    folder : pathlib.Path
        Folder of the files; for a rendered set the folder of its cache file.

    Raises
    ------
    DataError
        If the name is unknown, or a file is missing, malformed or not the published one.
    """
    _check_name(name)
    if name in glyphs.CHARACTERS:
        return glyphs.cache_path(name, 0).parent
    if name in cifar.ARCHIVES:
        path = _archive_of(name, data_dir)
        cifar.checked(name, path)
        return path.parent
    _read(name, data_dir)
    return _folder_of(name, data_dir)


def _folder_of(name, data_dir):
    """Return the folder in which the files of an image set are, or would be."""
    folders = [path.parent for path in find_files(name, data_dir).values() if path is not None]
    return Path(os.path.commonpath(folders)) if folders else data_folder(data_dir) / name


def status(data_dir=None):
    """Return the state of every image set, without downloading or drawing anything.

    Every existing file is read and its checksum computed, which takes about a second.

    Parameters
    ----------
    data_dir : path-like, optional
        Folder of image sets.  If not given, the environment variable ``IBPCL_DATA`` is used, else
        the user's cache.

    Returns
    -------
    states : tuple of Status
        In the order of :func:`available`.
    """
    return tuple(
        _rendered_status(name)
        if name in glyphs.CHARACTERS
        else _archive_status(name, data_dir)
        if name in cifar.ARCHIVES
        else _file_status(name, data_dir)
        for name in available()
    )


def _check_name(name):
    """Raise DataError unless there is an image set of this name."""
    if name not in available():
        raise DataError(
            f"the name of an image set must be one of {', '.join(available())}, got {name!r}"
        )


def _read(name, data_dir):
    """Return the four arrays of an image set, verified."""
    arrays, files = examine(name, data_dir)
    where = [] if data_dir is None else ["--data-dir", str(data_dir)]
    command = f"`{shell.command_line(['ibpcl', 'data', 'fetch', name, *where])}`"
    if missing := [file.file for file in files if file.path is None]:
        raise DataError(
            f"{data_folder(data_dir) / name}: missing {', '.join(missing)} (plain or .gz); put "
            f"the files there, name another folder with `data_dir` or IBPCL_DATA, or run {command}"
        )
    if problems := [file.problem for file in files if file.problem]:
        raise DataError(f"{problems[0]}; replace it, for example with {command}")
    return arrays.values()


def _file_status(name, data_dir):
    given = given_folder(data_dir)  # raises DataError if it is not a path
    try:
        folder = _folder_of(name, given)
        files = examine(name, given)[1]
    # no home folder, or a folder without permission to read
    except (DataError, OSError) as error:
        return Status(name, None, (), False, f"missing: {error}")
    wrong = [file.problem for file in files if file.problem]
    summary = (
        "verified"
        if not wrong
        else "damaged"
        if set(wrong) - {"missing"}
        else "missing"
        if len(wrong) == len(files)
        else "incomplete"
    )
    return Status(name, folder, files, not wrong, summary)


def _archive_status(name, data_dir):
    file = cifar.ARCHIVES[name].file
    try:
        path = cifar.find(name, data_folder(data_dir))
    except DataError as error:  # no home folder
        return Status(name, None, (), False, f"missing: {error}")
    if path is None:
        status = FileStatus(file, None, "missing")
        return Status(name, data_folder(data_dir) / name, (status,), False, "missing")
    try:
        cifar.checked(name, path)
    except DataError as error:
        return Status(name, path.parent, (FileStatus(file, path, str(error)),), False, "damaged")
    return Status(name, path.parent, (FileStatus(file, path, ""),), True, "verified")


def _rendered_status(name):
    try:
        path = glyphs.cache_path(name, 0)
    except DataError:  # no cache folder
        return Status(name, None, (), True, "rendered when asked for")
    files = (FileStatus(path.name, path, ""),) if cache.read_arrays(path) is not None else ()
    return Status(name, path.parent, files, True, "cached" if files else "rendered when asked for")
