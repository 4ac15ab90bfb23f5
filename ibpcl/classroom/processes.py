"""Processes as the kernel counts them, read from ``/proc``; elsewhere nothing is known, and 0 is
returned.
"""

from pathlib import Path

PROC = Path("/proc")
MOST_DEPTH = 4  # bubblewrap is two processes above the worker


def threads(process, depth=0):
    """Return the number of threads of a process and of those that it has started.

    Parameters
    ----------
    process : int
        Its number.
    depth : int
        Generations above it that were counted already.

    Returns
    -------
    int
    """
    status = _read(PROC / str(process) / "status")
    children = (
        _read(PROC / str(process) / "task" / str(process) / "children")
        if depth < MOST_DEPTH
        else ""
    )
    own = next(
        (int(line.split()[1]) for line in status.splitlines() if line.startswith("Threads:")), 0
    )
    return own + sum(threads(int(child), depth + 1) for child in children.split())


def _read(path):
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
