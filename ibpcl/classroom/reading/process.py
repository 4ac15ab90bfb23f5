"""The judge's end of the reading process, which is started when needed and restarted if it ends."""

import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).parents[3]
PROGRAM = (
    "import sys; sys.path.append(sys.argv[1]); from ibpcl.classroom.reading.serving import serve; \
serve(int(sys.argv[2]))"
)
# wall-clock seconds for one request; the process itself limits its processor time
SECONDS = 60.0
MOST_ANSWER = 256 << 20


class ReadingError(Exception):
    """A request that was not answered: it took too long, or too much memory."""


class Reader:
    """A process that reads hand-ins.

    Attributes
    ----------
    process : subprocess.Popen or None
    """

    def __init__(self):
        self.process = None

    def ask(self, seconds=SECONDS, **request):
        """Return the answer to a request.

        Parameters
        ----------
        seconds : float
            Wall-clock time.
        **request
            Entries of the request.

        Returns
        -------
        dict

        Raises
        ------
        ReadingError
            If the process does not answer; it is restarted for the next request.
        """
        if self.process is None:
            self._start()
        data = json.dumps(request).encode()
        timer = threading.Timer(seconds, self.process.kill)
        timer.daemon = True
        timer.start()
        try:
            self.process.stdin.write(len(data).to_bytes(8, "little") + data)
            self.process.stdin.flush()
            size = int.from_bytes(self._read(8), "little")
            if size > MOST_ANSWER:
                raise EOFError
            reply = json.loads(self._read(size))
        except (OSError, EOFError, ValueError):
            self.close()
            raise ReadingError("it takes too long to read, or too much memory") from None
        # an interrupt: a partial answer must not be read later
        except BaseException:
            self.close()
            raise
        finally:
            timer.cancel()
        if "failed" in reply:
            raise ReadingError(reply["failed"])
        return reply

    def close(self):
        """End the process."""
        if self.process is not None:
            with contextlib.suppress(OSError):
                self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdin, self.process.stdout):
                with contextlib.suppress(OSError):
                    pipe.close()
            self.process = None

    def _start(self):
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", "-c", PROGRAM, str(ROOT), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=os.name == "posix",
        )

    def _read(self, count):
        data = self.process.stdout.read(count)
        if len(data) < count:
            raise EOFError
        return data


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
        If the process does not answer.
    """
    if os.getpid() not in _readers:
        # after a fork, the reader belongs to the parent
        _readers.clear()
        _readers[os.getpid()] = Reader()
        atexit.register(_readers[os.getpid()].close)
    return _readers[os.getpid()].ask(**request)
