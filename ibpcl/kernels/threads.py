"""Threads that share the pieces of a kernel.

Each thread calls the kernel once, with a ``job`` as first argument, and the kernel loops over ``for
i in taken(job)``, the pieces of this thread.  The pieces depend only on the size of the work, so
the results do not depend on the number of threads, bit for bit.

Numba's ``parallel=True`` is not used: it multiplies the compilation time, several Python threads
must not call its threads, and they do not survive a fork.  A ``ThreadPoolExecutor`` is not used
either: a thread that waits for the interpreter's lock, or through the operating system for another
thread, is woken about 50 microseconds late, which is as long as many pieces take.  Instead, a
helper waits in compiled code, without the lock.  For a limited time it checks again and again
whether the next job is open; after that it sleeps.

The threads share three numbers, each in a separate cache line and changed by atomic additions: the
number of jobs that the team has opened, the next piece of a job, and the number of its finished
pieces.
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
LOOKS = 200_000  # checks before a thread stops waiting: about a millisecond
NAP = 2e-5  # seconds between checks for the last pieces
JOBS = 512  # jobs for which counters are allocated at once
_chosen = {"count": None}
JOB = types.UniTuple(int64, 6)  # type of a kernel's first argument, see taken()


def count():
    """Return the number of threads, at most the number of usable processors.

    It is set by :func:`set_count`, or otherwise by ``NUMBA_NUM_THREADS``.
    """
    return min(_chosen["count"] or numba.config.NUMBA_NUM_THREADS, available())


def set_count(threads):
    """Set the number of threads; the results do not depend on it.

    Parameters
    ----------
    threads : int or None
        Number of threads, at least 1; None for the default.

    Raises
    ------
    ValueError
        If the number is below 1.
    """
    if threads is not None and threads < 1:
        raise ValueError(f"threads.set_count: threads must be at least 1, got {threads}")
    _chosen["count"] = threads


@inlined
def parts(length, size):
    """Return the number of pieces of a given size that cover a length.

    Parameters
    ----------
    length : int
        The length, >= 0.
    size : int
        Size of a piece, > 0.

    Returns
    -------
    pieces : int
        The length divided by the size, rounded up.

    Examples
    --------
    >>> parts(5, 2)
    3
    """
    return -(-length // size)


@intrinsic
def _add(typing_context, address, value):
    """Add to the number at an address atomically, and return its previous value."""

    def generate(context, builder, signature, arguments):
        place = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        return builder.atomic_rmw("add", place, arguments[1], "seq_cst")

    return int64(int64, int64), generate


@inlined
def taken(job):
    """Yield the numbers of the pieces that this thread takes; each piece is taken by one thread.

    The thread that calls the kernel opens the job, and waits at the end for its helpers.  A helper
    waits for the next job.

    Parameters
    ----------
    job : tuple of int
        First argument of the kernel.

    Yields
    ------
    piece : int
        Number of the next piece.
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
    """The numbers that the threads of a job share, initially zero, with their address.

    Every job has its own.  They are allocated in blocks, because asking NumPy for an address takes
    longer than a small job.
    """

    left = ()

    def take(self):
        """Return an array (3, 8), with one number in each row, and its address."""
        if not self.left:
            block = np.zeros((JOBS, 3, CACHE_LINE // 8), np.int64)
            self.left = list(
                zip(block, range(block.ctypes.data, sys.maxsize, block[0].nbytes), strict=False)
            )
        return self.left.pop()


_counters = _Counters()


class _Job:
    """A kernel with its arguments and the numbers that its threads share."""

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
        """Process pieces until none is left."""
        self.kernel((helps, *self.fields), *self.arguments)

    def is_done(self):
        """Return whether all pieces are finished.

        A helper may still be active then, or wait for a busy processor.
        """
        return self.shared[1, 0] == self.fields[-1]


class _Team:
    """Helper threads for the thread that holds the lock ``busy``, for one job at a time."""

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
        """Help with each job, in an endless loop."""
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
            job = None  # frees its arrays
            self.asleep.append(bell)
            # checked again after the append, so that no job is missed
            if self.job is None or self.job.number <= last:
                bell.get()

    def run(self, kernel, pieces, arguments):
        """Process a job together with the helpers."""
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
    """Create a team; None if no threads are available.

    ``process`` is an argument because a forked child does not inherit the team of its parent.
    """
    try:
        return _Team(helpers)
    except RuntimeError:  # the system allows no more threads
        return None


def run(kernel, pieces, *arguments):
    """Process the pieces 0 ... ``pieces`` - 1 of a kernel, in any order, on several threads.

    The calling thread processes all of them if there is only one piece or one thread, or if the
    team is helping another thread.

    Parameters
    ----------
    kernel : callable
        The compiled function; its first argument is the job.
    pieces : int
        Number of pieces.
    *arguments
        Further arguments of the kernel.
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
