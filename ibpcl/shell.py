"""Command lines that a reader can paste into a shell."""

import os
import re
import shlex

# Neither cmd.exe nor PowerShell gives these characters a special meaning.
_PLAIN = re.compile(r"[\w./\\:=+~-]+", re.ASCII)


def command_line(words):
    r"""Return a command as one line for the shell of this system.

    Parameters
    ----------
    words : sequence of str
        The program and its arguments.

    Returns
    -------
    line : str
        Quoted for a POSIX shell; on Windows for both cmd.exe and PowerShell.

    Examples
    --------
    >>> print(posix_line(["ibpcl", "run", "--out", "my runs"]))
    ibpcl run --out 'my runs'
    >>> print(windows_line(["ibpcl", "run", "--out", "C:\\my runs"]))
    ibpcl run --out "C:\my runs"
    """
    return windows_line(words) if os.name == "nt" else posix_line(words)


def posix_line(words):
    """Return a command as one line for a POSIX shell.

    Parameters
    ----------
    words : sequence of str
        The program and its arguments.

    Returns
    -------
    line : str
        The quoted line.
    """
    return shlex.join(words)


def windows_line(words):
    r"""Return a command as one line for cmd.exe and PowerShell.

    A word with a comma, a bracket or an ampersand is quoted too, because these characters have a
    meaning in one of the two.

    Parameters
    ----------
    words : sequence of str
        The program and its arguments.

    Returns
    -------
    line : str
        The quoted line.
    """
    return " ".join(map(_windows_word, words))


def _windows_word(word):
    if _PLAIN.fullmatch(word):
        return word
    # Programs on Windows read \" as a quote, and a backslash before the closing quote must be
    # doubled.
    escaped = re.sub(r'(\\*)"', r'\1\1\\"', word)
    escaped = re.sub(r"(\\+)$", r"\1\1", escaped)
    return f'"{escaped}"'
