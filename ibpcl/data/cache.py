"""The user's cache folder, and arrays kept there that can always be made again.

A cache only saves time: what cannot be read counts as absent, and what cannot be written is not written.
"""

import hashlib
import io
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

from ibpcl.data.dataset import DataError

# After the archive comes its SHA-256: zip's own checksums miss damage to its headers.  Readers of zip skip it.
DIGEST_SIZE = hashlib.sha256().digest_size


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


def write_atomically(path, content):
    """Write a file so that a reader sees the old one or the new one, never a part.

    Parameters
    ----------
    path : path-like
        The file; its folder must exist.
    content : bytes
        Everything that it is to hold.

    Raises
    ------
    OSError
        When the file cannot be written; the old file, if any, is as it was.
    """
    path = Path(path)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)                          # mkstemp lets only its owner read
        os.replace(temporary, path)
    finally:                                                # also on Ctrl-C: leave nothing behind
        Path(temporary).unlink(missing_ok=True)


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
        content = Path(path).read_bytes()
    except OSError:
        return None
    archive, digest = content[:-DIGEST_SIZE], content[-DIGEST_SIZE:]
    if hashlib.sha256(archive).digest() != digest:
        return None
    with np.load(io.BytesIO(archive), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


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
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    archive = buffer.getvalue()
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, archive + hashlib.sha256(archive).digest())
    except OSError:
        return False
    return True
