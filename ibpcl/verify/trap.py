"""Hold what foreign code does: it raises, it never returns, it ends the process.

One failure must not end everything else.  :class:`Trap` keeps an error, :func:`limit` interrupts a call that takes too
long, and :func:`converse` runs code in a process of its own and notices when that process goes or falls silent.
"""

import contextlib
import json
import math
import queue
import signal
import subprocess
import threading
import time
import traceback
from pathlib import Path

OURS = Path(__file__).parents[1]    # the folder of this package
LAG = 1.0                           # seconds for a check to end by its own clock before it is interrupted
AGAIN = 0.5                         # seconds between interrupts: a bare except may swallow the first
GRACE = 5.0                         # seconds past its time after which a silent process is killed
POLL = 0.2                          # seconds between looks at a process from which nothing comes


class Interrupted(BaseException):
    """The time of a call has passed.  No ``Exception``: code that catches those would swallow it."""


class Trap:
    """A context that keeps the error raised inside it, if there is one, instead of letting it out.

    A derivation under check may raise anything at all; its neighbours still have to be checked.  An interrupt, by the
    keyboard or by :func:`limit`, passes through.

    Examples
    --------
    >>> with Trap() as trap:
    ...     1 / 0
    >>> str(trap)
    'ZeroDivisionError: division by zero'
    """

    def __init__(self):
        self.error = None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is None or not issubclass(kind, (Exception, SystemExit)):
            return False
        self.error = error
        return True

    def __str__(self):
        return "".join(traceback.format_exception_only(self.error)).strip()

    def within(self, path):
        """Return the traceback as text with the frames of one file, and of those beside it, only."""
        return "".join([*traceback.format_list(self._frames(path)), str(self)])

    def touches(self, path):
        """Return whether the error passed through a file, or one beside it."""
        return bool(self._frames(path))

    def _frames(self, path):
        path = Path(path)
        return [frame for frame in traceback.extract_tb(self.error.__traceback__)
                if frame.filename == str(path) or _beside(Path(frame.filename), path.parent)]


def _beside(file, folder):
    """Return whether a file is in a folder or below, and neither of this package nor installed."""
    return file.is_relative_to(folder) and not file.is_relative_to(OURS) and "site-packages" not in file.parts


@contextlib.contextmanager
def limit(seconds):
    """Raise :class:`Interrupted` inside the block when its time has passed, also in a loop that calls nothing.

    It takes a timer that sends signals (not on Windows) and the main thread; elsewhere nothing is interrupted.  A check
    that counts its own time, as :func:`ibpcl.verify.check` does, has a second more to end by itself.

    Parameters
    ----------
    seconds : float or None
        None sets no limit.

    Examples
    --------
    >>> try:
    ...     with limit(0.1):
    ...         while True:
    ...             pass
    ... except Interrupted as error:
    ...     str(error)
    'not finished within 0.1 s'
    """
    if seconds is None or not hasattr(signal, "setitimer") \
            or threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number, frame):
        raise Interrupted(f"not finished within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds + LAG, AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def converse(command, seconds):
    """Start a process and yield the JSON objects that it prints, a line each, as they come.

    Parameters
    ----------
    command : list of str
    seconds : float
        Time from one object to the next; a process that is silent for much longer is killed.  The first one, which
        follows the start of an interpreter, may take any time.

    Yields
    ------
    dict
        Lines that are no JSON object are left out.  The last one is ``{"event": "ended", "code": ...}`` with the
        exit code (negative: a signal), or ``{"event": "late"}`` if the process had to be killed.
    """
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    lines = queue.Queue()
    reader = threading.Thread(target=_read, args=(process.stdout, lines), daemon=True)
    reader.start()
    deadline, last = math.inf, None
    try:
        while last is None:
            gone = process.poll() is not None               # before the look at the queue: nothing comes after that
            try:
                line = lines.get(timeout=POLL)
            except queue.Empty:
                # A process that the code has started may hold the pipe open: then no end of it is ever read.
                last = {"event": "ended"} if gone else {"event": "late"} if time.monotonic() > deadline else None
                continue
            if line is None:
                last = {"event": "ended"}
            elif (message := _parsed(line)) is not None:
                deadline = time.monotonic() + seconds + GRACE
                yield message
        if last["event"] == "ended":
            try:
                last["code"] = process.wait(GRACE)
            except subprocess.TimeoutExpired:
                last = {"event": "late"}
        yield last
    finally:
        process.kill()
        process.wait()
        reader.join(POLL)
        if not reader.is_alive():
            process.stdout.close()


def _read(stream, lines):
    for line in stream:
        lines.put(line)
    lines.put(None)


def _parsed(line):
    """Return the JSON object on a line, or None."""
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None
