"""The number of processors that this process may use."""

import functools
import math
import os
from pathlib import Path

# The quota of a container: microseconds of work, per microseconds of time.
QUOTA = Path("/sys/fs/cgroup/cpu.max")


@functools.cache
def usable():
    """Return the number of processors that this process may use.

    More threads or processes than that would only wait for each other.  The affinity (``taskset``,
    the scheduler of a cluster) and the quota of a container are taken into account where the system
    reports them.

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
