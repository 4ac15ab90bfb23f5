"""Standard error as it really is: a terminal, a pipe, closed, absent, or an object of a notebook or
a logger.

``pythonw`` has no standard error at all, IDLE and loggers put objects there that have ``write`` and
little else, and a daemon closes it.  Nothing that is said there may end a computation.
"""

import sys


def is_terminal(stream):
    """Return whether a stream is a terminal; False for None, a closed stream, and one that cannot
    answer.
    """
    try:
        return bool(stream.isatty())
    except (AttributeError, OSError, ValueError):
        return False


def can_write(stream):
    """Return whether a stream takes text: it is there, has ``write``, and is not closed."""
    return hasattr(stream, "write") and not getattr(stream, "closed", False)


def bar_is_off(progress):
    """Return what a tqdm bar needs as ``disable``.

    Parameters
    ----------
    progress : bool or None
        Show the bar if True, never if False, and on a terminal only if None.

    Returns
    -------
    disable : bool
        True also where standard error cannot be written.
    """
    if not can_write(sys.stderr):
        return True
    return not is_terminal(sys.stderr) if progress is None else not progress


def tell(text, end="\n"):
    """Print text on standard error, or nothing where that is impossible; a character it lacks
    becomes an escape.
    """
    stream = sys.stderr
    if not can_write(stream):
        return
    try:
        print(text, end=end, file=stream)
    # a console with 256 characters, such as cp1252
    except UnicodeEncodeError:
        print(text.encode("ascii", "backslashreplace").decode("ascii"), end=end, file=stream)
    except (OSError, ValueError):
        return
    if hasattr(stream, "flush"):
        try:
            stream.flush()
        except (OSError, ValueError):
            return
