"""A seccomp filter: system calls that a hand-in never needs are refused by the kernel.

Refused are sockets, new processes and programs, signals to other processes, mounts, tracing, other processes'
memory, changes of modes, owners and times, and what could go round these.  Threads stay possible.
"""

import ctypes
import os
import platform
import struct

#                    x86_64  aarch64
CALLS = {
    "socket": (41, 198), "socketpair": (53, 199), "connect": (42, 203), "bind": (49, 200),
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424), "pidfd_getfd": (438, 438),
    "tkill": (200, 130), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "unshare": (272, 97),
    "setns": (308, 268), "move_mount": (429, 429), "open_tree": (428, 428), "fsopen": (430, 430),
    "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264),
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54),
    "utime": (132, None), "utimes": (235, None), "utimensat": (280, 88), "futimesat": (261, None),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "truncate": (76, 45), "inotify_init1": (294, 26), "fanotify_init": (300, 262),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104),
    "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89), "syslog": (103, 116),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171), "sethostname": (170, 161),
    "setpriority": (141, 140), "sched_setscheduler": (144, 119), "sched_setaffinity": (203, 122),
    "sched_setparam": (142, 118), "sched_setattr": (314, 274), "ioprio_set": (251, 30), "migrate_pages": (256, 238),
    "shmget": (29, 194), "shmat": (30, 196), "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180),
    "setsid": (112, 157), "setpgid": (109, 154),
}
OWN_ONLY = {"kill": (62, 129), "tgkill": (234, 131)}    # allowed towards this process, by its number
ZERO_ONLY = {"prlimit64": (302, 261)}                   # ... which is 0 here
CLONE, CLONE3 = (56, 220), (435, 435)
MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
CLONE_THREAD = 0x10000
LOAD, EQUAL, GREATER, MASK, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST = 0, 4, 16                  # offsets in struct seccomp_data; FIRST: low half of argument 0
ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000
EPERM, ENOSYS = 1, 38


def available():
    """Return whether the filter is written for this machine."""
    return os.name == "posix" and os.uname().sysname == "Linux" and platform.machine() in MACHINES


def restrict():
    """Install the filter in this process, for good.

    Raises
    ------
    OSError
        If the kernel refuses, or the machine is none of those that the filter is written for.
    """
    if not available():
        raise OSError(f"no seccomp filter for {platform.machine()}")
    program = _program(os.getpid())
    libc = ctypes.CDLL(None, use_errno=True)
    text = ctypes.create_string_buffer(program)
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(text))
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.c_char_p(header), 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_SECCOMP)")


def _program(pid):
    """Return the filter as bytes: an instruction is a code, two jumps (if true, if false) and a constant."""
    column, architecture = MACHINES[platform.machine()]
    steps = [(LOAD, 0, 0, ARCHITECTURE), (EQUAL, 1, 0, architecture), (RETURN, 0, 0, KILL), (LOAD, 0, 0, NUMBER)]
    if column == 0:                                       # x32: the same calls under other numbers
        steps += [(GREATER, 0, 1, 0x40000000), (RETURN, 0, 0, KILL)]
    for numbers in CALLS.values():
        if numbers[column] is not None:
            steps += [(EQUAL, 0, 1, numbers[column]), (RETURN, 0, 0, ERROR | EPERM)]
    steps += [(EQUAL, 0, 1, CLONE3[column]), (RETURN, 0, 0, ERROR | ENOSYS)]     # the C library then uses clone
    steps += [(EQUAL, 0, 4, CLONE[column]), (LOAD, 0, 0, FIRST), (MASK, 0, 1, CLONE_THREAD), (RETURN, 0, 0, ALLOW),
              (RETURN, 0, 0, ERROR | EPERM)]
    for calls, allowed in ((OWN_ONLY, pid), (ZERO_ONLY, 0)):
        for numbers in calls.values():
            steps += [(EQUAL, 0, 4, numbers[column]), (LOAD, 0, 0, FIRST), (EQUAL, 0, 1, allowed),
                      (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, ERROR | EPERM)]
    steps.append((RETURN, 0, 0, ALLOW))
    return b"".join(struct.pack("HBBI", *step) for step in steps)
