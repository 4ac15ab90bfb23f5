"""The folder with the machine code of the kernels: its name, its completeness and its creation.

A folder belongs to one installation of the package, one kind of processor, one Python and one
Numba, from which its name is formed.  So two machines that share a home folder, or two environments
with the same ``NUMBA_CACHE_DIR``, do not interfere.

A process that must compile writes to a temporary folder and renames it when it contains all
kernels.  So a folder with its final name is complete and never changes.  Several machines may share
it over a network without locks, and a read-only folder can be used too.

Numba's files are pickles.  Anyone who can write to the folder can run code as you, so choose a
folder that others cannot write to.
"""

import atexit
import contextlib
import hashlib
import json
import os
import platform
import secrets
import shutil
import sys
import time
from pathlib import Path

import llvmlite
import numba
from llvmlite import binding

from ibpcl import places, storage

HERE = Path(__file__).parent
# file with the digests of all others
RECORD = "digests.json"
# seconds after which an unused folder is removed
UNUSED = 90 * 24 * 3600.0
# seconds after which the folder of a killed compilation is removed
LEFT = 3600.0
# Environment variable of a process that compiles some kernels into the folder of another process.
INTO = "IBPCL_KERNELS_INTO"


def processor():
    """Return name and features of the processor for which Numba compiles, as a str."""
    name = numba.config.CPU_NAME or binding.get_host_cpu_name()
    features = numba.config.CPU_FEATURES
    if features is None:
        try:
            features = binding.get_host_cpu_features().flatten()
        # LLVM does not know the features of every processor
        except RuntimeError:
            features = ""
    return f"{platform.machine()} {name} {features}"


def maker():
    """Return a digest of everything else on which the code depends, ten hexadecimal digits.

    These are the processor, Python, Numba and the installation.
    """
    # With -OO, functions have no docstrings and different bytecode.
    makings = (
        processor(),
        sys.implementation.cache_tag,
        sys.flags.optimize,
        numba.__version__,
        llvmlite.__version__,
        str(HERE),
    )
    return hashlib.sha256(repr(makings).encode()).hexdigest()[:10]


def sources():
    """Return a digest of the contents and the times of all kernel files, ten hexadecimal digits.

    Numba itself would notice a change in the file of the called function, but not in the file of a
    function that was compiled into it.  Numba rejects machine code that is older than its file, so
    the times are included.
    """
    digest = hashlib.sha256()
    for path in sorted(HERE.glob("*.py")):
        digest.update(path.read_bytes())
        digest.update(str(path.stat().st_mtime_ns).encode())
    return digest.hexdigest()[:10]


class Store:
    """A folder of machine code.

    Parameters
    ----------
    below : pathlib.Path or None
        Parent folder, which also contains the folders of other processors and versions; None if
        nothing can be stored.

    Attributes
    ----------
    folder : pathlib.Path or None
        The complete folder, under its final name.
    complete : bool
        Whether it exists with all its files unchanged.  Damaged machine code would crash the
        process.
    building : pathlib.Path or None
        The folder into which this process compiles; None before it does.
    """

    def __init__(self, below):
        self.below = below
        self.maker = maker()
        self.folder = None if below is None else below / f"ibpcl-{self.maker}-{sources()}"
        self.complete = self.folder is not None and is_whole(self.folder)
        self.building = None

    def to_read_or_write(self):
        """Return the folder in which Numba finds and stores kernels; None if there is none."""
        if self.complete:
            return self.folder
        if self.building is None and self.below is not None:
            self.building = self._begin()
        return self.building

    def _begin(self):
        if INTO in os.environ:
            return Path(os.environ[INTO])
        new = self.below / f".{self.folder.name}-{secrets.token_hex(4)}"
        try:
            new.mkdir(parents=True)
            # the time of the file system, whose clock may differ from that of this machine
            now = new.stat().st_mtime
        except OSError:
            return None
        # A process that was killed while compiling leaves its folder behind.
        for path in self.below.glob(".ibpcl-*"):
            with contextlib.suppress(OSError):
                if now - path.stat().st_mtime > LEFT:
                    shutil.rmtree(path, ignore_errors=True)
        atexit.register(self._drop, os.getpid())
        return new

    def _drop(self, process):
        """Remove the compiled code if it is incomplete, but not in a forked child."""
        if self.building is not None and os.getpid() == process:
            shutil.rmtree(self.building, ignore_errors=True)

    def publish(self):
        """Give the folder its final name, now that it contains all kernels.

        It is removed if this fails for lack of space or permission.  If another process was faster,
        the folder of that process remains.
        """
        if self.building is None or INTO in os.environ:
            return
        try:
            (self.building / RECORD).write_text(
                json.dumps(digests(self.building)), encoding="utf-8"
            )
            storage.replace(self.building, self.folder)
        except OSError:
            shutil.rmtree(self.building, ignore_errors=True)
        self.building, self.complete = None, is_whole(self.folder)
        if self.complete:
            self._remove_others()

    def _remove_others(self):
        """Remove code of other versions of this installation, and code unused for 90 days."""
        for path in self.below.glob("ibpcl-*-*"):
            with contextlib.suppress(OSError):
                outdated = path.name.startswith(f"ibpcl-{self.maker}-") and path != self.folder
                if outdated or time.time() - (path / RECORD).stat().st_mtime > UNUSED:
                    shutil.rmtree(path, ignore_errors=True)


def digests(folder):
    """Return the digests of the files of machine code in a folder.

    Parameters
    ----------
    folder : pathlib.Path
        The folder.

    Returns
    -------
    digests : dict of str to str
        SHA-256 of each file by its relative path.
    """
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.glob("**/*.nb*"))
        if path.is_file()
    }


def is_whole(folder):
    """Return whether a folder has all files of its record, unchanged; a damaged folder is removed.

    A folder that cannot be read now, such as over a network that fails for a moment, is not
    damaged: others may use it, so it is left alone.

    Parameters
    ----------
    folder : pathlib.Path
        The folder.

    Returns
    -------
    whole : bool
        False also for a folder that does not exist.
    """
    try:
        record = (folder / RECORD).read_bytes()
        found = digests(folder)
    except OSError:  # no process has finished yet, another removes it, or it cannot be read
        return False
    try:
        whole = json.loads(record) == found
    except ValueError:
        whole = False
    if whole:
        with contextlib.suppress(OSError):  # it may be read-only
            os.utime(folder / RECORD)  # mark it as used
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return whole


def choose():
    """Return the store of this process: the first folder with the code, or one that is writable.

    If ``NUMBA_CACHE_DIR`` is set, only that folder is considered.  Otherwise it is the user's cache
    folder, or a private temporary folder if the user has no writable home folder, as in some
    containers.
    """
    if numba.config.CACHE_DIR:
        below = Path(numba.config.CACHE_DIR).expanduser()
        store = Store(below)
        return store if store.complete or can_make(below) else Store(None)
    for find in (places.user_cache, places.private_temporary):
        place = find()
        if place is None:
            continue
        store = Store(place / "kernels")
        if store.complete or can_make(store.below):
            return store
    return Store(None)


def can_make(folder):
    """Return whether a folder exists or can be created, and is writable.

    Parameters
    ----------
    folder : pathlib.Path
        The folder; it is created if possible.

    Returns
    -------
    writable : bool
        True if it exists now and is writable.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


store = choose()
