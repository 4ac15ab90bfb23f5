"""The user's cache folder, for arrays that can always be computed again.

A cache only saves time: an unreadable file counts as missing, and a failed write is ignored.
"""

from pathlib import Path

from ibpcl import checkpoints, places, storage
from ibpcl.data.dataset import DataError

# Age, in seconds, at which a temporary file counts as left behind by an interrupted write.
OLD = 3600.0


def cache_folder():
    """Return the cache folder of the user.

    Returns
    -------
    folder : pathlib.Path
        The folder of :func:`ibpcl.places.user_cache`; it may not exist yet.

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
    """Return the arrays of a cache file.

    Parameters
    ----------
    path : path-like
        File written by :func:`write_arrays`.

    Returns
    -------
    arrays : dict of str to ndarray, or None
        None if the file is missing, unreadable or damaged.
    """
    try:
        return checkpoints.load(path).arrays
    except (OSError, ValueError):
        return None


def write_arrays(path, arrays):
    """Write arrays to a cache file.

    Parameters
    ----------
    path : path-like
        File to write; its folder is created.
    arrays : dict of str to ndarray
        Arrays by name.

    Returns
    -------
    written : bool
        False if the folder or the file cannot be written.
    """
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        storage.sweep(Path(path).parent, OLD)
        checkpoints.save(path, arrays, {}, keep_previous=False)
    except OSError:
        return False
    return True
