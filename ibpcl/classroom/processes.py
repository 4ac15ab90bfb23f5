"""Counts of threads from Linux's ``/proc``; elsewhere 0."""

from pathlib import Path

PROC = Path("/proc")
MOST_DEPTH = 4  # bubblewrap is two processes above the worker


def threads(process, depth=0):
    """Return the number of threads of a process and of its descendants.

    Parameters
    ----------
    process : int
        Id of the process.
    depth : int
        Number of generations already counted.

    Returns
    -------
    int
        0 if the system has no ``/proc``.
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
