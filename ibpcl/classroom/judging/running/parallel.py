"""Parallel judging: each judge runs in a separate process, which may end without harm to others.

If a process ends or exceeds its time, only the present item is lost: another process replaces it.
No process outlives the one that started it, however that ends.
"""

import contextlib
import os
import signal
import sys
import time
from collections import deque
from dataclasses import dataclass
from multiprocessing import connection, get_context

from ibpcl.errors import UserError
from ibpcl.processors import usable
from ibpcl.sandbox.limits import end_with

MEMORY_MB = 3072  # of a judge; the sandbox of a hand-in has its own, lower limit
TICK = 1.0  # seconds between two looks at the clock
STARTING = 60.0  # seconds for a process to start
TOO_LONG = "judging it takes too long"  # wall-clock time, which depends on the machine
BEGUN = "begun"  # a helper's message that it has received an item


@dataclass
class Helper:
    """A process and its present item.

    Attributes
    ----------
    process : multiprocessing.Process
        The process.
    pipe : multiprocessing.connection.Connection
        Connection to the process.
    number : int or None
        Number of the item; None while it waits.
    until : float
        Time at which the item's time is up, on the monotonic clock.
    """

    process: object
    pipe: object
    number: int | None = None
    until: float = float("inf")

    def end(self):
        """End the process."""
        with contextlib.suppress(OSError):
            self.process.kill()
        self.process.join()
        self.pipe.close()


def over(function, items, jobs=None, seconds=None, failed=None, apart=True):
    """Yield ``function(item)`` for each item, in order.

    Parameters
    ----------
    function : callable
        Takes an item; must be picklable.
    items : list
        The items; must be picklable.
    jobs : int, optional
        Number of processes; by default the number of processors available to this process.
    seconds : float, optional
        Time for one item; unlimited by default.
    failed : callable, optional
        ``failed(item, words)`` returns the value to yield for an item whose process raised an
        exception, ended or took too long.
    apart : bool
        Whether a single job also runs in another process.  If not, a debugger can follow the work.

    Yields
    ------
    object
        The value for each item.

    Raises
    ------
    UserError
        If a process raises an exception, ends or takes too long, and ``failed`` is not given.
    """
    if jobs == 1 and not apart:
        yield from (_outcome(_worked(function, item), item, failed) for item in items)
        return
    items = list(items)
    results = {}
    helpers = []
    waiting = deque(range(len(items)))
    given = 0
    try:
        for _ in range(min(jobs or usable(), len(items))):
            helpers.append(_start(function))
        while given < len(items):
            for helper in helpers:
                if helper.number is None and waiting:
                    _give(helper, items, waiting.popleft())
            for helper in _finished(helpers):
                answer = _answer(helper)
                if answer == BEGUN:
                    helper.until = time.monotonic() + (seconds or float("inf"))
                    continue
                if answer is None:
                    helpers[helpers.index(helper)] = _replaced(helper, function)
                    answer = (False, _reason(helper))
                results[helper.number] = _outcome(answer, items[helper.number], failed)
                helper.number = None
                helper.until = float("inf")
            while given in results:
                yield results.pop(given)
                given += 1
    finally:
        for helper in helpers:
            helper.end()


def _start(function):
    context = get_context("spawn")
    own, other = context.Pipe()
    process = context.Process(target=_serve, args=(other, function, os.getpid()), daemon=True)
    process.start()
    other.close()
    return Helper(process, own)


def _give(helper, items, number):
    helper.number = number
    helper.until = time.monotonic() + STARTING
    # it has ended: reading its pipe will report that
    with contextlib.suppress(OSError):
        helper.pipe.send(items[number])


def _finished(helpers):
    """Wait for helpers that have an answer, have ended or have no time left, and return them."""
    busy = [helper for helper in helpers if helper.number is not None]
    ready = connection.wait([helper.pipe for helper in busy], timeout=TICK)
    return [helper for helper in busy if helper.pipe in ready or time.monotonic() > helper.until]


def _answer(helper):
    """Return a helper's answer; None if it has ended or its time is up."""
    if not helper.pipe.poll():
        return None
    try:
        return helper.pipe.recv()
    except (EOFError, OSError):
        return None


def _replaced(helper, function):
    helper.end()
    return _start(function)


def _reason(helper):
    if time.monotonic() > helper.until:
        return TOO_LONG
    return (
        f"the process of the judge ended (exit code {helper.process.exitcode}): too little memory?"
    )


def _outcome(answer, item, failed):
    right, value = answer
    if right:
        return value
    if failed is None:
        raise UserError(
            f"class: {value}; run the same command again: it continues where it stopped"
        )
    return failed(item, value)


def _serve(pipe, function, parent):
    """Answer items until the pipe is closed."""
    end_with(parent)
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    _limit_memory()
    while True:
        try:
            item = pipe.recv()
        except (EOFError, OSError):
            return
        pipe.send(BEGUN)
        pipe.send(_worked(function, item))


def _worked(function, item):
    """Return whether a function succeeds for an item, and its value or the reason."""
    try:
        return True, function(item)
    except MemoryError:
        return False, "it needs too much memory"
    except Exception as error:
        return False, f"{type(error).__name__}: {str(error)[:300]}"


def _limit_memory():
    if sys.platform.startswith("linux"):
        import resource

        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        wanted = MEMORY_MB << 20
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
