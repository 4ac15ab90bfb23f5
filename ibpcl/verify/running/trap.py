"""Isolation of foreign code within a process: :class:`Trap` catches an exception, and
:func:`limit` interrupts code after a time limit.
"""

import contextlib
import ctypes
import signal
import threading
import traceback

from ibpcl.verify.derivative.clock import TimeUp

# Seconds after the time limit in which a check can still end by its own clock.
LAG = 1.0
# Seconds between interrupts; a bare ``except`` may catch the first.
AGAIN = 0.5


class Trap:
    """A context manager that catches the exception raised inside it.

    A derivation under check may raise any exception, which must not prevent the check of others.
    An interrupt, by the keyboard or by :func:`limit`, is not caught.

    Attributes
    ----------
    error : Exception, SystemExit or None
        The exception; None if there was none.

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


@contextlib.contextmanager
def limit(seconds):
    """Raise :class:`TimeUp` inside the block when a time limit has passed.

    The main thread is interrupted by a signal, even in a loop that calls nothing.  In other
    threads, and on Windows, another thread raises the exception between two steps of Python, so a
    long call of compiled code is not interrupted.  The interrupt comes one second late, so that a
    check that measures its own time, such as :func:`ibpcl.verify.check`, can end by itself.

    Parameters
    ----------
    seconds : float
        The time limit.

    Raises
    ------
    TimeUp
        If the time limit has passed.

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
            _raise_in(target, None)  # cancel an interrupt that has not arrived yet


def _raise_in(thread, error):
    """Raise an exception class in a thread as soon as it runs Python code; None cancels it."""
    api = getattr(ctypes, "pythonapi", None)  # PyPy has none
    if api is not None:
        given = None if error is None else ctypes.py_object(error)
        api.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), given)
