"""The user's cache folder, and arrays kept there that can always be made again.

A cache only saves time: what cannot be read counts as absent, and what cannot be written is not
written.
"""

from pathlib import Path

from ibpcl import checkpoints, places, storage
from ibpcl.data.dataset import DataError

# seconds: the age of what a killed write left
OLD = 3600.0


def cache_folder():
    """Return the folder of :func:`ibpcl.places.user_cache`.

    Raises
    ------
    DataError
        If the user has no home folder.
    """
    folder = places.user_cache()
    if folder is None:
        raise DataError(
            "no home folder to cache files in; set the environment variable XDG_CACHE_HOME"
        )
    return folder


def read_arrays(path):
    """Return the arrays of a cache file by name, or None if it is missing, unreadable or
    damaged.
    """
    try:
        return checkpoints.load(path).arrays
    except (OSError, ValueError):
        return None


def write_arrays(path, arrays):
    """Write arrays for :func:`read_arrays`; return False if the folder or the file cannot be
    written.
    """
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        storage.sweep(Path(path).parent, OLD)
        checkpoints.save(path, arrays, {}, keep_previous=False)
    except OSError:
        return False
    return True
