"""Commands as text that a reader can paste into a shell."""

import os
import re
import shlex

# Both cmd.exe and PowerShell take a word of these as it is.
_PLAIN = re.compile(r"[\w./\\:=+~-]+", re.ASCII)


def command_line(words):
    r"""Return words as one line for the shell of this system.

    Parameters
    ----------
    words : sequence of str

    Returns
    -------
    line : str
        Quoted for a POSIX shell; on Windows for cmd.exe and PowerShell alike.

    Examples
    --------
    >>> print(posix_line(["ibpcl", "run", "--out", "my runs"]))
    ibpcl run --out 'my runs'
    >>> print(windows_line(["ibpcl", "run", "--out", "C:\\my runs"]))
    ibpcl run --out "C:\my runs"
    """
    return windows_line(words) if os.name == "nt" else posix_line(words)


def posix_line(words):
    """Return words as one line for a POSIX shell."""
    return shlex.join(words)


def windows_line(words):
    r"""Return words as one line for cmd.exe and PowerShell.

    A word with a comma, a bracket or an ampersand is quoted, too: such characters have a meaning in
    one of the two.
    """
    return " ".join(map(_windows_word, words))


def _windows_word(word):
    if _PLAIN.fullmatch(word):
        return word
    # Programs on Windows read \" as a quote, and a backslash before the closing quote has to be
    # doubled.
    escaped = re.sub(r'(\\*)"', r'\1\1\\"', word)
    escaped = re.sub(r"(\\+)$", r"\1\1", escaped)
    return f'"{escaped}"'
