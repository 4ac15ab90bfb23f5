"""A command line of the user in a child process, with limits on time, memory and output.

A worker (:mod:`ibpcl.sandbox.worker`) answers requests of this package.  A command such as
``python -m unittest`` knows nothing of it: only its exit code and what it prints are read.
"""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

from ibpcl.sandbox import processes

TICK = 0.05  # seconds between two looks at the clocks
MOST_OUTPUT = 64 << 20  # bytes that a command may print
TAIL = 20_000  # bytes of the end of the output that are kept


class Ending(NamedTuple):
    """The end of a command: exit code, output and time.

    Attributes
    ----------
    code : int
        Exit code, negative for a signal.
    cause : {"exit", "processor", "waiting", "output"}
        "exit" if it ended by itself, else the limit that it exceeded.
    seconds : float
        Wall-clock time.
    processor : float
        Processor time, as far as the system tells it.
    output : str
        Last part of the printed text.
    """

    code: int
    cause: str
    seconds: float
    processor: float
    output: str


def run(command, folder, environment, output, processor, waiting, memory=0):
    """Run a command until it ends or exceeds a limit.

    Parameters
    ----------
    command : list of str
        The words of the command line.
    folder : path-like
        Its current folder.
    environment : dict of str to str
        Its environment variables.
    output : path-like
        File for the printed text.
    processor, waiting : float
        Limits on processor time and wall-clock time, in seconds.  Where the system does not tell
        the processor time, the wall-clock time counts for both.
    memory : int
        Limit on the address space in bytes, where the system has one; 0 for none.

    Returns
    -------
    Ending

    Raises
    ------
    OSError
        If the command cannot be started.
    """
    start = time.monotonic()
    with open(output, "wb") as file:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=os.name == "posix",
        )
    _limit_memory(process.pid, memory)
    cause = "exit"
    used = 0.0
    try:
        while process.poll() is None:
            usage = processes.usage(process.pid)
            seconds = time.monotonic() - start
            used = max(used, usage.seconds if processes.MEASURES_TIME else seconds)
            if used > processor:
                cause = "processor"
            elif seconds > waiting:
                cause = "waiting"
            elif os.path.getsize(output) > MOST_OUTPUT:
                cause = "output"
            if cause != "exit":
                break
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(TICK)
    finally:
        end(process)
    return Ending(process.returncode, cause, time.monotonic() - start, used, tail(output))


def end(process):
    """End a command and what it has started.

    Parameters
    ----------
    process : subprocess.Popen
        The command, which leads a separate session.
    """
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        process.kill()
    process.wait()


def tail(path):
    """Return the end of a file as text.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    str
        At most :data:`TAIL` bytes; empty if there is no such file.
    """
    try:
        with Path(path).open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(file.tell() - TAIL, 0))
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def _limit_memory(process, memory):
    """Limit the address space of a process that has just started, on Linux."""
    if not memory:
        return
    with contextlib.suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        resource.prlimit(process, resource.RLIMIT_AS, (memory, memory))
