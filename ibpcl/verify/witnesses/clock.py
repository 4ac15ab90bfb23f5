"""The time that a check may take."""

import time


class TimeUp(BaseException):
    """The time of a call has passed.  No ``Exception``: code that catches those would swallow
    it.
    """

    def __init__(self, seconds=None):
        self.seconds = seconds
        super().__init__(
            "not finished in time" if seconds is None else f"not finished within {seconds:g} s"
        )


class Clock:
    """Ends a check after ``seconds``, and calls ``progress()`` at every call of the forward; both
    may be None.
    """

    def __init__(self, seconds=None, progress=None):
        self.seconds = seconds
        self.progress = progress
        self.start = time.monotonic()

    def tick(self):
        """Take note of one call of the forward; raises :class:`TimeUp` if the time has passed."""
        if self.progress is not None:
            self.progress()
        if self.seconds is not None and time.monotonic() - self.start > self.seconds:
            raise TimeUp(self.seconds)
