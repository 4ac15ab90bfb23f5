"""Boxes hold what they promise: calls, threads, files, and the end together with the judge."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from attacking import has_tree
from classroom_common import WORKING, first, judged, needs_box
from quick import quick

from ibpcl.classroom.judging.running import bounds
from ibpcl.classroom.judging.running.cleaning import clean, without_folders
from ibpcl.classroom.judging.running.client import Ended, SubmissionError, Worker
from ibpcl.sandbox import frames, limits, processes, seccomp

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")
in_every_box = pytest.mark.parametrize("box", WORKING)
# Numbers on x86-64 and aarch64 of calls that no hand-in needs; from 424 on they are the same
# everywhere.
DANGEROUS = {
    "socket": (41, 198),
    "fork": (57, None),
    "execve": (59, 221),
    "ptrace": (101, 117),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "chmod": (90, None),
    "fchmodat": (268, 53),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "inotify_add_watch": (254, 27),
    "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "perf_event_open": (298, 241),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "keyctl": (250, 219),
    "kcmp": (312, 272),
    "process_vm_readv": (310, 270),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "clone3": (435, 435),
    "openat2": (437, 437),
    "mount_setattr": (442, 442),
    "landlock_create_ruleset": (444, 444),
    "landlock_restrict_self": (446, 446),
    "futex_waitv": (449, 449),
    "cachestat": (451, 451),
    "fchmodat2": (452, 452),
    "statmount": (457, 457),
    "listmount": (458, 458),
    "lsm_get_self_attr": (459, 459),
    "lsm_list_modules": (461, 461),
    "mseal": (462, 462),
    "setxattrat": (463, 463),
    "getxattrat": (464, 464),
    "open_tree_attr": (467, 467),
    "file_getattr": (468, 468),
    "sysinfo": (99, 179),
    "syslog": (103, 116),
    "getpriority": (140, 141),
    "getpgid": (121, 155),
    "getsid": (124, 156),
    "sched_setaffinity": (203, 122),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    "mkdirat": (258, 34),
    "unlinkat": (263, 35),
    "linkat": (265, 37),
    "renameat2": (316, 276),
    "mknodat": (259, 33),
    "ftruncate": (77, 46),
    "fallocate": (285, 47),
    "statfs": (137, 43),
    "getxattr": (191, 8),
    "vhangup": (153, 58),
    "seccomp": (317, 277),
    "personality": (135, 92),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
}
CALLER = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def errors(numbers):
    found = []
    for number in numbers.tolist():
        ctypes.set_errno(0)
        result = libc.syscall(number, 0, 0, 0, 0, 0, 0)
        found.append(ctypes.get_errno() if result == -1 else -1)
    return np.array(found)
import numpy as np
"""
COMPUTER = """
import numpy as np, scipy.linalg, scipy.special, scipy.stats, scipy.optimize, scipy.integrate
import scipy.fft
import threading
import dataclasses, collections, ctypes, tempfile, random
def compute():
    a = np.random.default_rng(1).standard_normal((200, 200))
    found = [scipy.linalg.svdvals(a)[0], np.linalg.det(a @ a.T / 200), scipy.special.digamma(2.0)]
    found.append(scipy.integrate.quad(np.exp, 0, 1)[0])
    found.append(scipy.fft.fft(a, workers=2).real.sum())
    found.append(scipy.optimize.minimize(lambda x: (x ** 2).sum(), np.ones(2)).fun)
    results = []
    threads = [threading.Thread(target=lambda: results.append(1)) for _ in range(4)]
    [thread.start() for thread in threads], [thread.join() for thread in threads]
    callback = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 5)
    return np.array(found + [float(len(results)), float(callback())])
"""


ASKER = """
import os
def ask(which, characters):
    path = "".join(map(chr, characters.tolist()))
    return (os.stat, os.lstat, os.listdir, os.readlink)[int(which)](path) and 1
"""


@pytest.fixture(scope="module")
def asked():
    """Return the worker of a box that has all functions of the tests; one for each box."""
    workers = {}

    def worker(box):
        if box not in workers:
            workers[box] = Worker(CALLER + COMPUTER + ASKER, "asked.py", box)
        return workers[box]

    yield worker
    for each in workers.values():
        each.close()


def column():
    return 0 if os.uname().machine == "x86_64" else 1


@pytest.mark.processes(reason="it is about the box")
@needs_box
@in_every_box
def test_calls_that_no_hand_in_needs_are_refused(box, asked):
    numbers = {
        name: pair[column()] for name, pair in DANGEROUS.items() if pair[column()] is not None
    }
    found = asked(box).plain("errors", (np.array(list(numbers.values())),))
    allowed = {
        name: int(error)
        for name, error in zip(numbers, found, strict=True)
        if error not in (seccomp.EPERM, seccomp.ENOSYS)
    }
    assert not allowed


@pytest.mark.slow(reason="each ends a process; other calls are refused above")
@needs_box
@in_every_box
@pytest.mark.parametrize("call", [0x40000000 + 39, 0x40000000 + 520])
def test_calls_under_x32_numbers_end_the_program(box, call):
    if column():
        pytest.skip("x86-64 only")
    with pytest.raises(Ended), Worker(CALLER, "calls.py", box) as worker:
        worker.plain("errors", (np.array([call]),))


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_filter_allows_nothing_twice_and_fits_the_kernel(machine):
    at = seccomp.MACHINES[machine][0]
    numbers = [
        pair[at]
        for pair in (*seccomp.ALLOWED.values(), *seccomp.CALLS.values())
        if pair[at] is not None
    ]
    assert len(numbers) == len(set(numbers))
    assert set(seccomp.RULES) | {"clone"} == set(seccomp.CALLS)
    assert len(seccomp.filter_program(1, machine)) // 8 < 4096
    refused = {pair[at] for pair in DANGEROUS.values()}
    assert not refused & set(numbers)


@pytest.mark.processes(reason="it is about the box")
@needs_box
@in_every_box
def test_numpy_and_scipy_compute_in_the_box_as_outside(box, asked):
    space = {}
    exec(COMPUTER, space)
    np.testing.assert_allclose(
        asked(box).plain("compute", ()), space["compute"](), rtol=1e-6, atol=1e-6
    )


@pytest.mark.processes(reason="it is about the box")
@needs_box
@in_every_box
def test_threads_are_bounded_also_when_the_judge_is_root(box):
    text = (
        "import threading, time\nthreading.stack_size(32768)\ndef count():\n    n = 0\n    try:\n"
        "        while n < 400:\n            threading.Thread(target=time.sleep, args=(60,), "
        "daemon=True).start()\n"
        "            n += 1\n    except RuntimeError:\n        pass\n    return n\n"
    )
    with Worker(text, "threads.py", box) as worker:
        try:
            assert worker.plain("count", ()) <= 2 * limits.MOST_THREADS
        except Ended as error:
            assert "threads" in error.message


@pytest.mark.processes(reason="it is about the box")
@needs_box
@in_every_box
def test_files_outside_of_the_tree_are_not_there(box, asked, tmp_path):
    if not has_tree(box):
        pytest.skip(f"{box} has no file tree of its own here")
    secret = tmp_path / "course.key"
    secret.write_text("secret")
    path = np.array(list(map(ord, str(secret))))
    for which in range(4):
        with pytest.raises(SubmissionError, match="FileNotFoundError"):
            asked(box).plain("ask", (which, path))


@pytest.mark.processes(reason="it kills the process that has started the worker")
@linux
@pytest.mark.parametrize(
    "box",
    quick(WORKING[:1] or ["none"], [*WORKING, "none"], "the kernel ends the workers of all boxes"),
)
def test_no_worker_outlives_a_judge_that_is_killed(box):
    text = (
        "import sys\nfrom ibpcl.classroom.judging.running.client import Worker\n"
        f"w = Worker('def f():\\n    while True: pass\\n', 'p.py', {box!r}, per_call=60)\n"
        "print(w.process.pid, flush=True)\nw.plain('f', ())\n"
    )
    judge = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)
    try:
        below = descendants(int(judge.stdout.readline()))
        assert all(map(lives, below))
    finally:
        judge.send_signal(signal.SIGKILL)
        judge.wait()
        judge.stdout.close()
    end = time.monotonic() + 50  # less than the limit of the call
    while any(map(lives, below)) and time.monotonic() < end:
        time.sleep(0.05)
    left = [each for each in below if lives(each)]
    for each in left:
        os.kill(each, signal.SIGKILL)
    assert not left


def descendants(process):
    found = [process]
    for each in found:
        children = Path(f"/proc/{each}/task/{each}/children")
        found += map(int, children.read_text().split()) if children.exists() else []
    return found


def lives(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@linux
def test_threads_of_this_process_are_counted():
    assert processes.usage(os.getpid()).threads >= 1
    assert processes.usage(2**22 + 5).threads == 0


def test_derivation_of_many_characters_costs_no_points():
    text = first().source() + f'\nDERIVATION = """{"naïve β " * 40_000}"""\n'
    assert len(text) > 300_000
    result = judged(text)
    assert (result.score, result.status) == (90, "graded")


@pytest.mark.parametrize("text", ["x" * 70_000, "β" * 200_000, "\ud800 alone", "a\nb\x00", "short"])
def test_texts_travel_whole(text):
    data = frames.pack({"source": text})
    header, body = frames.lengths(data[:16])
    assert frames.unpack(data[16 : 16 + header], data[16 + header :]) == {"source": text}
    assert len(data) == 16 + header + body


def test_text_that_is_too_long_is_refused_and_not_cut():
    with pytest.raises(frames.FrameError):
        frames.pack({"source": "x" * 1000}, most_header=1000)


@pytest.mark.parametrize(
    "header",
    [
        b'{"text": 3}',
        b'{"array": ["<f8", [1]]}',
        b'{"array": ["<f8", [-1]]}',
        b'{"array": ["O", [1]]}',
    ],
)
def test_forged_headers_are_refused(header):
    with pytest.raises(frames.FrameError):
        frames.unpack(header, b"abc")


def test_answers_are_bounded_by_what_is_asked():
    text = "import numpy as np\ndef f(n):\n    return np.zeros(int(n))\n"
    with Worker(text, "large.py", "none") as worker:
        assert worker.plain("f", (1000,)).size == 1000
        with pytest.raises(SubmissionError, match="FrameError"):
            worker.plain("f", (5_000_000,))
        worker.largest = 8 * 200_000
        assert worker.plain("f", (5_000_000,)).size == 5_000_000


def test_clean_leaves_nothing_that_a_terminal_obeys():
    text = clean("".join(map(chr, range(0x3000))) + "\u202e\ud800\U000e0001", most=20_000)
    assert text.isprintable()
    assert clean("Zażółć gęślą ∂L/∂μ 漢字") == "Zażółć gęślą ∂L/∂μ 漢字"
    assert clean(None) == "None"


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("No such file: '/home/ada/x y/key.txt'", "No such file: '/home/ada/x y/key.txt'"),
        ("in /usr/lib/python3/numpy/__init__.py", "in __init__.py"),
        (r"in C:\Users\ada\course\a.py", "in a.py"),
        ("dv/dmu + a/b, 1 / 2", "dv/dmu + a/b, 1 / 2"),
    ],
)
def test_folders_of_the_teacher_are_left_out(message, shown):
    if " y/" in message:
        shown = without_folders(message)  # blanks end a name: the rest may stay
        assert "/home" not in shown
    assert without_folders(message) == shown


@linux
def test_memory_of_the_judge_is_bounded_and_given_back():
    with bounds.memory(200):
        with pytest.raises(MemoryError):
            np.ones(60_000_000)
        np.ones(1_000_000)
    assert np.ones(60_000_000).size
