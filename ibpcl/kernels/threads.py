"""A pool of threads that run the pieces of a kernel.

Why not Numba's ``parallel=True``: its OpenMP threads and those of BLAS wait for work by spinning, and on a machine with
no core to spare each waits for the other (matrix products then took ten times as long); and it multiplies the time of
compilation.  Compiled code without the interpreter's lock needs no more than Python's own threads.
"""

import functools
import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import numba

CALLS = 4                                                    # a thread, where there are enough pieces
_chosen = {"count": None}


def count():
    """Return the number of threads: what :func:`set_count` said, else ``NUMBA_NUM_THREADS``, else all cores."""
    return _chosen["count"] or numba.config.NUMBA_NUM_THREADS


def set_count(threads):
    """Choose the number of threads, at least 1, or None for the default; the results do not depend on it."""
    if threads is not None and threads < 1:
        raise ValueError(f"threads.set_count: threads must be at least 1, got {threads}")
    _chosen["count"] = threads


@functools.lru_cache(maxsize=1)
def _pool(process, helpers):
    """Make the helper threads; ``process`` because a forked child does not inherit its parent's threads."""
    return ThreadPoolExecutor(helpers, thread_name_prefix="ibpcl-kernels")


def run(kernel, pieces, *arguments):
    """Do the pieces 0 ... pieces - 1 by calls of ``kernel(begin, end, *arguments)``, in any order, on several threads.

    Each call does the pieces begin ... end - 1, one after another: a call costs some microseconds.  One thread makes
    but one call.  Several make some calls each, and take the next when they are done with one, so that a core that is
    busy elsewhere holds up nobody.
    """
    calls = 1 if count() == 1 else min(pieces, CALLS * count())
    todo = deque((i * pieces // calls, (i + 1) * pieces // calls) for i in range(calls if pieces else 0))

    def work():
        while True:
            try:
                begin, end = todo.popleft()                  # atomic: no two threads get the same
            except IndexError:
                return
            kernel(begin, end, *arguments)

    helpers = min(count(), len(todo)) - 1
    if helpers < 1:
        return work()
    jobs = [_pool(os.getpid(), count() - 1).submit(work) for _ in range(helpers)]
    work()
    for job in jobs:
        if not job.cancel():                                 # one that has not begun is not needed any more
            job.result()
