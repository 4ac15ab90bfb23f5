"""Threads and processor time of a process and its descendants, from Linux's ``/proc``."""

import os
from typing import NamedTuple

MOST_DEPTH = 4  # bubblewrap is two processes above the worker
TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
# positions in /proc/PID/stat, counted after the name of the program
STATE = 0
TIMES = slice(11, 15)
THREADS = 17


class Usage(NamedTuple):
    """What a process and its descendants use.

    Attributes
    ----------
    threads : int
        Number of threads; 0 where the system has no ``/proc``.
    seconds : float
        Processor time.
    ended : bool
        Whether the process itself has ended.
    """

    threads: int
    seconds: float
    ended: bool


def usage(process, depth=0):
    """Return what a process and its descendants use.

    Parameters
    ----------
    process : int
        Id of the process.
    depth : int
        Number of generations already counted.

    Returns
    -------
    Usage
    """
    fields = _read(f"/proc/{process}/stat").rpartition(")")[2].split()
    if not fields:
        return Usage(0, 0.0, False)
    threads = int(fields[THREADS])
    seconds = sum(map(int, fields[TIMES])) / TICKS
    if depth < MOST_DEPTH:
        for child in _read(f"/proc/{process}/task/{process}/children").split():
            below = usage(int(child), depth + 1)
            threads += below.threads
            seconds += below.seconds
    return Usage(threads, seconds, fields[STATE] in ("Z", "X"))


def _read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


MEASURES_TIME = bool(_read("/proc/self/stat"))  # whether usage() knows the processor time
