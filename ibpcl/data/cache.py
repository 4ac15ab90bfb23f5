"""The user's cache folder, and arrays kept there that can always be made again.

A cache only saves time: what cannot be read counts as absent, and what cannot be written is not written.
"""

import os
import sys
from pathlib import Path

from ibpcl import checkpoints, storage
from ibpcl.data.dataset import DataError

OLD = 3600.0                                                # seconds: what a killed write left is removed after these


def cache_folder():
    """Name the folder for files that can be made or downloaded again.

    Returns
    -------
    folder : Path
        ``$XDG_CACHE_HOME/ibpcl`` when the variable holds an absolute path; else the platform's own place:
        ``~/Library/Caches/ibpcl`` on macOS, ``%LOCALAPPDATA%\\ibpcl`` on Windows, ``~/.cache/ibpcl``
        elsewhere.  It need not exist.

    Raises
    ------
    DataError
        When the user has no home folder.
    """
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(xdg):                                  # the XDG specification: ignore a relative path
        return Path(xdg) / "ibpcl"
    try:
        home = Path.home()
    except RuntimeError as error:
        raise DataError("no home folder to cache files in; set the environment variable XDG_CACHE_HOME") from error
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "ibpcl"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "ibpcl"
    return home / ".cache" / "ibpcl"


def read_arrays(path):
    """Read the arrays kept in a cache file, or say that there are none.

    Parameters
    ----------
    path : path-like
        An ``.npz`` file.

    Returns
    -------
    arrays : dict of str to ndarray, or None
        None when the file is missing, unreadable or damaged.
    """
    try:
        return checkpoints.load(path).arrays
    except (OSError, ValueError):
        return None


def write_arrays(path, arrays):
    """Keep arrays in a cache file, if that is possible.

    Parameters
    ----------
    path : path-like
        An ``.npz`` file; its folder is made when it does not exist.
    arrays : dict of str to ndarray
        What :func:`read_arrays` gives back.

    Returns
    -------
    written : bool
        False when the folder or the file cannot be written.
    """
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        storage.sweep(Path(path).parent, OLD)
        checkpoints.save(path, arrays, {}, keep_previous=False)
    except OSError:
        return False
    return True
