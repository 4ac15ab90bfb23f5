"""Catch what foreign code raises, where one failure must not end everything else."""

import traceback


class Trap:
    """A context that keeps the error raised inside it, if there is one, instead of letting it out.

    A derivation under check may raise anything at all; its neighbours still have to be checked.  An interrupt passes
    through.

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
        """Return the traceback as text with the frames of one file only."""
        frames = [frame for frame in traceback.extract_tb(self.error.__traceback__) if frame.filename == str(path)]
        return "".join([*traceback.format_list(frames), str(self)])

    def touches(self, path):
        """Tell whether the error passed through a file."""
        return any(frame.filename == str(path) for frame in traceback.extract_tb(self.error.__traceback__))
