"""Hold what foreign code does: it raises, it never returns, it ends the process.

One failure must not end everything else.  :class:`Trap` keeps an error, :func:`limit` ends what
takes too long, and :func:`converse` runs code in a process of its own and notices when that process
goes or falls silent.
"""

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import threading
import traceback
from pathlib import Path

from ibpcl.verify.witnesses.clock import TimeUp

OURS = Path(__file__).parents[1]  # the folder of this package
# seconds for a check to end by its own clock before it is interrupted
LAG = 1.0
# seconds between interrupts: a bare except may swallow the first
AGAIN = 0.5
GRACE = 5.0  # seconds past its time after which a silent process is killed


class Trap:
    """A context that keeps the error raised inside it, if there is one, instead of letting it out.

    A derivation under check may raise anything at all; its neighbours still have to be checked.  An
    interrupt, by the keyboard or by :func:`limit`, passes through.

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
        self.error = error if isinstance(error, (Exception, SystemExit)) else None
        return self.error is not None

    def __str__(self):
        return "".join(traceback.format_exception_only(self.error)).strip()

    def frames(self, path):
        """Return the frames of the traceback that are in one file or beside it: not ours, and not
        installed.
        """
        return [
            frame
            for frame in traceback.extract_tb(self.error.__traceback__)
            if frame.filename == str(path)
            or (
                Path(frame.filename).is_relative_to(Path(path).parent)
                and not Path(frame.filename).is_relative_to(OURS)
                and "site-packages" not in frame.filename
            )
        ]

    def within(self, path):
        """Return the traceback as text with the frames of one file, and of those beside it,
        only.
        """
        return "".join([*traceback.format_list(self.frames(path)), str(self)])


@contextlib.contextmanager
def limit(seconds):
    """Raise :class:`TimeUp` inside the block when its time has passed, also in a loop that calls
    nothing.

    A signal interrupts the main thread.  In other threads, and where there is no timer that sends
    signals (Windows), another thread does so, between two steps of Python: not within a long call
    of compiled code.  A check that counts its own time, as :func:`ibpcl.verify.check` does, has a
    second more to end by itself.

    Examples
    --------
    >>> try:
    ...     with limit(0.1):
    ...         while True:
    ...             pass
    ... except TimeUp as error:
    ...     str(error)
    'not finished within 0.1 s'
    """
    timers = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    with _by_signal(seconds) if timers else _by_thread(seconds):
        yield


@contextlib.contextmanager
def _by_signal(seconds):
    over = False

    def interrupt(number, frame):
        if not over:
            raise TimeUp(seconds)

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds + LAG, AGAIN)
    try:
        yield
    finally:
        try:
            over = True
        finally:  # also if an interrupt comes just now
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _by_thread(seconds):
    target = threading.get_ident()
    over = threading.Event()
    lock = threading.Lock()

    def watch():
        wait = seconds + LAG
        while not over.wait(wait):
            with lock:
                if not over.is_set():
                    _raise_in(target, TimeUp)
            wait = AGAIN

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    except TimeUp as up:
        raise TimeUp(seconds if up.seconds is None else up.seconds) from None
    finally:
        with lock:
            over.set()
            _raise_in(target, None)  # take back one that has not arrived yet


def _raise_in(thread, error):
    """Raise an exception class in a thread as soon as it runs Python code; None takes it back."""
    api = getattr(ctypes, "pythonapi", None)  # PyPy has none
    if api is not None:
        given = None if error is None else ctypes.py_object(error)
        api.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), given)


def converse(command, seconds):
    """Start a process and yield the JSON objects that it prints, a line each, as they come.

    From one object to the next it has so many seconds; a process that is silent for much longer is
    killed, with all that it has started.  The first one, which follows the start of an interpreter,
    may take any time.  The last one is ``{"event": "ended", "code": ...}`` with the exit code
    (negative: a signal), or ``{"event": "late"}`` if the process had to be killed.
    """
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True
    )
    late = threading.Event()
    timer = threading.Timer(0, lambda: None)

    def end():
        if process.poll() is None:
            late.set()
        # what it has started may outlive it and hold the pipe
        _kill(process)

    try:
        for line in process.stdout:
            timer.cancel()
            timer = threading.Timer(seconds + GRACE, end)
            timer.start()
            # a process that is killed leaves half a line
            with contextlib.suppress(ValueError):
                yield json.loads(line)
        code = process.wait()
        yield {"event": "late"} if late.is_set() else {"event": "ended", "code": code}
    finally:
        timer.cancel()
        if process.poll() is None:
            _kill(process)
            process.wait()
        process.stdout.close()


def _kill(process):
    """End a process and all that it has started."""
    with contextlib.suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
            return
        if os.name == "nt":
            with contextlib.suppress(OSError):  # a Windows without it
                subprocess.run(
                    ["taskkill", "/F", "/T", "/PID", str(process.pid)],
                    check=False,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
        process.kill()
