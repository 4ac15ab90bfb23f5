"""The project under audit: its copies, which are changed, and its folder, which is not."""

import hashlib
import os
import shutil
from pathlib import Path

from ibpcl.errors import UserError

# Folders that are made again when they are needed, or that belong to the environment.
LEFT_OUT = frozenset(
    {".git", ".hg", ".svn", ".tox", ".nox", ".venv", "venv", "node_modules", "__pycache__"}
    | {".pytest_cache", ".hypothesis", ".mypy_cache", ".ruff_cache", ".ipynb_checkpoints"}
)
# Files that tools write while tests run.
TRACES = frozenset({"__pycache__", ".pytest_cache", ".hypothesis", ".coverage", "coverage.xml"})
MOST_BYTES = 4 << 30
ENOUGH = 5  # names that a message lists


def files_in(folder):
    """Yield the files of a project, relative to its folder, without caches and environments.

    Parameters
    ----------
    folder : path-like
        The folder.

    Yields
    ------
    pathlib.PurePath
    """
    for path, folders, names in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if name not in LEFT_OUT and not os.path.exists(os.path.join(path, name, "pyvenv.cfg"))
        )
        for name in sorted(names):
            yield Path(path, name).relative_to(folder)
        for name in folders:  # a link to a folder is not followed
            if os.path.islink(os.path.join(path, name)):
                yield Path(path, name).relative_to(folder)


def copy(folder, target):
    """Copy a project, without caches, environments and the history of versions.

    Links keep their target; those inside the project lead into the copy.

    Parameters
    ----------
    folder, target : path-like
        The project, and the folder to create.

    Raises
    ------
    UserError
        If the project is too large.
    """
    folder = Path(folder)
    size = 0
    for name in files_in(folder):
        source = folder / name
        made = Path(target, name)
        made.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            inner = Path(os.path.realpath(source))
            inside = inner.is_relative_to(folder.resolve())
            leads = Path(target, inner.relative_to(folder.resolve())) if inside else inner
            made.symlink_to(leads)
            continue
        if not source.is_file():  # a socket or a pipe
            continue
        size += source.stat().st_size
        if size > MOST_BYTES:
            raise UserError(
                f"audit: the project {folder} has more than {MOST_BYTES >> 30} GB, and each worker "
                "works on a copy; name a smaller folder with `project`"
            )
        shutil.copy2(source, made)


def contents(folder):
    """Return a digest of every file of a project.

    Parameters
    ----------
    folder : path-like
        The folder.

    Returns
    -------
    dict of str to str
    """
    found = {}
    for name in files_in(folder):
        path = Path(folder, name)
        if name.name in TRACES or name.suffix in (".pyc", ".nbi", ".nbc"):
            continue
        try:
            data = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
        except OSError:
            continue
        found[name.as_posix()] = hashlib.sha256(data).hexdigest()
    return found


def stamps(folder):
    """Return size and time of every file of a project, which tell quickly what has changed.

    Parameters
    ----------
    folder : path-like
        The folder.

    Returns
    -------
    dict of str to tuple
    """
    found = {}
    for name in files_in(folder):
        if name.name not in TRACES:
            status = os.lstat(Path(folder, name))
            found[name.as_posix()] = (status.st_size, status.st_mtime_ns)
    return found


def changes(before, after):
    """Return what has changed between two states of a folder, as words.

    Parameters
    ----------
    before, after : dict
        From :func:`contents` or :func:`stamps`.

    Returns
    -------
    changed, new : list of str
        Files that were changed or removed, and new files.
    """
    changed = [name for name, state in before.items() if after.get(name) != state]
    return changed, [name for name in after if name not in before]


def listed(names):
    """Return some names as words, and how many more there are.

    Parameters
    ----------
    names : list of str
        The names.

    Returns
    -------
    str
    """
    more = f" and {len(names) - ENOUGH} more" if len(names) > ENOUGH else ""
    return ", ".join(names[:ENOUGH]) + more
