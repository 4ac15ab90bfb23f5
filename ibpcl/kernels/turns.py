"""Who does which pieces of a kernel: turns that threads take without the interpreter's lock, or waiting for it.

A kernel is called once by each thread, with an array of ``turns`` as its first argument, and does

.. code-block:: python

    while another(turns):
        first, last = turns[BEGIN], turns[END]               # the pieces of this turn

Threads that wait for the interpreter's lock, or for each other by way of the operating system, are woken some 50
microseconds late, as long as many a kernel runs.  So all of it happens in compiled code: the first turn of the thread
that calls (:data:`CALLER`) opens the job, after the interpreter's lock was released; turns are taken by one atomic
instruction; when none is left the caller waits for the others, and a helper for the next job, by looking again and
again, for a limited time.

Pieces that need what others make come after these, in the same job, and wait for them (:func:`wait_for`): turns are
taken in the order of the pieces, so somebody is at work on those that are waited for.

The state that threads share has two numbers, each in a cache line of its own: the job's number (upper half) with the
next piece (lower half), and how many pieces are finished.  A helper that comes too late finds another job's number and
takes nothing.
"""

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from ibpcl.kernels.compilation import part

ALONE, CALLER, HELPER = range(3)
# The fields of ``turns``; the first is the address of the shared state.
STATE, ROLE, JOB, PIECES, SIZE, STARTED, BEGIN, END, FIELDS = range(9)
NEXT, FINISHED, WORDS = 0, 8, 16                             # places in the shared state
HALF = 32
LOOKS = 1_500_000                                            # about a millisecond
WORD = ir.IntType(64)


def _place(builder, address):
    return builder.inttoptr(address, WORD.as_pointer())


@intrinsic
def _load(typing_context, address):
    def generate(context, builder, signature, arguments):
        return builder.load_atomic(_place(builder, arguments[0]), "acquire", 8)
    return types.int64(types.int64), generate


@intrinsic
def _store(typing_context, address, value):
    def generate(context, builder, signature, arguments):
        builder.store_atomic(arguments[1], _place(builder, arguments[0]), "release", 8)
        return arguments[1]
    return types.int64(types.int64, types.int64), generate


@intrinsic
def _add(typing_context, address, value):
    def generate(context, builder, signature, arguments):
        return builder.atomic_rmw("add", _place(builder, arguments[0]), arguments[1], "acq_rel")
    return types.int64(types.int64, types.int64), generate


@intrinsic
def _exchange(typing_context, address, expected, value):
    """Store ``value`` if ``expected`` is there; return whether it was."""
    def generate(context, builder, signature, arguments):
        pair = builder.cmpxchg(_place(builder, arguments[0]), arguments[1], arguments[2], "acq_rel", "acquire")
        return builder.extract_value(pair, 1)
    return types.boolean(types.int64, types.int64, types.int64), generate


@part
def _open(turns):
    """Begin: the caller opens the job, a helper that is early waits until it is open."""
    address = turns[STATE]
    if turns[ROLE] == CALLER:
        _store(address + 8 * FINISHED, 0)
        _store(address + 8 * NEXT, turns[JOB] << HALF)
    else:
        for _ in range(LOOKS):
            if _load(address + 8 * NEXT) >> HALF >= turns[JOB]:
                break


@part
def _take(turns):
    """Take the next pieces; return whether there were any."""
    address = turns[STATE] + 8 * NEXT
    while True:
        seen = _load(address)
        begin = seen - (turns[JOB] << HALF)                  # in another job it is out of the range
        if begin < 0 or begin >= turns[PIECES]:
            return False
        end = min(begin + turns[SIZE], turns[PIECES])
        if _exchange(address, seen, (turns[JOB] << HALF) + end):
            turns[BEGIN], turns[END] = begin, end
            return True


@part
def _wait(turns):
    """Look for the end of the job (its caller), or for the next job (a helper), for a limited time."""
    address = turns[STATE]
    for _ in range(LOOKS):
        if turns[ROLE] == CALLER:
            if _load(address + 8 * FINISHED) == turns[PIECES]:
                return
        elif _load(address + 8 * NEXT) >> HALF > turns[JOB]:
            return


@part
def another(turns):
    """Finish the last turn and take the next one; return whether there is one."""
    if turns[ROLE] == ALONE:
        if turns[STARTED] == 1:
            return False
        turns[STARTED], turns[BEGIN], turns[END] = 1, 0, turns[PIECES]
        return True
    if turns[STARTED] == 0:
        _open(turns)
        turns[STARTED] = 1
    else:
        _add(turns[STATE] + 8 * FINISHED, turns[END] - turns[BEGIN])
    if _take(turns):
        return True
    _wait(turns)
    return False


@part
def wait_for(turns, pieces, piece):
    """Wait until the first ``pieces`` of the job are finished; the calling thread is about to do a later ``piece``.

    No piece that comes after them may be done without waiting for them, and none of them may fail.
    """
    if turns[ROLE] == ALONE:
        return
    own = max(0, min(piece, pieces) - turns[BEGIN])          # of this turn: they are counted when it is over
    while _load(turns[STATE] + 8 * FINISHED) + own < pieces:
        pass


def alone(pieces):
    """Make the turns of a thread that does all pieces."""
    fields = np.zeros(FIELDS, np.int64)
    fields[PIECES] = pieces
    return fields


class Turns:
    """The turns of one thread of a team, job after job; ``address`` is that of the state that they share.

    Numbers are written through a memoryview: among kernels that fill the caches, NumPy's own code for that is cold.
    """

    def __init__(self, role, address):
        self.array = np.zeros(FIELDS, np.int64)
        self.fields = memoryview(self.array)
        self.fields[STATE], self.fields[ROLE] = address, role

    def of(self, job, pieces, size):
        """Begin with another job."""
        fields = self.fields
        fields[JOB], fields[PIECES], fields[SIZE], fields[STARTED] = job, pieces, size, 0
        return self.array
