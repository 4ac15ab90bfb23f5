"""Limits on what a process may use, and the giving up of privileges."""

import ctypes
import os
import struct
import sys

NOBODY = 65534
CAPABILITIES = 0x20080522                               # version 3 of the kernel's structure


def limit(seconds, memory_mb):
    """Bound processor time, memory, processes, files, their size, and forbid core dumps."""
    try:
        import resource
    except ImportError:                                   # Windows
        return
    for name, value in (("CPU", int(seconds) + 1), ("AS", memory_mb << 20), ("NPROC", 64), ("FSIZE", 1 << 20),
                        ("NOFILE", 64), ("CORE", 0)):
        which = getattr(resource, f"RLIMIT_{name}", None)
        if which is None or (name == "NPROC" and os.geteuid() not in (0, NOBODY)):
            continue                                      # it counts all of a user's processes: not for a person's own
        if name == "AS" and sys.platform == "darwin":
            continue
        hard = resource.getrlimit(which)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (value, value))


def drop_privileges(nobody):
    """Give up every capability of root, and become the user nobody if asked.

    Raises
    ------
    OSError
        If the kernel refuses.
    """
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(64):
        libc.prctl(24, capability, 0, 0, 0)               # PR_CAPBSET_DROP; those that do not exist are refused
    if nobody:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    if libc.capset(struct.pack("<Ii", CAPABILITIES, 0), struct.pack("<6I", 0, 0, 0, 0, 0, 0)):
        raise OSError(ctypes.get_errno(), "capset")


def die_with_parent(parent=None):
    """Have the kernel end this process when the one that started it ends; on Linux only.

    ``parent`` is the number of that process, if it is known: it may have ended already.
    """
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)            # PR_SET_PDEATHSIG, SIGKILL
    if parent is not None and os.name == "posix" and os.getppid() != parent:
        os._exit(1)
