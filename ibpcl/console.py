"""Standard error under all conditions: a terminal, a pipe, closed, missing, or a custom object.

``pythonw`` has no standard error, IDLE and loggers replace it by objects that have little more than
``write``, and a daemon closes it.  A message must never end a computation.
"""

import sys


def is_terminal(stream):
    """Return whether a stream is a terminal.

    Parameters
    ----------
    stream : file object or None
        The stream.

    Returns
    -------
    terminal : bool
        False also for None, a closed stream, and a stream without ``isatty``.
    """
    try:
        return bool(stream.isatty())
    except (AttributeError, OSError, ValueError):
        return False


def can_write(stream):
    """Return whether text can be written to a stream: it has ``write`` and is not closed.

    Parameters
    ----------
    stream : file object or None
        The stream.

    Returns
    -------
    writable : bool
        False for None and for a closed stream.
    """
    return hasattr(stream, "write") and not getattr(stream, "closed", False)


def bar_is_off(progress):
    """Return the argument ``disable`` of a tqdm progress bar.

    Parameters
    ----------
    progress : bool or None
        Whether to show the bar; None shows it on a terminal only.

    Returns
    -------
    disable : bool
        True also if standard error cannot be written to.
    """
    if not can_write(sys.stderr):
        return True
    return not is_terminal(sys.stderr) if progress is None else not progress


def tell(text, end="\n"):
    """Print text on standard error, or do nothing if that is impossible.

    Characters that the encoding lacks are printed as escapes.

    Parameters
    ----------
    text : str
        The text.
    end : str
        Text that follows it.
    """
    stream = sys.stderr
    if not can_write(stream):
        return
    try:
        print(text, end=end, file=stream)
    # a console with an 8-bit encoding, such as cp1252
    except UnicodeEncodeError:
        print(text.encode("ascii", "backslashreplace").decode("ascii"), end=end, file=stream)
    except (OSError, ValueError):
        return
    if hasattr(stream, "flush"):
        try:
            stream.flush()
        except (OSError, ValueError):
            return
