"""A team of threads that do the pieces of a kernel together.

Why not Numba's ``parallel=True``: it multiplies the time of compilation, and its OpenMP threads wait for work by
spinning without an end.  Here compiled code without the interpreter's lock is called by Python's own threads, which
take turns (:mod:`ibpcl.kernels.turns`), look for the next job for a millisecond, and then sleep.
"""

import functools
import os
import threading
import time

import numba
import numpy as np

from ibpcl.kernels import subnormals, turns

TURNS = 4                                                    # a thread, where there are enough pieces
NAP = 2e-5                                                   # seconds
# How many numbers the largest array must have for sharing to save more than it costs; and where they are only moved.
SMALL, LIGHT = 2**15, 2**18
_chosen = {"count": None}


def count():
    """Return the number of threads: what :func:`set_count` said, else ``NUMBA_NUM_THREADS``, else all cores."""
    return _chosen["count"] or numba.config.NUMBA_NUM_THREADS


def set_count(threads):
    """Choose the number of threads, at least 1, or None for the default; the results do not depend on it."""
    if threads is not None and threads < 1:
        raise ValueError(f"threads.set_count: threads must be at least 1, got {threads}")
    _chosen["count"] = threads


class _Helper:
    """One thread of a team, and how it is woken."""

    def __init__(self, team):
        self.bell, self.asleep = threading.Semaphore(0), False
        threading.Thread(target=self.help, args=(team,), name="ibpcl-kernels", daemon=True).start()

    def help(self, team):
        subnormals.flush()                                   # for good: this thread does nothing but kernels
        mine, done = turns.Turns(turns.HELPER, team.address), 0     # the number of the last job that was seen
        while not team.closed:
            number, kernel, pieces, size, arguments = team.job
            if kernel is not None and number > done:
                try:
                    kernel(mine.of(number, pieces, size), *arguments)
                except BaseException as error:               # the caller raises it
                    team.error = error
                    return
            done = number                                    # without a kernel it is over already
            kernel = arguments = None                        # or their memory could not be used again
            self.asleep = True
            if team.job[0] > done or team.closed:            # looked at after it was said, so nobody is overslept
                self.asleep = False
                continue
            self.bell.acquire()

    def wake(self):
        if self.asleep:
            self.asleep = False
            self.bell.release()


class _Team:
    """The calling thread's helpers; one job at a time."""

    def __init__(self, helpers):
        self.memory = np.zeros(2 * turns.WORDS, np.int64)    # room to begin at a cache line
        first = -self.memory.ctypes.data % 64 // 8
        state = self.memory[first:first + turns.WORDS]
        self.state, self.address = memoryview(state), state.ctypes.data
        self.mine = turns.Turns(turns.CALLER, self.address)
        self.busy, self.closed, self.error = threading.Lock(), False, None
        self.job = (0, None, 0, 0, ())
        self.helpers = [_Helper(self) for _ in range(helpers)]

    def run(self, kernel, pieces, arguments, singly):
        number, size = self.job[0] + 1, 1 if singly else max(1, pieces // (TURNS * (1 + len(self.helpers))))
        mine = self.mine.of(number, pieces, size)
        self.job = (number, kernel, pieces, size, arguments)
        for helper in self.helpers:
            helper.wake()
        try:
            kernel(mine, *arguments)
            while self.state[turns.FINISHED] < pieces:       # a helper's core is busy elsewhere
                if self.error is not None:
                    raise self.error
                time.sleep(NAP)
        except BaseException:
            self.close()
            raise
        self.job = (number, None, 0, 0, ())

    def close(self):
        """Let the helpers go; what they may still be doing is theirs alone."""
        self.closed = True
        for helper in self.helpers:
            helper.bell.release()
        _team.cache_clear()


@functools.lru_cache(maxsize=1)
def _team(process, helpers):
    """Make a team; ``process`` because a forked child does not inherit its parent's threads."""
    return _Team(helpers)


def run(kernel, pieces, *arguments, small=SMALL, singly=False):
    """Do the pieces 0 ... pieces - 1, in any order, on several threads.

    A job whose arrays are all small is done by the calling thread alone: handing it over would cost more.

    Parameters
    ----------
    kernel : callable
        ``kernel(turns, *arguments)``, which does the pieces of all turns that it gets; called once by each thread.
    pieces : int
        How many there are.
    small : int
        Fewer numbers than so many, in each array, are small.
    singly : bool
        Whether each piece is a turn, as it should be where few of many pieces have most of the work.
    """
    if pieces < 1:
        return
    team = None
    if pieces > 1 and (threads := count()) > 1 and _large(arguments, small):
        team = _team(os.getpid(), threads - 1)
        if not team.busy.acquire(blocking=False):
            team = None                                      # another thread has it
    before = subnormals.flush()
    try:
        if team is None:
            kernel(turns.alone(pieces), *arguments)
        else:
            team.run(kernel, pieces, arguments, singly)
    finally:
        subnormals.restore(before)
        if team is not None:
            team.busy.release()


def _large(arguments, small):
    """Say whether one of the arrays has so many numbers, or there is no array at all."""
    arrays = False
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            if argument.size >= small:
                return True
            arrays = True
    return not arrays
