r"""Folders of this user for files that can be made or downloaded again."""

import contextlib
import os
import stat
import sys
import tempfile
from pathlib import Path


def user_cache():
    r"""Return the user's cache folder of this package, or None if the user has no home; it need not
    exist.

    ``$XDG_CACHE_HOME/ibpcl`` if the variable holds an absolute path.  Otherwise the platform's own
    place: ``~/Library/Caches/ibpcl`` on macOS, ``%LOCALAPPDATA%\ibpcl`` on Windows,
    ``~/.cache/ibpcl`` elsewhere.
    """
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    # the XDG specification: ignore a relative path
    if os.path.isabs(xdg):
        return Path(xdg) / "ibpcl"
    try:
        home = Path.home()
    # no HOME, and a user id that no account has
    except RuntimeError:
        return None
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "ibpcl"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "ibpcl"
    return home / ".cache" / "ibpcl"


def private_temporary():
    """Return a folder below the temporary one that nobody else can write, or None; it is made if
    needed.

    For a container whose user has no home that can be written.  Others can write the temporary
    folder, so a folder of this name that is a link, or is another user's, is refused.
    """
    if not hasattr(os, "getuid"):  # Windows: a user there has a home
        return None
    path = Path(tempfile.gettempdir(), f"ibpcl-{os.getuid()}")
    with contextlib.suppress(OSError):
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
        found = path.lstat()
        if (
            stat.S_ISDIR(found.st_mode)
            and found.st_uid == os.getuid()
            and not found.st_mode & 0o022
        ):
            return path
    return None
