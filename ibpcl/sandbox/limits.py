"""Limits on resources, dropping of privileges, and termination together with the parent."""

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


def limit(bounds):
    """Set the resource limits of this process, for good.

    Parameters
    ----------
    bounds : dict of str to int
        Limit by the name of the resource, such as ``"CPU"`` (seconds) or ``"AS"`` (bytes of address
        space).  Resources that the system does not have are ignored.
    """
    try:
        import resource
    except ImportError:  # Windows
        return
    for name, value in bounds.items():
        which = getattr(resource, f"RLIMIT_{name}", None)
        if which is None or (name == "AS" and sys.platform == "darwin"):
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
    libc = ctypes.CDLL(None, use_errno=True)
    if user is not None:
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


def end_with(parent, namespace=False):
    """Make the kernel end this process when its parent ends, or end it now if that has happened.

    Call this after :func:`drop_privileges`: the kernel resets the setting when the user changes.

    Parameters
    ----------
    parent : int
        Process id of the parent.
    namespace : bool
        Whether this process is in a namespace that does not show the parent.
    """
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None, use_errno=True).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    visible = (0, 1, parent) if namespace else (parent,)
    if os.name == "posix" and os.getppid() not in visible:
        os._exit(1)
