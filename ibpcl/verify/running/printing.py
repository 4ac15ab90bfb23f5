"""Output of code under check, which runs hundreds of times and would print as often."""

import contextlib
import io
import sys

LINES = 10  # that are shown


class FirstLines(io.TextIOBase):
    """A text stream that passes on the first lines that are written to it.

    Parameters
    ----------
    stream : file
        Receives the lines.

    Attributes
    ----------
    hidden : int
        Number of lines that were not passed on.

    Examples
    --------
    >>> stream = io.StringIO()
    >>> lines = FirstLines(stream)
    >>> for n in range(12):
    ...     print(n, file=lines)
    >>> stream.getvalue().split()[-1], lines.hidden
    ('9', 2)
    """

    def __init__(self, stream):
        self.stream = stream
        self.shown = 0
        self.hidden = 0

    def writable(self):
        """Return True."""
        return True

    def write(self, text):
        """Write the part of a text that belongs to the first lines.

        Parameters
        ----------
        text : str
            The text.

        Returns
        -------
        count : int
            The number of characters, as if all had been written.
        """
        parts = text.splitlines(keepends=True)
        room = max(LINES - self.shown, 0)
        lines = text.count("\n")
        self.stream.write("".join(parts[:room]))
        self.shown += min(lines, room)
        self.hidden += lines - min(lines, room)
        return len(text)

    def flush(self):
        """Flush the stream."""
        self.stream.flush()


@contextlib.contextmanager
def first_lines():
    """Show only the first lines that the code in the block prints.

    Yields
    ------
    FirstLines
        The stream that replaces standard output.
    """
    lines = FirstLines(sys.stdout)
    with contextlib.redirect_stdout(lines):
        yield lines
