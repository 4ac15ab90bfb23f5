"""The user's cache folder, and arrays kept there that can always be made again.

A cache only saves time: what cannot be read counts as absent, and what cannot be written is not written.
"""

import os
import sys
from pathlib import Path

from ibpcl import checkpoints, storage
from ibpcl.data.dataset import DataError

OLD = 3600.0                                                # seconds: the age of what a killed write left


def cache_folder():
    r"""Return the folder for files that can be made or downloaded again; it need not exist.

    ``$XDG_CACHE_HOME/ibpcl`` if the variable holds an absolute path; else the platform's own place:
    ``~/Library/Caches/ibpcl`` on macOS, ``%LOCALAPPDATA%\ibpcl`` on Windows, ``~/.cache/ibpcl`` elsewhere.

    Raises
    ------
    DataError
        If the user has no home folder.
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
    """Return the arrays of a cache file by name, or None if it is missing, unreadable or damaged."""
    try:
        return checkpoints.load(path).arrays
    except (OSError, ValueError):
        return None


def write_arrays(path, arrays):
    """Write arrays for :func:`read_arrays`; return False if the folder or the file cannot be written."""
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        storage.sweep(Path(path).parent, OLD)
        checkpoints.save(path, arrays, {}, keep_previous=False)
    except OSError:
        return False
    return True
