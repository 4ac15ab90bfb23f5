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
    """Call ``kernel(piece, *arguments)`` once for each piece 0 ... pieces - 1, in any order, on several threads.

    Each thread takes the next piece when it is done with one, so that a core that is busy elsewhere holds up nobody.
    """
    todo = deque(range(pieces))

    def work():
        while True:
            try:
                piece = todo.popleft()                       # atomic: no two threads get the same
            except IndexError:
                return
            kernel(piece, *arguments)

    helpers = min(count(), pieces) - 1
    if helpers < 1:
        return work()
    jobs = [_pool(os.getpid(), count() - 1).submit(work) for _ in range(helpers)]
    work()
    for job in jobs:
        if not job.cancel():                                 # one that has not begun is not needed any more
            job.result()
