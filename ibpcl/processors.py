"""The number of processors that this process may use."""

import functools
import math
import os
from pathlib import Path

# The list of control groups of this process on Linux, and the folder of their settings.
GROUPS = Path("/proc/self/cgroup")
SETTINGS = Path("/sys/fs/cgroup")


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
    return min([processors, *(max(1, math.ceil(quota)) for quota in quotas())])


def quotas():
    """Return the quotas of the control groups of this process, in processors.

    A group is limited by its own quota and by those of all groups that contain it. Version 2 has
    them in ``cpu.max``, version 1 in two files of the controller ``cpu``. In a container, the
    outermost group that can be seen is its own.

    Returns
    -------
    quotas : list of float
        Microseconds of work per microsecond of time, above 0; empty without any.
    """
    try:
        lines = GROUPS.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        lines = []
    files = {SETTINGS / "cpu.max"}
    for line in lines:
        _, controllers, group = (*line.split(":", 2), "", "")[:3]
        inner = Path(group.lstrip("/"))
        if not controllers:
            files |= {SETTINGS / part / "cpu.max" for part in (inner, *inner.parents)}
        elif "cpu" in controllers.split(","):
            files |= {
                SETTINGS / place / part / "cpu.cfs_quota_us"
                for place in ("cpu", controllers)
                for part in (inner, *inner.parents)
            }
    found = []
    for file in files:
        try:
            words = file.read_text(encoding="ascii").split()
            if file.name == "cpu.cfs_quota_us":
                words += file.with_name("cpu.cfs_period_us").read_text(encoding="ascii").split()
            work, period = words
            quota = int(work) / int(period)  # ValueError for "max"
        except (OSError, ValueError, ZeroDivisionError):
            continue
        if quota > 0:  # -1: no limit
            found.append(quota)
    return found
