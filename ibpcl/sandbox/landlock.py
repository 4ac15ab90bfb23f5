"""Landlock: withdraws the right of this process to read, write or run files outside a list.

The module makes three Linux system calls through ctypes, available since kernel 5.13.  The
restriction cannot be undone, and child processes inherit it.
"""

import ctypes
import os
import struct
import sys

# the same numbers on every architecture
CREATE = 444
ADD_RULE = 445
RESTRICT = 446
EXECUTE = 1
WRITE_FILE = 2
READ_FILE = 4
READ_DIR = 8
# number of rights over files that each version knows
RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
# bind and connect (4); abstract sockets and signals (6)
TCP = 0b11
SCOPES = 0b11
NO_NEW_PRIVILEGES = 38

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform.startswith("linux") else None


def version():
    """Return the kernel's version of Landlock.

    Returns
    -------
    int
        0 if the kernel has no Landlock.
    """
    return max(0, _libc.syscall(CREATE, None, ctypes.c_size_t(0), 1)) if _libc is not None else 0


def restrict(readable, listable=()):
    """Forbid all access to files, except reading ``readable`` and listing ``listable``.

    Parameters
    ----------
    readable : sequence of str
        Files, and folders with all their content.  Paths that do not exist are ignored.
    listable : sequence of str
        Folders whose names, but not contents, may be read.

    Raises
    ------
    OSError
        If the kernel refuses.
    """
    known = version()
    if known == 0:
        raise OSError("this kernel has no Landlock")
    rights = (1 << RIGHTS.get(known, 16)) - 1
    attributes = struct.pack("<QQQ", rights, TCP if known >= 4 else 0, SCOPES if known >= 6 else 0)
    attributes = attributes[: 8 if known < 4 else 16 if known < 6 else 24]
    ruleset = _call(CREATE, attributes, ctypes.c_size_t(len(attributes)), 0)
    try:
        for path in readable:
            _allow(ruleset, path, READ_FILE | READ_DIR | EXECUTE)
        for path in listable:
            _allow(ruleset, path, READ_DIR)
        if _libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_NO_NEW_PRIVS)")
        _call(RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset, path, rights):
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(path):
            rights &= ~READ_DIR
        _call(ADD_RULE, ruleset, 1, struct.pack("<Qi", rights, place), 0)
    finally:
        os.close(place)


def _call(*arguments):
    result = _libc.syscall(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), "Landlock refuses")
    return result
