r"""Folders of the current user for files that can be recreated or downloaded again."""

import contextlib
import os
import stat
import sys
import tempfile
from pathlib import Path


def user_cache():
    r"""Return the cache folder of this package, which need not exist.

    It is ``$XDG_CACHE_HOME/ibpcl`` if the variable holds an absolute path.  Otherwise it is the
    usual folder of the platform: ``~/Library/Caches/ibpcl`` on macOS, ``%LOCALAPPDATA%\ibpcl`` on
    Windows, ``~/.cache/ibpcl`` elsewhere.

    Returns
    -------
    folder : pathlib.Path or None
        The folder; None if the user has no home folder.
    """
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    # the XDG specification requires that a relative path is ignored
    if os.path.isabs(xdg):
        return Path(xdg) / "ibpcl"
    try:
        home = Path.home()
    # HOME is not set, and no account has this user id
    except RuntimeError:
        return None
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "ibpcl"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "ibpcl"
    return home / ".cache" / "ibpcl"


def private_temporary():
    """Return a temporary folder that only this user can write to, created if needed.

    It serves containers whose user has no writable home folder.  Other users can write to the
    temporary folder.  A folder of this name that is a link, or belongs to another user, is
    therefore refused.

    Returns
    -------
    folder : pathlib.Path or None
        The folder; None if it cannot be had, and on Windows, where every user has a home folder.
    """
    if not hasattr(os, "getuid"):  # on Windows, every user has a home folder
        return None
    path = Path(tempfile.gettempdir(), f"ibpcl-{os.getuid()}")
    with contextlib.suppress(OSError):
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
        status = path.lstat()
        if (
            stat.S_ISDIR(status.st_mode)
            and status.st_uid == os.getuid()
            and not status.st_mode & 0o022
        ):
            return path
    return None
