"""Pieces of a kernel, done by several threads.

Why not Numba's ``parallel=True``: it multiplies the time of compilation, its threads may not be called by several
threads of Python's, and they do not survive a fork.  Here Python's own threads call compiled code, or BLAS, which works
without the interpreter's lock.  The pieces are cut by the size of the work alone, so results do not depend on how many
threads there are, bit for bit.
"""

import functools
import math
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba

QUOTA = Path("/sys/fs/cgroup/cpu.max")                       # of the container: microseconds of work, and of time
_chosen = {"count": None}


@functools.cache
def quota():
    """Return how many cores the container may use; infinity where it is not limited."""
    try:
        work, period = QUOTA.read_text(encoding="ascii").split()
        return math.inf if work == "max" else max(1, math.ceil(int(work) / int(period)))
    except (OSError, ValueError):
        return math.inf


def available():
    """Return how many cores this process may use: more threads would only wait for each other."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, quota())


def count():
    """Return the number of threads: what :func:`set_count` said, else ``NUMBA_NUM_THREADS``; at most all cores."""
    return min(_chosen["count"] or numba.config.NUMBA_NUM_THREADS, available())


def set_count(threads):
    """Choose the number of threads, at least 1, or None for the default; the results do not depend on it."""
    if threads is not None and threads < 1:
        raise ValueError(f"threads.set_count: threads must be at least 1, got {threads}")
    _chosen["count"] = threads


@functools.lru_cache(maxsize=1)
def _pool(process, helpers):
    """Make the threads that help; ``process`` because a forked child does not inherit its parent's."""
    return ThreadPoolExecutor(helpers, thread_name_prefix="ibpcl-kernels")


def each(function, arguments):
    """Return ``[function(*one) for one in arguments]``; the calls are made by several threads, in any order.

    >>> each(pow, [(2, 3), (3, 2)])
    [8, 9]
    """
    arguments = list(arguments)
    threads, results, turns = count(), [None] * len(arguments), iter(range(len(arguments)))

    def work():
        for i in turns:                                      # each number comes once, to whichever thread asks
            results[i] = function(*arguments[i])

    started = []
    try:
        for _ in range(min(threads, len(arguments)) - 1):
            started.append(_pool(os.getpid(), threads - 1).submit(work))
    except RuntimeError:                                     # no thread can be started: this one does it all
        pass
    work()
    for future in started:
        if not future.cancel():                              # one that has not begun has nothing to do any more
            future.result()
    return results


def pieces(length, size):
    """Return slices of at most ``size`` that cover a length.

    >>> pieces(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return [slice(first, min(first + size, length)) for first in range(0, length, size)]
