"""The folder of the kernels' machine code: its name, whether it is whole, and how it comes to be.

A folder belongs to one installation of the package, one kind of processor, one Python and one
Numba: its name is made of them.  So two machines that share a home folder, or two environments with
one ``NUMBA_CACHE_DIR``, never take each other's code for damage.

A process that has to compile writes to a folder of its own and renames it when all kernels are in
it.  So a folder with its final name is complete and never changes: several machines may share it
over a network without locks, and a folder that can only be read is used as well.

Numba's files are pickles.  Who can write to the folder can run code as you: choose no folder that
others can write to.
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
# in the folder: the digest of each other file
RECORD = "digests.json"
# seconds after which a folder is removed
UNUSED = 90 * 24 * 3600.0
# seconds: the age of what a killed compilation left
LEFT = 3600.0
# Set for a process that compiles some of the kernels into the folder of another one.
INTO = "IBPCL_KERNELS_INTO"


def processor():
    """Return the name and the features of the processor that Numba compiles for."""
    name = numba.config.CPU_NAME or binding.get_host_cpu_name()
    features = numba.config.CPU_FEATURES
    if features is None:
        try:
            features = binding.get_host_cpu_features().flatten()
        # LLVM does not know those of every processor
        except RuntimeError:
            features = ""
    return f"{platform.machine()} {name} {features}"


def maker():
    """Return ten hexadecimal digits for what else the code depends on: processor, Python, Numba,
    installation.
    """
    # With -OO functions have no docstrings, and other bytecode.
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
    """Return ten hexadecimal digits for the contents of all kernels and the times of their files.

    Numba itself would notice a change of the file of the function that is called, but not of a
    function in another file that was compiled into it.  It refuses what is older than the file, so
    times count, too.
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
    below : Path or None
        The folder in which it lies, among those of other processors and versions; None where
        nothing can be kept.

    Attributes
    ----------
    folder : Path or None
        The complete folder, under its final name.
    complete : bool
        Whether it is there with all its files as they were written: damaged machine code would end
        the process.
    building : Path or None
        The folder into which this process compiles; None before it does.
    """

    def __init__(self, below):
        self.below = below
        self.maker = maker()
        self.folder = None if below is None else below / f"ibpcl-{self.maker}-{sources()}"
        self.complete = self.folder is not None and is_whole(self.folder)
        self.building = None

    def to_read_or_write(self):
        """Return the folder in which Numba looks for a kernel, and keeps it; None if there is
        none.
        """
        if self.complete:
            return self.folder
        if self.building is None and self.below is not None:
            self.building = self._begin()
        return self.building

    def _begin(self):
        if INTO in os.environ:
            return Path(os.environ[INTO])
        # A process that was killed while compiling has left its folder behind.
        for path in self.below.glob(".ibpcl-*"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > LEFT:
                    shutil.rmtree(path, ignore_errors=True)
        path = self.below / f".{self.folder.name}-{secrets.token_hex(4)}"
        try:
            path.mkdir(parents=True)
        except OSError:
            return None
        atexit.register(self._drop, os.getpid())
        return path

    def _drop(self, process):
        """Remove what was compiled, if not all kernels were; not in a forked child."""
        if self.building is not None and os.getpid() == process:
            shutil.rmtree(self.building, ignore_errors=True)

    def publish(self):
        """Give the folder its final name, now that all kernels are in it; without room, or access,
        it is dropped.

        If another process was faster, its folder stays.
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
        """Remove the code of other versions of this installation's kernels, and what nobody has
        used for long.
        """
        for path in self.below.glob("ibpcl-*-*"):
            with contextlib.suppress(OSError):
                outdated = path.name.startswith(f"ibpcl-{self.maker}-") and path != self.folder
                if outdated or time.time() - (path / RECORD).stat().st_mtime > UNUSED:
                    shutil.rmtree(path, ignore_errors=True)


def digests(folder):
    """Return the digest of each file of machine code in a folder, by its path in it."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.glob("**/*.nb*"))
        if path.is_file()
    }


def is_whole(folder):
    """Return whether a folder has the files of its record, as they were written; a damaged one is
    removed.
    """
    try:
        recorded = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):  # no process has finished yet
        return False
    except (OSError, ValueError):
        recorded = None
    try:
        if recorded == digests(folder):
            with contextlib.suppress(OSError):  # perhaps it can only be read
                os.utime(folder / RECORD)  # it is used
            return True
    # it is being removed, or cannot be read
    except OSError:
        pass
    shutil.rmtree(folder, ignore_errors=True)
    return False


def choose():
    """Return the store of this process: in the first place that has the code, or where it can be
    written.

    The user's choice is ``NUMBA_CACHE_DIR``, and nothing else is tried then.  Otherwise it is the
    user's cache folder; or a private one among the temporary files, if the user has no home that
    can be written, as in some containers.
    """
    if numba.config.CACHE_DIR:
        below = Path(numba.config.CACHE_DIR)
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
    """Return whether a folder is there, or can be made, and can be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


store = choose()
