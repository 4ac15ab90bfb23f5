"""The time that a check may take."""

import time


class TimeUp(BaseException):
    """The time of a call has passed.  No ``Exception``: code that catches those would swallow it."""

    def __init__(self, seconds):
        super().__init__(f"not finished within {seconds:g} s")


class Clock:
    """Ends a check after its time, and shows progress.

    Parameters
    ----------
    seconds : float, optional
        How long the check may take; for ever if not given.
    progress : callable, optional
        Called with no argument at every call of the forward.
    """

    def __init__(self, seconds=None, progress=None):
        self.seconds, self.progress, self.start = seconds, progress, time.monotonic()

    def tick(self):
        """Take note of one call of the forward; raises :class:`TimeUp` if the time has passed."""
        if self.progress is not None:
            self.progress()
        if self.seconds is not None and time.monotonic() - self.start > self.seconds:
            raise TimeUp(self.seconds)
