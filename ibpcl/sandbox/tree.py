"""A private file system tree, which contains only the files that a hand-in may read.

Landlock forbids reading and listing, but a process may still ask whether a file exists, how large
it is and when it was written.  In a mount namespace without other files, there is nothing to ask
about.  Root may create one, and so may any user whose kernel allows user namespaces; elsewhere only
Landlock is used.
"""

import ctypes
import os
import struct

NEW_MOUNTS = 0x00020000
NEW_USER = 0x10000000
PRIVATE = 1 << 18
RECURSIVE = 1 << 14
BIND = 1 << 12
NO_SUID = 2
DETACH = 2
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
MOUNT_SETATTR = 442
APPLY_BELOW = 0x8000
CURRENT_FOLDER = -100
READ_ONLY_NO_SUID = 1 | 2
NOBODY = 65534
PLACES = ("/tmp", "/var/tmp", "/mnt", "/run", "/srv")  # the folder in which the tree is assembled


def enter(readable):
    """Move this process into a read-only tree of the given files and folders.

    Parameters
    ----------
    readable : list of str
        Absolute paths; folders with all their content.

    Returns
    -------
    bool
        Whether it was possible; if not, the process sees the same files as before.

    Raises
    ------
    OSError
        If the process has entered the new tree but cannot leave the old one.
    """
    paths = _outermost(readable)
    place = next((path for path in PLACES if _is_free(path, paths)), None)
    pivot = PIVOT_ROOT.get(os.uname().machine)
    libc = ctypes.CDLL(None, use_errno=True)
    if place is None or pivot is None or not _unshare(libc):
        return False
    mounted = False
    try:
        _call(libc.mount, None, b"/", None, ctypes.c_ulong(PRIVATE | RECURSIVE), None)
        _call(libc.mount, b"tmpfs", place.encode(), b"tmpfs", ctypes.c_ulong(NO_SUID), b"mode=0755")
        mounted = True
        for path in paths:
            _bind(libc, path, place)
        attributes = struct.pack("<QQQQ", READ_ONLY_NO_SUID, 0, 0, 0)
        _call(
            libc.syscall,
            ctypes.c_long(MOUNT_SETATTR),
            CURRENT_FOLDER,
            place.encode(),
            APPLY_BELOW,
            attributes,
            ctypes.c_size_t(len(attributes)),
        )
        os.chdir(place)
        _call(libc.syscall, ctypes.c_long(pivot), b".", b".")
    except OSError:
        os.chdir("/")
        if mounted:
            libc.umount2(place.encode(), DETACH)
        return False
    # the old root, which pivot_root put on top
    _call(libc.umount2, b".", DETACH)
    os.chdir("/")
    return True


def _is_free(path, needed):
    """Return whether a folder exists and hides none of the needed paths when something is mounted
    on it.
    """
    return (
        os.path.isdir(path)
        and not os.path.islink(path)
        and not any(each == path or each.startswith(path + "/") for each in needed)
    )


def _unshare(libc):
    """Move this process into a private mount namespace; return whether it was possible."""
    if os.geteuid() == 0 and libc.unshare(NEW_MOUNTS) == 0:
        return True
    user = os.geteuid()
    group = os.getegid()
    if libc.unshare(NEW_USER | NEW_MOUNTS):
        return False
    texts = {"setgroups": "deny", "uid_map": f"{NOBODY} {user} 1", "gid_map": f"{NOBODY} {group} 1"}
    try:
        for name, text in texts.items():
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    except OSError:
        return False
    return True


def _outermost(paths):
    """Return the paths that are beneath none of the others, in order."""
    outermost = []
    for path in sorted(map(os.path.normpath, paths), key=lambda path: path.split("/")):
        if not (outermost and path.startswith(outermost[-1] + "/")):
            outermost.append(path)
    return outermost


def _bind(libc, source, place):
    target = place + source
    if os.path.isdir(source):
        os.makedirs(target, 0o755, exist_ok=True)
    elif os.path.exists(source):
        os.makedirs(os.path.dirname(target), 0o755, exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    else:
        return
    _call(
        libc.mount, source.encode(), target.encode(), None, ctypes.c_ulong(BIND | RECURSIVE), None
    )


def _call(function, *arguments):
    if function(*arguments):
        raise OSError(ctypes.get_errno(), "the kernel refuses a private tree")
