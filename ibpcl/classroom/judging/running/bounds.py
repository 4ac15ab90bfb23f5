"""Bounds on the memory of the judge's process, so that one hand-in cannot stop the class."""

import contextlib
import math
import os
from pathlib import Path

import numpy as np

JUDGE_MB = 1024  # additional megabytes that judging one hand-in may allocate


@contextlib.contextmanager
def memory(most_mb):
    """Limit the additional memory of this process within a ``with`` block.

    Beyond the limit, allocations raise MemoryError.  This works on Linux; elsewhere nothing is
    limited.  Processes that are started meanwhile inherit the limit.

    Parameters
    ----------
    most_mb : float
        Megabytes of address space, in addition to the present ones.
    """
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (ImportError, OSError, ValueError):
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    bound = pages * os.sysconf("SC_PAGE_SIZE") + int(most_mb * 1024 * 1024)
    finite = [each for each in (soft, hard, bound) if each != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min(finite), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def entries(values):
    """Return the number of entries of arrays broadcast against each other.

    Parameters
    ----------
    values : sequence of ndarray or number
        Arrays of any shapes.

    Returns
    -------
    int
        Product of the largest length of each axis, even where the shapes do not broadcast.

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
