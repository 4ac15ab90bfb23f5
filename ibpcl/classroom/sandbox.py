"""The box that a hand-in runs in: bubblewrap where it works, otherwise Landlock and seccomp, never silently nothing.

=============  ====================================================================================================
box            what it holds back
=============  ====================================================================================================
bubblewrap     own namespaces: no network, no other process, and of the file system only the standard library, NumPy,
               SciPy and the system's shared libraries, all read-only; and the seccomp filter
landlock       the same files only, by Landlock; the seccomp filter (no sockets, no new processes, no signals to
               others, no tracing); root's rights are given up
none           a separate process only: the hand-in can read and write what you can, and use the network
=============  ====================================================================================================

Time, memory, the number and size of files are limited in all three.
"""

import functools
import importlib.util
import os
import shutil
import stat
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

from ibpcl.classroom.inside import landlock, seccomp
from ibpcl.errors import UserError

NAMES = ("bubblewrap", "landlock", "none")
INSIDE = Path(__file__).parent / "inside"
MODULES = ("frames", "limits", "landlock", "seccomp", "worker")
PACKAGES = ("numpy", "scipy")
RISK = ("without a box a hand-in runs with your rights: it can read the course key and other hand-ins, change or "
        "delete files, and use the network")


class Box(NamedTuple):
    """How to start a worker: the command, its environment, and the first message to it."""

    name: str
    command: list
    environment: dict
    order: dict


def choose(name="auto", probe=None):
    """Return the name of the box to use.

    Parameters
    ----------
    name : {"auto", "bubblewrap", "landlock", "none"}
        ``auto`` takes the first that works.
    probe : callable
        ``probe(name)`` returns "" if that box works here, else why it does not.

    Raises
    ------
    UserError
        If none works, or not the one that was asked for.
    """
    if name == "none":
        return name
    if name not in ("auto", *NAMES):
        raise UserError(f"class: --sandbox must be auto, {', '.join(NAMES)}, got {name!r}")
    reasons = {}
    for each in NAMES[:2] if name == "auto" else (name,):
        reasons[each] = probe(each)
        if not reasons[each]:
            return each
    told = "; ".join(f"{each}: {reason}" for each, reason in reasons.items())
    raise UserError(f"class: no sandbox works here ({told}). Install bubblewrap (`apt-get install bubblewrap`) or use "
                    f"Linux 5.13 or later. `--sandbox none` grades without: {RISK}")


def missing(name):
    """Return why a box cannot be tried at all, "" if it can."""
    if not sys.platform.startswith("linux"):
        return "needs Linux"
    if not seccomp.available():
        return f"no seccomp filter for {os.uname().machine}"
    if name == "bubblewrap" and not shutil.which("bwrap"):
        return "bwrap is not installed"
    if name == "landlock" and not landlock.version():
        return "the kernel does not offer it"
    return ""


def make(name, seconds, memory_mb, library=None):
    """Return the :class:`Box` of a worker with these limits; ``library`` has modules as texts that it may import."""
    python = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
    readable, listable, packages = _files(python)
    order = {"modules": _sources(), "library": library or {}, "seconds": seconds, "memory_mb": memory_mb,
             "packages": packages, "landlock": name == "landlock", "seccomp": name != "none", "readable": readable,
             "listable": listable, "drop": name != "bubblewrap",
             "nobody": all(map(_open_to_all, [python, *packages.values()]))}
    environment = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "LANG": "C.UTF-8"}
    if os.name == "nt":
        environment["SYSTEMROOT"] = os.environ.get("SYSTEMROOT", "")
    inner = [python, "-I", "-S", "-B", "-c", (INSIDE / "start.py").read_text(encoding="utf-8")]
    command = _bubblewrap(readable) + inner if name == "bubblewrap" else inner
    return Box(name, command, environment, order)


@functools.cache
def _sources():
    return {name: (INSIDE / f"{name}.py").read_text(encoding="utf-8") for name in MODULES}


def _bubblewrap(readable):
    command = [shutil.which("bwrap"), "--unshare-all", "--die-with-parent", "--new-session", "--uid", "65534", "--gid",
               "65534", "--cap-drop", "ALL"]
    for path in readable:
        command += ["--dev-bind" if path.startswith("/dev/") else "--ro-bind-try", path, path]
    return [*command, "--remount-ro", "/", "--chdir", "/"]


@functools.cache
def _files(python):
    """Return what the worker may read, which folders it may list, and its packages.

    The standard library is given entry by entry, since other packages may be installed in a folder inside it.
    """
    places = {name: Path(importlib.util.find_spec(name).submodule_search_locations[0]).resolve() for name in PACKAGES}
    packages = [*places.values(), *(place.with_name(f"{place.name}.libs") for place in places.values())]
    library = Path(sysconfig.get_path("stdlib", vars=_base())).resolve()
    own = [path for path in sorted(library.iterdir()) if path.name not in ("site-packages", "dist-packages")]
    readable = [python, *own, *packages, *_shared_libraries(), "/etc/ld.so.cache", "/dev/null", "/dev/urandom"]
    return ([str(path) for path in readable if os.path.exists(path)], [str(library)],
            {name: str(place) for name, place in places.items()})


def _base():
    return {"base": sys.base_prefix, "platbase": sys.base_exec_prefix, "installed_base": sys.base_prefix,
            "installed_platbase": sys.base_exec_prefix}


def _shared_libraries():
    """Return the folders of shared libraries, without those of Python packages."""
    found = [Path(sysconfig.get_config_var("LIBDIR") or "/") / (sysconfig.get_config_var("LDLIBRARY") or "")]
    found += sorted(found[0].parent.glob("libpython*.so*"))
    for folder in ("/lib", "/lib64", "/usr/lib", "/usr/lib64"):
        if os.path.isdir(folder):
            found += [Path(folder, entry) for entry in sorted(os.listdir(folder)) if entry.endswith("-linux-gnu")
                      or ".so" in entry]
    return [path for path in found if path.is_file() or "-linux-gnu" in path.name]


def _open_to_all(path):
    """Return whether any user can reach a path."""
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in (Path(path), *Path(path).parents))
