"""Time limit of a check."""

import time


class TimeUp(BaseException):
    """The time limit has passed.

    Derived from ``BaseException``, because code under check may catch every ``Exception``.

    Parameters
    ----------
    seconds : float, optional
        The time limit, for the message.
    """

    def __init__(self, seconds=None):
        self.seconds = seconds
        super().__init__(
            "not finished in time" if seconds is None else f"not finished within {seconds:g} s"
        )


class Clock:
    """A time limit that is tested, and a counter that is called, at every forward call.

    Parameters
    ----------
    seconds : float, optional
        The time limit.  Without it, there is none.
    progress : callable, optional
        Called without arguments at every forward call.

    Attributes
    ----------
    seconds : float or None
        The time limit.
    progress : callable or None
        The counter.
    start : float
        Monotonic time at which the clock was created, in seconds.
    """

    def __init__(self, seconds=None, progress=None):
        self.seconds = seconds
        self.progress = progress
        self.start = time.monotonic()

    def tick(self):
        """Count one forward call.

        Raises
        ------
        TimeUp
            If the time limit has passed.
        """
        if self.progress is not None:
            self.progress()
        if self.seconds is not None and time.monotonic() - self.start > self.seconds:
            raise TimeUp(self.seconds)
