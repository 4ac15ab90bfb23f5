"""Limits on resources, dropping of privileges, and termination together with the judge."""

import contextlib
import ctypes
import os
import signal
import struct
import sys

NOBODY = 65534
CAPABILITIES = 0x20080522  # version 3 of the kernel's structure
MOST_THREADS = 64
# for prctl
PARENT_DEATH_SIGNAL = 1
DROP_FROM_BOUNDING_SET = 24


def limit(seconds, memory_mb, count_threads):
    """Limit processor time, memory, threads, and number and size of files; forbid core dumps.

    Parameters
    ----------
    seconds : float
        Processor time.
    memory_mb : float
        Megabytes of address space.
    count_threads : bool
        Whether to limit threads.  The kernel counts the threads of a user, so this must be False
        under an account that runs other processes.
    """
    try:
        import resource
    except ImportError:  # Windows
        return
    bounds = {
        "CPU": int(seconds) + 1,
        "AS": int(memory_mb) << 20,
        "FSIZE": 1 << 20,
        "NOFILE": 64,
        "CORE": 0,
    }
    if count_threads:
        bounds["NPROC"] = MOST_THREADS
    if sys.platform == "darwin":
        del bounds["AS"]
    for name, value in bounds.items():
        which = getattr(resource, f"RLIMIT_{name}", None)
        if which is None:
            continue
        hard = resource.getrlimit(which)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (value, value))


def drop_privileges(user):
    """Give up every capability, and become another user if this is root.

    Parameters
    ----------
    user : int or None
        An unused user id; None keeps the user.  If the id does not exist, as in a container with
        few ids, the process becomes the user ``nobody``.

    Raises
    ------
    OSError
        If the kernel refuses.
    """
    if not sys.platform.startswith("linux"):
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() == 0 and user is not None:
        for capability in range(64):
            libc.prctl(DROP_FROM_BOUNDING_SET, capability, 0, 0, 0)  # unknown ones are refused
        with contextlib.suppress(PermissionError):
            os.setgroups([])
        try:
            _become(user)
        except OSError:
            _become(NOBODY)
    if libc.capset(struct.pack("<Ii", CAPABILITIES, 0), struct.pack("<6I", 0, 0, 0, 0, 0, 0)):
        raise OSError(ctypes.get_errno(), "capset")


def _become(user):
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def end_with_parent(parent):
    """End this process together with its parent, or now if the parent has ended.

    Parameters
    ----------
    parent : int or None
        Id of the parent process; None if unknown.
    """
    if parent is not None and os.name == "posix":
        end_with(parent)
        if os.getppid() != parent:
            os._exit(1)


def end_with(parent):
    """Make the kernel end this process when the judge ends for any reason.

    Call this after :func:`drop_privileges`: the kernel resets the setting when the user changes.

    Parameters
    ----------
    parent : int
        Process id of the judge.
    """
    if not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None, use_errno=True).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    # 0, 1: the judge is outside of this namespace
    if os.getppid() not in (0, 1, parent):
        raise SystemExit("the judge has ended")
