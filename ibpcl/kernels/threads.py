"""The pieces of a kernel, done by several threads.

A kernel is called once by each thread, with a ``job`` as its first argument, and does ``for i in
taken(job)``: the pieces that fall to this thread.  Pieces are cut by the size of the work alone, so
results do not depend on how many threads there are, bit for bit.

Why not Numba's ``parallel=True``: it multiplies the time of compilation, its threads may not be
called by several threads of Python's, and they do not survive a fork.  Why not a
``ThreadPoolExecutor``: a thread that waits for the interpreter's lock, or for another one by way of
the operating system, is woken some 50 microseconds late, as long as many a piece takes.  So a
helper waits in compiled code, without the lock: it looks again and again, for a limited time,
whether the next job is open, and sleeps after that.

What the threads share are three numbers in cache lines of their own, each changed by one atomic
addition: how many jobs the team has opened; of a job, which piece is next; and how many of its
pieces are done.
"""

import functools
import os
import queue
import sys
import threading
import time

import numba
import numpy as np
from llvmlite import ir
from numba import int64, types
from numba.extending import intrinsic

from ibpcl.blas_threads import limit_helper
from ibpcl.kernels.compilation import inlined
from ibpcl.processors import usable as available

CACHE_LINE = 64  # bytes
LOOKS = 200_000  # about a millisecond
NAP = 2e-5  # seconds
JOBS = 512  # that get their counters at once
_chosen = {"count": None}
JOB = types.UniTuple(int64, 6)  # what a kernel is told of its job


def count():
    """Return the number of threads: what :func:`set_count` said, else ``NUMBA_NUM_THREADS``; at
    most all cores.
    """
    return min(_chosen["count"] or numba.config.NUMBA_NUM_THREADS, available())


def set_count(threads):
    """Choose the number of threads, at least 1, or None for the default; the results do not depend
    on it.
    """
    if threads is not None and threads < 1:
        raise ValueError(f"threads.set_count: threads must be at least 1, got {threads}")
    _chosen["count"] = threads


@inlined
def parts(length, size):
    """Return how many pieces of ``size`` cover a length.

    >>> parts(5, 2)
    3
    """
    return -(-length // size)


@intrinsic
def _add(typing_context, address, value):
    """Add to the number at an address, in one step for all threads; return what was there."""

    def generate(context, builder, signature, arguments):
        place = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        return builder.atomic_rmw("add", place, arguments[1], "seq_cst")

    return int64(int64, int64), generate


@inlined
def taken(job):
    """Yield the numbers of the pieces that this thread takes: each comes once, to whichever thread
    asks.

    The thread that calls the kernel opens the job, and waits at the end for those that help; a
    helper waits for the next job.
    """
    helps, opened, number, following, done, pieces = job
    if not helps:
        _add(opened, 1)
    i = _add(following, 1)
    while i < pieces:
        yield i
        _add(done, 1)
        i = _add(following, 1)
    for _ in range(LOOKS):
        if (_add(opened, 0) > number) if helps else (_add(done, 0) == pieces):
            break


class _Counters(threading.local):
    """The numbers that the threads of a job share, all zero, and their address: others for every
    job.

    A block of them is made at a time, for asking NumPy for an address takes longer than a small
    job.
    """

    left = ()

    def take(self):
        """Return an array (3, 8), a number in each row, and where it begins."""
        if not self.left:
            block = np.zeros((JOBS, 3, CACHE_LINE // 8), np.int64)
            self.left = list(
                zip(block, range(block.ctypes.data, sys.maxsize, block[0].nbytes), strict=False)
            )
        return self.left.pop()


_counters = _Counters()


class _Job:
    """A kernel with its arguments, and what its threads share: in what :func:`taken` reads, all are
    numbers.
    """

    def __init__(self, kernel, pieces, arguments, opened=None, number=1):
        self.kernel = kernel
        self.arguments = arguments
        self.number = number
        self.shared, following = _counters.take()
        self.fields = (
            opened or following + 2 * CACHE_LINE,
            number,
            following,
            following + CACHE_LINE,
            pieces,
        )

    def work(self, helps):
        """Do pieces until none is left."""
        self.kernel((helps, *self.fields), *self.arguments)

    def is_done(self):
        """Return whether all pieces are done; a helper may still be at work, or wait for its turn
        on a busy core.
        """
        return self.shared[1, 0] == self.fields[-1]


class _Team:
    """Threads that help whichever thread has the lock ``busy``, with one job at a time."""

    def __init__(self, helpers):
        self.busy = threading.Lock()
        self.opened = np.zeros(CACHE_LINE // 8, np.int64)
        self.job = None
        self.error = None
        self.asleep = []
        self.opened_at = self.opened.ctypes.data
        for _ in range(helpers):
            threading.Thread(target=self.help, name="ibpcl-kernels", daemon=True).start()

    def help(self):
        """Help with each job, for ever."""
        limit_helper()
        bell = queue.SimpleQueue()
        last = 0
        while True:
            job = self.job
            if job is not None and job.number > last:
                try:
                    job.work(1)
                except BaseException as error:  # the caller raises it
                    self.error = error
                last = job.number
                continue
            job = None  # or its arrays would not be free
            self.asleep.append(bell)
            # after it was said, so that no job is overslept
            if self.job is None or self.job.number <= last:
                bell.get()

    def run(self, kernel, pieces, arguments):
        """Do a job together with the helpers."""
        self.error, self.job = (
            None,
            _Job(kernel, pieces, arguments, self.opened_at, self.opened.item(0) + 1),
        )
        try:
            while self.asleep:
                self.asleep.pop().put(None)
            self.job.work(0)
            while not self.job.is_done():
                if self.error is not None:
                    raise self.error
                time.sleep(NAP)
        finally:
            self.job = None


@functools.cache
def _team(process, helpers):
    """Make a team, None without threads; ``process`` because a forked child does not inherit its
    parent's.
    """
    try:
        return _Team(helpers)
    except RuntimeError:  # the system gives no more threads
        return None


def run(kernel, pieces, *arguments):
    """Do the pieces 0 ... ``pieces`` - 1 of a kernel, in any order, on several threads.

    The calling thread does all of them where there is but one, and while the team helps another
    thread.
    """
    if pieces == 0:
        return
    threads = count() if pieces > 1 else 1
    team = _team(os.getpid(), threads - 1) if threads > 1 else None
    if team is None or not team.busy.acquire(blocking=False):
        _Job(kernel, pieces, arguments).work(0)
        return
    try:
        team.run(kernel, pieces, arguments)
    finally:
        team.busy.release()
