"""Windows or macOS as the package sees them, simulated on Linux for a whole process and those that
it starts.

Python imports this file at its start under the name ``sitecustomize``.  Only modules of the package
see the other system: Python's own library and other packages keep the real one.  So this shows that
the package asks for nothing that is absent there, and that its other ways work.  It does not show
how Numba, Matplotlib or the file system behave.

Modules that only POSIX has cannot be imported.  Names that only POSIX has are not in ``os`` and
``signal``.  There is no ``/proc``, ``/sys`` and ``/dev/shm``.  Processes start by spawn, without
``preexec_fn``.  File names with characters that Windows forbids are refused.
"""

import builtins
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import types

SYSTEM = os.environ.get("SIMULATED_SYSTEM", "windows")
POSIX_MODULES = {
    "fcntl",
    "grp",
    "pwd",
    "resource",
    "termios",
    "tty",
    "pty",
    "posix",
    "syslog",
    "readline",
}
POSIX_NAMES = {
    "os": {
        "chown",
        "fchmod",
        "fork",
        "forkpty",
        "geteuid",
        "getegid",
        "getgid",
        "getgroups",
        "getloadavg",
        "getpgid",
        "getpriority",
        "getuid",
        "initgroups",
        "killpg",
        "lchown",
        "mkfifo",
        "mknod",
        "nice",
        "openpty",
        "pidfd_open",
        "posix_spawn",
        "sched_getaffinity",
        "sched_setaffinity",
        "setegid",
        "seteuid",
        "setgid",
        "setgroups",
        "setpgid",
        "setpriority",
        "setresuid",
        "setsid",
        "setuid",
        "statvfs",
        "sysconf",
        "uname",
        "wait",
        "waitid",
        "wait3",
        "wait4",
        "O_CLOEXEC",
        "O_DIRECTORY",
        "O_NOFOLLOW",
        "O_NONBLOCK",
        "O_PATH",
    },
    "signal": {
        "SIGALRM",
        "SIGHUP",
        "SIGKILL",
        "SIGPIPE",
        "SIGQUIT",
        "SIGSTOP",
        "SIGCHLD",
        "SIGUSR1",
        "SIGUSR2",
        "ITIMER_REAL",
        "alarm",
        "pause",
        "pthread_kill",
        "pthread_sigmask",
        "setitimer",
        "sigwait",
    },
}
LINUX_NAMES = {
    "os": {"sched_getaffinity", "sched_setaffinity", "pidfd_open", "O_PATH"},
    "signal": set(),
}
HIDDEN = POSIX_NAMES if SYSTEM == "windows" else LINUX_NAMES
CHANGED = {
    "os": {"name": "nt"} if SYSTEM == "windows" else {},
    "sys": {"platform": "win32" if SYSTEM == "windows" else "darwin"},
}
ABSENT = re.compile(r"/(proc|sys|dev/shm)(/|$)")
FORBIDDEN = re.compile(
    r'[<>:"|?*\x00-\x1f\\]|[ .]$|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)', re.IGNORECASE
)

# Of Python's own library, where a file may be opened for the package.
LIBRARY = {"codecs", "genericpath", "io", "os", "pathlib", "pathlib._local", "posixpath", "shutil"}


class Narrow(types.ModuleType):
    """A module that lacks some names and has other values for some; the rest is the module's
    own.
    """

    def __init__(self, module, hidden, changed):
        super().__init__(module.__name__)
        super().__setattr__("_real", (module, hidden, changed))

    def __getattribute__(self, name):
        if name.startswith("__") and name != "__stdout__":
            return super().__getattribute__(name)
        module, hidden, changed = super().__getattribute__("_real")
        if name in hidden:
            raise AttributeError(
                f"module {module.__name__!r} has no attribute {name!r} on {SYSTEM}"
            )
        return changed[name] if name in changed else getattr(module, name)

    def __setattr__(self, name, value):
        setattr(super().__getattribute__("_real")[0], name, value)

    def __dir__(self):
        module, hidden, _ = super().__getattribute__("_real")
        return [name for name in dir(module) if name not in hidden]


NARROW = {
    module.__name__: Narrow(
        module, HIDDEN.get(module.__name__, set()), CHANGED.get(module.__name__, {})
    )
    for module in (os, signal, sys)
}


def is_ours(name):
    """Return whether a module of this name is the package's, but not one that only this process's
    tests have.
    """
    return name == "ibpcl" or name.startswith("ibpcl.")


real_import = builtins.__import__


def narrow_import(name, globals=None, locals=None, fromlist=(), level=0):
    """Import as Python does; the package gets the simulated modules."""
    if globals is not None and level == 0 and is_ours(str(globals.get("__name__"))):
        if SYSTEM == "windows" and name.partition(".")[0] in POSIX_MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        if name in NARROW or (name.partition(".")[0] in NARROW and not fromlist):
            return NARROW[name.partition(".")[0]]
    return real_import(name, globals, locals, fromlist, level)


def ask_first(event, arguments):
    """Refuse what the simulated system has not: an audit hook, which sees each file before it is
    opened.
    """
    if event not in ("open", "os.mkdir", "os.rename", "os.listdir"):
        return
    path = arguments[1] if event == "os.rename" else arguments[0]
    if not isinstance(path, str | bytes):
        return
    path = os.fsdecode(path)
    if ABSENT.match(path):
        frame = sys._getframe(1)
        while frame is not None and frame.f_globals.get("__name__") in LIBRARY:
            frame = frame.f_back
        if frame is not None and is_ours(frame.f_globals.get("__name__", "")):
            raise FileNotFoundError(2, f"No such file or directory on {SYSTEM}", path)
    if SYSTEM != "windows" or event == "os.listdir" or ABSENT.match(path):
        return
    writes = event != "open" or any(letter in str(arguments[1] or "") for letter in "wax+")
    if writes and FORBIDDEN.search(os.path.basename(path.rstrip("/"))):
        raise OSError(22, f"Invalid argument: a name that {SYSTEM} forbids", path)


real_popen = subprocess.Popen.__init__


def start(self, command, *rest, **options):
    """Start a process that sees the simulated system, too, even one that ignores the
    environment.
    """
    if options.get("preexec_fn") is not None and SYSTEM == "windows":
        raise ValueError("preexec_fn is not supported on Windows platforms")
    if SYSTEM == "windows":
        options.pop("start_new_session", None)
    if isinstance(command, list) and "-I" in command and "-c" in command:
        place = command.index("-c") + 1
        here = f"import runpy; runpy.run_path({__file__!r})\n"
        command = [*command[:place], here + command[place], *command[place + 1 :]]
    real_popen(self, command, *rest, **options)


real_context = multiprocessing.context.DefaultContext.get_context


def spawn_only(self, method=None):
    """Return a context; only spawn is safe on macOS, and there is nothing else on Windows."""
    if method not in (None, "spawn"):
        raise ValueError(f"cannot find context for {method!r}")
    return real_context(self, "spawn")


multiprocessing.set_start_method("spawn", force=True)
builtins.__import__ = narrow_import
subprocess.Popen.__init__ = start
multiprocessing.context.DefaultContext.get_context = spawn_only
multiprocessing.get_context = multiprocessing.context._default_context.get_context
sys.addaudithook(ask_first)
