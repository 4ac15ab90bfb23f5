"""The judge's end of the reading process, which is started when needed and restarted if it ends."""

import atexit
import os
from pathlib import Path

from ibpcl.sandbox import boxes, local, worker

ROOT = Path(__file__).parents[4]
PROCESSOR = 10.0  # seconds of processor time for one request
SECONDS = 100.0  # wall-clock seconds for one request
MEMORY = 1536 << 20
MOST = (256 << 20, 0)  # bytes of an answer, which has no numbers in arrays


class ReadingError(Exception):
    """A request that was not answered: it took too long, or too much memory."""


class Waiting(ReadingError):
    """A request that was not answered in wall-clock time, since the machine is busy."""


class Reader:
    """A process that reads hand-ins.

    Attributes
    ----------
    child : ibpcl.sandbox.worker.Worker or None
    """

    def __init__(self):
        self.child = None

    def ask(self, seconds=SECONDS, **request):
        """Return the answer to a request.

        Parameters
        ----------
        seconds : float
            Wall-clock time.
        **request
            ``do``, a method of :class:`ibpcl.classroom.intake.reading.serving.Program`, and its
            arguments.

        Returns
        -------
        dict

        Raises
        ------
        ReadingError
            If the process does not answer; it is restarted for the next request.
        """
        try:
            if self.child is None:
                self.child = _started()
            return self.child.ask(worker.Limit(PROCESSOR, seconds), MOST, **request)
        except worker.Failed as error:
            if error.name == "MemoryError":
                words = f"it needs more than {MEMORY >> 20} MB of memory to read"
            else:
                words = f"it cannot be read: {error.name}: {error.message[:200]}"
            raise ReadingError(words) from None
        except worker.Ended as error:
            self.child = None
            if error.cause == "waiting":
                raise Waiting(f"it was not read within {seconds:.0f} s") from None
            words = "it takes too long to read, or too much memory"
            raise ReadingError(words) from None
        except BaseException:  # an interrupt, after which the worker is closed
            self.close()
            raise

    def close(self):
        """End the process."""
        if self.child is not None:
            self.child.close()
            self.child = None


def _started():
    """Return a new worker that reads."""
    if local.IN_A_TAB:
        from ibpcl.classroom.intake.reading.serving import Program  # the child's side

        return local.Worker(Program(), {})
    return worker.Worker(
        boxes.unboxed(
            "ibpcl.classroom.intake.reading.serving",
            [str(ROOT)],
            isolated=True,
            bounds={"AS": MEMORY, "CORE": 0},
        )
    )


_readers = {}


def ask(**request):
    """Ask the reader of this process.

    Parameters
    ----------
    **request
        Entries of the request, and optionally ``seconds``.

    Returns
    -------
    dict

    Raises
    ------
    ReadingError
        If the process does not answer, also if asked twice because the machine was busy.
    """
    if os.getpid() not in _readers:
        # after a fork, the reader belongs to the parent
        _readers.clear()
        _readers[os.getpid()] = Reader()
        atexit.register(_readers[os.getpid()].close)
    reader = _readers[os.getpid()]
    try:
        return reader.ask(**request)
    except Waiting:
        return reader.ask(**request)
