"""A seccomp filter: the kernel refuses every system call that computing with NumPy does not need.

The list names the allowed calls, so calls of later kernels are refused as well.  The filter
refuses, among others, sockets, new processes and programs, signals to other processes, mounts and
namespaces, tracing and other processes' memory, notification about files, io_uring, keys, and file
handles.  It also refuses changes of modes, owners, times and extended attributes, and the 32-bit
calls of the same machine.  Threads are allowed.

A few calls are allowed with certain arguments only: see :data:`RULES`.
"""

import ctypes
import os
import platform
import struct

#                    x86_64  aarch64
ALLOWED = {
    # files: Landlock or the namespace restricts opening
    "read": (0, 63),
    "write": (1, 64),
    "open": (2, None),
    "close": (3, 57),
    "stat": (4, None),
    "fstat": (5, 80),
    "lstat": (6, None),
    "poll": (7, None),
    "lseek": (8, 62),
    "pread64": (17, 67),
    "pwrite64": (18, 68),
    "readv": (19, 65),
    "writev": (20, 66),
    "access": (21, None),
    "select": (23, None),
    "dup": (32, 23),
    "dup2": (33, None),
    "dup3": (292, 24),
    "pipe": (22, None),
    "pipe2": (293, 59),
    "fsync": (74, 82),
    "fdatasync": (75, 83),
    "getcwd": (79, 17),
    "readlink": (89, None),
    "getdents64": (217, 61),
    "fadvise64": (221, 223),
    "openat": (257, 56),
    "newfstatat": (262, 79),
    "readlinkat": (267, 78),
    "pselect6": (270, 72),
    "ppoll": (271, 73),
    "faccessat": (269, 48),
    "faccessat2": (439, 439),
    "statx": (332, 291),
    "close_range": (436, 436),
    # memory
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "munmap": (11, 215),
    "brk": (12, 214),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "mincore": (27, 232),
    "membarrier": (324, 283),
    "get_mempolicy": (239, 236),
    # signals to itself
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132),
    "rt_sigpending": (127, 136),
    "rt_sigtimedwait": (128, 137),
    "rt_sigsuspend": (130, 133),
    "pause": (34, None),
    "alarm": (37, None),
    "setitimer": (38, 103),
    "getitimer": (36, 102),
    "restart_syscall": (219, 128),
    # time
    "nanosleep": (35, 101),
    "clock_nanosleep": (230, 115),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "gettimeofday": (96, 169),
    "time": (201, None),
    "times": (100, 153),
    # threads
    "futex": (202, 98),
    "set_robust_list": (273, 99),
    "set_tid_address": (218, 96),
    "rseq": (334, 293),
    "sched_yield": (24, 124),
    "gettid": (186, 178),
    "arch_prctl": (158, None),
    "exit": (60, 93),
    # information about the process itself
    "getpid": (39, 172),
    "getppid": (110, 173),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "getresuid": (118, 148),
    "getresgid": (120, 150),
    "getgroups": (115, 158),
    "getrusage": (98, 165),
    "getrlimit": (97, 163),
    "uname": (63, 160),
    "getcpu": (309, 168),
    "getrandom": (318, 278),
    "exit_group": (231, 94),
}
CALLS = {
    "clone": (56, 220),
    "kill": (62, 129),
    "tgkill": (234, 131),
    "prlimit64": (302, 261),
    "ioctl": (16, 29),
    "fcntl": (72, 25),
    "prctl": (157, 167),
    "sched_getaffinity": (204, 123),
}
OWN = "own"  # in RULES: the number of this process
CLONE_THREAD = 0x10000
NEW_NAMESPACES = 0x7E020000
# call: index of an argument, values it may have
RULES = {
    "kill": (0, (OWN,)),
    "tgkill": (0, (OWN,)),
    "prlimit64": (0, (0,)),
    "sched_getaffinity": (0, (0, OWN)),
    # TCGETS, TIOCGWINSZ, FIONREAD, CLOEXEC, NBIO
    "ioctl": (1, (0x5401, 0x5413, 0x541B, 0x5450, 0x5451, 0x5421)),
    # duplicates, flags; no locks, no leases, no notification
    "fcntl": (1, (0, 1, 2, 3, 4, 1030)),
    "prctl": (0, (15, 16, 0x53564D41)),  # names of threads and of memory
}
# from here on a call is unknown to older C libraries
NEWEST = 424
MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
LOAD = 0x20
EQUAL = 0x15
GREATER_EQUAL = 0x35
ANY_BIT = 0x45
RETURN = 0x06
# offsets in struct seccomp_data
NUMBER = 0
ARCHITECTURE = 4
ARGUMENTS = 16
X32 = 0x40000000
ALLOW = 0x7FFF0000
KILL = 0x80000000
ERROR = 0x00050000
EPERM = 1
ENOSYS = 38


def available():
    """Return whether the filter supports this machine.

    Returns
    -------
    bool
    """
    return os.name == "posix" and os.uname().sysname == "Linux" and platform.machine() in MACHINES


def restrict():
    """Install the filter in this process, permanently.

    Raises
    ------
    OSError
        If the kernel refuses, or the filter does not support this machine.
    """
    if not available():
        raise OSError(f"no seccomp filter for {platform.machine()}")
    program = filter_program(os.getpid(), platform.machine())
    libc = ctypes.CDLL(None, use_errno=True)
    text = ctypes.create_string_buffer(program)
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(text))
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.c_char_p(header), 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_SECCOMP)")


def filter_program(pid, machine):
    """Return the filter of a process as bytes.

    An instruction consists of a code, two jumps (if true, if false) and a constant.

    Parameters
    ----------
    pid : int
        Id of the process.
    machine : {"x86_64", "aarch64"}
        Architecture.

    Returns
    -------
    bytes
    """
    column, architecture = MACHINES[machine]
    steps = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, architecture),  # no 32-bit calls through int 0x80
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
    ]
    if machine == "x86_64":  # x32: the same calls under other numbers
        steps += [(GREATER_EQUAL, 0, 1, X32), (RETURN, 0, 0, KILL)]
    for numbers in ALLOWED.values():
        if numbers[column] is not None:
            steps += [(EQUAL, 0, 1, numbers[column]), (RETURN, 0, 0, ALLOW)]
    for name, rule in RULES.items():
        steps += _with_argument(CALLS[name][column], rule, pid)
    steps += _clone(CALLS["clone"][column])
    steps += [
        # "not there" makes the C library use the older call
        (GREATER_EQUAL, 0, 1, NEWEST),
        (RETURN, 0, 0, ERROR | ENOSYS),
        (RETURN, 0, 0, ERROR | EPERM),
    ]
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def _with_argument(number, rule, pid):
    """Return the steps that allow a call if one argument has one of the given values."""
    index, values = rule
    # the low half: the kernel reads no more of these
    steps = [(LOAD, 0, 0, ARGUMENTS + 8 * index)]
    for value in values:
        steps += [(EQUAL, 0, 1, pid if value == OWN else value), (RETURN, 0, 0, ALLOW)]
    steps.append((RETURN, 0, 0, ERROR | EPERM))
    return [(EQUAL, 0, len(steps), number), *steps]


def _clone(number):
    """Return the steps that allow new threads, but no processes or namespaces; clone3 is refused as
    unknown.
    """
    steps = [
        (LOAD, 0, 0, ARGUMENTS),
        (ANY_BIT, 0, 2, CLONE_THREAD),
        (ANY_BIT, 1, 0, NEW_NAMESPACES),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, ERROR | EPERM),
    ]
    return [(EQUAL, 0, len(steps), number), *steps]
