"""The box that a hand-in runs in: bubblewrap if it works, otherwise Landlock and seccomp.

A hand-in never runs without a box unless the teacher asks for it.

==========  =======================================================================================
box         restrictions
==========  =======================================================================================
bubblewrap  own namespaces: no network, no other process, and of the file system only the standard
            library, NumPy, SciPy and the system's shared libraries, all read-only; and the seccomp
            filter
landlock    the same files only, by Landlock; the seccomp filter (no sockets, no new processes, no
            signals to others, no tracing).  The existence, size and times of other files are
            visible to a hand-in that guesses their paths.
none        a separate process only: the hand-in can read and write what you can, and use the
            network
==========  =======================================================================================

Landlock is what protects where bubblewrap cannot make namespaces: in most containers, and on
systems that forbid them to users.  All three limit time, memory, the number of threads, and the
number and size of files.  If the judge runs as root, a worker under bubblewrap has no rights
outside its namespace; under the others it becomes another user if that user can reach the
interpreter.  When the judge ends, its workers end.
"""

import functools
import importlib
import importlib.util
import itertools
import os
import shutil
import stat
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

from ibpcl.errors import UserError
from ibpcl.sandbox import landlock, seccomp
from ibpcl.sandbox.limits import MOST_THREADS, NOBODY

NAMES = ("bubblewrap", "landlock", "none")
HERE = Path(__file__).parent
# the modules of the child side, in the order of their imports
MODULES = ("frames", "limits", "landlock", "seccomp", "child")
PACKAGES = ("numpy", "scipy")
# modules that load all shared libraries of the packages
LOADING = ("numpy.random", "scipy.special", "scipy.linalg", "scipy.integrate")
# bytes of a file that a child may write
MOST_FILE = 1 << 20
MOST_OPEN_FILES = 64
# user ids that systemd reserves for no service
FIRST_USER = 0x70000000
USERS = 1 << 27
USERS_PER_JUDGE = 32
NOT_LINUX = "needs Linux"
NO_BUBBLEWRAP = "bwrap is not installed"
NO_LANDLOCK = "the kernel does not offer it"
ADVICE = {
    NOT_LINUX: "grade on Linux, for instance in a virtual machine",
    NO_BUBBLEWRAP: "install bubblewrap (`apt-get install bubblewrap`)",
    NO_LANDLOCK: "use Linux 5.13 or later, with Landlock switched on",
}
VISIBLE = (
    "under `landlock` a hand-in cannot read your files or use the network, but it can find out the "
    "size and times of a file whose path it guesses; bubblewrap hides them (`apt-get install "
    "bubblewrap`)"
)
RISK = (
    "without a box a hand-in runs with your rights: it can read the course key and other "
    "hand-ins, change or delete files, and use the network"
)
# How a child without a box begins; the path is that of its modules.
PROGRAM = "import sys; sys.path{change}{path!r}; from ibpcl.sandbox.child import main; main()"


_started = itertools.count()


class Start(NamedTuple):
    """The start of a child.

    Attributes
    ----------
    command : list of str
        Command line.
    order : dict
        The first frame: the program, its limits, and its box.
    environment : dict of str to str or None
        Environment variables; None for those of this process.
    texts : dict of str to str or None
        Modules of the child side as texts; None if the child imports them.
    folder : str or None
        Its current folder; None for that of this process.
    quiet : bool
        Whether its standard error is discarded.
    counted : bool
        Whether the kernel limits its threads, so that the parent need not count them.
    """

    command: list
    order: dict
    environment: dict | None = None
    texts: dict | None = None
    folder: str | None = None
    quiet: bool = True
    counted: bool = False


def unboxed(program, path, isolated=False, bounds=None):
    """Return the start of a child without a box, with the rights of this process.

    Parameters
    ----------
    program : str
        Module whose class ``Program`` answers the requests.
    path : list of str
        Folders of modules.
    isolated : bool
        Whether the child has only the standard library besides, and is quiet.  If not, it has
        exactly these folders, and its output goes to the standard error of this process.
    bounds : dict of str to int, optional
        Limits for :func:`ibpcl.sandbox.limits.limit`.

    Returns
    -------
    Start
    """
    change = " += " if isolated else "[:] = "
    options = ["-I", "-S", "-B"] if isolated else []
    command = [sys.executable, *options, "-c", PROGRAM.format(change=change, path=path)]
    order = {
        "program": program,
        "texts": {},
        "bounds": bounds or {},
        "box": None,
        "parent": os.getpid(),
    }
    return Start(command, order, quiet=isolated)


def choose(name="auto", probe=None):
    """Return the name of the box to use.

    Parameters
    ----------
    name : {"auto", "bubblewrap", "landlock", "none"}
        The requested box; ``auto`` takes the first one that works.
    probe : callable
        ``probe(name)`` returns the reason why a box does not work here, or an empty string.

    Returns
    -------
    str
        One of :data:`NAMES`.

    Raises
    ------
    UserError
        If the requested box does not work, or none does.
    """
    if name == "none":
        return name
    if name not in ("auto", *NAMES):
        raise UserError(f"class: `sandbox` must be auto, {', '.join(NAMES)}, got {name!r}")
    reasons = {}
    for each in NAMES[:2] if name == "auto" else (name,):
        reasons[each] = probe(each)
        if not reasons[each]:
            return each
    problems = "; ".join(f"{each}: {reason}" for each, reason in reasons.items())
    advice = [words for reason, words in ADVICE.items() if reason in reasons.values()] or [
        "install NumPy and SciPy with pip in a separate environment, or grade on another machine"
    ]
    raise UserError(
        f"class: no sandbox works here ({problems}). To do: {', or '.join(advice)}. `sandbox` none "
        f"grades without: {RISK}"
    )


def missing(name):
    """Return the reason why a box cannot be tried at all.

    Parameters
    ----------
    name : str
        One of :data:`NAMES`.

    Returns
    -------
    str
        Empty if it can be tried.
    """
    if not sys.platform.startswith("linux"):
        return NOT_LINUX
    if not seccomp.available():
        return f"no seccomp filter for {os.uname().machine}"
    if name == "bubblewrap" and not shutil.which("bwrap"):
        return NO_BUBBLEWRAP
    if name == "landlock" and not landlock.version():
        return NO_LANDLOCK
    return ""


def boxed(name, program, texts, seconds, memory_mb):
    """Return the start of a child in a box.

    Parameters
    ----------
    name : str
        One of :data:`NAMES`.
    program : str
        Module, among the texts, whose class ``Program`` answers the requests.
    texts : dict of str to str
        Name to text of the modules that the child may import, besides the standard library, NumPy
        and SciPy.
    seconds : float
        Processor time.
    memory_mb : int
        Megabytes of memory.

    Returns
    -------
    Start
    """
    python = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
    readable, listable, packages = _files(python)
    is_root = sys.platform.startswith("linux") and os.geteuid() == 0
    reaches = is_root and name != "bubblewrap" and _is_open_to_all([python, *packages.values()])
    user = _unused_user() if reaches else None
    # the kernel counts the threads of a user: only one that runs nothing else can be limited, and
    # never root, not even in a namespace
    counted = user is not None or (name == "bubblewrap" and not is_root)
    order = {
        "program": program,
        "texts": texts,
        "packages": packages,
        "bounds": {
            "CPU": int(seconds) + 1,
            "AS": int(memory_mb) << 20,
            "FSIZE": MOST_FILE,
            "NOFILE": MOST_OPEN_FILES,
            "CORE": 0,
            **({"NPROC": MOST_THREADS} if counted else {}),
        },
        "box": name,
        "readable": readable,
        "listable": listable,
        "user": user,
        "parent": os.getpid(),
    }
    environment = {
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "LANG": "C.UTF-8",
    }
    if "LD_LIBRARY_PATH" in os.environ:
        environment["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
    if os.name == "nt":
        environment["SYSTEMROOT"] = os.environ.get("SYSTEMROOT", "")
    modules = _sources()
    command = [python, "-I", "-S", "-B", "-c", modules["start"]]
    if name == "bubblewrap":
        command = _bubblewrap(readable) + command
    folder = "/" if os.name == "posix" else None
    return Start(command, order, environment, modules, folder, counted=counted)


@functools.cache
def _sources():
    return {name: (HERE / f"{name}.py").read_text(encoding="utf-8") for name in ("start", *MODULES)}


def _bubblewrap(readable):
    """Return the part of the command before the interpreter."""
    command = [shutil.which("bwrap"), "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    command += ["--unshare-all", "--uid", str(NOBODY), "--gid", str(NOBODY)]
    for path in readable:
        command += ["--dev-bind" if path.startswith("/dev/") else "--ro-bind-try", path, path]
    return [*command, "--remount-ro", "/", "--chdir", "/"]


def _unused_user():
    """Return an unused user id, different for each worker that runs at the same time."""
    return FIRST_USER + (os.getpid() * USERS_PER_JUDGE + next(_started) % USERS_PER_JUDGE) % USERS


@functools.cache
def _files(python):
    """Return the files that the worker may read, the folders that it may list, and its packages.

    The standard library is listed entry by entry, because other packages may be installed in a
    folder inside it.
    """
    places = {
        name: Path(importlib.util.find_spec(name).submodule_search_locations[0]).resolve()
        for name in PACKAGES
    }
    beside = [place.with_name(f"{place.name}.libs") for place in places.values()]
    packages = [
        *places.values(),
        *(folder for folder in beside if folder.is_dir() and not folder.is_symlink()),
    ]
    library = Path(sysconfig.get_path("stdlib", vars=_base())).resolve()
    own = [
        path
        for path in sorted(library.iterdir())
        if path.name not in ("site-packages", "dist-packages")
    ]
    readable = [python, *own, *packages, *_shared_libraries()]
    readable += _loaded_libraries([str(path) for path in readable if os.path.isdir(path)])
    readable += ["/etc/ld.so.cache", "/dev/null", "/dev/urandom"]
    return (
        list(dict.fromkeys(str(path) for path in readable if os.path.exists(path))),
        [str(library)],
        {name: str(place) for name, place in places.items()},
    )


def _loaded_libraries(covered):
    """Return the shared libraries of the folders from which NumPy and SciPy load theirs here.

    conda and many clusters have them in ``PREFIX/lib``.  Folders that are covered, and other
    packages, are left out.
    """
    if not sys.platform.startswith("linux"):
        return []
    for name in LOADING:
        importlib.import_module(name)
    folders = set()
    for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines():
        folder, _, name = line.partition("/")[2].rpartition("/")
        if ".so" in name and not {"site-packages", "dist-packages"} & set(folder.split("/")):
            folders.add(f"/{folder}")
    return [
        path
        for folder in sorted(folders)
        if not any(f"{folder}/".startswith(f"{place}/") for place in covered)
        for path in sorted(Path(folder).glob("*.so*"))
        if _is_library(path)
    ]


def _is_library(path):
    """Return whether a file is a shared library by its first bytes."""
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def _base():
    return {
        "base": sys.base_prefix,
        "platbase": sys.base_exec_prefix,
        "installed_base": sys.base_prefix,
        "installed_platbase": sys.base_exec_prefix,
    }


def _shared_libraries():
    """Return the folders of shared libraries, without those of Python packages."""
    folders = [
        Path(sysconfig.get_config_var("LIBDIR") or "/")
        / (sysconfig.get_config_var("LDLIBRARY") or "")
    ]
    folders += sorted(folders[0].parent.glob("libpython*.so*"))
    for folder in ("/lib", "/lib64", "/usr/lib", "/usr/lib64"):
        if os.path.isdir(folder):
            folders += [
                Path(folder, entry)
                for entry in sorted(os.listdir(folder))
                if entry.endswith("-linux-gnu") or ".so" in entry
            ]
    return [path for path in folders if path.is_file() or "-linux-gnu" in path.name]


def _is_open_to_all(paths):
    """Return whether any user can reach paths, and read the file or folder at their end."""
    return all(
        os.stat(path).st_mode & stat.S_IROTH
        and all(parent.stat().st_mode & stat.S_IXOTH for parent in Path(path).parents)
        for path in paths
    )
