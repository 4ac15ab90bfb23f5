"""Image sets by name: loading, verifying and listing them."""

import os
from pathlib import Path
from typing import NamedTuple

from ibpcl import shell
from ibpcl.data import cache, glyphs
from ibpcl.data.dataset import DataError, Dataset, check_dataset
from ibpcl.data.download import fetch
from ibpcl.data.sources import SOURCES, FileStatus, data_folder, examine, find_files, given_folder

__all__ = ["FileStatus", "Status", "available", "fetch", "load", "status", "verify"]


class Status(NamedTuple):
    """The state of an image set.

    Attributes
    ----------
    name : str
        The name it is loaded by.
    folder : Path or None
        Where its files are or would be.
    files : tuple of FileStatus
        One for each file; for rendered sets the cache file, if there is one.
    usable : bool
        Whether :func:`load` would give it without a download.
    summary : str
        A few words for a table: ``"verified"``, ``"rendered when asked for"``, ``"missing"``,
        ``"incomplete"`` or ``"damaged"``.
    """

    name: str
    folder: Path | None
    files: tuple[FileStatus, ...]
    usable: bool
    summary: str


def available():
    """Return the names that :func:`load` knows, the offline default first.

    >>> available()
    ('glyphs', 'glyph_digits', 'mnist', 'fashion_mnist', 'notmnist')
    """
    return (*glyphs.CHARACTERS, *SOURCES)


def load(name, data_dir=None, seed=0):
    """Load an image set.

    ``glyphs`` (letters) and ``glyph_digits`` are rendered here and need no files.  The others are
    read from a folder and their checksums verified.  Files that are missing are downloaded when the
    folder is the user's cache; a folder that the user has named is never written to.

    Parameters
    ----------
    name : str
        One of :func:`available`.
    data_dir : path-like, optional
        The folder that holds ``mnist/``, ``fashion_mnist/`` and ``notmnist/``; else the environment
        variable ``IBPCL_DATA``; else the user's cache.
    seed : int, default 0
        For rendered sets: which draw of the distortions.  The others do not depend on it.

    Returns
    -------
    dataset : Dataset
        Bytes, 0 = background and 255 = ink.

    Raises
    ------
    DataError
        When the name is not known, a file is missing or damaged, or a download is needed and fails.

    Examples
    --------
    >>> load("glyphs").train_images.shape  # doctest: +SKIP
    (10000, 28, 28)
    """
    _check_name(name, "registry.load")
    if name in glyphs.CHARACTERS:
        return glyphs.load(name, seed)
    if given_folder(data_dir) is None and None in find_files(name).values():
        fetch(name)
    arrays = _read(name, data_dir)
    return check_dataset(Dataset(name, *arrays, SOURCES[name].class_names))


def verify(name, data_dir=None):
    """Make sure that all files of an image set are the published ones, and return their folder.

    Raises
    ------
    DataError
        At the first file that is missing, malformed or not the published one; rendered sets have
        none.
    """
    _check_name(name, "registry.verify")
    if name in glyphs.CHARACTERS:
        return glyphs.cache_path(name, 0).parent
    _read(name, data_dir)
    return _folder_of(name, data_dir)


def _folder_of(name, data_dir):
    """Return the folder in which the files of an image set lie, or would."""
    found = [path.parent for path in find_files(name, data_dir).values() if path is not None]
    return Path(os.path.commonpath(found)) if found else data_folder(data_dir) / name


def status(data_dir=None):
    """Return the :class:`Status` of every image set, in the order of :func:`available`; nothing is
    downloaded or drawn.

    Every file found is read and its checksum taken: about a second.
    """
    return tuple(
        _rendered_status(name) if name in glyphs.CHARACTERS else _file_status(name, data_dir)
        for name in available()
    )


def _check_name(name, where):
    if name not in available():
        raise DataError(f"{where}: name must be one of {', '.join(available())}, got {name!r}")


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
    given = given_folder(data_dir)  # a wrong one is refused
    try:
        folder = _folder_of(name, given)
        files = examine(name, given)[1]
    # no home, or a folder that may not be looked into
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


def _rendered_status(name):
    try:
        path = glyphs.cache_path(name, 0)
    except DataError:  # no folder for a cache
        return Status(name, None, (), True, "rendered when asked for")
    files = (FileStatus(path.name, path, ""),) if cache.read_arrays(path) is not None else ()
    return Status(name, path.parent, files, True, "cached" if files else "rendered when asked for")
