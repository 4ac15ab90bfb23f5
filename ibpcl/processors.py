"""The number of processors that this process may use."""

import functools
import math
import os
from pathlib import Path

# of a container: microseconds of work, and of time
QUOTA = Path("/sys/fs/cgroup/cpu.max")


@functools.cache
def usable():
    """Return how many processors this process may use: more threads or processes would only wait
    for each other.

    The affinity (``taskset``, a cluster's scheduler) and the quota of a container count, where the
    system tells them.

    Returns
    -------
    processors : int
        At least 1.
    """
    if hasattr(os, "sched_getaffinity"):
        processors = len(os.sched_getaffinity(0))
    else:
        processors = os.cpu_count() or 1
    try:
        work, period = QUOTA.read_text(encoding="ascii").split()
        return (
            processors
            if work == "max"
            else min(processors, max(1, math.ceil(int(work) / int(period))))
        )
    except (OSError, ValueError):
        return processors
