"""Bounds on the judge's own process: what one hand-in makes it allocate costs that student's grade,
not the class.
"""

import contextlib
import math
import os
from pathlib import Path

import numpy as np

JUDGE_MB = 1024  # for one hand-in, on top of what the process holds before


@contextlib.contextmanager
def memory(most_mb):
    """Have allocations fail with MemoryError once this process holds so much more than now.

    Works on Linux; elsewhere nothing is bounded.  Processes started meanwhile inherit the bound.

    Parameters
    ----------
    most_mb : float
        Megabytes of address space.
    """
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (ImportError, OSError, ValueError):
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    bound = pages * os.sysconf("SC_PAGE_SIZE") + int(most_mb * 1024 * 1024)
    known = [each for each in (soft, hard, bound) if each != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min(known), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def entries(values):
    """Return the number of entries that arrays may have together once they are broadcast.

    Parameters
    ----------
    values : sequence of ndarray or number

    Examples
    --------
    >>> entries([np.ones((5, 1)), np.ones(3), 2.0])
    15
    """
    shapes = [np.shape(value)[::-1] for value in values]
    longest = max(map(len, shapes), default=0)
    return math.prod(
        max((shape[axis] for shape in shapes if axis < len(shape)), default=1)
        for axis in range(longest)
    )
